"""Clauses that name: `my manager is Tomas`, `her name is Ana`, `my birthday is 3 May`.

What belongs here: names of linked people, properties told by possession. What does not: what
linked people do (clause_reading).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from memory_pipeline.domain.extraction import EntityType
from memory_pipeline.stages.heuristic_rules import relations
from memory_pipeline.stages.heuristic_rules.attributes import is_property, owner_of, read_property
from memory_pipeline.stages.heuristic_rules.cast import USER, Link
from memory_pipeline.stages.heuristic_rules.clauses import Clause, Tense
from memory_pipeline.stages.heuristic_rules.drafts import Draft
from memory_pipeline.stages.heuristic_rules.naming import given_names
from memory_pipeline.stages.heuristic_rules.noun_phrases import is_name, phrase_of
from memory_pipeline.stages.heuristic_rules.scene import Scene, draft_of
from memory_pipeline.stages.heuristic_rules.verb_objects import prepositions_of
from memory_pipeline.stages.heuristic_rules.verbs import Chain, is_passive, lemma_of

if TYPE_CHECKING:
    from spacy.tokens import Token

# `my hobbies are climbing and ...` is parsed as if the hobbies climbed.
_PASTIMES = frozenset({"hobby", "hobbies", "interests", "pastimes"})
_JOBS = frozenset({"job", "position", "role", "internship"})


def may_name(clause: Clause, chain: Chain) -> bool:
    """Whether a clause has the form of one that names or states a property."""
    verb, subject = chain.verb, clause.subjects[0]
    if lemma_of(verb) == "be" or subject.lower_ in _JOBS:
        return True
    if lemma_of(verb) in {"call", "name"} and is_passive(verb):
        return True
    return chain.tense == Tense.PROGRESSIVE and subject.lower_ in _PASTIMES


def read_naming(clause: Clause, chain: Chain, scene: Scene) -> list[Draft]:
    """Drafts of a naming clause; empty when it names nothing and must be read as any other."""
    subject = clause.subjects[0]
    complement = next(
        (
            c
            for c in chain.verb.rights
            if c.dep_ in {"attr", "oprd"} or (c.dep_ == "acomp" and is_name(c))
        ),
        None,
    )
    if complement is not None and not chain.negated:
        named = _read_name(subject, complement, clause, scene) or _read_turned(
            subject, complement, clause, scene
        )
        if named:
            return named
    owner = owner_of(subject, scene.cast)
    if owner is None or chain.negated or not is_property(subject) or chain.tense == Tense.PAST:
        return []
    found = list(_read_job(owner, subject, clause, chain, scene))
    if subject.lower_ == "name" and owner != USER:
        return found
    readings = read_property(subject, chain.verb, scene.dated)
    return [*found, *(draft_of(owner, r, clause) for r in readings)]


def _read_name(subject: Token, complement: Token, clause: Clause, scene: Scene) -> list[Draft]:
    """The name of somebody linked to the user, whichever side of the verb it stands on."""
    if relations.is_relation(complement.lower_):
        link = scene.cast.link_at(complement)
        is_told = link is not None and not link.is_named and _may_be_name(subject, complement)
        return _named(link, full_name(subject), clause, scene) if link and is_told else []
    if not is_name(complement):
        return _read_called(subject, complement, clause, scene)
    link = scene.cast.link_at(subject)
    if subject.lower_ == "name":
        owner = owner_of(subject, scene.cast)
        link = scene.cast.link_called(owner) if owner and owner != USER else None
    elif link is not None and link.is_named:
        return []
    return _named(link, full_name(complement), clause, scene) if link else []


def _may_be_name(subject: Token, complement: Token) -> bool:
    """`Siem is my nephew`: a bare capital opens the sentence, whatever the tagger takes it for."""
    is_bare = subject.text[:1].isupper() and subject.pos_ == "NOUN" and not list(subject.children)
    is_kin = complement.lower_ not in {"friend", "friends", "boss", "teacher", "coach"}
    return is_name(subject) or (is_bare and is_kin)


def _read_called(subject: Token, complement: Token, clause: Clause, scene: Scene) -> list[Draft]:
    """`she's a tortie called Pickle`: name and kind of an animal that had no name so far."""
    names = given_names(complement)
    link = scene.cast.person_for(subject.lower_) if subject.pos_ == "PRON" else None
    if link is None or link.is_named or len(names) != 1 or not relations.is_animal(link.noun):
        return []
    named = _named(link, names[0], clause, scene)
    kind = " ".join(t.lower_ for t in complement.lefts if t.dep_ == "compound")
    said = f"{kind} {complement.lower_}".strip()
    start, end = clause.start, clause.end
    return [*named, Draft(names[0], "is", said, start=start, end=end)]


def full_name(token: Token) -> str:
    """A name with the names before it, lower-cased."""
    before = [t for t in token.lefts if t.dep_ == "compound" and is_name(t)]
    return " ".join(t.lower_ for t in [*before, token])


def _named(link: Link, name: str, clause: Clause, scene: Scene) -> list[Draft]:
    scene.cast.remember(replace(link, name=name, is_named=True))
    kind = relations.type_of_relation(link.noun)
    start, end = clause.start, clause.end
    return [Draft(link.owner, link.predicate, name, kind, start=start, end=end, is_link=True)]


def _read_turned(subject: Token, complement: Token, clause: Clause, scene: Scene) -> list[Draft]:
    """`Ramen is my favourite food`."""
    owner = owner_of(complement, scene.cast)
    is_favourite = any(c.lower_ == "favourite" for c in complement.children)
    value, topic = phrase_of(subject, scene.dated), phrase_of(complement)
    if not (owner and is_favourite and value and topic) or subject.pos_ == "PRON":
        return []
    predicate = f"has favourite {topic.text}"
    return [Draft(owner, predicate, value.text, start=clause.start, end=clause.end)]


def _read_job(
    owner: str, job: Token, clause: Clause, chain: Chain, scene: Scene
) -> Iterator[Draft]:
    """`my new job at Canva starts on 1 July`."""
    if job.lower_ not in _JOBS or lemma_of(chain.verb) == "end":
        return
    is_future = lemma_of(chain.verb) in {"start", "begin"}
    for prep, nouns in prepositions_of(job, scene.dated):
        for noun in nouns if prep in {"at", "with"} else []:
            place = phrase_of(noun) if is_name(noun) else None
            if place is not None:
                draft = Draft(owner, "works at", place.text, EntityType.ORG)
                yield replace(draft, start=clause.start, end=clause.end, is_future=is_future)
