"""A name as it is compared: folded spellings, and parts that tell two things apart (spec R3, R4).

Belongs here: one name at a time. Does not: whether two names are one (stages/alias_rules).
"""

import re
import unicodedata
from functools import lru_cache

from memory_pipeline.domain.extraction import EntityType
from memory_pipeline.stages.name_words import (
    ARTICLES,
    CONTRASTS,
    DOUBTFUL_LEGAL,
    FUNCTION_WORDS,
    LEGAL,
    MODEL_WORDS,
    NUMBER_WORDS,
    SMALL_WORDS,
    TITLES,
)

_UNDECOMPOSED = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "\u0131": "i", "æ": "ae", "œ": "oe", "þ": "th"}
)
_SPELLED_OUT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe"})
_INITIALS = re.compile(r"(?<!\w)[^\W\d_](?:\.\s*[^\W\d_](?!\w))+\.?")
_SPA = re.compile(r"\bs\.\s?p\.\s?a\.?$")
_RUNS = re.compile(r"\d+(?:\.\d+)*|[^\d.]+")
_ROMAN = re.compile(r"(?=[ivx]{2})x{0,3}(?:ix|iv|v?i{0,3})")
_APOSTROPHES = frozenset("'\u2019\u2018\u02bc`")
_MARK_FREE = ("LATIN", "GREEK")
_FOLDING_KINDS = (EntityType.PLACE, EntityType.PERSON, EntityType.ORG)


@lru_cache(maxsize=65_536)
def fold_name(name: str, kind: EntityType) -> str:
    """A name without case, accents, punctuation and article, and without what its kind sheds.

    Persons shed titles, organisations legal suffixes: `dr pepper` is no pepper.
    """
    words = _words(name)
    if kind in (EntityType.ORG, EntityType.PRODUCT, EntityType.THING):
        words = _without_legal(words, is_org=kind is EntityType.ORG)
    while len(words) > 1 and _is_shed(words, kind):
        words = words[1:]
    return " ".join(words) or name


def lookup_keys(name: str, kind: EntityType | None = None) -> tuple[str, ...]:
    """Every spelling under which an entity of this name may be found exactly.

    Without `kind` those of every kind.
    """
    kinds = _FOLDING_KINDS if kind is None else (kind,)
    spelled_out = unicodedata.normalize("NFC", name.casefold()).translate(_SPELLED_OUT)
    return tuple(
        dict.fromkeys(
            (name, *(fold_name(text, kind) for text in (name, spelled_out) for kind in kinds))
        )
    )


@lru_cache(maxsize=65_536)
def squeezed(name: str, kind: EntityType) -> str:
    """The folded name without spaces, numbers as digits, no word for `version`."""
    parts = [
        part
        for word in fold_name(name, kind).split()
        for part in _numbered(word)
        if part not in ("version", "ver")
    ]
    joined = "".join(f" {part} " if part[0].isdigit() else part for part in parts)
    return joined.replace("  ", "|").replace(" ", "")


@lru_cache(maxsize=65_536)
def distinguishers(name: str, kind: EntityType) -> tuple[str, ...]:
    """Parts that tell models and versions apart: numbers, letters, signs, model words (R3)."""
    found: list[str] = []
    is_person = kind is EntityType.PERSON
    for word in fold_name(name, kind).split():
        runs = _numbered(word)
        is_mixed = len(runs) > 1
        for run in runs:
            is_letters = len(run) <= (2 if is_mixed else 1) and not is_person
            if run in MODEL_WORDS or run[0].isdigit() or run[-1] in "+#" or is_letters:
                found.append(run)
    return tuple(sorted(found))


def initials_of(name: str) -> frozenset[str]:
    """The initials of a name of several words, with small words and without."""
    words = _words_of(name)
    if len(words) < 2:
        return frozenset()
    telling = [word for word in words if word not in SMALL_WORDS]
    return frozenset("".join(word[0] for word in chosen) for chosen in (words, telling) if chosen)


@lru_cache(maxsize=65_536)
def contrasts(name: str, kind: EntityType) -> frozenset[str]:
    """Words that a likeness overlooks: of closed groups (directions, kin, days), and codes."""
    code_letters = 3 if kind is EntityType.PRODUCT else 2
    words = fold_name(name, kind).split()
    return frozenset(word for word in words if len(word) <= code_letters or word in CONTRASTS)


