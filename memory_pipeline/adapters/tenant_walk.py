"""One tenant's open episodes in position order: read, extract stride by stride, hand out to fold.

Belongs here: what is next, what is stored already, where strides begin (spec X2, J7, E5).
Does not: the stages' rules, the write, Dagster.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from time import monotonic

import psycopg

from memory_pipeline.adapters.attempts import STOPS, Attempt, in_words, is_charged
from memory_pipeline.adapters.conversation_store import ConversationStore, Stride
from memory_pipeline.adapters.embedding_profiles import profile_of
from memory_pipeline.adapters.generation_store import open_live_generation
from memory_pipeline.adapters.memory_store import (
    EXTRACTED,
    MemoryStore,
    Stored,
    UnfoldedStrideError,
)
from memory_pipeline.adapters.memory_writer import OutOfOrderError
from memory_pipeline.adapters.models.endpoint import UnansweredRequestError
from memory_pipeline.adapters.postgres import Database, DatabaseUnavailableError, Row
from memory_pipeline.adapters.stage_outputs import StageRecord
from memory_pipeline.adapters.stored_models import StoredChatModel, StoredEmbedder
from memory_pipeline.domain.changes import ChangeSet
from memory_pipeline.domain.claim import USER, GuardedGraph
from memory_pipeline.domain.conversation import Window
from memory_pipeline.domain.embedding import Embedder
from memory_pipeline.domain.extraction import KnownLists, Tier
from memory_pipeline.domain.ids import EpisodeId, TenantId
from memory_pipeline.domain.policy import Policy
from memory_pipeline.domain.recipe import Recipe
from memory_pipeline.stages.judge import Judge
from memory_pipeline.stages.likeness import statement_of
from memory_pipeline.stages.ports import ExtractionError, Extractor
from memory_pipeline.stages.walk import Folder, FoldPlan, extract_episode, extraction_digest

log = logging.getLogger(__name__)


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
    calls: StoredChatModel | None = None


class MissingExtractionError(RuntimeError):
    """A walk that may not extract met an episode without a stored extraction."""


@dataclass(frozen=True)
class _Extraction:
    """What one window of a stride says, and where that comes from."""

    guarded: GuardedGraph
    input_digest: str
    is_stored: bool = False
    is_given_up: bool = False


_Result = _Extraction | Exception


@dataclass(frozen=True)
class _Task:
    """One window to extract; `attempt` is the number of the episode's try."""

    window: Window
    known: KnownLists
    digest: str
    attempt: int


def _record(episode_id: EpisodeId, extraction: _Extraction) -> StageRecord:
    return StageRecord(episode_id, EXTRACTED, extraction.input_digest, extraction.guarded)


def _given_up(digest: str) -> _Extraction:
    empty = GuardedGraph(tier=Tier.NONE, tier_reason="given up after failed attempts")
    return _Extraction(empty, digest, is_given_up=True)


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
    calls: StoredChatModel | None = None
    charge: Callable[[Exception], None] = lambda _error: None
    follow: Callable[[ChangeSet, Mapping[str, Sequence[float]]], None] = lambda *_: None
    """To be called with what was written: the next episode need not read it again."""

    def plan(self, earlier_survivors: frozenset[str] = frozenset()) -> FoldPlan:
        """The change set against memory as it stands now; pure but for the reads.

        An error that nobody foresaw counts as an attempt of the episode and is raised.
        """
        with Attempt(self.charge):
            plan = self.folder.plan(self.episode_id, self.ended_at, self.guarded, earlier_survivors)
        if not self.is_given_up:
            return plan
        changes = plan.changes.model_copy(update={"status": "given_up"})
        return plan.model_copy(update={"changes": changes})


_LEASE_THIRD_S = 20.0
"""A third of a minute: leases are given in minutes."""


