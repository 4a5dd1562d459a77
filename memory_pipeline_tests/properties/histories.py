"""Made-up conversation histories as values: what is said when, and what models answer to it.

Belongs here: the few words histories are made of, strategies. Does not: the doubles that answer
(doubles) and what must come out (model).
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from memory_pipeline.domain.changes import Verdict

THINGS = {"acme": "ORG", "carla": "PERSON", "oslo": "PLACE"}
"""The named things of the histories and their types."""

PREDICATES = ("likes", "works at", "dislikes")
VALUES = ("red", "7 kg", "8 kg")
_MONTHS = range(-4, 11)
_WORDS = ("amber", "basil", "cedar", "delta", "ember", "fjord", "grove", "heron")
THRESHOLDS = (0.95, 0.80)
"""Duplicate and band low of an unmeasured embedding model."""

_LEVEL_COSINES = (0.0, 0.995, 0.9)
"""How near a statement lies to its theme: on its own, all but equal, in the band."""


def noon(month: int) -> datetime:
    """The instant at which episodes of a month begin; months are counted from 2024."""
    return datetime(2024 + month // 12, month % 12 + 1, 10, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Candidate:
    """A fact as an extractor words it; dates are `YYYY-MM-DD`, None = not said."""

    subject: str
    predicate: str
    object: str
    confidence: float = 0.9
    valid_from: str | None = None
    valid_until: str | None = None

    @property
    def is_edge(self) -> bool:
        return self.object in THINGS or self.object == "user"

    @property
    def statement(self) -> str:
        return f"{self.subject} {self.predicate} {self.object}"


@dataclass(frozen=True)
class Episode:
    """One window of a thread: each candidate is said in a message of its own, a minute apart."""

    month: int
    thread: int
    candidates: tuple[Candidate, ...]

    def said_at(self, place: int) -> datetime:
        return noon(self.month) + timedelta(minutes=place)

    @property
    def ended_at(self) -> datetime:
        return self.said_at(len(self.candidates) - 1)

    @property
    def thread_name(self) -> str:
        return f"t{self.thread}"

    def quote(self, place: int) -> str:
        return f"the {_WORDS[place]} story goes like this"


@dataclass(frozen=True)
class Answer:
    """A verdict on any pair that falls to it."""

    verdict: Verdict = Verdict.NEITHER
    is_correction: bool = False


@dataclass(frozen=True)
class History:
    """Episodes in position order, and all that is asked about them.

    `themes` puts statements near each other: (theme, level) by statement, see `cosine`.
    """

    episodes: tuple[Episode, ...]
    answers: tuple[Answer, ...] = (Answer(),)
    themes: tuple[tuple[str, int, int], ...] = ()

    def answer(
        self, said_at: datetime, claim: str, fact: str, fact_start: datetime | None
    ) -> Answer:
        """The verdict on a claim (its statement) against a fact; depends on nothing else."""
        start = "-" if fact_start is None else fact_start.astimezone(UTC).isoformat()
        key = "|".join((said_at.astimezone(UTC).isoformat(), claim, fact, start))
        number = int.from_bytes(hashlib.sha256(key.encode()).digest()[:4])
        return self.answers[number % len(self.answers)]

    def nearness(self, statement: str) -> tuple[int, float]:
        """The theme of a statement and its cosine to it."""
        for known, theme, level in self.themes:
            if known == statement:
                return theme, _LEVEL_COSINES[level]
        return 0, 0.0

    def cosine(self, one: str, other: str) -> float:
        """Cosine of two statements' vectors."""
        if one == other:
            return 1.0
        (theme, near), (other_theme, other_near) = self.nearness(one), self.nearness(other)
        return near * other_near if theme == other_theme else 0.0


def _day(month: int) -> str:
    return noon(month).date().isoformat()


@dataclass(frozen=True)
class World:
    """What may be said of what: few words, so that claims meet."""

    subjects: tuple[str, ...]
    predicates: tuple[str, ...]
    objects: tuple[str, ...]


WIDE = World(("user", "user", *THINGS), PREDICATES, (*THINGS, *VALUES, "user"))
SLOTS = World(("user",), PREDICATES[:2], ("acme", "carla", "red"))
STAYS = World(("user",), ("likes", "works at"), ("acme",))
CHAINS = World(("user", *THINGS), ("likes",), (*THINGS, "red"))
WORDINGS = World(("user",), PREDICATES, ("acme", "7 kg", "8 kg"))
_WORLDS = (SLOTS, STAYS, CHAINS, WORDINGS, WIDE)

_days = st.none() | st.sampled_from(_MONTHS).map(_day)
_confidences = st.sampled_from((0.9, 0.9, 0.9, 0.7, 0.3))
_verdicts = st.sampled_from((Verdict.NEITHER, Verdict.OLD, Verdict.OLD, Verdict.OLD, Verdict.NEW))
_answers = st.lists(st.builds(Answer, _verdicts, st.booleans()), min_size=1, max_size=6).map(tuple)


def candidates(world: World) -> st.SearchStrategy[Candidate]:
    """Candidates of a world: dated or not, sure or not."""
    return st.builds(
        Candidate,
        subject=st.sampled_from(world.subjects),
        predicate=st.sampled_from(world.predicates),
        object=st.sampled_from(world.objects),
        confidence=_confidences,
        valid_from=st.none() | _days,
        valid_until=st.none() | _days,
    )


@st.composite
def histories(draw: st.DrawFn, worlds: Sequence[World] = _WORLDS, most: int = 6) -> History:
    """Histories of a few short episodes in up to three threads, some at one instant."""
    places = draw(
        st.lists(
            st.tuples(st.integers(0, 6), st.integers(0, 2)), min_size=2, max_size=most, unique=True
        )
    )
    said = candidates(draw(st.sampled_from(worlds)))
    lines = draw(
        st.lists(st.lists(said, min_size=1, max_size=4), min_size=len(places), max_size=len(places))
    )
    episodes = [
        # Guards number relationships before values.
        Episode(month, thread, tuple(sorted(told, key=lambda candidate: not candidate.is_edge)))
        for (month, thread), told in zip(places, lines, strict=True)
    ]
    statements = sorted({c.statement for e in episodes for c in e.candidates})
    levels = st.tuples(st.integers(0, 1), st.integers(0, 2))
    themes = tuple((statement, *draw(levels)) for statement in statements)
    in_order = sorted(episodes, key=lambda e: (e.ended_at, e.thread_name))
    return History(tuple(in_order), draw(_answers), themes)