@lru_cache(maxsize=65_536)
def titles(name: str) -> frozenset[str]:
    """The titles before a person's name."""
    found: list[str] = []
    for word in _words(name):
        if word not in TITLES and word not in ARTICLES:
            break
        found.append(word)
    return frozenset(found) & TITLES


@lru_cache(maxsize=65_536)
def scripts(name: str) -> frozenset[str]:
    """The writing systems of a name's letters; those of Chinese and Japanese count as one."""
    found = {unicodedata.name(c, "?").split()[0] for c in _letters(name) if c.isalpha()}
    east = {"CJK", "HIRAGANA", "KATAKANA", "IDEOGRAPHIC"}
    return frozenset(found - east | ({"CJK"} if found & east else set()))


def _is_shed(words: list[str], kind: EntityType) -> bool:
    """Whether the first word is an article or a title.

    `the who` is a band and `who` is not; the `a` of `a/b testing` is a letter.
    """
    is_everyday = len(words) == 2 and words[1] in FUNCTION_WORDS
    is_everyday = is_everyday or (words[0] == "a" and len(words[1]) == 1)
    is_title = kind is EntityType.PERSON and words[0] in TITLES
    return is_title or (words[0] in ARTICLES and not is_everyday)


def without_marks(name: str) -> str:
    """A name without any mark above, below or inside its letters, whatever the script."""
    return "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))


def _letters(text: str) -> str:
    """Lower case, compatible forms, no accents on Latin and Greek letters.

    A mark on any other letter makes another letter and stays.
    """
    kept: list[str] = []
    is_mark_free = False
    folded = unicodedata.normalize("NFKC", text).casefold().translate(_UNDECOMPOSED)
    for char in unicodedata.normalize("NFKD", folded):
        if unicodedata.combining(char):
            if not is_mark_free:
                kept.append(char)
            continue
        is_mark_free = char.isascii() or unicodedata.name(char, "").startswith(_MARK_FREE)
        kept.append(char)
    return unicodedata.normalize("NFC", "".join(kept))


@lru_cache(maxsize=65_536)
def _words_of(name: str) -> tuple[str, ...]:
    text = _letters(name).replace("&", " and ")
    text = _SPA.sub("", text) if _SPA.search(text) else text
    text = _INITIALS.sub(lambda match: re.sub(r"[.\s]", "", match.group()) + " ", text)
    kept = "".join(
        "" if char in _APOSTROPHES else char if _is_of_a_word(text, index) else " "
        for index, char in enumerate(text)
    )
    return tuple(kept.split())


def _words(name: str) -> list[str]:
    return list(_words_of(name))


def _is_of_a_word(text: str, index: int) -> bool:
    char = text[index]
    if unicodedata.category(char)[0] in "LNM":
        return True
    before, after = text[index - 1 : index], text[index + 1 : index + 2]
    if char in "+#":
        return text[:index].rstrip("+#")[-1:].isalnum()
    if char == ".":
        return (before.isdigit() and after.isdigit()) or (before in ("", " ") and after.isalpha())
    return False


def _without_legal(words: list[str], *, is_org: bool) -> list[str]:
    suffixes = LEGAL | DOUBTFUL_LEGAL if is_org else LEGAL
    end = len(words)
    while end > 1 and words[end - 1] in suffixes:
        end -= 1
        if end > 1 and words[end - 1] == "and":
            end -= 1
    return words[:end]


def _numbered(word: str) -> list[str]:
    """A word as runs of digits and letters; words for numbers as digits, `v2` as 2."""
    if word in NUMBER_WORDS:
        return [NUMBER_WORDS[word]]
    if _ROMAN.fullmatch(word):
        return [str(_roman(word))]
    runs: list[str] = _RUNS.findall(word)
    if len(runs) == 2 and runs[0] == "v" and runs[1][0].isdigit():
        del runs[0]
    return [run.lstrip("0") or "0" if run[0].isdigit() else run for run in runs] or [word]


def _roman(word: str) -> int:
    values = [{"i": 1, "v": 5, "x": 10}[letter] for letter in word]
    return sum(
        -value if value < following else value
        for value, following in zip(values, [*values[1:], 0], strict=True)
    )
