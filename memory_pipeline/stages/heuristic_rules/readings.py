"""Reads a clause into predicate and object: the general rule for verbs, whatever the verb.

What belongs here: which rule or general name a full verb gets. What does not: `be` and `have`
(copulas), subjects (cast), dates and endings.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from memory_pipeline.domain.extraction import EntityType
from memory_pipeline.stages.heuristic_rules import relations
from memory_pipeline.stages.heuristic_rules.clauses import Tense
from memory_pipeline.stages.heuristic_rules.drafts import Reading, reading_of
from memory_pipeline.stages.heuristic_rules.naming import given_names, named_beside, relation_in
from memory_pipeline.stages.heuristic_rules.noun_phrases import Phrase, is_name, phrase_of
from memory_pipeline.stages.heuristic_rules.predicates import RULES, Rule, third_person
from memory_pipeline.stages.heuristic_rules.roles import is_role
from memory_pipeline.stages.heuristic_rules.verb_habits import (
    UNDERSTOOD,
    read_going,
    read_habit,
    read_liking,
    read_preferring,
)
from memory_pipeline.stages.heuristic_rules.verb_objects import (
    Arguments,
    arguments_of,
    prepositions_of,
)
from memory_pipeline.stages.heuristic_rules.verbs import Chain, is_passive, lemma_of
from memory_pipeline.stages.heuristic_rules.words import words

if TYPE_CHECKING:
    from spacy.tokens import Token

_SECONDARY = frozenset({"at", "for", "with", "in"})
_SECONDARY_VERBS = words("readings", "secondary_verbs")
_GROUPS = words("readings", "groups")
_NOT_JOINED = frozenset({"call", "meeting", "waitlist", "conversation"})
_TASTES = frozenset({"likes", "loves", "enjoys"})
# What `got divorced` and `have been married` leave when no name is told.
_STATES = {"marry": "married", "divorce": "divorced", "engage": "engaged", "separate": "separated"}
_PARTICIPLES = {"wrote": "written", "broke": "broken", "tore": "torn", "underwent": "undergone"}
_LEADS = words("readings", "leads")
_PLAIN_WORK = frozenset({"be", "get", "feel", "see", "think", "have", "live", "work", "look"})
_SCHOOLS = frozenset({"school", "university", "uni", "college", "academy", "programme", "program"})
_SOUGHT = words("readings", "sought")
_EATEN = words("endings", "foods") | words("endings", "drinks") | words("endings", "groceries")
_COMING = frozenset({Tense.PROGRESSIVE, Tense.FUTURE})
_CAN = frozenset({"can", "ca", "could"})


def read_verb(chain: Chain, dated: frozenset[int]) -> Iterator[Reading]:
    """Readings of a chain whose verb is neither `be` nor `have`."""
    if chain.likes:
        yield from read_liking(chain, dated)
        return
    arguments = arguments_of(chain, dated)
    for noun in (n for p, ns in arguments.preps if p == "with" and not chain.wants for n in ns):
        if not any(c.dep_ == "poss" for c in noun.children):
            yield from named_readings(noun)
    special = _read_special(arguments)
    if special is not None:
        yield from special
        return
    seen = list(_by_rule(arguments))
    yield from seen
    if seen:
        yield from _secondary(arguments, _verb_name(arguments))
    if seen or _is_known_verb(arguments):
        return
    if arguments.nouns or arguments.preps:
        yield from _general(arguments)
    else:
        yield from read_habit(chain, dated)


def _is_known_verb(arguments: Arguments) -> bool:
    """A verb of the table that gave nothing was turned down; the general rule leaves it so."""
    key = f"{arguments.negation}{arguments.stem}"
    return bool(arguments.nouns) and key in RULES and not arguments.chain.wants


def _read_special(arguments: Arguments) -> Iterator[Reading] | None:
    """Readings of verbs with a way of their own; None for all others."""
    chain = arguments.chain
    named = [r for n in arguments.nouns for r in named_readings(n)]
    if named and not chain.wants:
        return iter(named)
    state = _STATES.get(lemma_of(chain.verb)) if is_passive(chain.verb) else None
    if state and not arguments.preps and not chain.wants:
        return iter([Reading("is not" if chain.negated else "is", state, after="state")])
    if chain.modal in {"would", "'d"}:
        return read_preferring(arguments)
    if special := _read_plain_state(arguments):
        return iter([special])
    if lemma_of(chain.verb) == "go" and chain.tense == Tense.PRESENT and not chain.wants:
        return read_going(arguments)
    return _read_joining(arguments) if lemma_of(chain.verb) == "join" else None


def _read_plain_state(arguments: Arguments) -> Reading | None:
    """`I retired last year`, `he lives alone`, `I started bouldering`."""
    chain, verb = arguments.chain, arguments.chain.verb
    lemma, is_told = lemma_of(verb), chain.tense in {Tense.PAST, Tense.PERFECT}
    is_left = any(p == "from" for p, _ in arguments.preps) or chain.negated or chain.wants
    if lemma == "retire" and is_told and not is_left:
        return Reading("is", "retired", after="state")
    if lemma == "live" and any(c.lower_ == "alone" for c in verb.children) and not chain.negated:
        return Reading("lives", "alone")
    is_turn = chain.is_started or chain.is_ended
    is_begun = is_turn and verb.tag_ == "VBG" and not arguments.nouns
    if is_begun and lemma in UNDERSTOOD:
        return None
    if is_begun and not {"at", "to", "for", "in", "as"} & {p for p, _ in arguments.preps}:
        return Reading("does", verb.lower_, after="state") if lemma not in _PLAIN_WORK else None
    return None


def named_readings(noun: Token) -> Iterator[Reading]:
    """`a dog named Rex` as (has dog, rex)."""
    relation = relation_in(noun)
    kind = relations.type_of_relation(relation)
    for name in given_names(noun) if relation else []:
        predicate = f"has {relations.singular(relation)}"
        yield Reading(predicate, name, is_proper=True, hint=kind, after="state")
    for beside in named_beside(noun):
        yield from named_readings(beside)


def _read_joining(arguments: Arguments) -> Iterator[Reading]:
    """Who joins a company works there; who joins a choir is a member."""
    for noun in arguments.nouns:
        phrase = phrase_of(noun, arguments.dated)
        if phrase is None or noun.lower_ in _NOT_JOINED:
            continue
        is_company = phrase.is_proper and not _GROUPS & set(phrase.text.split())
        rule = RULES["work at" if is_company else "belong to"]
        yield reading_of(rule.predicate, phrase, EntityType.ORG, "state")


def _keyed(rule: Rule, arguments: Arguments, noun: Token) -> Iterator[Reading]:
    if noun.lower_ in {"me", "us"}:
        yield Reading(rule.predicate, "user", hint=EntityType.PERSON)
        return
    if rule.type == EntityType.PLACE and not is_name(noun):
        noun = named_place(noun, arguments.dated) or noun
    phrase = phrase_of(noun, arguments.dated)
    if phrase is None or (rule.predicate in _TASTES and _is_at_hand(noun)):
        return
    turned = _turned(rule, arguments, noun, phrase)
    if turned is not rule:
        if turned is not None:
            yield reading_of(turned.predicate, phrase, turned.type, turned.after)
        return
    if lemma_of(arguments.chain.verb) == "become" and not is_role(phrase.text):
        return
    yield reading_of(rule.predicate, phrase, rule.type, rule.after)
    if rule.type == EntityType.ROLE:
        yield from _work_places(rule, noun, arguments.dated)


def _turned(rule: Rule, arguments: Arguments, noun: Token, phrase: Phrase) -> Rule | None:
    """The rule that the object calls for in place of the verb's own; None when none fits."""
    stem = arguments.stem
    if stem == "get" and rule.predicate == "likes":
        if _SCHOOLS & set(phrase.text.split()):
            return _ENROLLED
        return None if _has_article(noun) else rule
    if stem == "look":
        return rule if noun.lemma_.lower() in _SOUGHT else None
    if stem == "pick up" and not _has_article(noun) and not phrase.is_proper:
        return _TAKEN_UP
    if rule.predicate == "has visited" and arguments.chain.tense in _COMING:
        return _TO_VISIT if is_name(noun) else None
    if rule.predicate == "owns" and phrase.text.split()[-1] in _EATEN:
        return None
    if rule.predicate == "works on" and noun.head.i > arguments.chain.verb.i + 2:
        return None
    return rule


