"""What is read of a message, and the way back to the words as they stand in it.

What belongs here: invisible format characters left out, the reading limit. What does not: what
the words say (gates, sentences).
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from itertools import islice

from memory_pipeline.stages.heuristic_rules.sentences import QUOTE_LIMIT, sentence_end_before

_LONGEST = 6000


@dataclass(frozen=True)
class MessageText:
    """The words read of a message; `places` are where their characters stand in `source`."""

    text: str
    places: tuple[int, ...]
    source: str
    is_cut: bool

    def as_written(self, quote: str) -> str:
        """Verbatim words of the message for words of `text`, at most 200 characters."""
        at = self.text.find(quote) if quote else -1
        if at < 0:
            return quote
        first, last = self.places[at], self.places[at + len(quote) - 1]
        return self.source[first : last + 1][:QUOTE_LIMIT]

    @property
    def unread(self) -> str:
        """The first words that are not read; empty when all are."""
        start = self.places[-1] + 1 if self.places else 0
        return self.source[start:].strip()[:QUOTE_LIMIT] if self.is_cut else ""


def read_text(source: str) -> MessageText:
    """The message without format characters, cut after a whole sentence at the reading limit."""
    shown = ((i, c) for i, c in enumerate(source) if c.isascii() or not _is_format(c))
    kept = list(islice(shown, _LONGEST + 1))
    text = "".join(c for _, c in kept)
    end = sentence_end_before(text, _LONGEST)
    return MessageText(
        text=text[:end],
        places=tuple(i for i, _ in kept[:end]),
        source=source,
        is_cut=len(text) > _LONGEST,
    )


def _is_format(char: str) -> bool:
    """Bidi controls, soft hyphens, zero-width spaces and joiners."""
    return unicodedata.category(char) == "Cf"
