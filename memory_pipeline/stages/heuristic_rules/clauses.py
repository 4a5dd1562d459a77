"""Finds the clauses of a parsed sentence: who, which verb, when, and how sure.

What belongs here: subjects, tense, negation, embedding. What does not: what is made of the
predicate (readings) and who `my sister` is (cast).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from memory_pipeline.stages.heuristic_rules.words import words

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token


class Tense(StrEnum):
    """What the verb's form says about time."""

    PRESENT = "present"
    PROGRESSIVE = "progressive"
    PAST = "past"
    PERFECT = "perfect"
    FUTURE = "future"


@dataclass(frozen=True)
class Clause:
    """One predicate with its subject. `subjects` is empty when the subject is left out."""

    head: Token
    subjects: tuple[Token, ...]
    tense: Tense
    negated: bool
    modal: str = ""
    is_hedged: bool = False
    reporter: Token | None = None
    start: int = 0
    end: int = 0


_HEAD_DEPS = words("clauses", "head_deps")
_SUBJECTS = frozenset({"nsubj", "nsubjpass"})
_FACTUAL_MARKS = words("clauses", "factual_marks")
_OCCASIONS = frozenset({"time", "moment", "day", "week", "minute", "second", "night", "way"})
_HEDGES = words("clauses", "hedges")
_PLAIN_SAYING = words("clauses", "plain_saying")
_SAYING = words("clauses", "saying")
_HEDGE_WORDS = words("clauses", "hedge_words")
_MISTAGGED = words("clauses", "mistagged")
_PRESENT_AUX = frozenset(["do", "does", "'s"])


def _is_head(token: Token) -> bool:
    if token.dep_ not in _HEAD_DEPS:
        return False
    if token.dep_ == "ROOT" and token.tag_ in {"NN", "NNP"}:  # `I tutor refugees`
        return any(c.dep_ == "nsubj" and c.lower_ in {"i", "we"} for c in token.lefts)
    if token.pos_ in {"VERB", "AUX"}:
        return token.dep_ != "conj" or token.head.pos_ in {"VERB", "AUX", "NOUN", "ADJ", "PROPN"}
    return token.lower_ in _MISTAGGED and token.dep_ == "conj"


def _own_subjects(head: Token) -> tuple[Token, ...]:
    found = [c for c in head.children if c.dep_ in _SUBJECTS]
    if not found:
        return ()
    subject = found[0]
    return (subject, *(c for c in subject.children if c.dep_ == "conj"))


def _subjects(head: Token) -> tuple[Token, ...] | None:
    """Subject nouns; empty when left out by the speaker; None when there is none to be found."""
    own = _own_subjects(head)
    if own:
        if own[0].lower_ in {"who", "which", "that"} and head.dep_ == "relcl":
            return (head.head,)
        return own
    if any(c.dep_ in {"expl", "csubj"} for c in head.children):
        return None
    if head.dep_ == "conj":
        orders = any(c.lower_ in {"so", "please"} for c in head.children)
        if head.tag_ == "VB" and orders and not any(c.dep_ == "aux" for c in head.children):
            return None
        above = head.head
        while above.dep_ in {"conj", "acomp", "attr"} and above.pos_ not in {"VERB", "AUX"}:
            above = above.head
        return _subjects(above) if above.pos_ in {"VERB", "AUX"} else None
    return () if head.dep_ == "ROOT" else None


def auxiliaries(head: Token) -> list[Token]:
    """Auxiliaries of a verb; a listed verb without its own takes those of the first."""
    own = [c for c in head.children if c.dep_ in {"aux", "auxpass"}]
    own += [g for c in own for g in c.children if g.dep_ == "aux"]
    if own or head.dep_ != "conj" or head.tag_ in {"VBD", "VBP", "VBZ"} or _own_subjects(head):
        return own
    return auxiliaries(head.head) if head.head.pos_ in {"VERB", "AUX"} else own


_PERFECT_TAGS = frozenset({"VBN", "VBD"})


_SAME_FORM = words("clauses", "same_form")


def _is_past_form(head: Token) -> bool:
    """`roasted` taken for a present tense."""
    return head.lower_.endswith("ed") and not head.lower_.endswith("eed") and len(head) > 4


def _same_in_past(head: Token) -> bool:
    return head.lower_ in _SAME_FORM or head.lower_.endswith("ed")


def _tense(head: Token, aux: list[Token]) -> tuple[Tense, str]:
    words = {a.lower_ for a in aux}
    lemmas = {a.lemma_.lower() for a in aux}
    modal = next((a.lower_ for a in aux if a.tag_ == "MD"), "")
    if modal in {"will", "'ll", "wo", "shall"}:
        return Tense.FUTURE, ""
    if modal:
        return Tense.PRESENT, modal
    has_have = bool(words & {"have", "has", "'ve"}) or (
        "'s" in words
        and head.tag_ == "VBN"
        and ("have" in lemmas or "been" in words or head.lower_ in {"been", "got", "had"})
    )
    if has_have and (head.tag_ in _PERFECT_TAGS or "been" in words):
        return Tense.PERFECT, ""
    if not aux and head.tag_ in {"VBP", "VB"} and _is_past_form(head):
        return Tense.PAST, ""
    if "getting" in words:
        return Tense.PROGRESSIVE, ""
    if head.tag_ == "VBG" and (lemmas & {"be"} or not aux):
        return (Tense.PAST if words & {"was", "were"} else Tense.PROGRESSIVE), ""
    mistagged = (
        head.tag_ == "VBD" and not aux and head.lower_ == head.lemma_ and not _same_in_past(head)
    )
    if mistagged:
        return Tense.PRESENT, ""
    past = head.tag_ in {"VBD", "VBN"} and not words & {"am", "is", "are", "'m", "'re", "'s"}
    if past or words & {"did", "was", "were", "had", "'d", "got"}:
        return Tense.PAST, ""
    return Tense.PRESENT, ""


