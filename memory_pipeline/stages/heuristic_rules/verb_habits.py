"""Readings of what people like, do, prefer and go to: habits without a plain object.

What belongs here: gerunds, intransitive habits, `would rather`. What does not: verbs with objects
(readings).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from memory_pipeline.stages.heuristic_rules.clauses import Tense
from memory_pipeline.stages.heuristic_rules.drafts import Reading, reading_of
from memory_pipeline.stages.heuristic_rules.noun_phrases import conjuncts, phrase_of
from memory_pipeline.stages.heuristic_rules.predicates import third_person
from memory_pipeline.stages.heuristic_rules.verb_objects import Arguments, activity
from memory_pipeline.stages.heuristic_rules.verbs import Chain, lemma_of
from memory_pipeline.stages.heuristic_rules.words import words

if TYPE_CHECKING:
    from spacy.tokens import Token

_NEEDS_OBJECT = words("verb_habits", "needs_object")
_EMPTY_ACTIVITIES = words("verb_habits", "empty_activities")
_VENUES = words("verb_habits", "venues")
# What is understood when these verbs come without an object.
UNDERSTOOD = {"drink": "alcohol", "drive": "car", "smoke": "cigarettes"}
_HABITS = words("verb_habits", "habits")


def read_liking(chain: Chain, dated: frozenset[int]) -> Iterator[Reading]:
    """`loves hiking and playing chess` as one reading an activity."""
    verbs = conjuncts(chain.verb) if chain.verb.tag_ == "VBG" else [chain.verb]
    listed = [c for c in chain.verb.children if c.dep_ == "conj" and c.tag_ == "VBG"]
    for verb in [*verbs, *(c for c in listed if c not in verbs)]:
        said = activity(verb, dated)
        if not says_too_little(said, verb) and said.split()[0] not in _EMPTY_ACTIVITIES:
            yield Reading(chain.likes, said)


def says_too_little(said: str, verb: Token) -> bool:
    """Whether an activity has lost the object that its verb cannot do without (`making`)."""
    return len(said.split()) == 1 and verb.lemma_.lower() in _NEEDS_OBJECT


def read_preferring(arguments: Arguments) -> Iterator[Reading]:
    """`I'd rather have tea`."""
    if any(c.lower_ == "rather" for c in arguments.chain.verb.children):
        for noun in arguments.nouns:
            if phrase := phrase_of(noun, arguments.dated):
                yield reading_of("prefers", phrase)


def read_going(arguments: Arguments) -> Iterator[Reading]:
    """Where somebody goes as a rule: to a named school, to church, to the gym."""
    name = "does not go to" if arguments.chain.negated else "goes to"
    is_over = arguments.chain.is_ended
    for prep, nouns in arguments.preps:
        for noun in nouns if prep == "to" else []:
            phrase = phrase_of(noun, arguments.dated)
            if phrase and (phrase.is_proper or noun.lower_ in _VENUES or is_over):
                yield reading_of(name, phrase)


def read_habit(chain: Chain, dated: frozenset[int]) -> Iterator[Reading]:
    """`I swim`, `I don't drink`: verbs that say a habit without an object."""
    lemma = lemma_of(chain.verb)
    if lemma not in _HABITS or chain.wants or chain.tense in {Tense.PAST, Tense.FUTURE}:
        return
    if lemma in UNDERSTOOD:
        name = f"does not {lemma}" if chain.negated else third_person(lemma)
        yield Reading(name, UNDERSTOOD[lemma], is_general=True)
        return
    name = "does not do" if chain.negated else "does"
    yield Reading(name, activity(chain.verb, dated), is_general=True)
