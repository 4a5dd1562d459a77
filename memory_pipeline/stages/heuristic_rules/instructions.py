"""Recognises standing orders to the assistant: `from now on`, `always`, `don't use emojis`.

What belongs here: cues, labels, revocations. What does not: one-off requests (gates).
"""

from __future__ import annotations

import re

from memory_pipeline.domain.extraction import ExtractedInstruction
from memory_pipeline.stages.heuristic_rules.words import words

_LABEL_LIMIT = 40
_ACTIONS = (
    r"answer|reply|respond|write|use|give|explain|keep|format|include|avoid|call|speak|talk|address|"
    r"summari[sz]e|show|ask|add|end|start|begin|translate|cite|be|stick|remember to|make sure|"
    r"suggest|recommend|mention|refer|send|provide|put|convert|quote|list|assume|greet|sign|tell|"
    r"remind|offer|apologi[sz]e|repeat|skip|omit|limit|default|check|double-check|read|treat|say|"
    r"stop|don't|do not|never|always"
)
_ACTION = re.compile(rf"\b(?:{_ACTIONS})\b", re.IGNORECASE)
_STANDING = re.compile(
    r"\b(?:from now on|from here on|from this point|going forward|in (?:the )?future|always|never|"
    r"whenever|every time|each time|any time|anytime|as a rule|by default|in all (?:your )?"
    r"(?:answers|replies|responses)|"
    r"in your (?:answers|replies|responses)|when (?:you )?(?:answer|reply|respond|writ|explain|"
    r"talk|giv|suggest|recommend|answering|replying)\w*(?: to)?(?: me)?)\b",
    re.IGNORECASE,
)
_STYLE = re.compile(
    r"\b(?:emojis?|bullet points?|bullets|markdown|tables?|jargon|answers?|replies|responses|"
    r"units?|metric|imperial|celsius|fahrenheit|exclamation|tone|language|english|british|american|"
    r"spelling|apologi\w+|disclaimers?|headings?|code blocks?|short|brief|concise|formal|informal|"
    r"calling me|call me|sarcas\w+|small talk|filler|headers|sugarcoat\w*|patroni[sz]\w*|"
    r"lectur\w+|follow-up questions|24-hour|semicolons|em dashes|dashes|acronyms)\b",
    re.IGNORECASE,
)
_IMPERATIVE = re.compile(
    rf"^(?:please,?\s+|kindly\s+|and\s+|so\s+|also,?\s+|but\s+|just\s+|can you (?:please\s+)?|"
    rf"could you (?:please\s+)?|I(?:'d| would) (?:like|prefer)(?: it if)? you (?:to\s+)?|"
    rf"I want you to\s+|I need you to\s+|you (?:should|must|can)\s+|let's\s+|"
    rf"remember:?\s+(?:to\s+)?|"
    rf"(?:from now on|going forward|in (?:the )?future|whenever|every time|when(?:ever)? you|"
    rf"when answering|for all)\b[^,]*,?\s*(?:please\s+|you should\s+)?|"
    rf"(?:from now on|going forward|in future)\s+)*(?:{_ACTIONS})\b",
    re.IGNORECASE,
)
_PEP_TALK = re.compile(
    r"\b(?:give up|keep (?:it up|going|up|on|pushing|at|shining|being|smiling)|"
    r"be (?:proud|happy|kind|"
    r"yourself|strong|careful)|believe in|stay (?:strong|positive)|say never|let go)\b",
    re.IGNORECASE,
)
# `always` and `never` order something only with a verb of the assistant's after them.
_ADVERB_AND_ACTION = re.compile(
    rf"^(?!(?:always|never)\b)|^(?:always|never)\s+(?:please\s+)?(?:{_ACTIONS})\b", re.IGNORECASE
)
_FORBIDS = re.compile(
    r"^(?:please,?\s+)?(?:don't|do not|stop|no more|never|avoid)\b", re.IGNORECASE
)
_REVOKES = re.compile(
    r"\b(?:you (?:don't|do not|no longer) (?:have|need) to\b.*\b(?:any ?more|any longer|now)|"
    r"you no longer (?:have|need) to|no need to .* any ?more|(?:forget|ignore|drop|scrap|disregard|"
    r"cancel|undo) (?:what I said about|my (?:earlier |previous )?(?:instruction|rule|request)|"
    r"the (?:rule|instruction)|the thing about)|you (?:can|may) .* again\b|"
    r"(?:never ?mind|forget|drop|scrap|ignore) (?:about )?(?:the|my|that|all that) "
    r"(?:[\w-]+ ){0,3}(?:rule|instruction|units|emojis|format\w*|thing|bullet points|request)\b|"
    r"\byou can (?:now )?(?:stop|drop|skip) (?:using|answering|writing|giving|adding|replying|with|"
    r"the|all)\b|\bno need (?:to|for) .*\b(?:any ?more|any longer|now)\b)",
    re.IGNORECASE,
)
_CALL_ME = re.compile(
    r"\b(?i:call me|I go by|everyone calls me|people call me|"
    r"friends call me|they call me|you can call me)\s+"
    r"(?:simply |just )?([A-Z][\w'-]+(?:\s[A-Z][\w'-]+)?)"
)
_CUES = re.compile(
    r"\b(?:from now on|from here on|going forward|in (?:the )?future|as a rule|by default|"
    r"at all times|every time|each time|you (?:don't|do not|no longer) (?:have|need) to|"
    r"you (?:can|may|could) (?:now )?(?:stop|drop|forget|skip)|no need to|no longer|any ?more|"
    r"any longer|never ?mind|(?:forget|ignore|drop|scrap|disregard|cancel|undo)"
    r"(?: what I (?:said|asked|told you))?(?: about)?|"
    r"my (?:earlier |previous |old )?(?:instruction|rule|request)s?(?: about| to| that)?|"
    r"the (?:rule|instruction|thing)s?(?: about| that| with)?|"
    r"i(?:'d| would) (?:like|prefer)(?: it)?(?: if)?|"
    r"i (?:want|need) you to|remember to|make sure(?: to| you| that)*)\b",
    re.IGNORECASE,
)
_ASIDE = re.compile(r"\b(?:in|for|with) (?:all )?(?:your|my) (?:answers?|replies|responses?)\b")
_EMPTY_WORDS = words("instructions", "empty_words")
_ACTION_WORDS = words("instructions", "action_words")
_TOPICS = words("instructions", "topics")
_BASE = {
    "using": "use", "answering": "answer", "writing": "write", "giving": "give",
    "replying": "reply", "responding": "respond", "adding": "add", "calling": "call",
    "speaking": "speak", "talking": "talk", "emoji": "emojis", "unit": "units", "bullets": "bullet",
    "apologising": "apologise", "apologizing": "apologise", "apologize": "apologise",
    "ending": "end", "keeping": "keep", "suggesting": "suggest", "recommending": "recommend",
}  # fmt: skip


