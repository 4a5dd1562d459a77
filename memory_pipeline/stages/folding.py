"""A text as it is compared: folding that keeps the way back to the original characters.

Belongs here: what is folded (case, markup, accents, typography) and the map of positions.
Does not: any search (stages/evidence).
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property, lru_cache

_LINK = re.compile(r'!?\[([^\[\]\n]{1,300})\]\([^()\s]{0,2000}(?: "[^"\n]{0,200}")?\)')
_LINE_MARK = re.compile(r"^[ \t]*(?:#{1,6}|[-*+])[ \t]+(?:\[[ xX]\][ \t]+)?", re.MULTILINE)
_EMPHASIS = re.compile(r"\*+|_+|`+|~~+")
_SINGLE_QUOTES = "\u2018\u2019\u201a\u201b\u2032\u00b4\u02bc"
_DOUBLE_QUOTES = "\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033"
_LONG_DASHES = "\u2014\u2015"
_BULLETS = "\u2022\u2023\u25e6\u00b7"


@dataclass(frozen=True)
class FoldedText:
    """A text as it is compared: `text[i]` comes from the original's `[starts[i], ends[i])`."""

    text: str
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    @cached_property
    def trigrams(self) -> frozenset[str]:
        return frozenset(self.text[i : i + 3] for i in range(len(self.text) - 2))


def fold(text: str) -> FoldedText:
    """`text` without case, markup, accents, invisible characters and doubled whitespace."""
    chars: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    markup = _markup(text)
    for index, original in enumerate(text):
        if markup[index]:
            continue
        folded = " " if _stands_alone(text, index) else _fold_char(original)
        for char in folded:
            if char == " " and (not chars or chars[-1] == " "):
                continue
            chars.append(char)
            starts.append(index)
            ends.append(index + 1)
    if chars and chars[-1] == " ":
        del chars[-1], starts[-1], ends[-1]
    return FoldedText("".join(chars), tuple(starts), tuple(ends))


def _markup(text: str) -> bytearray:
    """One byte a character, 1 where markdown stands that a reader does not see."""
    marked = bytearray(len(text))
    for link in _LINK.finditer(text):
        for start, end in ((link.start(), link.start(1)), (link.end(1), link.end())):
            marked[start:end] = b"\x01" * (end - start)
    for line in _LINE_MARK.finditer(text):
        marked[line.start() : line.end()] = b"\x01" * (line.end() - line.start())
    for run in _EMPHASIS.finditer(text):
        if not _parts_words(text, run):
            marked[run.start() : run.end()] = b"\x01" * (run.end() - run.start())
    return marked


def _parts_words(text: str, run: re.Match[str]) -> bool:
    """`snake_case` and `2*3`: without the mark two words or numbers would run together."""
    before, after = text[run.start() - 1 : run.start()], text[run.end() : run.end() + 1]
    if run.group().startswith("_"):
        return before.isalnum() and after.isalnum()
    return run.group().startswith("*") and before.isdigit() and after.isdigit()


def _stands_alone(text: str, index: int) -> bool:
    if text[index] not in "-\u2010\u2011\u2012\u2013" + _BULLETS:
        return False
    around = text[max(index - 1, 0) : index] + text[index + 1 : index + 2]
    return not around or around.isspace()


@lru_cache(maxsize=8192)
def _fold_char(char: str) -> str:
    if char.isspace() or char in _LONG_DASHES:
        return " "
    if char in _SINGLE_QUOTES:
        return "'"
    if char in _DOUBLE_QUOTES:
        return '"'
    if unicodedata.category(char) == "Pd" or char == "\u2212":
        return "-"
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", char).casefold())
    return "".join(
        " " if part.isspace() else part
        for part in folded
        if unicodedata.category(part) not in {"Mn", "Me", "Cf", "Cc", "Cs"}
    )
