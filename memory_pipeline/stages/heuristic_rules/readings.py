"""Reads a clause into predicate and object: the general rule for verbs, whatever the verb.

What belongs here: objects, particles and prepositions of full verbs. What does not: `be` and
`have` (copulas), subjects (cast), dates and endings.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory_pipeline.domain.extraction import EntityType
from memory_pipeline.stages.heuristic_rules import predicates, relations
from memory_pipeline.stages.heuristic_rules.clauses import Tense
from memory_pipeline.stages.heuristic_rules.naming import given_names, relation_in
from memory_pipeline.stages.heuristic_rules.noun_phrases import (
    Phrase,
    conjuncts,
    is_name,
    phrase_of,
    stray_conjuncts,
)
from memory_pipeline.stages.heuristic_rules.predicates import RULES, Rule, third_person
from memory_pipeline.stages.heuristic_rules.roles import is_role
from memory_pipeline.stages.heuristic_rules.verbs import Chain, gerund, is_passive, lemma_of
from memory_pipeline.stages.heuristic_rules.words import words

if TYPE_CHECKING:
    from spacy.tokens import Token


@dataclass(frozen=True)
class Reading:
    """Predicate and object of a clause, before subject and dates.

    `after` as in predicates.Rule; `is_general` when no table knew the verb.
    """

    predicate: str
    object: str
    label: str = ""
    is_proper: bool = False
    hint: EntityType | None = None
    after: str | None = None
    is_general: bool = False
    at: int = 0


_PREPS = frozenset({"prep", "agent", "dative"})
_NOUNISH = frozenset({"NN", "NNS", "NNP", "NNPS", "VBN", "JJ", "VBG"})
_NOT_OBJECTS = words("readings", "not_objects")
_CARRIERS = words("readings", "carriers")
_ABILITIES = words("readings", "abilities")
_SECONDARY = frozenset(["at", "for", "with", "in"])
_SECONDARY_VERBS = words("readings", "secondary_verbs")
_TIME_WORDS = words("readings", "time_words")


def _skip_time(token: Token, dated: frozenset[int]) -> bool:
    return token.i in dated or token.ent_type_ in {"TIME"} or token.lemma_.lower() in _TIME_WORDS


def objects_of(verb: Token, dated: frozenset[int]) -> list[Token]:
    """Direct objects, lists taken apart."""
    found = [
        noun
        for child in [*verb.children, *_objects_taken_for_subjects(verb)]
        if child.dep_ in {"dobj", "oprd", "nsubj"}
        and (child.dep_ != "nsubj" or child.i > verb.i)
        and not _skip_time(child, dated)
        for noun in conjuncts(child)
    ]
    return [*(found or _slipped_objects(verb, dated)), *(stray_conjuncts(verb) if found else ())]


def _objects_taken_for_subjects(verb: Token) -> list[Token]:
    """`run a shop selling candles`: the parser lets the shop be the seller."""
    if any(c.dep_ == "dobj" for c in verb.children) or verb.lemma_.lower() in {
        "see",
        "hear",
        "have",
    }:
        return []
    return [
        c
        for below in verb.rights
        if below.dep_ == "advcl" and below.tag_ == "VBG"
        for c in below.children
        if c.dep_ == "nsubj" and c.i > verb.i
    ]


def _slipped_objects(verb: Token, dated: frozenset[int]) -> list[Token]:
    """An object right after the verb that the parser took for something else (`eat gluten`)."""
    return [
        child
        for child in verb.rights
        if child.i > verb.i
        and child.left_edge.i <= verb.i + 2
        and child.dep_ in {"dep", "acomp", "advmod", "attr", "npadvmod", "punct"}
        and child.is_alpha
        and child.tag_ in _NOUNISH
        and child.lower_ not in _NOT_OBJECTS
        and not _skip_time(child, dated)
        and verb.lemma_ != "be"
    ]


def prepositions_of(verb: Token, dated: frozenset[int]) -> list[tuple[str, list[Token]]]:
    """Prepositions of a verb with their nouns, dated phrases left out."""
    found = []
    carriers = [c for c in verb.children if c.dep_ == "dobj" and c.lemma_.lower() in _CARRIERS]
    children = [*verb.children, *(g for c in carriers for g in c.children)]
    for child in children:
        if child.dep_ not in _PREPS or child.i in dated or child.i < verb.i:
            continue
        word = child.lower_
        inner = [c for c in child.children if c.dep_ == "prep"]
        if inner and not any(c.dep_ == "pobj" for c in child.children):
            word, child = f"{word} {inner[0].lower_}", inner[0]
        nouns = [c for c in child.children if c.dep_ == "pobj" and not _skip_time(c, dated)]
        if nouns:
            stray = stray_conjuncts(verb)
            if verb.dep_ == "acomp":
                stray = [*stray, *stray_conjuncts(verb.head)]
            found.append((word, [*(n for noun in nouns for n in conjuncts(noun)), *stray]))
    return found


def _particle(verb: Token) -> str:
    return next((c.lower_ for c in verb.children if c.dep_ == "prt"), "")


def activity(verb: Token, dated: frozenset[int]) -> str:
    """What somebody does, as words: `playing chess`, `hiking`, `going to concerts`."""
    words = [gerund(verb)]
    if particle := _particle(verb):
        words.append(particle)
    things = [p.text for n in objects_of(verb, dated) if (p := phrase_of(n, dated))]
    if things:
        words.append(" and ".join(things))
    for prep, nouns in prepositions_of(verb, dated)[:1]:
        names = [p.text for n in nouns if (p := phrase_of(n, dated))]
        if names:
            words.extend((prep, " and ".join(names)))
    return " ".join(words)


def read_verb(chain: Chain, dated: frozenset[int]) -> Iterator[Reading]:
    """Readings of a chain whose verb is neither `be` nor `have`."""
    verb, lemma = chain.verb, lemma_of(chain.verb)
    if chain.likes:
        yield from _read_liking(chain, dated)
        return
    stem = f"{lemma} {_particle(verb)}".strip()
    nouns, preps = objects_of(verb, dated), prepositions_of(verb, dated)
    named = [r for n in nouns for r in named_readings(n)]
    if named and not chain.wants:
        yield from named
        return
    if chain.modal in {"would", "'d"}:
        yield from _read_preferring(chain, nouns, dated)
        return
    if lemma == "go" and chain.tense == Tense.PRESENT and not chain.wants:
        yield from _read_going(chain, preps, dated)
        return
    if lemma == "join":
        yield from _read_joining(chain, nouns, dated)
        return
    seen = list(_by_rule(chain, stem, nouns, preps, dated))
    yield from seen
    if not seen and stem in RULES and nouns and not chain.wants:
        return
    if seen or not nouns + [n for _, ns in preps for n in ns]:
        if not seen:
            yield from _intransitive(chain, stem, dated)
        return
    yield from _general(chain, stem, nouns, preps, dated)


def named_readings(noun: Token) -> Iterator[Reading]:
    """`a dog named Rex` as (has dog, rex)."""
    relation = relation_in(noun)
    for name, at in given_names(noun) if relation else []:
        yield Reading(
            f"has {relations.singular(relation)}",
            name,
            is_proper=True,
            hint=relations.type_of_relation(relation),
            after="state",
            at=at,
        )


def _read_joining(chain: Chain, nouns: list[Token], dated: frozenset[int]) -> Iterator[Reading]:
    """Who joins a company works there; who joins a choir is a member."""
    for noun in nouns:
        phrase = phrase_of(noun, dated)
        if phrase is None or noun.lower_ in {"call", "meeting", "waitlist", "conversation"}:
            continue
        rule = RULES["work at" if phrase.is_proper and not _is_group(phrase.text) else "belong to"]
        yield _reading(rule.predicate, phrase, EntityType.ORG, "state")


def _read_preferring(chain: Chain, nouns: list[Token], dated: frozenset[int]) -> Iterator[Reading]:
    """`I'd rather have tea`."""
    if any(c.lower_ == "rather" for c in chain.verb.children):
        for noun in nouns:
            if phrase := phrase_of(noun, dated):
                yield _reading("prefers", phrase, None, None)


def _read_going(
    chain: Chain, preps: list[tuple[str, list[Token]]], dated: frozenset[int]
) -> Iterator[Reading]:
    """Where somebody goes as a rule: to a named school, to church, to the gym."""
    for prep, nouns in preps:
        for noun in nouns if prep == "to" else []:
            phrase = phrase_of(noun, dated)
            if phrase and (phrase.is_proper or noun.lower_ in _VENUES):
                no = "does not go to" if chain.negated else "goes to"
                yield _reading(no, phrase, None, None)


def _is_group(name: str) -> bool:
    return bool(_GROUPS & set(name.split()))


def _keyed(rule: Rule, chain: Chain, noun: Token, dated: frozenset[int]) -> Iterator[Reading]:
    if noun.lower_ in {"me", "us"}:
        yield Reading(rule.predicate, "user", hint=EntityType.PERSON, at=noun.i)
        return
    if rule.type == EntityType.PLACE and not is_name(noun):
        noun = _named_place(noun, dated) or noun
    phrase = phrase_of(noun, dated)
    if phrase is not None and not (rule.predicate in _TASTES and _is_at_hand(noun)):
        name = rule.predicate
        if name == "works as" and lemma_of(chain.verb) == "become" and not is_role(phrase.text):
            return
        yield _reading(name, phrase, rule.type, rule.after)
        if rule.type == EntityType.ROLE:
            for prep, places in prepositions_of(noun, dated):
                for place in places if prep in {"at", "for", "with"} else []:
                    if is_name(place) and (where := phrase_of(place, dated)):
                        yield _reading("works at", where, EntityType.ORG, rule.after)


def _named_place(noun: Token, dated: frozenset[int]) -> Token | None:
    """`a small flat in Montreal`: the town says where."""
    for prep, nouns in prepositions_of(noun, dated):
        if prep in {"in", "near", "outside", "at"} and is_name(nouns[0]):
            return nouns[0]
    return None


_TASTES = frozenset({"likes", "loves", "enjoys"})


def _is_at_hand(noun: Token) -> bool:
    """`love that photo`, `love the colours`: what is being talked about, not a taste."""
    for child in noun.children:
        if child.lower_ in {"that", "this", "these", "those", "your"}:
            return True
        if child.lower_ == "the" and child.dep_ == "det":
            plain = len([c for c in noun.lefts if c.dep_ != "punct"]) == 1
            spoken = any(c.dep_ == "nsubj" for c in noun.head.children)
            return not (spoken and (plain or is_name(noun))) and not any(
                c.lower_ == "of" for c in noun.children
            )
    return False


def _reading(
    predicate: str,
    phrase: Phrase,
    hint: EntityType | None,
    after: str | None,
    general: bool = False,
) -> Reading:
    return Reading(
        predicate, phrase.text, phrase.label, phrase.is_proper, hint, after, general, phrase.head.i
    )


def _by_rule(
    chain: Chain,
    stem: str,
    nouns: list[Token],
    preps: list[tuple[str, list[Token]]],
    dated: frozenset[int],
) -> Iterator[Reading]:
    no = "not " if chain.negated else ""
    can = "can " if no and chain.modal in {"can", "ca", "could"} else ""
    if chain.wants:
        return
    for prep, targets in preps:
        keys = [f"{no}{stem} {prep}"] + [f"{stem} {n.lemma_.lower()} {prep}" for n in nouns]
        rule = next((RULES[k] for k in keys if k in RULES), None)
        if rule is not None:
            for target in targets:
                yield from _keyed(rule, chain, target, dated)
    if is_passive(chain.verb):
        return
    if stem == "get" and chain.tense in {Tense.PAST, Tense.PERFECT}:
        nouns = [n for n in nouns if n.lower_ != "myself"]
        stem = "buy" if _is_got_thing(chain.verb, nouns) else stem
    for noun in nouns:
        keys = (f"{stem} {noun.lemma_.lower()}", f"{can}{no}{stem}", f"{no}{stem}")
        rule = next((RULES[k] for k in keys if k in RULES), None)
        if rule is not None:
            yield from _keyed(rule, chain, noun, dated)


def _is_got_thing(verb: Token, nouns: list[Token]) -> bool:
    """`got myself a camera`, `got a new Fujifilm X100V`."""
    bought = any(c.lower_ == "myself" for c in verb.children)
    named = any(is_name(n) and any(c.lower_ in {"a", "an"} for c in n.children) for n in nouns)
    return bought or named


def _general(
    chain: Chain,
    stem: str,
    nouns: list[Token],
    preps: list[tuple[str, list[Token]]],
    dated: frozenset[int],
) -> Iterator[Reading]:
    """The verb in the third person present with what it acts on."""
    if is_passive(chain.verb) and not preps:
        return
    name = _verb_name(chain, stem)
    if nouns and not is_passive(chain.verb):
        for noun in nouns:
            if phrase := phrase_of(noun, dated):
                yield _reading(name, phrase, None, None, True)
        if lemma_of(chain.verb) in _SECONDARY_VERBS:
            for prep, targets in preps:
                if prep in _SECONDARY and any(is_name(t) for t in targets):
                    yield from _with_prep(name, prep, targets, dated)
        return
    for prep, targets in preps[:1]:
        yield from _with_prep(name, prep, targets, dated)


def _with_prep(
    name: str, prep: str, targets: list[Token], dated: frozenset[int]
) -> Iterator[Reading]:
    for target in targets:
        if phrase := phrase_of(target, dated):
            yield _reading(f"{name} {prep}", phrase, None, None, True)


def _verb_name(chain: Chain, stem: str) -> str:
    lemma, _, particle = stem.partition(" ")
    if chain.wants:
        return f"{chain.wants} to {stem}"
    if chain.tense == Tense.PRESENT and chain.modal in {"can", "ca", "could"}:
        return f"can{'not' if chain.negated else ''} {stem}"
    if chain.negated:
        return f"does not {stem}"
    if chain.tense == Tense.PERFECT and chain.verb.tag_ != "VBG":
        return f"has {chain.verb.lower_} {particle}".strip()
    return f"{third_person(lemma)} {particle}".strip()


_NEEDS_OBJECT = words("readings", "needs_object")
_EMPTY_ACTIVITIES = words("readings", "empty_activities")
_VENUES = words("readings", "venues")
_GROUPS = words("readings", "groups")
_HABITS = words("readings", "habits")


def _intransitive(chain: Chain, stem: str, dated: frozenset[int]) -> Iterator[Reading]:
    lemma = lemma_of(chain.verb)
    if lemma not in _HABITS or chain.wants or chain.tense in {Tense.PAST, Tense.FUTURE}:
        return
    if lemma == "drink":
        name = "does not drink" if chain.negated else "drinks"
        yield Reading(name, "alcohol", at=chain.verb.i, is_general=True)
        return
    name = "does not do" if chain.negated else "does"
    yield Reading(name, activity(chain.verb, dated), at=chain.verb.i, is_general=True)


def _read_liking(chain: Chain, dated: frozenset[int]) -> Iterator[Reading]:
    for verb in conjuncts(chain.verb) if chain.verb.tag_ == "VBG" else [chain.verb]:
        words = activity(verb, dated)
        if verb.lemma_.lower() in _NEEDS_OBJECT and len(words.split()) == 1:
            continue
        if words.split()[0] not in _EMPTY_ACTIVITIES:
            yield Reading(chain.likes, words, at=verb.i, is_general=False)
    for child in chain.verb.children:
        if child.dep_ == "conj" and child.tag_ == "VBG" and chain.verb.tag_ != "VBG":
            yield Reading(chain.likes, activity(child, dated), at=child.i)


def is_durable(reading: Reading, chain: Chain, has_date: bool, marker: bool) -> bool:
    """Whether what the clause says outlasts the day, by the verb's form and closed lists."""
    lemma = lemma_of(chain.verb)
    if chain.is_ended or chain.is_history or chain.wants or chain.likes:
        return True
    if reading.predicate == "has visited" and chain.tense == Tense.PAST:
        return reading.is_proper and reading.label in {"GPE", "LOC"}
    if reading.predicate == "has visited":
        return chain.tense == Tense.PERFECT
    if chain.tense == Tense.PAST:
        return reading.after is not None or lemma in predicates.LASTING_EVENTS
    if chain.modal in {"can", "ca", "could"} and reading.is_general:
        return lemma in _ABILITIES
    if chain.tense == Tense.PERFECT and reading.is_general and chain.verb.tag_ != "VBG":
        return lemma in predicates.LASTING_EVENTS or (has_date and lemma not in predicates.FLEETING)
    if chain.tense == Tense.PERFECT:
        return not reading.is_general or lemma not in predicates.FLEETING_PROGRESSIVE
    if chain.tense == Tense.FUTURE:
        return not reading.is_general or lemma in predicates.DURABLE_PROGRESSIVE
    if chain.tense == Tense.PROGRESSIVE:
        if chain.is_started:
            return True
        if reading.is_general:
            return lemma in predicates.DURABLE_PROGRESSIVE
        return lemma not in predicates.FLEETING_PROGRESSIVE
    return not reading.is_general or lemma not in predicates.FLEETING or marker
