"""How many profiles a second are built, with a model that takes 200 ms and eight calls in flight.

Run: python -m memory_pipeline_tests.bench.profile_throughput [--entities 640] [--tenants 1]
[--latency-ms 200] [--remote-embeddings]. Starts a database and the scripted server of its own.
The limit is in flight / latency: 40 profiles a second.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memory_pipeline.adapters import environment
from memory_pipeline.adapters.embedded_postgres import EmbeddedPostgres, ensure_database
from memory_pipeline.adapters.migrations import migrate
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.adapters.profile_store import due_tenants
from memory_pipeline.adapters.profiles import refresh_all_profiles, refresh_dirty_profiles
from memory_pipeline.adapters.queries import migrations_folder
from memory_pipeline.domain.ids import TenantId
from memory_pipeline_tests.scripted import remember

_FACTS_AN_EPISODE = 10
_EMBEDDER = "hashed-ngrams/384/1"


def main() -> None:
    """Print one JSON document with rates and counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entities", type=int, default=640, help="of each tenant, beside the user")
    parser.add_argument("--tenants", type=int, default=1)
    parser.add_argument("--latency-ms", type=float, default=200.0)
    parser.add_argument("--remote-embeddings", action="store_true", help="vectors over HTTP too")
    arguments = parser.parse_args()
    with _database() as url, _model_server(arguments.latency_ms) as base_url:
        os.environ[environment.BASE_URL] = base_url
        os.environ[environment.FAST_MODEL] = "scripted-fast"
        database = Database(url, max_connections=10)
        _remember(database, arguments.tenants, arguments.entities)
        if arguments.remote_embeddings:
            # The scripted vectors stand in for those that memory was built with.
            os.environ[environment.EMBEDDING_MODEL] = "scripted-embedding"
            _say_vectors_are_remote(url)
        sys.stdout.write(json.dumps(_measure(database), indent=2) + "\n")
        database.close()


def _measure(database: Database) -> dict[str, object]:
    tenants = due_tenants(database, 1_000_000)
    started, cpu = time.monotonic(), _cpu()
    reports = list(refresh_dirty_profiles(database, tenants, is_exhaustive=True))
    seconds, cpu_seconds = time.monotonic() - started, _cpu() - cpu
    written = sum(len(report.written) for report in reports)
    started = time.monotonic()
    again = list(refresh_all_profiles(database, tenants))
    return {
        "tenants": len(tenants),
        "written": written,
        "calls": sum(report.calls.misses for report in reports),
        "failures": sum(len(report.failures) for report in reports),
        "seconds": round(seconds, 2),
        "profiles_per_second": round(written / seconds, 1),
        "own_cpu_ms_per_profile": round(1_000 * cpu_seconds / written, 2),
        "refresh_unchanged_seconds": round(time.monotonic() - started, 2),
        "refresh_unchanged_calls": sum(report.calls.misses for report in again),
        "load": os.getloadavg()[0],
    }


def _remember(database: Database, tenants: int, entities: int) -> None:
    things = [f"likes: thing{n}" for n in range(entities)]
    texts = [
        "; ".join(things[start : start + _FACTS_AN_EPISODE])
        for start in range(0, entities, _FACTS_AN_EPISODE)
    ]
    for number in range(tenants):
        tenant_id = TenantId(f"tenant{number:05d}")
        remember(database, *texts, tenant_id=tenant_id)


def _say_vectors_are_remote(url: str) -> None:
    import psycopg

    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute(
            "insert into memory.embedding_profiles (profile_id, dimensions, entity_merge,"
            " duplicate, band_low, second_signal) values"
            " ('scripted-embedding/384', 384, 0.9, 0.9, 0.5, 0.6) on conflict do nothing"
        )
        owner.execute("update memory.generations set profile_id = 'scripted-embedding/384'")


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


@contextmanager
def _database() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="profile-bench-") as folder:
        Path(folder).chmod(0o711)
        embedded = EmbeddedPostgres(Path(folder))
        try:
            url = ensure_database(embedded.ensure(), "memory")
            migrate(url, migrations_folder())
            os.environ[environment.DATABASE_URL] = url
            os.environ[environment.EMBEDDING_MODEL] = _EMBEDDER
            yield url
        finally:
            embedded.stop()


@contextmanager
def _model_server(latency_ms: float) -> Iterator[str]:
    """The address of a scripted server in a process of its own."""
    command = [sys.executable, "-m", "memory_pipeline_tests.scripted_server"]
    options = ["--latency-ms", str(latency_ms)]
    with subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


if __name__ == "__main__":
    main()
