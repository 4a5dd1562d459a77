"""The IO manager of the fold: takes the walk's stream and writes each episode in one transaction.

Belongs here: the contract between the walk's multi_asset and the write. Does not: planning
(domain/plan), statements (adapters/memory_writer).
"""

from collections import Counter
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import dagster as dg

from memory_pipeline.adapters.attempts import Attempt
from memory_pipeline.adapters.memory_writer import (
    AlreadyFoldedError,
    OutOfOrderError,
    apply_changes,
)
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.adapters.stage_outputs import StageRecord
from memory_pipeline.adapters.stored_models import CallCounts
from memory_pipeline.adapters.tenant_walk import WalkedEpisode
from memory_pipeline.defs.progress import episode_folded
from memory_pipeline.defs.resources import memory_database
from memory_pipeline.domain.model import Usage
from memory_pipeline.stages.walk import FoldPlan, StalePlanError, plan_and_write


@dataclass(frozen=True)
class FoldedEpisode:
    """What the write did for one episode."""

    walked: WalkedEpisode
    plan: FoldPlan
    counts: dict[str, Any]


Walked = Generator[WalkedEpisode, None, None]


class EpisodeStream:
    """A one-shot stream of episodes; `on_folded` hears of each after its transaction."""

    def __init__(self, episodes: Walked, on_folded: Callable[[FoldedEpisode], None]) -> None:
        self._episodes = episodes
        self._on_folded = on_folded

    def fold_each(self, fold: Callable[[WalkedEpisode], FoldedEpisode | None]) -> None:
        """Pull, fold and report each episode.

        A refusal is thrown into the stream, which may go on with another tenant; any other error
        closes the stream before it goes on, so that the committed episodes are reported.
        """
        with closing(self._episodes) as episodes:
            walked = next(episodes, None)
            while walked is not None:
                try:
                    folded = fold(walked)
                except OutOfOrderError as refusal:
                    walked = _thrown_into(episodes, refusal)
                    continue
                if folded is not None:
                    self._on_folded(folded)
                walked = next(episodes, None)


def _thrown_into(episodes: Walked, refusal: OutOfOrderError) -> WalkedEpisode | None:
    try:
        return episodes.throw(refusal)
    except StopIteration:
        return None


@dataclass(frozen=True)
class Receipt:
    """Stands for an output whose rows the stream wrote; `check` raises when one is missing."""

    asset: str
    check: Callable[[], None]


class FoldIOManager(dg.IOManager):
    """Writes the bi-temporal tables: the only way facts change in a run.

    The stream rides on the first selected output of the walk, the others carry receipts that are
    checked against the ledger. Nothing is loaded through it: memory is read where it is needed.
    """

    def __init__(self, database: Callable[[], Database] = memory_database) -> None:
        self._database = database

    def handle_output(self, context: dg.OutputContext, obj: EpisodeStream | Receipt) -> None:
        """Apply every episode of a stream, each in one transaction, in the stream's order."""
        if isinstance(obj, Receipt):
            obj.check()
            return
        database = self._database()
        obj.fold_each(lambda walked: fold_episode(database, walked))

    def load_input(self, context: dg.InputContext) -> None:
        """Raise: no asset reads memory through Dagster's inputs."""
        raise NotImplementedError("memory is read from its tables, not passed between assets")


def fold_episode(database: Database, walked: WalkedEpisode) -> FoldedEpisode | None:
    """Plan and write one episode; a plan that turns out stale is remade on the new state.

    None when another process folded the episode meanwhile: its rows are the same. Raises
    `OutOfOrderError` when it is not the episode's turn, `StalePlanError` when memory moved under
    every plan.
    """
    counts: dict[str, Any] = {}

    def plan(earlier_survivors: frozenset[str]) -> FoldPlan:
        nonlocal counts
        before = _calls_so_far(walked)
        made = walked.plan(earlier_survivors)
        counts = episode_counts(walked, made, _calls_so_far(walked) - before)
        return made

    def write(made: FoldPlan) -> bool:
        try:
            # What fails alike every time is charged to the episode, which is given up at the cap.
            with Attempt(walked.charge):
                apply_changes(
                    database, made.changes, made.vectors, _stage_records(walked, made), counts
                )
        except StalePlanError:
            return False
        return True

    try:
        written = plan_and_write(plan, write)
    except AlreadyFoldedError:
        return None
    walked.follow(written.changes, written.vectors)
    episode_folded()
    return FoldedEpisode(walked=walked, plan=written, counts=counts)


def _calls_so_far(walked: WalkedEpisode) -> CallCounts:
    return walked.calls.counts if walked.calls else CallCounts()


def _stage_records(walked: WalkedEpisode, plan: FoldPlan) -> list[StageRecord]:
    """Stage outputs kept with the write, so that a re-run can start behind any of them."""
    if not plan.resolved.claims:
        return []
    outputs = {"resolved_entities": plan.resolved, "distinct_claims": plan.distinct}
    return [
        StageRecord(walked.episode_id, stage, walked.input_digest, output)
        for stage, output in outputs.items()
    ]


def episode_counts(walked: WalkedEpisode, plan: FoldPlan, judging: CallCounts) -> dict[str, Any]:
    """Ids and counts of one episode by stage, without conversation text."""
    changes = plan.changes
    return {
        "extracted_graphs": _extraction_counts(walked),
        "resolved_entities": {
            "mentions": len(walked.guarded.mentions),
            "new_entities": len(changes.new_entities),
            "new_aliases": len(changes.new_aliases),
        },
        "distinct_claims": {
            "survivors": len(plan.distinct.survivors),
            "closures": len(plan.distinct.closures),
            "pairs": len(plan.distinct.pairs),
            "not_judged": len(plan.distinct.not_judged),
        },
        "judged_claims": {
            "pairs": len(plan.distinct.pairs),
            "verdicts": dict(Counter(j.verdict.value for j in changes.judgements)),
            "model_calls": judging.misses,
            "cache_hits": judging.hits,
            "prompt_tokens": judging.prompt_tokens,
            "completion_tokens": judging.completion_tokens,
            "price_usd": "unpriced" if judging.unpriced_calls else round(judging.price_usd, 6),
        },
        "facts": {
            "status": changes.status,
            "outcomes": dict(Counter(final.outcome.outcome.value for final in changes.outcomes)),
            "new_versions": len(changes.versions),
            "closed_versions": len(changes.version_closures),
            "ended": dict(
                Counter(v.ended_reason.value for v in changes.versions if v.ended_reason)
            ),
        },
    }


def _extraction_counts(walked: WalkedEpisode) -> dict[str, Any]:
    """Tier, candidates and what the extraction cost in this run: nothing when it was stored."""
    guarded = walked.guarded
    is_free = walked.is_stored or not guarded.request_digests
    usage = Usage(price_usd=0.0) if is_free else guarded.usage
    return {
        "candidates": guarded.candidate_count,
        "claims": len(guarded.claims),
        "instructions": len(guarded.instructions),
        "uncertainties": len(guarded.uncertainties),
        "tier": guarded.tier.value,
        "tier_reason": guarded.tier_reason,
        "cache_hits": int(walked.is_stored),
        "requests": len(guarded.request_digests),
        "prompt_tokens": usage.prompt_tokens,
        "cached_tokens": usage.cached_tokens,
        "completion_tokens": usage.completion_tokens,
        "price_usd": "unpriced" if usage.price_usd is None else round(usage.price_usd, 6),
        "dropped": dict(Counter(o.outcome.value for o in guarded.dropped)),
    }
