"""Whether a sentence says no more than the facts that it cites, checked by code (spec P2).

Belongs here: names, numbers, dates, polarity and words of a sentence against those of its facts.
Does not: which facts it cites and what becomes of it (stages/profile). It can be too strict, never
an oracle: a sentence that fails is dropped, one that passes repeats what its facts name.
"""

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property

from memory_pipeline.domain.profile import GroundFact


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip
_MONTH_OF = {name: number for number, name in enumerate(_MONTHS, start=1)} | {
    name[:3]: number for number, name in enumerate(_MONTHS, start=1)
}
_MONTH_OF["sept"] = 9
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_UNITS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen",
    "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_NUMBER_WORDS = (
    {word: str(value) for value, word in enumerate(_UNITS)}
    | {word: str(value) for value, word in zip(range(20, 100, 10), _TENS, strict=True)}
    | {"dozen": "12", "hundred": "100", "thousand": "1000", "million": "1000000"}
)
_UNCOUNTED = frozenset({"zero", "one"})
"""Words that mostly count nothing ("one of them")."""

_COMPOUND = re.compile(rf"\b({'|'.join(_TENS)})[- ]({'|'.join(_UNITS[1:10])})\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d+(?:[.,:/]\d+)*")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_WORD = re.compile(r"[^\W_]+")
_MONTH = rf"(?P<month>{'|'.join(sorted(_MONTH_OF, key=len, reverse=True))})\b\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>\d{4})"
_DATES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\b(?P<year>\d{4})-(?P<month>\d\d)(?:-(?P<day>\d\d))?\b",
        rf"\b{_DAY}(?: of)? {_MONTH}(?:,? {_YEAR}\b)?",
        rf"\b{_MONTH} {_DAY}\b(?!,\d|\.\d)(?:,? {_YEAR}\b)?",
        rf"\b{_MONTH},? {_YEAR}\b",
    )
)
_MONTH_ALONE = re.compile(rf"\b(?P<month>{'|'.join(name.title() for name in _MONTHS)})\b")

_DENIALS = re.compile(
    r"\b(?:not|no|nor|never|none|nothing|without|cannot|neither|\w+n['\u2019]t)\b", re.IGNORECASE
)
_NEGATIVE = re.compile(
    _DENIALS.pattern + r"|\b(?:dislik\w+|hat(?:e[sd]?|ing)|loath\w+|detest\w+|avoid\w*|lack\w*|"
    r"refus\w+|stop\w*|quit\w*|g[ia]ve[sn]? up|allergic|intoleran\w+|sold|left|end(?:s|ed)|"
    r"cancel\w+|former\w*|free|used to|until)\b",
    re.IGNORECASE,
)
_NEGATIVE_PREDICATE = re.compile(
    _DENIALS.pattern + r"|\b(?:dislik|hate|loath|detest|avoid|lack|refus)\w*", re.IGNORECASE
)

_OPENERS = _listed(
    "a about after all also although among an and another as at before besides both but by "
    "currently during each either every family for friends from friday he health her here hers his "
    "home however i in it its later likewise many monday most next now of often on one other our "
    "outside over regularly saturday she since so some sometimes still sunday that the their them "
    "then there these they this those though thursday to together tuesday two under until usually "
    "user we wednesday when where which while who with work"
) | frozenset(_MONTHS)
_FINITE = _listed(
    "and are can did does drives had has have is keeps lives lived likes liked loves loved owns "
    "owned plans planned plays reads runs speaks studied studies takes used wants was were will "
    "worked works would"
)
_STOP_WORDS = _listed(
    "a about after all also an and any are as at be been before being between both but by can "
    "current currently did do does during for from had has have he her hers him his holds i in "
    "into is it its more most not now of on one or other our own she since so some such than that "
    "the their them then there these they this those to until user user's was were when where "
    "which while who whose will with would you your"
)
_SENTENCE_END = ".!?:\"'\u201c\u2018("


@dataclass(frozen=True, slots=True)
class _Date:
    """A date as far as it is written; None = not said."""

    year: int | None
    month: int | None
    day: int | None

    def is_said_by(self, other: "_Date") -> bool:
        """Whether the other says all that this one does."""
        mine = (self.year, self.month, self.day)
        theirs = (other.year, other.month, other.day)
        return all(m is None or m == t for m, t in zip(mine, theirs, strict=True))


class Evidence:
    """What cited facts, as they were shown, name; `names` may be used in any sentence."""

    def __init__(self, facts: Sequence[GroundFact], at: datetime, names: Collection[str]) -> None:
        self.text = "\n".join(
            f"{fact.subject} {fact.predicate} {fact.object}\n{fact.quote}" for fact in facts
        )
        self._periods = tuple(_period(fact, at) for fact in facts)
        self._names = frozenset(word for name in names for word in folded_words(name))
        self.is_always_negative = all(_NEGATIVE_PREDICATE.search(fact.predicate) for fact in facts)
        self.is_ever_negative = _NEGATIVE.search(self.text) is not None or any(
            fact.valid_until is not None for fact in facts
        )

    @cached_property
    def words(self) -> frozenset[str]:
        """Words of the facts, folded."""
        return frozenset(folded_words(self.text))

    @cached_property
    def stems(self) -> frozenset[str]:
        """Their stems, those of stop words left out."""
        return frozenset(_stems(self.words))

    @cached_property
    def dates(self) -> tuple[_Date, ...]:
        """Dates of the periods shown and those written in the facts."""
        shown = (edge for period in self._periods for edge in period)
        written = (found for _, found in _find_dates(self.text))
        return (*(_Date(day.year, day.month, day.day) for day in shown), *written)

    @cached_property
    def weekdays(self) -> frozenset[str]:
        """Weekdays of the periods shown."""
        return frozenset(_WEEKDAYS[day.weekday()] for period in self._periods for day in period)

    @cached_property
    def numbers(self) -> frozenset[str]:
        """Numbers of the facts, in digits, with the years of their dates."""
        years = {str(found.year) for found in self.dates if found.year is not None}
        return frozenset(_numbers(self.text)) | years

    def knows_name(self, word: str) -> bool:
        """Whether a folded word occurs in the facts or in a name that may always be used."""
        known = self.words | self._names
        return word in known or word.removesuffix("s") in known


