"""Nouns that link somebody or something to the user by possession.

What belongs here: word lists of kin, company, animals and belongings. What does not: the parse.
"""

from memory_pipeline.domain.extraction import EntityType

_PEOPLE = frozenset(
    """sister brother mother father mom mum dad mama papa mommy daddy parent parents son daughter
    child children kid kids baby toddler twin twins wife husband spouse partner girlfriend
    boyfriend fiancé fiancée fiance fiancee ex ex-wife ex-husband ex-boyfriend ex-girlfriend aunt
    uncle cousin niece nephew grandmother grandfather grandma grandpa granny grandad granddad nana
    gran grandson granddaughter grandparents grandkids mother-in-law father-in-law sister-in-law
    brother-in-law in-laws stepmother stepfather stepmom stepdad stepson stepdaughter stepsister
    stepbrother stepbrother half-brother half-sister friend friends bestie buddy roommate flatmate
    housemate neighbour neighbor colleague coworker co-worker boss manager supervisor mentor mentee
    teacher tutor coach trainer professor doctor dentist therapist gp physio landlord landlady tenant
    lawyer accountant assistant intern nanny babysitter godmother godfather godson goddaughter
    teammate bandmate advisor adviser cofounder co-founder business-partner sibling siblings
    counselor psychiatrist psychologist physiotherapist fiance classmate student client hairdresser
    barber eldest youngest oldest sis bro auntie""".split()
)
_ANIMALS = frozenset(
    """dog cat puppy kitten pup kitty horse parrot rabbit bunny hamster budgie tortoise turtle bird
    fish goldfish snake lizard gecko ferret pony pet pets dogs cats puppies kittens rabbits horses
    chickens hen hens labrador lab retriever poodle beagle dachshund corgi husky terrier bulldog
    shepherd collie spaniel pug tabby greyhound chihuahua rat mouse guinea-pig""".split()
)
_THINGS = frozenset(
    """car bike bicycle motorbike motorcycle van truck scooter boat laptop phone computer camera
    guitar piano company startup business band team school university college employer
    street house flat apartment hometown town village city church club gym bank street""".split()
)
_ATTRIBUTES = frozenset(
    """name age birthday height weight job title role email number address hobby hobbies goal budget
    nationality religion salary size blood dream password major degree surname nickname
    anniversary native language timezone zodiac occupation profession diet pronouns
    passion specialty speciality employer position commute rent allergy allergies""".split()
)
_SINGULAR = {
    "kids": "child", "kid": "child", "children": "child", "parents": "parent", "sons": "son",
    "daughters": "daughter", "brothers": "brother", "sisters": "sister", "friends": "friend",
    "dogs": "dog", "cats": "cat", "puppies": "puppy", "kittens": "kitten", "twins": "twin",
    "mom": "mother", "mum": "mother", "dad": "father", "mama": "mother", "papa": "father",
    "mommy": "mother", "daddy": "father", "sis": "sister", "bro": "brother",
    "cousins": "cousin", "colleagues": "colleague", "siblings": "sibling", "pets": "pet",
    "rabbits": "rabbit", "horses": "horse", "nieces": "niece", "nephews": "nephew",
    "coworkers": "coworker", "roommates": "roommate", "neighbours": "neighbour",
    "chickens": "chicken", "hens": "hen", "auntie": "aunt", "grandkids": "grandchild",
    "neighbor": "neighbour", "neighbors": "neighbour", "uncles": "uncle", "aunts": "aunt",
    "students": "student", "clients": "client", "grandparents": "grandparent",
}  # fmt: skip
_FEMALE = frozenset(
    """sister mother wife girlfriend daughter aunt niece grandmother grandma granny nana gran
    fiancée fiancee granddaughter stepmother stepmom ex-wife ex-girlfriend landlady hen
    sister-in-law mother-in-law stepdaughter stepsister half-sister godmother""".split()
)
_MALE = frozenset(
    """brother father husband boyfriend son uncle nephew grandfather grandpa grandad granddad fiancé
    grandson stepfather stepdad ex-husband ex-boyfriend brother-in-law father-in-law stepson
    half-brother godfather landlord""".split()
)


def singular(noun: str) -> str:
    """The singular, plain word for a relation (`kids` and `kid` are `child`, `mom` is `mother`)."""
    return _SINGULAR.get(noun, noun)


def is_person(noun: str) -> bool:
    """True for kin, friends and people of work and life."""
    return noun in _PEOPLE or singular(noun) in _PEOPLE


def is_animal(noun: str) -> bool:
    """True for animals that people keep."""
    return noun in _ANIMALS or singular(noun) in _ANIMALS


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
