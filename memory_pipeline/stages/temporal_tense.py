"""The tense of the clause around a dated phrase, guessed from its verbs.

Belongs here: whether "on Friday" is behind the speaker or ahead. Does not: parsing; a handful of
cue words decide, and no cue means no answer.
"""

import re
from collections.abc import Iterator
from typing import Final, Literal

Tense = Literal["past", "present", "future"]

_PAST: Final = frozenset(
    (
        "was", "were", "wasn't", "weren't", "did", "didn't", "had", "hadn't", "been", "haven't",
        "hasn't", "went", "got", "came", "saw", "met", "made", "took", "gave", "began", "became",
        "bought", "brought", "broke", "built", "caught", "chose", "drove", "ate", "fell", "felt",
        "found", "flew", "forgot", "grew", "heard", "kept", "knew", "left", "lost", "paid",
        "ran", "said", "sold", "sent", "spent", "spoke", "stood", "taught", "told", "thought",
        "won", "wrote", "wore", "woke", "swam", "sang", "slept", "threw", "understood", "quit",
    )
)  # fmt: skip
# Like a past tense, but behind a form of "have" only.
_PARTICIPLES: Final = frozenset(("done", "gone", "seen", "taken", "known", "given", "eaten"))
_PRESENT: Final = frozenset(("am", "is", "are", "isn't", "aren't", "be"))
_FUTURE: Final = frozenset(("will", "won't", "shall", "gonna"))
# Future with "to" behind them: "I hope to", "is going to".
_FUTURE_TO: Final = frozenset(
    (
        "going", "about", "hope", "hoping", "plan", "plans", "planning", "want", "wants",
        "intend", "intending",
    )
)  # fmt: skip
_NOT_PAST: Final = frozenset(
    (
        "need", "feed", "speed", "indeed", "hundred", "seed", "weed", "breed", "bleed", "exceed",
        "proceed", "succeed", "sacred", "naked", "embed", "wicked",
    )
)  # fmt: skip
_WORD: Final = re.compile(r"[a-z]+(?:['\u2019][a-z]+)?", re.IGNORECASE)
_CLAUSE_END: Final = re.compile(
    r"[.!?;,:\n]|\b(?:but|and|so|because|while|although|though|then|which)\b", re.IGNORECASE
)
_SENTENCE_END: Final = re.compile(r"[.!?\n]")
# A clause is not longer than this many characters each way; a long text stays cheap.
_REACH: Final = 300


def tense_around(text: str, position: int) -> Tense | None:
    """The tense of the clause that holds `position`, else of its sentence; None without a cue.

    The last cue before the position counts, or the first one behind it.
    """
    for boundary in (_CLAUSE_END, _SENTENCE_END):
        start, end = _between(text, position, boundary)
        found: Tense | None = None
        for offset, tense in _cues(text, start, end):
            if offset >= position:
                return found or tense
            found = tense
        if found:
            return found
    return None


def _between(text: str, position: int, boundary: re.Pattern[str]) -> tuple[int, int]:
    start, end = max(0, position - _REACH), min(len(text), position + _REACH)
    for edge in boundary.finditer(text, start, end):
        if edge.end() > position:
            return start, edge.start()
        start = edge.end()
    return start, end


def _cues(text: str, start: int, end: int) -> Iterator[tuple[int, Tense]]:
    """Each word that shows a tense, with its offset."""
    before = ["", ""]
    for match in _WORD.finditer(text, start, end):
        word = match[0].lower().replace("\u2019", "'")
        if tense := _tense_of(word, before):
            yield match.start(), tense
        before = [before[-1], word]


def _tense_of(word: str, before: list[str]) -> Tense | None:
    if word in _PAST:
        return "past"
    if word in _FUTURE or word.endswith("'ll"):
        return "future"
    if word == "to" and before[1] in _FUTURE_TO and before[0] != "been":
        return "future"
    if word in _PRESENT or word.endswith(("'m", "'re")):
        return "present"
    follows_be = any(_is_be(earlier) for earlier in before)
    if word.endswith("ing") and before[1].endswith("'s"):
        return "present"
    if word in _PARTICIPLES:
        return "past" if any(_is_have(earlier) for earlier in before) else None
    # "I'm excited" and "we are getting married" look like a past tense and are none.
    if word.endswith("ed") and len(word) > 4 and word not in _NOT_PAST and not follows_be:
        return "past"
    return None


def _is_be(word: str) -> bool:
    return word in _PRESENT or word.endswith(("'m", "'re"))


def _is_have(word: str) -> bool:
    return word in ("have", "has") or word.endswith("'ve")
