"""Real runs whose models fail for a reason, change, or see too much: what is kept and told.

Belongs here: length, truncation, switching models off and on, a server with every fault in turn
(spec E5, J8, W6, X11). Does not: single faults, quotas and outages (test_model_runs).
"""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from memory_pipeline.adapters import environment, workshop
from memory_pipeline.adapters.conversation_store import ConversationStore
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.defs.partitions import register_partitions
from memory_pipeline.defs.runs import RunOptions, WalkFailedError, run_walk
from memory_pipeline.domain.fact import FactStatus
from memory_pipeline.domain.policy import Policy
from memory_pipeline.importers.registry import read_export
from memory_pipeline.reading.digest import digest
from memory_pipeline.reading.facts import read_facts
from memory_pipeline.reading.ledger import read_ledger
from memory_pipeline.reading.lists import read_episodes
from memory_pipeline_tests.defs.episodes import ANN, history, statuses
from memory_pipeline_tests.defs.model_walks import (
    EXTRACTING,
    FAST,
    STRONG,
    AimedServer,
    chats,
    configure,
    drop_memory,
    schema_of,
    transcript_of,
)
from memory_pipeline_tests.scripted import scalar
from memory_pipeline_tests.scripted_server import Fault, FaultKind, nothing_found

pytestmark = pytest.mark.usefixtures("server")

LOCOMO = Path(__file__).parents[3] / "shared" / "data" / "locomo" / "conv-26.json"
SETTING = "MEMORY_SETTING_EPISODE_MAX_TOKENS"
LONG = "la " * 12_000


def messages_that_add_up(database: Database) -> dict[str, int]:
    ledger = read_ledger(database, ANN)
    assert ledger.adds_up, ledger.problems
    assert sum(ledger.messages.values()) == scalar(
        database.url, "select count(*) from memory.messages"
    )
    return ledger.messages


# --- what is too long for a model -------------------------------------------------------------


def too_long_for(*models: str) -> Any:
    """An aim at extraction requests to these models."""

    def aim(body: dict[str, Any]) -> Fault | None:
        is_meant = schema_of(body) == EXTRACTING and body["model"] in models
        return Fault(FaultKind.TOO_LONG) if is_meant else None

    return aim


