"""Reading memory for people: what is believed, where it comes from, where everything ended.

Belongs here: reads of one tenant's live generation as frozen values, one round trip each.
Does not: writing anything, the reads of the stages (adapters/memory_store), output (cli).
"""
