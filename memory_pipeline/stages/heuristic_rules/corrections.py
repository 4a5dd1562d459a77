"""Corrections of what was said or is known: `Actually it's Lisbon, not Porto`, `I meant 2500`.

What belongs here: cues, the old and the new value, the fact they belong to.
What does not: replacing it (the judge does, by the cue inside the quote).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from memory_pipeline.domain.extraction import EntityType, KnownLists
from memory_pipeline.stages.heuristic_rules.drafts import Draft

_CUE = re.compile(
    r"\b(?:actually|i meant|correction|i misspoke|sorry|scratch that|typo|my bad|oops|my mistake|"
    r"i was wrong|not \w+)\b",
    re.IGNORECASE,
)
_VALUE = r"(?:the |a |an )?(?P<{}>[\w$£€%.'-]+(?: [\w$£€%.'-]+){{0,3}}?)"
_NEW_NOT_OLD = re.compile(
    rf"^(?:i meant(?: to say)?|it's|it is|that's|it was|that should be|it should be|should be|"
    rf"make that|make it|he's|she's)?:?\s*{_VALUE.format('new')},? (?:and )?not "
    rf"{_VALUE.format('old')}\s*[.!]*$",
    re.IGNORECASE,
)
_NOT_OLD_BUT_NEW = re.compile(
    rf"^(?:it's|it is|that's|i meant)?\s*not {_VALUE.format('old')}"
    rf"(?:,? but|[,.;]? (?:it's|it is|i meant)|,) {_VALUE.format('new')}\s*[.!]*$",
    re.IGNORECASE,
)
_MEANT = re.compile(
    rf"^(?:i meant(?: to say| to write)?|make that|make it|it's|it is|that should be|should be)\s+"
    rf"{_VALUE.format('new')}\s*[.!]*$",
    re.IGNORECASE,
)


_BARE = re.compile(r"^(?P<new>\d[\w.,%]*|[A-Z][\w'-]+)\s*[.!]*$")
_NUMBER = re.compile(r"^\d[\d.,]*$")
_PLACING = frozenset({"in", "at", "on", "for", "to", "with", "from", "by"})
_VERBS = frozenset({"is", "are", "was", "were", "has", "have", "lives", "works", "likes", "said"})
_SENTENCE = re.compile(
    r"^(?:I(?!\s+meant)\b|I'm|I've|my|we|our|they|you)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Correction:
    """A new value for an old one; `old` is empty when only the new one was said."""

    new: str
    old: str


def read_correction(text: str, verbatim: str) -> Correction | None:
    """The correction that a whole sentence is, or None."""
    if _SENTENCE.match(text):
        return None
    for pattern in (_NOT_OLD_BUT_NEW, _NEW_NOT_OLD):
        if match := pattern.match(text):
            new, old = (match[name].lower().rstrip(".") for name in ("new", "old"))
            return _aligned(new, old)
    meant = _MEANT.match(text) or _BARE.match(text)
    if meant is None or not _CUE.search(verbatim):
        return None
    return Correction(meant["new"].lower().rstrip("."), "")


def _aligned(new: str, old: str) -> Correction | None:
    """`Femke lives in Ghent, not in Bruges` corrects Bruges to Ghent; another sentence is none."""
    start = old.split()[0]
    if start in _PLACING and f" {start} " in f" {new} ":
        new = f" {new} ".split(f" {start} ")[-1].strip()
        old = old.partition(" ")[2]
    if not new or not old or _VERBS & set(new.split()):
        return None
    return Correction(new, old)


def corrected(
    correction: Correction, said: list[Draft], known: KnownLists
) -> tuple[Draft, Draft | None] | None:
    """The corrected candidate, and the draft of this window it replaces; None when ambiguous."""
    for draft in reversed(said):
        if _means(correction, draft.object, draft.type is not None):
            return _with(draft, correction.new), draft
    facts = [f for f in known.facts if _means(correction, f.object, f.object_is_entity)]
    if not correction.old and len(facts) != 1:
        return None
    if not facts:
        return None
    fact = facts[0]
    kind = EntityType.THING if fact.object_is_entity else None
    for entity in known.entities:
        if fact.object_is_entity and entity.name == fact.object:
            kind = entity.type
    return Draft(fact.subject, fact.predicate, correction.new, kind), None


def _means(correction: Correction, value: str, is_entity: bool) -> bool:
    if correction.old:
        old, new = set(correction.old.split()), set(value.split())
        return old <= new or new <= old
    digits = any(c.isdigit() for c in correction.new)
    return digits == any(c.isdigit() for c in value)


def _with(draft: Draft, value: str) -> Draft:
    unit = draft.object.partition(" ")[2]
    if _NUMBER.match(value) and unit and _NUMBER.match(draft.object.split()[0]):
        value = f"{value} {unit}"  # `I weigh 80 kg`, `scratch that, 82`
    return Draft(draft.subject, draft.predicate, value, draft.type)
