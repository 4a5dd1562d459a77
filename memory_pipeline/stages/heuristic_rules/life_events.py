"""Births, birthdays and departures: events that no verb with an object tells.

What belongs here: `was born in 1988`, `turned 30`, `our dog died`. What does not: anything else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from memory_pipeline.domain.extraction import EntityType
from memory_pipeline.stages.heuristic_rules import relations
from memory_pipeline.stages.heuristic_rules.clauses import Clause, Tense
from memory_pipeline.stages.heuristic_rules.drafts import Draft
from memory_pipeline.stages.heuristic_rules.noun_phrases import conjuncts, is_name
from memory_pipeline.stages.heuristic_rules.scene import Scene
from memory_pipeline.stages.heuristic_rules.verbs import Chain, lemma_of

_BORN = re.compile(
    r"\bborn (?:in|on) (?:the )?((?:[\w ,]{0,20}\b)?(?:19|20)\d\d|\d{1,2}(?:st|nd|rd|th)? (?:of )?"
    r"[A-Z]\w+|[A-Z][a-z]+ \d{1,2}(?:st|nd|rd|th)?)\b"
)
_PARTINGS = frozenset({"split", "break", "separate"})
_PARTNERS = frozenset(
    {"girlfriend", "boyfriend", "wife", "husband", "partner", "fiance", "fiancee"}
)
_TOLD = frozenset({Tense.PAST, Tense.PERFECT})
_SHARING = frozenset({"roommate", "flatmate", "housemate"})


def read_birth(subject: str, clause: Clause, chain: Chain, scene: Scene) -> Iterator[Draft]:
    """`was born in 1988`, `turned 30`."""
    lemma = lemma_of(chain.verb)
    if lemma == "turn" and chain.tense in _TOLD:
        for child in chain.verb.children:
            if child.tag_ == "CD" and child.text.isdigit() and 1 < int(child.text) < 110:
                yield Draft(subject, "has age", child.text, start=clause.start, end=clause.end)
    if lemma == "bear" and chain.tense == Tense.PAST:
        match = _BORN.search(scene.doc.text[clause.start : clause.end])
        if match is not None:
            is_day = any(c.isalpha() for c in match[1])
            name = "was born on" if is_day else "was born in"
            draft = Draft(subject, name, match[1].lower())
            yield replace(draft, start=clause.start, end=clause.end, is_undated=True)


def read_parting(clause: Clause, chain: Chain, scene: Scene) -> list[Draft]:
    """`Kim and I split up`."""
    if lemma_of(chain.verb) not in _PARTINGS or chain.tense not in _TOLD or chain.negated:
        return []
    said = {t for c in chain.verb.children if c.dep_ == "nsubj" for t in conjuncts(c)}
    said |= set(clause.subjects)
    has_user = any(t.lower_ in {"i", "me"} for t in said)
    others = [t for t in said if is_name(t)]
    for token in said:
        link = scene.cast.link_at(token)
        if has_user and link is not None and link.noun in _PARTNERS:
            kind = relations.type_of_relation(link.noun)
            draft = Draft(link.owner, link.predicate, link.name, kind, is_ended=True, is_link=True)
            return [replace(draft, start=clause.start, end=clause.end)]
    if not has_user or len(others) != 1:
        return []
    draft = Draft("user", "is dating", others[0].lower_, EntityType.PERSON, is_ended=True)
    return [replace(draft, start=clause.start, end=clause.end)]


def read_departure(subject: str, clause: Clause, chain: Chain, scene: Scene) -> list[Draft]:
    """Somebody linked to the user died, or no longer shares the flat: the link has ended."""
    verb = chain.verb
    said = {c.lower_ for c in verb.children if c.dep_ in {"prt", "advmod"}}
    lemma = lemma_of(verb)
    has_died = lemma == "die" or (lemma == "pass" and "away" in said)
    has_left = (
        lemma == "move" and "out" in said and not any(c.dep_ == "prep" for c in verb.children)
    )
    link = scene.cast.link_called(subject)
    if link is None or chain.tense not in _TOLD or not (has_died or has_left):
        return []
    if has_left and link.noun not in _SHARING:
        return []
    kind = relations.type_of_relation(link.noun)
    draft = Draft(link.owner, link.predicate, link.name, kind, is_ended=True, is_link=True)
    return [replace(draft, start=clause.start, end=clause.end)]
