"""Everything that knows Dagster: partitions, resources, IO managers, assets, checks, jobs, sensors.

A file here says when something runs and how Dagster sees it; what it means is in `domain`, how it
is done in `stages`, and talking to databases and models in `adapters`. No SQL, no prompt text.
"""
