"""Commands that read: one JSON document, exit codes, one clear line on failure, safe tables."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from psycopg.types.json import Jsonb
from typer.testing import CliRunner, Result

from memory_pipeline.adapters.postgres import Database
from memory_pipeline.cli import reading, session
from memory_pipeline.cli.errors import CommandError
from memory_pipeline_tests.reading.histories import (
    ANN,
    HISTORY,
    Fact,
    Line,
    as_owner,
    remember,
    store,
)
from memory_pipeline_tests.reading.test_lists import METRIC, UNSURE

_FACT_FIELDS = [
    "fact_id", "subject", "predicate", "object", "object_is_entity", "valid_from", "valid_until",
    "known_from", "known_until", "status", "superseded_by", "confidence", "memory_category",
    "source_quote", "message_id", "episode",
]  # fmt: skip

_LISTS = ["facts", "entities", "episodes", "instructions", "uncertainties", "ledger", "digest"]


@pytest.fixture
def database(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    """The database that the commands work with."""
    monkeypatch.setenv("MEMORY_DATABASE_URL", database_url)
    database = Database(database_url, max_connections=2)
    yield database
    database.close()
    session.close_session()


def run(*arguments: str) -> Result:
    """Run one command of the reading commands."""
    app = typer.Typer()
    reading.register(app)
    return CliRunner().invoke(app, list(arguments))


def read_json(*arguments: str) -> Any:
    """The one JSON document that a command prints."""
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def failure_of(*arguments: str) -> CommandError:
    """How a command fails."""
    result = run(*arguments)
    assert isinstance(result.exception, CommandError), result.output
    assert result.stdout == ""
    return result.exception


def test_facts_as_json_have_the_promised_fields_in_order(database: Database) -> None:
    remember(database, ANN, *HISTORY)
    row = read_json("facts", "--tenant", ANN)[0]
    assert list(row)[: len(_FACT_FIELDS)] == _FACT_FIELDS
    assert row["valid_from"] == "2024-02-01T00:00:00Z"
    assert (row["valid_until"], row["superseded_by"]) == (None, None)
    assert (row["status"], row["source_quote"]) == ("live", "I like hiking")


def test_facts_take_dates_and_instants_on_both_axes(database: Database) -> None:
    remember(database, ANN, *HISTORY)
    past = read_json("facts", "--tenant", ANN, "--valid-at", "2024-03-01")
    assert "berlin" in {row["object"] for row in past if row["status"] == "live"}
    known = ("--known-at", "2024-02-01T01:30:00+02:00")
    assert [row["object"] for row in read_json("facts", "--tenant", ANN, *known)] == ["berlin"]


def test_facts_with_history_name_successors(database: Database) -> None:
    remember(database, ANN, *HISTORY)
    rows = read_json("facts", "--tenant", ANN, "--history")
    (superseded,) = [row for row in rows if row["status"] == "superseded"]
    porto = next(row for row in rows if row["object"] == "porto")
    assert superseded["superseded_by"] == porto["fact_id"]


@pytest.mark.parametrize("option", ["--valid-at", "--known-at"])
@pytest.mark.parametrize("junk", ["yesterday", "2024-13-01", "", "0001-01-01T00:00:00+05:00"])
def test_junk_for_an_instant_is_wrong_usage(database: Database, option: str, junk: str) -> None:
    error = failure_of("facts", "--tenant", ANN, option, junk)
    assert error.exit_code == 2
    assert error.message.startswith(f"{option}: {junk!r} is no date or instant; write 2024-06-30")


@pytest.mark.parametrize("command", _LISTS)
def test_an_unknown_tenant_fails_in_one_clear_line(database: Database, command: str) -> None:
    error = failure_of(command, "--tenant", "nobody")
    assert error.exit_code == 1
    assert error.message.startswith("there is no tenant 'nobody': import its history first")
    assert "\n" not in error.message


@pytest.mark.parametrize("command", ["entities", "episodes", "instructions", "uncertainties"])
def test_lists_print_one_json_list(database: Database, command: str) -> None:
    remember(database, ANN, HISTORY[0], METRIC, UNSURE)
    assert len(read_json(command, "--tenant", ANN)) >= 1


def test_an_empty_list_is_still_one_json_document(database: Database) -> None:
    store(database, ANN, HISTORY)
    assert read_json("facts", "--tenant", ANN) == []
    assert "no facts" in run("facts", "--tenant", ANN).stdout


def test_episodes_can_be_narrowed_to_the_late_and_the_given_up(database: Database) -> None:
    remember(database, ANN, HISTORY[1])
    store(database, ANN, HISTORY[:1])
    (late,) = read_json("episodes", "--tenant", ANN, "--late", "--given-up")
    assert (late["status"], late["ordinal"], late["position"]) == ("late", 2, 1)


def test_the_ledger_exits_with_1_when_it_does_not_add_up(
    database: Database, database_url: str
) -> None:
    remember(database, ANN, *HISTORY)
    assert read_json("ledger", "--tenant", ANN)["adds_up"] is True
    as_owner(database_url, "delete from memory.message_outcomes")
    result = run("ledger", "--tenant", ANN, "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["adds_up"] is False
    shown = run("ledger", "--tenant", ANN)
    assert shown.exit_code == 1
    assert "episode 3: 1 message(s) of the user without an account" in shown.stdout


def test_the_digest_stands_alone_on_its_line(database: Database) -> None:
    remember(database, ANN, *HISTORY)
    document = read_json("digest", "--tenant", ANN)
    assert document["tenant"] == ANN
    assert run("digest", "--tenant", ANN).stdout == document["digest"] + "\n"


def test_explain_finds_the_tenant_by_itself(database: Database) -> None:
    remember(database, ANN, *HISTORY)
    fact_id = read_json("facts", "--tenant", ANN)[0]["fact_id"]
    document = read_json("explain", fact_id)
    assert (document["tenant"], document["fact_id"]) == (ANN, fact_id)
    assert document["evidence"][0]["quote"] == "I like hiking"


def test_explain_refuses_what_is_no_id_and_what_nobody_has(database: Database) -> None:
    assert failure_of("explain", "hello").exit_code == 2
    missing = failure_of("explain", "00000000-0000-0000-0000-000000000000")
    assert missing.exit_code == 1
    assert "lists the ids" in missing.message


def test_why_not_lists_what_became_of_the_words(database: Database) -> None:
    remember(database, ANN, *HISTORY)
    (trace,) = read_json("why-not", "the weather", "--tenant", ANN)
    assert (trace["kind"], trace["outcome"]) == ("message", "nothing_durable")
    assert failure_of("why-not", "?", "--tenant", ANN).exit_code == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("facts", "--tenant", ANN),
        ("facts", "--tenant", ANN, "--history"),
        ("entities", "--tenant", ANN),
        ("episodes", "--tenant", ANN),
        ("instructions", "--tenant", ANN),
        ("uncertainties", "--tenant", ANN),
        ("ledger", "--tenant", ANN),
        ("recipes", "--tenant", ANN),
        ("why-not", "I", "--tenant", ANN),
    ],
)
def test_tables_fit_in_100_columns_and_stored_text_forges_nothing(
    database: Database, arguments: tuple[str, ...]
) -> None:
    evil = "[red]\x1b[31mI\u202e like\r\nlive superseded [/red]" + "x" * 300
    quoted = Fact("likes", evil, quote=evil[:150])
    remember(database, ANN, *HISTORY, METRIC, UNSURE, Line("2024-09-09", evil, (quoted,)))
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    lines = result.stdout.split("\n")
    assert max(map(len, lines)) <= 100
    assert not {"\x1b", "\r", "\u202e"} & set(result.stdout)


def test_explain_shows_every_ground_of_a_fact(database: Database) -> None:
    remember(database, ANN, *HISTORY)
    rows = read_json("facts", "--tenant", ANN, "--history")
    fact_id = next(row["fact_id"] for row in rows if row["object"] == "berlin")
    shown = run("explain", fact_id[:8], "--tenant", ANN).stdout
    for part in ("superseded", "Versions", "Said", "Candidates", "Verdicts", "Related", "Berlin"):
        assert part in shown


def test_explain_prints_an_episodes_request_without_any_model(database: Database) -> None:
    remember(database, ANN, *HISTORY)
    shown = run("explain", "--request", "--tenant", ANN, "--episode", "4").stdout
    assert shown.startswith(f"Episode 4 of tenant {ANN}, thread ")
    for part in ("===== system =====", "- user lives in berlin\n", "| I moved to Porto today.\n"):
        assert part in shown


def test_requests_keep_their_lines_in_a_file(database: Database) -> None:
    text = "I have seen " + "many ships and " * 20 + "one lighthouse."
    store(database, ANN, [Line("2024-01-01", text)])
    arguments = ("explain", "--request", "--tenant", ANN, "--episode", "1")
    assert f"| {text}\n" in run(*arguments).stdout
    document = read_json(*arguments)
    assert document["origin"] == "built"
    assert text in document["requests"][0]["rendered"]


def test_a_fact_of_no_model_says_so_when_its_requests_are_asked_for(database: Database) -> None:
    remember(database, ANN, *HISTORY[:1])
    fact_id = read_json("facts", "--tenant", ANN)[0]["fact_id"]
    shown = run("explain", fact_id, "--request").stdout
    assert "Extracted by" in shown
    assert "No model was asked." in shown
    assert "No model was asked." not in run("explain", fact_id).stdout


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--request",),
        ("--episode", "1", "--tenant", ANN),
        ("--episode", "1", "--request"),
        ("3f2a", "--episode", "1", "--request", "--tenant", ANN),
    ],
)
def test_explain_wants_a_fact_or_the_request_of_an_episode(
    database: Database, arguments: tuple[str, ...]
) -> None:
    assert failure_of("explain", *arguments).exit_code == 2


def test_recipes_are_listed_with_what_they_consist_of(database: Database) -> None:
    remember(database, ANN, *HISTORY[:2])
    (row,) = read_json("recipes", "--tenant", ANN)
    assert (row["is_live"], row["folds"], row["extractor"]) == (True, 2, "scripted/1")
    shown = run("recipes").stdout
    assert row["recipe_id"] in shown
    assert "context_stride 1" in shown


def test_prompts_of_a_recipe_are_shown_by_the_beginning_of_their_digests(
    database: Database, database_url: str
) -> None:
    remember(database, ANN, *HISTORY[:1])
    change = """update memory.recipes set content = jsonb_set(content, '{judge}', %s)"""
    as_owner(database_url, change, Jsonb(f"model-judge/1 judge.v1:{'ab' * 32}"))
    assert "model-judge/1 judge.v1:abababababababab\n" in _trimmed(run("recipes").stdout)
    assert read_json("recipes")[0]["judge"].endswith("ab" * 32)


def _trimmed(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


@pytest.mark.parametrize("command", [*_LISTS, "recipes", "explain", "why-not"])
def test_every_command_helps_with_an_example(command: str) -> None:
    result = run(command, "--help")
    assert result.exit_code == 0
    assert f"memory-pipeline {command}" in " ".join(result.stdout.split())
