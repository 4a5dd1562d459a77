"""The command `upkeep`: what it prints, what it changes, what it refuses.

Belongs here: the command on a real database. Does not: the passes (adapters) and runs (defs).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import psycopg
import pytest
import typer
from typer.testing import CliRunner, Result

from memory_pipeline.adapters import environment
from memory_pipeline.adapters.hashed_embedder import HashedNgramEmbedder
from memory_pipeline.adapters.insight_store import derive_insights
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.cli import insights, session, upkeep
from memory_pipeline.cli.errors import CommandError
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.domain.policy import Policy
from memory_pipeline.reading.facts import read_facts
from memory_pipeline.stages.insight import InsightFinder
from memory_pipeline_tests.scripted import memory_content, remember
from memory_pipeline_tests.stages.model_doubles import SECRET, ScriptedAsker

ANN, BOB = TenantId("ann"), TenantId("bob")


@pytest.fixture
def database(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    monkeypatch.setenv(environment.DATABASE_URL, database_url)
    monkeypatch.setenv(environment.EMBEDDING_MODEL, "hashed-ngrams/384/1")
    database = session.memory_database()
    for tenant_id in (ANN, BOB):
        remember(database, "works at: acme; likes: tea", tenant_id=tenant_id)
    yield database
    session.close_session()


@pytest.fixture
def double_acme(database: Database, database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute("update memory.entities set name = 'Acme' where name = 'tea'")


def run(*arguments: str) -> Result:
    app = typer.Typer()
    upkeep.register(app)
    insights.register(app)
    is_list = arguments[:1] == ("list-insights",)
    words = ["insights", *arguments[1:]] if is_list else ["upkeep", *arguments]
    return CliRunner().invoke(app, words)


def told(*arguments: str) -> Any:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_all_passes_run_over_all_tenants_in_order(database: Database) -> None:
    passes = told()["passes"]
    seen = [(p["name"], p["tenant"]) for p in passes if p["name"] != "profiles"]
    assert seen == [(n, t) for n in ("decay", "repair", "insights") for t in ("ann", "bob")]
    assert {p["tenant"] for p in passes if p["name"] == "profiles"} == {"ann", "bob"}


def test_one_pass_of_one_tenant_leaves_the_others_alone(
    database: Database, database_url: str, double_acme: None
) -> None:
    content = memory_content(database_url, BOB)
    (done,) = told("repair", "--tenant", "ann")["passes"]
    assert done["counts"] == {"merges": 1, "retired": 0, "facts_moved": 1, "facts_closed": 0}
    assert memory_content(database_url, BOB) == content


@pytest.mark.parametrize("name", ["decay", "repair", "insights", "profiles"])
def test_a_dry_run_changes_nothing(
    database: Database, database_url: str, double_acme: None, name: str
) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "update memory.fact_access set first_recorded_at = now() - interval '1 year'"
        )
    content = memory_content(database_url, ANN)
    (done,) = told(name, "--tenant", "ann", "--dry-run")["passes"]
    assert memory_content(database_url, ANN) == content
    assert any(done["counts"].values()) or done["remark"]


def test_insights_without_a_model_say_so(database: Database) -> None:
    result = run("insights", "--tenant", "ann")
    assert result.exit_code == 0
    assert "need a language model" in " ".join(result.stdout.split())


def test_what_was_archived_is_listed(database: Database, database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "update memory.fact_access set first_recorded_at = now() - interval '1 year'"
        )
    result = run("decay", "--tenant", "ann")
    assert "decay: user likes tea" in result.stdout
    assert read_facts(database, ANN) == []


def test_a_merge_is_listed_and_taken_apart(database: Database, double_acme: None) -> None:
    told("repair", "--tenant", "ann")
    (merge,) = told("repair", "--tenant", "ann", "--list")
    assert {merge["loser"].lower(), merge["winner"].lower()} == {"acme"}
    told("repair", "--tenant", "ann", "--undo", merge["event_id"])
    assert len({fact.object for fact in read_facts(database, ANN)}) == 2
    assert told("repair", "--tenant", "ann")["passes"][0]["counts"]["merges"] == 0


@pytest.mark.parametrize(
    ("arguments", "message", "code"),
    [
        (["--undo", "x"], "go with `upkeep repair --tenant T`", 2),
        (["decay", "--list", "--tenant", "ann"], "go with `upkeep repair --tenant T`", 2),
        (["repair", "--tenant", "ann", "--undo", "x"], "'x' is no id of a merge", 2),
        (["repair", "--tenant", "ann", "--undo", str(uuid4())], "has no merge", 1),
        (["--tenant", "nobody"], "there is no tenant 'nobody'", 1),
    ],
)
def test_a_refusal_says_why(
    database: Database, arguments: list[str], message: str, code: int
) -> None:
    result = run(*arguments)
    assert isinstance(result.exception, CommandError), result.output
    assert message in result.exception.message
    assert result.exception.exit_code == code


def test_insights_are_listed_with_what_became_of_every_proposal(database: Database) -> None:
    proposals = [
        {"facts": ["f1", "f2"], "statement": "Tea comes with acme.", "significance": 0.8},
        {"facts": ["f1"], "statement": "Dull.", "significance": 0.1},
    ]
    asker = ScriptedAsker(json.dumps({"insights": proposals}))
    policy = Policy()
    finder = InsightFinder(asker, "model", SECRET, policy)
    derive_insights(database, ANN, finder, HashedNgramEmbedder(), policy)
    (row,) = told("list-insights", "--tenant", "ann")
    assert (row["statement"], len(row["derived_from"])) == ("Tea comes with acme.", 2)
    (search,) = told("list-insights", "--tenant", "ann", "--runs")
    assert [o["outcome"] for o in search["outcomes"]] == ["refused: significance 0.1", "inserted"]
    for arguments in ((), ("--runs",), ("--history",)):
        assert "Tea comes with acme." in run("list-insights", "--tenant", "ann", *arguments).stdout
