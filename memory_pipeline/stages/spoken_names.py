"""Which stretches of a text may be the name of something, so that names are looked up by index.

Belongs here: where a name may begin and end. Does not: whether anything has the name.
"""

import re

_MOST_WORDS = 5
_MOST_CHARS = 80
_PUNCTUATION = ".,;:!?)]}\"'\u2019\u201d\u3002"
# Scripts that are written without spaces: each character may begin or end a name.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")
_CHUNK_END = re.compile(r"(?<=\S)(?!\S)")


def spoken_names(text: str) -> list[str]:
    """Stretches of one to five words, lower case and single-spaced, sorted, each once.

    A word ends at punctuation, but what follows without a space may belong to a name (`c++`), and
    a plural may speak of a thing (`dogs`).
    """
    flat = " ".join(text.lower().split())
    words = [match.span() for match in _WORD.finditer(flat)]
    chunk_ends = [match.start() for match in _CHUNK_END.finditer(flat)]
    names: set[str] = set()
    chunk = 0
    ends: list[tuple[int, ...]] = []
    for _, end in words:
        while chunk < len(chunk_ends) and chunk_ends[chunk] < end:
            chunk += 1
        ends.append(_ends_of(flat, end, chunk_ends[chunk]))
    for index, (start, _) in enumerate(words):
        for possible in ends[index : index + _MOST_WORDS]:
            names.update(flat[start:end] for end in possible if 0 < end - start <= _MOST_CHARS)
    return sorted(names)


def _ends_of(text: str, word_end: int, chunk_end: int) -> tuple[int, ...]:
    """Where a name whose last word ends here may end: there, before a plural's s, behind signs."""
    signs = text[word_end:chunk_end].rstrip(_PUNCTUATION)
    singular = (word_end - 1,) if text[word_end - 1] == "s" else ()
    return (word_end, word_end + len(signs), *singular)
