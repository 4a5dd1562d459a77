"""Profiles of entities: what one is made from and what it says, sentence by sentence (spec P1, P2).

Belongs here: the values and what follows from periods. Does not: wording and checking sentences
(stages/profile), storing (adapters/profile_store).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from memory_pipeline.domain.extraction import EntityType, MemoryCategory
from memory_pipeline.domain.fact import FIRST_INSTANT, end_of, start_of
from memory_pipeline.domain.ids import EntityId, FactId


@dataclass(frozen=True, slots=True)
class GroundFact:
    """A fact that a profile may be built on; periods are half-open, None = unbounded.

    `quote` is what was said, empty where it is not known.
    """

    fact_id: FactId
    subject: str
    predicate: str
    object: str
    valid_from: datetime | None
    valid_until: datetime | None
    known_from: datetime
    has_stated_start: bool = False
    quote: str = ""
    memory_category: MemoryCategory = MemoryCategory.CONTEXT

    def begins_after(self, at: datetime) -> bool:
        """Whether the fact lies ahead of an instant."""
        return start_of(self.valid_from) > at


@dataclass(frozen=True, slots=True)
class Grounding:
    """What memory holds about one entity at an instant: facts that have not ended, oldest first.

    `user_names` mean the user; `aliases` are other names of the entity.
    """

    entity_id: EntityId
    name: str
    type: EntityType
    facts: tuple[GroundFact, ...]
    at: datetime
    aliases: tuple[str, ...] = ()
    user_names: tuple[str, ...] = ()

    def as_of(self) -> datetime:
        """The latest instant at which anything shown changed: equal facts, equal instant.

        Between it and `at` nothing begins, ends or becomes known, so what is true of the one is
        true of the other. A profile asked for "today" would be asked for anew every day.
        """
        borders = [edge for fact in self.facts for edge in _borders(fact)]
        passed = [edge for edge in borders if edge <= self.at]
        return max([*passed, *(min(f.known_from, self.at) for f in self.facts)], default=self.at)

    def holds_until(self) -> datetime | None:
        """The next instant at which a fact shown begins or ends by itself; None if none does."""
        ahead = [edge for fact in self.facts for edge in _borders(fact) if edge > self.at]
        return min(ahead, default=None)


def _borders(fact: GroundFact) -> Iterator[datetime]:
    if fact.valid_from is not None and start_of(fact.valid_from) > FIRST_INSTANT:
        yield fact.valid_from
    if fact.valid_until is not None:
        yield end_of(fact.valid_until)


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence with the facts that it stands on."""

    text: str
    fact_ids: tuple[FactId, ...]


@dataclass(frozen=True, slots=True)
class DroppedSentence:
    """A sentence that was left out, and why."""

    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class Profile:
    """A paragraph about one entity; every sentence cites facts that say it.

    `is_extractive`: put together from the facts themselves, without a model.
    """

    sentences: tuple[Sentence, ...]
    dropped: tuple[DroppedSentence, ...] = ()
    is_extractive: bool = False

    @property
    def text(self) -> str:
        """The paragraph."""
        return " ".join(sentence.text for sentence in self.sentences)

    def spans(self) -> Iterator[tuple[int, int, Sentence]]:
        """Each sentence with where it starts and ends in `text`."""
        start = 0
        for sentence in self.sentences:
            end = start + len(sentence.text)
            yield start, end, sentence
            start = end + 1

    def cited(self) -> tuple[FactId, ...]:
        """The facts that some sentence stands on, each once."""
        return tuple(dict.fromkeys(i for sentence in self.sentences for i in sentence.fact_ids))
