"""Whose words a quote of the user's are: the user's own, or about somebody else (spec X3).

Belongs here: what the pronouns of one English sentence tell. Does not: finding quotes
(stages/evidence), reported speech (prompts, heuristic_rules/gates).
"""

import re

from memory_pipeline.domain.claim import Evidence

_SENTENCE_END = re.compile(r"[.!?](?=\s|$)|\n")
_PERSON = re.compile(
    r"\b(?:(?P<own>I|me|my|mine|myself|we|us|our|ours|ourselves)|(?P<other>he|she))\b",
    re.IGNORECASE,
)
_INTRODUCES = re.compile(
    r"has (?:\w+ )*?(?:name|mother|mom|mum|father|dad|parent|sister|brother|sibling|son|daughter|"
    r"child|kid|baby|twin|wife|husband|spouse|partner|girlfriend|boyfriend|fianc\w+|friend|"
    r"colleague|coworker|boss|manager|teacher|neighbou?r|flatmate|roommate|aunt|uncle|cousin|niece|"
    r"nephew|grand\w+|dog|cat|pet|puppy|kitten|horse|bird|rabbit|hamster|parrot)|is \w+ to|"
    r"is dating"
)
"""Relations whose other end is what `he` and `she` mean: `he is called Rex` names the dog."""


def speaks_of_another(text: str, evidence: Evidence, predicate: str, value: str) -> bool:
    """Whether `he` or `she`, and nobody of the user's side, governs the words that are quoted.

    Of the sentence around the quote: the last pronoun before the value, and none of the first
    person behind it.
    """
    if _INTRODUCES.fullmatch(predicate):
        return False
    start = max((m.end() for m in _SENTENCE_END.finditer(text, 0, evidence.span_start)), default=0)
    end = next((m.start() for m in _SENTENCE_END.finditer(text, evidence.span_end)), len(text))
    named = text.lower().find(value.lower(), evidence.span_start, evidence.span_end)
    at = named if named != -1 else evidence.span_end
    before = list(_PERSON.finditer(text, start, at))
    after = _PERSON.finditer(text, at, end)
    return bool(before) and bool(before[-1]["other"]) and not any(m["own"] for m in after)
