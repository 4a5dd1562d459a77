"""The main job on a real conversation: import, one Dagster run, facts, evidence, ledger, digest.

Belongs here: what must hold of the whole, with real parts everywhere. Does not: single rules.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from dagster import DagsterInstance

from memory_pipeline.adapters import environment
from memory_pipeline.adapters.conversation_store import ConversationStore
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.defs.partitions import register_partitions
from memory_pipeline.defs.runs import run_walk
from memory_pipeline.domain.conversation import Skipped, SourceThread
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.domain.policy import Policy
from memory_pipeline.importers.registry import read_export
from memory_pipeline.reading.checks import CHECKS, read_check
from memory_pipeline.reading.digest import digest
from memory_pipeline.reading.facts import read_facts
from memory_pipeline.reading.ledger import read_ledger

CONVERSATION = Path(__file__).parents[3] / "shared" / "data" / "locomo" / "conv-26.json"
WHOLE, PIECES = TenantId("caroline"), TenantId("caroline/in pieces")

pytestmark = pytest.mark.skipif(
    not CONVERSATION.is_file(), reason=f"the conversation {CONVERSATION.name} is not at hand"
)


@pytest.fixture
def memory(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    monkeypatch.setenv(environment.DATABASE_URL, database_url)
    database = Database(database_url)
    yield database
    database.close()


def _threads() -> list[SourceThread | Skipped]:
    return list(read_export(CONVERSATION, "locomo", "Caroline"))


def _run(database: Database, instance: DagsterInstance, tenant: TenantId) -> None:
    last = ConversationStore(database).highest_ordinals()[tenant]
    register_partitions(instance, tenant, last)
    run_walk(instance, tenant, 1, last)


def test_a_real_conversation_becomes_facts_that_cite_the_user_and_add_up(
    memory: Database, dagster_instance: DagsterInstance
) -> None:
    store = ConversationStore(memory)
    store.import_threads(WHOLE, "locomo", _threads(), user="Caroline")
    assert store.register_episodes(WHOLE, Policy()) == 19

    _run(memory, dagster_instance, WHOLE)

    facts = read_facts(memory, WHOLE)
    assert facts
    with memory.tenant(WHOLE) as connection:
        rows = connection.execute("select message_id, text, speaker, role from memory.messages")
        messages = {row["message_id"]: row for row in rows.fetchall()}
        cited = connection.execute("select distinct message_id from memory.fact_evidence")
        cited_ids = [row["message_id"] for row in cited.fetchall()]
    for fact in facts:
        assert fact.message_id is not None
        message = messages[fact.message_id]
        assert message["text"][fact.span_start : fact.span_end] == fact.source_quote
    assert {messages[i]["speaker"] for i in cited_ids} == {"Caroline"}
    assert {messages[i]["role"] for i in cited_ids} == {"user"}
    ledger = read_ledger(memory, WHOLE)
    assert ledger.adds_up, ledger.problems
    assert sum(ledger.messages.values()) == len(messages)
    assert {name: read_check(memory, name) for name in CHECKS} == {name: {} for name in CHECKS}


def test_running_again_changes_nothing_and_ten_pieces_give_the_same_memory(
    memory: Database, dagster_instance: DagsterInstance
) -> None:
    store = ConversationStore(memory)
    threads = _threads()
    store.import_threads(WHOLE, "locomo", threads, user="Caroline")
    store.register_episodes(WHOLE, Policy())
    _run(memory, dagster_instance, WHOLE)
    first = digest(memory, WHOLE)
    _run(memory, dagster_instance, WHOLE)
    assert digest(memory, WHOLE) == first

    for start in range(0, len(threads), 4):
        store.import_threads(PIECES, "locomo", threads[start : start + 4], user="Caroline")
        if store.register_episodes(PIECES, Policy()):
            _run(memory, dagster_instance, PIECES)
    assert digest(memory, PIECES) == first
