"""Other names of somebody: `everybody calls her Pri`, `known as Mags`.

What belongs here: the sayings that give one, and whose it is. What does not: names told for the
first time (naming_clauses), and what the user wants to be called (instructions).
"""

from __future__ import annotations

import re
from dataclasses import replace

from memory_pipeline.stages.heuristic_rules.cast import USER, Cast
from memory_pipeline.stages.heuristic_rules.drafts import Draft

PREDICATE = "is also called"
_NAME = r"(?P<alias>[A-Z][\w'-]*(?: [A-Z][\w'-]*)?)"
_CALLERS = (
    r"(?:everybody|everyone|people|they|we|I|friends|most people|(?:the|my|our|her|his) [\w-]+(?: "
    r"at work)?)"
)
_CALLED = re.compile(
    rf"\b(?i:{_CALLERS} (?:all |just |mostly |usually |always )*calls?) "
    rf"(?P<whom>(?i:him|her|them|it)|[A-Z]\w+(?: [A-Z]\w+)?) {_NAME}(?! calls?\b)"
)
_KNOWN_AS = re.compile(
    rf"(?:,| and| but|\bis|\bare|'s)\s*(?i:(?:also |better |otherwise )*(?:known (?:to \w+ )?as|"
    rf"nicknamed|goes by|going by|aka|a\.k\.a\.)) {_NAME}"
)
_SHORTENED = re.compile(
    rf"\b(?P<whom>[A-Z]\w+),? (?i:or|alias|aka) {_NAME}(?i: for short| to (?:us|me|her|his) )"
)


def read_aliases(text: str, cast: Cast) -> list[Draft]:
    """(priyanka raman, is also called, pri) for people whose own name is known."""
    found = []
    for pattern in (_CALLED, _KNOWN_AS, _SHORTENED):
        for match in pattern.finditer(text):
            whom = match.groupdict().get("whom") or ""
            person = _person(whom, text[: match.start()], cast)
            alias = match["alias"].lower()
            if person and person != USER and alias not in {person, "i"}:
                draft = Draft(person, PREDICATE, alias, start=match.start(), end=match.end())
                found.append(replace(draft, is_undated=True))
    for draft in found:
        cast.add_alias(draft.object, draft.subject)
    return found


def _person(whom: str, before: str, cast: Cast) -> str | None:
    if whom[:1].isupper() and whom.lower() not in {"him", "her", "them", "it"}:
        return cast.linked_name(whom.lower())
    if whom:
        link = cast.person_for("they" if whom.lower() in {"it", "them"} else whom.lower())
    else:
        link = cast.last_named(before.lower())
    return link.name if link and link.is_named else None
