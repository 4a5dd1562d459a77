"""Content words of short texts, and whether a text says one of them in whatever form.

Belongs here: what counts as a content word, and when two spellings are one word. Does not: what
follows from a word that is missing (stages/quote_doubts, stages/prompt_echo).
"""

import re
from collections import defaultdict
from collections.abc import Iterable

from rapidfuzz import fuzz

from memory_pipeline.stages.folding import fold

ALIKE = 75.0
"""Least ratio (0-100) at which two words of four letters or more are spellings of one."""

_WORD = re.compile(r"[^\W_]+")
_EMPTY_WORDS_LIST = """
    a an the this that these those it its and or but not no yes ok okay of in on at to for from
    by with as is are was were be been being am has have had having do does did doing will would
    can could should shall may might must i me my mine we us our you your he him his she her
    they them their there here so just very too also then than if when who which what user users
    s t m re ve ll d who's right true sure well please thanks write der die das den dem ein eine
    einen und oder ist bin im in zu mit von ich mein le la les un une des et ou est de du je mon
    ma el los las y o es en mi il di ho sono de het een en is ik mijn
"""
_EMPTY_WORDS = frozenset(_EMPTY_WORDS_LIST.split())
_SPACELESS_FROM = "\u0e00"
"""Scripts from Thai on write without spaces: a word stands inside a run of letters."""
_STEM_CHARS = 3
STEM_WORDS = 200
"""Words of one beginning that are compared; no honest text has so many."""


def content_words(text: str) -> tuple[str, ...]:
    """The words of a text that carry meaning, folded, each once, in order."""
    words = dict.fromkeys(_WORD.findall(fold(text).text))
    return tuple(w for w in words if w not in _EMPTY_WORDS and (len(w) > 1 or not w.isascii()))


def numbers(text: str) -> frozenset[int]:
    """The whole numbers that stand in a text, each run of digits for itself."""
    return frozenset(int(run) for run in re.findall(r"\d{1,12}", text))


def is_one_word(one: str, other: str) -> bool:
    """Whether two folded words are forms of one: `work` and `working`, `london` and `londres`."""
    shorter, longer = sorted((one, other), key=len)
    if len(shorter) < _STEM_CHARS:
        return one == other
    common = next((i for i, char in enumerate(shorter) if char != longer[i]), len(shorter))
    return common == len(shorter) or (common > _STEM_CHARS and 3 * common >= 2 * len(shorter))


def are_spellings(one: str, other: str) -> bool:
    """As `is_one_word`, also when a few letters differ: `munchen` and `munich`."""
    if is_one_word(one, other):
        return True
    return min(len(one), len(other)) > _STEM_CHARS and fuzz.ratio(one, other) >= ALIKE


class SaidWords:
    """The words of several folded texts, for many questions after one."""

    def __init__(self, folded: Iterable[str]) -> None:
        self._text = "\n".join(folded)
        self._words = dict.fromkeys(_WORD.findall(self._text))
        self._by_stem: defaultdict[str, list[str]] = defaultdict(list)
        for word in self._words:
            self._by_stem[word[:_STEM_CHARS]].append(word)

    def has(self, word: str) -> bool:
        """Whether a form of a folded word stands in the texts."""
        if max(word) >= _SPACELESS_FROM:
            return word in self._text
        alike = self._by_stem.get(word[:_STEM_CHARS], [])
        return word in self._words or any(is_one_word(word, said) for said in alike[:STEM_WORDS])
