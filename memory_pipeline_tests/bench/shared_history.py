"""The shared history through a scripted model at 200 ms per call: wall time, calls, tokens, replay.

Run: python -m memory_pipeline_tests.bench.shared_history [--folder ../shared/bench]. Starts servers
of its own. Belongs here: the measurement. Does not: bounds that tests hold (defs/test_model_runs).
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
from rich.console import Console
from rich.table import Table

from memory_pipeline.adapters import environment
from memory_pipeline.adapters.conversation_store import ConversationStore
from memory_pipeline.adapters.embedded_postgres import EmbeddedPostgres, Server, ensure_database
from memory_pipeline.adapters.migrations import migrate
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.adapters.queries import migrations_folder
from memory_pipeline.defs.partitions import register_partitions
from memory_pipeline.defs.resources import memory_database
from memory_pipeline.defs.runs import RunOptions, run_walk
from memory_pipeline.domain.conversation import SourceThread
from memory_pipeline.domain.fact import FactStatus
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.domain.policy import Policy
from memory_pipeline.importers.registry import read_exports
from memory_pipeline.prompts.library import EXTRACT_GRAPH, load_prompt
from memory_pipeline.reading.digest import digest
from memory_pipeline.reading.facts import read_facts
from memory_pipeline_tests.bench.walk_overhead import _instance_yaml
from memory_pipeline_tests.defs.model_walks import drop_memory, schema_of, variables
from memory_pipeline_tests.scripted import daily
from memory_pipeline_tests.scripted_server.usage import count_tokens

LATENCY_MS = 200
STRIDES = (1, 20)
EMBEDDERS = ("local", "scripted-embedding")
_PURPOSES = {"extracted_graph": "extract", "verdicts": "judge", "episode_summary": "summary"}


class RequestLog:
    """The scripted server's log, read from where it was left."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0

    def new_requests(self) -> list[dict[str, Any]]:
        """The requests since the last call."""
        if not self._path.exists():
            return []
        with self._path.open(encoding="utf-8") as lines:
            lines.seek(self._offset)
            found = [json.loads(line) for line in iter(lines.readline, "")]
            self._offset = lines.tell()
        return found


@dataclass(frozen=True)
class Tokens:
    """Prompt tokens of some requests, four characters each.

    `inside` is system part and schema, equal in every request of a prompt; `data` is what an
    extraction request holds of transcript and known lists.
    """

    inside: int
    outside: int
    data: int

    @classmethod
    def of(cls, bodies: Sequence[dict[str, Any]]) -> "Tokens":
        """The sums over requests."""
        parts = [
            (json.dumps(b["response_format"]) + b["messages"][0]["content"],
             b["messages"][-1]["content"])
            for b in bodies
        ]  # fmt: skip
        return cls(
            inside=sum(count_tokens(rules) for rules, _ in parts),
            outside=sum(count_tokens(user) for _, user in parts),
            data=sum(_data_tokens(user) for _, user in parts),
        )


