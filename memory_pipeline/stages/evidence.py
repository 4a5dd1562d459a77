"""Where a quote is said: the check that no claim stands without the user's own words (spec X9).

Belongs here: exact and near search, spans of the original text. Does not: folding
(stages/folding), what becomes of a claim without evidence (stages/guard).
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice

from rapidfuzz import fuzz

from memory_pipeline.domain.claim import Evidence
from memory_pipeline.domain.conversation import Message
from memory_pipeline.stages.fields import cut, halves_grapheme
from memory_pipeline.stages.folding import FoldedText, fold
from memory_pipeline.stages.negation import is_negation
from memory_pipeline.stages.shared_words import SaidWords

FUZZY_THRESHOLD = 90.0
"""Least partial ratio (0-100) at which a quote with typos counts as said."""

FUZZY_MIN_CHARS = 12
"""Shorter quotes must occur letter by letter: too little text to tell a typo from another word."""

QUOTE_CHARS = 200
"""Longest stored quote."""

SEARCHED_QUOTES = 5
"""Times the stored length that is looked for: a quote may carry markup or run on."""

NEAR_SEARCHES = 300
"""Quotes of one window looked for with typos at most; no honest answer has so many.

Bounds the time that a runaway answer of thousands of made-up quotes can take.
"""

MAX_PLACES = 8
"""Places of one quote that are looked at; a later one may say what the first only denies."""

SHARED_TRIGRAMS = 0.5
"""Least share of a quote's trigrams found in a message before the costly search is tried.

At a ratio of 90 one character in ten differs, and each touches at most three trigrams.
"""

_FRAME = " .,;:!\"'()[]"
_NUMBER = re.compile(r"\d+(?:[.:/-]\d+)*")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_CLAUSE_END = re.compile(r"[.!?;,:]")
_NEIGHBOUR_WORDS = 3
_NEGATIVE_PREFIXES = ("un", "in", "im", "il", "ir", "dis", "non", "mis", "anti")
# One or two letters part `six` from `sixteen`.
_COUNT_LIST = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety
    hundred thousand million billion dozen half once twice first second third
"""
_COUNT_WORDS = frozenset(_COUNT_LIST.split())


class FoldedMessages:
    """The own messages of a window, folded once for all quotes that are looked up in it.

    Evidence quotes at most `quote_chars` characters.
    """

    def __init__(self, messages: Sequence[Message], quote_chars: int = QUOTE_CHARS) -> None:
        self._quote_chars = quote_chars
        self._own = tuple((m, fold(m.text)) for m in messages if m.is_own)
        self._trigrams = frozenset[str]().union(*(folded.trigrams for _, folded in self._own))
        self._near_searches = 0
        self._found: dict[str, Evidence | None] = {}

    def find(self, quote: str) -> Evidence | None:
        """See `find_evidence`."""
        if quote not in self._found:
            self._found[quote] = self._search(fold(quote[: SEARCHED_QUOTES * self._quote_chars]))
        return self._found[quote]

    @cached_property
    def words(self) -> SaidWords:
        """The words of all own messages."""
        return SaidWords(folded.text for _, folded in self._own)

    def places(self, quote: str) -> Iterator[Evidence]:
        """Where `find` finds it, then every other place that says it exactly."""
        first = self.find(quote)
        if first is None:
            return
        yield first
        folded = fold(quote[: SEARCHED_QUOTES * self._quote_chars])
        for evidence in islice(self._exact(folded), MAX_PLACES):
            if evidence != first:
                yield evidence

    def _search(self, quote: FoldedText) -> Evidence | None:
        return next(self._exact(quote), None) or self._search_near(quote)

    def _exact(self, quote: FoldedText) -> Iterator[Evidence]:
        # Quotation marks and a full stop around the quote are often the extractor's own.
        for wanted in dict.fromkeys((quote.text, quote.text.strip(_FRAME))):
            for message, folded in self._own:
                for span in _find_exact(wanted, folded):
                    yield self._evidence(message, folded, *span)

    def _search_near(self, quote: FoldedText) -> Evidence | None:
        enough = SHARED_TRIGRAMS * len(quote.trigrams)
        if len(quote.text) < FUZZY_MIN_CHARS or len(quote.trigrams & self._trigrams) < enough:
            return None
        self._near_searches += 1
        if self._near_searches > NEAR_SEARCHES:
            return None
        best: tuple[float, Message, FoldedText, tuple[int, int]] | None = None
        for message, folded in self._own:
            if len(quote.trigrams & folded.trigrams) < enough:
                continue
            near = _find_near(quote.text, folded.text)
            if near is not None and (best is None or near[0] > best[0]):
                best = (near[0], message, folded, near[1])
        return None if best is None else self._evidence(best[1], best[2], *best[3])

    def _evidence(self, message: Message, folded: FoldedText, first: int, last: int) -> Evidence:
        """Evidence at the folded span, widened to whole graphemes of the original and cut."""
        text = message.text
        start, end = folded.starts[first], folded.ends[last - 1]
        while halves_grapheme(text, start):
            start -= 1
        while halves_grapheme(text, end):
            end += 1
        quote = cut(text[start:end], self._quote_chars)
        return Evidence(
            message_id=message.message_id,
            span_start=start,
            span_end=start + len(quote),
            quote=quote,
            said_at=message.said_at,
        )


