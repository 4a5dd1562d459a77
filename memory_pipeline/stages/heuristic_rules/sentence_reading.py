"""Reads one parsed sentence into drafts: clauses, subjects, links, endings and dates together.

What belongs here: the order in which the rules are asked. What does not: the rules themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from memory_pipeline.domain.extraction import EntityType, KnownLists
from memory_pipeline.stages.heuristic_rules import relations
from memory_pipeline.stages.heuristic_rules.attributes import is_property, owner_of, read_property
from memory_pipeline.stages.heuristic_rules.cast import USER, Cast, Link
from memory_pipeline.stages.heuristic_rules.clauses import (
    Clause,
    Tense,
    clauses_of,
    is_elided_user,
)
from memory_pipeline.stages.heuristic_rules.copulas import read_be, read_have
from memory_pipeline.stages.heuristic_rules.dating import dated, dated_phrases
from memory_pipeline.stages.heuristic_rules.drafts import SHAKY, SURE, Draft
from memory_pipeline.stages.heuristic_rules.endings import (
    close_known,
    ended_things,
    says_no_longer,
)
from memory_pipeline.stages.heuristic_rules.entity_types import type_of
from memory_pipeline.stages.heuristic_rules.gates import Reason
from memory_pipeline.stages.heuristic_rules.intros import read_intro
from memory_pipeline.stages.heuristic_rules.noun_phrases import is_name, phrase_of
from memory_pipeline.stages.heuristic_rules.predicates import HABIT_MARKERS
from memory_pipeline.stages.heuristic_rules.readings import (
    Reading,
    is_durable,
    prepositions_of,
    read_verb,
)
from memory_pipeline.stages.heuristic_rules.sentences import Sentence
from memory_pipeline.stages.heuristic_rules.verbs import Chain, follow, is_passive, lemma_of
from memory_pipeline.stages.heuristic_rules.words import words

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

_BLOCKED_MODALS = words("sentence_reading", "blocked_modals")


@dataclass(frozen=True)
class SentenceOutcome:
    """Drafts of a sentence, or the reason why there are none."""

    drafts: tuple[Draft, ...]
    reason: Reason | None


@dataclass(frozen=True)
class _Scene:
    """A sentence with everything that its clauses share."""

    doc: Doc
    sentence: Sentence
    cast: Cast
    known: KnownLists
    dated_tokens: frozenset[int]
    has_date: bool


def read_sentence(
    doc: Doc, sentence: Sentence, said_at: datetime, cast: Cast, known: KnownLists
) -> SentenceOutcome:
    """What a sentence that passed the gates says, dated and quoted."""
    matches = dated_phrases(doc.text, said_at)
    tokens = frozenset(t.i for t in doc for m in matches if m.start <= t.idx < m.end)
    scene = _Scene(doc, sentence, cast, known, tokens, bool(matches))
    links = cast.read(doc)
    found = [d for link in links if link.is_named for d in _link_drafts(link, doc)]
    clauses = clauses_of(doc)
    for clause in clauses:
        found.extend(_read_clause(clause, scene))
    found = _with_links([*read_intro(doc.text), *found, *_ages(links, doc)], cast)
    bounded = [dated(_widened(d, clauses, doc), matches, said_at.date()) for d in found]
    quoted = [replace(d, quote=sentence.quote(d.start, d.end)) for d in bounded]
    return SentenceOutcome(tuple(quoted), None if quoted else _reason(doc, clauses))


def _reason(doc: Doc, clauses: list[Clause]) -> Reason:
    if not clauses:
        return Reason.NO_PARSE
    ordered = all(not c.subjects and not is_elided_user(c) for c in clauses)
    return Reason.REQUEST if ordered else Reason.FLEETING


def _widened(draft: Draft, clauses: list[Clause], doc: Doc) -> Draft:
    """A date anywhere in a sentence of one clause belongs to that clause."""
    return replace(draft, start=0, end=len(doc.text)) if len(clauses) <= 1 else draft


def _link_drafts(link: Link, doc: Doc) -> list[Draft]:
    kind = relations.type_of_relation(link.noun)
    at = doc[link.at].idx
    return [
        Draft(
            link.owner,
            link.predicate,
            link.name,
            kind,
            start=at,
            end=at + len(link.noun),
            is_link=True,
        )
    ]


_AGE_AFTER = re.compile(r"^(?:\s*,\s*|\s*\()(\d{1,2})(?=\s*[,)]|\s+and\b)")


def _ages(links: list[Link], doc: Doc) -> list[Draft]:
    """`my daughter Zoe, 7, ...` and `Zoe (7)`."""
    found = []
    lowered = doc.text.lower()
    for link in links:
        start = lowered.find(link.name) + len(link.name)
        match = _AGE_AFTER.match(doc.text[start:]) if link.is_named else None
        if match:
            found.append(Draft(link.name, "has age", match.group(1), end=len(doc.text)))
    return found


def _with_links(drafts: list[Draft], cast: Cast) -> list[Draft]:
    """Adds the link of every subject that has only its relation word, so that it is reachable."""
    linked = list(drafts)
    for draft in drafts:
        link = cast.link_called(draft.subject)
        if link is not None and not link.is_named and not draft.is_link:
            linked.insert(
                0,
                Draft(
                    link.owner,
                    link.predicate,
                    link.name,
                    EntityType.PERSON,
                    start=draft.start,
                    end=draft.end,
                    is_link=True,
                ),
            )
    return linked


def _read_clause(clause: Clause, scene: _Scene) -> Iterator[Draft]:
    chain = follow(clause)
    if chain is None:
        return
    blocked = (
        chain.modal in _BLOCKED_MODALS and lemma_of(chain.verb) != "prefer" and not chain.likes
    )
    if blocked and chain.modal not in {"may", "might"}:
        return
    if clause.subjects and _may_name(clause, chain):
        named = list(_read_naming(clause, chain, scene))
        if named:
            yield from named
            return
    for subject, noun in _subjects(clause, scene):
        for draft in _drafts_for(subject, noun, clause, chain, scene):
            shaky = clause.is_hedged or (clause.reporter is not None and subject == USER)
            yield replace(draft, confidence=SHAKY if shaky else SURE)


def _may_name(clause: Clause, chain: Chain) -> bool:
    verb = chain.verb
    if lemma_of(verb) == "be" or clause.subjects[0].lower_ in {"job", "internship"}:
        return True
    if lemma_of(verb) in {"call", "name"} and is_passive(verb):
        return True
    return chain.tense == Tense.PROGRESSIVE and relations.is_attribute(clause.subjects[0].lower_)


def _subjects(clause: Clause, scene: _Scene) -> Iterator[tuple[str, str]]:
    """Names of the subjects with the noun that was used for them."""
    if not clause.subjects:
        if is_elided_user(clause):
            yield USER, USER
        return
    for token in clause.subjects:
        name = scene.cast.subject_for(token)
        if name is not None:
            link = scene.cast.link_called(name)
            yield name, USER if name == USER else link.noun if link else "person"


def _read_naming(clause: Clause, chain: Chain, scene: _Scene) -> Iterator[Draft]:
    """`my manager is Tomas`, `Tomas is my manager`, `her name is Ana`, `my birthday is ...`."""
    subject = clause.subjects[0]
    complement = next(
        (c for c in chain.verb.children if c.dep_ in {"attr", "oprd"} and c.i > chain.verb.i), None
    )
    link = scene.cast.link_at(subject)
    if complement is not None and relations.is_relation(complement.lower_):
        below = scene.cast.link_at(complement)
        if below and not below.is_named and is_name(subject) and not chain.negated:
            yield from _named(below, _full_name(subject), clause, scene)
        return
    if link and not link.is_named and complement is not None and is_name(complement):
        yield from _named(link, _full_name(complement), clause, scene)
        return
    if complement is not None and not chain.negated:
        turned = list(_read_turned(subject, complement, clause, scene))
        if turned:
            yield from turned
            return
    owner = owner_of(subject, scene.cast)
    if owner is not None and subject.lower_ in {"job", "position", "role", "internship"}:
        yield from _read_job(owner, subject, clause, chain, scene)
    if owner is None or not is_property(subject) or chain.negated:
        return
    if subject.lower_ == "name" and owner != USER:
        link = scene.cast.link_called(owner)
        if link and complement is not None and is_name(complement):
            yield from _named(link, _full_name(complement), clause, scene)
        return
    if chain.tense == Tense.PAST:
        return
    for reading in read_property(subject, chain.verb, scene.dated_tokens):
        yield _draft(owner, reading, clause, scene)


def _read_job(
    owner: str, job: Token, clause: Clause, chain: Chain, scene: _Scene
) -> Iterator[Draft]:
    """`my new job at Canva starts on 1 July`."""
    for prep, nouns in prepositions_of(job, scene.dated_tokens):
        for noun in nouns if prep in {"at", "with"} and lemma_of(chain.verb) != "end" else []:
            if is_name(noun) and (place := phrase_of(noun)):
                yield Draft(
                    owner,
                    "works at",
                    place.text,
                    EntityType.ORG,
                    start=clause.start,
                    end=clause.end,
                    is_future=lemma_of(chain.verb) in {"start", "begin"},
                )


def _read_turned(
    subject: Token, complement: Token, clause: Clause, scene: _Scene
) -> Iterator[Draft]:
    """`Ramen is my favourite food`."""
    owner = owner_of(complement, scene.cast)
    favourite = [c for c in complement.children if c.lower_ == "favourite"]
    phrase = phrase_of(subject, scene.dated_tokens)
    if owner and favourite and phrase and subject.pos_ in {"NOUN", "PROPN"}:
        topic = phrase_of(complement)
        if topic is not None:
            yield Draft(
                owner,
                f"has favourite {topic.text}",
                phrase.text,
                start=clause.start,
                end=clause.end,
            )


def _full_name(token: Token) -> str:
    words = [t for t in token.lefts if t.dep_ == "compound" and is_name(t)]
    return " ".join(t.lower_ for t in [*words, token])


def _named(link: Link, name: str, clause: Clause, scene: _Scene) -> Iterator[Draft]:
    named = replace(link, name=name, is_named=True)
    scene.cast.remember(named)
    kind = relations.type_of_relation(link.noun)
    yield Draft(
        link.owner, link.predicate, name, kind, start=clause.start, end=clause.end, is_link=True
    )


def _drafts_for(
    subject: str, noun: str, clause: Clause, chain: Chain, scene: _Scene
) -> Iterator[Draft]:
    if _is_gone(clause, chain):
        yield from _gone(subject, scene, clause)
        return
    ended = list(ended_things(chain, scene.dated_tokens))
    for ending, reading in ended:
        draft = replace(_draft(subject, reading, clause, scene), is_ended=True)
        if subject != USER and ending.predicate == "owns":
            continue
        yield close_known(draft, ending.closes, scene.known)
    if (ended and not _moves(chain)) or lemma_of(chain.verb) in {"quit", "stop"}:
        return
    over = says_no_longer(scene.doc.text[clause.start : clause.end], chain.negated)
    if over:
        chain = replace(chain, negated=False, is_ended=True)
    yield from _read_birth(subject, clause, chain, scene)
    for reading in _readings(noun, chain, scene):
        if noun != USER and chain.tense == Tense.PROGRESSIVE and reading.is_general:
            continue
        draft = _draft(subject, reading, clause, scene)
        _remember_named(draft, scene)
        if over or chain.is_ended:
            draft = close_known(
                replace(draft, is_ended=True), _same_topic(draft.predicate), scene.known
            )
        elif chain.is_history or _is_over(chain, reading):
            draft = close_known(replace(draft, is_history=True), (), scene.known)
        yield replace(
            draft,
            is_past=chain.tense in {Tense.PAST, Tense.PERFECT} or chain.is_started,
            is_future=chain.tense == Tense.FUTURE,
        )


def _remember_named(draft: Draft, scene: _Scene) -> None:
    noun = draft.predicate.removeprefix("has ")
    if draft.predicate.startswith("has ") and relations.is_relation(noun) and draft.type:
        scene.cast.remember(Link(draft.subject, noun, draft.object, True, -1))


def _read_birth(subject: str, clause: Clause, chain: Chain, scene: _Scene) -> Iterator[Draft]:
    """`was born in 1988`, `turned 30`."""
    lemma = lemma_of(chain.verb)
    if lemma == "turn" and chain.tense in {Tense.PAST, Tense.PERFECT}:
        for child in chain.verb.children:
            if child.tag_ == "CD" and child.text.isdigit() and 1 < int(child.text) < 110:
                yield Draft(subject, "has age", child.text, start=clause.start, end=clause.end)
    if lemma == "bear" and chain.tense == Tense.PAST:
        text = scene.doc.text[clause.start : clause.end]
        if match := _BORN.search(text):
            name = "was born on" if any(c.isalpha() for c in match[1]) else "was born in"
            yield Draft(subject, name, match[1].lower(), start=0, end=0)


_BORN = re.compile(
    r"\bborn (?:in|on) (?:the )?((?:[\w ,]{0,20}\b)?(?:19|20)\d\d|\d{1,2}(?:st|nd|rd|th)? (?:of )?[A-Z]\w+|[A-Z][a-z]+ \d{1,2}(?:st|nd|rd|th)?)\b"
)


def _is_gone(clause: Clause, chain: Chain) -> bool:
    lemma = lemma_of(chain.verb)
    words = {c.lower_ for c in chain.verb.children if c.dep_ in {"prt", "advmod"}}
    dies = lemma == "die" or (lemma == "pass" and "away" in words)
    leaves = (
        lemma == "move"
        and "out" in words
        and not any(c.dep_ == "prep" for c in chain.verb.children)
    )
    return (dies or leaves) and chain.tense in {Tense.PAST, Tense.PERFECT}


def _gone(subject: str, scene: _Scene, clause: Clause) -> Iterator[Draft]:
    """Somebody linked to the user died, or moved out: the link has ended."""
    link = scene.cast.link_called(subject)
    leaves = lemma_of(clause.head) == "move"
    if link is None or (leaves and link.noun not in {"roommate", "flatmate", "housemate"}):
        return
    kind = relations.type_of_relation(link.noun)
    yield Draft(
        link.owner,
        link.predicate,
        link.name,
        kind,
        start=clause.start,
        end=clause.end,
        is_ended=True,
        is_link=True,
    )


def _moves(chain: Chain) -> bool:
    return lemma_of(chain.verb) in {"move", "switch", "change"}


def _same_topic(predicate: str) -> tuple[str, ...]:
    if predicate in {"works at", "works for", "works in"}:
        return ("works at", "works for", "works in")
    return (predicate,)


def _is_over(chain: Chain, reading: Reading) -> bool:
    return chain.tense == Tense.PAST and reading.after == "ended" and not chain.is_started


def _readings(noun: str, chain: Chain, scene: _Scene) -> Iterator[Reading]:
    lemma, tokens = lemma_of(chain.verb), scene.dated_tokens
    if lemma == "be" and not chain.likes and not chain.wants:
        past = chain.tense == Tense.PAST and not chain.is_history
        for reading in read_be(chain, noun, tokens):
            if not past or reading.after is not None:
                yield reading
        return
    if lemma in {"have", "'ve"} and not chain.likes and not chain.wants:
        if chain.tense != Tense.PAST or chain.is_history:
            yield from read_have(chain, scene.has_date, tokens)
        return
    marker = any(t.lower_ in HABIT_MARKERS for t in scene.doc)
    for reading in read_verb(chain, tokens):
        if is_durable(reading, chain, scene.has_date, marker):
            yield reading


def _draft(subject: str, reading: Reading, clause: Clause, scene: _Scene) -> Draft:
    kind = type_of(reading.object, reading.label, reading.is_proper, reading.hint)
    return Draft(
        subject, reading.predicate, reading.object, kind, start=clause.start, end=clause.end
    )
