"""A run killed in the middle, started again, leaves the memory of one that nobody disturbed.

Belongs here: the commands as processes of their own, and kill -9. Does not: failures inside a
run (defs/test_walked_episodes).
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
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
from memory_pipeline_tests.scripted import fold_all

EPISODES = 40
EMBEDDER = "hashed-ngrams/384/1"
_TOWNS = ("Porto", "Ghent", "Turin", "Graz", "Bergen")
_FIRMS = ("Acme", "Globex", "Initech")
_PATIENCE_SECONDS = 120


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """Forty conversations of one message each, a day apart, about a town, a firm, a dish."""
    start = datetime(2024, 3, 1, 9, tzinfo=UTC)
    lines = []
    for number in range(EPISODES):
        said = (
            f"I live in {_TOWNS[number // 8]}.",
            f"I work at {_FIRMS[number // 14]}.",
            "I have a dog called Rex." if number < 20 else "I don't have a dog anymore.",
        )[number % 3]
        said_at = start + timedelta(days=number)
        message = {"role": "user", "content": said, "timestamp": said_at.isoformat()}
        lines.append(json.dumps({"id": f"chat-{number:02d}", "messages": [message]}))
    path = tmp_path / "history.jsonl"
    path.write_text("\n".join(lines))
    return path


@pytest.fixture
def processes(database_url: str, empty_database_url: str, tmp_path: Path) -> Iterator[Commands]:
    """Starts commands on databases of this test; what still runs in the end is killed."""
    home = tmp_path / "dagster"
    home.mkdir()
    shutil.copy(project_folder() / "dagster.yaml", home)
    ours = {
        environment.DATABASE_URL: database_url,
        environment.DAGSTER_URL: empty_database_url,
        environment.EMBEDDING_MODEL: EMBEDDER,
        "DAGSTER_HOME": str(home),
    }
    commands = Commands({**os.environ, **ours})
    yield commands
    commands.kill_all()


class Commands:
    """Commands as processes, with one environment."""

    def __init__(self, env: dict[str, str]) -> None:
        self._env = env
        self._started: list[subprocess.Popen[str]] = []

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """One command of the console script, output captured."""
        process = subprocess.Popen(
            [sys.executable, "-m", "memory_pipeline", *arguments],
            env=self._env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._started.append(process)
        return process

    def kill_all(self) -> None:
        """End whatever still runs."""
        for process in self._started:
            if process.poll() is None:
                process.kill()
            process.communicate()


def finish(*processes: subprocess.Popen[str]) -> list[str]:
    """What each wrote to stdout; all must have succeeded."""
    outputs = []
    for process in processes:
        output, errors = process.communicate(timeout=_PATIENCE_SECONDS)
        assert process.returncode == 0, errors
        outputs.append(output)
    return outputs


def kill_in_the_middle(process: subprocess.Popen[str], url: str, tenant: str) -> int:
    """Kill the process after some folds; how many there were."""
    count = "select count(*) from memory.folds where tenant_id = %s"
    deadline = time.monotonic() + _PATIENCE_SECONDS
    with psycopg.connect(url, autocommit=True) as connection:
        while time.monotonic() < deadline and process.poll() is None:
            row = connection.execute(count, [tenant]).fetchone()
            if row and row[0] >= 5:
                process.send_signal(signal.SIGKILL)
                break
            time.sleep(0.01)
        process.communicate(timeout=_PATIENCE_SECONDS)
        row = connection.execute(count, [tenant]).fetchone()
    return int(row[0]) if row else 0


def undisturbed_digest(url: str, history: Path) -> str:
    """The digest of the same history under another tenant, walked in one go without Dagster."""
    database = Database(url)
    whole = TenantId("whole")
    store = ConversationStore(database)
    store.import_threads(whole, "openai", read_exports([history], "openai", None))
    store.register_episodes(whole, Policy())
    assert len(fold_all(open_workshop(database, whole, {}), whole)) == EPISODES
    found = digest(database, whole)
    database.close()
    return found


def test_a_killed_run_started_again_leaves_the_memory_of_an_undisturbed_one(
    processes: Commands, history: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(environment.EMBEDDING_MODEL, EMBEDDER)
    (imported,) = finish(processes.start("import", str(history), "--tenant", "killed", "--json"))
    assert json.loads(imported)["episodes"] == EPISODES
    killed = processes.start("run", "--tenant", "killed")
    folded = kill_in_the_middle(killed, database_url, "killed")
    assert 5 <= folded < EPISODES
    again = processes.start("run", "--tenant", "killed")
    expected = undisturbed_digest(database_url, history)
    (output,) = finish(again)
    assert f"killed: {EPISODES - folded} episodes processed" in output
    database = Database(database_url)
    assert digest(database, TenantId("killed")) == expected
    assert len(read_facts(database, TenantId("killed"), with_history=True)) > 10
    database.close()