_ENROLLED = Rule("studies at", EntityType.ORG, "state")
_TAKEN_UP = Rule("does", None, "state")
_TO_VISIT = Rule("plans to visit", EntityType.PLACE, "state")


def _has_article(noun: Token) -> bool:
    """`got into a fight` is no taste, `got into pottery` is."""
    return any(c.dep_ in {"det", "poss", "nummod"} for c in noun.children)


def _work_places(rule: Rule, role: Token, dated: frozenset[int]) -> Iterator[Reading]:
    """`as a designer at Miro`: the role's own preposition names the employer."""
    for prep, places in prepositions_of(role, dated):
        for place in places if prep in {"at", "for", "with"} else []:
            if is_name(place) and (where := phrase_of(place, dated)):
                yield reading_of("works at", where, EntityType.ORG, rule.after)


def named_place(noun: Token, dated: frozenset[int]) -> Token | None:
    """`a small flat in Montreal`: the town says where."""
    for prep, nouns in prepositions_of(noun, dated):
        if prep in {"in", "near", "outside", "at"} and is_name(nouns[0]):
            return nouns[0]
    return None


def _is_at_hand(noun: Token) -> bool:
    """`love that photo`, `love the colours`: what is being talked about, not a taste."""
    first = noun.head if noun.dep_ == "conj" else noun
    before = {c.lower_ for c in first.lefts}
    if before & {"that", "this", "these", "those", "your"}:
        return True
    if "the" not in before or any(c.lower_ == "of" for c in first.children):
        return False
    is_plain = len([c for c in first.lefts if c.dep_ != "punct"]) == 1
    is_spoken = any(c.dep_ == "nsubj" for c in first.head.children)
    return not (is_spoken and (is_plain or is_name(noun)))


