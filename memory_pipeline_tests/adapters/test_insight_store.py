"""Insights in the database (spec I1, I3): grounding, repeats, facts of the observer.

Belongs here: one search on a real database with a scripted model. Does not: Dagster.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import psycopg
import pytest

from memory_pipeline.adapters.embedding_profiles import adopt_profile
from memory_pipeline.adapters.insight_store import InsightReport, derive_insights
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.domain.embedding import NEVER, find_profile
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.domain.model import ModelUnavailableError
from memory_pipeline.domain.plan import OBSERVER
from memory_pipeline.domain.policy import Policy
from memory_pipeline.reading.facts import read_facts
from memory_pipeline.reading.insights import read_insight_runs, read_insights
from memory_pipeline.reading.ledger import read_ledger
from memory_pipeline.stages.insight import InsightFinder
from memory_pipeline_tests.scripted import TENANT, memory_content, remember, scalar
from memory_pipeline_tests.stages.model_doubles import SECRET, ScriptedAsker

NEIGHBOUR = TenantId("acme/user_2")
HISTORY = ("works at: acme; likes: tea", "likes: jazz; likes: chess")


class PlainEmbedder:
    """One axis for each first word: equal first words are equal directions."""

    profile_id = "plain/1"
    dimensions = 384

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Unit vectors, in order."""
        axes = [sum(map(ord, text.split()[0].casefold())) % 384 for text in texts]
        return [[float(axis == at) for axis in range(384)] for at in axes]


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url, max_connections=1)
    for tenant_id in (TENANT, NEIGHBOUR):
        remember(database, *HISTORY, tenant_id=tenant_id)
    yield database
    database.close()


def search(
    database: Database, *statements: str, asker: ScriptedAsker | None = None, **settings: float
) -> InsightReport:
    items = [{"facts": ["f1", "f2"], "statement": s, "significance": 0.9} for s in statements]
    policy = Policy.model_validate(settings)
    asker = asker or ScriptedAsker(json.dumps({"insights": items}))
    finder = InsightFinder(asker, "model", SECRET, policy)
    return derive_insights(database, TENANT, finder, PlainEmbedder(), policy)


def test_an_insight_is_a_fact_of_the_observer_that_names_what_it_stands_on(
    database: Database,
) -> None:
    known = {f.fact_id for f in read_facts(database, TENANT)}
    assert search(database, "Tea goes with acme.").inserted == ("Tea goes with acme.",)
    (insight,) = read_insights(database, TENANT)
    assert insight.significance == pytest.approx(0.9)
    assert set(insight.derived_from) < known
    assert len(insight.derived_from) == 2
    (row,) = (f for f in read_facts(database, TENANT) if f.subject == OBSERVER)
    assert (row.predicate, row.object) == ("observes", "Tea goes with acme.")
    assert not row.object_is_entity
    assert read_ledger(database, TENANT).adds_up


def test_a_statement_is_claimed_once_even_when_it_was_archived(
    database: Database, database_url: str
) -> None:
    search(database, "Tea goes with acme.")
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "update memory.facts set dropped_reason = 'decayed',"
            " known_time = tstzrange(lower(known_time), now() + interval '1 hour')"
            " where predicate = 'observes'"
        )
    assert [o["outcome"] for o in search(database, "tea  GOES with acme").outcomes] == [
        "claimed before"
    ]
    assert read_insights(database, TENANT) == []


def test_another_wording_is_told_by_the_threshold_adopted_for_the_model(
    database: Database,
) -> None:
    plain = PlainEmbedder()
    shipped = find_profile(plain.profile_id, plain.dimensions)
    adopt_profile(database, shipped.model_copy(update={"duplicate": NEVER}))
    search(database, "Tea goes with acme.")
    (told,) = search(database, "Tea at acme is a habit.").outcomes
    assert told["outcome"] == "inserted"


def test_another_wording_is_recorded_with_its_similarity(database: Database) -> None:
    search(database, "Tea goes with acme.")
    report = search(database, "Tea at acme is a habit.", "Chess is new.")
    told = {o["statement"]: o for o in report.outcomes}
    assert told["Tea at acme is a habit."]["outcome"] == "close to another"
    assert told["Tea at acme is a habit."]["similarity"] == pytest.approx(1.0)
    assert told["Chess is new."]["outcome"] == "inserted"
    assert read_insight_runs(database, TENANT)[0].outcomes == report.outcomes


def test_two_wordings_in_one_answer_give_one_insight(database: Database) -> None:
    assert len(search(database, "Tea goes with acme.", "Tea is a habit.").inserted) == 1


def test_insights_ground_no_insights(database: Database) -> None:
    search(database, *(f"{word} matters." for word in ("One", "Two", "Three", "Four", "Five")))
    asker = ScriptedAsker(json.dumps({"insights": []}))
    report = search(database, asker=asker, insight_facts_k=3)
    assert report.facts == 3
    assert "observes" not in asker.requests[0].user


def test_the_newest_facts_are_shown_oldest_first(database: Database) -> None:
    asker = ScriptedAsker(json.dumps({"insights": []}))
    search(database, asker=asker, insight_facts_k=2)
    lines = [line for line in asker.requests[0].user.splitlines() if line.startswith("[f")]
    assert [line.removesuffix(" |") for line in lines] == [
        "[f1] user likes jazz",
        "[f2] user likes chess",
    ]


def test_nothing_worth_keeping_writes_no_fact_and_is_accounted_for(
    database: Database, database_url: str
) -> None:
    content = memory_content(database_url)
    asker = ScriptedAsker(json.dumps({"insights": [
        {"facts": ["f1"], "statement": "Dull.", "significance": 0.1}]}))  # fmt: skip
    search(database, asker=asker)
    assert memory_content(database_url) == content
    assert [run.facts for run in read_insight_runs(database, TENANT)] == [4]


def test_what_changed_during_the_call_carries_no_insight(
    database: Database, database_url: str
) -> None:
    class ChangingAsker(ScriptedAsker):
        def ask(self, request, parse, *, attempt=None):  # type: ignore[no-untyped-def]
            with psycopg.connect(database_url) as connection:
                connection.execute(
                    "update memory.facts set valid_time = tstzrange(null, '2024-02-01')"
                )
            return super().ask(request, parse, attempt=attempt)

    asker = ChangingAsker(
        json.dumps({"insights": [{"facts": ["f1"], "statement": "Gone.", "significance": 1}]})
    )
    outcomes = [o["outcome"] for o in search(database, asker=asker).outcomes]
    assert outcomes == ["refused: what it stands on has changed"]


def test_an_outage_writes_nothing(database: Database, database_url: str) -> None:
    with pytest.raises(ModelUnavailableError):
        search(database, asker=ScriptedAsker(ModelUnavailableError("away")))
    assert scalar(database_url, "select count(*) from memory.insight_runs") == 0


def test_other_tenants_keep_what_they_have(database: Database, database_url: str) -> None:
    content = memory_content(database_url, NEIGHBOUR)
    search(database, "Tea goes with acme.")
    assert memory_content(database_url, NEIGHBOUR) == content
