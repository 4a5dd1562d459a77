"""Does a new claim replace an old fact? The port of judges and the judge that needs no model.

Belongs here: spec J2, J3, J8. Does not: which pairs are asked (stages/deduplicate) and what a
verdict does (domain/plan).
"""

from collections.abc import Sequence
from typing import Protocol

from pydantic import BaseModel, ConfigDict

from memory_pipeline.domain.changes import Judgement, Pair, PairReason, Verdict
from memory_pipeline.domain.claim import Claim
from memory_pipeline.domain.extraction import Tier
from memory_pipeline.domain.fact import FactVersion
from memory_pipeline.domain.policy import CORRECTION_CUES, is_single_valued

RULES_JUDGE_VERSION = "rules/1"

_NEVER_TRUE_CUES = ("i meant", "i mean ", "correction", "to correct", "wrongly", "mistake", "typo")
_MODEL_TIERS = frozenset({Tier.FAST, Tier.STRONG})


class Question(BaseModel):
    """One pair with what a judge may look at."""

    model_config = ConfigDict(frozen=True)

    pair: Pair
    claim: Claim
    fact: FactVersion
    fact_quote: str = ""


class Judge(Protocol):
    """Answers all pairs of one episode; a failure to answer is `neither`, never an exception."""

    @property
    def version(self) -> str:
        """Names judge and revision; part of the recipe."""
        ...

    def judge(self, questions: Sequence[Question]) -> tuple[Judgement, ...]:
        """One judgement for each question, in order."""
        ...


class RulesJudge:
    """Judges by closed lists: single-valued predicates and correction cues (spec J8)."""

    version = RULES_JUDGE_VERSION

    def judge(self, questions: Sequence[Question]) -> tuple[Judgement, ...]:
        """One judgement for each question, in order; never `old` against a model's fact."""
        return tuple(_by_rules(question) for question in questions)


def _by_rules(question: Question) -> Judgement:
    quote = question.claim.evidence.quote.lower() if question.claim.evidence else ""
    has_cue = any(cue in quote for cue in CORRECTION_CUES)
    is_correction = _was_never_true(quote, question.fact)
    verdict, reason = Verdict.NEITHER, "no rule says that one replaces the other"
    if question.fact.tier in _MODEL_TIERS:
        reason = "rules never overrule a fact that a model extracted"
    elif question.pair.reason is PairReason.SLOT and is_single_valued(question.claim.predicate):
        verdict, reason = Verdict.OLD, "one value at a time"
    elif has_cue and _names_object(quote, question):
        verdict, reason = Verdict.OLD, "the user corrects it"
    return Judgement(
        ref=question.pair.ref,
        fact_id=question.pair.fact_id,
        verdict=verdict,
        is_correction=verdict is Verdict.OLD and is_correction,
        reason=reason,
        judge="rules",
        pair_reason=question.pair.reason,
    )


def _names_object(quote: str, question: Question) -> bool:
    """Whether the correction speaks of the very fact, so that its neighbours are left alone."""
    if question.pair.reason in (PairReason.RESTATED, PairReason.REDATED):
        return True
    return _object_name(question.fact) in quote


def _was_never_true(quote: str, fact: FactVersion) -> bool:
    """A correction says the old was never so; a change says it is over (spec J6)."""
    if any(cue in quote for cue in _NEVER_TRUE_CUES):
        return True
    return "actually" in quote and f"not {_object_name(fact)}" in quote.replace("not in ", "not ")


def _object_name(fact: FactVersion) -> str:
    if fact.object_text is not None:
        return fact.object_text.lower()
    return fact.statement.partition(f" {fact.predicate} ")[2].lower()
