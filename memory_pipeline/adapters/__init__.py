"""The outside world: database, embedded server, models, embedder, stores, answer store.

Belongs here: everything that talks over a socket, a file or a process, behind plain functions.
Does not: rules of memory (domain), steps (stages), prompts' words, Dagster (defs).
"""
