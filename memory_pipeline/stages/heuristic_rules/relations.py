"""Nouns that link somebody or something to the user by possession.

What belongs here: word lists of kin, company, animals and belongings. What does not: the parse.
"""

from memory_pipeline.domain.extraction import EntityType
from memory_pipeline.stages.heuristic_rules.words import words

_PEOPLE = words("relations", "people")
_ANIMALS = words("relations", "animals")
_THINGS = words("relations", "things")
_ATTRIBUTES = words("relations", "attributes")
_SINGULAR = dict(pair.split("=") for pair in sorted(words("relations", "plain_words")))
_FEMALE = words("relations", "female")
_MALE = words("relations", "male")


def singular(noun: str) -> str:
    """The singular, plain word for a relation (`kids` and `kid` are `child`, `mom` is `mother`)."""
    if noun not in _SINGULAR and noun.removesuffix("s") in _ANIMALS:
        return noun.removesuffix("s")
    return _SINGULAR.get(noun, noun)


def is_plural(noun: str) -> bool:
    """True for a relation word in the plural (`friends`, `kids`)."""
    return (noun.endswith("s") and singular(noun) != noun) or noun in {"children", "people"}


def is_person(noun: str) -> bool:
    """True for kin, friends and people of work and life."""
    return noun in _PEOPLE or singular(noun) in _PEOPLE


def is_animal(noun: str) -> bool:
    """True for animals that people keep."""
    return noun in _ANIMALS or singular(noun) in _ANIMALS or noun.removesuffix("s") in _ANIMALS


def is_relation(noun: str) -> bool:
    """True for people and animals: what `my X` can be named and be a subject of facts."""
    return is_person(noun) or is_animal(noun)


def is_belonging(noun: str) -> bool:
    """True for things and organisations that `my X is Y` names."""
    return noun in _THINGS


def is_attribute(noun: str) -> bool:
    """True for properties (`my birthday is ...`)."""
    return noun in _ATTRIBUTES or noun.startswith("favourite")


def type_of_relation(noun: str) -> EntityType:
    """The entity type of what a relation noun names."""
    return EntityType.PERSON if is_person(noun) else EntityType.THING


def fits_pronoun(noun: str, pronoun: str) -> bool:
    """Whether `he`, `she` or `they` can mean somebody of this relation."""
    word = singular(noun)
    if pronoun in {"she", "her"}:
        return word not in _MALE
    if pronoun in {"he", "him", "his"}:
        return word not in _FEMALE
    return True
