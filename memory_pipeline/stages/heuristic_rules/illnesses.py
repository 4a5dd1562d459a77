"""Illnesses that possession tells: `my migraines are back`, `because of my asthma`.

What belongs here: the closed list and whose illness it is. What does not: `I have asthma`
(copulas).
"""

from __future__ import annotations

import re

from memory_pipeline.stages.heuristic_rules.cast import USER
from memory_pipeline.stages.heuristic_rules.drafts import Draft
from memory_pipeline.stages.heuristic_rules.words import words

_ILLNESS = "|".join(sorted(words("illnesses", "names"), key=len, reverse=True)).replace("_", " ")
_MINE = re.compile(
    rf"\bmy (?:(?:bad|chronic|seasonal|mild|severe|stupid|damn|bloody|usual|old) )*"
    rf"(?P<name>{_ILLNESS})\b(?!['\u2019])",
    re.IGNORECASE,
)
_GONE = re.compile(r"\b(?:gone|cured|in remission|cleared up|went away)\b", re.IGNORECASE)


def read_illnesses(text: str) -> list[Draft]:
    """(user, has, migraines) for every illness of the list that the user calls theirs."""
    if _GONE.search(text):
        return []
    return [
        Draft(USER, "has", m["name"].lower(), start=m.start(), end=m.end(), is_undated=True)
        for m in _MINE.finditer(text)
    ]
