"""A query as the names that may stand in it: every run of its words, folded as names are.

Belongs here: word boundaries, folding, scripts without spaces. Does not: which names memory
knows and what follows from a match (reading/recall).
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence

from memory_pipeline.stages.fields import NAME_CHARS
from memory_pipeline.stages.name_folding import lookup_keys

MAX_SPANS = 6_000
"""Runs looked up for one query: all of a question, the shorter ones of a whole page."""
_MAX_FOLDED = 600
"""Runs with more than plain letters that are folded by the rules of names, which takes longer."""
_MAX_WORDS = 6
_MAX_LETTERS = 10
_MIN_CHARS = 2
"""One letter alone names nobody: it is the rest of `c++` as well as of `vitamin c`."""

_QUOTES = str.maketrans(
    dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u00b4\u02bc", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033", '"')
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")
)
_OUTER = " \"'`,;:.!?()[]{}<>\u2026\u00a1\u00bf"
_NO_WORD = re.compile(r"[^\w\s]")
_PLAIN = re.compile(r"[a-z0-9 ]*")
"""Nothing here that folding would change."""
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+"
)
"""Letters of scripts that are written without spaces between words."""


def name_spans(query: str) -> list[str]:
    """Every run of words of the query that could be a name, each once, the short ones first.

    As memory spells names (stages/fields) and as it folds them (stages/name_folding): with and
    without punctuation and accents. At most `MAX_SPANS`.
    """
    spelled = unicodedata.normalize("NFKC", query.translate(_QUOTES)).lower().split()
    flat = unicodedata.normalize("NFKD", query.casefold())
    bare = "".join(char for char in flat if not unicodedata.combining(char))
    # An apostrophe parts words here, so that `ann's boat` names ann.
    folded = _NO_WORD.sub(" ", bare).split()
    spans: dict[str, None] = {}
    to_fold = _MAX_FOLDED
    for span in (*_unspaced_runs(query), *_runs(spelled, folded)):
        stripped = span.strip(_OUTER)
        names = [span, stripped]
        if to_fold and not _PLAIN.fullmatch(stripped):
            to_fold -= 1
            names += lookup_keys(stripped)
        spans.update(dict.fromkeys(n for n in names if _MIN_CHARS <= len(n) <= NAME_CHARS))
        if len(spans) >= MAX_SPANS:
            break
    return list(spans)[:MAX_SPANS]


def _runs(*spellings: Sequence[str]) -> Iterator[str]:
    for size in range(1, _MAX_WORDS + 1):
        for words in spellings:
            for start in range(len(words) - size + 1):
                yield " ".join(words[start : start + size])


def _unspaced_runs(query: str) -> Iterator[str]:
    """Any run of letters may be a word there, so that there is no boundary to keep."""
    for match in _UNSPACED.finditer(unicodedata.normalize("NFKC", query)[: MAX_SPANS // 10]):
        letters = match.group()
        for size in range(_MIN_CHARS, _MAX_LETTERS + 1):
            for start in range(len(letters) - size + 1):
                yield letters[start : start + size]
