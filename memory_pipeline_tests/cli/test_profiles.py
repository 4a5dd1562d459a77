"""Commands on profiles: the list, those that failed, one built at once; exit codes, safe tables."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from memory_pipeline.adapters import environment, workshop
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.adapters.profiles import refresh_dirty_profiles
from memory_pipeline.cli import profiles, session
from memory_pipeline.cli.errors import CommandError, ExitCode
from memory_pipeline_tests.adapters.models.endpoints import endpoint_of
from memory_pipeline_tests.adapters.profile_walks import (
    bump,
    bumps,
    entity_id,
    let_time_pass,
    rows,
    texts,
)
from memory_pipeline_tests.defs.model_walks import EMBEDDER, AimedServer, chats, configure, spoken
from memory_pipeline_tests.scripted import TENANT, remember
from memory_pipeline_tests.scripted_server import Fault, FaultKind


@pytest.fixture
def database(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    """The database that the commands work with."""
    monkeypatch.setenv(environment.DATABASE_URL, database_url)
    monkeypatch.setenv(environment.EMBEDDING_MODEL, EMBEDDER)
    database = Database(database_url, max_connections=4)
    remember(database, "works at: acme; likes: tea")
    yield database
    database.close()
    session.close_session()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[AimedServer]:
    with AimedServer(spoken) as server:
        configure(monkeypatch, server, strong=False)
        monkeypatch.setattr(workshop, "_endpoint", lambda: endpoint_of(server))
        yield server


def run(*arguments: str) -> Result:
    app = typer.Typer()
    profiles.register(app)
    return CliRunner().invoke(app, [*arguments, "--tenant", TENANT])


def read_json(*arguments: str) -> Any:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def failure_of(*arguments: str) -> CommandError:
    result = run(*arguments)
    assert isinstance(result.exception, CommandError), result.output
    assert result.stdout == ""
    return result.exception


def hold(database: Database, server: AimedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The profile of tea has failed as often as it may."""
    monkeypatch.setenv("MEMORY_SETTING_PROFILE_ATTEMPTS", "1")
    server.aim = lambda body: (
        Fault(FaultKind.GARBAGE, times=None)
        if "Entity: tea" in str(body["messages"][-1]["content"])
        else None
    )
    list(refresh_dirty_profiles(database, [TENANT]))


def test_a_profile_is_built_and_shown_with_the_facts_behind_each_sentence(
    database: Database, database_url: str
) -> None:
    shown = read_json("profile", "user")
    assert (shown["entity"], shown["is_extractive"], shown["is_stale"]) == ("user", True, False)
    assert shown["text"] == " ".join(s["text"] for s in shown["sentences"])
    assert {s["text"]: [f["object"] for f in s["facts"]] for s in shown["sentences"]} == {
        "The user works at acme.": ["acme"],
        "The user likes tea.": ["tea"],
    }
    assert bumps(database_url) == {"acme": 1, "tea": 1}


def test_a_profile_in_print_says_who_wrote_it_and_what_was_left_out(
    database: Database, server: AimedServer
) -> None:
    answer = {
        "sentences": [
            {"facts": ["f1"], "text": "The user likes tea."},
            {"facts": ["f1"], "text": "The user likes gin from Oslo."},
        ]
    }
    server.answer = lambda _asked: json.dumps(answer)
    result = run("profile", "tea")
    assert "written by scripted-fast" in result.stdout
    assert "Left out" in result.stdout
    assert "the name Oslo" in result.stdout
    assert "no model wrote it" in run_keyless(database)


