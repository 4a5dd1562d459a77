"""English words of dates and the pattern fragments made of them.

Belongs here: vocabulary and what each word stands for. Does not: how words combine
(temporal_grammar) and which turn of a cycle is meant (temporal_calendar).
"""

import re
from collections.abc import Iterable
from typing import Final

from memory_pipeline.stages.temporal_calendar import Part, Unit

MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS: Final = ("mo", "tu", "we", "th", "fr", "sa", "su")
SEASON_MONTHS: Final = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
ORDINALS: Final = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
    "eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth",
)  # fmt: skip
_FROM_THREE: Final = (
    "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
)  # fmt: skip
NUMBERS: Final[dict[str, float]] = {
    "half a": 0.5,
    "half an": 0.5,
    **dict.fromkeys(("a", "an", "one", "a single"), 1.0),
    **dict.fromkeys(("two", "a couple of", "a couple", "couple of", "couple"), 2.0),
    **{word: float(value) for value, word in enumerate(_FROM_THREE, start=3)},
    "thirty": 30.0,
    "forty": 40.0,
    "fifty": 50.0,
}
UNITS: Final[dict[str, tuple[Unit, int]]] = {
    "day": ("day", 1),
    "week": ("week", 1),
    "wk": ("week", 1),
    "fortnight": ("week", 2),
    "month": ("month", 1),
    "quarter": ("quarter", 1),
    "year": ("year", 1),
    "yr": ("year", 1),
    "decade": ("decade", 1),
}
PARTS: Final[dict[str, Part]] = {
    "beginning": "start",
    "start": "start",
    "early": "start",
    "middle": "middle",
    "mid": "middle",
    "late": "late",
    "end": "end",
}
DECADES: Final = {
    "twenties": 20,
    "thirties": 30,
    "forties": 40,
    "fifties": 50,
    "sixties": 60,
    "seventies": 70,
    "eighties": 80,
    "nineties": 90,
}
# Holidays of a fixed date: pattern, month, day.
HOLIDAYS: Final = (
    (r"christmas eve", 12, 24),
    (r"(?:christmas|xmas)(?: day)?", 12, 25),
    (r"boxing day", 12, 26),
    (r"new year['\u2019]?s eve", 12, 31),
    (r"new years?['\u2019]?s?(?: day)?", 1, 1),
    (r"hallowe['\u2019]?en", 10, 31),
    (r"valentine['\u2019]?s?(?: day)?", 2, 14),
    (r"(?:st\.?|saint) patrick['\u2019]?s?(?: day)?", 3, 17),
    (r"independence day", 7, 4),
)


def one_of(words: Iterable[str]) -> str:
    """A pattern for any of the words, longer ones first; a space stands for any white space."""
    listed = sorted(words, key=len, reverse=True)
    return "(?:" + "|".join(word.replace(" ", r"\s+") for word in listed) + ")"


MONTH: Final = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b(?:\.(?=\s?\d))?"
)
# Short forms that are words of their own count only with a capital: "in the sun", "we wed", "sat".
WEEKDAY: Final = (
    r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?-i:Mon|Wed|Sat|Sun)|tues?|thu(?:rs?)?|fri)\b"
)
FULL_WEEKDAY: Final = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day\b"
YEAR: Final = r"(?:19|20)\d\d(?![\d%]|[-./:,]\d)"
NUMBER: Final = rf"(?:\d{{1,3}}(?:\.5)?|{one_of(NUMBERS)})"
UNIT: Final = r"(?:day|week|wk|fortnight|month|year|yr|decade)s?\b"
DAY_PART: Final = r"(?:\s+(?:early\s+)?(?:morning|afternoon|evening|night)\b)?"
DAY_NUMBER: Final = r"(?:[12]\d|3[01]|0?[1-9])"
ORDINAL: Final = rf"{DAY_NUMBER}(?:st|nd|rd|th)\b"
SEASON: Final = one_of(SEASON_MONTHS)
HOLIDAY: Final = "(?:" + "|".join(pattern for pattern, _, _ in HOLIDAYS) + r")\b"
# Units that make "from 2019" a count.
NOT_A_QUANTITY: Final = (
    r"(?!\s*(?:(?:to|and|-|\u2013)\s*\d[\d,.]*\s*)?(?:dollars?|euros?|usd|eur|pounds?|bucks|words?|people|pieces?|steps?|calories|k?cal"
    r"|miles?|k?m|met(?:er|re)s?|feet|ft|hours?|hrs?|minutes?|mins?|seconds?|days|times|points?"
    r"|percent|users?|cars?|items?|rows?|lines?|bytes|kg|lbs?|square|sq|grams?|g|ml|mah|rpm)\b)"
)


def month_number(word: str) -> int:
    """1 to 12 for a month's name or short form."""
    return MONTHS.index(word[:3].lower()) + 1


def weekday_number(word: str) -> int:
    """0 for Monday to 6 for Sunday, for a name or short form."""
    return WEEKDAYS.index(word[:2].lower())


def count_of(words: str) -> float:
    """The number that digits or number words name."""
    folded = " ".join(words.lower().split())
    return NUMBERS[folded] if folded in NUMBERS else float(folded)


def unit_of(word: str) -> tuple[Unit, int]:
    """The unit a word names, in singular or plural, and how many of it make one."""
    return UNITS[word.lower().rstrip("s")]


def holiday_date(name: str) -> tuple[int, int]:
    """Month and day of a holiday's name.

    Raises LookupError for an unknown name.
    """
    folded = " ".join(name.split())
    for pattern, month, day in HOLIDAYS:
        if re.fullmatch(pattern, folded, re.IGNORECASE):
            return month, day
    raise LookupError(name)
