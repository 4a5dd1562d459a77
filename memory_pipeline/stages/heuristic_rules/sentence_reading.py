"""Reads one parsed sentence into drafts: links, clauses, dates and quotes together.

What belongs here: the order in which the rules are asked about a sentence, and the reason when
none of them finds anything. What does not: the rules themselves.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from memory_pipeline.domain.extraction import EntityType, KnownLists
from memory_pipeline.stages.heuristic_rules import relations
from memory_pipeline.stages.heuristic_rules.aliases import read_aliases
from memory_pipeline.stages.heuristic_rules.cast import Cast, Link
from memory_pipeline.stages.heuristic_rules.clause_reading import read_clause
from memory_pipeline.stages.heuristic_rules.clauses import Clause, clauses_of, is_elided_user
from memory_pipeline.stages.heuristic_rules.dating import dated, dated_phrases
from memory_pipeline.stages.heuristic_rules.drafts import Draft
from memory_pipeline.stages.heuristic_rules.gates import Reason
from memory_pipeline.stages.heuristic_rules.illnesses import read_illnesses
from memory_pipeline.stages.heuristic_rules.intros import read_intro
from memory_pipeline.stages.heuristic_rules.scene import Scene
from memory_pipeline.stages.heuristic_rules.sentences import Sentence
from memory_pipeline.stages.heuristic_rules.studies import read_studies

if TYPE_CHECKING:
    from spacy.tokens import Doc

_AGE_AFTER = re.compile(r"^(?:\s*,\s*|\s*\()(\d{1,2})(?=\s*[,)]|\s+and\b)")


@dataclass(frozen=True)
class SentenceOutcome:
    """Drafts of a sentence, or the reason why there are none."""

    drafts: tuple[Draft, ...]
    reason: Reason | None


def read_sentence(
    doc: Doc, sentence: Sentence, said_at: datetime, cast: Cast, known: KnownLists
) -> SentenceOutcome:
    """What a sentence that passed the gates says, dated and quoted."""
    phrases = dated_phrases(doc.text, said_at)
    tokens = frozenset(t.i for t in doc for m in phrases.other if m.start <= t.idx < m.end)
    scene = Scene(doc, cast, known, tokens, bool(phrases.other))
    links, clauses = cast.read(doc), clauses_of(doc)
    found = [*read_intro(doc.text), *(_link_draft(link, doc) for link in links if link.is_named)]
    found += [d for clause in clauses for d in read_clause(clause, scene)]
    found += [*read_illnesses(doc.text), *read_studies(doc.text), *read_aliases(doc.text, cast)]
    found = _with_links([*found, *_ages(links, doc)], cast)
    bounded = [dated(_widened(d, clauses, doc), phrases, said_at.date()) for d in found]
    quoted = tuple(replace(d, quote=sentence.quote(d.start, d.end)) for d in bounded)
    return SentenceOutcome(quoted, None if quoted else _reason(clauses))


def _reason(clauses: list[Clause]) -> Reason:
    if not clauses:
        return Reason.NO_PARSE
    is_order = all(not c.subjects and not is_elided_user(c) for c in clauses)
    return Reason.REQUEST if is_order else Reason.FLEETING


def _widened(draft: Draft, clauses: list[Clause], doc: Doc) -> Draft:
    """A date anywhere in a sentence of one clause belongs to that clause."""
    return replace(draft, start=0, end=len(doc.text)) if len(clauses) <= 1 else draft


def _link_draft(link: Link, doc: Doc) -> Draft:
    kind, at = relations.type_of_relation(link.noun), doc[link.at].idx
    end = at + len(link.noun)
    return Draft(link.owner, link.predicate, link.name, kind, start=at, end=end, is_link=True)


def _ages(links: list[Link], doc: Doc) -> list[Draft]:
    """`my daughter Zoe, 7, ...` and `Zoe (7)`."""
    found, lowered = [], doc.text.lower()
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
            bare = Draft(link.owner, link.predicate, link.name, EntityType.PERSON, is_link=True)
            linked.insert(0, replace(bare, start=draft.start, end=draft.end))
    return linked
