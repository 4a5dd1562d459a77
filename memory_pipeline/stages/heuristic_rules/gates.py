"""Decides whether a message or a sentence may say anything durable at all, and why not.

What belongs here: closed lists of markers. What does not: the reading of what passes (clauses).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from memory_pipeline.stages.heuristic_rules.language import is_english
from memory_pipeline.stages.small_talk import is_small_talk


class Reason(StrEnum):
    """Why something gave no candidate."""

    EMPTY = "empty"
    SMALL_TALK = "small_talk"
    OTHER_LANGUAGE = "other_language"
    PASTED = "pasted"
    QUESTION = "question"
    CONDITIONAL = "conditional"
    HYPOTHETICAL = "hypothetical"
    REPORTED = "reported"
    QUOTE = "quote"
    WISH = "wish"
    JOKE = "joke"
    SARCASM = "sarcasm"
    REQUEST = "request"
    FLEETING = "fleeting"
    NO_PARSE = "no_parse"
    TRUNCATED = "truncated"
    AMBIGUOUS = "ambiguous_correction"
    TAKEN_BACK = "taken_back"


@dataclass(frozen=True)
class OwnWords:
    """What the user says in a message themself, offsets kept, and what was blanked out of it."""

    text: str
    blanked: tuple[tuple[Reason, str], ...] = ()


_CODE = re.compile(r"```.*?(?:```|\Z)|^(?: {4}|\t).*$", re.DOTALL | re.MULTILINE)
_CODE_LINE = re.compile(
    r"^.*(?:[{};]\s*$|=>|</\w+>|^\s*(?:def|class|import|from|return|const|let|var|SELECT)\s.*"
    r"[=(:;*]).*$",
    re.MULTILINE,
)
_QUOTED_LINES = re.compile(r"^\s*>.*$", re.MULTILINE)
_PASTE_CUE = re.compile(
    r"\b(?:here(?:'s| is| are)|this is|below is|see|following is|i (?:got|received) this|"
    r"(?:translate|summari[sz]e|proofread|rewrite|rephrase|correct|edit|fix|review|improve|check|"
    r"analy[sz]e|reply to|respond to|answer)(?: me)?)\b[^.:!?\n]{0,60}"
    r"\b(?:email|e-mail|mail|message|letter|text|article|paragraph|transcript|post|sentence|essay|"
    r"log|poem|story|review|cv|resume|draft|note|quote|lyrics|this|following|it|says|wrote)\b"
    r"[^.:!?\n]{0,30}:\s*",
    re.IGNORECASE,
)
_MAIL_HEADER = re.compile(
    r"^(?:-+\s*(?:forwarded|original) message|from:\s|subject:\s|to:\s.*@|on .{5,60} wrote:)",
    re.IGNORECASE | re.MULTILINE,
)
_QUOTED = re.compile(
    r"[\"“«]([^\"”»\n]{3,}?)[\"”»]|(?<=[\s:,(])'([^'\n]*\s[^\n]*?)'(?=[\s.,!?)]|$)"
)
# Speech without quotation marks: `my friend said: I hate football`, but not `I said: ...`.
_SPOKEN_AFTER = re.compile(
    r"(?<!\bI )\b(?:said|says|wrote|writes|texted|texts|replied|replies|told me|tells me|goes|"
    r"(?<!my )(?<!other )(?<!own )words)(?: to \w+)?\s*:\s*(?=(?:I|my|we|our)\b)[^\n.!?]*",
    re.IGNORECASE,
)
_SPEAKS = re.compile(
    r"\b(?:I|I'm|I've|me|my|we|you|your|is|are|was|don't|it's|never|always)\b", re.IGNORECASE
)
_URL = re.compile(r"https?://\S+|www\.\S+")

_JOKE = re.compile(
    r"\b(?:just kidding|jk|j/k|only kidding|kidding(?=[!.]|$)|just joking|i'm joking|im joking|"
    r"i am joking|as a joke|only joking|not really lol|lol jk|in my dreams|april fools)\b|/joke",
    re.IGNORECASE,
)
_SARCASM = re.compile(
    r"\byeah,? right\b|(?<!\S)/s(?!\w)|\bsure,? jan\b|\bsarcas|\bsaid no one ever\b|\bnot!\s*$|"
    r"^(?:oh,? )?sure,? I(?:'ll| will)\b|\bbecause (?:who|that's exactly) |\bas if\b|🙄",
    re.IGNORECASE,
)
_SHOUTED_LIKE = re.compile(
    r"\b(?:I|i|we)\s+(?:just\s+|so\s+|totally\s+|absolutely\s+)*(?:LOVE|ADORE|ENJOY)\b"
)
_CAPITALS = re.compile(r"\b[A-Z]{2,}\b")
_LIKED_BADLY = re.compile(
    r"\b(?:just |simply |absolutely )?(?:love|adore|enjoy) (?:it when|how|being|getting|having|"
    r"waiting|sitting)\b.*\b(?:late|cancel\w*|crash\w*|stuck|ignored|traffic|rain\w*|broke\w*|"
    r"wak\w*|yell\w*|scream\w*|nothing|again|meetings?|3 ?am|delay\w*|hold|queue|line)\b",
    re.IGNORECASE,
)
_CONDITIONAL = re.compile(
    r"\b(?:if|unless|in case|suppose|supposing|assuming|provided that|what if|"
    r"as long as|had I|were I)\b",
    re.IGNORECASE,
)
_HARMLESS_IF = re.compile(
    r"\b(?:let me know if|wonder(?:ing)? if|not sure if|don't know if|see if|ask(?:ed)? if|"
    r"check if|if not more|as if|even if|if that (?:helps|matters)|if you (?:must|want to) know|"
    r"if i remember (?:right|correctly)|in case you(?:'re| are)? (?:wonder\w*|need|care|ask\w*)|"
    r"in case it matters)\b",
    re.IGNORECASE,
)
_WISH = re.compile(
    r"^hope\b|\b(?:I wish|if only|I hope|hope you|hoping you|hopefully|good luck|happy birthday|"
    r"congrat\w*|"
    r"may you|wish you|wishing|fingers crossed|best wishes|get well soon|all the best)\b",
    re.IGNORECASE,
)
_HYPOTHETICAL = re.compile(
    r"\b(?:hypothetically|in theory|let's say|let us say|pretend|role-?play|fictional|my character|"
    r"in (?:my|the) (?:story|novel|game|dream)|dreamt|dreamed|for example, I|for instance, I|"
    r"e\.g\.,? I|imagine|could have|would have|should have|could've|would've|should've|"
    r"I'd be|would be (?!nice)|if I were|someone who|act as)\b",
    re.IGNORECASE,
)
_FICTION = re.compile(
    r"\b(?:write|draft|compose|generate|create|make up|come up with) (?:me |us )?(?:an? |the |"
    r"some |my )?(?:[\w-]+ ){0,4}?(?:poem|story|song|haiku|limerick|script|scene|dialogue|"
    r"monologue|essay|letter|lyrics|character|bio|joke|speech|sketch|tale|dialog|review)\b|"
    r"\b(?:narrator|protagonist)\b|^(?:say|let's pretend|picture this|assume) (?=I|we|my|you|that)",
    re.IGNORECASE,
)
_FOR_THE_MOMENT = re.compile(r"\bfor the moment\b|\bas we speak\b|\bthis very \w+", re.I)
_DISBELIEF = re.compile(
    r"\b(?:I (?:don't|do not|can't|didn't) (?:believe|buy) (?:a word|him|her|it|that|them|one)|"
    r"I doubt (?:it|that|he|she|they)|don't believe a word|not true|which is (?:a lie|nonsense|"
    r"rubbish))\b",
    re.IGNORECASE,
)
_REPORTED = re.compile(r"^(?:according to|rumou?r has it|they say|people say)\b", re.IGNORECASE)
_ASKS = re.compile(
    r"^(?:what|where|how|which|who|whose|why|when|do|does|did|can|could|should|would|will|is|are|"
    r"am|have you|has|any (?:ideas?|tips|suggestions?))\s+"
    r"(?:you|i|we|it|there|that|this|the|a|an|my|"
    r"your|should|can|would|are|is|do|does|did|kind|else|about|of|for|to|much|many|long|he|she|they)"
    r"\b",
    re.IGNORECASE,
)


def own_words(text: str) -> OwnWords:
    """The message with code, quoted lines, forwarded mail and quoted speech blanked out."""
    blanked: list[tuple[Reason, str]] = []

    def blank(reason: Reason, match: re.Match[str]) -> str:
        blanked.append((reason, match.group().strip()[:120]))
        return re.sub(r"[^\n]", " ", match.group())

    for pattern in (_CODE, _QUOTED_LINES, _CODE_LINE, _URL):
        text = pattern.sub(lambda m: blank(Reason.PASTED, m), text)
    text = _cut_pasted_tail(text, blanked)
    text = _QUOTED.sub(
        lambda m: blank(Reason.QUOTE, m) if _is_speech(m.group()) else m.group(), text
    )
    text = _SPOKEN_AFTER.sub(lambda m: blank(Reason.QUOTE, m), text)
    return OwnWords(text, tuple(blanked))


def _cut_pasted_tail(text: str, blanked: list[tuple[Reason, str]]) -> str:
    header = _MAIL_HEADER.search(text)
    cue = _PASTE_CUE.search(text)
    starts = [m for m in (header.start() if header else None, cue.end() if cue else None) if m]
    if header is not None and header.start() == 0:
        starts.append(0)
    if not starts or not text[min(starts) :].strip():
        return text
    cut = min(starts)
    blanked.append((Reason.PASTED, text[cut:].strip()[:120]))
    return text[:cut] + re.sub(r"[^\n]", " ", text[cut:])


def _is_speech(quoted: str) -> bool:
    """Somebody's words, not a title or a nickname."""
    words = re.findall(r"[\w']+", quoted)
    capitals = sum(w[0].isupper() for w in words)
    if len(words) >= 2 and capitals >= 0.6 * len(words):
        return False
    return bool(_SPEAKS.search(quoted)) or len(words) >= 4


