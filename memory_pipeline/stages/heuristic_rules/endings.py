"""Recognises that something is over: `no longer`, `quit`, `sold`, `broke up with`, `used to`.

What belongs here: the closed list of endings, and which fact of memory an ending closes.
What does not: the date of it (dating).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memory_pipeline.domain.extraction import EntityType, KnownFact, KnownLists
from memory_pipeline.stages.heuristic_rules import relations
from memory_pipeline.stages.heuristic_rules.drafts import Draft, Reading
from memory_pipeline.stages.heuristic_rules.entity_types import PLACES
from memory_pipeline.stages.heuristic_rules.noun_phrases import is_name, phrase_of
from memory_pipeline.stages.heuristic_rules.verb_objects import (
    objects_of,
    particle_of,
    prepositions_of,
)
from memory_pipeline.stages.heuristic_rules.verbs import Chain, lemma_of
from memory_pipeline.stages.heuristic_rules.words import listed, rule_tables, words

if TYPE_CHECKING:
    from spacy.tokens import Token

_NO_LONGER = re.compile(r"\bno longer\b|\bany ?more\b|\bany longer\b|\bno more\b", re.IGNORECASE)


def says_no_longer(text: str, negated: bool) -> bool:
    """Whether a clause says that what it states has ceased to hold."""
    match = _NO_LONGER.search(text)
    return match is not None and (negated or match.group().lower().startswith("no"))


@dataclass(frozen=True)
class Ending:
    """What an ending verb closes: a predicate guess, and predicates of memory it may mean."""

    predicate: str
    closes: tuple[str, ...]
    type: EntityType | None = None
    needs_name: bool = False


def _load_endings() -> dict[str, Ending]:
    found: dict[str, Ending] = {}
    for entry in rule_tables()["ending"]:
        kind = entry.get("type")
        ending = Ending(
            entry["predicate"],
            listed(entry["closes"]),
            EntityType(kind) if kind else None,
            entry.get("needs_name", "") == "yes",
        )
        found.update(dict.fromkeys(listed(entry["verbs"]), ending))
    return found


_ENDINGS = _load_endings()
_DRINKS = words("endings", "drinks")
_APPS = words("endings", "apps")
_SMOKES = frozenset(["cigarettes", "cigarette", "tobacco", "smoking", "vaping"])
_FOODS = words("endings", "foods")


def ended_things(chain: Chain, dated: frozenset[int]) -> Iterator[tuple[Ending, Reading]]:
    """Endings that a verb of the closed list states."""
    verb = chain.verb
    if chain.negated or chain.wants or str(chain.tense) in {"future"}:
        return
    lemma = lemma_of(verb)
    stem = f"{lemma} {particle_of(verb)}".strip()
    nouns, preps = objects_of(verb, dated), prepositions_of(verb, dated)
    is_done = stem != "do" or verb.lower_ == "done"
    is_given = lemma not in {"sell", "donate"} and any(c.dep_ == "dative" for c in verb.children)
    if not is_done or is_given:
        return
    is_found = False
    for prep, targets in preps:
        keys = [f"{stem} {prep}"] + [f"{stem} {n.lemma_.lower()} {prep}" for n in nouns]
        ending = next((_ENDINGS[k] for k in keys if k in _ENDINGS), None)
        if ending is not None and keys[0] not in _ENDINGS:
            ending = replace(ending, needs_name=False)  # `my job at the bakery` says what it is
        if ending is not None:
            is_found = True
            yield from _things(ending, targets, dated)
    if is_found:
        return
    if stem in _ENDINGS and (str(chain.tense) in {"past", "perfect"} or lemma in {"quit", "stop"}):
        yield from _things(_ENDINGS[stem], nouns, dated)


def _things(
    ending: Ending, nouns: list[Token], dated: frozenset[int]
) -> Iterator[tuple[Ending, Reading]]:
    for noun in nouns:
        phrase = phrase_of(noun, dated)
        if phrase is None:
            continue
        meant = _meant(ending, noun, phrase.text)
        if meant is not None:
            if meant.predicate == "smokes":
                phrase = replace(phrase, text="cigarettes")
            yield (
                meant,
                Reading(
                    meant.predicate,
                    phrase.text,
                    phrase.label,
                    phrase.is_proper,
                    meant.type,
                    "ended",
                ),
            )


def _meant(ending: Ending, noun: Token, text: str) -> Ending | None:
    last = text.split()[-1]
    for meant, verb in ((_DRINKS, "drinks"), (_SMOKES, "smokes"), (_FOODS, "eats")):
        if last in meant:
            return Ending(verb, (verb, "does", "consumes"))
    is_left = noun.head.lemma_.lower() in {"quit", "leave"} or noun.dep_ == "conj"
    if ending.predicate == "works at" and text in _APPS and is_left:
        return Ending("uses", ("uses", "subscribes to", "has"))
    relation = relations.is_relation(noun.lower_)
    if "has" in ending.closes and relation and ending.predicate == "owns":
        return Ending(f"has {relations.singular(noun.lower_)}", ("has",), EntityType.PERSON)
    if noun.head.lemma_.lower() in {"lose"} and ending.predicate == "owns":
        return None
    if ending.predicate == "lives in" and not is_name(noun):
        return None
    if ending.needs_name and noun.head.lemma_ == "leave" and _is_place(noun):
        return Ending("lives in", ("lives in", "lives at", "works at"), EntityType.PLACE)
    if ending.needs_name and not noun.text[:1].isupper():
        return None
    return ending


def _is_place(noun: Token) -> bool:
    """`left Bristol for good`: nobody leaves a company so."""
    is_for_good = "for good" in noun.doc.text.lower()
    return noun.ent_type_ in {"GPE", "LOC"} or noun.lower_ in PLACES or is_for_good


def close_known(draft: Draft, closes: tuple[str, ...], known: KnownLists) -> Draft:
    """The draft in the words of the fact of memory that it ends, if there is exactly one."""
    aliases = {n.lower(): e.name for e in known.entities for n in (e.name, *e.aliases)}
    matches = [f for f in known.facts if f.subject == draft.subject and _fits(draft, f, closes)]
    exact = [f for f in matches if aliases.get(draft.object, draft.object) == f.object]
    chosen = exact or [f for f in matches if _overlaps(draft.object, f.object)]
    same = [f for f in chosen if f.predicate == draft.predicate] or chosen
    if not same:
        return draft
    fact = same[0]
    return replace(
        draft,
        predicate=fact.predicate,
        object=fact.object,
        type=(draft.type or EntityType.THING) if fact.object_is_entity else None,
    )


def _fits(draft: Draft, fact: KnownFact, closes: tuple[str, ...]) -> bool:
    if fact.predicate == draft.predicate:
        return True
    if "plans" in closes and fact.predicate.startswith("plans"):
        return True
    return fact.predicate in closes or ("has" in closes and fact.predicate.startswith("has "))


def _overlaps(one: str, other: str) -> bool:
    """One name's words are among the other's (`civic`, `honda civic`)."""
    first, second = set(one.split()), set(other.split())
    return bool(first and second) and (first <= second or second <= first)
