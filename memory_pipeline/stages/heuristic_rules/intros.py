"""Self-introductions in telegram style: `I'm Jonas, 29, software dev from Malmö, dad of two`.

What belongs here: lists of what somebody is, which no parse gets right. What does not: full
sentences.
"""

from __future__ import annotations

import re

from memory_pipeline.domain.extraction import EntityType
from memory_pipeline.stages.heuristic_rules.cast import USER
from memory_pipeline.stages.heuristic_rules.drafts import Draft
from memory_pipeline.stages.heuristic_rules.entity_types import PLACES
from memory_pipeline.stages.heuristic_rules.predicates import ALLOWED_FLEETING_STATES
from memory_pipeline.stages.heuristic_rules.roles import is_role

_OPENING = re.compile(
    r"^(?:I'm|I am|my name is|this is|it's|me:|about me:|hi,? I'm|name is)\s+", re.IGNORECASE
)
_CLIPPED = re.compile(r"^(?=[1-9]\d ?(?:[mfMF]|yo|y/o)\b)")
_NAME = re.compile(r"^[A-ZÀ-Ž][\w'-]+(?: [A-ZÀ-Ž][\w'-]+)?$")
_AGE = re.compile(
    r"^(?:I'm )?(?:an? )?(?P<age>[1-9]\d)(?:[- ]?(?:years? old|yo|y/o|yr old|year-old|[mf]))?$",
    re.IGNORECASE,
)
_AGE_ROLE = re.compile(
    r"^(?:an? )?(?P<age>[1-9]\d)[- ]?(?:yo|y/o|year[- ]old|yr old)\s+(?P<rest>.+)$", re.IGNORECASE
)
_KIN = (
    r"(?P<kin>kids?|children|boys|girls|sons?|daughters?|cats?|dogs?|brothers?|sisters?|siblings|"
    r"grandkids|stepkids)"
)
_COUNTED = re.compile(
    rf"^(?:with )?(?P<count>no|one|two|three|four|five|six|\d|an?) (?:[\w-]+ )?{_KIN}$",
    re.IGNORECASE,
)
_PARENT = re.compile(
    r"^(?:a |proud |single |new )*(?P<who>mum|mom|dad|mother|father|parent)(?: (?:of|to) "
    r"(?P<count>one|two|three|four|five|six|\d)\b.*)?$",
    re.IGNORECASE,
)
_PART = re.compile(
    r"^(?:an? |currently |now )*(?P<role>[\w' -]+?)?\s*"
    r"(?:\b(?P<prep>from|in|at|based in|living in|living near|for|near)\s+(?:the |an? )?"
    r"(?P<place>[\w'&. -]+))?$",
    re.IGNORECASE,
)
_PREDICATES = {
    "from": ("is from", EntityType.PLACE),
    "at": ("works at", EntityType.ORG),
    "for": ("works at", EntityType.ORG),
}
_INSIDE = re.compile(r"^(?P<where>.+?) in (?P<town>[A-Z].+)$", re.IGNORECASE)
_BRACKET = re.compile(r"\s*\((?P<name>[^)]*)\)")
_OVER = re.compile(
    r"^(?:I'm|I am) (?:not (?:an? )?(?P<state>[\w-]+) any ?(?:more|longer)\b)", re.IGNORECASE
)
_NAMED = re.compile(r"^(?:I'm|I am|This is) (?P<name>[A-Z][a-z]{2,})(?:,? by the way)?[.!]*$")
# The parser takes `Tjalling` for a verb.
_CALLED = re.compile(r"^[Mm]y name(?:'s| is) (?P<name>[A-Z][\w'-]*ing)(?=[,.!]|$| and\b)")
_AGED = re.compile(
    r"^(?:I'm|I am|as) an? (?P<age>[1-9]\d)[- ]?(?:yo|y/o|year[- ]old|yr old)\b", re.IGNORECASE
)
_ORIGIN = re.compile(r",? originally from (?P<place>[A-Z]\w+(?: [A-Z]\w+)*)")
_FEWEST_PARTS = 2


