"""The tense of the clause around a dated phrase, guessed from its verbs.

Belongs here: whether "on Friday" is behind the speaker or ahead. Does not: parsing; a handful of
cue words decide, and no cue means no answer.
"""

import re
from typing import Final, Literal

Tense = Literal["past", "future"]

_IRREGULAR: Final = (
    "was|were|wasn['\u2019]t|weren['\u2019]t|did|didn['\u2019]t|had|hadn['\u2019]t|went|got|came|saw|met|made|took|"
    "gave|began|became|bought|brought|broke|built|caught|chose|drove|ate|fell|felt|found|flew|"
    "forgot|grew|heard|kept|knew|left|lost|paid|ran|said|sold|sent|spent|spoke|stood|taught|told|"
    "been|done|gone|seen|taken|known|given|written|haven['\u2019]t|hasn['\u2019]t|"
    "thought|won|wrote|wore|woke|swam|sang|slept|threw|understood|quit|i['\u2019]d been"
)
_CUE: Final = re.compile(
    # "I'm excited" looks like a past tense and is none.
    r"(?P<neutral>\b(?:am|is|are|be|being)\b|['\u2019](?:m|re)\b)(?:\s+(?:\w+ly|so|very|not|really))?"
    r"(?:\s+\w{2,}ed\b)"
    r"|(?P<future>\b(?:will|won['\u2019]t|shall|gonna|(?<!been\s)going\s+to|about\s+to|hop(?:e|ing)\s+to"
    r"|plan(?:s|ning)?\s+(?:to|on)|wants?\s+to|intend(?:s|ing)?\s+to|would\s+like\s+to)\b"
    r"|['\u2019]ll\b)"
    rf"|(?P<past>\b(?:{_IRREGULAR}|(?!need|feed|speed|indeed|hundred|kindred)[a-z]{{2,}}ed)\b)",
    re.IGNORECASE,
)
_CLAUSE_END: Final = re.compile(
    r"[.!?;,:\n]|\b(?:but|and|so|because|while|although|though|then|which)\b", re.IGNORECASE
)
_SENTENCE_END: Final = re.compile(r"[.!?\n]")


def tense_around(text: str, position: int) -> Tense | None:
    """The tense of the clause that holds `position`, else of its sentence; None without a cue.

    The last cue before the position counts, or the first one behind it.
    """
    for boundary in (_CLAUSE_END, _SENTENCE_END):
        start = 0
        end = len(text)
        for edge in boundary.finditer(text):
            if edge.end() > position:
                end = edge.start()
                break
            start = edge.end()
        if tense := _tense_between(text, start, max(end, position), position):
            return tense
    return None


def _tense_between(text: str, start: int, end: int, position: int) -> Tense | None:
    tense: Tense | None = None
    for cue in _CUE.finditer(text, start, end):
        if cue["neutral"]:
            continue
        if cue.start() >= position and tense:
            break
        tense = "past" if cue["past"] else "future"
        if cue.start() >= position:
            break
    return tense
