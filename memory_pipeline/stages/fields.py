"""Tidying of single fields: what a name, a predicate, a text or a number may look like.

Belongs here: folding, cutting and clamping of one field, without any look at its neighbours.
Does not: deciding what happens to a candidate (stages/guard).
"""

import math
import re
import unicodedata
from functools import lru_cache

from memory_pipeline.domain.extraction import EntityType, MemoryCategory

NAME_CHARS = 200
PREDICATE_CHARS = 200

_TYPOGRAPHIC = str.maketrans(
    dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u00b4\u02bc", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033", '"')
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")
)
_OUTER = " \"'`,;:"
_CASED_WORD = re.compile(r"\S*://\S*|(?=\S*\d)(?=\S*[a-z])(?=\S*[A-Z])\S+")
_NEGATED_VERB = re.compile(r"n't\b")
_IRREGULAR_NEGATIONS = {"can't": "can not", "won't": "will not"}
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_JOINER = "\u200d"
_OVERLONG = 8
"""Times the limit that are looked at; what lies beyond is not worth the reading."""


def clean_text(text: str, limit: int) -> str:
    """`text` on one line, without control, bidi, zero-width and surrogate characters, cut.

    Joiners stay where they shape what is read: between two characters that are not Latin.
    """
    text = text[: _OVERLONG * limit]
    if text.isascii() and text.isprintable():
        return " ".join(text.split())[:limit].rstrip()  # nearly all names and predicates
    visible = "".join(_visible(text, i) for i in range(len(text)))
    return cut(" ".join(unicodedata.normalize("NFC", visible).split()), limit).rstrip()


def _visible(text: str, index: int) -> str:
    char = text[index]
    if char.isspace():
        return " "
    if unicodedata.category(char) not in _INVISIBLE:
        return char
    is_inside = 0 < index < len(text) - 1
    if is_inside and char in "\u200c\u200d" and min(text[index - 1], text[index + 1]) > "\u02ff":
        return char
    return ""


def cut(text: str, limit: int) -> str:
    """The longest start of `text` within `limit` characters that halves no grapheme.

    A single grapheme longer than the limit is cut all the same.
    """
    if len(text) <= limit:
        return text
    end = limit
    while end > 0 and halves_grapheme(text, end):
        end -= 1
    return text[: end or limit]


def halves_grapheme(text: str, index: int) -> bool:
    """Whether a cut before `text[index]` parts what is read as one character."""
    if not 0 < index < len(text):
        return False
    before, after = text[index - 1], text[index]
    if _extends(after) or before == _JOINER or before + after == "\r\n":
        return True
    if not (_is_flag_half(before) and _is_flag_half(after)):
        return False
    flags = 0
    while flags < index and _is_flag_half(text[index - 1 - flags]):
        flags += 1
    return flags % 2 == 1


def _extends(char: str) -> bool:
    return (
        unicodedata.category(char) in {"Mn", "Mc", "Me"}
        or char in "\u200c\u200d"
        or "\U0001f3fb" <= char <= "\U0001f3ff"
        or "\U000e0020" <= char <= "\U000e007f"
        or "\u1160" <= char <= "\u11ff"
    )


def _is_flag_half(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


@lru_cache(maxsize=16_384)
def normalise_name(name: str) -> str:
    """The canonical spelling of a name: lower case, one line, straight quotes, articles kept.

    At most 200 characters, "" when nothing is left. Equal names are equal after this.
    """
    cleaned = clean_text(name, 4 * NAME_CHARS).translate(_TYPOGRAPHIC)
    lowered = unicodedata.normalize("NFKC", cleaned).lower().translate(_TYPOGRAPHIC)
    return clean_text(lowered, NAME_CHARS).strip(_OUTER)


def normalise_value(value: str, limit: int) -> str:
    """A value in lower case, so that it is found equal again, on one line, cut at `limit`.

    Addresses and words that mix digits with both cases (`aB3`, a key) keep their case.
    """
    words = clean_text(value, limit).translate(_TYPOGRAPHIC).split()
    lowered = " ".join(word if _CASED_WORD.fullmatch(word) else word.lower() for word in words)
    return clean_text(lowered, limit).strip(_OUTER)


def normalise_predicate(predicate: str) -> str:
    """Lower case words and digits, one space between them; "" when nothing is left.

    `doesn't` becomes `does not`, so that stripping the apostrophe never hides a negation.
    """
    lowered = normalise_name(predicate)
    for contraction, words in _IRREGULAR_NEGATIONS.items():
        lowered = lowered.replace(contraction, words)
    spaced = _NEGATED_VERB.sub(" not", lowered)
    kept = "".join(
        " " if char in "-_/" else char
        for char in spaced
        if char in "-_/" or unicodedata.category(char)[0] not in "PS"
    )
    return cut(" ".join(kept.split()), PREDICATE_CHARS).rstrip()


def clamp_confidence(value: float | None, default: float) -> float:
    """`value` inside [0, 1]; `default` when it is missing or not finite."""
    if value is None or not math.isfinite(value):
        return default
    return min(max(value, 0.0), 1.0)


def read_type(value: str) -> EntityType:
    """The entity type named by `value`, THING when there is no such type."""
    try:
        return EntityType(value.strip().upper())
    except ValueError:
        return EntityType.THING


def read_category(value: str) -> MemoryCategory:
    """The memory category named by `value`, `context` when there is no such category."""
    try:
        return MemoryCategory(value.strip().lower())
    except ValueError:
        return MemoryCategory.CONTEXT
