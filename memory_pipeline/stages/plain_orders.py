"""Standing orders so plain that nothing else can stand in them, English only (spec X10).

Belongs here: the closed list of their words and their form. Does not: recognising orders
(heuristic_rules/instructions), which tier answers (stages/escalate).
"""

import re

from memory_pipeline.stages.injection_text import fold_line

_WORD_LIST = """
    from now on here going forward in the future always never whenever every each time please kindly
    also just ok okay so and
    answer answers answering reply replies replying respond responding response responses message
    messages use using write writing speak speaking talk talking keep give giving avoid include
    show add put format explain stop do don't dont not no need longer more any anymore again can may
    should must could would have to be it them this all a an your you me with for as of only instead
    i'd i like want prefer forget drop ignore scrap rule instruction text plain normal simple style
    metric imperial unit units celsius fahrenheit kilometers kilometres miles system emoji emojis
    bullet bullets point points markdown table tables heading headings header headers code block
    blocks short shorter brief concise long detailed length language english german french spanish
    dutch italian portuguese british american spelling tone formal informal casual casually formally
    sarcasm sarcastic polite politely
"""
_WORDS = frozenset(_WORD_LIST.split())
_OPENING = re.compile(
    r"^(?:(?:please|ok|okay|from now on|from here on|going forward|in (?:the )?future),\s+)+",
    re.IGNORECASE,
)
_CLOSING = re.compile(r",\s+(?:please|thanks|thank you|ok|okay)(?=[\s.!]*$)", re.IGNORECASE)
_ADDRESS = re.compile(
    r"\b(?:call me|address me as|refer to me as)\s+(?:just\s+|simply\s+)?[^\W\d_][\w'-]*"
    r"(?=(?:\s+(?:from now on|please|always|again))*[\s.!]*$)"
)
_PARTED = re.compile(r"[,;:()\[\]/\u2013\u2014\u2026]|\s-+\s|\.\s*\w")
_TOKEN = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")


def is_plain_order(sentence: str) -> bool:
    """Whether every word of an order is of the closed list and no second clause follows it.

    One name is free: that of "call me Max". "Always answer in Dutch, Utrecht is home now" says
    more than an order, and any word that is not on the list might.
    """
    line = _CLOSING.sub("", _OPENING.sub("", fold_line(sentence).strip()))
    line = _ADDRESS.sub(" ", line)
    if _PARTED.search(line):
        return False
    words = _TOKEN.findall(line.replace("\u2019", "'"))
    return all(word.lower() in _WORDS for word in words) and not _joins_clauses(words)


def _joins_clauses(words: list[str]) -> bool:
    """`and` may join two words of a topic at most (`tables and headings`)."""
    at = [i for i, word in enumerate(words) if word.lower() in ("and", "so")]
    return any(0 < i < len(words) - 2 for i in at)
