"""Tests of `memory_pipeline.sample`."""
