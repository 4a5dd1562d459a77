"""Takes histories into PostgreSQL the way production does: import, cut, walk, fold.

Belongs here: tenants of their own, runs in pieces, workers racing. Does not: expectations.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from uuid import uuid4

from memory_pipeline.adapters.conversation_store import ConversationStore
from memory_pipeline.adapters.memory_writer import OutOfOrderError, StalePlanError
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.adapters.tenant_walk import TenantWalk, WalkedEpisode, Workshop
from memory_pipeline.defs.io_managers import fold_episode
from memory_pipeline.domain.conversation import Role, SourceMessage, SourceThread
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.domain.policy import Policy
from memory_pipeline.domain.recipe import Recipe, sorted_settings
from memory_pipeline_tests.properties.doubles import (
    FORMAT,
    HistoryExtractor,
    HistoryJudge,
    ThemedEmbedder,
)
from memory_pipeline_tests.properties.histories import Episode, History


@dataclass(frozen=True)
class Tenant:
    """One tenant with one history."""

    database: Database
    tenant_id: TenantId
    history: History

    def workshop(self) -> Workshop:
        extractor = HistoryExtractor(self.history)
        judge = HistoryJudge(self.history)
        embedder = ThemedEmbedder(self.history)
        # No cap decides: which pairs go then depends on ids, which differ between tenants.
        policy = Policy(pairs_per_claim=100, pairs_per_call=1_000)
        return Workshop(
            database=self.database,
            extractor=extractor,
            judge=judge,
            embedder=embedder,
            recipe=Recipe(
                extractor=extractor.version,
                judge=judge.version,
                guard="properties",
                resolver="properties",
                embedding_profile=embedder.profile_id,
                settings=sorted_settings(policy),
            ),
            policy=policy,
        )

    def import_episodes(self, episodes: Sequence[Episode]) -> None:
        """Store what is said in these episodes and cut it."""
        conversations = ConversationStore(self.database)
        threads: dict[str, list[SourceMessage]] = {}
        for episode in episodes:
            threads.setdefault(episode.thread_name, []).extend(_messages(episode))
        conversations.import_threads(
            self.tenant_id,
            FORMAT,
            [SourceThread(source_id=name, messages=tuple(m)) for name, m in threads.items()],
        )
        conversations.register_episodes(self.tenant_id, Policy())

    def walk(self) -> Iterator[WalkedEpisode]:
        """Fold what is open, giving each episode after its transaction."""
        for episode in TenantWalk(self.workshop(), self.tenant_id).walk():
            fold_episode(self.database, episode)
            yield episode

    def fold(self) -> list[WalkedEpisode]:
        """Fold all that is open; the episodes in their order."""
        return list(self.walk())

    def race(self, workers: int) -> None:
        """Fold all that is open in this many threads at once."""
        with ThreadPoolExecutor(workers) as pool:
            for worker in [pool.submit(self._work) for _ in range(workers)]:
                worker.result()

    def _work(self) -> None:
        walk = TenantWalk(self.workshop(), self.tenant_id)
        while walk.open_episodes():
            try:
                self.fold()
            except (OutOfOrderError, StalePlanError):
                continue  # another worker was faster: go on behind it


def _messages(episode: Episode) -> list[SourceMessage]:
    return [
        SourceMessage(
            source_id=f"{episode.month}-{place}",
            role=Role.USER,
            text=episode.quote(place),
            said_at=episode.said_at(place),
        )
        for place in range(len(episode.candidates))
    ]


def new_tenant(database: Database, history: History) -> Tenant:
    """A tenant that nobody else uses, without any memory."""
    return Tenant(database, TenantId(f"properties/{uuid4().hex}"), history)


def folded_tenant(database: Database, history: History) -> Tenant:
    """A tenant whose whole history is folded in one run."""
    tenant = new_tenant(database, history)
    tenant.import_episodes(history.episodes)
    tenant.fold()
    return tenant
