"""A search for insights that dies between its call and its write (spec I1, G3).

Belongs here: the second try. Does not: the search itself (test_insight_store).
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import psycopg
import pytest

from memory_pipeline.adapters.answer_store import AnswerStore
from memory_pipeline.adapters.hashed_embedder import HashedNgramEmbedder
from memory_pipeline.adapters.insight_store import InsightReport, derive_insights
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.adapters.stored_models import StoredChatModel
from memory_pipeline.domain.model import ModelAnswer, ModelRequest, Usage
from memory_pipeline.domain.policy import Policy
from memory_pipeline.reading.insights import read_insights
from memory_pipeline.stages.insight import InsightFinder
from memory_pipeline_tests.adapters.profile_walks import rows
from memory_pipeline_tests.scripted import TENANT, remember
from memory_pipeline_tests.stages.model_doubles import SECRET


class InsightModel:
    """Finds the same insight each time; counts its calls and the transactions open meanwhile."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.calls = 0
        self.open_transactions = 0

    def complete(self, _request: ModelRequest) -> ModelAnswer:
        """One insight of two facts."""
        self.calls += 1
        with psycopg.connect(self.url) as connection:
            (self.open_transactions,) = connection.execute(
                "select count(*) from pg_stat_activity where datname = current_database()"
                " and state like 'idle in transaction%'"
            ).fetchone() or (0,)
        item = {"facts": ["f1", "f2"], "statement": "Tea goes with acme.", "significance": 0.9}
        return ModelAnswer(text=json.dumps({"insights": [item]}), usage=Usage())


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url, max_connections=2)
    remember(database, "works at: acme; likes: tea")
    yield database
    database.close()


def search(database: Database, model: InsightModel) -> InsightReport:
    asker = StoredChatModel(model, AnswerStore(database, TENANT))
    finder = InsightFinder(asker, "model", SECRET, Policy())
    return derive_insights(database, TENANT, finder, HashedNgramEmbedder(), Policy())


def test_a_crash_between_call_and_write_loses_nothing_and_pays_nothing_twice(
    database: Database, database_url: str
) -> None:
    model = InsightModel(database_url)
    rows(
        database_url,
        "create function memory.refuse() returns trigger language plpgsql as"
        " $$ begin raise exception 'no room'; end $$;"
        " create trigger refuse before insert on memory.insight_runs for each row"
        " execute function memory.refuse()",
    )
    with pytest.raises(psycopg.errors.RaiseException):
        search(database, model)
    assert read_insights(database, TENANT) == []
    rows(database_url, "drop trigger refuse on memory.insight_runs")
    assert search(database, model).inserted == ("Tea goes with acme.",)
    assert model.calls == 1


def test_no_transaction_is_open_while_the_model_is_asked(
    database: Database, database_url: str
) -> None:
    model = InsightModel(database_url)
    search(database, model)
    assert (model.calls, model.open_transactions) == (1, 0)
