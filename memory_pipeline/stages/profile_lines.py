"""How a grounding is shown, line by line, and the digests of what is shown (spec P1, X12).

Belongs here: lines of facts, periods, what is kept out of prompts, equality of groundings. Does
not: what is asked and answered (stages/profile).
"""

import hashlib
import json
from dataclasses import replace
from datetime import datetime
from functools import lru_cache

from memory_pipeline.domain.profile import GroundFact, Grounding
from memory_pipeline.stages.injection import DOUBTFUL_SCORE, HOSTILE_SCORE, score_injection
from memory_pipeline.stages.sanitise import sanitise_line

FACT_CHARS = 600
_QUOTE_CHARS = 240


def without_orders(grounding: Grounding) -> Grounding:
    """The grounding without facts that give orders to their reader, and such quotes (spec X12)."""
    kept = []
    for fact in grounding.facts:
        said = f"{fact.subject} {fact.predicate} {fact.object}"
        if _score(said) >= HOSTILE_SCORE:
            continue
        is_doubted = bool(fact.quote) and _score(fact.quote) >= DOUBTFUL_SCORE
        kept.append(replace(fact, quote="") if is_doubted else fact)
    return replace(grounding, facts=tuple(kept))


@lru_cache(maxsize=8_192)
def _score(text: str) -> float:
    # Each fact is shown for both its ends, and again whenever something beside it changes.
    return score_injection(text).score


def facts_digest(grounding: Grounding) -> str:
    """Sha256 over what is shown of the facts and their ids: equal as long as nothing changes."""
    ids = [str(fact.fact_id) for fact in grounding.facts]
    names = sorted({*grounding.aliases, *grounding.user_names})
    content = [grounding.name, grounding.type.value, names, ids, fact_lines(grounding)]
    return _sha256(json.dumps(content, ensure_ascii=False))


def grounding_digest(facts: str, method: str) -> str:
    """Sha256 over facts and method: while it is equal there is nothing to ask."""
    return _sha256(f"{facts}\x1f{method}")


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def fact_lines(grounding: Grounding) -> list[str]:
    """`[f3] user works at acme | since 2024-09-01 | "I joined Acme"`, oldest first."""
    return [_line(number, fact, grounding) for number, fact in enumerate(grounding.facts, start=1)]


def _line(number: int, fact: GroundFact, grounding: Grounding) -> str:
    said = field_text(f"{fact.subject} {fact.predicate} {fact.object}", FACT_CHARS)
    quote = field_text(fact.quote, _QUOTE_CHARS)
    parts = [f"[f{number}] {said}", shown_period(fact, grounding), f'"{quote}"' if quote else ""]
    while not parts[-1]:
        parts.pop()
    return " | ".join(parts).replace("|  |", "| |")


def field_text(text: str, limit: int) -> str:
    """Text that can't pass for another field or line of a fact."""
    return sanitise_line(text, limit).replace("|", "/").replace('"', "'")


def shown_period(fact: GroundFact, grounding: Grounding) -> str:
    """When a fact of a grounding holds, in words."""
    is_planned = fact.begins_after(grounding.at)
    start = fact.valid_from if is_planned or fact.has_stated_start else None
    return period_words(start, fact.valid_until, is_planned=is_planned)


def period_words(start: datetime | None, end: datetime | None, *, is_planned: bool) -> str:
    """`since 2024-09-01 until 2025-01-31`; a start that nobody stated is to be left out (None).

    Such a start is only when it was said.
    """
    parts = []
    if start is not None:
        parts.append(f"{'planned from' if is_planned else 'since'} {start:%Y-%m-%d}")
    if end is not None:
        parts.append(f"until {end:%Y-%m-%d}")
    return " ".join(parts)
