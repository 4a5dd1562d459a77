"""A profile without a model: the facts as plain sentences (spec P2 in the keyless tier).

Belongs here: order, grouping and cutting of such sentences. Does not: saying that no model wrote
them (whoever shows a profile, by `is_extractive`).
"""

from collections.abc import Iterator, Sequence
from itertools import groupby

from memory_pipeline.domain.claim import USER
from memory_pipeline.domain.extraction import MemoryCategory
from memory_pipeline.domain.ids import FactId
from memory_pipeline.domain.profile import (
    DroppedSentence,
    GroundFact,
    Grounding,
    Profile,
    Sentence,
)
from memory_pipeline.stages.fields import cut
from memory_pipeline.stages.profile_lines import FACT_CHARS, shown_period
from memory_pipeline.stages.sanitise import sanitise_line

_CATEGORY_ORDER = (MemoryCategory.IDENTITY, MemoryCategory.KNOWLEDGE, MemoryCategory.CONTEXT)


def cut_sentences(
    sentences: Sequence[Sentence], limit: int
) -> tuple[list[Sentence], list[DroppedSentence]]:
    """The first sentences that fit, and those from the first one on that does not."""
    length = -1
    for place, sentence in enumerate(sentences):
        length += 1 + len(sentence.text)
        if length > limit:
            reason = f"the profile would be longer than {limit} characters"
            beyond = [DroppedSentence(later.text, reason) for later in sentences[place:]]
            return list(sentences[:place]), beyond
    return list(sentences), []


def extractive_profile(grounding: Grounding, limit: int) -> Profile:
    """The facts as plain sentences: who it is first, what is planned last, the newest first.

    Facts that differ in their object alone share a sentence. At most `limit` characters.
    """
    newest_first = sorted(grounding.facts, key=lambda f: (f.known_from, f.predicate), reverse=True)
    ranked = sorted(newest_first, key=lambda fact: _rank(fact, grounding))
    sentences = [
        Sentence(cut(_sentence(group, grounding), limit), _ids(group))
        for group in _grouped(ranked, grounding)
    ]
    fitting, beyond = cut_sentences(sentences, limit)
    return Profile(tuple(fitting), tuple(beyond), is_extractive=True)


def _rank(fact: GroundFact, grounding: Grounding) -> tuple[bool, int]:
    return fact.begins_after(grounding.at), _CATEGORY_ORDER.index(fact.memory_category)


def _grouped(facts: Sequence[GroundFact], grounding: Grounding) -> Iterator[list[GroundFact]]:
    """Facts of one subject, predicate and period together, at the place of the first."""

    def key(fact: GroundFact) -> tuple[str, str, str]:
        return fact.subject, fact.predicate, shown_period(fact, grounding)

    first = {key(fact): place for place, fact in reversed(list(enumerate(facts)))}
    together = sorted(facts, key=lambda fact: first[key(fact)])
    for _, group in groupby(together, key=key):
        yield list(group)


def _sentence(facts: Sequence[GroundFact], grounding: Grounding) -> str:
    objects = [sanitise_line(fact.object, FACT_CHARS) for fact in facts]
    listed_objects = " and ".join(filter(None, (", ".join(objects[:-1]), objects[-1])))
    subject = "the user" if facts[0].subject == USER else facts[0].subject
    said = sanitise_line(f"{subject} {facts[0].predicate} {listed_objects}", 10 * FACT_CHARS)
    period = shown_period(facts[0], grounding)
    return f"{said[:1].upper()}{said[1:]}{f' ({period})' if period else ''}."


def _ids(facts: Sequence[GroundFact]) -> tuple[FactId, ...]:
    return tuple(sorted((fact.fact_id for fact in facts), key=str))
