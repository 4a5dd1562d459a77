"""What the fold of an episode costs in a memory of many facts, at zero model latency.

Run: python -m memory_pipeline_tests.bench.fold_scale [--facts 100000] [--tenants 1000]. Starts a
server of its own. Plain episodes say two things, full ones four, one of which ends a link. Belongs
here: filling, folding, the table. Does not: the bounds that tests hold.
"""

import argparse
import hashlib
import resource
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import wraps
from pathlib import Path
from statistics import quantiles
from typing import Any

from rich.console import Console
from rich.table import Table

from memory_pipeline.adapters.conversation_store import ConversationStore
from memory_pipeline.adapters.embedded_postgres import EmbeddedPostgres, Server, ensure_database
from memory_pipeline.adapters.memory_store import MemoryStore
from memory_pipeline.adapters.migrations import migrate
from memory_pipeline.adapters.postgres import Database, RowConnection
from memory_pipeline.adapters.queries import migrations_folder
from memory_pipeline.adapters.tenant_walk import TenantWalk, WalkedEpisode, Workshop
from memory_pipeline.adapters.workshop import make_recipe
from memory_pipeline.defs import io_managers
from memory_pipeline.domain.conversation import Role, SourceMessage, SourceThread, Window
from memory_pipeline.domain.embedding import MINILM_INT8_ID
from memory_pipeline.domain.extraction import (
    ExtractedEntity,
    ExtractedFact,
    ExtractedGraph,
    KnownLists,
    Tier,
)
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.domain.policy import Policy
from memory_pipeline.stages.judge import RulesJudge
from memory_pipeline_tests.bench.filled_memory import (
    FilledTenant,
    fill_tenant,
    fill_tenants,
    filled_name,
    raw_vectors,
)

_START = datetime(2030, 1, 1, 9, tzinfo=UTC)
_WARM_UP = 6
"""Episodes not counted: from the sixth on the server reuses its plans."""


class TopicEmbedder:
    """A vector near one of the filled memory's topics for any text, at once."""

    profile_id = MINILM_INT8_ID
    dimensions = 384

    def __init__(self) -> None:
        topics, noises = raw_vectors()
        self._topics, self._noises = topics, noises

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One unit vector for each text; equal texts have equal ones."""
        return [self._embed(text) for text in texts]

    def _embed(self, text: str) -> list[float]:
        number = int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big")
        topic = self._topics[number % len(self._topics)]
        vector = topic + self._noises[number // len(self._topics) % len(self._noises)]
        unit: list[float] = (vector / (vector @ vector) ** 0.5).tolist()
        return unit


class MovingExtractor:
    """Four facts an episode: a move, which ends a link, two known things and a taste.

    `is_plain`: two facts an episode, a known person and a taste, which end nothing.
    """

    version = "moving/1"
    tier = Tier.HEURISTICS

    def __init__(self, *, is_plain: bool = False) -> None:
        self._is_plain = is_plain

    def extract(self, window: Window, known: KnownLists) -> ExtractedGraph:
        """What the window's only message says."""
        text = window.messages[0].text
        number = int(text.rpartition(" ")[2])
        town, friend, thing = f"town {number}", filled_name(number), filled_name(number + 1)
        taste = _said("user", "likes", f"dish {number}", text)
        if self._is_plain:
            return ExtractedGraph(
                entities=(ExtractedEntity(name=friend, type="PERSON"),),
                relationships=(_said("user", "works with", friend, text),),
                literal_facts=(taste,),
            )
        return ExtractedGraph(
            entities=(
                ExtractedEntity(name=town, type="PLACE"),
                ExtractedEntity(name=friend, type="PERSON"),
                ExtractedEntity(name=thing, type="PRODUCT"),
            ),
            relationships=(
                _said("user", "lives in", town, text),
                _said("user", "works with", friend, text),
                _said("user", "owns", thing, text),
            ),
            literal_facts=(taste,),
        )