def _by_rule(arguments: Arguments) -> Iterator[Reading]:
    chain, no = arguments.chain, arguments.negation
    if chain.wants:
        return
    for prep, targets in arguments.preps:
        keys = [f"{no}{arguments.stem} {prep}"]
        if not chain.negated:
            keys += [f"{arguments.stem} {n.lemma_.lower()} {prep}" for n in arguments.nouns]
        rule = next((RULES[k] for k in keys if k in RULES), None)
        for target in targets if rule else []:
            yield from _keyed(rule, arguments, target) if rule else ()
    for noun in [] if is_passive(chain.verb) else arguments.nouns:
        rule = _rule_for(arguments, noun)
        if rule is not None:
            yield from _keyed(rule, arguments, noun)


def _rule_for(arguments: Arguments, noun: Token) -> Rule | None:
    """The rule of a verb with an object; the object itself may be part of the key."""
    chain, stem, no = arguments.chain, arguments.stem, arguments.negation
    if stem == "get" and _is_got_thing(chain, noun):
        stem = "buy"
    can = "can " if no and chain.modal in _CAN else ""
    keys = [f"{can}{no}{stem}", f"{no}{stem}"]
    if not chain.negated:
        keys.insert(0, f"{stem} {noun.lemma_.lower()}")
    return next((RULES[k] for k in keys if k in RULES), None)


def _is_got_thing(chain: Chain, noun: Token) -> bool:
    """`got myself a camera`, `got a new Fujifilm X100V`."""
    if chain.tense not in {Tense.PAST, Tense.PERFECT} or noun.lower_ == "myself":
        return False
    for_me = any(c.lower_ == "myself" for c in chain.verb.children)
    return for_me or (is_name(noun) and any(c.lower_ in {"a", "an"} for c in noun.children))


def _general(arguments: Arguments) -> Iterator[Reading]:
    """The verb in the third person present with what it acts on."""
    chain, name = arguments.chain, _verb_name(arguments)
    nouns = [] if is_passive(chain.verb) else arguments.nouns
    for noun in nouns:
        if (noun.tag_ != "CD" or noun.text[0].isdigit()) and (
            phrase := phrase_of(noun, arguments.dated)
        ):
            yield reading_of(name, phrase, is_general=True)
    if not nouns:
        for prep, targets in [p for p in arguments.preps[:1] if p[0] not in {"like", "than"}]:
            yield from _with_prep(name, prep, targets, arguments.dated)
    elif lemma_of(chain.verb) in _LEADS:
        yield from _led_places(arguments)
    yield from _secondary(arguments, name)


def _secondary(arguments: Arguments, name: str) -> Iterator[Reading]:
    """Where or in what a named or organised thing is done: `plays cello in an orchestra`."""
    if not arguments.nouns or lemma_of(arguments.chain.verb) not in _SECONDARY_VERBS:
        return
    for prep, targets in arguments.preps:
        is_named = any(
            (p := phrase_of(t)) and (p.is_proper or t.lower_ in _GROUPS) for t in targets
        )
        if prep in _SECONDARY and is_named:
            yield from _with_prep(name, prep, targets, arguments.dated)


def _led_places(arguments: Arguments) -> Iterator[Reading]:
    """Who leads something at a company works there."""
    preps = [
        *arguments.preps,
        *(p for n in arguments.nouns for p in prepositions_of(n, frozenset())),
    ]
    for prep, targets in preps:
        for target in targets if prep == "at" else []:
            if (place := phrase_of(target, arguments.dated)) and place.is_proper:
                yield reading_of("works at", place, EntityType.ORG, "ended")


def _with_prep(
    name: str, prep: str, targets: list[Token], dated: frozenset[int]
) -> Iterator[Reading]:
    for target in targets:
        if phrase := phrase_of(target, dated):
            yield reading_of(f"{name} {prep}", phrase, is_general=True)


def _verb_name(arguments: Arguments) -> str:
    chain, stem = arguments.chain, arguments.stem
    lemma, _, particle = stem.partition(" ")
    if chain.wants:
        return f"{chain.wants} to {stem}"
    if chain.tense == Tense.PRESENT and chain.modal in _CAN:
        return f"can{'not' if chain.negated else ''} {stem}"
    if chain.negated:
        return f"does not {stem}"
    if chain.tense in {Tense.PERFECT, Tense.PAST} and chain.verb.tag_ in {"VBD", "VBN"}:
        done = _PARTICIPLES.get(chain.verb.lower_, chain.verb.lower_)
        return f"has {done} {particle}".strip()
    return f"{third_person(lemma)} {particle}".strip()
