"""Untrusted text on one line of a prompt: titles, paths, names, recalled facts.

Belongs here: taking away what a reader does not see but a model does, on top of stages/fields.
Does not: judging what the text says (stages/injection), fencing transcripts (prompts).
"""

import re
import unicodedata

from memory_pipeline.stages.fields import clean_text

_BLANK = re.compile("[\u115f\u1160\u2800\u3164\uffa0]")
"""Letters and symbols without ink; a reader sees a space."""
_CARRIER = re.compile("[\u034f\u17b4\u17b5\u2065\ufe00-\ufe0d\ufff0-\uffff\U000e0000-\U000e0fff]")
"""Marks without ink that can carry hidden text; the selectors of emoji and text style stay."""
_SELECTORS = re.compile("([\ufe0e\ufe0f])[\ufe0e\ufe0f]+")
_JOINERS = re.compile("[\u200c\u200d]+")
_INVISIBLE = frozenset({"Cc", "Cf", "Cs"})
_FIRST_LETTER_BEYOND_MARKS = "\u0590"
_OVERLONG = 32


def sanitise_line(text: str, limit: int) -> str:
    """`text` as one visible line of at most `limit` characters, halving no grapheme.

    Without control, bidi, zero-width and tag characters and without line breaks of any kind;
    doing it twice changes nothing. A single grapheme longer than the limit is cut all the same.
    """
    line = _visible(text[: _OVERLONG * limit], limit)
    while (again := _visible(line, limit)) != line:
        line = again
    return line


def _visible(text: str, limit: int) -> str:
    inked = _CARRIER.sub("", _BLANK.sub(" ", unicodedata.normalize("NFC", text)))
    seen = "".join(
        char
        for char in inked
        if char.isspace() or char in "\u200c\u200d" or unicodedata.category(char) not in _INVISIBLE
    )
    joined = _JOINERS.sub(_shaping_joiner, _SELECTORS.sub(r"\1", seen))
    return clean_text(joined, limit)


def _shaping_joiner(run: re.Match[str]) -> str:
    """One joiner, none beside a mark of a Latin letter: there it shapes nothing."""
    around = (
        run.string[max(run.start() - 1, 0) : run.start()] + run.string[run.end() : run.end() + 1]
    )
    return "" if min(around, default="") < _FIRST_LETTER_BEYOND_MARKS else run.group()[0]