def _said(subject: str, predicate: str, thing: str, quote: str) -> ExtractedFact:
    return ExtractedFact(
        subject=subject, predicate=predicate, object=thing, confidence=0.9, source_quote=quote
    )


class CountingDatabase(Database):
    """Counts scopes: one is one round trip, but for `tenant`, which waits for each statement."""

    trips = 0

    @contextmanager
    def tenant(self, tenant_id: TenantId) -> Iterator[RowConnection]:
        """As the database does."""
        CountingDatabase.trips += 4
        with super().tenant(tenant_id) as connection:
            yield connection

    @contextmanager
    def tenant_pipeline(
        self, tenant_id: TenantId, *, is_fold: bool = False
    ) -> Iterator[RowConnection]:
        """As the database does."""
        CountingDatabase.trips += 1
        with super().tenant_pipeline(tenant_id, is_fold=is_fold) as connection:
            yield connection

    @contextmanager
    def tenant_reads(
        self, tenant_id: TenantId, *, is_fold: bool = False
    ) -> Iterator[RowConnection]:
        """As the database does."""
        CountingDatabase.trips += 1
        with super().tenant_reads(tenant_id, is_fold=is_fold) as connection:
            yield connection


class StepTimes:
    """Milliseconds and round trips of each named step, call by call."""

    def __init__(self) -> None:
        self.times: dict[str, list[float]] = defaultdict(list)
        self.trips: dict[str, list[int]] = defaultdict(list)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Count what happens in the block under a name."""
        started, trips = time.perf_counter(), CountingDatabase.trips
        yield
        self.times[name].append((time.perf_counter() - started) * 1000)
        self.trips[name].append(CountingDatabase.trips - trips)

    def clear(self) -> None:
        """Forget what was counted."""
        self.times.clear()
        self.trips.clear()


@contextmanager
def timed(steps: StepTimes) -> Iterator[None]:
    """Time every public method of the stores, the planning and the write of the fold."""
    places: list[tuple[Any, str]] = [
        (kind, name)
        for kind in (MemoryStore, ConversationStore)
        for name, method in vars(kind).items()
        if callable(method) and not name.startswith("_")
    ]
    places += [(WalkedEpisode, "plan"), (io_managers, "apply_changes")]
    kept = [(place, name, getattr(place, name)) for place, name in places]
    for place, name, function in kept:
        setattr(place, name, _timed(function, name, steps))
    try:
        yield
    finally:
        for place, name, function in kept:
            setattr(place, name, function)


def _timed(function: Callable[..., Any], name: str, steps: StepTimes) -> Callable[..., Any]:
    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with steps.step(name):
            return function(*args, **kwargs)

    return call


def moving_history(first: int, count: int) -> list[SourceThread]:
    """One thread of one message for each episode, a day apart, behind all that was filled."""
    return [
        SourceThread(
            source_id=f"move-{number:05d}",
            messages=(
                SourceMessage(
                    source_id="1",
                    role=Role.USER,
                    text=f"I moved to town {number}, work with {filled_name(number)}, got me a "
                    f"{filled_name(number + 1)} and like dish {number}",
                    said_at=_START + timedelta(days=number),
                ),
            ),
        )
        for number in range(first, first + count)
    ]


def open_moving_walk(
    database: Database, filled: FilledTenant, count: int, *, is_plain: bool = False
) -> TenantWalk:
    """A walk over `count` episodes that a filled tenant has not folded yet."""
    store = ConversationStore(database)
    store.import_threads(filled.tenant_id, "bench", moving_history(1, count))
    store.register_episodes(filled.tenant_id, Policy())
    extractor, judge = MovingExtractor(is_plain=is_plain), RulesJudge()
    embedder = TopicEmbedder()
    recipe = make_recipe(Policy(), embedder.profile_id, extractor.version, judge.version)
    workshop = Workshop(
        database=database, extractor=extractor, judge=judge, embedder=embedder, recipe=recipe,
        policy=Policy(),
    )  # fmt: skip
    return TenantWalk(workshop, filled.tenant_id)


def fold_episodes(database: Database, walk: TenantWalk, steps: StepTimes, warm_up: int) -> None:
    """Fold what is open; the time from one episode's end to the next one's is the `episode`."""
    episodes = walk.walk()
    number = 0
    while True:
        with steps.step("episode"):
            walked = next(episodes, None)
            if walked is not None:
                io_managers.fold_episode(database, walked)
        if walked is None:
            steps.times["episode"].pop()
            steps.trips["episode"].pop()
            return
        number += 1
        if number == warm_up:
            steps.clear()


def _table(title: str, steps: StepTimes) -> Table:
    table = Table(title=title)
    for column in ("step", "calls per episode", "round trips", "p50 ms", "p95 ms"):
        table.add_column(column, justify="left" if column == "step" else "right")
    episodes = len(steps.times["episode"])
    for name, times in sorted(steps.times.items(), key=lambda item: item[0] == "episode"):
        cuts = quantiles(times, n=20) if len(times) > 1 else [times[0]] * 19
        trips = sum(steps.trips[name]) / len(times)
        calls = len(times) / episodes
        table.add_row(name, f"{calls:.2f}", f"{trips:.1f}", f"{cuts[9]:.1f}", f"{cuts[18]:.1f}")
    return table


def measure_one(url: str, facts: int, episodes: int, *, is_plain: bool) -> Table:
    """One tenant of `facts` live facts."""
    kind = "plain" if is_plain else "full"
    filled = fill_tenant(url, TenantId(f"{kind}_{facts}"), facts)
    database, steps = CountingDatabase(url), StepTimes()
    try:
        walk = open_moving_walk(database, filled, episodes + _WARM_UP, is_plain=is_plain)
        with timed(steps):
            fold_episodes(database, walk, steps, _WARM_UP)
    finally:
        database.close()
    return _table(f"one tenant of {facts:,} live facts, {episodes} {kind} episodes", steps)


def measure_many(url: str, tenants: int, episodes: int) -> Table:
    """Many tenants of 100 facts, an episode each, one tenant after another."""
    filled = fill_tenants(url, tenants, 100)
    database, steps = CountingDatabase(url), StepTimes()
    try:
        for number, tenant in enumerate(filled[: episodes + _WARM_UP]):
            walk = open_moving_walk(database, tenant, 1)
            with timed(steps):
                fold_episodes(database, walk, steps, 0)
            if number == _WARM_UP:
                steps.clear()
    finally:
        database.close()
    return _table(f"{tenants:,} tenants of 100 live facts, an episode of {episodes} of them", steps)


@contextmanager
def bench_server() -> Iterator[Server]:
    """A server with the settings it has in use, gone at the end."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)
        postgres = EmbeddedPostgres(Path(folder) / "home")
        try:
            yield postgres.ensure()
        finally:
            postgres.stop()


def main() -> None:
    """Print a table for each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--facts", type=int, action="append", help="live facts of one tenant")
    parser.add_argument("--tenants", type=int, default=0, help="as many tenants of 100 facts")
    parser.add_argument("--episodes", type=int, default=40)
    arguments = parser.parse_args()
    console = Console(width=100)
    with bench_server() as server:
        url = ensure_database(server, "memory")
        migrate(url, migrations_folder())
        if arguments.tenants:
            console.print(measure_many(url, arguments.tenants, arguments.episodes))
        for facts in arguments.facts or ([] if arguments.tenants else [1_000, 10_000, 100_000]):
            for is_plain in (True, False):
                console.print(measure_one(url, facts, arguments.episodes, is_plain=is_plain))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    sys.stdout.write(f"peak memory of this process: {peak} MB\n")


if __name__ == "__main__":
    main()
