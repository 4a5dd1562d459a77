"""Gives an object its entity type, or says that it is a plain value.

What belongs here: type hints of predicates, recogniser labels, small word lists.
What does not: resolution of names (stages/resolve).
"""

from __future__ import annotations

import re

from memory_pipeline.domain.extraction import EntityType
from memory_pipeline.stages.heuristic_rules.words import words

_LABELS = {
    "PERSON": EntityType.PERSON,
    "ORG": EntityType.ORG,
    "GPE": EntityType.PLACE,
    "LOC": EntityType.PLACE,
    "FAC": EntityType.PLACE,
    "PRODUCT": EntityType.PRODUCT,
    "EVENT": EntityType.EVENT,
    "WORK_OF_ART": EntityType.PRODUCT,
    "LANGUAGE": EntityType.SKILL,
    "NORP": EntityType.CONCEPT,
}
_VALUE = re.compile(
    r"^[\d$£€%.,:/ -]+|\b\d+\s*(?:kg|lbs?|pounds|cm|m|km|years?|%|k|hours?|miles?)\b"
)
PLACES = words("entity_types", "places")
_MAKES = words("entity_types", "makes")
_OWNING = frozenset({"owns", "drives", "rides", "uses", "has", "has car", "has bike", "has laptop"})
LANGUAGES = words("entity_types", "languages")


def owned_type(name: str, predicate: str, kind: EntityType | None) -> EntityType | None:
    """The type of something that is owned or driven: a make or a person's name is a product."""
    if kind is None or predicate not in _OWNING:
        return kind
    is_make = name.split()[0] in _MAKES
    return EntityType.PRODUCT if is_make or kind in _NOT_OWNED else kind


_NOT_OWNED = frozenset({EntityType.PERSON, EntityType.PLACE})


def type_of(name: str, label: str, is_proper: bool, hint: EntityType | None) -> EntityType | None:
    """The entity type of an object, or None for a literal value.

    A hint of the predicate wins over the recogniser, which mislabels one name in four.
    """
    if _VALUE.match(name):
        return None
    if hint is not None:
        return hint
    if name in LANGUAGES:
        return EntityType.SKILL
    if is_proper and name in PLACES:
        return EntityType.PLACE
    if is_proper:
        return _LABELS.get(label, EntityType.THING)
    return None
