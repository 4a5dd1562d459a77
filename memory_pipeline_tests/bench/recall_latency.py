"""How long recall takes in a small and in a big tenant, and how long embedding a query takes.

Run: python -m memory_pipeline_tests.bench.recall_latency [FACTS ...]. Starts a server of its own.
Statements and vectors are made up (big_tenant); a big tenant gets its own index of vectors.
"""

import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import psycopg

from memory_pipeline.adapters.access_counter import flush_access_counts
from memory_pipeline.adapters.embedded_postgres import EmbeddedPostgres, ensure_database
from memory_pipeline.adapters.migrations import migrate
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.adapters.queries import migrations_folder
from memory_pipeline.adapters.vector_index import promote_big_tenants
from memory_pipeline.domain.embedding import HASHED_NGRAMS_ID
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.reading.recall import recall
from memory_pipeline_tests.bench.big_tenant import DIMENSIONS, fill_tenant


class GivenVectors:
    """An embedder that has the vector of each query already, so that only the reading is timed."""

    profile_id = HASHED_NGRAMS_ID
    dimensions = DIMENSIONS

    def __init__(self, vectors: dict[str, list[float]]) -> None:
        self._vectors = vectors

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """The vectors given for the texts."""
        return [self._vectors[text] for text in texts]


def measure(count: int, work: Callable[[int], object]) -> str:
    """Median and 95th percentile of `count` calls, after a few that warm up, and our own share."""
    for number in range(20):
        work(number)
    taken = []
    own = time.process_time()
    for number in range(count):
        started = time.perf_counter()
        work(number)
        taken.append((time.perf_counter() - started) * 1000)
    own = (time.process_time() - own) * 1000 / count
    taken.sort()
    p50, p95 = taken[count // 2], taken[count * 95 // 100]
    return f"p50 {p50:.1f} ms, p95 {p95:.1f} ms ({own:.1f} ms of them in this process)"


def bench(url: str, facts: int) -> list[str]:
    """Fill a tenant and time the kinds of query."""
    tenant = fill_tenant(url, TenantId(f"bench-{facts}"), facts)
    database = Database(url, max_connections=2)
    promote_big_tenants(database)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("vacuum analyze")
    embedder = GivenVectors({text: list(vector) for text, vector in tenant.queries})
    texts = [text for text, _ in tenant.queries]

    def ask(number: int, *, is_counted: bool = False) -> object:
        text = texts[number % len(texts)]
        return recall(database, tenant.tenant_id, text, embedder, is_counted=is_counted)

    def newest(number: int) -> object:
        return recall(database, tenant.tenant_id, "", None, is_counted=False)

    lines = [
        f"{facts} facts, question:        {measure(400, ask)}",
        f"{facts} facts, counted as read: {measure(400, lambda n: ask(n, is_counted=True))}",
        f"{facts} facts, no query:        {measure(200, newest)}",
    ]
    flush_access_counts(database)
    database.close()
    return lines


def embedding_time() -> str:
    """What embedding a query of one sentence takes with the default embedder."""
    from memory_pipeline.adapters.local_embedder import load_embedder

    embedder = load_embedder("local")
    return f"embedding a query ({embedder.profile_id}): " + measure(
        100, lambda number: embedder.embed([f"what did ann say about the house on street {number}"])
    )


def main() -> None:
    """All sizes on one server, then the embedder."""
    sizes = [int(argument) for argument in sys.argv[1:]] or [1_000, 100_000]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)
        postgres = EmbeddedPostgres(Path(folder) / "home")
        server = postgres.ensure()
        try:
            url = ensure_database(server, "memory_bench")
            migrate(url, migrations_folder())
            for size in sizes:
                for line in bench(url, size):
                    sys.stdout.write(line + "\n")
                    sys.stdout.flush()
        finally:
            postgres.stop()
    sys.stdout.write(embedding_time() + "\n")


if __name__ == "__main__":
    main()
