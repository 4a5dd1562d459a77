"""What memory should hold, as plainly as the specification words it: lists and loops.

Belongs here: facts with their versions, reads at any point in both times. Does not: reading
candidates (model_claims), what they do to facts (model_fold), and any code of the product.
"""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Literal

FIRST = datetime.min.replace(tzinfo=UTC)
LAST = datetime.max.replace(tzinfo=UTC)
"""Ends of time, so that unbounded periods compare."""

Ending = Literal["stated", "superseded", "cascade"]
Identity = tuple[str, datetime | None, datetime]
"""What tells a fact from others without ids: its words, first start and first instant."""


@dataclass(frozen=True)
class Belief:
    """What a version says: when the fact holds, and why it ends then."""

    start: datetime
    end: datetime
    has_stated_start: bool
    ending: Ending | None = None
    ended_by: int | None = None
    heir: "Fact | None" = None

    def holds_at(self, valid_at: datetime) -> bool:
        return self.start <= valid_at < self.end


@dataclass(frozen=True)
class Version:
    """A belief with the time in which it was held."""

    belief: Belief
    known_from: datetime
    known_until: datetime = LAST

    def is_known_at(self, known_at: datetime | None) -> bool:
        if known_at is None:
            return self.known_until == LAST
        return self.known_from <= known_at < self.known_until


@dataclass(eq=False)
class Fact:
    """A fact with all its versions, the last one last."""

    subject: str
    predicate: str
    object: str
    is_edge: bool
    confidence: float
    versions: list[Version] = field(default_factory=list)

    @property
    def triple(self) -> tuple[str, str, str]:
        return (self.subject, self.predicate, self.object)

    @property
    def statement(self) -> str:
        return " ".join(self.triple)

    @property
    def now(self) -> Belief:
        return self.versions[-1].belief

    @property
    def is_believed(self) -> bool:
        return self.versions[-1].known_until == LAST

    @property
    def identity(self) -> Identity:
        first = self.versions[0]
        return (self.statement, _bound(first.belief.start), first.known_from)


@dataclass
class Memory:
    """All facts ever believed, and the last known instant."""

    facts: list[Fact] = field(default_factory=list)
    last_known: datetime = FIRST

    def next_known(self, ended_at: datetime) -> datetime:
        """The known instant of the next episode."""
        if self.last_known == FIRST:
            self.last_known = ended_at
        else:
            self.last_known = max(ended_at, self.last_known + timedelta(microseconds=1))
        return self.last_known

    def believed(self) -> list[Fact]:
        return [fact for fact in self.facts if fact.is_believed]

    def live(self, at: datetime) -> list[Fact]:
        """Believed and not ended; future facts count."""
        return [fact for fact in self.believed() if fact.now.end > at]

    def revise(self, fact: Fact, belief: Belief | None, known_at: datetime) -> None:
        """Believe this of the fact from now on; None = believe the fact no more (W4)."""
        if belief == fact.now:
            return
        fact.versions[-1] = replace(fact.versions[-1], known_until=known_at)
        if belief is not None:
            fact.versions.append(Version(belief, known_at))

    def history(self) -> list[tuple[object, ...]]:
        """Every version ever believed, sorted: words, periods, successor."""
        lines = (
            self._line(fact, version, is_dropped=_is_dropped(fact, version))
            for fact in self.facts
            for version in fact.versions
        )
        return sorted(lines, key=repr)

    def as_of(self, valid_at: datetime, known_at: datetime | None) -> list[tuple[object, ...]]:
        """What a read at this point shows, in the same form."""
        lines = (
            self._line(fact, version)
            for fact in self.facts
            for version in fact.versions
            if version.is_known_at(known_at) and version.belief.holds_at(valid_at)
        )
        return sorted(lines, key=repr)

    def _line(
        self, fact: Fact, version: Version, *, is_dropped: bool = False
    ) -> tuple[object, ...]:
        heir = version.belief.heir
        return (
            *fact.triple,
            fact.is_edge,
            _bound(version.belief.start),
            _bound(version.belief.end),
            version.known_from,
            _bound(version.known_until),
            fact.confidence,
            heir.identity if heir is not None and not is_dropped else None,
        )


def _is_dropped(fact: Fact, version: Version) -> bool:
    """Whether the fact is believed no more and this was its last version."""
    return version is fact.versions[-1] and version.known_until != LAST


def _bound(instant: datetime) -> datetime | None:
    return None if instant in (FIRST, LAST) else instant