def _data_tokens(user: str) -> int:
    """Tokens of transcript and known lists: the user part without its frame and its fences."""
    prompt = load_prompt(EXTRACT_GRAPH)
    frame = prompt.fill(dict.fromkeys(prompt.inputs, ""))
    fence = user.rpartition("<<<")[2].partition("\n")[0]
    return max(1, (len(user) - len(frame) - 3 * len(fence)) // 4)


@dataclass(frozen=True)
class Measured:
    """One run over the history: its wall seconds, its requests, what memory holds after it."""

    seconds: float
    requests: tuple[dict[str, Any], ...]
    facts: int
    superseded: int
    digest: str

    def calls(self) -> Counter[str]:
        """Requests by what they are for."""
        return Counter(
            _PURPOSES.get(schema_of(r["body"]), "chat") if "messages" in r["body"] else "embed"
            for r in self.requests
        )

    def bodies(self, purpose: str) -> list[dict[str, Any]]:
        """Bodies of the requests for one purpose."""
        return [r["body"] for r in self.requests if _PURPOSES.get(schema_of(r["body"])) == purpose]


class Bench:
    """One database, one Dagster instance, one request log, many tenants."""

    def __init__(self, folder: Path, instance: dg.DagsterInstance, log: RequestLog) -> None:
        self.threads = [
            item
            for item in read_exports([folder / "history.jsonl"], "openai", None)
            if isinstance(item, SourceThread)
        ]
        self._instance = instance
        self._log = log
        self.database: Database = memory_database()

    def load(self, tenant_id: TenantId, threads: Sequence[SourceThread]) -> None:
        """Import the threads one by one, in the order given."""
        store = ConversationStore(self.database)
        for item in threads:
            store.import_threads(tenant_id, "openai", [item])
        count = store.register_episodes(tenant_id, Policy())
        register_partitions(self._instance, tenant_id, count)

    def run(self, tenant_id: TenantId, count: int, stride: int) -> Measured:
        """One run over all episodes of a tenant."""
        self._log.new_requests()
        started = time.perf_counter()
        run_walk(self._instance, tenant_id, 1, count, RunOptions(context_stride=stride))
        seconds = time.perf_counter() - started
        facts = read_facts(self.database, tenant_id, with_history=True)
        return Measured(
            seconds=seconds,
            requests=tuple(self._log.new_requests()),
            facts=len({f.fact_id for f in facts}),
            superseded=len({f.fact_id for f in facts if f.status is FactStatus.SUPERSEDED}),
            digest=digest(self.database, tenant_id),
        )


def measure(folder: Path, bench: Bench, embedder: str, url: str) -> None:
    """All figures with one embedder, printed."""
    console = Console()
    warm = TenantId("warm")
    bench.load(warm, [t for t in daily("I keep bees.")])
    first = bench.run(warm, 1, 1)
    table = Table(title=f"{len(bench.threads)} episodes, {LATENCY_MS} ms per call, {embedder}")
    for name in ("", *(f"stride {stride}" for stride in STRIDES)):
        table.add_column(name)
    count = len(bench.threads)
    runs: list[Measured] = []
    resumed: list[Measured] = []
    for stride in STRIDES:
        tenant_id = TenantId(f"stride_{stride}")
        bench.load(tenant_id, bench.threads)
        runs.append(bench.run(tenant_id, count, stride))
        resumed.append(bench.run(tenant_id, count, stride))
    backwards = TenantId("backwards")
    bench.load(backwards, bench.threads[::-1])
    reverse = bench.run(backwards, count, STRIDES[-1])
    drop_memory(url)
    rebuilt = [bench.run(TenantId(f"stride_{stride}"), count, stride) for stride in STRIDES]
    for name, *values in _rows(runs, resumed, rebuilt, count):
        table.add_row(name, *map(str, values))
    console.print(table)
    digests = {run.digest for run in (*runs, *rebuilt, reverse)}
    console.print(
        f"first run of the process, one episode: {first.seconds:.2f} s\n"
        f"digests of strides, rebuilt memories and reverse import: {len(digests)} distinct"
    )


def _rows(
    runs: Sequence[Measured], resumed: Sequence[Measured], rebuilt: Sequence[Measured], count: int
) -> Iterator[tuple[Any, ...]]:
    yield ("wall seconds of the run", *(f"{run.seconds:.2f}" for run in runs))
    yield ("facts", *(run.facts for run in runs))
    yield ("supersessions", *(run.superseded for run in runs))
    for purpose in ("extract", "judge", "summary"):
        yield (f"calls: {purpose}", *(run.calls()[purpose] for run in runs))
    walked = [run.calls()["extract"] + run.calls()["judge"] for run in runs]
    yield ("extract + judge calls per episode", *(f"{calls / count:.2f}" for calls in walked))
    yield ("embedding requests", *(run.calls()["embed"] for run in runs))
    yield (
        "embedding requests per episode",
        *(f"{run.calls()['embed'] / count:.2f}" for run in runs),
    )
    for purpose in ("extract", "judge", "summary"):
        tokens = [Tokens.of(run.bodies(purpose)) for run in runs]
        name = f"{purpose}: prompt tokens per episode"
        yield (f"{name}, inside the prefix", *(t.inside // count for t in tokens))
        yield (f"{name}, outside", *(t.outside // count for t in tokens))
        if purpose == "extract":
            yield (
                "extract: frame and fences in each request",
                *((t.outside - t.data) // count for t in tokens),
            )
            yield (
                "extract: outside / (transcript + known lists)",
                *(f"{t.outside / t.data:.2f}" for t in tokens),
            )
    yield ("replay, resumed: calls", *(sum(run.calls().values()) for run in resumed))
    yield ("replay, resumed: seconds", *(f"{run.seconds:.2f}" for run in resumed))
    yield ("replay, memory built anew: calls", *(sum(r.calls().values()) for r in rebuilt))
    yield ("replay, memory built anew: seconds", *(f"{run.seconds:.2f}" for run in rebuilt))


@contextmanager
def _model_server(folder: Path, log: Path) -> Iterator[str]:
    """The scripted server in a process of its own, so that it takes no time of the run's."""
    command = [
        sys.executable, "-m", "memory_pipeline_tests.scripted_server",
        "--answers", str(folder / "expected.json"), "--latency-ms", str(LATENCY_MS),
        "--log", str(log),
    ]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate()


def _measure_in_child(folder: Path, server: Server, embedder: str) -> None:
    """One embedder on databases, caches and a model server of its own."""
    name = embedder.replace("-", "_")
    url = ensure_database(server, f"memory_{name}")
    migrate(url, migrations_folder())
    os.environ[environment.DATABASE_URL] = url
    os.environ[environment.DAGSTER_URL] = ensure_database(server, f"dagster_{name}")
    with tempfile.TemporaryDirectory() as home:
        log = Path(home) / "requests.jsonl"
        with _model_server(folder, log) as base_url:
            os.environ.update({**variables(base_url), environment.EMBEDDING_MODEL: embedder})
            (Path(home) / "dagster.yaml").write_text(_instance_yaml("pooled"))
            with dg.DagsterInstance.from_config(home) as instance:
                bench = Bench(folder, instance, RequestLog(log))
                measure(folder, bench, embedder, url)
                bench.database.close()


def main() -> None:
    """Both embedders, each in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("../shared/bench"))
    parser.add_argument("--embedder", action="append", choices=EMBEDDERS)
    arguments = parser.parse_args()
    if not (arguments.folder / "expected.json").is_file():
        sys.exit(f"there is no shared history in {arguments.folder}")
    with tempfile.TemporaryDirectory() as home:
        Path(home).chmod(0o711)
        postgres = EmbeddedPostgres(Path(home) / "home")
        server = postgres.ensure()
        try:
            for embedder in arguments.embedder or EMBEDDERS:
                child = os.fork()
                if child == 0:
                    _measure_in_child(arguments.folder, server, embedder)
                    sys.stdout.flush()
                    os._exit(0)
                if os.waitpid(child, 0)[1]:
                    sys.exit(1)
        finally:
            postgres.stop()


if __name__ == "__main__":
    os.environ.setdefault("DAGSTER_EVENT_BATCH_SIZE", "500")
    main()
