"""Degrees: `doing a masters in public health at the Open University`, `did my BA in history`.

What belongs here: subject and place of a degree. What does not: `I study X at Y` (readings).
"""

from __future__ import annotations

import re
from dataclasses import replace

from memory_pipeline.domain.extraction import EntityType
from memory_pipeline.stages.heuristic_rules.cast import USER
from memory_pipeline.stages.heuristic_rules.drafts import Draft

_DEGREE = (
    r"(?:phd|doctorate|master'?s?(?: degree)?|bachelor'?s?(?: degree)?|undergrad(?:uate degree)?|"
    r"degree|diploma|apprenticeship|ba|bsc|ma|msc|mba|llb|llm|a-levels|gcses|postgrad|course|postdoc)"
)
_NAME = r"[A-Z][\w'&.-]*(?: (?:of |for )?[A-Z][\w'&.-]*)*"
_WHERE = rf"(?: (?:at|through|with|from) (?:the )?(?P<place>{_NAME}))?"
_YEAR = (
    r"(?:(?:first|second|third|fourth|final|last|1st|2nd|3rd|4th) year of|(?:half|part)way through|"
    r"year (?:\d|one|two|three|four) of)"
)
_LEAD = (
    rf"(?:doing|do|taking|pursuing|started|starting|finishing|{_YEAR}|did|got|finished|completed|"
    r"graduated with)"
)
_KIND = r"(?:(?:part-time|full-time|online|distance|second|first|new) )*"
_ENDS = (
    r"(?!(?:at|through|with|from|and|but|so|in|last|back|on|this|which|now|while|by|for|before|"
    r"after)\b)"
)
_STUDY = re.compile(
    rf"(?P<lead>\b(?i:{_LEAD}))\s+(?i:a|an|my|the)\s+(?i:{_KIND})(?P<degree>(?i:{_DEGREE})) in "
    rf"(?P<field>[\w-]+(?: {_ENDS}[\w-]+){{0,3}}){_WHERE}"
)
_OVER = frozenset({"did", "got", "finished", "completed", "graduated with"})
_SPEAKS_OF_SELF = re.compile(
    r"^(?:I|I'm|I've|we|my)\b|^(?:first|second|third|fourth|final|last)\b", re.I
)
_EMPTY = frozenset({"it", "that", "this", "progress", "the", "a", "my", "all", "which"})


_IN_YEAR = re.compile(
    r"\bin my (?:first|second|third|fourth|fifth|final|last|1st|2nd|3rd|4th) year "
    r"(?:of|at|studying) "
    r"(?:a |an |the |my )?(?P<what>[\w&-]+(?: (?!and\b|but\b|so\b|at\b|in\b)[\w&-]+){0,2})",
    re.IGNORECASE,
)


def read_studies(text: str) -> list[Draft]:
    """What the user studies and where; both over when the degree is told as done."""
    if year := _IN_YEAR.search(text):
        what = year["what"]
        is_place = what[0].isupper() or what.lower().endswith(("school", "university", "college"))
        name, kind = ("studies at", EntityType.ORG) if is_place else ("studies", EntityType.TOPIC)
        return [Draft(USER, name, what.lower(), kind, start=year.start(), end=year.end())]
    match = _STUDY.search(text)
    if match is None or not _SPEAKS_OF_SELF.match(text):
        return []
    field = match["field"].lower()
    if field.split()[0] in _EMPTY:
        return []
    over = match["lead"].lower() in _OVER
    draft = Draft(USER, "studies", field, EntityType.TOPIC, start=match.start(), end=match.end())
    found = [replace(draft, is_history=over)]
    if match["place"]:
        place = replace(draft, predicate="studies at", object=match["place"].lower().strip(" ."))
        found.append(replace(place, type=EntityType.ORG, is_history=over))
    return found
