"""Reads `my X is Y`: favourites, birthdays, jobs and other properties of the user and theirs.

What belongs here: properties that possession names. What does not: kin by name (cast).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memory_pipeline.domain.extraction import EntityType
from memory_pipeline.stages.heuristic_rules import relations
from memory_pipeline.stages.heuristic_rules.cast import USER, Cast
from memory_pipeline.stages.heuristic_rules.drafts import Reading, reading_of
from memory_pipeline.stages.heuristic_rules.noun_phrases import conjuncts, is_name, phrase_of
from memory_pipeline.stages.heuristic_rules.predicates import EMPTY_OBJECTS
from memory_pipeline.stages.heuristic_rules.roles import is_role
from memory_pipeline.stages.heuristic_rules.verb_objects import activity, prepositions_of
from memory_pipeline.stages.heuristic_rules.words import words

if TYPE_CHECKING:
    from spacy.tokens import Token

_POSSESSIVES = frozenset(["my", "our", "his", "her", "their"])
_SAME_AS = {
    "has job": ("works as", EntityType.ROLE),
    "has profession": ("works as", EntityType.ROLE),
    "has occupation": ("works as", EntityType.ROLE),
    "has role": ("works as", EntityType.ROLE),
    "has title": ("works as", EntityType.ROLE),
    "has job title": ("works as", EntityType.ROLE),
    "has employer": ("works at", EntityType.ORG),
    "has weight": ("weighs", None),
    "has first name": ("has name", None),
    "has mother tongue": ("has native language", EntityType.SKILL),
}
_ADJECTIVAL = frozenset({"nationality", "religion", "blood", "diet", "language"})
_SINGULAR = {"hobbies": "hobby", "allergies": "allergy", "goals": "goal", "passions": "passion"}
_PLACED = words("attributes", "placed")
_APPOINTMENTS = words("copulas", "appointments") - {"deadline", "meeting", "test", "presentation"}
_AMOUNTS = frozenset({"budget"})
_FEW_WORDS = 4
_UNSAID = frozenset({"new", "own", "current", "old", "big", "next", "little", "whole", "total"})
_END_OF_VALUE = re.compile(
    r",?\s+(?:so|and|but|because|since|which|not|maybe|though|if|as)\b.*|,\s*not\b.*"
)
_WRITTEN = words("attributes", "written")
_UNLASTING = words("attributes", "unlasting")


def owner_of(noun: Token, cast: Cast) -> str | None:
    """Whose property a noun names, or None."""
    for child in noun.children:
        if child.dep_ != "poss" and child.tag_ != "PRP$":
            continue
        if child.lower_ in {"my", "our"}:
            return USER
        if child.lower_ in _POSSESSIVES:
            link = cast.person_for(child.lower_)
            return link.name if link else None
        link = cast.link_at(child)
        return link.name if link else cast.subject_for(child)
    return None


def is_property(noun: Token) -> bool:
    """Whether `my <noun> is` names a property and not somebody."""
    return noun.pos_ in {"NOUN", "PROPN"} and not relations.is_relation(noun.lower_)


def read_property(noun: Token, verb: Token, dated: frozenset[int]) -> list[Reading]:
    """Readings of `my <noun> is <value>`."""
    words = [t.lower_ for t in noun.lefts if t.dep_ in {"amod", "compound", "nmod"}] + [noun.lower_]
    words = ["favourite" if w == "favorite" else w for w in words]
    words = ["favourite" if w == "go-to" else w for w in words]
    if "favourite" in words:
        words = words[words.index("favourite") :]
    of = [
        t
        for c in noun.children
        if c.lower_ in {"of", "for"}
        for t in c.children
        if t.dep_ == "pobj"
    ]
    topic = phrase_of(of[0]) if of else None
    if topic and words[-1] in {"budget", "kind"}:
        words = [topic.text, *words]
    words = [w for w in words if w not in _UNSAID]
    trusted = words[0] == "favourite" or relations.is_attribute(words[-1])
    words[-1] = _SINGULAR.get(words[-1], words[-1])
    if words[-1] in _UNLASTING:
        return []
    predicate, hint = _SAME_AS.get(f"has {' '.join(words)}", (f"has {' '.join(words)}", None))
    if words[-1] in _AMOUNTS and _is_amount(verb):
        predicate = f"has {' '.join(words)} of"
    if placed := _placed(" ".join(words), verb, dated):
        return placed
    if words[-1] in _WRITTEN:
        return _written(predicate, verb)
    found = _values(predicate, hint, verb, dated, trusted or relations.is_belonging(words[-1]))
    if found or not trusted or hint == EntityType.PLACE or words[-1] in {"name", "wedding"}:
        return found
    written = _written(predicate, verb)  # `my favourite film is Spirited Away`
    return [r for r in written if len(r.object.split()) <= _FEW_WORDS and not _is_clause(verb)]


def _is_clause(verb: Token) -> bool:
    return any(c.dep_ in {"prep", "ccomp", "neg", "advcl"} and c.i > verb.i for c in verb.children)


def _is_amount(verb: Token) -> bool:
    return any(t.like_num or any(c.isdigit() for c in t.text) for t in verb.subtree if t.i > verb.i)


def _placed(name: str, verb: Token, dated: frozenset[int]) -> list[Reading]:
    """`my background is in design`, `my surgery is on the 19th`."""
    if any(c.dep_ in {"attr", "acomp", "dobj"} for c in verb.rights):
        return []
    last = name.split()[-1]
    if last in _APPOINTMENTS:
        on = [c for c in verb.rights if c.lower_ == "on" and c.dep_ == "prep"]
        said = " ".join(t.lower_ for t in on[0].subtree if t.i > on[0].i) if on else ""
        return [Reading(f"has {name} on", said.removeprefix("the "))] if said else []
    return [
        reading_of(f"has {name} {prep}", phrase)
        for prep, nouns in prepositions_of(verb, dated)
        for noun in (nouns if last in _PLACED else [])
        if prep in {"in", "at", "with"} and (phrase := phrase_of(noun, dated))
    ]


def _written(predicate: str, verb: Token) -> list[Reading]:
    """Dates and addresses are kept as they are written."""
    tail = [t for t in verb.subtree if t.i > verb.i]
    text = (
        "".join(t.text_with_ws for t in tail)
        .strip(" .!,")
        .lower()
        .removeprefix("on ")
        .removeprefix("in ")
    )
    text = _END_OF_VALUE.sub("", text.removeprefix("the "))
    return [Reading(predicate, text)] if 0 < len(text) < 60 else []


def _values(
    predicate: str, hint: EntityType | None, verb: Token, dated: frozenset[int], trusted: bool
) -> list[Reading]:
    """Values after the verb; without `trusted` only names and numbers are taken for one."""
    # `my hobbies are climbing, ...` is taken for a progressive.
    found = [Reading(predicate, verb.lower_)] if verb.tag_ == "VBG" and trusted else []
    for child in verb.rights:
        is_value = child.dep_ in {"attr", "dobj", "oprd"} or (child.dep_ == "nsubj" and trusted)
        is_adjective = child.dep_ == "acomp" and not is_name(child)
        if is_value or (
            child.dep_ == "acomp" and (not is_adjective or _takes_adjectives(predicate))
        ):
            values = [_value(predicate, hint, n, dated, trusted) for n in conjuncts(child)]
            found.extend(v for v in values if v is not None)
        elif child.dep_ in {"xcomp", "ccomp"} and trusted and child.pos_ == "VERB":
            said = activity(child, dated)
            if child.tag_ != "VBG":
                said = " ".join([child.lemma_, *said.split()[1:]])
            found.append(Reading(predicate, said))
    return found


def _takes_adjectives(predicate: str) -> bool:
    return bool({"favourite", *_ADJECTIVAL} & set(predicate.split()))


def _value(
    predicate: str, hint: EntityType | None, noun: Token, dated: frozenset[int], trusted: bool
) -> Reading | None:
    if noun.tag_ == "VBG" and trusted:
        return Reading(predicate, activity(noun, dated))
    phrase = phrase_of(noun, dated)
    if phrase is None or phrase.text in EMPTY_OBJECTS:
        return None
    if hint == EntityType.ROLE or not trusted:
        role = is_role(phrase.text)
        if role != (hint == EntityType.ROLE):
            return None
    is_exact = is_name(noun) or any(c.isdigit() for c in phrase.text)
    return reading_of(predicate, phrase, hint) if trusted or is_exact else None
