"""Stand-ins for what a case dictates: vectors, nearness, verdicts, failing calls.

Belongs here: ports of the stages filled from a case. Does not: anything that decides about
claims or facts: that is the real code's part.
"""

import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from memory_pipeline.adapters.memory_store import MemoryStore
from memory_pipeline.domain.changes import GenerationHead, Judgement, MemoryState, Verdict
from memory_pipeline.domain.claim import ResolvedClaim
from memory_pipeline.domain.conversation import Window
from memory_pipeline.domain.extraction import ExtractedGraph, KnownLists, Tier
from memory_pipeline.domain.fact import Entity
from memory_pipeline.domain.ids import FactId
from memory_pipeline.stages.judge import Question, read_verdicts
from memory_pipeline.stages.ports import ExtractionError, NearnessLimits
from memory_pipeline.stages.resolve import NameIndex
from memory_pipeline_tests.cases.case_file import CaseError, Fault

DIMENSIONS = 384
_NEVER = 3.0


class CallFailedError(RuntimeError):
    """A call that the case lets fail."""


class FaultPlan:
    """Which calls still have to fail."""

    def __init__(self) -> None:
        self._left: dict[str, int] = {}
        self._lock = threading.Lock()

    def arm(self, faults: Sequence[Fault]) -> None:
        """From here on these calls fail; what came before was setting up."""
        for fault in faults:
            self._left[fault.call] = self._left.get(fault.call, 0) + fault.times

    def is_due(self, call: str) -> bool:
        """Whether this call fails; counts it."""
        with self._lock:
            left = self._left.get(call, 0)
            self._left[call] = left - 1
            return left > 0


class SpacedEmbedder:
    """Every text at a right angle to all others, but for the names a case puts close together."""

    profile_id = "cases/orthogonal/1"
    dimensions = DIMENSIONS

    def __init__(self, close: Mapping[tuple[str, str], float], faults: FaultPlan) -> None:
        names = list(dict.fromkeys(name for pair in close for name in pair))
        self._vectors = dict(zip(names, _vectors(names, close), strict=True))
        self._faults = faults
        self._lock = threading.Lock()

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One unit vector for each text; more than 384 texts are more than there are angles."""
        if texts and self._faults.is_due("embed"):
            raise CallFailedError("the embedding call fails")
        with self._lock:
            for text in texts:
                if text not in self._vectors:
                    self._vectors[text] = _axis(len(self._vectors))
            return [self._vectors[text] for text in texts]


def _axis(place: int) -> list[float]:
    if place >= DIMENSIONS:
        raise CaseError("more texts than a case can hold")
    vector = [0.0] * DIMENSIONS
    vector[place] = 1.0
    return vector


def _vectors(names: Sequence[str], close: Mapping[tuple[str, str], float]) -> list[list[float]]:
    """Unit vectors with the given cosines, in as many dimensions as there are names."""
    if not names:
        return []
    gram = np.eye(len(names))
    for (one, other), cosine in close.items():
        a, b = names.index(one), names.index(other)
        # A hair more, so that a cosine at a threshold does not fall below it by rounding.
        gram[a, b] = gram[b, a] = cosine + 1e-9
    values, axes = np.linalg.eigh(gram)
    if values.min() < -1e-6:
        raise CaseError("no vectors have the similarities that the case gives its new names")
    rows = axes * np.sqrt(np.clip(values, 0, None))
    return [[*row.tolist(), *[0.0] * (DIMENSIONS - len(names))] for row in rows]


class ScriptedExtractor:
    """Returns the case's graph, whatever the window says."""

    version = "cases/extractor/1"
    tier = Tier.FAST

    def __init__(self, graph: ExtractedGraph, faults: FaultPlan) -> None:
        self._graph = graph
        self._faults = faults
        self.calls = 0

    def extract(self, window: Window, known: KnownLists) -> ExtractedGraph:
        """The graph; `ExtractionError` while the case lets calls fail."""
        self.calls += 1
        if self._faults.is_due("extract"):
            raise ExtractionError("the case lets this call fail")
        return self._graph


@dataclass
class CaseIds:
    """Which claim and which fact the words of a case mean; grows as facts are written."""

    ref_of: dict[str, str]
    facts: dict[str, FactId] = field(default_factory=dict)

    def name_of_ref(self, ref: str) -> str:
        """The case's word for a claim."""
        return next(name for name, known in self.ref_of.items() if known == ref)

    def name_of_fact(self, fact_id: FactId) -> str:
        """The case's word for a fact, the id itself where it has none."""
        found = (name for name, known in self.facts.items() if known == fact_id)
        return next(found, str(fact_id))

    def key(self, name: str) -> str:
        """What the stages call a claim or a fact; the word itself while there is none."""
        if name in self.ref_of:
            return self.ref_of[name]
        return str(self.facts.get(name, name))


