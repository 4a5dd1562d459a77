"""Tests of `memory_pipeline.defs`, on a real PostgreSQL where Dagster's storage is touched."""
