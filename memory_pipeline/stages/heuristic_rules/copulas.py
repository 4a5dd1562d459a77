"""Reads `be`: who or what somebody is.

What belongs here: names, roles, ages, states. What does not: `have` (possessions) and full verbs
(readings).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from memory_pipeline.domain.extraction import EntityType
from memory_pipeline.stages.heuristic_rules import relations
from memory_pipeline.stages.heuristic_rules.drafts import Reading, reading_of
from memory_pipeline.stages.heuristic_rules.noun_phrases import (
    Phrase,
    conjuncts,
    is_name,
    phrase_of,
)
from memory_pipeline.stages.heuristic_rules.predicates import (
    ALLOWED_FLEETING_STATES,
    EMPTY_OBJECTS,
    RULES,
)
from memory_pipeline.stages.heuristic_rules.readings import named_place, named_readings
from memory_pipeline.stages.heuristic_rules.roles import is_role
from memory_pipeline.stages.heuristic_rules.verb_habits import says_too_little
from memory_pipeline.stages.heuristic_rules.verb_objects import (
    Prepositions,
    activity,
    prepositions_of,
)
from memory_pipeline.stages.heuristic_rules.verbs import Chain, lemma_of
from memory_pipeline.stages.heuristic_rules.words import words

if TYPE_CHECKING:
    from spacy.tokens import Token

_FANS = words("copulas", "fans")
_QUALIFIES = frozenset({"npadvmod", "compound", "amod", "nmod"})
_ASPECTS = frozenset({"interested in", "responsible for", "good at", "bad at", "terrible at"})
_STATE_PREPS = frozenset(["allergic", "intolerant"])


def _complements(verb: Token) -> list[Token]:
    return [
        c for c in verb.children if c.dep_ in {"attr", "acomp", "oprd", "dobj"} and c.i > verb.i
    ]


def read_be(chain: Chain, subject_noun: str, dated: frozenset[int]) -> Iterator[Reading]:
    """Readings of a clause with `be`; `subject_noun` is `user` or the noun that is spoken of."""
    verb = chain.verb
    complements = _complements(verb)
    for complement in complements:
        is_adjective = complement.dep_ == "acomp" or complement.pos_ == "ADJ"
        if (is_adjective or complement.tag_ == "VBN") and not is_name(complement):
            yield from _read_adjective(chain, complement, dated)
        else:
            for noun in conjuncts(complement):
                yield from _read_noun(chain, noun, subject_noun, dated)
            if is_role(complement.lower_) and not chain.negated:
                yield from _apart(chain, dated)
    if not complements:
        yield from _read_place(chain, dated)


def _apart(chain: Chain, dated: frozenset[int]) -> Iterator[Reading]:
    """`a nurse for eleven years now, at St. Brendan's`: the employer hangs on the verb."""
    for prep, nouns in prepositions_of(chain.verb, dated):
        for noun in nouns if prep == "at" else []:
            if is_name(noun) and (place := phrase_of(noun, dated)):
                yield reading_of("works at", place, EntityType.ORG, "ended")


def _be_key(chain: Chain, words: str) -> str:
    return f"be not {words}" if chain.negated else f"be {words}"


def _is(chain: Chain) -> str:
    return "is not" if chain.negated else "is"


def _read_place(chain: Chain, dated: frozenset[int]) -> Iterator[Reading]:
    for prep, nouns in prepositions_of(chain.verb, dated)[:1]:
        rule = RULES.get(_be_key(chain, prep))
        if prep == "to" and str(chain.tense) != "perfect":
            rule = None
        name = rule.predicate if rule else f"{_is(chain)} {prep}"
        if prep == "in" and _is_long_stay(chain):
            rule = RULES["live in"]
            name = rule.predicate
        if prep == "at" and _is_at_work(chain, nouns):
            rule = RULES["work at"]
            name = rule.predicate
        if rule is None and prep not in {"on", "in", "with"}:
            continue
        for noun in nouns:
            phrase = phrase_of(named_place(noun, dated) or noun if rule else noun, dated)
            if phrase and (rule or _is_lasting_place(prep, phrase)):
                hint = rule.type if rule else None
                yield Reading(
                    name,
                    phrase.text,
                    phrase.label,
                    phrase.is_proper,
                    hint,
                    rule.after if rule else None,
                )


_LONG = re.compile(
    r"\b(?:since|for (?:\d+|[a-z]+|a few|almost \w+|about \w+) (?:years|months|decades))\b"
)


def _is_at_work(chain: Chain, nouns: list[Token]) -> bool:
    """`now I'm at Nvidia`, but not at the airport."""
    said = f" {chain.verb.doc.text.lower()} "
    is_now = str(chain.tense) == "present" and not chain.negated and " now" in said
    is_now = is_now or (str(chain.tense) == "perfect" and bool(_LONG.search(said)))
    return is_now and all(is_name(n) and n.ent_type_ not in {"FAC", "GPE", "LOC"} for n in nouns)


def _is_long_stay(chain: Chain) -> bool:
    """`I've been in Boston since uni`."""
    is_named = any(
        is_name(n) for p, ns in prepositions_of(chain.verb, frozenset()) if p == "in" for n in ns
    )
    is_perfect = str(chain.tense) == "perfect" and not chain.negated
    return is_named and is_perfect and bool(_LONG.search(chain.verb.doc.text))


_LASTING_IN = words("copulas", "lasting_in")
_LASTING_ON = words("copulas", "lasting_on")


def _is_lasting_place(prep: str, phrase: Phrase) -> bool:
    last = phrase.text.split()[-1]
    return (prep == "in" and last in _LASTING_IN) or (prep == "on" and last in _LASTING_ON)


def _read_adjective(chain: Chain, adjective: Token, dated: frozenset[int]) -> Iterator[Reading]:
    age = _age_of(adjective)
    if age:
        yield Reading("has age", age)
        return
    aspects = list(_read_aspects(chain, adjective, dated))
    yield from aspects
    if any(reading.predicate != "has" for reading in aspects):
        return
    yield from _gerund_interest(chain, adjective, dated)
    if height := _height_of(adjective):
        yield Reading("has height", height)
        return
    yield from _read_states(chain, adjective)


def _read_aspects(chain: Chain, adjective: Token, dated: frozenset[int]) -> Iterator[Reading]:
    """`allergic to nuts`, `interested in chess`, `divorced with two kids`."""
    word = adjective.lower_
    for prep, nouns in prepositions_of(adjective, dated) or prepositions_of(chain.verb, dated):
        rule = RULES.get(_be_key(chain, f"{word} {prep}"))
        if prep == "with" and rule is None and word in _ALONE:
            had = (phrase_of(n, dated) for n in nouns if relations.is_relation(n.lower_))
            yield from (Reading("has", p.text) for p in had if p)
            continue
        is_state = word in ALLOWED_FLEETING_STATES and prep in {"to", "from", "by"}
        if not (rule or is_state or word in _STATE_PREPS or f"{word} {prep}" in _ASPECTS):
            continue
        name = rule.predicate if rule else f"{_is(chain)} {word} {prep}"
        for noun in nouns:
            if phrase := phrase_of(noun, dated):
                hint, after = (rule.type, rule.after) if rule else (None, None)
                yield reading_of(name, phrase, hint, after)


def _read_states(chain: Chain, adjective: Token) -> Iterator[Reading]:
    """`vegetarian`, `colour blind`, `lactose intolerant`."""
    whole = adjective.lower_ in {"intolerant", "free", "blind"}
    listed = [c for c in adjective.lefts if c.dep_ == "amod" and not whole]
    for one in [*listed, *conjuncts(adjective)]:
        first = [
            c.lower_
            for c in one.lefts
            if c.dep_ in _QUALIFIES and c.pos_ in {"NOUN", "ADJ"} and c.tag_ != "NNS"
        ]
        if one.lower_ in ALLOWED_FLEETING_STATES or (first and one.lower_ in {"blind", "free"}):
            yield Reading(_is(chain), " ".join([*first, one.lower_]))


_ALONE = frozenset({"divorced", "separated", "single", "married"})
_HEIGHT = re.compile(r"\b(\d[\d.,]*\s?(?:cm|m|metres|meters|feet|ft)\b.*|\d'\d+\"?)\s*tall")


def _height_of(adjective: Token) -> str:
    start = adjective.doc[max(0, adjective.i - 4)].idx
    match = _HEIGHT.search(adjective.doc.text[start : adjective.idx + 4])
    return match.group(1).strip() if match and adjective.lower_ == "tall" else ""


def _gerund_interest(chain: Chain, adjective: Token, dated: frozenset[int]) -> Iterator[Reading]:
    for prep in adjective.children:
        if prep.dep_ != "prep" or adjective.lower_ not in {
            "interested",
            "afraid",
            "passionate",
            "keen",
            "obsessed",
            "scared",
            "good",
            "bad",
        }:
            continue
        for verb in prep.children:
            said = activity(verb, dated) if verb.dep_ == "pcomp" and verb.tag_ == "VBG" else ""
            if said and not says_too_little(said, verb):
                yield Reading(f"{_is(chain)} {adjective.lower_} {prep.lower_}", said)


_NUMBER_WORDS = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty"
)
_NUMBERS = {word: str(n) for n, word in enumerate(_NUMBER_WORDS.split(), start=1)}


def _age_of(word: Token) -> str:
    """`34 years old`, `34`, `34-year-old`."""
    tokens = [t.lower_ for t in word.subtree if not t.is_punct]
    if word.lower_ == "old" or "old" in tokens:
        numbers = [_NUMBERS.get(t, t) for t in tokens if t.isdigit() or t in _NUMBERS]
        return numbers[0] if len(numbers) == 1 and "than" not in tokens else ""
    number = _NUMBERS.get(word.lower_, word.lower_)
    is_alone = len(tokens) == 1 or word.dep_ == "attr"
    return number if number.isdigit() and 0 < int(number) < 110 and is_alone else ""


def _read_noun(
    chain: Chain, noun: Token, subject_noun: str, dated: frozenset[int]
) -> Iterator[Reading]:
    age = _age_of(noun)
    if age and noun.lower_ not in {"year-old"}:
        yield Reading("has age", age)
        return
    phrase = phrase_of(noun, dated)
    if phrase is None:
        return
    preps = prepositions_of(noun, dated)
    if is_name(noun) and not any(c.dep_ == "det" for c in noun.children):
        if phrase.text in ALLOWED_FLEETING_STATES:
            yield Reading(_is(chain), phrase.text)
        elif phrase.label not in {"GPE", "DATE", "TIME", "CARDINAL"} and not chain.negated:
            yield Reading("has name", phrase.text, is_proper=True)
        return
    person = subject_noun == "user" or relations.is_person(subject_noun)
    yield from _read_kind(chain, phrase, preps, dated, person)


def _read_kind(
    chain: Chain, phrase: Phrase, preps: Prepositions, dated: frozenset[int], is_person: bool
) -> Iterator[Reading]:
    """`a nurse at Charité`, `a student`, `a fan of Arsenal`, `a vegetarian`."""
    last = phrase.text.split(" of ")[0].split()[-1]
    if last in _FANS or last == "member":
        yield from (_read_fan if last in _FANS else _read_member)(chain, phrase, last)
        return
    if phrase.head.tag_ == "NNS":
        last = phrase.head.lemma_.lower()
        phrase = replace(phrase, text=phrase.text.removesuffix(phrase.head.lower_) + last)
    if last == "student":
        yield from _read_student(chain, phrase, preps, dated)
    elif _HOBBYISTS & set(phrase.text.split()):
        yield Reading(_is(chain), phrase.text)
    elif is_person and is_role(phrase.text) and not chain.negated:
        yield from _read_role(phrase, preps, dated)
    elif last in _LASTING_KINDS or last in ALLOWED_FLEETING_STATES:
        yield Reading(_is(chain), phrase.text, phrase.label, phrase.is_proper)
    if last in _PARENTS:
        for prep, nouns in preps:
            for child in nouns if prep == "of" else []:
                yield from named_readings(child)


def _is_named_in(phrase: Phrase) -> bool:
    """Whether a name stands after the head (`a member of Ironworks Gym`)."""
    return any(is_name(t) for t in phrase.head.subtree)


def _read_member(chain: Chain, phrase: Phrase, last: str) -> Iterator[Reading]:
    """`a member of Ironworks Gym`."""
    if group := phrase.text.partition(" of ")[2]:
        is_named = phrase.is_proper or _is_named_in(phrase)
        yield Reading(f"{_is(chain)} {last} of", group, "ORG", is_named)


def _read_student(
    chain: Chain, phrase: Phrase, preps: Prepositions, dated: frozenset[int]
) -> Iterator[Reading]:
    yield Reading(_is(chain), phrase.text)
    for prep, nouns in preps:
        for noun in nouns:
            thing = phrase_of(noun, dated)
            if thing and prep == "in":
                yield reading_of("studies", thing, EntityType.TOPIC, "ended")
            elif thing and prep in {"at", "with"} and thing.is_proper:
                yield reading_of("studies at", thing, EntityType.ORG, "ended")


def _read_role(phrase: Phrase, preps: Prepositions, dated: frozenset[int]) -> Iterator[Reading]:
    """The occupation, and the employer that is told with it (`at Miro`, `the CTO of Lumo`)."""
    places = [(p, n, o) for p, ns in preps for n in ns if (o := phrase_of(n, dated))]
    owners = [o for p, _, o in places if p == "of" and o.is_proper]
    role = phrase.text.split(" of ")[0] if owners else phrase.text
    yield Reading("works as", role, hint=EntityType.ROLE, after="ended")
    employers = [o for p, n, o in places if p in {"at", "for", "with"} and is_name(n)]
    named = [o for p, n, o in places if p in {"at", "for"} and o.is_proper and not is_name(n)]
    yield from _role_work(phrase.head, dated)
    for employer in [*owners, *employers, *named]:
        yield reading_of("works at", employer, EntityType.ORG, "ended")


def _role_work(role: Token, dated: frozenset[int]) -> Iterator[Reading]:
    """`a scientist working on fraud detection at Revolut`."""
    for verb in role.children:
        if verb.dep_ != "acl" or verb.lower_ not in {"working", "studying", "living"}:
            continue
        for prep, nouns in prepositions_of(verb, dated):
            rule = RULES.get(f"{lemma_of(verb)} {prep}")
            for noun in nouns if rule else []:
                if rule and (thing := phrase_of(noun, dated)):
                    yield reading_of(rule.predicate, thing, rule.type, rule.after)


_HOBBYISTS = words("copulas", "hobbyists")
_PARENTS = frozenset({"dad", "mom", "mum", "father", "mother", "parent"})
_LASTING_KINDS = words("copulas", "lasting_kinds")


def _read_fan(chain: Chain, phrase: Phrase, last: str) -> Iterator[Reading]:
    name = "dislikes" if chain.negated else "likes"
    before, _, after = phrase.text.partition(" of ")
    liked = after or " ".join(
        w for w in before.split()[:-1] if w not in {"huge", "massive", "total"}
    )
    liked = " ".join(w for w in liked.split() if w not in {"a", "an", "the"})
    if liked and liked not in EMPTY_OBJECTS:
        yield Reading(name, liked, phrase.label, phrase.is_proper)