class TenantWalk:
    """Walks one tenant's live generation."""

    def __init__(self, workshop: Workshop, tenant_id: TenantId) -> None:
        self._workshop = workshop
        self._tenant_id = tenant_id
        self._renewed_at = monotonic()
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
            profile_of(workshop.database, embedder),
            workshop.policy,
        )

    def open_episodes(self) -> list[Row]:
        """Episodes not yet folded, in position order; what came too late is set aside first."""
        self._conversations.set_aside_late(self._tenant_id)
        return self._conversations.walk_episodes(self._tenant_id)

    def walk(
        self, ordinals: frozenset[int] | None = None, *, may_extract: bool = True
    ) -> Iterator[WalkedEpisode]:
        """Open episodes (of the given ordinals) in position order, each extracted.

        Lazy: a stride is extracted after the caller has written the last one, so every episode
        must be folded, here or by another process, before the next is asked for. Without
        `may_extract` stored extractions are used as they are (spec G6).

        Raises `OutOfOrderError` before any work when an open episode outside `ordinals` comes
        before one inside, `ExtractionError` when an episode fails under its cap, which defers all
        behind it, and `MissingExtractionError` when none is stored and none may be made. What the
        models raise is let through once all that was extracted before is folded; any other error
        too, and it counts an attempt of the episode at work.
        """
        self._check_turn(ordinals)
        try:
            yield from self._strides(ordinals, may_extract=may_extract)
        finally:
            # Or whoever comes after the lease's end would take this for a lost worker (spec E5).
            with suppress(psycopg.Error, DatabaseUnavailableError):
                self._store.save()
                self._conversations.release_leases(self._tenant_id)

    def _strides(
        self, ordinals: frozenset[int] | None, *, may_extract: bool
    ) -> Iterator[WalkedEpisode]:
        last: int | None = None
        while strides := self._conversations.take_strides(
            self._tenant_id, self.generation_id, self._workshop.policy, ordinals
        ):
            first = strides[0].episodes[0]["ordinal"]
            if first == last:
                raise OutOfOrderError(f"episode {first} was not folded")
            for stride in strides:
                self._stay_alive()
                try:
                    yield from self._stride(stride, may_extract=may_extract)
                except UnfoldedStrideError as error:
                    raise OutOfOrderError(f"episode {last} was not folded") from error
                last = stride.episodes[0]["ordinal"]

    def _stay_alive(self) -> None:
        """Renew the leases before a third of their time is over."""
        now = monotonic()
        if now - self._renewed_at > self._workshop.policy.lease_minutes * _LEASE_THIRD_S:
            self._conversations.renew_leases(self._tenant_id, self._workshop.policy)
            self._renewed_at = now

    def _check_turn(self, ordinals: frozenset[int] | None) -> None:
        episodes = self.open_episodes()
        if ordinals is None:
            return
        chosen = [row for row in episodes if row["ordinal"] in ordinals]
        for row, first in zip(chosen, episodes, strict=False):
            if row["ordinal"] != first["ordinal"]:
                raise OutOfOrderError(
                    f"episode {first['ordinal']} of tenant {self._tenant_id} is open and comes "
                    f"before episode {row['ordinal']}: process it first, or let "
                    "`memory-pipeline run` choose"
                )

    def _stride(self, stride: Stride, *, may_extract: bool) -> Iterator[WalkedEpisode]:
        """One stride: all extractions first, side by side, then each episode in turn."""
        episodes, windows = stride.episodes, stride.windows
        known, stored = self._store.stride_context(
            windows, self._workshop.policy, stride.boundary, self._workshop.embedder.embed
        )
        if may_extract:
            extracted = self._extract_all(episodes, windows, known, stored)
        else:
            extracted = self._stored_only(episodes, stored)
        self._embed_ahead([r.guarded for r in extracted.values() if isinstance(r, _Extraction)])
        stop = next((r for r in extracted.values() if isinstance(r, STOPS)), None)
        for row in episodes:
            result = extracted[EpisodeId(row["episode_id"])]
            if isinstance(result, Exception):
                raise stop or result
            yield WalkedEpisode(
                tenant_id=self._tenant_id,
                episode_id=EpisodeId(row["episode_id"]),
                ordinal=row["ordinal"],
                ended_at=row["ended_at"],
                guarded=result.guarded,
                input_digest=result.input_digest,
                is_stored=result.is_stored,
                is_given_up=result.is_given_up,
                folder=self._folder,
                calls=self._workshop.calls,
                charge=partial(self._charge, EpisodeId(row["episode_id"])),
                follow=self._store.follow,
            )

    def _charge(self, episode_id: EpisodeId, error: Exception) -> None:
        self._conversations.record_failure(self._tenant_id, episode_id, in_words(error))

    def _embed_ahead(self, graphs: Sequence[GuardedGraph]) -> None:
        """Ask an endpoint once for the vectors of a stride; its folds then find them stored."""
        embedder = self._workshop.embedder
        if not isinstance(embedder, StoredEmbedder) or len(graphs) <= 1:
            return
        names = {m.name for graph in graphs for m in graph.mentions} - {USER}
        statements = {statement_of(claim) for graph in graphs for claim in graph.claims}
        if names or statements:
            embedder.embed(sorted(names | statements))

    def _is_at_cap(self, attempts: int) -> bool:
        return attempts >= self._workshop.policy.extraction_attempts

    def _stored_only(self, episodes: Sequence[Row], stored: Stored) -> dict[EpisodeId, _Result]:
        """Extractions as they are stored, whatever has changed since."""
        results: dict[EpisodeId, _Result] = {}
        for row in episodes:
            episode_id = EpisodeId(row["episode_id"])
            if self._is_at_cap(row["extraction_attempts"]):
                results[episode_id] = _given_up("")
            elif episode_id in stored:
                digest, payload = stored[episode_id]
                results[episode_id] = _Extraction(
                    GuardedGraph.model_validate(payload), digest, is_stored=True
                )
            else:
                results[episode_id] = MissingExtractionError(
                    f"episode {row['ordinal']} of tenant {self._tenant_id} has no stored "
                    "extraction: start at extracted_graphs"
                )
        return results

    def _extract_all(
        self,
        episodes: Sequence[Row],
        windows: Sequence[Window],
        known: Sequence[KnownLists],
        stored: Stored,
    ) -> dict[EpisodeId, _Result]:
        """Extractions of a stride, stored ones reused, new ones stored before any is folded."""
        results: dict[EpisodeId, _Result] = {}
        todo: list[_Task] = []
        for row, window, lists in zip(episodes, windows, known, strict=True):
            digest = extraction_digest(window, lists, self._workshop.extractor)
            old_digest, payload = stored.get(window.episode_id, ("", None))
            if self._is_at_cap(row["extraction_attempts"]):
                results[window.episode_id] = _given_up(digest)
            elif old_digest == digest:
                results[window.episode_id] = _Extraction(
                    GuardedGraph.model_validate(payload), digest, is_stored=True
                )
            else:
                todo.append(_Task(window, lists, digest, row["extraction_attempts"] + 1))
        new: dict[EpisodeId, _Extraction] = {}
        for task, result in zip(todo, self._run_extractor(todo), strict=True):
            episode_id = task.window.episode_id
            if isinstance(result, Exception):
                results[episode_id] = self._failure(task, result) if is_charged(result) else result
            else:
                new[episode_id] = _Extraction(result, task.digest)
        if new:
            self._store.store_extractions([_record(key, made) for key, made in new.items()])
        return results | new

    def _failure(self, task: _Task, error: Exception) -> _Result:
        """Count the attempt: under the cap it defers, at the cap the episode is given up (E5)."""
        attempts = self._conversations.record_failure(
            self._tenant_id, task.window.episode_id, in_words(error)
        )
        if self._is_at_cap(attempts):
            log.warning("episode %s is given up: %s", task.window.ordinal, in_words(error))
            return _given_up(task.digest)
        if isinstance(error, ExtractionError | UnansweredRequestError):
            cap = self._workshop.policy.extraction_attempts
            return ExtractionError(f"{error} (attempt {attempts} of {cap})")
        return error

    def _run_extractor(self, todo: Sequence[_Task]) -> list[GuardedGraph | Exception]:
        """A graph or an error for each; what stops the run keeps the rest from being asked."""
        stops: list[RuntimeError] = []

        def extract(item: _Task) -> GuardedGraph | Exception:
            if stops:
                return stops[0]
            graph: GuardedGraph | None = None
            try:
                with Attempt() as attempt:
                    graph = extract_episode(
                        item.window,
                        item.known,
                        self._workshop.extractor,
                        self._workshop.policy,
                        item.attempt,
                    )
            except STOPS as error:
                stops.append(error)
                return error
            return attempt.take() if graph is None else graph

        if len(todo) <= 1:
            return [extract(item) for item in todo]
        with ThreadPoolExecutor(self._workshop.extraction_threads) as pool:
            return list(pool.map(extract, todo))