class ScriptedJudge:
    """Answers from the case and remembers every pair it was asked."""

    version = "cases/judge/1"

    def __init__(
        self, verdicts: Mapping[str, str], raw: str | None, ids: CaseIds, faults: FaultPlan
    ) -> None:
        self._verdicts = {split_pair(pair): _verdict(word) for pair, word in verdicts.items()}
        self._raw = raw
        self._ids = ids
        self._faults = faults
        self.asked: list[tuple[str, str]] = []

    def judge(self, questions: Sequence[Question]) -> tuple[Judgement, ...]:
        """One judgement for each question, in order."""
        names = [
            (self._ids.name_of_ref(q.pair.ref), self._ids.name_of_fact(q.pair.fact_id))
            for q in questions
        ]
        self.asked += names
        if self._faults.is_due("judge"):
            return read_verdicts("", questions, judge=self.version)
        if self._raw is not None:
            return read_verdicts(self._raw, questions, judge=self.version)
        return tuple(
            Judgement(
                ref=question.pair.ref,
                fact_id=question.pair.fact_id,
                verdict=self._verdicts.get(pair, Verdict.NEITHER),
                judge=self.version,
                pair_reason=question.pair.reason,
            )
            for pair, question in zip(names, questions, strict=True)
        )


def _verdict(word: str) -> Verdict:
    """A verdict by its word; a word that is none counts as `neither` (spec J3)."""
    return Verdict(word) if word in set(Verdict) else Verdict.NEITHER


def split_pair(pair: str) -> tuple[str, str]:
    """The two words of `one~other`."""
    one, separator, other = pair.partition("~")
    if not separator:
        raise CaseError(f"{pair!r} names no pair")
    return one, other


class CaseReader:
    """The real store, with the nearness of claims, facts and names as the case gives it."""

    def __init__(
        self,
        store: MemoryStore,
        ids: CaseIds,
        similarity: Mapping[str, float],
        entity_similarity: Mapping[str, float],
    ) -> None:
        self._store = store
        self._ids = ids
        self._similarity = {split_pair(pair): value for pair, value in similarity.items()}
        self._names = {split_pair(pair): value for pair, value in entity_similarity.items()}

    def head(self) -> GenerationHead:
        """As the store has it."""
        return self._store.head()

    def name_index(self, names: Sequence[str]) -> NameIndex:
        """As the store has it."""
        return self._store.name_index(names)

    def nearest_entities(
        self, vectors: Mapping[str, Sequence[float]]
    ) -> dict[str, tuple[tuple[Entity, float], ...]]:
        """The entities the case puts close to each name."""
        near = {name: self._near(name) for name in vectors}
        holders = self._store.name_index([o for others in near.values() for o in others]).holders
        neighbours: dict[str, tuple[tuple[Entity, float], ...]] = {}
        for name, others in near.items():
            found = [
                (entity, cosine)
                for other, cosine in others.items()
                for entity in holders.get(other, ())
                if entity.name == other
            ]
            neighbours[name] = tuple(sorted(found, key=lambda pair: -pair[1]))
        return neighbours

    def _near(self, name: str) -> dict[str, float]:
        near = {}
        for (one, other), cosine in self._names.items():
            if name in (one, other):
                near[other if name == one else one] = cosine
        return near

    def neighbourhood(
        self,
        head: GenerationHead,
        claims: Sequence[ResolvedClaim],
        vectors: Mapping[str, Sequence[float]],
        limits: NearnessLimits,
    ) -> MemoryState:
        """The store's facts of the claims' slots, and those the case puts near enough."""
        in_slots, subject = (
            self._store.neighbourhood(
                head,
                claims,
                vectors,
                replace(limits, minimum_similarity=least, considered=limits.counted),
            )
            for least in (_NEVER, -1.0)
        )
        similarities = self._similarities()
        facts = {f.fact_id: f for f in in_slots.facts}
        for fact in subject.facts:
            is_near = any(
                similarities.get((claim.claim.ref, str(fact.fact_id)), 0.0)
                >= limits.minimum_similarity
                for claim in claims
                if claim.subject_id == fact.subject_id
            )
            if is_near:
                facts[fact.fact_id] = fact
        return in_slots.model_copy(
            update={
                "facts": tuple(facts[key] for key in sorted(facts, key=str)),
                "similarities": similarities,
            }
        )

    def _similarities(self) -> dict[tuple[str, str], float]:
        found: dict[tuple[str, str], float] = {}
        for (one, other), value in self._similarity.items():
            found[self._ids.key(one), self._ids.key(other)] = value
            found[self._ids.key(other), self._ids.key(one)] = value
        return found

    def with_links(
        self, state: MemoryState, ending: Collection[FactId], claims: Sequence[ResolvedClaim]
    ) -> MemoryState:
        """As the store has it."""
        return self._store.with_links(state, ending, claims)
