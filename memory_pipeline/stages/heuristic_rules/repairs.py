"""Puts right what the parser gets wrong again and again in short, spoken sentences.

What belongs here: slips of tags and heads that no rule should have to know of. What does not:
spelling (sentences).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory_pipeline.stages.heuristic_rules.relations import is_relation
from memory_pipeline.stages.heuristic_rules.words import words

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

_TAKES_TO = words("repairs", "takes_to")
_TAKES_NOUN = words("repairs", "takes_noun")
_REAL_VERBS = words("repairs", "real_verbs")
_BASES = {"smoking": "smoke", "vaping": "vape", "dancing": "dance", "biking": "bike"}
_THIRD_PERSONS = words("clauses", "mistagged")
_ROUGHLY = frozenset({"about", "around", "roughly", "over", "under"})
_SHORTEST = 4
_LISTING = frozenset({"or", "and", "nor", "&"})


def repair(doc: Doc) -> None:
    """Turns nouns that were taken for verbs back into nouns, and the like, in place."""
    _repair_third_person(doc)
    for token in doc:
        if token.i > 0:
            _repair_amount(token, doc[token.i - 1])
            _repair_listed_adjective(doc, token)
            _repair_verb(token, doc[token.i - 1])
            if token.tag_ in {"VB", "VBP"}:
                _repair_noun(doc, token, doc[token.i - 1])


def _repair_third_person(doc: Doc) -> None:
    """`My sister-in-law works for the BBC`: a sentence without a verb has lost it to a plural."""
    if len(doc) < _SHORTEST or doc[0].lower_ not in {"my", "our"}:
        return
    verb = next((t for t in doc[2:6] if t.pos_ not in {"NOUN", "PROPN"} or _is_lost(t)), None)
    root = next(t for t in doc if t.dep_ == "ROOT")
    if verb is None or not _is_lost(verb) or root.pos_ not in {"NOUN", "PROPN"} or root.i > verb.i:
        return
    subject = next((t for t in doc[1 : verb.i] if is_relation(t.lower_)), None)
    if subject is None:
        return
    kept = [c for c in verb.children if c.i > verb.i]
    verb.head, verb.dep_, verb.tag_, verb.pos_ = verb, "ROOT", "VBZ", "VERB"
    subject.head, subject.dep_ = verb, "nsubj"
    for token in doc[: verb.i]:
        if token.i != subject.i and token.head.i in {verb.i, root.i, token.i}:
            token.head = subject
            token.dep_ = "poss" if token.tag_ == "PRP$" else "appos"
    for child in kept:
        child.dep_ = "dobj" if child.dep_ in {"appos", "nmod", "compound"} else child.dep_


def _is_lost(token: Token) -> bool:
    return token.tag_ == "NNS" and token.lower_ in _THIRD_PERSONS


def _repair_amount(token: Token, before: Token) -> None:
    """`is about 15k`, `have around 20k`: the amount is no place."""
    is_amount = token.dep_ == "pobj" and token.head.i == before.i and token.text[0].isdigit()
    if before.lower_ in _ROUGHLY and is_amount and before.head.lemma_ in {"be", "have", "earn"}:
        token.head, token.dep_ = before.head, "attr" if before.head.lemma_ == "be" else "dobj"
        before.head, before.dep_, before.tag_, before.pos_ = token, "advmod", "RB", "ADV"


def _repair_listed_adjective(doc: Doc, token: Token) -> None:
    """`a safe, inviting place`: nobody invites a place there."""
    if (
        token.tag_ != "VBG"
        or token.i < _SHORTEST - 1
        or doc[token.i - 1].lower_ not in {",", "and"}
    ):
        return
    adjective = doc[token.i - 2]
    noun = next((c for c in token.rights if c.dep_ == "dobj"), None)
    is_listed = adjective.tag_ == "JJ" and doc[token.i - 3].tag_ in {"DT", "PRP$", "JJ"}
    if noun is None or not is_listed or noun.left_edge.i != token.i + 1:
        return
    if any(c.dep_ in {"det", "poss"} for c in noun.lefts):
        return
    top = adjective if token.head == adjective else token
    if top.dep_ == "ROOT" or top.head.i >= adjective.i:
        return
    moved = [c for part in {top, token} for c in part.children if c not in {noun, token}]
    noun.head, noun.dep_ = top.head, top.dep_
    for child in moved:
        child.head = noun
    for part in (adjective, token):
        part.head, part.dep_, part.pos_ = noun, "amod", "ADJ"
    token.tag_ = "JJ"


def _repair_verb(token: Token, before: Token) -> None:
    """Verbs that lost their subject, and gerunds that were taken for nouns."""
    if token.dep_ == "ROOT" and token.tag_ in {"VBZ", "VBD"}:
        _repair_subject(token, before)
    is_gone = token.tag_ == "VBG" and before.lemma_ == "go" and token.head.i == before.i
    if is_gone and token.dep_ in {"dobj", "advcl", "advmod"}:
        token.dep_, token.pos_ = "xcomp", "VERB"
    if token.dep_ == "xcomp" and token.tag_ == "NN" and token.lower_.endswith("ing"):
        token.tag_, token.pos_ = "VBG", "VERB"  # `quit smoking`
        token.lemma_ = _BASES.get(token.lower_, token.lower_[:-3])


def _repair_noun(doc: Doc, token: Token, before: Token) -> None:
    """Nouns that were taken for infinitives."""
    if before.dep_ == "aux" and before.head == token and _takes_noun(before):
        _raise_verb(token, before)
    elif _is_full(token):
        return
    elif before.lower_ == "to" and before.head == token:
        _repair_target(doc, token, before)
    elif token.dep_ == "xcomp" and before == token.head and _takes_noun(before):
        _make_noun(token, "dobj", before)
    elif token.dep_ == "conj" and before.lower_ in _LISTING and token.lower_ not in _REAL_VERBS:
        _repair_listed(token, before)


def _repair_subject(verb: Token, before: Token) -> None:
    """`Amara works as a nurse`: the name was taken for a part of the verb."""
    is_taken = before.head == verb and before.dep_ in {"compound", "amod", "nmod", "npadvmod"}
    has_subject = any(c.dep_ in {"nsubj", "nsubjpass", "expl"} for c in verb.children)
    if is_taken and not has_subject and before.text[:1].isupper() and before.is_alpha:
        before.dep_, before.tag_, before.pos_ = "nsubj", "NNP", "PROPN"


def _is_full(token: Token) -> bool:
    """A verb with something of its own is a verb."""
    return any(c.dep_ not in {"aux", "punct", "cc", "advmod"} for c in token.children)


def _raise_verb(noun: Token, verb: Token) -> None:
    """`I don't eat gluten`: the verb was taken for an auxiliary of its object."""
    if noun.dep_ != "ROOT" or any(c.i > noun.i and not c.is_punct for c in noun.children):
        return
    moved = [c for c in noun.children if c.i != verb.i]
    verb.head, verb.dep_ = verb, "ROOT"
    for child in moved:
        child.head = verb
    _make_noun(noun, "dobj", verb)


def _takes_noun(verb: Token) -> bool:
    return verb.lemma_.lower() in _TAKES_NOUN


def _repair_target(doc: Doc, token: Token, to: Token) -> None:
    """`allergic to shellfish`, `stopped going to crossfit`."""
    carrier = next((t for t in reversed(doc[: to.i]) if t.lower_ in _TAKES_TO), None)
    if carrier is None or to.i - carrier.i > 8 or token.lower_ in _REAL_VERBS:
        return
    to.head, to.dep_, to.tag_, to.pos_ = carrier, "prep", "IN", "ADP"
    _make_noun(token, "pobj", to)


def _repair_listed(token: Token, before: Token) -> None:
    """`I don't eat pork or shellfish`."""
    verb = token.head
    nouns = [
        c for c in verb.children if c.dep_ == "dobj" and c.i < before.i and c.tag_.startswith("NN")
    ]
    if verb.lemma_.lower() in _TAKES_NOUN and nouns and nouns[-1].i == before.i - 1:
        _make_noun(token, "conj", nouns[-1])


def _make_noun(token: Token, dep: str, head: Token) -> None:
    token.head = head
    token.dep_, token.tag_, token.pos_ = dep, "NN", "NOUN"
