"""A run killed or stopped during model calls, started again, repeats no answered request.

Belongs here: the commands as processes of their own against a scripted server (spec E5, G3, X13).
Does not: failures inside a run (defs/test_model_runs).
"""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import pytest

from memory_pipeline.adapters import environment
from memory_pipeline.adapters.conversation_store import ConversationStore
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.adapters.queries import project_folder
from memory_pipeline.adapters.workshop import open_workshop
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.domain.policy import Policy
from memory_pipeline.importers.registry import read_exports
from memory_pipeline.reading.digest import digest
from memory_pipeline.reading.facts import read_facts
from memory_pipeline.reading.ledger import read_ledger
from memory_pipeline_tests.cli.test_run_killed import Commands, finish
from memory_pipeline_tests.defs.model_walks import (
    EXTRACTING,
    KEY,
    AimedServer,
    at_text,
    chats,
    configure,
    contents,
    spoken,
    variables,
)
from memory_pipeline_tests.scripted import START, fold_all
from memory_pipeline_tests.scripted_server import Asked, Fault, FaultKind

EPISODES = 14
STRIDE = 6
ANSWERED = 9
"""Extractions answered before the kill: a whole stride and half of the next."""
_PATIENCE_SECONDS = 90


@dataclass
class Gate:
    """Answers so many extractions; whoever asks more waits until the gate opens."""

    lets_through: int
    is_open: threading.Event = field(default_factory=threading.Event)
    answered: list[str] = field(default_factory=list)
    asked: Counter[str] = field(default_factory=Counter)
    waiting: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, asked: Asked) -> str:
        request = json.dumps([asked.model, asked.body["messages"]])
        with self._lock:
            self.asked[request] += 1
            is_over = asked.schema_name == EXTRACTING and self.lets_through == 0
            if asked.schema_name == EXTRACTING and not is_over:
                self.lets_through -= 1
            if is_over and not self.is_open.is_set():
                self.waiting += 1
            else:
                self.answered.append(request)
                return spoken(asked)
        self.is_open.wait(_PATIENCE_SECONDS)
        return spoken(asked)


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """One conversation of one message a day; the job changes every third time."""
    lines = [
        {
            "id": f"chat-{number:02d}",
            "messages": [
                {
                    "role": "user",
                    "content": f"works at: firm{number // 3}; owns: thing{number}",
                    "timestamp": START.timestamp() + number * 86_400,
                }
            ],
        }
        for number in range(EPISODES)
    ]
    path = tmp_path / "history.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


@pytest.fixture
def server() -> Iterator[AimedServer]:
    with AimedServer(spoken) as server:
        yield server


@pytest.fixture
def commands(
    server: AimedServer, database_url: str, empty_database_url: str, tmp_path: Path
) -> Iterator[Commands]:
    """Starts commands on databases of this test and the scripted server."""
    home = tmp_path / "dagster"
    home.mkdir()
    shutil.copy(project_folder() / "dagster.yaml", home)
    ours = {
        environment.DATABASE_URL: database_url,
        environment.DAGSTER_URL: empty_database_url,
        "DAGSTER_HOME": str(home),
    }
    commands = Commands({**os.environ, **variables(server.base_url), **ours})
    yield commands
    commands.kill_all()


def run_arguments(tenant: str) -> tuple[str, ...]:
    return ("run", "--tenant", tenant, "--context-stride", str(STRIDE))


def wait_until_all_answers_are_stored(url: str, gate: Gate) -> None:
    """Until the run can do no more: what was answered is stored, and all others wait."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    count = "select count(*) from memory.model_answers where purpose <> 'embed'"
    held_back = 2 * STRIDE - ANSWERED
    with psycopg.connect(url, autocommit=True) as connection:
        while time.monotonic() < deadline:
            row = connection.execute(count).fetchone()
            if gate.waiting == held_back and row and row[0] == len(gate.answered):
                return
            time.sleep(0.02)
    raise AssertionError(f"{gate.waiting} wait, {len(gate.answered)} were answered")


def import_for(url: str, tenant: str, history: Path) -> Database:
    """The database with the history under one more tenant."""
    database = Database(url)
    store = ConversationStore(database)
    store.import_threads(TenantId(tenant), "openai", read_exports([history], "openai", None))
    assert store.register_episodes(TenantId(tenant), Policy()) == EPISODES
    return database


def undisturbed_digest(url: str, history: Path) -> str:
    """The digest of the same history under another tenant, walked in one go without Dagster."""
    whole = TenantId("whole")
    database = import_for(url, whole, history)
    parts = open_workshop(database, whole, {"context_stride": STRIDE})
    assert len(fold_all(parts, whole)) == EPISODES
    found = digest(database, whole)
    database.close()
    return found


def test_no_request_that_was_answered_before_a_kill_is_sent_again(
    commands: Commands,
    server: AimedServer,
    history: Path,
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gate = Gate(ANSWERED)
    server.answer = gate
    import_for(database_url, "killed", history).close()
    killed = commands.start(*run_arguments("killed"))
    try:
        wait_until_all_answers_are_stored(database_url, gate)
        killed.kill()
        killed.communicate(timeout=_PATIENCE_SECONDS)
    finally:
        gate.is_open.set()
    answered_before = list(gate.answered)
    (output,) = finish(commands.start(*run_arguments("killed")))

    assert f"killed: {EPISODES - STRIDE} episodes processed" in output
    assert len(set(answered_before)) == len(answered_before) >= ANSWERED
    assert {gate.asked[request] for request in answered_before} == {1}
    logged = Counter(contents(chats(server)))
    assert {logged[request] for request in answered_before} == {1}
    configure(monkeypatch, server, strong=False)
    expected = undisturbed_digest(database_url, history)
    database = Database(database_url)
    assert digest(database, TenantId("killed")) == expected
    assert len(read_facts(database, TenantId("killed"))) == EPISODES + 1
    assert read_ledger(database, TenantId("killed")).adds_up
    attempts = {row["extraction_attempts"] for row in ConversationStore(database).episodes(
        TenantId("killed"))}  # fmt: skip
    assert attempts == {0}
    database.close()


def test_a_spent_quota_ends_the_command_with_exit_code_3_and_says_what_is_kept(
    commands: Commands, server: AimedServer, history: Path, database_url: str
) -> None:
    import_for(database_url, "ann", history).close()
    server.aim = at_text(Fault(FaultKind.QUOTA), "thing9")
    stopped = commands.start(*run_arguments("ann"))
    output, errors = stopped.communicate(timeout=_PATIENCE_SECONDS)
    assert stopped.returncode == 3
    told = " ".join((output + errors).split())
    assert "exceeded your current quota" in told
    assert f"9 of {EPISODES} episodes are done and kept; run again to go on" in told
    assert KEY not in told