def gate_message(text: str, words: OwnWords) -> Reason | None:
    """Why a whole message says nothing durable; None when its sentences must be looked at."""
    if not text.strip():
        return Reason.EMPTY
    if is_small_talk(text):
        return Reason.SMALL_TALK
    if not any(c.isalpha() for c in words.text):
        return words.blanked[0][0] if words.blanked else Reason.SMALL_TALK
    if not is_english(words.text):
        return Reason.OTHER_LANGUAGE
    if _JOKE.search(words.text):
        return Reason.JOKE
    return Reason.SARCASM if _SARCASM.search(words.text) else None


def gate_sentence(text: str, verbatim: str) -> Reason | None:
    """Why a sentence says nothing durable; None when it must be parsed."""
    if "?" in text or _ASKS.match(text):
        return Reason.QUESTION
    if is_small_talk(verbatim):
        return Reason.SMALL_TALK
    if _SHOUTED_LIKE.search(verbatim) and len(_CAPITALS.findall(verbatim)) <= 3:
        return Reason.SARCASM
    if _LIKED_BADLY.search(text):
        return Reason.SARCASM
    if _CONDITIONAL.search(_HARMLESS_IF.sub(" ", text)):
        return Reason.CONDITIONAL
    if _WISH.search(text):
        return Reason.WISH
    if _REPORTED.match(text) or _DISBELIEF.search(text):
        return Reason.REPORTED
    if _FOR_THE_MOMENT.search(text):
        return Reason.FLEETING
    is_made_up = _HYPOTHETICAL.search(text) or _FICTION.search(text)
    return Reason.HYPOTHETICAL if is_made_up else None
