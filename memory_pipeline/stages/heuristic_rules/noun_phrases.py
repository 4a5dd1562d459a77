"""Turns a noun of the parse into the words memory keeps for it.

What belongs here: what is cut off a noun phrase, lists inside it, names. What does not: types.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory_pipeline.stages.heuristic_rules.predicates import EMPTY_OBJECTS

if TYPE_CHECKING:
    from spacy.tokens import Token

_LEFT_DEPS = frozenset("compound amod nummod nmod quantmod poss det neg advmod punct case npadvmod".split())
_CUT_WORDS = frozenset(
    """a an the my our your his her their its this that these those some any every each very really
    so quite pretty just super such new old brand brand-new beloved dear great good best amazing
    awesome lovely nice beautiful cute adorable favourite current previous former own little big
    trusty late wonderful fantastic gorgeous awful horrible terrible annoying stupid silly young
    next last upcoming actual entire whole first-ever recent only fellow also now trusty shiny
    'another certain few more both all several lots many much no too""".split()
)
_JOINED_PREPS = frozenset({"of"})
_DEGREES = frozenset(
    "degree master masters bachelor bachelors phd doctorate diploma certificate class course "
    "interest fear budget allergy intolerance membership subscription tattoo minor major ba ma mba bsc msc".split()
)


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
    found = [token]
    for child in token.children:
        if child.dep_ == "conj" and child.i > token.i and not _is_verb(child, token):
            found.extend(conjuncts(child))
        elif child.dep_ == "appos" and child.i > token.i and _continues_list(child):
            found.extend(conjuncts(child))
    return found


def _is_verb(child: Token, head: Token) -> bool:
    return child.pos_ in {"VERB", "AUX"} and head.pos_ in {"NOUN", "PROPN", "PRON"}


def _continues_list(token: Token) -> bool:
    """`milk, eggs and soy`: the parser takes the second for an apposition of the first."""
    return token.pos_ == "NOUN" and any(c.dep_ == "conj" for c in token.children)


def _left_words(head: Token) -> list[Token]:
    words: list[Token] = []
    for child in head.lefts:
        if child.dep_ in _LEFT_DEPS or (child.dep_ == "conj" and child.pos_ == "ADJ"):
            words.extend(_left_words(child))
            words.append(child)
            words.extend(c for c in child.rights if c.dep_ in {"case", "punct", "conj", "cc", "nummod"}
                         and child.dep_ in {"amod", "poss", "nummod", "compound", "nmod"} and c.i < head.i)
    return words


def _right_words(head: Token) -> list[Token]:
    words: list[Token] = []
    for child in head.rights:
        joins = child.lower_ in _JOINED_PREPS or (
            child.lower_ in {"in", "for", "to", "at"} and head.lemma_.lower() in _DEGREES
        )
        if child.dep_ == "prep" and joins:
            for noun in child.children:
                if noun.dep_ == "pobj" and noun.lower_ not in EMPTY_OBJECTS:
                    words.append(child)
                    words.extend(phrase_tokens(noun))
        elif child.dep_ in {"nummod"} or (child.dep_ == "punct" and child.text == "-"):
            words.append(child)
    return words


def phrase_tokens(head: Token, skip: frozenset[int] = frozenset()) -> list[Token]:
    """Tokens of the phrase around `head`, in order, without what memory leaves out."""
    words = sorted({*_left_words(head), head, *_right_words(head)}, key=lambda t: t.i)
    return [t for t in words if t.i not in skip]


def phrase_of(head: Token, skip: frozenset[int] = frozenset()) -> Phrase | None:
    """The phrase around `head`, or None when nothing is left that says anything."""
    tokens = phrase_tokens(head, skip)
    while tokens and (_is_cut(tokens[0]) or tokens[0].is_punct):
        tokens = tokens[1:]
    while tokens and (tokens[-1].is_punct or tokens[-1].lower_ in {"too", "now"}):
        tokens = tokens[:-1]
    kept = [t for n, t in enumerate(tokens) if n == len(tokens) - 1 or not _is_cut(t)]
    if not kept or head not in kept:
        return None
    if len(kept) == 1 and (kept[0].lower_ in EMPTY_OBJECTS or head.pos_ == "PRON"):
        return None
    if head.lower_ in EMPTY_OBJECTS and not any(is_name(t) for t in kept):
        return None
    text = _joined(kept)
    label = head.ent_type_ or next((t.ent_type_ for t in kept if t.ent_type_), "")
    return Phrase(text, label, any(is_name(t) for t in kept), head)


def _is_cut(token: Token) -> bool:
    if is_name(token) and token.ent_type_:
        return False
    return token.lower_ in _CUT_WORDS or token.dep_ == "poss" and token.pos_ == "PRON"


def _joined(tokens: list[Token]) -> str:
    """The tokens' text with the spacing of the sentence, lower-cased, one space between words."""
    text = ""
    for at, token in enumerate(tokens):
        glued = at > 0 and tokens[at - 1].i == token.i - 1 and not tokens[at - 1].whitespace_
        text += token.text if glued or at == 0 else " " + token.text
    return " ".join(text.lower().split()).strip(" ,.!?;:\"'")
