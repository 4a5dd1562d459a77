"""Answers that a limit in length ended or prevented: how their text says so.

Belongs here: the mark and its reading. Does not: which limits there are (adapters), what is asked
next (stages/asking, stages/escalate).
"""

from collections.abc import Callable
from typing import Final, TypeVar

from memory_pipeline.stages.answer_items import BadAnswerError

Value = TypeVar("Value")

# In the text itself, which is all that is kept of an answer and read again by a replay.
_MARK: Final = "\n[length limit] "


class TooLongError(BadAnswerError):
    """A limit in length left nothing that can be used: showing the fault would only add to it."""


def mark_length(text: str, words: str) -> str:
    """The text with a last line that says in `words` which limit ended it."""
    return f"{text}{_MARK}{' '.join(words.split())}"


def read_within_length(text: str, read: Callable[[str], Value]) -> Value:
    """What `read` makes of a text without its mark.

    Raises what `read` raises, and `TooLongError` in place of a `BadAnswerError` where the text
    is marked.
    """
    said, mark, words = text.rpartition(_MARK)
    if not mark or "\n" in words:
        return read(text)
    try:
        return read(said)
    except BadAnswerError as error:
        raise TooLongError(words, "$", said) from error
