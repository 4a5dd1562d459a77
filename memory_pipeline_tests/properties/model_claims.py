"""Candidates as the rules read them: guards, dates, equal claims of one episode as one.

Belongs here: spec X3, X6, X7, the batch part of D1, D2, D4, and what tells statements apart (D3).
Does not: what claims do to facts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from memory_pipeline_tests.properties.histories import Candidate, Episode
from memory_pipeline_tests.properties.model import FIRST, LAST, Memory

SURE = 0.5


@dataclass(frozen=True)
class Said:
    """A candidate that passed the guards, with its dates read."""

    place: int
    candidate: Candidate
    said_at: datetime
    start: datetime
    end: datetime
    has_stated_start: bool
    confidence: float

    @property
    def triple(self) -> tuple[str, str, str]:
        return (self.candidate.subject, self.candidate.predicate, self.candidate.object)

    @property
    def is_sure(self) -> bool:
        return self.confidence >= SURE

    @property
    def has_end(self) -> bool:
        return self.end != LAST

    @property
    def is_history(self) -> bool:
        return self.end <= self.said_at


def guarded(episode: Episode, memory: Memory) -> list[Said]:
    """The claims of an episode that are dated, no loops, and about the user's world."""
    dated = [
        said
        for place, candidate in enumerate(episode.candidates)
        if candidate.subject != candidate.object
        and (said := _dated(place, candidate, episode.said_at(place))) is not None
    ]
    edges = [(s.candidate.subject, s.candidate.object) for s in dated if s.candidate.is_edge]
    # What memory knows may be linked; the plan, which sees all links, withdraws what is not.
    edges += [("user", f.subject) for f in memory.facts]
    edges += [("user", f.object) for f in memory.facts if f.is_edge]
    linked = reached_from_user(edges)
    return [said for said in dated if said.candidate.subject in linked]


def reached_from_user(edges: Sequence[tuple[str, str]]) -> set[str]:
    """Names that a chain of links leads to; a link to the user leads from the user too."""
    ways = [*edges, *(("user", source) for source, target in edges if target == "user")]
    reached = {"user"}
    while more := {target for source, target in ways if source in reached} - reached:
        reached |= more
    return reached


def _dated(place: int, candidate: Candidate, said_at: datetime) -> Said | None:
    """The candidate with its bounds by X7; None where it would end before it begins (X6)."""
    start, end = _day(candidate.valid_from), _day(candidate.valid_until)
    has_stated_start = start is not None
    if start is None:
        start = FIRST if end is not None and end <= said_at else said_at
    elif start.date() == said_at.date():
        start = said_at
    if end is not None and end <= start:
        return None
    return Said(
        place, candidate, said_at, start, end or LAST, has_stated_start, candidate.confidence
    )


def _day(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text).replace(tzinfo=UTC)


def merged(claims: list[Said]) -> list[Said]:
    """Equal claims of one stay as one (D1, D4); an unsure ending spoils no sure claim (D2)."""
    sure = [said for said in claims if said.is_sure and not said.has_end]
    left = [
        said
        for said in claims
        if said.is_sure or not said.has_end or not any(_is_one_stay(said, s) for s in sure)
    ]
    while True:
        joined: list[Said] = []
        for said in left:
            twin = next((other for other in joined if _is_one_stay(other, said)), None)
            if twin is None:
                joined.append(said)
            else:
                joined[joined.index(twin)] = _join(twin, said)
        if len(joined) == len(left):
            return joined
        left = joined


def _is_one_stay(one: Said, other: Said) -> bool:
    """Equal triples whose times meet. Without any stated start an end is the other's end (D1)."""
    if one.triple != other.triple:
        return False
    return not (is_later_stay(one, other) or is_later_stay(other, one))


def is_later_stay(later: Said, earlier: Said) -> bool:
    """Whether one claim states that it begins at or behind the end that the other states (D4)."""
    is_dated = later.has_stated_start or earlier.has_stated_start
    return is_dated and earlier.has_end and later.start >= earlier.end


def _join(one: Said, other: Said) -> Said:
    """What is stated wins over what is assumed, then what was said first; ends as sure as said."""
    start = next((s.start for s in (one, other) if s.has_stated_start), one.start)
    end = next((s.end for s in (one, other) if s.has_end), LAST)
    sources = [s for s in (one, other) if s.has_end] or [one, other]
    return replace(
        one,
        start=FIRST if start >= end else start,
        end=end,
        has_stated_start=one.has_stated_start or other.has_stated_start,
        confidence=max(s.confidence for s in sources),
        said_at=max(one.said_at, other.said_at),
    )


def differ(one: tuple[str, str, str], other: tuple[str, str, str]) -> bool:
    """Whether two statements can't be one however near their vectors are (D3)."""
    has_same_object = one[2] == other[2]
    return (
        (one[1] == other[1] and not has_same_object)
        or (not has_same_object and (_is_thing(one) or _is_thing(other)))
        or ("dislikes" in one[1]) != ("dislikes" in other[1])
        or _digits(one[2]) != _digits(other[2])
    )


def _is_thing(triple: tuple[str, str, str]) -> bool:
    return Candidate(*triple).is_edge


def _digits(text: str) -> str:
    return "".join(char for char in text if char.isdigit())
