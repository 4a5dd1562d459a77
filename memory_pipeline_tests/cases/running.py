"""Runs one case: real guards, resolution, deduplication, planning and a real write.

Belongs here: the order of a run, other workers, repeated tries. Does not: what must come out.
"""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from memory_pipeline.adapters.conversation_store import ConversationStore
from memory_pipeline.adapters.memory_store import MemoryStore
from memory_pipeline.adapters.memory_writer import (
    OutOfOrderError,
    StalePlanError,
    apply_changes,
)
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.adapters.tenant_walk import TenantWalk, WalkedEpisode, Workshop
from memory_pipeline.domain.claim import GuardedGraph
from memory_pipeline.domain.embedding import EmbeddingProfile
from memory_pipeline.domain.ids import EpisodeId, TenantId
from memory_pipeline.domain.policy import Policy, make_policy
from memory_pipeline.domain.recipe import Recipe, sorted_settings
from memory_pipeline.stages.guard import GUARD_VERSION
from memory_pipeline.stages.ports import ExtractionError
from memory_pipeline.stages.resolve import RESOLVER_VERSION
from memory_pipeline.stages.walk import Folder, FoldPlan, plan_and_write
from memory_pipeline_tests.cases.case_file import Case, CaseError, Given, GivenFact, Scope
from memory_pipeline_tests.cases.doubles import (
    DIMENSIONS,
    CallFailedError,
    CaseIds,
    CaseReader,
    FaultPlan,
    ScriptedExtractor,
    ScriptedJudge,
    SpacedEmbedder,
    split_pair,
)
from memory_pipeline_tests.cases.observing import Observed, observe
from memory_pipeline_tests.cases.setting_up import (
    FORMAT,
    TenantMemory,
    extracted_graph,
    tenant_of,
    window_thread,
)

_THRESHOLDS = {
    "entityResolutionThreshold": "entity_merge",
    "factDedupThreshold": "duplicate",
    "contradictionBandMin": "band_low",
}
_SETTINGS = {"retrievalMinConfidence": "min_confidence"}
_TRIES = 12
_PATIENCE_SECONDS = 30.0


def make_profile(given: Given) -> EmbeddingProfile:
    """The case's thresholds, the sources' defaults where it names none."""
    thresholds = {"entity_merge": 0.88, "duplicate": 0.95, "band_low": 0.80}
    for word, name in _THRESHOLDS.items():
        thresholds[name] = given.config.get(word, thresholds[name])
    return EmbeddingProfile(
        profile_id=SpacedEmbedder.profile_id,
        dimensions=DIMENSIONS,
        second_signal=0.85,
        **thresholds,
    )


def case_policy(given: Given) -> Policy:
    """The case's settings; a word that is no threshold must name a setting."""
    named = {
        _SETTINGS.get(word, word): value
        for word, value in given.config.items()
        if word not in _THRESHOLDS
    }
    return make_policy(named)


def run_case(case: Case, url: str, run: str) -> Observed:
    """Set the case up in tenants of its own (`run` tells runs apart), run it, read it back."""
    size = max(8, 2 * case.given.concurrency + 2)
    with closing(Database(url, max_connections=size)) as database:
        return _CaseRun(case, database, run).observed()


class _InterruptedFolder(Folder):
    """A folder after whose plan something else happens before the write."""

    after_plan: Callable[[], None]

    def plan(
        self,
        episode_id: EpisodeId,
        ended_at: datetime,
        guarded: GuardedGraph,
        earlier_survivors: frozenset[str] = frozenset(),
    ) -> FoldPlan:
        plan = super().plan(episode_id, ended_at, guarded, earlier_survivors)
        self.after_plan()
        return plan


