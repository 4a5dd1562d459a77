"""Tests of vocabulary and rules: values in, values out. No database, no Dagster."""