def find_evidence(quote: str, messages: Sequence[Message] | FoldedMessages) -> Evidence | None:
    """Where an own message says `quote`, or None.

    Case, whitespace, markdown, accents and typographic variants are folded. The first message
    that says it exactly wins; only then typos are tolerated, never in a number or a negation.
    `message.text[span_start:span_end]` is the evidence's `quote`, at most 200 characters, and
    halves no grapheme. For many quotes of one window pass `FoldedMessages(messages)`.
    """
    prepared = messages if isinstance(messages, FoldedMessages) else FoldedMessages(messages)
    return prepared.find(quote)


def _find_exact(quote: str, folded: FoldedText) -> Iterator[tuple[int, int]]:
    if not any(char.isalnum() or unicodedata.category(char) == "So" for char in quote):
        return
    start = folded.text.find(quote)
    while start != -1:
        end = start + len(quote)
        if not _halves_word(folded, start) and not _halves_word(folded, end):
            yield start, end
        start = folded.text.find(quote, start + 1)


def _halves_word(folded: FoldedText, index: int) -> bool:
    """Whether an edge at `index` would read a part of a word or number as the whole of it."""
    text = folded.text
    if not 0 < index < len(text):
        return False
    if folded.starts[index - 1] == folded.starts[index]:
        return True
    before, after = text[index - 1], text[index]
    # Scripts from Thai on write without spaces, so there every place is an edge.
    if before.isalnum() and after.isalnum() and max(before, after) < "\u0e00":
        return True
    if before.isdigit() and re.match(r"[.,]\d", text[index : index + 2]):
        return True
    if after.isdigit() and re.match(r"\d[.,]", text[max(index - 2, 0) : index]):
        return True
    return before.isalpha() and re.match(r"'t\b", text[index : index + 3]) is not None


def _find_near(quote: str, text: str) -> tuple[float, tuple[int, int]] | None:
    """Score and span of the place in `text` that says `quote` but for typos."""
    if len(quote) >= len(text):
        # The library would look for the message inside the quote, and `ok` is inside anything.
        score = fuzz.ratio(quote, text, score_cutoff=FUZZY_THRESHOLD)
        start, end = 0, len(text)
    else:
        aligned = fuzz.partial_ratio_alignment(quote, text, score_cutoff=FUZZY_THRESHOLD)
        if aligned is None:
            return None
        score, start, end = aligned.score, aligned.dest_start, aligned.dest_end
    if score < FUZZY_THRESHOLD:
        return None
    words = [(m.start(), m.end()) for m in _WORD.finditer(text)]
    touched = [i for i, (first, last) in enumerate(words) if first < end and last > start]
    if not touched or not _says_the_same(quote, text, words, touched):
        return None
    whole = [i for i in touched if _is_mostly_inside(words[i], start, end)]
    return score, (words[whole[0]][0], words[whole[-1]][1]) if whole else (start, end)


def _is_mostly_inside(word: tuple[int, int], start: int, end: int) -> bool:
    return 2 * (min(word[1], end) - max(word[0], start)) > word[1] - word[0]


def _says_the_same(
    quote: str, text: str, words: Sequence[tuple[int, int]], touched: Sequence[int]
) -> bool:
    """Equal numbers and negations, and no word that only a negative prefix parts from its pair."""
    span = text[words[touched[0]][0] : words[touched[-1]][1]]
    if _numbers(quote) != _numbers(span):
        return False
    first, last = touched[0], touched[-1]
    for _ in range(_NEIGHBOUR_WORDS):
        # The alignment may leave out a `don't` at its edge, so the clause around it counts too.
        if first > 0 and not _CLAUSE_END.search(text, words[first - 1][1], words[first][0]):
            first -= 1
        if last + 1 < len(words) and not _CLAUSE_END.search(
            text, words[last][1], words[last + 1][0]
        ):
            last += 1
    said = [text[start:end] for start, end in words[first : last + 1]]
    quoted = _WORD.findall(quote)
    inside = _WORD.findall(span)
    if Counter(_negations(quoted)) != Counter(_negations(said)):
        return False
    if Counter(_counts(quoted)) != Counter(_counts(inside)):
        return False
    return not _is_opposed(set(quoted), set(inside))


def _numbers(text: str) -> Counter[str]:
    return Counter(_NUMBER.findall(_THOUSANDS.sub("", text)))


def _negations(words: Sequence[str]) -> Iterator[str]:
    return ("not" for word in words if is_negation(word))


def _counts(words: Sequence[str]) -> Iterator[str]:
    return (word for word in words if word in _COUNT_WORDS)


def count_words(text: str) -> tuple[str, ...]:
    """The English words of a text that count (`two`, `twice`), in order."""
    return tuple(_counts(_WORD.findall(fold(text).text)))


def _is_opposed(quoted: set[str], said: set[str]) -> bool:
    return any(
        prefix + word in other
        for one, other in ((quoted - said, said - quoted), (said - quoted, quoted - said))
        for word in one
        for prefix in _NEGATIVE_PREFIXES
    )