def test_what_is_too_long_for_the_fast_model_is_read_by_the_strong_one_and_replayed_from_store(
    instance: dg.DagsterInstance,
    database: Database,
    database_url: str,
    server: AimedServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    configure(monkeypatch, server, strong=True)
    server.aim = too_long_for(FAST)
    history(instance, database, "works at: firm1", "works at: firm2")
    run_walk(instance, ANN, 1, 2)
    assert statuses(database, 2) == ["done", "done"]
    asked = [request.body["model"] for request in chats(server, EXTRACTING)]
    assert asked == [FAST, STRONG, FAST, STRONG]
    assert {fact.object for fact in read_facts(database, ANN)} == {"firm2"}
    first, requests = digest(database, ANN), len(server.requests)
    drop_memory(database_url)
    run_walk(instance, ANN, 1, 2)
    assert (digest(database, ANN), len(server.requests)) == (first, requests)


def test_what_is_too_long_for_every_model_fails_at_once_and_names_the_setting(
    instance: dg.DagsterInstance, database: Database, server: AimedServer
) -> None:
    server.aim = too_long_for(FAST)
    history(instance, database, "works at: firm1")
    for tried in (1, 2):
        with pytest.raises(WalkFailedError, match=f"context length is not enough: .*{SETTING}"):
            run_walk(instance, ANN, 1, 1)
        assert len(chats(server, EXTRACTING)) == tried
    run_walk(instance, ANN, 1, 1)
    assert statuses(database, 1) == ["given_up"]
    assert len(chats(server, EXTRACTING)) == 3
    (episode,) = read_episodes(database, ANN, statuses=["given_up"])
    assert SETTING in str(episode.error)
    assert messages_that_add_up(database) == {"given_up": 1}


def test_a_message_that_was_shown_in_part_stands_apart_unless_it_became_evidence(
    instance: dg.DagsterInstance, database: Database, server: AimedServer
) -> None:
    history(instance, database, f"works at: firm1; {LONG}; owns: boat", LONG)
    run_walk(instance, ANN, 1, 2)
    assert {fact.object for fact in read_facts(database, ANN)} == {"firm1"}
    assert not any("boat" in transcript_of(request.body) for request in server.requests)
    assert messages_that_add_up(database) == {"evidence": 1, "truncated": 1}


# --- models switched on and off ---------------------------------------------------------------


def without_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of a keyless installation."""
    for name in (environment.FAST_MODEL, environment.BASE_URL, environment.API_KEY):
        monkeypatch.delenv(name)
    workshop._chat_model.cache_clear()


def test_a_tenant_may_go_from_rules_to_a_model_and_back(
    instance: dg.DagsterInstance,
    database: Database,
    server: AimedServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("spacy", reason="the heuristics' parser is not installed")
    history(
        instance,
        database,
        "I work at Halden. I live in Lisbon.",
        "works at: kestrel",
        "I work at Orsted now.",
        "I live in Porto now.",
        "works at: talus",
    )
    without_model(monkeypatch)
    run_walk(instance, ANN, 1, 1)
    assert {fact.object for fact in read_facts(database, ANN)} == {"halden", "lisbon"}

    configure(monkeypatch, server, strong=False)
    run_walk(instance, ANN, 2, 2)
    assert {fact.object for fact in read_facts(database, ANN)} == {"kestrel", "lisbon"}

    requests = len(server.requests)
    without_model(monkeypatch)
    run_walk(instance, ANN, 3, 4)
    assert len(server.requests) == requests
    # Rules end what rules found, and never what a model found (spec J8).
    assert {fact.object for fact in read_facts(database, ANN)} == {"kestrel", "orsted", "porto"}

    configure(monkeypatch, server, strong=False)
    run_walk(instance, ANN, 5, 5)
    assert {fact.object for fact in read_facts(database, ANN)} == {"talus", "porto"}
    ended = [f for f in read_facts(database, ANN, with_history=True) if f.object == "kestrel"]
    assert ended[-1].status is FactStatus.SUPERSEDED
    assert statuses(database, 5) == ["done"] * 5
    assert messages_that_add_up(database) == {"evidence": 5}


# --- every fault in turn ----------------------------------------------------------------------

_HELPS_NOTHING = {FaultKind.GARBAGE: 2, FaultKind.REFUSAL: 2, FaultKind.NOTHING: 2,
                  FaultKind.CUT_ANSWER: 1, FaultKind.TOO_LONG: 1}  # fmt: skip
"""Faults that leave no usable answer, with the requests of one attempt."""
_IN_TURN = (None, FaultKind.GARBAGE, FaultKind.SLOW, *_HELPS_NOTHING)


class FaultsInTurn:
    """Gives each window that is asked about the next fault, and keeps to it."""

    def __init__(self) -> None:
        self.kinds: dict[str, FaultKind | None] = {}
        self._lock = threading.Lock()

    def __call__(self, body: dict[str, Any]) -> Fault | None:
        if schema_of(body) != EXTRACTING:
            return None
        with self._lock:
            kind = self.kinds.setdefault(window_of(body), _IN_TURN[len(self.kinds) % len(_IN_TURN)])
        return None if kind is None else Fault(kind, seconds=0.05)


def window_of(body: dict[str, Any]) -> str:
    """The first message of a transcript, equal in a request and in its repair."""
    return next(line for line in transcript_of(body).splitlines() if line.startswith("[m"))


@pytest.mark.skipif(not LOCOMO.is_file(), reason=f"the conversation {LOCOMO.name} is not at hand")
def test_a_conversation_with_every_fault_in_turn_ends_with_an_account_of_every_message(
    instance: dg.DagsterInstance, database: Database, server: AimedServer
) -> None:
    server.answer = nothing_found
    server.aim = faults = FaultsInTurn()
    store = ConversationStore(database)
    threads = read_export(LOCOMO, "locomo", "Caroline")
    store.import_threads(ANN, "locomo", threads, user="Caroline")
    count = store.register_episodes(ANN, Policy())
    register_partitions(instance, ANN, count)
    for _ in range(2):
        with pytest.raises(WalkFailedError, match="gave no usable answer"):
            run_walk(instance, ANN, 1, count, RunOptions(context_stride=count))
        assert messages_that_add_up(database)["pending"]
    run_walk(instance, ANN, 1, count, RunOptions(context_stride=count))

    useless = [kind for kind in faults.kinds.values() if kind in _HELPS_NOTHING]
    assert Counter(statuses(database, count)) == {
        "given_up": len(useless), "done": count - len(useless)
    }  # fmt: skip
    asked = Counter(window_of(request.body) for request in chats(server, EXTRACTING))
    expected = {
        window: 3 * _HELPS_NOTHING[kind] if kind in _HELPS_NOTHING else 1
        for window, kind in faults.kinds.items()
    }
    assert asked == expected
    assert set(messages_that_add_up(database)) == {"not_the_user", "given_up", "nothing_durable"}
    assert read_facts(database, ANN, with_history=True) == []
