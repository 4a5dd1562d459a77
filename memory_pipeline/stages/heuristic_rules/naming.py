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


def given_names(noun: Token) -> list[tuple[str, int]]:
    """Names told after a noun: `a dog named Rex`, `two kids, Tom and Mia`, `a son, Leo`."""
    names: list[tuple[str, int]] = []
    for child in noun.children:
        if child.dep_ in {"acl", "relcl"} and child.lower_ in {"named", "called"}:
            names.extend(_names_below(child))
        elif child.dep_ == "appos" and is_name(child):
            names.extend(_listed(child))
    return names


def _names_below(verb: Token) -> list[tuple[str, int]]:
    return [
        n
        for c in verb.children
        if c.dep_ in {"oprd", "dobj", "attr", "npadvmod", "xcomp"} and c.pos_ in {"PROPN", "NOUN"}
        for n in _listed(c)
    ]


def _listed(name: Token) -> list[tuple[str, int]]:
    found = []
    for token in conjuncts(name):
        words = [t.lower_ for t in [*token.lefts, token] if t.dep_ in {"compound"} or t is token]
        found.append((" ".join(words), token.i))
    return found
