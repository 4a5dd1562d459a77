"""Reads one clause into drafts: subjects, naming, endings, then whatever the verb says.

What belongs here: the order in which the rules are asked about a clause. What does not: the rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from memory_pipeline.domain.extraction import EntityType
from memory_pipeline.stages.heuristic_rules import relations
from memory_pipeline.stages.heuristic_rules.cast import USER, Link
from memory_pipeline.stages.heuristic_rules.clauses import Clause, Tense, is_elided_user
from memory_pipeline.stages.heuristic_rules.copulas import read_be
from memory_pipeline.stages.heuristic_rules.drafts import SHAKY, SURE, Draft, Reading
from memory_pipeline.stages.heuristic_rules.durability import is_durable
from memory_pipeline.stages.heuristic_rules.endings import (
    close_known,
    ended_things,
    says_no_longer,
)
from memory_pipeline.stages.heuristic_rules.life_events import (
    read_birth,
    read_departure,
    read_parting,
)
from memory_pipeline.stages.heuristic_rules.naming_clauses import may_name, read_naming
from memory_pipeline.stages.heuristic_rules.possessions import read_have
from memory_pipeline.stages.heuristic_rules.predicates import HABIT_MARKERS
from memory_pipeline.stages.heuristic_rules.readings import read_verb
from memory_pipeline.stages.heuristic_rules.scene import Scene, draft_of
from memory_pipeline.stages.heuristic_rules.verbs import Chain, follow, lemma_of
from memory_pipeline.stages.heuristic_rules.words import words

_BLOCKED_MODALS = words("clause_reading", "blocked_modals")
_MOVES = frozenset({"move", "switch", "change", "trade", "replace", "swap"})
_LEAVING = _MOVES | {"leave", "quit", "sell", "cancel"}
_STOPS = frozenset({"quit", "stop"})
_OWNING = ("has", "owns", "drives", "rides", "uses")
_TIES = frozenset({"reports to", "is dating", "is engaged to", "is married to", "lives with"})
_WORK = ("works at", "works for", "works in")


def read_clause(clause: Clause, scene: Scene) -> Iterator[Draft]:
    """Drafts of a clause, none when nothing in it lasts or nobody linked is spoken of."""
    chain = follow(clause)
    if chain is None or _is_blocked(chain):
        return
    if clause.subjects and may_name(clause, chain):
        named = read_naming(clause, chain, scene)
        if named:
            yield from named
            return
    yield from read_parting(clause, chain, scene)
    for subject, noun in _subjects(clause, scene):
        is_shaky = clause.is_hedged or (clause.reporter is not None and subject == USER)
        for draft in _drafts_for(subject, noun, clause, chain, scene):
            yield replace(draft, confidence=SHAKY if is_shaky else SURE)


def _is_blocked(chain: Chain) -> bool:
    """`should`, `would`, `must`: not how things are, but for tastes and `would rather`."""
    if chain.modal not in _BLOCKED_MODALS or chain.likes or lemma_of(chain.verb) == "prefer":
        return False
    return not any(c.lower_ == "rather" for c in chain.verb.children)


def _subjects(clause: Clause, scene: Scene) -> Iterator[tuple[str, str]]:
    """Names of the subjects with the noun that was used for them."""
    if not clause.subjects and is_elided_user(clause):
        yield USER, USER
    for token in clause.subjects:
        name = scene.cast.subject_for(token)
        if name is not None:
            link = scene.cast.link_called(name)
            yield name, USER if name == USER else link.noun if link else "person"


def _drafts_for(
    subject: str, noun: str, clause: Clause, chain: Chain, scene: Scene
) -> Iterator[Draft]:
    departed = read_departure(subject, clause, chain, scene)
    ended = _ended(subject, clause, chain, scene)
    yield from (*departed, *ended)
    if departed or lemma_of(chain.verb) in _STOPS:
        return
    if ended and lemma_of(chain.verb) not in _MOVES:
        return
    if says_no_longer(scene.doc.text[clause.start : clause.end], chain.negated):
        chain = replace(chain, negated=False, is_ended=True)
    yield from read_birth(subject, clause, chain, scene)
    for reading in _readings(noun, chain, scene):
        if noun != USER and chain.tense == Tense.PROGRESSIVE and reading.is_general:
            continue  # what others are doing right now
        yield _timed(draft_of(subject, reading, clause), reading, chain, scene)


def _ended(subject: str, clause: Clause, chain: Chain, scene: Scene) -> list[Draft]:
    found = []
    for ending, reading in ended_things(chain, scene.dated):
        if subject == USER or ending.predicate != "owns":
            is_future = chain.tense == Tense.PROGRESSIVE and lemma_of(chain.verb) in _LEAVING
            draft = replace(draft_of(subject, reading, clause), is_ended=True, is_future=is_future)
            found.append(close_known(draft, ending.closes, scene.known))
    return found


def _timed(draft: Draft, reading: Reading, chain: Chain, scene: Scene) -> Draft:
    """The draft with what the verb's form says about its time."""
    _remember_named(draft, scene)
    if chain.is_ended:
        families = (_WORK, _OWNING)
        similar = next((f for f in families if draft.predicate in f), (draft.predicate,))
        if chain.tense == Tense.PROGRESSIVE:
            similar = (*similar, "plans")
        draft = close_known(replace(draft, is_ended=True), similar, scene.known)
    elif chain.is_history or _is_over(chain, reading):
        draft = close_known(replace(draft, is_history=True), (), scene.known)
    is_past = chain.tense in {Tense.PAST, Tense.PERFECT} or chain.is_started
    return replace(draft, is_past=is_past, is_future=chain.tense == Tense.FUTURE)


def _is_over(chain: Chain, reading: Reading) -> bool:
    return chain.tense == Tense.PAST and reading.after == "ended" and not chain.is_started


def _remember_named(draft: Draft, scene: Scene) -> None:
    """A link that the clause stated can be spoken of from now on."""
    if draft.object == USER:
        return
    if draft.type == EntityType.PERSON and draft.predicate in _TIES:
        scene.cast.remember(Link(draft.subject, "friend", draft.object, True, -1))
        return
    last = draft.object.split()[-1] if draft.object else ""
    if draft.predicate == "has" and draft.type is None and relations.is_animal(last):
        scene.cast.remember(Link(draft.subject, relations.singular(last), last, False, -1))
        return
    noun = draft.predicate.removeprefix("has ")
    if draft.predicate.startswith("has ") and relations.is_relation(noun) and draft.type:
        scene.cast.remember(Link(draft.subject, noun, draft.object, True, -1))


def _readings(noun: str, chain: Chain, scene: Scene) -> Iterator[Reading]:
    lemma = lemma_of(chain.verb)
    is_plain = not chain.likes and not chain.wants
    got = [c for c in chain.verb.rights if c.dep_ == "acomp" and c.i <= chain.verb.i + 2]
    if lemma == "get" and is_plain and got:
        yield from read_be(chain, noun, scene.dated)  # `got married to`, `got engaged`
    elif lemma == "be" and is_plain:
        is_past = chain.tense == Tense.PAST and not chain.is_history
        for reading in read_be(chain, noun, scene.dated):
            if not is_past or reading.after is not None:
                yield reading
    elif lemma in {"have", "'ve"} and is_plain and chain.modal not in {"would", "'d"}:
        if chain.tense != Tense.PAST or chain.is_history:
            yield from read_have(chain, scene.has_date, scene.dated)
    else:
        marker = any(t.lower_ in HABIT_MARKERS for t in scene.doc)
        for reading in read_verb(chain, scene.dated):
            if is_durable(reading, chain, scene.has_date, marker):
                yield reading
