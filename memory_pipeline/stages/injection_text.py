"""A message as the injection scanner reads it: folded, undisguised, cut into words.

Belongs here: the readings of one text (plain, decoded, hidden, reversed) and their words.
Does not: what words mean and how they are weighed (stages/injection).
"""

import base64
import binascii
import codecs
import html
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import unquote

_WORD = re.compile(r"(?:[^\W_]|[@$!|€](?=[^\W_])|(?<=[^\W_])['](?=[^\W_]))+|[.?!;。]+(?!\S)|。")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{20,}={0,2}")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2}[ :]?){12,}")
_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})|\\x([0-9a-fA-F]{2})")
_PERCENT = re.compile(r"(?:%[0-9a-fA-F]{2}[^%\s]{0,20}){4}")
_COMMENT_ENDS = (("<!--", "-->"), ("[//]: # (", ")"), ("display:none", "</"), ("font-size:0", "</"))
_TAG = re.compile(r"<!--.{0,2000}?-->|</?[a-zA-Z][^<>]{0,200}>", re.DOTALL)
_BROKEN = re.compile(r"(?<=[^\W_])(?:[-*_~`.·|]{1,4})(?=[^\W_])")
_IN_LATIN = re.compile("[A-Za-z][\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]+[A-Za-z]")
_TAG_CHARACTER = re.compile("[\U000e0020-\U000e007e]{6,}")
_QUOTED = re.compile(
    r'"[^"]{1,400}"|`[^`]{1,400}`|\u201c[^\u201c\u201d]{1,400}\u201d|\u00ab[^\u00ab\u00bb]{1,400}\u00bb'
    r"|\u201e[^\u201c\u201d\u201e]{1,400}[\u201c\u201d]|(?<!\w)'[^'\n]{1,400}'(?!\w)"
    r"|(?<!\w)\u2018[^\u2018\u2019]{1,400}\u2019(?!\w)"
)
_STRAIGHT = str.maketrans({"\u2019": "'", "\u2018": "'", "\u02bc": "'"})
_LEET = (
    str.maketrans("0134578@$!|€", "oieastbasile"),
    str.maketrans("0134578@$!|€", "oleastbaslle"),
)
_LEET_MARKS = frozenset("0134578@$!|€")
_MIN_BREAKS = 3
_MAX_ENCODED = 40
"""Encoded passages of one message that are opened."""


@dataclass(frozen=True)
class Reading:
    """One way to read a message; `disguise` says what had to be undone for it, "" for nothing."""

    text: str
    disguise: str = ""


def fold_line(text: str) -> str:
    """`text` on one line in lower case, without accents, width variants, invisible characters."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        text = "".join(_fold_char(char) for char in text)
        return " ".join(text.translate(_STRAIGHT).split())
    return " ".join(text.lower().split())


@lru_cache(maxsize=8192)
def _fold_char(char: str) -> str:
    if char.isspace():
        return " "
    folded = char.casefold()
    if char < "\u0590" or "\u1e00" <= char <= "\u1fff":
        folded = unicodedata.normalize("NFKD", folded)
    elif char > "\uffff":
        folded = unicodedata.normalize("NFKC", folded)
    return "".join(
        part
        for part in folded
        if unicodedata.category(part) not in {"Cc", "Cf", "Cs"}
        and not (unicodedata.category(part) == "Mn" and part < "\u0590")
        and not "\ufe00" <= part <= "\ufe0f"
    )


def split_words(line: str) -> list[str]:
    """The words of a folded line; a "." stands where a sentence ends."""
    return ["." if word[0] in ".?!;。" else word for word in _WORD.findall(line)]


def undo_leet(word: str) -> tuple[str, ...]:
    """What `word` says when digits and signs stand for letters, () when none do."""
    if _LEET_MARKS.isdisjoint(word) or not any(char.isalpha() for char in word):
        return ()
    return tuple(dict.fromkeys(word.translate(table) for table in _LEET))


def undo_leet_letters(letters: str) -> str:
    """Letters that were written apart, digits and signs read as the letters they stand for."""
    return letters.translate(_LEET[0])


def without_quotes(text: str) -> str:
    """`text` without what stands in quotation marks or backticks (up to 400 characters each)."""
    return _QUOTED.sub(" ", text)


def read_in_every_way(text: str) -> Iterator[Reading]:
    """The plain reading first, then one for each disguise that is found in the raw text."""
    yield Reading(text, "invisible characters" if _IN_LATIN.search(text) else "")
    for tags in _TAG_CHARACTER.findall(text):
        yield Reading("".join(chr(ord(char) - 0xE0000) for char in tags), "invisible characters")
    if hidden := " . ".join(_hidden_parts(text)):
        yield Reading(hidden, "hidden text")
    if "<" in text and (glued := _TAG.sub("", text)) != text:
        yield Reading(glued, "markup")
    joined, breaks = _BROKEN.subn("", text)
    if breaks >= _MIN_BREAKS:
        yield Reading(joined, "broken words")
    for decoded in _decoded(text):
        yield Reading(decoded, "encoding")


def reversed_reading(text: str) -> Reading:
    """The text read from its end."""
    return Reading(text[::-1], "reversed letters")


def rotated_reading(text: str) -> Reading:
    """The text with its Latin letters moved by thirteen places."""
    return Reading(codecs.encode(text, "rot13"), "rotated letters")


def _hidden_parts(text: str) -> Iterator[str]:
    lowered = text.lower()
    if len(lowered) != len(text):
        lowered = text
    for opening, closing in _COMMENT_ENDS:
        start = lowered.find(opening)
        while start >= 0:
            start += len(opening)
            end = lowered.find(closing, start)
            end = len(text) if end < 0 else end
            yield text[start:end].lstrip("\"'> ;")
            start = lowered.find(opening, end)


def _decoded(text: str) -> Iterator[str]:
    if "\\" in text and (opened := _ESCAPED.sub(_unescape, text)) != text:
        yield opened
    if "&" in text and (opened := html.unescape(text)) != text:
        yield opened
    if "%" in text and _PERCENT.search(text) and (opened := unquote(text)) != text:
        yield opened
    for number, found in enumerate(_BASE64.finditer(text)):
        if number >= _MAX_ENCODED:
            break
        yield from _from_base64(found.group())
    for number, found in enumerate(_HEX.finditer(text)):
        if number >= _MAX_ENCODED:
            break
        yield from _readable(bytes.fromhex(re.sub("[ :]", "", found.group())))


def _unescape(escape: re.Match[str]) -> str:
    return chr(int(escape.group(1) or escape.group(2), 16))


def _from_base64(token: str) -> Iterator[str]:
    body = token.rstrip("=").replace("-", "+").replace("_", "/")
    body = body[: len(body) - 1] if len(body) % 4 == 1 else body
    try:
        raw = base64.b64decode(body + "=" * (-len(body) % 4))
    except binascii.Error:
        return
    yield from _readable(raw)


def _readable(raw: bytes) -> Iterator[str]:
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return
    plain = sum(char.isalpha() or char.isspace() for char in text)
    if text and plain >= 0.7 * len(text):
        yield text