def called(text: str) -> str | None:
    """The name the user asks to be called by, lower-cased."""
    match = _CALL_ME.search(text)
    return match.group(1).lower() if match else None


def read_instruction(text: str, verbatim: str) -> ExtractedInstruction | None:
    """The standing order that a sentence gives to the assistant, or None."""
    if _REVOKES.search(text) and (_STYLE.search(text) or _ACTION.search(text)):
        return _made(text, verbatim, "revoke")
    if not _IMPERATIVE.match(text):
        return None
    if _PEP_TALK.search(text) or not _ADVERB_AND_ACTION.match(text):
        return None
    standing = _STANDING.search(text) or (_FORBIDS.match(text) and _STYLE.search(text))
    styled = (
        re.match(
            r"^(?:please\s+)?(?:keep|be|answer|reply|respond|speak|talk|write|use)\b",
            text,
            re.IGNORECASE,
        )
        and _STYLE.search(text)
        and re.search(
            r"\b(?:your|with me|to me|units?|answers|replies|responses)\b", text, re.IGNORECASE
        )
    )
    if standing or styled or _CALL_ME.search(text):
        return _made(text, verbatim, "set")
    return None


def _made(text: str, verbatim: str, action: str) -> ExtractedInstruction:
    return ExtractedInstruction(
        label=label_of(text),
        description=verbatim[:500],
        action="revoke" if action == "revoke" else "set",
        source_quote=verbatim[:200],
    )


def label_of(text: str) -> str:
    """A short canonical topic, the same for an order and for what takes it back.

    Cues, courtesies and words that say only whether or when are left out.
    """
    lowered = _ASIDE.sub(" ", _CUES.sub(" ", text.lower()))
    kept = [_BASE.get(w, w) for w in re.findall(r"[^\W_]+(?:['-][^\W_]+)*", lowered)]
    kept = [w for w in kept if w not in _EMPTY_WORDS]
    if any(w not in _ACTION_WORDS and (_STYLE.fullmatch(w) or w in _TOPICS) for w in kept):
        kept = [w for w in kept if w not in _ACTION_WORDS]
    if {"metric", "imperial"} & set(kept):
        kept = [*(w for w in kept if w != "units"), "units"]
    label = " ".join(dict.fromkeys(kept))
    if len(label) > _LABEL_LIMIT:
        label = label[:_LABEL_LIMIT].rsplit(" ", 1)[0]
    return label or text[:_LABEL_LIMIT].lower().strip(" .!,")
