"""Each invariant of memory fails when it is broken, and names the tenant (design: asset checks).

Belongs here: rows broken by hand. Does not: how checks run in Dagster (test_end_to_end).
"""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from memory_pipeline.adapters.postgres import Database
from memory_pipeline.adapters.profile_builder import Batch, ProfileBuilder
from memory_pipeline.reading.checks import CHECKS, read_check
from memory_pipeline_tests.adapters.profile_walks import make_parts
from memory_pipeline_tests.scripted import TENANT, remember


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url, max_connections=1)
    remember(database, "works at: acme; likes: tea", "likes: jazz")
    parts = make_parts(database)
    list(ProfileBuilder(1).build([Batch(parts, parts.store.claim_due())]))
    yield database
    database.close()


def test_sound_memory_passes_every_check(database: Database) -> None:
    assert {name: read_check(database, name) for name in CHECKS} == {name: {} for name in CHECKS}


BROKEN = {
    "overlapping_versions": "insert into memory.facts (tenant_id, generation_id, fact_id, version,"
    " subject_id, predicate, object_id, object_text, statement, valid_time, known_time, confidence,"
    " memory_category, tier, attributes, recipe_id) select tenant_id, generation_id, fact_id, 2,"
    " subject_id, predicate, object_id, object_text, statement, valid_time,"
    " tstzrange(lower(known_time), now()), confidence, memory_category, tier, attributes, recipe_id"
    " from memory.facts where statement = 'user likes tea'",
    "facts_without_evidence": "delete from memory.fact_evidence",
    "uneven_episodes": "delete from memory.claim_outcomes",
    "tenants_without_one_live_generation": "update memory.generations set status = 'retired'",
    "profiles_citing_dead_facts": "update memory.facts set known_time ="
    " tstzrange(lower(known_time), now() + interval '1 hour'), dropped_reason = 'decayed'"
    " where statement = 'user likes tea'",
    "archived_facts_believed": "insert into memory.corrections (tenant_id, correction_id, kind,"
    " content, known_at, after_fold, made_by) select tenant_id, gen_random_uuid(), 'archive',"
    " jsonb_build_object('content_key', content_key, 'statement', statement, 'fact_id', fact_id),"
    " now(), 1, 'decay' from memory.facts where statement = 'user likes tea'",
    "facts_of_merged_entities": "update memory.entities e set redirect_to = w.entity_id"
    " from memory.entities w where e.name = 'tea' and w.name = 'jazz'",
    "doubled_stays": "drop index memory.one_open_ended_fact; insert into memory.facts (tenant_id,"
    " generation_id, fact_id, version, subject_id, predicate, object_id, object_text, statement,"
    " valid_time, known_time, confidence, memory_category, tier, attributes, recipe_id)"
    " select tenant_id, generation_id, gen_random_uuid(), 1, subject_id, predicate, object_id,"
    " object_text, statement, valid_time, known_time, confidence, memory_category, tier,"
    " attributes, recipe_id from memory.facts where statement = 'user likes tea'",
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_row_is_found(database: Database, database_url: str, name: str) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute(BROKEN[name])
    assert list(read_check(database, name)) == [TENANT]


def test_every_check_has_a_row_that_breaks_it() -> None:
    assert set(BROKEN) == set(CHECKS)
