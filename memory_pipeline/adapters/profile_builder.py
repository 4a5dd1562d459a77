"""Builds profiles of many tenants: claims, eight summaries in flight, one embedding batch, stores.

Belongs here: the order of work, failures, what stops a run. Does not: statements (profile_store),
what a profile says (stages/profile), the parts and public calls (adapters/profiles).
"""

import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace

import psycopg

from memory_pipeline.adapters import environment
from memory_pipeline.adapters.models.endpoint import ModelConfigurationError
from memory_pipeline.adapters.profile_claims import (
    Claim,
    ClaimedEntity,
    Fail,
    Keep,
    Release,
    Result,
    Retire,
    Write,
)
from memory_pipeline.adapters.profile_store import ProfileStore
from memory_pipeline.adapters.stored_models import CallCounts, StoredChatModel
from memory_pipeline.domain.embedding import Embedder
from memory_pipeline.domain.ids import EntityId, TenantId
from memory_pipeline.domain.model import BudgetExhaustedError, ModelUnavailableError
from memory_pipeline.domain.profile import DroppedSentence
from memory_pipeline.stages.answer_items import BadAnswerError
from memory_pipeline.stages.profile import ProfileWriter
from memory_pipeline.stages.profile_lines import facts_digest, grounding_digest, without_orders

_MOST_BATCHES = 64
"""Claims that may wait for their calls at once; far fewer than a lease could run out on."""


@dataclass(frozen=True)
class ProfileParts:
    """What the profiles of one tenant are built with.

    `gate` bounds its summaries in flight, `calls` counts what the model was asked.
    """

    tenant_id: TenantId
    store: ProfileStore
    writer: ProfileWriter
    embedder: Embedder
    gate: threading.BoundedSemaphore
    calls: StoredChatModel | None = None


@dataclass(frozen=True)
class BuiltProfile:
    """One written profile, for whoever watches."""

    entity_id: EntityId
    name: str
    text: str
    is_extractive: bool
    sentences: int
    dropped: tuple[DroppedSentence, ...]


@dataclass(frozen=True)
class ProfileReport:
    """What became of one batch of one tenant.

    `waiting` entities were given back because the model was out of reach or the budget used up
    (`problem` says which); `lost` ones were claimed by somebody else. `failures` holds name and
    reason of those that failed by their own fault, `held` how many of them are tried no more.
    """

    tenant_id: TenantId
    written: tuple[BuiltProfile, ...] = ()
    kept: int = 0
    retired: int = 0
    failures: tuple[tuple[str, str], ...] = ()
    held: int = 0
    waiting: int = 0
    lost: int = 0
    problem: str = ""
    calls: CallCounts = field(default_factory=CallCounts)


@dataclass(frozen=True)
class Batch:
    """A claim of one tenant with the parts to serve it."""

    parts: ProfileParts
    claim: Claim


@dataclass(frozen=True)
class Refused:
    """A tenant whose profiles can't be built as things are set."""

    tenant_id: TenantId
    problem: str


@dataclass(frozen=True)
class _Open:
    batch: Batch
    futures: tuple[Future[Result], ...]


