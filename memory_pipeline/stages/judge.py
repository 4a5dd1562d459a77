"""Does a new claim replace an old fact? The port of judges and the judge that needs no model.

Belongs here: spec J2, J3, J8. Does not: which pairs are asked (stages/deduplicate) and what a
verdict does (domain/plan).
"""

import json
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict

from memory_pipeline.domain.changes import Judgement, Pair, PairReason, Verdict
from memory_pipeline.domain.claim import Claim
from memory_pipeline.domain.extraction import Tier
from memory_pipeline.domain.fact import FactVersion
from memory_pipeline.domain.policy import CORRECTION_CUES, is_single_valued
from memory_pipeline.stages.fields import clean_text

RULES_JUDGE_VERSION = "rules/1"

_NEVER_TRUE_CUES = ("i meant", "i mean", "correction", "to correct", "wrongly", "mistake", "typo")
_MODEL_TIERS = frozenset({Tier.FAST, Tier.STRONG})
_VERDICT_KEYS = ("verdict", "invalidate")
_CORRECTION_KEYS = ("is_correction", "isCorrection")
_INDEX = re.compile(r"\s*[0-9]{1,6}\s*")
_REASON_CHARS = 300

log = logging.getLogger(__name__)


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


def complete_judgements(
    questions: Sequence[Question], answers: Sequence[Judgement]
) -> tuple[Judgement, ...]:
    """One judgement for each question, in order: `neither` where there is no answer (spec J3).

    Answers on pairs that nobody asked about are left out, with a warning.
    """
    found = {(a.ref, a.fact_id): a for a in answers}
    asked = {(q.pair.ref, q.pair.fact_id) for q in questions}
    for ref, fact_id in found.keys() - asked:
        log.warning("the judge answered on %s and %s, which it was not asked about", ref, fact_id)
    return tuple(
        found.get((q.pair.ref, q.pair.fact_id)) or _judgement(q, judge="none", reason=_NO_VERDICT)
        for q in questions
    )


def read_verdicts(raw: str, questions: Sequence[Question], *, judge: str) -> tuple[Judgement, ...]:
    """One judgement for each question out of a judge's answer, whatever that is (spec J3).

    Expected is JSON: `{"verdicts": [{"index": 0, "reason": "", "verdict": "old"}]}`, index from 0.
    A missing or made-up index, an invalid or contradicted verdict and an unreadable answer leave
    `neither`, with a warning.
    """
    items = dict(_valid_items(_verdict_list(raw), len(questions)))
    return tuple(
        _judgement(
            question,
            judge=judge,
            verdict=Verdict(str(_first(items[place], _VERDICT_KEYS))),
            is_correction=_first(items[place], _CORRECTION_KEYS) is True,
            reason=clean_text(str(items[place].get("reason") or ""), _REASON_CHARS),
        )
        if place in items
        else _judgement(question, judge=judge, reason=_NO_VERDICT)
        for place, question in enumerate(questions)
    )


_NO_VERDICT = "the judge gave no valid verdict"


def _verdict_list(raw: str) -> Sequence[object]:
    """The items of an answer; none when no JSON object with a list of verdicts can be read."""
    start, end = raw.find("{"), raw.rfind("}")
    try:
        answer = json.loads(raw[start : end + 1])
    except (ValueError, RecursionError):
        answer = None
    items = answer.get("verdicts") if isinstance(answer, dict) else None
    if not isinstance(items, list):
        log.warning("the judge's answer holds no verdicts: every pair counts as neither")
        return []
    return items


def _valid_items(items: Sequence[object], count: int) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Items on an asked pair with a known verdict; of two that disagree neither is believed."""
    verdicts: dict[int, set[object]] = {}
    readable: list[tuple[int, Mapping[str, Any]]] = []
    for item in items:
        place = item.get("index") if isinstance(item, dict) else None
        if isinstance(place, str) and _INDEX.fullmatch(place):
            place = int(place)
        if not isinstance(item, dict) or type(place) is not int or not 0 <= place < count:
            log.warning("the judge names a pair that was not asked: %.200r", item)
            continue
        verdict = _first(item, _VERDICT_KEYS)
        verdicts.setdefault(place, set()).add(verdict if isinstance(verdict, str) else None)
        readable.append((place, item))
    for place, item in readable:
        if verdicts[place] <= {Verdict.OLD} or verdicts[place] <= {Verdict.NEW}:
            yield place, item
        elif verdicts[place] != {Verdict.NEITHER}:
            log.warning("the judge gives no single verdict on pair %d: %.200r", place, item)


def _first(item: Mapping[str, Any], keys: Sequence[str]) -> object:
    return next((item[key] for key in keys if key in item), None)


def _judgement(
    question: Question,
    *,
    judge: str,
    verdict: Verdict = Verdict.NEITHER,
    is_correction: bool = False,
    reason: str = "",
) -> Judgement:
    return Judgement(
        ref=question.pair.ref,
        fact_id=question.pair.fact_id,
        verdict=verdict,
        is_correction=verdict is Verdict.OLD and is_correction,
        reason=reason,
        judge=judge,
        pair_reason=question.pair.reason,
    )


def _by_rules(question: Question) -> Judgement:
    quote = question.claim.evidence.quote.lower() if question.claim.evidence else ""
    verdict, reason = Verdict.NEITHER, "no rule says that one replaces the other"
    if question.fact.tier in _MODEL_TIERS:
        reason = "rules never overrule a fact that a model extracted"
    elif question.pair.reason is PairReason.SLOT and is_single_valued(question.claim.predicate):
        verdict, reason = Verdict.OLD, "one value at a time"
    elif _has_cue(quote, CORRECTION_CUES) and _names_object(quote, question):
        verdict, reason = Verdict.OLD, "the user corrects it"
    return _judgement(
        question,
        judge="rules",
        verdict=verdict,
        is_correction=verdict is Verdict.OLD and _was_never_true(quote, question.fact),
        reason=reason,
    )


def _has_cue(quote: str, cues: Sequence[str]) -> bool:
    return any(_says(quote, cue) for cue in cues)


def _says(quote: str, words: str) -> bool:
    """Whether the words stand in the quote as words: `actually` is not in `factually`."""
    words = words.strip()
    if not words or words not in quote:
        return False
    return re.search(rf"(?<!\w){re.escape(words)}(?!\w)", quote) is not None


def _names_object(quote: str, question: Question) -> bool:
    """Whether the correction speaks of the very fact, so that its neighbours are left alone."""
    if question.pair.reason in (PairReason.RESTATED, PairReason.REDATED):
        return True
    return _says(quote, _object_name(question.fact))


def _was_never_true(quote: str, fact: FactVersion) -> bool:
    """A correction says the old was never so; a change says it is over (spec J6)."""
    if _has_cue(quote, _NEVER_TRUE_CUES):
        return True
    name = _object_name(fact)
    is_denied = bool(name) and _says(quote.replace("not in ", "not "), f"not {name}")
    return is_denied and _says(quote, "actually")


def _object_name(fact: FactVersion) -> str:
    if fact.object_text is not None:
        return fact.object_text.lower()
    return fact.statement.partition(f" {fact.predicate} ")[2].lower()
