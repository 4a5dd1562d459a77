"""Closed lists of words that mean something in a name, wherever it is compared (spec R3, R4).

Belongs here: the words. Does not: what follows from them (name_folding, alias_rules).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from memory_pipeline.domain.extraction import EntityType


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


ARTICLES: Final = frozenset({"a", "an", "the", "my", "our"})
GENDERED_TITLES: Final = {"mr": "m", "sir": "m", "lord": "m", "mrs": "f", "ms": "f", "miss": "f",
                          "madam": "f", "lady": "f", "herr": "m", "frau": "f"}  # fmt: skip
TITLES: Final = frozenset(GENDERED_TITLES) | {"dr", "doctor", "prof", "professor", "rev", "dipl"}
LEGAL: Final = frozenset(
    {"inc", "incorporated", "ltd", "llc", "llp", "gmbh", "bv", "corp", "corporation", "plc", "pty",
     "oyj", "sarl", "srl"}
)  # fmt: skip
DOUBTFUL_LEGAL: Final = frozenset(
    {"ag", "sa", "sas", "co", "company", "kg", "ab", "oy", "nv", "limited", "kk", "lp", "se"}
)
"""Legal suffixes that mean something else beside anything but an organisation."""
FUNCTION_WORDS: Final = frozenset(
    {"who", "it", "us", "me", "am", "is", "as", "at", "an", "or", "in", "on", "so", "no", "go",
     "do", "be", "we", "he", "my", "by", "to", "up", "of", "if", "all", "and", "the", "one", "are",
     "was", "can", "may", "has", "had", "her", "him", "his", "she", "you", "they", "them", "this",
     "that", "what", "when", "why", "how", "not", "now", "new", "old", "art", "arm", "cat", "dog"}
)  # fmt: skip
"""Everyday words: as an acronym or behind an article they need a closer look."""
SMALL_WORDS: Final = frozenset({"of", "the", "and", "for", "in", "on", "de", "la", "der", "und"})
MODEL_WORDS: Final = frozenset(
    {"pro", "max", "mini", "plus", "ultra", "lite", "air", "xl", "xs", "se", "nano", "micro",
     "premium", "deluxe", "beta", "alpha", "junior", "jr", "senior", "sr", "native", "zero"}
)  # fmt: skip
NUMBER_WORDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        word: str(number)
        for words in (
            "zero one two three four five six seven eight nine ten eleven twelve",
            "zeroth first second third fourth fifth sixth seventh eighth ninth tenth",
            "0th 1st 2nd 3rd 4th 5th 6th 7th 8th 9th 10th",
        )
        for number, word in enumerate(words.split())
        if word != "zero"
    }
)
GIVEN_NAMES: Final = _set(
    "emma emily anna anne ann hannah mary marie maria ian ivan jean jane rupert lena mae lisa julia"
)
"""Names of their own that the table of nicknames takes for short forms of others."""
NO_NICKNAMES: Final = ({"bill", "robert"}, {"bill", "fred"}, {"johann", "john"})
"""What else the table of nicknames has wrong."""
KIN: Final = _set(
    "mother father mom mum dad brother sister son daughter wife husband partner boyfriend "
    "girlfriend fiance fiancee aunt uncle cousin niece nephew grandmother grandfather grandma "
    "grandpa granddaughter grandson stepmother stepfather stepson stepdaughter stepbrother "
    "stepsister ex law friend colleague coworker boss manager neighbor neighbour roommate "
    "landlord teacher doctor dentist therapist coach mentor assistant baby kid child twin in "
    "brothers sisters sons daughters friends colleagues parents kids children twins"
)
"""Words that say who somebody is to somebody: no part of a person's name."""
CONTRASTS: Final = KIN | _set(
    "north south east west northern southern eastern western upper lower inner outer old new left "
    "right front back frontend backend indoor outdoor male female men women boys girls day night "
    "morning evening summer winter spring autumn fall red white black green blue yellow brown "
    "orange pink purple grey gray dark light hot cold iced decaf oat almond soy rice sweet sour "
    "dry fresh frozen monday tuesday wednesday thursday friday saturday sunday january february "
    "march april june july august september october november december non anti pre post big small "
    "large private public internal external buyer seller client server input output"
)
"""Words of which another, or none, makes another thing, however near the vectors are."""
MAKERS: Final = _set(
    "honda toyota ford volkswagen vw bmw audi mercedes tesla volvo nissan mazda hyundai kia "
    "renault peugeot fiat skoda seat subaru suzuki yamaha kawasaki ducati apple samsung google "
    "sony lenovo dell hp asus acer huawei xiaomi nokia motorola microsoft nintendo canon "
    "nikon fujifilm leica panasonic garmin fitbit adidas nike asics brooks hoka saucony bosch "
    "philips siemens dyson amazon adobe logitech bose ikea trek giant specialized shimano "
    "fender gibson"
)
"""Makers whose name people leave out before a product's own."""
PRODUCT_NOUNS: Final = _set(
    "watch maps camera laptop phone car truck van bike motorcycle tv tablet headphones earbuds "
    "speaker console printer monitor keyboard mouse chair desk table sofa bed lamp shoes sneakers "
    "jacket shirt guitar piano drill vacuum fridge oven washer computer drive cloud music pay "
    "store home docs mail teams office search one account card box light book"
)
"""Common words for products: without the maker they may mean anybody's."""
NO_PLURALS: Final = frozenset({"news", "series", "species", "gas", "lens", "bus"})
GENERIC: Final[Mapping[EntityType, frozenset[str]]] = MappingProxyType(
    {
        EntityType.ORG: frozenset({"group", "holding", "holdings", "company", "companies"}),
        EntityType.PLACE: frozenset({"city", "town"}),
        EntityType.PRODUCT: frozenset({"app", "software"}),
        EntityType.SKILL: frozenset({"programming", "language", "skills", "skill"}),
        EntityType.EVENT: frozenset({"event", "conference"}),
    }
)
"""What may follow a name of this kind and leave it the same thing: the second signal of R4."""
