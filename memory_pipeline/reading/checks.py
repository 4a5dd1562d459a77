"""Invariants of memory over all tenants, as counts without text.

Belongs here: which checks there are and reading them. Does not: when they run (defs/checks).
"""

from memory_pipeline.adapters.postgres import Database, execute

CHECKS = {
    "overlapping_versions": "No two believed versions of a fact overlap in known time.",
    "facts_without_evidence": "Every fact cites what was said.",
    "uneven_episodes": "The ledger adds up: every candidate of every folded episode has an end.",
    "tenants_without_one_live_generation": "Every tenant has exactly one live generation.",
    "profiles_citing_dead_facts": "Profiles cite live facts only.",
    "archived_facts_believed": "No archived fact is believed.",
    "facts_of_merged_entities": "No believed fact points to an entity that means another one.",
    "doubled_stays": "No believed fact says again what another one says of the same time.",
}


def read_check(database: Database, name: str) -> dict[str, int]:
    """Problems of one check by tenant; empty when the invariant holds."""
    with database.operator() as connection:
        rows = execute(connection, name).fetchall()
    return {row["tenant_id"]: int(row["problems"]) for row in rows}