def run_keyless(database: Database) -> str:
    """What is printed of a profile that no model wrote."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(environment.FAST_MODEL)
        return run("profile", "acme").stdout


def test_a_profile_that_is_up_to_date_is_not_asked_for_again(
    database: Database, server: AimedServer
) -> None:
    read_json("profile", "tea")
    read_json("profile", "TEA")
    assert len(chats(server)) == 1


@pytest.mark.parametrize("spelling", ["Tea", " tea ", "{id}", "{short}"])
def test_an_entity_is_found_by_name_and_by_id(
    database: Database, database_url: str, spelling: str
) -> None:
    tea = str(entity_id(database_url, "tea"))
    assert read_json("profile", spelling.format(id=tea, short=tea[:8]))["entity"] == "tea"


def test_an_entity_nobody_knows_and_one_of_which_nothing_holds_exit_with_1(
    database: Database, database_url: str
) -> None:
    assert failure_of("profile", "gin").exit_code == ExitCode.FAILED
    rows(database_url, "update memory.facts set valid_time = '[2020-01-01,2021-01-01)'")
    failure = failure_of("profile", "tea")
    assert (failure.exit_code, "nothing that holds" in failure.message) == (ExitCode.FAILED, True)


def test_two_things_of_one_name_are_told_apart_by_id(database: Database, database_url: str) -> None:
    rows(database_url, "update memory.entities set name = 'tea', type = 'FOOD' where name = 'acme'")
    failure = failure_of("profile", "tea")
    assert "FOOD" in failure.message
    assert "ORG" in failure.message


def test_an_unknown_tenant_is_one_line(database: Database) -> None:
    app = typer.Typer()
    profiles.register(app)
    for command in (["profiles"], ["profiles", "--retry"], ["profile", "tea"]):
        result = CliRunner().invoke(app, [*command, "--tenant", "nobody"])
        assert isinstance(result.exception, CommandError)
        assert "there is no tenant 'nobody'" in result.exception.message


def test_a_used_up_budget_exits_with_3(
    database: Database, server: AimedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(environment.BUDGET_TOKENS, "0")
    workshop.run_budget.cache_clear()
    workshop._chat_model.cache_clear()
    assert failure_of("profile", "tea").exit_code == ExitCode.BUDGET_EXHAUSTED


def test_a_model_that_gives_no_profile_exits_with_1_and_says_why(
    database: Database, server: AimedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold(database, server, monkeypatch)
    failure = failure_of("profile", "tea")
    assert (failure.exit_code, "no profile of 'tea'" in failure.message) == (1, True)


def test_a_profile_that_cannot_be_renewed_is_shown_as_it_was_with_a_warning(
    database: Database, database_url: str, server: AimedServer
) -> None:
    before = read_json("profile", "tea")["text"]
    remember(database, "owns: tea", name="later")
    server.aim = lambda _body: Fault(FaultKind.SERVER_ERROR, times=None)
    result = run("profile", "tea", "--json")
    assert result.exit_code == 0
    assert "warning: shown as it was written before" in result.stderr
    shown = json.loads(result.stdout)
    assert (shown["text"], shown["is_stale"]) == (before, True)


def test_the_list_holds_profiles_with_their_state_the_user_first(
    database: Database, database_url: str
) -> None:
    assert read_json("profiles") == []
    assert "no profiles" in run("profiles").stdout
    list(refresh_dirty_profiles(database, [TENANT]))
    bump(database_url, "tea")
    listed = read_json("profiles")
    assert [(row["entity"], row["is_stale"]) for row in listed] == [
        ("user", False),
        ("acme", False),
        ("tea", True),
    ]
    assert "stale" in run("profiles").stdout


def test_held_ones_are_listed_with_the_reason_and_retried_on_demand(
    database: Database,
    database_url: str,
    server: AimedServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hold(database, server, monkeypatch)
    (row,) = read_json("profiles", "--held")
    assert (row["entity"], row["attempts"], row["is_held"]) == ("tea", 1, True)
    assert row["reason"]
    assert "tea" in run("profiles", "--held").stdout
    assert read_json("profiles", "--retry") == {"tenant": TENANT, "retried": ["tea"]}
    assert read_json("profiles", "--held") == []
    server.aim = lambda _body: None
    list(refresh_dirty_profiles(database, [TENANT]))
    assert set(texts(database_url)) == {"acme", "tea", "user"}
    assert "nothing had failed" in run("profiles", "--retry").stdout


def test_a_retry_takes_those_that_rest_too(
    database: Database,
    database_url: str,
    server: AimedServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hold(database, server, monkeypatch)
    rows(database_url, "update memory.dirty_entities set held_at = null where attempts > 0")
    assert read_json("profiles", "--held") == []
    assert read_json("profiles", "--retry")["retried"] == ["tea"]
    let_time_pass(database_url)


def test_stored_text_cannot_forge_a_line_of_the_tables(
    database: Database, database_url: str
) -> None:
    list(refresh_dirty_profiles(database, [TENANT]))
    rows(database_url, "update memory.profiles set text = E'a\\x1b[31m\\nforged: line'")
    for command in (["profiles"], ["profile", "tea"]):
        assert "\x1b" not in run(*command).stdout
        assert "\nforged" not in run(*command).stdout
