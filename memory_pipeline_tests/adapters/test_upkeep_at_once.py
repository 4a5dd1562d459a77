"""Two workers of one pass at once, and what each kind of change does to dirty counters (spec P3).

Belongs here: decay, repair and insights side by side. Does not: profiles (test_profile_builder).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TypeVar

import psycopg
import pytest

from memory_pipeline.adapters.decay_store import archive_decayed
from memory_pipeline.adapters.hashed_embedder import HashedNgramEmbedder
from memory_pipeline.adapters.insight_store import InsightReport, derive_insights
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.adapters.repair_store import read_merges, repair_tenant, undo_merge
from memory_pipeline.domain.policy import Policy
from memory_pipeline.stages.insight import InsightFinder
from memory_pipeline_tests.scripted import (
    DAY,
    START,
    TENANT,
    ScriptedExtractor,
    fold_all,
    import_history,
    remember,
    scalar,
    scripted_workshop,
    thread,
)
from memory_pipeline_tests.stages.model_doubles import SECRET, ScriptedAsker

POLICY = Policy()
Given = TypeVar("Given")


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url, max_connections=4)
    remember(database, "works at: acme; likes: tea", "likes: jazz; visits: acmx")
    yield database
    database.close()


def twice(work: Callable[[], Given]) -> Sequence[Given]:
    """The results of two threads that begin together."""
    start = Barrier(2)

    def begin() -> Given:
        start.wait()
        return work()

    with ThreadPoolExecutor(2) as pool:
        return [f.result() for f in [pool.submit(begin), pool.submit(begin)]]


def make_old(url: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute(
            "update memory.fact_access set first_recorded_at = now() - interval '181 days'"
        )


def spell_alike(url: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("update memory.entities set name = 'Acme' where name = 'acmx'")


def search(database: Database) -> InsightReport:
    item = {"facts": ["f1", "f2"], "statement": "Tea goes with acme.", "significance": 0.9}
    finder = InsightFinder(ScriptedAsker(json.dumps({"insights": [item]})), "model", SECRET, POLICY)
    return derive_insights(database, TENANT, finder, HashedNgramEmbedder(), POLICY)


def test_two_decays_at_once_archive_each_fact_once(database: Database, database_url: str) -> None:
    make_old(database_url)
    first, second = twice(lambda: archive_decayed(database, TENANT, POLICY))
    assert len(first) + len(second) == 4
    assert scalar(database_url, "select count(*) from memory.corrections") == 4


def test_two_repairs_at_once_merge_once(database: Database, database_url: str) -> None:
    spell_alike(database_url)
    twice(lambda: repair_tenant(database, TENANT))
    assert len(read_merges(database, TENANT)) == 1


def test_two_searches_at_once_claim_an_insight_once_and_tell_the_other_why(
    database: Database, database_url: str
) -> None:
    reports = twice(lambda: search(database))
    assert sum(len(report.inserted) for report in reports) == 1
    outcomes = {o["outcome"] for report in reports for o in report.outcomes}
    assert outcomes == {"inserted", "claimed before"}


def bumped(url: str, work: Callable[[], object]) -> dict[str, int]:
    """Entities whose counters a change raised, by how much."""
    with psycopg.connect(url) as connection:
        connection.execute("update memory.dirty_entities set bumps = 0")
    work()
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            "select e.name, d.bumps from memory.dirty_entities d join memory.entities e"
            " using (tenant_id, generation_id, entity_id) where d.bumps > 0"
        ).fetchall()
    return dict(rows)


def say(database: Database, *texts: str) -> None:
    threads = [thread(f"n{n}", (t, START + (30 + n) * DAY)) for n, t in enumerate(texts)]
    import_history(database, threads)
    fold_all(scripted_workshop(database, ScriptedExtractor()))


def test_an_insert_bumps_both_its_ends_once(database: Database, database_url: str) -> None:
    changed = bumped(database_url, lambda: say(database, "likes: opera; plays: opera"))
    assert changed == {"user": 1, "opera": 1}


def test_a_replacement_bumps_the_old_object_too(database: Database, database_url: str) -> None:
    changed = bumped(database_url, lambda: say(database, "works at: globex"))
    assert set(changed) == {"user", "globex", "acme"}


def test_an_archive_bumps_both_ends(database: Database, database_url: str) -> None:
    make_old(database_url)
    changed = bumped(database_url, lambda: archive_decayed(database, TENANT, POLICY))
    assert set(changed) == {"user", "acme", "tea", "jazz", "acmx"}


def test_a_merge_and_its_undoing_bump_what_they_move(database: Database, database_url: str) -> None:
    spell_alike(database_url)
    merged = bumped(database_url, lambda: repair_tenant(database, TENANT))
    assert "user" in merged
    (merge,) = read_merges(database, TENANT)
    parted = bumped(database_url, lambda: undo_merge(database, TENANT, merge.event_id))
    assert set(parted) == {"user", "acme", "Acme"}


def test_an_insight_makes_no_profile_dirty_but_that_of_its_observer_if_any(
    database: Database, database_url: str
) -> None:
    assert set(bumped(database_url, lambda: search(database))) <= {"graph observations"}
