"""Reads `have` and `have got`: kin and animals by name, illnesses, amounts, belongings.

What belongs here: what is had, and what is only at hand. What does not: `be` (copulas).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from memory_pipeline.stages.heuristic_rules.drafts import Reading
from memory_pipeline.stages.heuristic_rules.naming import relation_in
from memory_pipeline.stages.heuristic_rules.noun_phrases import phrase_of
from memory_pipeline.stages.heuristic_rules.predicates import EMPTY_OBJECTS
from memory_pipeline.stages.heuristic_rules.readings import named_readings
from memory_pipeline.stages.heuristic_rules.verb_objects import objects_of
from memory_pipeline.stages.heuristic_rules.verbs import Chain
from memory_pipeline.stages.heuristic_rules.words import words

if TYPE_CHECKING:
    from spacy.tokens import Token

_FOODS = words("endings", "foods") | {"nuts", "eggs", "lactose", "wheat", "soy", "caffeine"}
_EATEN = _FOODS | words("endings", "drinks") | words("endings", "groceries")
_APPOINTMENTS = words("copulas", "appointments")


def read_have(chain: Chain, has_date: bool, dated: frozenset[int]) -> Iterator[Reading]:
    """Readings of `have` and `have got`: kin and animals by name, illnesses, belongings."""
    for noun in objects_of(chain.verb, dated):
        phrase = phrase_of(noun, dated)
        named = list(named_readings(noun))
        yield from named
        if phrase and not named and _is_had(chain, noun, relation_in(noun), has_date):
            no = "does not have" if chain.negated else "has"
            if chain.negated and chain.modal in {"can", "ca", "could"}:
                no = "does not eat" if phrase.text.split()[-1] in _FOODS else "cannot have"
            if measured := _measured(noun, dated):
                yield Reading(f"{no} {measured[0]} of", measured[1])
                continue
            if _is_expected(noun):
                yield Reading("is expecting", phrase.text)
                continue
            yield Reading(no, phrase.text, phrase.label, phrase.is_proper)


_AMOUNTS = words("copulas", "amounts")
_UNBORN = frozenset({"baby", "twins", "girl", "boy", "child", "triplets", "kid"})


def _measured(noun: Token, dated: frozenset[int]) -> tuple[str, str] | None:
    """`a rent budget of 1,600 euros`: what is measured, and how much it is."""
    if noun.lower_ not in _AMOUNTS:
        return None
    values = [v for c in noun.children if c.lower_ == "of" for v in c.children if v.dep_ == "pobj"]
    value = phrase_of(values[0], dated) if values else None
    if value is None or not any(c.isdigit() for c in value.text):
        return None
    before = [t.lower_ for t in noun.lefts if t.dep_ in {"compound", "nmod", "amod"}]
    return " ".join([*before, noun.lower_]), value.text


def _is_expected(noun: Token) -> bool:
    """`we've got twins on the way`."""
    return noun.lower_ in _UNBORN and "on the way" in noun.doc.text.lower()


def _is_had(chain: Chain, noun: Token, relation: str, has_date: bool) -> bool:
    word = noun.lower_
    if word in EMPTY_OBJECTS or word in _EATEN or len(word) == 1:
        return bool(chain.modal) and chain.negated and word in _FOODS
    if word in _APPOINTMENTS:
        return has_date
    if noun.pos_ not in {"NOUN", "PROPN"}:
        return False
    return chain.tense in {"present", "perfect"} or bool(relation)