class ProfileBuilder:
    """Builds what is claimed with at most `threads` summaries in flight, over all tenants."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._stop: BaseException | None = None
        self._outage = ""
        self._counted: dict[TenantId, CallCounts] = {}

    def build(self, batches: Iterable[Batch | Refused]) -> Iterator[ProfileReport]:
        """Serve batches in order, one report each as soon as it is stored.

        The next batch is already being asked for while one is embedded and stored. A failure of
        one entity is recorded and stops nobody. Once the model is out of reach the rest is given
        back unasked. Raises `BudgetExhaustedError`, and any error that is not one entity's own,
        after what was answered by then is stored and the rest is given back.
        """
        opened: deque[_Open] = deque()
        pool = ThreadPoolExecutor(self._threads)
        try:
            for batch in batches:
                refused = _refusal(batch)
                if refused is not None:
                    yield refused
                elif isinstance(batch, Batch):
                    opened.append(self._submit(pool, batch))
                while self._is_enough(opened):
                    yield self._finish_first(opened)
                if self._stop is not None or self._outage:
                    break
            while opened:
                yield self._finish_first(opened)
        finally:
            pool.shutdown(cancel_futures=True)
            for left in opened:
                _give_back(left.batch)
        if self._stop is not None:
            raise self._stop

    def _is_enough(self, opened: Sequence[_Open]) -> bool:
        """Whether the oldest batch should be finished before another one is claimed."""
        waiting = sum(not future.done() for left in opened for future in left.futures)
        is_first_done = bool(opened) and all(future.done() for future in opened[0].futures)
        is_busy = waiting > 2 * self._threads or len(opened) >= _MOST_BATCHES
        return is_first_done or (len(opened) > 1 and is_busy)

    def _submit(self, pool: ThreadPoolExecutor, batch: Batch) -> _Open:
        futures = (
            pool.submit(self._build_one, batch.parts, entity) for entity in batch.claim.entities
        )
        return _Open(batch, tuple(futures))

    def _finish_first(self, opened: deque[_Open]) -> ProfileReport:
        report = self._finish(opened[0])
        opened.popleft()
        return report

    def _build_one(self, parts: ProfileParts, entity: ClaimedEntity) -> Result:
        if self._stop is not None or self._outage:
            return Release(entity, is_resting=self._stop is None)
        with parts.gate:
            try:
                return make_result(parts.writer, entity)
            except BadAnswerError as error:
                return Fail(entity, str(error))
            except ModelUnavailableError as error:
                self._outage = str(error)
                return Release(entity, is_resting=True)
            except (BudgetExhaustedError, ModelConfigurationError) as error:
                self._stop = error
                return Release(entity)

    def _finish(self, left: _Open) -> ProfileReport:
        """Wait for a batch, embed it at once, store it in one transaction."""
        parts, claim = left.batch.parts, left.batch.claim
        results: list[Result] = []
        errors = [future.exception() for future in left.futures]
        for entity, future, error in zip(claim.entities, left.futures, errors, strict=True):
            # A broken dependency or a mistake of ours ends the run once the rest is safe; the
            # entity rests, so that the next run does not begin with it.
            results.append(Release(entity, is_resting=True) if error else future.result())
        self._stop = self._stop or next((error for error in errors if error), None)
        stored = self._embedded(parts, results)
        accepted = parts.store.store(claim, stored)
        return self._report(left, stored, accepted)

    def _embedded(self, parts: ProfileParts, results: Sequence[Result]) -> list[Result]:
        """Results with the vectors of new texts; without an embedder's answer they are put off."""
        texts = [result.profile.text for result in results if isinstance(result, Write)]
        try:
            vectors = iter(parts.embedder.embed(texts) if texts else [])
        except (ModelUnavailableError, BudgetExhaustedError) as error:
            # The answers of the chat model are stored: the next try asks for vectors only.
            is_outage = isinstance(error, ModelUnavailableError)
            if is_outage:
                self._outage = str(error)
            else:
                self._stop = error
            return [
                Release(r.entity, is_resting=is_outage) if isinstance(r, Write) else r
                for r in results
            ]
        return [
            replace(r, vector=tuple(next(vectors))) if isinstance(r, Write) else r for r in results
        ]

    def _report(
        self, left: _Open, results: Sequence[Result], accepted: dict[EntityId, bool]
    ) -> ProfileReport:
        parts = left.batch.parts
        said = [(result, accepted[result.entity.entity_id]) for result in results]
        released = [result for result in results if isinstance(result, Release)]
        failed = [result for result in results if isinstance(result, Fail)]
        problem = str(self._stop) if self._stop is not None else self._outage
        counts = parts.calls.counts if parts.calls else CallCounts()
        before = self._counted.get(parts.tenant_id, CallCounts())
        self._counted[parts.tenant_id] = counts
        return ProfileReport(
            tenant_id=parts.tenant_id,
            written=tuple(_built(r) for r, ok in said if ok and isinstance(r, Write)),
            kept=sum(ok and isinstance(r, Keep) for r, ok in said),
            retired=sum(ok and isinstance(r, Retire) for r, ok in said),
            failures=tuple((r.entity.grounding.name, r.reason) for r in failed),
            held=sum(ok and isinstance(r, Fail) for r, ok in said),
            waiting=len(released),
            lost=sum(not ok and isinstance(r, Write | Keep | Retire) for r, ok in said),
            problem=problem if released else "",
            calls=counts - before,
        )


def make_result(writer: ProfileWriter, entity: ClaimedEntity) -> Result:
    """What becomes of one entity's profile; raises what the writer raises.

    Asks nobody when there is nothing to say or nothing has changed. Facts that a model worded
    before are not reworded without one.
    """
    grounding = without_orders(entity.grounding)
    if entity.is_out_of_use or not grounding.facts:
        return Retire(entity)
    facts = facts_digest(grounding)
    digest = grounding_digest(facts, writer.method)
    stored = entity.stored
    if stored is not None:
        is_worded = writer.model is None and not stored.is_extractive
        if stored.grounding == digest or (is_worded and stored.facts_digest == facts):
            return Keep(entity)
    written = writer.write(grounding, entity.failed_tries + 1)
    digests = written.request_digests
    is_worded = not written.profile.is_extractive
    return Write(
        entity,
        written.profile,
        digest,
        facts,
        model=writer.model if is_worded else None,
        prompt_digest=writer.prompt_digest if is_worded else None,
        request_digest=digests[-1] if digests else None,
    )


def _built(result: Write) -> BuiltProfile:
    profile = result.profile
    return BuiltProfile(
        entity_id=result.entity.entity_id,
        name=result.entity.grounding.name,
        text=profile.text,
        is_extractive=profile.is_extractive,
        sentences=len(profile.sentences),
        dropped=profile.dropped,
    )


def _refusal(batch: Batch | Refused) -> ProfileReport | None:
    """The report of a tenant that can't be served, its claim given back; None for any other."""
    if isinstance(batch, Refused):
        return ProfileReport(batch.tenant_id, problem=batch.problem)
    made, asked = batch.claim.embedding_profile, batch.parts.embedder.profile_id
    if made == asked:
        return None
    _give_back(batch, is_resting=True)
    return ProfileReport(
        batch.parts.tenant_id,
        waiting=len(batch.claim.entities),
        problem=f"tenant {batch.parts.tenant_id}'s memory holds vectors of {made}, the configured "
        f"embedding model is {asked}: set {environment.EMBEDDING_MODEL} to the former, or rebuild "
        "the memory",
    )


def _give_back(batch: Batch, *, is_resting: bool = False) -> None:
    """Release a claim; where the database is gone the lease runs out by itself."""
    with suppress(psycopg.Error):
        batch.parts.store.release(batch.claim, is_resting=is_resting)