def _read_aside(text: str) -> list[Draft]:
    """`a 27yo student`, `originally from Brazil`: said in passing, lost by the parse."""
    found = []
    if over := _OVER.match(text):
        state = over["state"].lower()
        if state in ALLOWED_FLEETING_STATES:
            found.append(Draft(USER, "is", state, end=len(text), is_ended=True))
    match = _NAMED.match(text)
    if match and match["name"].lower() not in ALLOWED_FLEETING_STATES:
        found.append(Draft(USER, "has name", match["name"].lower(), end=match.end()))
    if match := _CALLED.match(text):
        found.append(Draft(USER, "has name", match["name"].lower(), end=match.end()))
    if match := _AGED.match(text):
        found.append(Draft(USER, "has age", match["age"], end=match.end()))
    origin = _ORIGIN.search(text)
    if origin and re.match(r"(?:I'm|I am|we're)\b", text):
        place = origin["place"].lower()
        found.append(Draft(USER, "is from", place, EntityType.PLACE, end=len(text)))
    return found


def read_intro(text: str) -> list[Draft]:
    """Name, age, role, place and kin of a self-introduction; empty when the sentence is none."""
    opening = _OPENING.match(text) or _CLIPPED.match(text)
    if opening is None:
        return _read_aside(text)
    rest = text[opening.end() :].strip(" .!?")
    pieces = re.split(r"\s*[,.]\s+(?:and )?|\s+-\s+|\s+and (?=I'm |from |an? )", rest)
    parts = [p.strip() for p in pieces if p.strip()]
    found: list[Draft] = []
    for number, part in enumerate(parts):
        has_age = number == 0 and len(parts) > 1 and bool(_AGE.match(parts[1]))
        part = part[:1].upper() + part[1:] if has_age and part.isalpha() else part
        drafts = _read_part(part.removeprefix("I'm "), number == 0, len(text))
        if not drafts and number > 0:
            break
        found.extend(drafts)
    kinds = {d.predicate for d in found}
    is_told = len(parts) >= _FEWEST_PARTS and bool(kinds & {"has age", "has name"})
    return found if is_told and len(found) >= _FEWEST_PARTS else _read_aside(text)


def _read_part(part: str, is_first: bool, size: int) -> list[Draft]:
    if match := _AGE.match(part):
        return [Draft(USER, "has age", match["age"], end=size)]
    if match := _AGE_ROLE.match(part):
        age = Draft(USER, "has age", match["age"], end=size)
        return [age, *_read_part(match["rest"], False, size)]
    lowered = part.lower()
    if is_first and _NAME.match(part) and lowered not in ALLOWED_FLEETING_STATES:
        return [] if is_role(lowered) else [Draft(USER, "has name", lowered, end=size)]
    if lowered in PLACES:
        return [Draft(USER, "lives in", lowered, EntityType.PLACE, end=size)]
    if lowered in ALLOWED_FLEETING_STATES:
        return [Draft(USER, "is", lowered, end=size)]
    if match := _COUNTED.match(lowered):
        no = "does not have" if match["count"] == "no" else "has"
        return [Draft(USER, no, lowered.removeprefix("no ").removeprefix("with "), end=size)]
    if match := _PARENT.match(lowered):
        return [Draft(USER, "is", match["who"], end=size)]
    return _read_place(part, size)


def _read_place(part: str, size: int) -> list[Draft]:
    """`product designer at a fintech in Rotterdam (Bunqer)`, `from Malmö`."""
    bracket = _BRACKET.search(part)
    words = _PART.match(_BRACKET.sub("", part))
    if words is None:
        return []
    role, place, prep = words["role"], words["place"], (words["prep"] or "").lower()
    if role and not is_role(role.lower()):
        return []
    found = [Draft(USER, "works as", role.lower(), EntityType.ROLE, end=size)] if role else []
    if not place:
        return found
    name, kind = _PREDICATES.get(prep, ("lives in", EntityType.PLACE))
    inside = _INSIDE.match(place)
    if name == "works at" and inside and bracket:
        place = bracket["name"]
    elif name == "works at" and inside:
        place = inside["where"]
    found.append(Draft(USER, name, place.lower(), kind, end=size))
    return found
