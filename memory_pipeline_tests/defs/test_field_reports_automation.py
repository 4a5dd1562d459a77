"""Field reports B31 and B34: real sensors on a real instance, and a launcher that keeps count.

Belongs here: what automation does about episodes that fail. Does not: each sensor by itself
(test_sensors), runs (test_walked_episodes).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import dagster as dg
import psycopg
import pytest

from memory_pipeline.adapters import environment
from memory_pipeline.adapters.conversation_store import ConversationStore
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.defs import rests, sensors
from memory_pipeline.defs.partitions import RANGE_END_TAG, RANGE_START_TAG, TENANT_TAG
from memory_pipeline.defs.runs import RunOptions, WalkFailedError, run_walk
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.reading.facts import read_facts
from memory_pipeline_tests.defs.model_walks import (
    EMBEDDER,
    EXTRACTING,
    AimedServer,
    chats,
    spoken,
)
from memory_pipeline_tests.defs.scripted_walks import ScriptedWalks
from memory_pipeline_tests.field_reports import needs_reports, report
from memory_pipeline_tests.scripted import ScriptedExtractor, daily, import_history
from memory_pipeline_tests.scripted_server import Fault, FaultKind

ANN = TenantId("ann")


@pytest.fixture
def database(database: Database, monkeypatch: pytest.MonkeyPatch) -> Database:
    monkeypatch.setenv(environment.EMBEDDING_MODEL, EMBEDDER)
    return database


class Automation:
    """Both sensors on one instance, and a launcher with the daemon's rule for run keys.

    A key once used is never launched again. Runs are made at once, in this process.
    """

    def __init__(self, instance: dg.DagsterInstance, options: RunOptions | None = None) -> None:
        self._instance = instance
        self._options = options
        self._used: set[str] = set()
        self.cursor: str | None = None
        self.launched = 0

    def tick(self) -> int:
        """Evaluate both sensors once; how many runs were launched."""
        before = self.launched
        for sensor in (sensors.new_episodes, sensors.sweep):
            cursor = self.cursor if sensor is sensors.new_episodes else None
            result = sensor(dg.build_sensor_context(instance=self._instance, cursor=cursor))
            if isinstance(result, dg.SensorResult):
                self.cursor = result.cursor or self.cursor
                self.launch(result.run_requests or [])
        return self.launched - before

    def launch(self, requests: Sequence[dg.RunRequest]) -> None:
        """Make the runs that are asked for, but for run keys used before."""
        for request in requests:
            if request.run_key in self._used:
                continue
            if request.run_key is not None:
                self._used.add(request.run_key)
            first, last = (
                int(request.tags[tag].partition("|")[0]) for tag in (RANGE_START_TAG, RANGE_END_TAG)
            )
            self.launched += 1
            try:
                run_walk(
                    self._instance, TenantId(request.tags[TENANT_TAG]), first, last, self._options
                )
            except WalkFailedError:
                continue


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> ScriptedExtractor:
    extractor = ScriptedExtractor()
    monkeypatch.setattr(ScriptedWalks, "extractor", extractor)
    return extractor


@pytest.fixture
def restless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tenants whose runs failed are asked for again at once: an hour of ticks in a moment."""
    monkeypatch.setattr(rests, "_SHORTEST_REST", timedelta(0))


def automation(instance: dg.DagsterInstance) -> Automation:
    return Automation(instance, RunOptions(walks=ScriptedWalks()))


def reset(database_url: str, attempts: int) -> None:
    """What an operator does by hand."""
    with psycopg.connect(database_url) as owner:
        owner.execute(
            "update memory.episodes set extraction_status = 'pending', extraction_attempts = %s",
            [attempts],
        )


def status_of(database: Database) -> str:
    return ConversationStore(database).statuses(ANN, [1])[1]


def attempts_of(database: Database) -> int:
    (row,) = ConversationStore(database).episodes(ANN)
    return int(row["extraction_attempts"])


@pytest.mark.parametrize("attempts", [0, 1])
@pytest.mark.parametrize("is_rewound", [False, True])
def test_b31_a_failed_episode_that_is_reset_is_run_again(
    instance: dg.DagsterInstance,
    database: Database,
    database_url: str,
    scripted: ScriptedExtractor,
    attempts: int,
    is_rewound: bool,
) -> None:
    import_history(database, daily("boom: tea"), ANN)
    made = automation(instance)
    # The sensor of new episodes alone, so that the sweep does not mend it at once.
    result = sensors.new_episodes(dg.build_sensor_context(instance=instance))
    assert isinstance(result, dg.SensorResult)
    made.cursor = result.cursor
    made.launch(result.run_requests or [])
    assert (made.launched, status_of(database)) == (1, "failed")
    scripted.is_broken = False
    reset(database_url, attempts)
    made.cursor = None if is_rewound else made.cursor
    assert made.tick() >= 1
    assert status_of(database) == "done"


@needs_reports
@pytest.mark.usefixtures("restless")
def test_b34_automation_pays_for_a_failing_episode_three_times_at_most(
    instance: dg.DagsterInstance, database: Database, scripted: ScriptedExtractor
) -> None:
    expected = report("B34")["expected"]
    import_history(database, daily("boom"), ANN)
    made = automation(instance)
    # The sweep's ticks of an hour.
    for _ in range(30):
        made.tick()
    assert len(scripted.seen) <= expected["attempts_at_most"]
    assert attempts_of(database) <= expected["attempts_at_most"]
    # A failure for good has a word of its own here.
    assert status_of(database) == "given_up"


@pytest.mark.usefixtures("restless")
def test_b34_a_failing_episode_holds_up_the_next_ones_for_its_attempts_only(
    instance: dg.DagsterInstance, database: Database, scripted: ScriptedExtractor
) -> None:
    import_history(database, daily("likes: tea", "boom", "likes: milk", "boom", "likes: beer"), ANN)
    made = automation(instance)
    for _ in range(12):
        made.tick()
    found = ConversationStore(database).statuses(ANN, range(1, 6))
    assert [found[n] for n in range(1, 6)] == ["done", "given_up", "done", "given_up", "done"]
    assert made.tick() == 0
    assert max(scripted.ordinals().count(n) for n in (2, 4)) <= 3


@pytest.mark.usefixtures("restless")
def test_b34_a_models_bad_answers_are_asked_for_three_times_at_most(
    instance: dg.DagsterInstance, database: Database, server: AimedServer
) -> None:
    server.answer = lambda asked: "no JSON"
    import_history(database, daily("plays: cello"), ANN)
    made = Automation(instance)
    for _ in range(8):
        made.tick()
    assert status_of(database) == "given_up"
    # Each attempt asks once and shows the fault once.
    assert len(chats(server, EXTRACTING)) <= 2 * 3
    asked = len(server.requests)
    assert made.tick() == 0
    assert len(server.requests) == asked


@pytest.mark.usefixtures("restless")
def test_b34_what_a_model_has_answered_is_not_paid_for_again_while_a_later_step_fails(
    instance: dg.DagsterInstance,
    database: Database,
    server: AimedServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(environment.EMBEDDING_MODEL, "scripted-embedding")
    server.answer = spoken
    server.aim = lambda body: Fault(FaultKind.NOT_FOUND) if "input" in body else None
    import_history(database, daily("plays: cello"), ANN)
    made = Automation(instance)
    for _ in range(5):
        made.tick()
    assert status_of(database) != "done"
    assert len(chats(server, EXTRACTING)) == 1
    server.aim = lambda _body: None
    made.tick()
    assert [f.object for f in read_facts(database, ANN)] == ["cello"]
    assert len(chats(server, EXTRACTING)) == 1
