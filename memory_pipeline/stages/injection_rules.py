"""The rules of the injection scanner, read from injection_patterns.toml.

Belongs here: words and their classes, phrases, marks, and cutting glued letters into known words.
Does not: matching a message against them (stages/injection).
"""

import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from memory_pipeline.stages.injection_text import fold_line, undo_leet, undo_leet_letters

_NO_CLASSES: frozenset[str] = frozenset()
_ADDRESS = "address"
"""The class of mail addresses and of words that begin a web address; no list holds it."""
_WEB = "web"
"""Those of them that begin a web address."""
_MIN_SPACED_LETTERS = 6
_MIN_GLUED = 12
_MAX_GLUED = 120
_MIN_GLUED_WORDS = 3
_GLUED_SHARE = 0.7
"""Part of a long unknown word that must be known words before it is read as several."""
_CACHED_WORDS = 20_000
_CACHED_CHARS = 40


@dataclass(frozen=True)
class Word:
    """A word of a message, the classes it belongs to, and whether it had to be undisguised."""

    text: str
    classes: frozenset[str]
    is_disguised: bool = False


@dataclass(frozen=True)
class Step:
    """The next word of a phrase: its classes, and how many words may stand before it."""

    classes: frozenset[str]
    gap: int = 0
    is_forbidden: bool = False


@dataclass(frozen=True)
class Phrase:
    """Words in order: the first anchors the match, `steps` follow it."""

    name: str
    weight: float
    anchors: frozenset[str]
    steps: tuple[Step, ...]
    unless: frozenset[str]


@dataclass(frozen=True)
class Mark:
    """A regex over a folded line."""

    name: str
    weight: float
    pattern: re.Pattern[str]


