"""What a verb acts on in the parse: objects, particles, prepositions, with common slips repaired.

What belongs here: tokens. What does not: how memory words them (noun_phrases, readings).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory_pipeline.stages.heuristic_rules.noun_phrases import (
    conjuncts,
    phrase_of,
    stray_conjuncts,
)
from memory_pipeline.stages.heuristic_rules.verbs import Chain, gerund, lemma_of
from memory_pipeline.stages.heuristic_rules.words import words

if TYPE_CHECKING:
    from spacy.tokens import Token

_PREPS = frozenset({"prep", "agent", "dative"})
_NOUNISH = frozenset({"NN", "NNS", "NNP", "NNPS", "VBN", "JJ", "VBG"})
_SLIPPED_DEPS = frozenset({"dep", "acomp", "advmod", "attr", "npadvmod", "punct"})
_ANYBODY = frozenset({"people", "others"})
_ANYWHERE = frozenset({"place", "places", "community"})  # `a safe place`, but not `a place`
_PARTICLES = frozenset({"away", "off", "up", "out"})
_TAKE_CLAUSES = frozenset({"see", "hear", "have"})
_NOT_OBJECTS = words("verb_objects", "not_objects")
_CARRIERS = words("verb_objects", "carriers")
_TIME_WORDS = words("verb_objects", "time_words")

Prepositions = list[tuple[str, list["Token"]]]


@dataclass(frozen=True)
class Arguments:
    """A chain with what its verb acts on; `stem` is the base form with its particle."""

    chain: Chain
    stem: str
    nouns: list[Token]
    preps: Prepositions
    dated: frozenset[int]

    @property
    def negation(self) -> str:
        """`not ` before the stem in keys of rules."""
        return "not " if self.chain.negated else ""


def arguments_of(chain: Chain, dated: frozenset[int]) -> Arguments:
    """The arguments of the verb that carries the fact; tokens in `dated` are left out."""
    verb = chain.verb
    stem = f"{lemma_of(verb)} {particle_of(verb)}".strip()
    return Arguments(chain, stem, objects_of(verb, dated), prepositions_of(verb, dated), dated)


def _tells_time(token: Token, dated: frozenset[int]) -> bool:
    return token.i in dated or token.ent_type_ == "TIME" or token.lemma_.lower() in _TIME_WORDS


def objects_of(verb: Token, dated: frozenset[int]) -> list[Token]:
    """Direct objects, lists taken apart."""
    direct = [c for c in verb.children if c.dep_ in {"dobj", "oprd"}]
    found = [
        noun
        for child in [*direct, *_objects_taken_for_subjects(verb)]
        if not _tells_time(child, dated)
        for noun in conjuncts(child)
    ]
    return [*(found or _slipped_objects(verb, dated)), *(stray_conjuncts(verb) if found else ())]


def _objects_taken_for_subjects(verb: Token) -> list[Token]:
    """`run a shop selling candles`: the parser lets the shop be the seller."""
    if any(c.dep_ == "dobj" for c in verb.children) or verb.lemma_.lower() in _TAKE_CLAUSES:
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
        if child.left_edge.i <= verb.i + 2
        and child.dep_ in _SLIPPED_DEPS
        and child.text[:1].isalpha()
        and child.tag_ in _NOUNISH
        and child.lower_ not in _NOT_OBJECTS
        and not _tells_time(child, dated)
        and lemma_of(verb) not in {"be", "live"}
    ]


def prepositions_of(verb: Token, dated: frozenset[int]) -> Prepositions:
    """Prepositions of a verb, adjective or noun with their nouns, dated phrases left out."""
    found: Prepositions = []
    carriers = [c for c in verb.children if c.dep_ == "dobj" and c.lemma_.lower() in _CARRIERS]
    for child in [*verb.children, *(g for c in carriers for g in c.children)]:
        if child.dep_ not in _PREPS or child.i in dated or child.i < verb.i:
            continue
        word, nouns = _prepositional(child, dated)
        if nouns:
            stray = stray_conjuncts(verb)
            if verb.dep_ == "acomp":
                stray = [*stray, *stray_conjuncts(verb.head)]
            found.append((word, [*(n for noun in nouns for n in conjuncts(noun)), *stray]))
    return found


def _prepositional(prep: Token, dated: frozenset[int]) -> tuple[str, list[Token]]:
    """The preposition's words (`out of`) and its nouns."""
    word = prep.lower_
    inner = [c for c in prep.children if c.dep_ == "prep"]
    if inner and not any(c.dep_ == "pobj" for c in prep.children):
        word, prep = f"{word} {inner[0].lower_}", inner[0]
    return word, [c for c in prep.children if c.dep_ == "pobj" and not _tells_time(c, dated)]


def particle_of(verb: Token) -> str:
    """The particle of a phrasal verb (`give up`), or nothing."""
    particle = next((c.lower_ for c in verb.children if c.dep_ == "prt"), "")
    beside = verb.nbor() if verb.i + 1 < len(verb.doc) else verb
    is_adverb = beside.head == verb and beside.dep_ == "advmod"
    if not particle and is_adverb and beside.lower_ in _PARTICLES:
        return beside.lower_
    return particle


def _acted_on(noun: Token, dated: frozenset[int]) -> str:
    """The object of an activity: `helping people` says something, `people` alone does not."""
    word, is_direct = noun.lower_, noun.dep_ in {"dobj", "conj"}
    phrase = phrase_of(noun, dated, bears_empty=is_direct and word in _ANYBODY | _ANYWHERE)
    if phrase is None or (word in _ANYWHERE and phrase.text == word):
        return ""
    return phrase.text


def activity(verb: Token, dated: frozenset[int]) -> str:
    """What somebody does, as words: `playing chess`, `hiking`, `going to concerts`."""
    said = [gerund(verb)]
    if particle := particle_of(verb):
        said.append(particle)
    things = [t for n in objects_of(verb, dated) if (t := _acted_on(n, dated))]
    if things:
        said.append(" and ".join(things))
    for prep, nouns in prepositions_of(verb, dated)[:1]:
        names = [p.text for n in nouns if (p := phrase_of(n, dated))]
        if names:
            said.extend((prep, " and ".join(names)))
    return " ".join(said)
