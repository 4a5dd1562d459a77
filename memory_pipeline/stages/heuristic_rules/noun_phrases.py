"""Turns a noun of the parse into the words memory keeps for it.

What belongs here: what is cut off a noun phrase, lists inside it, names. What does not: types.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory_pipeline.stages.heuristic_rules.predicates import EMPTY_OBJECTS
from memory_pipeline.stages.heuristic_rules.words import words

if TYPE_CHECKING:
    from spacy.tokens import Token

_LEFT_DEPS = words("noun_phrases", "left_deps")
_CUT_WORDS = words("noun_phrases", "cut_words")
_MEASURES = frozenset({"lot", "lots", "bit", "ton", "tons", "bunch", "plenty", "kind", "type"})
_JOINED_PREPS = frozenset({"of"})
_COUNTED = frozenset({"people", "guys"})
_DWELLINGS = words("noun_phrases", "dwellings")
_DEGREES = words("noun_phrases", "degrees")


_AGE_WORD = re.compile(r"^\d{1,2}-?(?:yo|y/o|year-old|years-old)$")


@dataclass(frozen=True)
class Phrase:
    """A noun phrase as memory words it; `words` are the tokens it came from."""

    text: str
    label: str
    is_proper: bool
    head: Token


def is_name(token: Token) -> bool:
    """A capitalised name: a proper noun that does not only open the sentence."""
    return token.tag_ in {"NNP", "NNPS"} and token.text[:1].isupper()


def conjuncts(token: Token) -> list[Token]:
    """The token and what is listed after it (`peanuts, shellfish and soy`)."""
    found = [token, *(c for c in token.lefts if _is_listed_before(c))]
    for child in token.children:
        if child.text != "&" and any(c.text == "&" for c in token.children):
            continue
        if child.dep_ == "conj" and _has_own_verb(child):
            continue
        if (child.dep_ == "conj" and child.i > token.i and not _is_verb(child, token)) or (
            child.dep_ == "appos" and child.i > token.i and _continues_list(child)
        ):
            found.extend(conjuncts(child))
    return found


def _is_listed_before(child: Token) -> bool:
    """`pottery and street photography`: the parser takes the first noun for a modifier."""
    return (
        child.dep_ == "nmod"
        and child.tag_ in {"NN", "NNS"}
        and any(c.dep_ == "cc" for c in child.children)
    )


def stray_conjuncts(verb: Token) -> list[Token]:
    """Bare nouns of a list that the tagger took for verbs (`peanuts and shellfish`)."""
    return [
        c
        for c in verb.children
        if c.dep_ == "conj"
        and c.tag_ == "VB"
        and verb.tag_ in {"VBP", "VBZ", "JJ"}
        and not any(g.dep_ not in {"punct", "cc", "det"} for g in c.children)
    ]


def _has_own_verb(noun: Token) -> bool:
    """`a Skoda and the gearbox has died`: the second noun is a subject, not a second object."""
    after = noun.right_edge.i + 1
    if after >= len(noun.doc) or not any(c.dep_ in {"det", "poss"} for c in noun.lefts):
        return False
    verb = noun.doc[after]
    return verb.tag_ in {"VBZ", "VBP", "VBD", "MD"} and verb.dep_ in {"aux", "auxpass", "conj"}


def _is_verb(child: Token, head: Token) -> bool:
    return child.pos_ in {"VERB", "AUX"} and head.pos_ in {"NOUN", "PROPN", "PRON"}


def _continues_list(token: Token) -> bool:
    """`milk, eggs and soy`: the parser takes the second for an apposition of the first."""
    return token.pos_ == "NOUN" and any(c.dep_ == "conj" for c in token.children)


def _left_words(head: Token) -> list[Token]:
    words: list[Token] = []
    for child in head.lefts:
        if _is_listed_before(child):
            words.extend(c for c in child.rights if c.dep_ == "conj")
        elif child.dep_ in _LEFT_DEPS or (child.dep_ == "conj" and child.pos_ == "ADJ"):
            words.extend(_left_words(child))
            words.append(child)
            words.extend(
                c
                for c in child.rights
                if c.dep_ in {"case", "punct", "conj", "cc", "nummod"}
                and child.dep_ in {"amod", "poss", "nummod", "compound", "nmod"}
                and c.i < head.i
            )
    return words


def _right_words(head: Token) -> list[Token]:
    words: list[Token] = []
    for child in head.rights:
        joins = child.lower_ in _JOINED_PREPS or (
            child.lower_ in {"in", "for", "to", "at"} and head.lemma_.lower() in _DEGREES
        )
        joins = joins or (child.lower_ in {"in", "near"} and head.lemma_.lower() in _DWELLINGS)
        if child.dep_ == "prep" and joins:
            for noun in child.children:
                if noun.dep_ == "pobj" and noun.lower_ not in EMPTY_OBJECTS:
                    words.append(child)
                    words.extend(phrase_tokens(noun))
        elif _is_glued(child, head):
            words.append(child)
    return words


def _is_glued(child: Token, head: Token) -> bool:
    """What belongs to a name after its head: `Dungeons & Dragons`, `iPhone 15`."""
    if child.text in {"&", "-"} or child.dep_ == "nummod":
        return True
    return child.dep_ == "conj" and any(c.text == "&" for c in head.children)


def phrase_tokens(head: Token, skip: frozenset[int] = frozenset()) -> list[Token]:
    """Tokens of the phrase around `head`, in order, without what memory leaves out."""
    words = sorted({*_left_words(head), head, *_right_words(head)}, key=lambda t: t.i)
    return [t for t in words if t.i not in skip]


def phrase_of(
    head: Token, skip: frozenset[int] = frozenset(), *, bears_empty: bool = False
) -> Phrase | None:
    """The phrase around `head`, or None when nothing is left that says anything.

    Something that is `called X` is X. `bears_empty` lets nouns be that say nothing alone.
    """
    name = _called(head) or _measured(head) or _owned_name(head)
    if name is not None:
        return phrase_of(name)
    tokens = phrase_tokens(head, skip)
    kept = _trimmed(tokens)
    if head not in kept or any(t.lower_ in {"your", "yours"} for t in tokens):
        return None
    if len(kept) == 1 and head.pos_ == "PRON":
        return None
    counted = head.lower_ in _COUNTED and any(c.dep_ == "nummod" for c in head.lefts)
    is_empty = head.lower_ in EMPTY_OBJECTS and not counted and not any(is_name(t) for t in kept)
    if is_empty and not bears_empty:
        return None
    text = _joined(kept)
    if not is_name(head) and any(is_name(t) for t in kept if t.i > head.i):
        # `a trip to Lisbon` is no place: the name says only which.
        kept = [t for t in kept if t.i <= head.i]
    label = head.ent_type_ or next((t.ent_type_ for t in kept if t.ent_type_), "")
    return Phrase(text, label, any(is_name(t) for t in kept), head)


def _called(head: Token) -> Token | None:
    for child in head.children:
        if child.dep_ in {"acl", "relcl"} and child.lower_ in {"called", "named"}:
            for name in child.children:
                if name.dep_ in {"oprd", "dobj", "attr"} and name is not head:
                    return name
    return None


def _measured(head: Token) -> Token | None:
    """`a lot of jazz` is jazz."""
    if head.lower_ not in _MEASURES:
        return None
    nouns = (n for c in head.children if c.lower_ == "of" for n in c.children if n.dep_ == "pobj")
    return next(nouns, None)


def _owned_name(head: Token) -> Token | None:
    """`my boyfriend Andre` is Andre, `my parents` are the parents."""
    owned = any(c.lower_ in {"my", "our"} and c.dep_ == "poss" for c in head.children)
    if not owned or is_name(head):
        return None
    return next((c for c in head.children if c.dep_ == "appos" and is_name(c)), None)


def _trimmed(tokens: list[Token]) -> list[Token]:
    """The tokens without articles, judgements and punctuation around them."""
    while tokens and (_is_cut(tokens[0]) or tokens[0].is_punct):
        tokens = tokens[1:]
    while tokens and (tokens[-1].is_punct or tokens[-1].lower_ in {"too", "now"}):
        tokens = tokens[:-1]
    return [t for n, t in enumerate(tokens) if n == len(tokens) - 1 or not _is_cut(t)]


def _is_cut(token: Token) -> bool:
    if is_name(token) and (token.ent_type_ or token.i > 0):
        return False
    if _AGE_WORD.match(token.lower_):
        return True
    return token.lower_ in _CUT_WORDS or (token.dep_ == "poss" and token.pos_ == "PRON")


def _joined(tokens: list[Token]) -> str:
    """The tokens' text with the spacing of the sentence, lower-cased, one space between words."""
    text = ""
    for at, token in enumerate(tokens):
        glued = at > 0 and tokens[at - 1].i == token.i - 1 and not tokens[at - 1].whitespace_
        text += token.text if glued or at == 0 else " " + token.text
    return " ".join(text.lower().split()).strip(" ,.!?;:\"'")
