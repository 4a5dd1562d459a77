"""Short answers to what the assistant has just asked: `Where are you based?` - `Tbilisi`.

What belongs here: which question opens which slot, and what is an answer at all. The value and the
quote are always the user's own words.
"""

from __future__ import annotations

import re
from dataclasses import replace

from memory_pipeline.stages.heuristic_rules.roles import is_role
from memory_pipeline.stages.heuristic_rules.sentences import Sentence

_SLOTS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), opening)
    for pattern, opening in (
        (r"\bwhere (?:are you|do you come) (?:originally )?from\b", "I'm from "),
        (r"\bwhere (?:were you born|did you grow up)\b", "I grew up in "),
        (r"\bwhere do you work\b|\b(?:who|whom) do you work for\b|\bwhich company\b", "I work at "),
        (r"\bwhere do you study\b|\bwhich (?:university|school)\b", "I study at "),
        (r"\bwhat (?:do you study|are you studying|is your major)\b", "I study "),
        (
            r"\bwhere (?:are you (?:based|located|living)|do you live|is home)\b|"
            r"\bwh(?:at|ich) (?:city|town|country) (?:are you (?:based )?in|do you live in)\b|"
            r"\byour (?:city|town|location)\b",
            "I live in ",
        ),
        (r"\ballerg(?:y|ies|ic)\b", "I'm allergic to "),
        (r"\b(?:diet|dietary|vegetarian or vegan|eat meat)\b", "I'm "),
        (
            r"\bwhat do you do(?: for (?:a living|work))?\s*\?|\bwhat(?:'s| is) your (?:job|role|"
            r"profession|occupation|job title)\b|\bwhat kind of work\b|\bline of work\b",
            "I'm a ",
        ),
        (r"\bhow old are you\b|\byour age\b", "I'm "),
        (
            r"\byour name\b|\bwhat (?:should|shall|can|may) i call you\b",
            "My name is ",
        ),
        (
            r"\bwh(?:at|ich) languages? do you speak\b|\b(?:speak|know) any (?:other )?languages\b",
            "I speak ",
        ),
        (r"\byou(?:'re| are)? (?:based|living|located|live) in\b", "I live in "),
        (r"\byou work (?:at|for)\b", "I work at "),
        (r"\bwh(?:at|ich) language are you learning\b", "I'm learning "),
        (r"\bwhat (?:car )?do you drive\b|\bwh(?:at|ich) car\b", "I drive "),
        (r"\b(?:any|have) (?:\w+ )?(?:pets|kids|children|siblings)\b", "I have "),
        (r"\bwhen(?:'s| is) your birthday\b", "My birthday is "),
        (r"\byour budget\b", "My budget is "),
        (r"\bwhat instrument\b|\bplay (?:an|any) instruments?\b", "I play "),
    )
)
_FAVOURITE = re.compile(r"\byour (favou?rite [a-z]+(?: [a-z]+)?)\b(?=[^.]*\?)", re.IGNORECASE)
_LEAD = re.compile(
    r"^(?:(?:yeah|yes|yep|yup|well|um+|uh|oh|ok|hmm+|just|mostly|currently|at the moment|right now|"
    r"no(?=, (?:actually )?(?-i:[A-Z]))|actually|in|from|at|it's|its|that's|that would be|only|"
    r"also|a|an)\b[\s,:-]*)+",
    re.IGNORECASE,
)
_TAIL = re.compile(
    r"[\s,]*\b(?:these days|at the moment|right now|for now|currently|now|actually|mostly|i guess|"
    r"lol|haha|tbh|please|thanks|in case that helps|if that helps|why|though)?[\s.!]*$",
    re.IGNORECASE,
)
_NO_ANSWER = re.compile(
    r"^(?:no|nope|nah|none|nothing|never|not|don't|doesn't|can't|rather|prefer|why|what|who|how|"
    r"i|i'm|i've|i'd|we|we're|my|our|you|your|it|that|this|there|he|she|they|thanks|thank|"
    r"please|sure|maybe|depends|it depends|let's|skip|good|great|fine|both|either|all|yes|if|"
    r"sorry|ha|haha|lol|wait|nowhere|somewhere|anywhere|whatever|idk|dunno|unsure|guess)\b",
    re.IGNORECASE,
)
_MOST_WORDS = 9


def opening_of(question: str) -> str:
    """The words that a short answer to the last question of a message leaves out, or nothing."""
    asked = [part for part in re.findall(r"[^.!?\n]*\?", question) if part.strip()]
    if not asked:
        return ""
    if match := _FAVOURITE.search(asked[-1]):
        topic = match.group(1).lower().replace("favorite", "favourite")
        topic = re.split(r"\s(?:of|at|for|in|to|when|and|or|from)\b", topic)[0]
        return f"My {topic} is "
    return next((opening for pattern, opening in _SLOTS if pattern.search(asked[-1])), "")


def as_answer(sentence: Sentence, opening: str) -> Sentence | None:
    """The sentence with the opening that it answers; None when it is no short answer."""
    lead = _LEAD.match(sentence.text)
    start = lead.end() if lead else 0
    end = _TAIL.search(sentence.text, start)
    text = sentence.text[start : end.start() if end else None]
    if not text.strip() or "?" in text or len(text.split()) > _MOST_WORDS:
        return None
    if _NO_ANSWER.match(text) or (
        opening == "I'm a " and not is_role(text.split(" at ")[0].lower())
    ):
        return None
    if opening in {"I live in ", "I'm from ", "I grew up in ", "I work at "}:
        text = text[0].upper() + text[1:]
    elif opening == "I'm a " and text[0].lower() in "aeiou":
        opening = "I'm an "
    origins = sentence.origins[start : start + len(text)]
    return replace(sentence, text=opening + text, origins=(origins[0],) * len(opening) + origins)
