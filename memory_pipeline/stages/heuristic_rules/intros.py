"""Self-introductions in telegram style: `I'm Jonas, 29, software dev from Malmö`.

What belongs here: this one pattern, which no parse gets right. What does not: full sentences.
"""

from __future__ import annotations

import re

from memory_pipeline.domain.extraction import EntityType
from memory_pipeline.stages.heuristic_rules.drafts import Draft
from memory_pipeline.stages.heuristic_rules.predicates import ALLOWED_FLEETING_STATES
from memory_pipeline.stages.heuristic_rules.roles import is_role

_INTRO = re.compile(
    r"^(?:I'm|I am|my name is|this is|it's)\s+(?:(?P<name>[A-Za-zÀ-ž]+)(?:,| and I'm| -)\s*)?"
    r"(?P<age>[1-9]\d)\b(?: years old| yo|yo)?(?P<rest>(?:,| and|\.)[^.!?]*)?[.!?]*$",
    re.IGNORECASE,
)
_PART = re.compile(
    r"^(?:an? |I'm an? |and |I'm )*(?P<role>[\w -]+?)?\s*"
    r"(?:\b(?P<prep>from|in|at|based in|living in|for)\s+(?P<place>[\w' -]+))?$",
    re.IGNORECASE,
)
_PREDICATES = {
    "from": ("is from", EntityType.PLACE),
    "at": ("works at", EntityType.ORG),
    "for": ("works at", EntityType.ORG),
}


_OVER = re.compile(
    r"^(?:I'm|I am) (?:not (?:an? )?(?P<state>[\w-]+) any ?(?:more|longer)\b)", re.IGNORECASE
)
_NAMED = re.compile(r"^(?:I'm|I am|This is) (?P<name>[A-Z][a-z]{2,})(?:,? by the way)?[.!]*$")
_AGED = re.compile(
    r"^(?:I'm|I am|as) an? (?P<age>[1-9]\d)[- ]?(?:yo|y/o|year[- ]old|yr old)\b", re.IGNORECASE
)
_ORIGIN = re.compile(r",? originally from (?P<place>[A-Z]\w+(?: [A-Z]\w+)*)")


def _read_parts(text: str) -> list[Draft]:
    """`a 27yo student`, `originally from Brazil`: said in passing, lost by the parse."""
    found = []
    if over := _OVER.match(text):
        state = over["state"].lower()
        if state in ALLOWED_FLEETING_STATES:
            found.append(Draft("user", "is", state, end=len(text), is_ended=True))
    match = _NAMED.match(text)
    if match and match["name"].lower() not in ALLOWED_FLEETING_STATES:
        found.append(Draft("user", "has name", match["name"].lower(), end=match.end()))
    if match := _AGED.match(text):
        found.append(Draft("user", "has age", match["age"], end=match.end()))
    origin = _ORIGIN.search(text)
    if origin and re.match(r"(?:I'm|I am|we're)\b", text):
        place = origin["place"].lower()
        found.append(Draft("user", "is from", place, EntityType.PLACE, end=len(text)))
    return found


def read_intro(text: str) -> list[Draft]:
    """Name, age, role and place of a self-introduction; empty when the sentence is none."""
    match = _INTRO.match(text)
    if match is None:
        return _read_parts(text)
    size = len(text)
    found = [Draft("user", "has age", match["age"], end=size)]
    if match["name"]:
        found.insert(0, Draft("user", "has name", match["name"].lower(), end=size))
    for part in re.split(r",|\band\b", match["rest"] or ""):
        words = _PART.match(part.strip().lower())
        if words and words["role"] and is_role(words["role"]):
            found.append(Draft("user", "works as", words["role"], EntityType.ROLE, end=size))
        if words and words["place"]:
            name, kind = _PREDICATES.get(words["prep"], ("lives in", EntityType.PLACE))
            found.append(Draft("user", name, words["place"], kind, end=size))
    return found
