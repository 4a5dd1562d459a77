"""What one episode costs beside extraction: a run of many, Dagster's events included.

Run: python -m memory_pipeline_tests.bench.walk_overhead [EPISODES]. Starts a server of its own.
A scripted extractor answers at once with two facts an episode, so that what is left is ours.
"""

import json
import os
import resource
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg

from memory_pipeline.adapters import environment
from memory_pipeline.adapters.conversation_store import ConversationStore
from memory_pipeline.adapters.database_urls import sqlalchemy_url
from memory_pipeline.adapters.embedded_postgres import EmbeddedPostgres, ensure_database
from memory_pipeline.adapters.migrations import migrate
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.adapters.queries import migrations_folder
from memory_pipeline.domain.conversation import Role, SourceMessage, SourceThread, Window
from memory_pipeline.domain.extraction import (
    ExtractedEntity,
    ExtractedFact,
    ExtractedGraph,
    KnownLists,
    Tier,
)
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.domain.policy import Policy

_START = datetime(2024, 1, 1, 9, tzinfo=UTC)
_TOWNS = ("porto", "lisbon", "ghent", "leiden", "bergen", "turin", "graz")


class ScriptedExtractor:
    """Two facts an episode: a town that changes now and then, and a thing in one of 40 boxes."""

    version = "scripted/1"
    tier = Tier.FAST

    def extract(self, window: Window, known: KnownLists) -> ExtractedGraph:
        """The answer for the episode's ordinal."""
        quote = window.messages[0].text
        town = _TOWNS[window.ordinal // 10 % len(_TOWNS)]
        return ExtractedGraph(
            entities=(ExtractedEntity(name=town, type="PLACE"),),
            relationships=(
                ExtractedFact(
                    subject="user", predicate="lives in", object=town, confidence=0.9,
                    source_quote=quote,
                ),
            ),
            literal_facts=(
                ExtractedFact(
                    subject="user",
                    predicate=f"keeps in box {window.ordinal % 40}",
                    object=f"thing {window.ordinal}",
                    confidence=0.9,
                    source_quote=quote,
                ),
            ),
        )  # fmt: skip


def history(count: int) -> list[SourceThread]:
    """One thread of one message for each episode, a day apart."""
    return [
        SourceThread(
            source_id=f"day-{index:05d}",
            messages=(
                SourceMessage(
                    source_id="1",
                    role=Role.USER,
                    text=f"I live in a town and keep thing {index}.",
                    said_at=_START + timedelta(days=index),
                ),
            ),
        )
        for index in range(1, count + 1)
    ]


def measure(server_url: str, dagster_url: str, storage: str, count: int) -> str:
    """Import and run `count` episodes; one line with the cost of the run."""
    os.environ[environment.DATABASE_URL] = server_url
    os.environ[environment.DAGSTER_URL] = dagster_url
    import dagster as dg

    from memory_pipeline.adapters import workshop
    from memory_pipeline.defs.partitions import register_partitions
    from memory_pipeline.defs.runs import run_walk

    extractor = ScriptedExtractor()
    workshop._heuristics = lambda: extractor  # type: ignore[assignment]
    migrate(server_url, migrations_folder())
    database = Database(server_url)
    store = ConversationStore(database)
    tenant = TenantId("bench")
    started = time.perf_counter()
    store.import_threads(tenant, "bench", history(count))
    store.register_episodes(tenant, Policy())
    imported = time.perf_counter() - started
    with tempfile.TemporaryDirectory() as home:
        (Path(home) / "dagster.yaml").write_text(_instance_yaml(storage))
        with dg.DagsterInstance.from_config(home) as instance:
            register_partitions(instance, tenant, count)
            before = _sessions(server_url)
            started = time.perf_counter()
            run_walk(instance, tenant, 1, count)
            took = time.perf_counter() - started
            sessions = _sessions(server_url) - before
    database.close()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return (
        f"{storage:>6} storage: {count} episodes, import {imported:.2f} s, run {took:.2f} s = "
        f"{took / count * 1000:.1f} ms per episode, {sessions} database sessions, "
        f"peak memory {peak} MB"
    )


def _instance_yaml(storage: str) -> str:
    """An instance as JSON, which YAML takes, with the project's storage class or the stock one."""
    url = sqlalchemy_url(os.environ[environment.DAGSTER_URL])
    pooled = {
        "module": "memory_pipeline.defs.dagster_storage",
        "class": "PooledStorage",
        "config": {"postgres_url": url},
    }
    stock = {"postgres": {"postgres_url": url}}
    chosen = {"custom": pooled} if storage == "pooled" else stock
    return json.dumps({"telemetry": {"enabled": False}, "storage": chosen})


def _sessions(url: str) -> int:
    """Sessions of the whole server since its start."""
    with psycopg.connect(url) as connection:
        row = connection.execute("select sum(sessions) from pg_stat_database").fetchone()
    return int(row[0]) if row else 0


def main() -> None:
    """Both storages, each in a process of its own so that peak memory is its own."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)
        postgres = EmbeddedPostgres(Path(folder) / "home")
        server = postgres.ensure()
        try:
            for storage in sys.argv[2:] or ("pooled", "stock"):
                url = ensure_database(server, f"memory_{storage}")
                dagster = ensure_database(server, f"dagster_{storage}")
                child = os.fork()
                if child == 0:
                    sys.stdout.write(measure(url, dagster, storage, count) + "\n")
                    sys.stdout.flush()
                    os._exit(0)
                os.waitpid(child, 0)
        finally:
            postgres.stop()


if __name__ == "__main__":
    os.environ.setdefault("DAGSTER_EVENT_BATCH_SIZE", "500")
    main()
