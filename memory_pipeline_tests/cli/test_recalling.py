"""The command `recall`: table and block, one JSON document, counts, exit codes."""

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
import typer
from typer.testing import CliRunner, Result

from memory_pipeline.adapters.postgres import Database
from memory_pipeline.cli import recalling, session
from memory_pipeline.cli.errors import CommandError
from memory_pipeline_tests.reading.histories import ANN, HISTORY, remember, store


@pytest.fixture
def database(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    """The database that the command works with; the embedder without a model."""
    monkeypatch.setenv("MEMORY_DATABASE_URL", database_url)
    monkeypatch.setenv("MEMORY_EMBEDDING_MODEL", "hashed-ngrams/384/1")
    database = Database(database_url, max_connections=2)
    yield database
    database.close()
    session.close_session()


def run(*arguments: str) -> Result:
    """Run the command; a second one makes typer keep its name."""
    app = typer.Typer()
    recalling.register(app)
    app.command(name="other")(lambda: None)
    return CliRunner().invoke(app, ["recall", *arguments])


def read_json(*arguments: str) -> Any:
    """The one JSON document."""
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def counted(url: str) -> int:
    """Reads counted in all."""
    with psycopg.connect(url) as connection:
        row = connection.execute("select sum(access_count) from memory.fact_access").fetchone()
    return int(row[0] or 0) if row else 0


def test_json_holds_facts_with_score_and_ranks_and_the_block(database: Database) -> None:
    remember(database, ANN, *HISTORY)
    found = read_json("--tenant", ANN, "where do I live?", "--limit", "2")
    assert len(found["facts"]) == 2
    best = found["facts"][0]
    assert (best["predicate"], best["object"], best["status"]) == ("lives in", "porto", "live")
    assert best["score"] == pytest.approx(2 / 61)
    assert best["ranks"] == {"vector": 1, "anchor": None, "text": 1, "newest": None}
    assert "- user lives in porto (since 2024-06-01; confidence 0.90)" in found["context"]
    assert (found["profiles"], found["instructions"]) == ([], [])


def test_the_table_is_followed_by_the_block(database: Database) -> None:
    remember(database, ANN, *HISTORY)
    result = run("--tenant", ANN, "porto")
    assert result.exit_code == 0
    table, _, block = result.stdout.partition("<<<DATA-")
    assert "user lives in porto" in table
    assert "anchor 1" in table
    assert "## Facts" in block


def test_both_instants_are_taken(database: Database) -> None:
    remember(database, ANN, *HISTORY)
    found = read_json(
        "--tenant", ANN, "where", "--valid-at", "2024-03-01", "--known-at", "2024-03-02"
    )
    assert {fact["object"] for fact in found["facts"]} == {"berlin", "acme", "hiking"}


def test_only_what_was_returned_is_counted_before_the_command_ends(
    database: Database, database_url: str
) -> None:
    remember(database, ANN, *HISTORY)
    before = counted(database_url)
    assert len(read_json("--tenant", ANN, "porto", "--limit", "1")["facts"]) == 1
    assert counted(database_url) == before + 1
    with psycopg.connect(database_url) as connection:
        rows = connection.execute(
            "select f.statement from memory.fact_access a join memory.facts f"
            " using (tenant_id, content_key)"
            " where a.access_count > 0 and upper_inf(f.known_time)"
        ).fetchall()
    assert rows == [("user lives in porto",)]


def test_a_read_that_is_not_to_count_counts_nothing(database: Database, database_url: str) -> None:
    remember(database, ANN, *HISTORY)
    before = counted(database_url)
    assert read_json("--tenant", ANN, "porto", "--no-count")["facts"]
    assert counted(database_url) == before


def test_messages_are_searched_before_anything_was_extracted(
    database: Database, database_url: str
) -> None:
    store(database, ANN, HISTORY)
    (message,) = read_json("--tenant", ANN, "moving to Porto", "--messages", "--limit", "1")
    assert (message["text"], message["status"]) == ("I moved to Porto today.", "pending")
    assert "I moved to Porto today." in run("--tenant", ANN, "porto", "--messages").stdout
    assert counted(database_url) == 0


def test_without_a_query_the_newest_come_without_an_embedder(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(database, ANN, *HISTORY)
    monkeypatch.setenv("MEMORY_EMBEDDING_MODEL", "no-such-model")
    found = read_json("--tenant", ANN)
    assert [fact["object"] for fact in found["facts"]] == ["apex", "porto", "hiking"]


@pytest.mark.parametrize(
    ("arguments", "message", "code"),
    [
        (["--tenant", "nobody", "tea"], "there is no tenant 'nobody'", 1),
        (["--tenant", "nobody", "tea", "--messages"], "there is no tenant 'nobody'", 1),
        (["--tenant", ANN, "tea", "--limit", "0"], "limit must lie between 1 and 100", 2),
        (["--tenant", ANN, "tea", "--messages", "--limit", "900"], "limit must lie between", 2),
        (["--tenant", ANN, "tea", "--min-confidence", "2"], "min_confidence must lie between", 2),
        (["--tenant", ANN, "tea", "--valid-at", "soon"], "'soon' is no date or instant", 2),
        (["--tenant", ANN, "tea", "--messages", "--known-at", "2024-01-01"], "goes without", 2),
    ],
)
def test_a_failure_is_one_clear_message_and_an_exit_code(
    database: Database, arguments: list[str], message: str, code: int
) -> None:
    store(database, ANN, HISTORY)
    result = run(*arguments)
    assert isinstance(result.exception, CommandError), result.output
    assert message in result.exception.message
    assert (result.exception.exit_code, result.stdout) == (code, "")


def test_a_missing_tenant_is_wrong_usage() -> None:
    assert run("tea").exit_code == 2


def test_help_shows_an_example() -> None:
    result = run("--help")
    assert result.exit_code == 0
    assert "Example: memory-pipeline recall --tenant" in " ".join(result.stdout.split())
