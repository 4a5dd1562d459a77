"""Tells English from everything else, by script and stop words.

What belongs here: one closed test. What does not: which other language it is.
"""

import re
import unicodedata

from memory_pipeline.stages.heuristic_rules.words import words

_ENGLISH = (
    words("language", "english")
    | words("language", "more_english")
    | words("elisions", "past")
    | words("elisions", "doing")
    | words("relations", "people")
)
_FOREIGN = words("language", "foreign")
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?")


def is_english(text: str) -> bool:
    """True for English; text without letters is not English, one of few words needs one cue."""
    words = [w.replace("\u2019", "'").lower() for w in _WORD.findall(text)]
    letters = [c for c in text if c.isalpha()]
    if not letters or not words:
        return False
    latin = sum("LATIN" in unicodedata.name(c, "") for c in letters)
    if latin < 0.8 * len(letters):
        return False
    english = sum(w in _ENGLISH for w in words)
    foreign = sum(w in _FOREIGN and w not in _ENGLISH for w in words)
    if foreign >= max(1, english):
        return False
    # Names and nouns alone ("Lisbon, not Porto") carry few stop words; long text carries many.
    return len(words) <= 4 or english >= 0.12 * len(words)
