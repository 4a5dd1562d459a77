"""Assets: what exists in Dagster's graph, a file per family.

Belongs here: asset bodies that read, call a stage, attach metadata and return.
Does not: rules, SQL, prompts.
"""
