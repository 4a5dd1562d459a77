"""What makes two statements one thing said twice, and what a likeness of vectors does not show.

Belongs here: comparing subject, predicate, object, polarity, numbers, units and dates (spec D3).
Does not: what follows for a claim (stages/deduplicate).
"""

import re

from memory_pipeline.domain.claim import Claim, ResolvedClaim
from memory_pipeline.domain.fact import FactVersion
from memory_pipeline.domain.ids import EntityId

_NEGATION = re.compile(
    r"\b(?:not|no|nor|never|none|nothing|without|cannot|\w+n't|lacks?|refuses?"
    r"|dislikes?|hates?|loathes?|detests?|avoids?|stopped|stops|quits?|gave up|gives up|sold|left"
    r"|cancelled|canceled|ended|used to|formerly?|ex|non|unable|unwilling|against|declines?"
    r"|rejects?)\b"
)
_NUMBER_WORD = (
    r"(?:(?:twen|thir|for|fif|six|seven|eigh|nine)ty|(?:thir|four|fif|six|seven|eigh|nine)teen"
    r"|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|thousand"
    r"|million|billion|once|twice|thrice|half|halves|quarter|quarters|double|triple|single|couple"
    r"|pair|both|several|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth)"
)
_NUMBER = re.compile(rf"(?:(?<!\S)[-\u2212])?\d+(?:[.,:/-]\d+)*|\b{_NUMBER_WORD}\b")
_UNIT = re.compile(
    rf"(?:(?<=\d)\s*|\b{_NUMBER_WORD}[\s-]+)((?:(?:square|cubic|nautical|fluid)\s+)?[a-z€$£%]+)"
    r"|([€$£])(?=\s*\d)"
)
_CALENDAR = re.compile(
    r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b"
    r"|\b(?:january|february|march|april|may|june|july|august|september|october|november|december)\b"
    r"|\b(?:spring|summer|autumn|winter|morning|noon|afternoon|evening|night|weekend|daily|weekly"
    r"|monthly|yearly|today|tonight|tomorrow|yesterday)s?\b"
)


def is_same_triple(resolved: ResolvedClaim, fact: FactVersion) -> bool:
    """Whether claim and fact share subject, predicate and object."""
    return (
        resolved.claim.predicate == fact.predicate
        and resolved.subject_id == fact.subject_id
        and same_object(resolved, fact)
    )


def same_object(resolved: ResolvedClaim, fact: FactVersion) -> bool:
    """Whether claim and fact have the same object, entity or value."""
    return object_key(resolved) == fact.object_key()


def object_key(resolved: ResolvedClaim) -> tuple[EntityId | None, str | None]:
    """What two claims, or a claim and a fact, must share to have the same object."""
    if resolved.object_id is not None:
        return (resolved.object_id, None)
    return (None, resolved.claim.object)


def differs_from_fact(resolved: ResolvedClaim, fact: FactVersion) -> bool:
    """Whether a likeness must not count as a repeat of the fact (spec D3)."""
    return _differs(
        (resolved.claim.predicate, *object_key(resolved), statement_of(resolved.claim)),
        (fact.predicate, *fact.object_key(), fact.statement),
    )


def differs_from_claim(resolved: ResolvedClaim, other: ResolvedClaim) -> bool:
    """The same between two claims of one episode."""
    return _differs(
        (resolved.claim.predicate, *object_key(resolved), statement_of(resolved.claim)),
        (other.claim.predicate, *object_key(other), statement_of(other.claim)),
    )


_Comparable = tuple[str, EntityId | None, str | None, str]


def _differs(one: _Comparable, other: _Comparable) -> bool:
    predicate, object_id, object_text, statement = one
    has_same_object = (object_id, object_text) == other[1:3]
    if predicate == other[0] and not has_same_object:
        return True
    if object_id != other[1]:
        return True
    return any(
        _tokens(pattern, statement) != _tokens(pattern, other[3])
        for pattern in (_NEGATION, _NUMBER, _UNIT, _CALENDAR)
    )


def _tokens(pattern: re.Pattern[str], text: str) -> list[str]:
    found = [match.group().strip() for match in pattern.finditer(text.lower())]
    if pattern is _NEGATION:
        return ["negative"] if len(found) % 2 else []
    return sorted(found)


def statement_of(claim: Claim) -> str:
    """The text that stands for a claim wherever it is compared or embedded."""
    return f"{claim.subject} {claim.predicate} {claim.object}"
