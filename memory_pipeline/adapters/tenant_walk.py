"""One tenant's open episodes in position order: read, extract stride by stride, hand out to fold.

Belongs here: what is next, what is stored already, where strides begin (spec X2, J7, E5).
Does not: the stages' rules, the write, Dagster.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime

from memory_pipeline.adapters.conversation_store import ConversationStore
from memory_pipeline.adapters.generation_store import open_live_generation
from memory_pipeline.adapters.memory_store import MemoryStore
from memory_pipeline.adapters.memory_writer import OutOfOrderError
from memory_pipeline.adapters.postgres import Database, Row
from memory_pipeline.domain.claim import GuardedGraph
from memory_pipeline.domain.conversation import Window
from memory_pipeline.domain.embedding import Embedder, find_profile
from memory_pipeline.domain.extraction import KnownLists, Tier
from memory_pipeline.domain.ids import EpisodeId, TenantId
from memory_pipeline.domain.policy import Policy
from memory_pipeline.domain.recipe import Recipe
from memory_pipeline.stages.judge import Judge
from memory_pipeline.stages.ports import ExtractionError, Extractor
from memory_pipeline.stages.walk import Folder, FoldPlan, extract_episode, extraction_digest


@dataclass(frozen=True)
class Workshop:
    """The parts a walk works with; the composition root makes one per process."""

    database: Database
    extractor: Extractor
    judge: Judge
    embedder: Embedder
    recipe: Recipe
    policy: Policy
    extraction_threads: int = 4


@dataclass(frozen=True)
class WalkedEpisode:
    """An extracted episode whose turn it is: `plan` reads memory as it is when called."""

    tenant_id: TenantId
    episode_id: EpisodeId
    ordinal: int
    ended_at: datetime
    guarded: GuardedGraph
    input_digest: str
    is_stored: bool
    is_given_up: bool
    folder: Folder

    def plan(self, earlier_survivors: frozenset[str] = frozenset()) -> FoldPlan:
        """The change set against memory as it stands now; pure but for the reads."""
        plan = self.folder.plan(self.episode_id, self.ended_at, self.guarded, earlier_survivors)
        if not self.is_given_up:
            return plan
        changes = plan.changes.model_copy(update={"status": "given_up"})
        return plan.model_copy(update={"changes": changes})


class TenantWalk:
    """Walks one tenant's live generation."""

    def __init__(self, workshop: Workshop, tenant_id: TenantId) -> None:
        self._workshop = workshop
        self._tenant_id = tenant_id
        self._conversations = ConversationStore(workshop.database)
        self.generation_id = open_live_generation(
            workshop.database, tenant_id, workshop.recipe, workshop.embedder
        )
        self._store = MemoryStore(workshop.database, tenant_id, self.generation_id)
        embedder = workshop.embedder
        self._folder = Folder(
            self._store,
            embedder,
            workshop.judge,
            find_profile(embedder.profile_id, embedder.dimensions),
            workshop.policy,
        )

    def open_episodes(self) -> list[Row]:
        """Episodes not yet folded, in position order; what came too late is set aside first."""
        self._conversations.set_aside_late(self._tenant_id)
        return self._conversations.walk_episodes(self._tenant_id)

    def walk(self, ordinals: frozenset[int] | None = None) -> Iterator[WalkedEpisode]:
        """Open episodes (of the given ordinals) in position order, each extracted.

        Lazy: with a stride of 1 the next episode is extracted after the caller has written the
        last one. Raises `OutOfOrderError` before any work when an open episode outside
        `ordinals` comes before one inside, and `ExtractionError` when an episode fails under
        its cap, which defers all behind it.
        """
        episodes = self._in_turn(ordinals)
        while episodes:
            folded = self._store.head().folded_count
            stride = self._workshop.policy.context_stride
            size = stride - folded % stride
            yield from self._stride(episodes[:size], folded - folded % stride)
            episodes = episodes[size:]

    def _in_turn(self, ordinals: frozenset[int] | None) -> list[Row]:
        episodes = self.open_episodes()
        if ordinals is None:
            return episodes
        chosen = [row for row in episodes if row["ordinal"] in ordinals]
        for row, first in zip(chosen, episodes, strict=False):
            if row["ordinal"] != first["ordinal"]:
                raise OutOfOrderError(
                    f"episode {first['ordinal']} of tenant {self._tenant_id} is open and comes "
                    f"before episode {row['ordinal']}: process it first, or let "
                    "`memory-pipeline run` choose"
                )
        return chosen

    def _stride(self, episodes: Sequence[Row], boundary: int) -> Iterator[WalkedEpisode]:
        """One stride: all extractions first, side by side, then each episode in turn."""
        windows = self._conversations.windows(self._tenant_id, episodes)
        known = self._store.known_lists(
            windows, self._workshop.policy, self._store.known_as_of(boundary)
        )
        extracted, failures = self._extract_all(episodes, windows, known)
        for row in episodes:
            episode_id = EpisodeId(row["episode_id"])
            if episode_id in failures:
                raise failures[episode_id]
            guarded, digest, is_stored = extracted[episode_id]
            yield WalkedEpisode(
                tenant_id=self._tenant_id,
                episode_id=episode_id,
                ordinal=row["ordinal"],
                ended_at=row["ended_at"],
                guarded=guarded,
                input_digest=digest,
                is_stored=is_stored,
                is_given_up=self._is_given_up(row),
                folder=self._folder,
            )

    def _is_given_up(self, row: Row) -> bool:
        attempts: int = row["extraction_attempts"]
        return attempts >= self._workshop.policy.extraction_attempts

    def _extract_all(
        self, episodes: Sequence[Row], windows: Sequence[Window], known: Sequence[KnownLists]
    ) -> tuple[dict[EpisodeId, tuple[GuardedGraph, str, bool]], dict[EpisodeId, ExtractionError]]:
        """Extractions of a stride, stored ones reused, new ones stored before any is folded."""
        stored = self._store.stored_extractions([w.episode_id for w in windows])
        done: dict[EpisodeId, tuple[GuardedGraph, str, bool]] = {}
        todo: list[tuple[Window, KnownLists, str]] = []
        for row, window, lists in zip(episodes, windows, known, strict=True):
            digest = extraction_digest(window, lists, self._workshop.extractor)
            old_digest, payload = stored.get(window.episode_id, ("", None))
            if self._is_given_up(row):
                empty = GuardedGraph(tier=Tier.NONE, tier_reason="given up after failed attempts")
                done[window.episode_id] = (empty, digest, False)
            elif old_digest == digest:
                done[window.episode_id] = (GuardedGraph.model_validate(payload), digest, True)
            else:
                todo.append((window, lists, digest))
        failures: dict[EpisodeId, ExtractionError] = {}
        for (window, _, digest), result in zip(todo, self._run_extractor(todo), strict=True):
            if isinstance(result, ExtractionError):
                self._conversations.record_failure(self._tenant_id, window.episode_id, str(result))
                failures[window.episode_id] = result
            else:
                done[window.episode_id] = (result, digest, False)
        self._store.store_extractions(
            [
                {
                    "episode_id": window.episode_id,
                    "input_digest": digest,
                    "payload": done[window.episode_id][0].model_dump(mode="json"),
                }
                for window, _, digest in todo
                if window.episode_id in done
            ]
        )
        return done, failures

    def _run_extractor(
        self, todo: Sequence[tuple[Window, KnownLists, str]]
    ) -> list[GuardedGraph | ExtractionError]:
        def extract(item: tuple[Window, KnownLists, str]) -> GuardedGraph | ExtractionError:
            try:
                return extract_episode(
                    item[0], item[1], self._workshop.extractor, self._workshop.policy
                )
            except ExtractionError as error:
                return error

        if len(todo) <= 1:
            return [extract(item) for item in todo]
        with ThreadPoolExecutor(self._workshop.extraction_threads) as pool:
            return list(pool.map(extract, todo))
