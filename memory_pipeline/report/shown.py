"""Which facts a page has room for, grouped by what they are about; what is left out is counted.

Belongs here: grouping versions to facts and facts to subjects, the order and the limits.
Does not: wording and drawing.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from uuid import UUID

from memory_pipeline.domain.fact import FactStatus, start_of
from memory_pipeline.reading.facts import FactRow

MAX_FACTS = 1200
"""Facts drawn in one page: about 1.5 MB, which a phone still scrolls well."""

_GROUPED_FROM = 80
"""Facts of one subject from which a list is too long to be read at a stretch."""
_OWN_GROUP_FROM = 3
"""Facts of one predicate that are worth a group of their own."""
_REST = "all else"

INSIGHT_SUBJECT, INSIGHT_PREDICATE = "graph observations", "observes"

_CURRENT = {FactStatus.LIVE: 0, FactStatus.FUTURE: 0}


@dataclass(frozen=True)
class ShownFact:
    """A fact with all its versions, the oldest first; the last one tells how it stands."""

    versions: tuple[FactRow, ...]

    @property
    def last(self) -> FactRow:
        """The version that stands, or stood last."""
        return self.versions[-1]

    @property
    def is_current(self) -> bool:
        """Whether it holds or will."""
        return self.last.status in _CURRENT

    @property
    def is_insight(self) -> bool:
        """Whether memory itself concluded it."""
        return (self.last.subject, self.last.predicate) == (INSIGHT_SUBJECT, INSIGHT_PREDICATE)


@dataclass(frozen=True)
class Group:
    """Facts of one subject that belong together."""

    title: str
    facts: tuple[ShownFact, ...]


@dataclass(frozen=True)
class Subject:
    """What the page shows of one thing; `left_out` counts its facts that had no room."""

    name: str
    facts: tuple[ShownFact, ...]
    left_out: int

    @property
    def shown(self) -> int:
        """How many facts are shown."""
        return len(self.facts)

    @property
    def groups(self) -> tuple[Group, ...]:
        """The facts by predicate where there are many, rare predicates together at the end."""
        if len(self.facts) < _GROUPED_FROM:
            return (Group(_REST, self.facts),)
        sizes = Counter(fact.last.predicate for fact in self.facts)
        groups: dict[str, list[ShownFact]] = {}
        rest: list[ShownFact] = []
        for fact in self.facts:
            name = fact.last.predicate
            is_own = sizes[name] >= _OWN_GROUP_FROM
            (groups.setdefault(name, []) if is_own else rest).append(fact)
        last = [Group(_REST, tuple(rest))] if rest else []
        return (*(Group(name, tuple(facts)) for name, facts in groups.items()), *last)


@dataclass(frozen=True)
class Selection:
    """What the page shows of all facts. `total` and `left_out` count facts by status."""

    subjects: tuple[Subject, ...]
    insights: tuple[ShownFact, ...]
    total: Counter[FactStatus]
    left_out: Counter[FactStatus]


def select_facts(rows: Sequence[FactRow], max_facts: int = MAX_FACTS) -> Selection:
    """Facts in reading order; where there is not room for all, what holds comes first, then the
    history that memory learnt last. Insights are apart and in no count here."""
    every = facts_of(rows)
    insights = tuple(
        sorted(
            (fact for fact in every if fact.is_insight),
            key=lambda fact: (not fact.is_current, fact.last.object),
        )
    )
    facts = [fact for fact in every if not fact.is_insight]
    kept = set(_ids(sorted(facts, key=_importance)[:max_facts]))
    return Selection(
        subjects=_subjects(facts, kept),
        insights=insights,
        total=Counter(fact.last.status for fact in facts),
        left_out=Counter(fact.last.status for fact in facts if fact.last.fact_id not in kept),
    )


def facts_of(rows: Sequence[FactRow]) -> list[ShownFact]:
    """Versions put together to facts, in the order of the rows."""
    versions: dict[UUID, list[FactRow]] = defaultdict(list)
    for row in rows:
        versions[row.fact_id].append(row)
    return [
        ShownFact(tuple(sorted(group, key=lambda row: row.known_from)))
        for group in versions.values()
    ]


def _ids(facts: Sequence[ShownFact]) -> list[UUID]:
    return [fact.last.fact_id for fact in facts]


def _importance(fact: ShownFact) -> tuple[bool, float, UUID]:
    return (not fact.is_current, -fact.last.known_from.timestamp(), fact.last.fact_id)


def _subjects(facts: Sequence[ShownFact], kept: set[UUID]) -> tuple[Subject, ...]:
    """The user first, then those of whom most is shown."""
    ordered = sorted(facts, key=lambda fact: fact.last.subject)
    groups = [(name, list(group)) for name, group in groupby(ordered, lambda f: f.last.subject)]
    subjects = [
        Subject(
            name=name,
            facts=tuple(sorted((f for f in group if f.last.fact_id in kept), key=_reading_order)),
            left_out=sum(fact.last.fact_id not in kept for fact in group),
        )
        for name, group in groups
    ]
    return tuple(
        sorted(
            (subject for subject in subjects if subject.facts),
            key=lambda subject: (subject.name != "user", -len(subject.facts), subject.name),
        )
    )


def _reading_order(fact: ShownFact) -> tuple[str, float, str, UUID]:
    """Facts of one kind stand together as they followed each other."""
    row = fact.last
    since = start_of(row.valid_from or fact.versions[0].known_from)
    return (row.predicate, since.timestamp(), row.object, row.fact_id)
