"""Decides whether what a clause says outlasts the day.

What belongs here: tense, mood and closed lists of verbs. What does not: gates on whole sentences.
"""

from __future__ import annotations

from memory_pipeline.stages.heuristic_rules import predicates
from memory_pipeline.stages.heuristic_rules.clauses import Tense
from memory_pipeline.stages.heuristic_rules.drafts import Reading
from memory_pipeline.stages.heuristic_rules.verbs import Chain, is_passive, lemma_of
from memory_pipeline.stages.heuristic_rules.words import words

_ABILITIES = words("durability", "abilities")
_TASKS = words("durability", "tasks")
_HABIT_VERBS = words("durability", "habit_verbs")
_LASTING_PASSIVES = words("durability", "lasting_passives")


def is_durable(reading: Reading, chain: Chain, has_date: bool, marker: bool) -> bool:
    """Whether a reading of a chain lasts; `marker`: a habit word stands in the sentence."""
    if chain.is_ended or chain.is_history or chain.wants:
        return True
    if chain.likes:
        return chain.tense != Tense.PAST
    if reading.predicate == "has visited":
        return chain.tense == Tense.PERFECT or (
            chain.tense == Tense.PAST and reading.is_proper and reading.label in {"GPE", "LOC"}
        )
    return _lasts_in_tense(reading, chain, has_date, marker)


def _is_task(reading: Reading, chain: Chain) -> bool:
    """`I'm writing an email`: done with in a day."""
    words_of_it = reading.object.split()
    return chain.tense != Tense.PRESENT and bool(words_of_it) and words_of_it[-1] in _TASKS


def _lasts_in_tense(reading: Reading, chain: Chain, has_date: bool, marker: bool) -> bool:
    lemma = lemma_of(chain.verb)
    if chain.tense == Tense.PAST:
        return reading.after is not None or lemma in predicates.LASTING_EVENTS
    if chain.tense == Tense.PROGRESSIVE and chain.is_started:
        return True
    if not reading.is_general:
        is_planned = reading.after == "state"
        return (
            chain.tense != Tense.PROGRESSIVE
            or is_planned
            or lemma not in predicates.FLEETING_PROGRESSIVE
        )
    if _is_task(reading, chain):
        return False
    return _general_lasts(lemma, chain, has_date, marker)


def _general_lasts(lemma: str, chain: Chain, has_date: bool, marker: bool) -> bool:
    """For verbs that no table knows."""
    if chain.modal in {"can", "ca", "could"}:
        return lemma in _ABILITIES
    if chain.tense == Tense.PERFECT and chain.verb.tag_ != "VBG":
        return lemma in predicates.LASTING_EVENTS or (has_date and lemma not in predicates.FLEETING)
    if chain.tense == Tense.PERFECT:
        return lemma not in predicates.FLEETING_PROGRESSIVE
    if is_passive(chain.verb):
        return lemma in _LASTING_PASSIVES
    if chain.tense in {Tense.FUTURE, Tense.PROGRESSIVE}:
        return lemma in predicates.DURABLE_PROGRESSIVE
    return lemma not in predicates.FLEETING or (marker and lemma in _HABIT_VERBS)
