"""Pairs judged before, in whole walks with the parts that production uses (spec J2, G1, G3)."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from memory_pipeline.adapters import environment
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.adapters.workshop import open_workshop
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.reading.digest import digest
from memory_pipeline_tests.defs.model_walks import (
    EMBEDDER,
    JUDGING,
    chats,
    configure,
    drop_memory,
    spoken,
)
from memory_pipeline_tests.scripted import (
    DAY,
    START,
    TENANT,
    fold_all,
    import_history,
    scalar,
    thread,
)
from memory_pipeline_tests.scripted_server import Asked, ScriptedServer

HOUR = timedelta(hours=1)
SAID = (
    ("works at: acme; likes: tea", START),
    ("works at: apex", START + DAY),
    ("works at: apex; owns: xylophone", START + DAY + HOUR),
    ("works at: apex; works at: globex", START + DAY + 2 * HOUR),
    ("works at: apex; works at: globex", START + DAY + 3 * HOUR),
)


def refuse_new_jobs(asked: Asked) -> str:
    """Reads what is spelled out; a new job adds nothing."""
    if asked.schema_name != JUDGING:
        return spoken(asked)
    verdicts = json.loads(spoken(asked))["verdicts"]
    return json.dumps({"verdicts": [item | {"verdict": "new"} for item in verdicts]})


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    with ScriptedServer(refuse_new_jobs) as server:
        configure(monkeypatch, server, strong=False)
        yield server


def tell(database: Database, tenant_id: TenantId = TENANT) -> None:
    threads = [thread(f"t{number}", line) for number, line in enumerate(SAID)]
    import_history(database, threads, tenant_id)


def fold(database: Database, tenant_id: TenantId = TENANT, **settings: object) -> None:
    fold_all(open_workshop(database, tenant_id, settings), tenant_id)


def judging(url: str) -> list[tuple[Any, ...]]:
    """Pairs, calls and cache hits of judging, as each fold recorded them for its metadata."""
    with psycopg.connect(url) as owner:
        return owner.execute(
            "select counts -> 'judged_claims' -> 'pairs', counts -> 'judged_claims' ->"
            " 'model_calls', counts -> 'judged_claims' -> 'cache_hits'"
            " from memory.folds order by fold_number"
        ).fetchall()


def test_verdicts_from_store_make_no_call_and_count_as_cache_hits(
    database: Database, database_url: str, server: ScriptedServer
) -> None:
    tell(database)
    fold(database)
    assert judging(database_url) == [(0, 0, 0), (1, 1, 0), (1, 0, 1), (2, 1, 1), (2, 0, 2)]
    assert len(chats(server, JUDGING)) == 2


def test_a_memory_built_anew_finds_every_verdict(
    database: Database, database_url: str, server: ScriptedServer
) -> None:
    tell(database)
    fold(database)
    first, asked = digest(database, TENANT), len(server.requests)
    drop_memory(database_url)
    fold(database)
    assert digest(database, TENANT) == first
    assert len(server.requests) == asked
    assert judging(database_url) == [(0, 0, 0), (1, 0, 1), (1, 0, 1), (2, 0, 2), (2, 0, 2)]


def test_a_memory_whose_verdicts_were_lost_is_the_same_from_stored_answers(
    database: Database, database_url: str, server: ScriptedServer
) -> None:
    tell(database)
    fold(database)
    first, asked = digest(database, TENANT), len(server.requests)
    drop_memory(database_url)
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute("truncate memory.pair_verdicts")
    fold(database)
    assert digest(database, TENANT) == first
    assert len(server.requests) == asked


def test_the_memory_is_the_same_at_any_stride_and_in_any_split_of_runs(
    database: Database, server: ScriptedServer
) -> None:
    digests = set()
    for stride in (1, 2, 5):
        tenant_id = TenantId(f"stride_{stride}")
        tell(database, tenant_id)
        if stride == 2:
            for ordinal in range(1, 6):
                fold_all(open_workshop(database, tenant_id, {}), tenant_id, [ordinal])
        else:
            fold(database, tenant_id, context_stride=stride)
        digests.add(digest(database, tenant_id))
    assert len(digests) == 1


def test_without_a_model_no_verdict_is_stored(
    database: Database, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(environment.FAST_MODEL, raising=False)
    monkeypatch.setenv(environment.EMBEDDING_MODEL, EMBEDDER)
    said = ("I work at Acme.", "I work at Apex now.")
    threads = [thread(f"t{n}", (text, START + n * DAY)) for n, text in enumerate(said)]
    import_history(database, threads)
    fold(database)
    assert scalar(database_url, "select count(*) from memory.judged_pairs") != 0
    assert scalar(database_url, "select count(*) from memory.pair_verdicts") == 0