class InjectionRules:
    """All rules, with the indexes that make a scan linear."""

    def __init__(self, tables: dict[str, Any]) -> None:
        self.marks = tuple(
            Mark(m["name"], m["weight"], re.compile(m["pattern"])) for m in tables["mark"]
        )
        self.topic: re.Pattern[str] = re.compile(tables["topic"]["pattern"])
        self._lookalikes = str.maketrans(
            {
                fold_line(twin): letter
                for letter, twins in tables["lookalikes"].items()
                for twin in twins
                if len(fold_line(twin)) == 1
            }
        )
        self._whole: dict[str, set[str]] = {}
        self._stems: dict[str, set[str]] = {}
        for name, lists in tables["words"].items():
            for listed in lists.values():
                self._learn(name, listed.split())
        self._names = frozenset(tables["words"]) | {_ADDRESS, _WEB}
        phrases = [p for table in tables["phrase"] for p in self._read_phrases(table)]
        self._from_anchor: dict[str, list[Phrase]] = {}
        for phrase in phrases:
            for anchor in phrase.anchors:
                self._from_anchor.setdefault(anchor, []).append(phrase)
        vocabulary = set(self._whole) | set(self._stems)
        self._lengths = sorted({len(word) for word in vocabulary}, reverse=True)
        self._stem_lengths = sorted({len(stem) for stem in self._stems})
        self._vocabulary = frozenset(vocabulary)
        self._seen: dict[str, tuple[frozenset[str], bool]] = {}

    def _learn(self, name: str, words: Iterable[str]) -> None:
        for word in words:
            into = self._stems if word.endswith("*") else self._whole
            into.setdefault(fold_line(word.rstrip("*")), set()).add(name)

    def _read_phrases(self, table: dict[str, Any]) -> Iterator[Phrase]:
        for path in table["paths"]:
            steps: list[Step] = []
            gap = 0
            for part in path.split():
                if part.startswith("~"):
                    gap = int(part[1:])
                    continue
                names = frozenset(part.lstrip("!").split("|"))
                for name in names:
                    if name.startswith("="):
                        self._learn(name, [name[1:]])
                    elif name not in self._names:
                        raise ValueError(f"phrase {path!r} names no class {name!r}")
                steps.append(Step(names, gap, part.startswith("!")))
                gap = 0
            unless = frozenset(table.get("unless", "").split())
            yield Phrase(table["name"], table["weight"], steps[0].classes, tuple(steps[1:]), unless)

    def phrases_from(self, classes: frozenset[str]) -> Iterator[Phrase]:
        """The phrases that can begin with a word of these classes, each once."""
        if len(classes) == 1:
            yield from self._from_anchor.get(next(iter(classes)), ())
            return
        seen: set[int] = set()
        for name in classes:
            for phrase in self._from_anchor.get(name, ()):
                if id(phrase) not in seen:
                    seen.add(id(phrase))
                    yield phrase

    def unused_lists(self) -> frozenset[str]:
        """The word lists that no phrase asks for; a shipped file should have none."""
        phrases = [p for listed in self._from_anchor.values() for p in listed]
        asked = {name for p in phrases for step in p.steps for name in step.classes}
        asked |= {name for p in phrases for name in p.anchors | p.unless}
        return self._names - asked

    def classes_of(self, word: str) -> tuple[frozenset[str], bool]:
        """The classes of a folded word, and whether it belongs to them only once undisguised."""
        known = self._seen.get(word)
        if known is None:
            known = self._look_up_all(word)
            if len(word) <= _CACHED_CHARS and len(self._seen) < _CACHED_WORDS:
                self._seen[word] = known
        return known

    def _look_up_all(self, word: str) -> tuple[frozenset[str], bool]:
        if plain := self._look_up(word):
            return plain, False
        straight = word if word.isascii() else word.translate(self._lookalikes)
        if "'" in word and (classes := self._look_up(word.rpartition("'")[2])):
            return classes, False
        if straight != word and (classes := self._look_up(straight)):
            return classes, True
        for letters in undo_leet(straight):
            if classes := self._look_up(letters):
                return classes, True
        return _NO_CLASSES, False

    def _look_up(self, word: str) -> frozenset[str]:
        classes = set(self._whole.get(word, ()))
        for length in self._stem_lengths:
            if length > len(word):
                break
            classes |= self._stems.get(word[:length], set())
        if word in {"http", "https", "www"}:
            classes |= {_ADDRESS, _WEB}
        elif word[:1] != "@" and "@" in word[1:-1]:
            classes.add(_ADDRESS)
        return frozenset(classes)

    def words(self, split: Iterable[str]) -> list[Word]:
        """Words with their classes; letters written apart or run together are cut into words."""
        words: list[Word] = []
        letters: list[str] = []
        for text in split:
            if len(text) == 1 and text.isascii() and text != ".":
                letters.append(text)
                continue
            words.extend(self._close_run(letters))
            letters = []
            words.extend(self._read_word(text))
        words.extend(self._close_run(letters))
        return words

    def _close_run(self, letters: list[str]) -> Iterator[Word]:
        if len(letters) < _MIN_SPACED_LETTERS:
            yield from (Word(letter, self.classes_of(letter)[0]) for letter in letters)
            return
        for piece in self._cut(undo_leet_letters("".join(letters))):
            yield Word(piece, self.classes_of(piece)[0], is_disguised=True)

    def _read_word(self, text: str) -> Iterator[Word]:
        classes, is_disguised = self.classes_of(text)
        if any(_runs_together(char) for char in text):
            for piece in self._cut(text):
                yield Word(piece, self.classes_of(piece)[0])
        elif not classes and _MIN_GLUED <= len(text) <= _MAX_GLUED:
            pieces = list(self._cut(text))
            known = [len(p) for p in pieces if len(p) > 2 and p in self._vocabulary]
            if len(known) >= _MIN_GLUED_WORDS and sum(known) >= _GLUED_SHARE * len(text):
                for piece in pieces:
                    yield Word(piece, self.classes_of(piece)[0], is_disguised=True)
            else:
                yield Word(text, classes)
        else:
            yield Word(text, classes, is_disguised)

    def _cut(self, letters: str) -> Iterator[str]:
        """The longest known word at each place; what lies between known words in one piece."""
        start = index = 0
        while index < len(letters):
            length = self._known_length(letters, index)
            if not length:
                index += 1
                continue
            if start < index:
                yield letters[start:index]
            yield letters[index : index + length]
            index += length
            start = index
        if start < index:
            yield letters[start:index]

    def _known_length(self, letters: str, index: int) -> int:
        for length in self._lengths:
            if letters[index : index + length] in self._vocabulary and index + length <= len(
                letters
            ):
                return length
        return 0


def _runs_together(char: str) -> bool:
    """Whether the script of `char` is written without spaces (ideographs, kana, Thai)."""
    return "\u3040" <= char <= "\u9fff" or "\u0e00" <= char <= "\u0e7f"


@cache
def load_rules() -> InjectionRules:
    """The shipped rules, read once."""
    source = files("memory_pipeline.stages").joinpath("injection_patterns.toml")
    return InjectionRules(tomllib.loads(source.read_text("utf-8")))
