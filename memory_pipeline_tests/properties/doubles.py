"""Stand-ins for the models: each answers what its history says, in any process and thread.

Belongs here: ports of the stages filled from a history. Does not: anything that decides about
claims or facts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt

from memory_pipeline.domain.changes import Judgement
from memory_pipeline.domain.conversation import Window
from memory_pipeline.domain.extraction import (
    ExtractedEntity,
    ExtractedFact,
    ExtractedGraph,
    KnownLists,
    Tier,
)
from memory_pipeline.stages.judge import Question
from memory_pipeline_tests.properties.histories import THINGS, Candidate, Episode, History

FORMAT = "properties"
_THEMES = 2
_DIMENSIONS = 384


@dataclass(frozen=True)
class HistoryExtractor:
    """Answers each window with what its episode says."""

    history: History
    version: str = "properties/extractor/1"
    tier: Tier = Tier.FAST

    def extract(self, window: Window, known: KnownLists) -> ExtractedGraph:
        """The candidates of the window's episode, whatever is known."""
        episode = next(
            e
            for e in self.history.episodes
            if f"{FORMAT}/{e.thread_name}" == window.thread_id and e.said_at(0) == window.started_at
        )
        facts = [(c, _extracted(episode, place, c)) for place, c in enumerate(episode.candidates)]
        named = {name for c in episode.candidates for name in (c.subject, c.object)}
        return ExtractedGraph(
            entities=tuple(
                ExtractedEntity(name=name, type=type_)
                for name, type_ in THINGS.items()
                if name in named
            ),
            relationships=tuple(fact for c, fact in facts if c.is_edge),
            literal_facts=tuple(fact for c, fact in facts if not c.is_edge),
        )


def _extracted(episode: Episode, place: int, candidate: Candidate) -> ExtractedFact:
    return ExtractedFact(
        subject=candidate.subject,
        predicate=candidate.predicate,
        object=candidate.object,
        confidence=candidate.confidence,
        source_quote=episode.quote(place),
        valid_from=candidate.valid_from,
        valid_until=candidate.valid_until,
    )


@dataclass(frozen=True)
class HistoryJudge:
    """Answers each pair as the history does."""

    history: History
    version: str = "properties/judge/1"

    def judge(self, questions: Sequence[Question]) -> tuple[Judgement, ...]:
        """One judgement for each question, in order."""
        return tuple(self._judgement(question) for question in questions)

    def _judgement(self, question: Question) -> Judgement:
        claim, fact = question.claim, question.fact
        statement = f"{claim.subject} {claim.predicate} {claim.object}"
        answer = self.history.answer(claim.said_at, statement, fact.statement, fact.valid_from)
        return Judgement(
            ref=question.pair.ref,
            fact_id=question.pair.fact_id,
            verdict=answer.verdict,
            is_correction=answer.is_correction,
            judge=self.version,
            pair_reason=question.pair.reason,
        )


@dataclass(frozen=True)
class ThemedEmbedder:
    """Vectors with the cosines of the history; names stand at right angles to everything."""

    history: History
    profile_id: str = "properties/themes/1"
    dimensions: int = _DIMENSIONS

    @cached_property
    def _axes(self) -> dict[str, int]:
        said = {c.statement for e in self.history.episodes for c in e.candidates}
        return {text: place for place, text in enumerate(sorted(said | THINGS.keys()), _THEMES)}

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One unit vector for each text; KeyError for one that no episode says."""
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> list[float]:
        theme, near = self.history.nearness(text)
        vector = [0.0] * _DIMENSIONS
        vector[theme] = near
        vector[self._axes[text]] = sqrt(1 - near * near)
        return vector
