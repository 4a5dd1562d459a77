"""Tests of the stages: values in, values out, doubles at the ports. No database, no Dagster."""