@dataclass
class _CaseRun:
    """The parts of one run."""

    case: Case
    database: Database
    run: str

    def __post_init__(self) -> None:
        given = self.given = self.case.given
        self.tenant_id = tenant_of(self.run, given.scope)
        graph, refs = extracted_graph(given)
        self.ids = CaseIds(ref_of=refs)
        self.faults = FaultPlan()
        known = {e.name for e in given.known_entities}
        known |= {name for f in given.facts for name in (f.subject, f.object)}
        pairs = {split_pair(pair): cosine for pair, cosine in given.entity_similarity.items()}
        self.embedder = SpacedEmbedder(
            {pair: cosine for pair, cosine in pairs.items() if not known & set(pair)}, self.faults
        )
        self.extractor = ScriptedExtractor(graph, self.faults)
        self.judge = ScriptedJudge(given.verdicts, given.judge_answer(), self.ids, self.faults)
        self.policy = case_policy(given)
        self.workshop = Workshop(
            database=self.database,
            extractor=self.extractor,
            judge=self.judge,
            embedder=self.embedder,
            recipe=Recipe(
                extractor=self.extractor.version,
                judge=self.judge.version,
                guard=GUARD_VERSION,
                resolver=RESOLVER_VERSION,
                embedding_profile=self.embedder.profile_id,
                settings=sorted_settings(self.policy),
            ),
            policy=self.policy,
        )
        self._barrier = threading.Barrier(given.concurrency)
        self._lock = threading.Lock()
        self._is_interrupted = False

    def observed(self) -> Observed:
        """Run and read back."""
        self.memory = self._memory(self.tenant_id)
        others = self._remember()
        conversations = ConversationStore(self.database)
        conversations.import_threads(self.tenant_id, FORMAT, [window_thread(self.given)])
        conversations.register_episodes(self.tenant_id, self.policy)
        self.faults.arm(self.given.faults)
        with ThreadPoolExecutor(self.given.concurrency) as pool:
            workers = [pool.submit(self._work) for _ in range(self.given.concurrency)]
        for worker in workers:
            worker.result()
        return observe(
            self.database,
            self.tenant_id,
            others,
            self.ids,
            tuple(sorted(set(self.judge.asked))),
            self.extractor.calls,
        )

    def _memory(self, tenant_id: TenantId) -> TenantMemory:
        return TenantMemory(self.database, self.workshop, tenant_id, self.given.now)

    def _remember(self) -> tuple[TenantId, ...]:
        """Store what the case's tenants know; the tenants that are not the case's own."""
        by_tenant: dict[TenantId, list[GivenFact]] = {}
        for fact in self.given.facts:
            scope = Scope(
                dataset=fact.dataset or self.given.scope.dataset,
                project=fact.project or self.given.scope.project,
            )
            by_tenant.setdefault(tenant_of(self.run, scope), []).append(fact)
        own = by_tenant.pop(self.tenant_id, [])
        self.ids.facts |= self.memory.remember(self.given.known_entities, own)
        for tenant_id, facts in by_tenant.items():
            self.ids.facts |= self._memory(tenant_id).remember((), facts)
        return tuple(by_tenant)

    def _work(self) -> None:
        """Fold what is open, as often as failures and their cap allow."""
        for _ in range(_TRIES):
            walk = TenantWalk(self.workshop, self.tenant_id)
            try:
                for walked in walk.walk():
                    self._fold(walked)
            except (ExtractionError, CallFailedError):
                continue
            except OutOfOrderError:
                return  # another worker has written the episode
            return
        raise CaseError(f"not done after {_TRIES} tries")

    def _fold(self, walked: WalkedEpisode) -> None:
        store = MemoryStore(self.database, self.tenant_id, self.memory.walk.generation_id)
        folder = _InterruptedFolder(
            CaseReader(store, self.ids, self.given.similarity, self.given.entity_similarity),
            self.embedder,
            self.judge,
            make_profile(self.given),
            self.policy,
        )
        folder.after_plan = self._after_plan
        plan_and_write(replace(walked, folder=folder).plan, self._write)

    def _write(self, plan: FoldPlan) -> bool:
        if self.faults.is_due("write"):
            raise CallFailedError("the process ends before the write")
        try:
            apply_changes(self.database, plan.changes, plan.vectors)
        except StalePlanError:
            return False
        return True

    def _after_plan(self) -> None:
        """All workers plan before one writes; then the other worker's commit comes first."""
        if self._is_interrupted:
            return
        self._barrier.wait(_PATIENCE_SECONDS)
        with self._lock:
            if self._is_interrupted:
                return
            self._is_interrupted = True
            rows = self.given.committed_by_other_job_after_snapshot
            if rows:
                before = self.given.now - timedelta(seconds=1)
                self.ids.facts |= self.memory.commit(rows, before)