def _is_negated(head: Token) -> bool:
    if any(c.dep_ == "neg" for c in head.children):
        return True
    if head.dep_ == "conj" and not _own_subjects(head):
        joined = any(c.lower_ in {"or", "nor"} for c in head.head.children if c.dep_ == "cc")
        return joined and _is_negated(head.head)
    return False


@dataclass(frozen=True)
class _Embedding:
    stands: bool
    is_hedged: bool = False
    reporter: Token | None = None


def _embedding(head: Token) -> _Embedding:
    """Whether a clause stands as a statement where it is embedded, and whose statement it is."""
    marks = [c.lower_ for c in head.children if c.dep_ == "mark"]
    if head.dep_ == "advcl":
        told = bool(_own_subjects(head)) and (not marks or marks[0] in _FACTUAL_MARKS)
        if any(c.lower_ in {"when", "whenever", "once", "before", "until"} for c in head.children):
            return _Embedding(False)
        return _Embedding(told) if told else _Embedding(False)
    if head.dep_ == "relcl" and head.head.lemma_.lower() in _OCCASIONS:
        return _Embedding(False)
    if head.dep_ in {"conj", "relcl"} and head.head.pos_ in {"VERB", "AUX"}:
        above = head.head
        return (
            _embedding(above)
            if above.dep_ == "ccomp" and not _own_subjects(head)
            else _Embedding(True)
        )
    if head.dep_ != "ccomp":
        return _Embedding(True)
    return _complement(head, head.head)


def _complement(head: Token, above: Token) -> _Embedding:
    lemma = above.lemma_.lower()
    speaker = _own_subjects(above)
    if head.i < above.i and (not speaker or lemma not in _SAYING | _HEDGES):
        return _Embedding(True)
    if any(c.dep_ == "advmod" and c.tag_ in {"WRB"} for c in head.children):
        return _Embedding(False)
    if speaker and speaker[0].lower_ not in {"i", "we", "it", "that", "this", "you"}:
        is_said = lemma in _SAYING
        return _Embedding(is_said, reporter=speaker[0] if is_said else None)
    if lemma in _HEDGES:
        return _Embedding(not _is_negated(above), is_hedged=True)
    return _Embedding(lemma in _PLAIN_SAYING or head.i < above.i)


def _span(head: Token) -> tuple[int, int]:
    """Characters of the clause, without the clauses joined to it."""
    cut: set[int] = set()
    for token in head.subtree:
        if (
            token is not head
            and _is_head(token)
            and token.dep_ in {"conj", "ccomp", "relcl", "advcl"}
        ):
            cut.update(t.i for t in token.subtree)
    kept = [t for t in head.subtree if t.i not in cut]
    return kept[0].idx, kept[-1].idx + len(kept[-1].text)


def clauses_of(doc: Doc) -> list[Clause]:
    """Clauses of a sentence that stand as statements, in order."""
    found = []
    for head in doc:
        if not _is_head(head):
            continue
        embedding = _embedding(head)
        subjects = _subjects(head)
        if not embedding.stands or subjects is None:
            continue
        tense, modal = _tense(head, auxiliaries(head))
        start, end = _span(head)
        clause = Clause(
            head,
            subjects,
            tense,
            _is_negated(head),
            modal,
            embedding.is_hedged,
            embedding.reporter,
            start,
            end,
        )
        if any(c.lower_ in _HEDGE_WORDS for c in head.children) or _sure_of_nothing(
            doc, start, end
        ):
            clause = replace(clause, is_hedged=True)
        found.append(clause)
    return found


_UNSURE = re.compile(
    r"\b(?:I think|I guess|I believe|I suppose|not sure|maybe|perhaps|probably|might be|may be|"
    r"possibly|I'm not certain|if I remember|apparently)\b",
    re.IGNORECASE,
)


def _sure_of_nothing(doc: Doc, start: int, end: int) -> bool:
    return bool(_UNSURE.search(doc.text))


_STATIVE_STARTS = words("clauses", "stative_starts")


def is_elided_user(clause: Clause) -> bool:
    """Whether a clause without a subject is the speaker's (`Sold my old Honda`), not an order."""
    head = clause.head
    if clause.tense in {Tense.PAST, Tense.PERFECT, Tense.PROGRESSIVE}:
        return head.tag_ in {"VBD", "VBN", "VBG"}
    if clause.tense == Tense.FUTURE or clause.modal in {"can", "ca"}:
        return bool(auxiliaries(head))
    if clause.negated and any(c.lower_ in {"do"} for c in head.children if c.dep_ == "aux"):
        return head.lemma_.lower() in {"like", "eat", "drink", "have", "own", "drive"} and not any(
            c.lower_ == "please" for c in head.children
        )
    opens = all(t.pos_ in {"ADV", "INTJ"} or t.is_punct for t in head.doc[: head.i])
    return (
        opens and head.lemma_.lower() in _STATIVE_STARTS and head.tag_ in {"VB", "VBP", "NN", "NNP"}
    )