def why_unsupported(sentence: str, evidence: Evidence) -> str | None:
    """What the facts do not say of the sentence, in a few words; None when it is supported."""
    text = _COMPOUND.sub(_compound, sentence)
    text, wrong_date = _without_dates(text, evidence)
    if wrong_date is not None:
        return f"the date {wrong_date} is not in its facts"
    for number in _numbers(text):
        if number not in evidence.numbers:
            return f"the number {number} is not in its facts"
    for name in _names(text):
        folded = "".join(folded_words(name))
        if not evidence.knows_name(folded) and folded not in evidence.weekdays:
            return f"the name {name} is not in its facts"
    is_negative = _NEGATIVE.search(sentence) is not None
    if _NEGATIVE_PREDICATE.search(sentence) and not evidence.is_ever_negative:
        return "it denies what its facts say"
    if evidence.is_always_negative and not is_negative:
        return "it says what its facts deny"
    shared = set(_stems(folded_words(sentence))) & evidence.stems
    return None if shared else "it shares no word with its facts"


def folded_words(text: str) -> list[str]:
    """Words in lower case without accents, in order."""
    plain = unicodedata.normalize("NFKD", text)
    plain = "".join(char for char in plain if unicodedata.category(char) != "Mn")
    return [match.group().casefold() for match in _WORD.finditer(plain)]


def _period(fact: GroundFact, at: datetime) -> tuple[date, ...]:
    """The days of a fact's period that are shown."""
    shows_start = fact.has_stated_start or fact.begins_after(at)
    edges = (fact.valid_from if shows_start else None, fact.valid_until)
    return tuple(edge.date() for edge in edges if edge is not None)


def _compound(match: re.Match[str]) -> str:
    tens, unit = match.group(1).lower(), match.group(2).lower()
    return str(int(_NUMBER_WORDS[tens]) + int(_NUMBER_WORDS[unit]))


def _numbers(text: str) -> Iterator[str]:
    """Numbers of a text in digits, those in words too."""
    for match in _NUMBER.finditer(_THOUSANDS.sub("", _COMPOUND.sub(_compound, text))):
        yield ".".join(part.lstrip("0") or "0" for part in re.split(r"[.,]", match.group()))
    for word in folded_words(text):
        if word in _NUMBER_WORDS and word not in _UNCOUNTED:
            yield _NUMBER_WORDS[word]


def _find_dates(text: str) -> Iterator[tuple[re.Match[str], _Date]]:
    for pattern in _DATES:
        for match in pattern.finditer(text):
            yield match, _date_of(match)


def _date_of(match: re.Match[str]) -> _Date:
    parts = match.groupdict()
    month = parts.get("month") or ""
    return _Date(
        year=int(parts["year"]) if parts.get("year") else None,
        month=int(month) if month.isdigit() else _MONTH_OF[month.lower()],
        day=int(parts["day"]) if parts.get("day") else None,
    )


def _without_dates(text: str, evidence: Evidence) -> tuple[str, str | None]:
    """The text with its dates blanked, and the first one that no fact says."""
    for pattern in (*_DATES, _MONTH_ALONE):
        for match in list(pattern.finditer(text)):
            written = match.group()
            is_said = any(_date_of(match).is_said_by(known) for known in evidence.dates)
            if not is_said and not set(folded_words(written)) <= evidence.words:
                return text, written
            text = text[: match.start()] + " " * len(written) + text[match.end() :]
    return text, None


def _names(text: str) -> Iterator[str]:
    """Capitalised words; one that opens a sentence only where it reads like a name."""
    words = list(_WORD.finditer(text))
    for place, match in enumerate(words):
        word = match.group()
        if not word[0].isupper() or word == "I":
            continue
        before = text[: match.start()].rstrip()
        is_inside = bool(before) and before[-1] not in _SENTENCE_END
        is_opener = word.casefold() in _OPENERS or not _reads_like_a_name(words[place + 1 :])
        if is_inside or not is_opener:
            yield word


def _reads_like_a_name(after: Sequence[re.Match[str]]) -> bool:
    if not after:
        return False
    following = after[0].group()
    return following[0].isupper() or following in _FINITE or following == "s"


def _stems(words: Collection[str]) -> Iterator[str]:
    for word in words:
        if word not in _STOP_WORDS:
            yield word[:4] if len(word) > 4 else word.removesuffix("s")
