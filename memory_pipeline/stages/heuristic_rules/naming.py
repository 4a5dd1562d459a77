"""Names told after a noun: `a dog named Rex`, `two kids, Tom and Mia`.

What belongs here: the relation word and the names of a noun phrase. What does not: possession
(cast).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory_pipeline.stages.heuristic_rules import relations
from memory_pipeline.stages.heuristic_rules.noun_phrases import conjuncts, is_name

if TYPE_CHECKING:
    from spacy.tokens import Token


def relation_in(noun: Token) -> str:
    """The relation word of a noun phrase (`a two-year-old son`, `a rescue dog`), or nothing."""
    if noun.lower_.endswith("-old"):
        return "child"
    return noun.lower_ if relations.is_relation(noun.lower_) else ""


def given_names(noun: Token) -> list[str]:
    """Names told after a noun: `a dog named Rex`, `two kids, Tom and Mia`, `a son, Leo`."""
    names: list[str] = []
    for child in noun.children:
        if child.dep_ in {"acl", "relcl"} and child.lower_ in {"named", "called"}:
            names.extend(_names_below(child))
        elif child.dep_ == "appos" and is_name(child):
            names.extend(_listed(child))
    return names or _names_at_the_end(noun)


def _names_at_the_end(noun: Token) -> list[str]:
    """`adopted two kittens yesterday, Salt and Pepper.`"""
    doc = noun.doc
    commas = [t.i for t in doc[noun.i :] if t.text in {",", ":"}]
    tail = [t for t in doc[commas[0] + 1 :] if not t.is_punct] if commas else []
    names = [t for t in tail if t.lower_ not in {"and", "&"}]
    if noun.tag_ != "NNS" or len(names) < 2 or not all(is_name(t) for t in names):
        return []
    return [t.lower_ for t in names]


def named_beside(noun: Token) -> list[Token]:
    """Nouns listed after a name: the parrot of `a dog, Rex, and a parrot named Kiwi`."""
    return [
        token
        for child in noun.children
        if child.dep_ == "appos" and is_name(child)
        for token in conjuncts(child)
        if not is_name(token) and relation_in(token)
    ]


def _names_below(verb: Token) -> list[str]:
    return [
        n
        for c in verb.children
        if c.dep_ in {"oprd", "dobj", "attr", "npadvmod", "xcomp"} and c.pos_ in {"PROPN", "NOUN"}
        for n in _listed(c)
    ]


def _listed(name: Token) -> list[str]:
    found = []
    for token in conjuncts(name):
        if token is not name and not is_name(token):
            continue
        words = [t.lower_ for t in [*token.lefts, token] if t.dep_ in {"compound"} or t is token]
        found.append(" ".join(words))
    return found
