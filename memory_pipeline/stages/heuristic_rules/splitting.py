"""Cuts a run-on sentence where a new statement begins, since the parser reads short ones better.

What belongs here: the places that are safe to cut at. What does not: sentence ends (sentences).
"""

from __future__ import annotations

import re
from dataclasses import replace

from memory_pipeline.stages.heuristic_rules.elisions import with_subject
from memory_pipeline.stages.heuristic_rules.sentences import Sentence

_SOMEBODY = (
    r"(?:I|I'm|I've|I'll|we|we're|we've|they|they're|he|he's|she|she's|it|it's|that|that's|there's)"
)
_VERB = (
    r"(?:is|are|was|were|has|have|had|do|does|did|don't|doesn't|can|can't|will|won't|just|also|"
    r"still|only|never|always|clash|needs|keeps|lives|works|likes|loves|hates|plays|goes|wants|makes|"
    r"runs|eats|says|comes|starts|got|died|went|came|broke|left)"
)
_OWNED = r"(?:the|my|our|his|her|their|every|this) (?:[\w'-]+ ){1,3}?" + _VERB
_STARTS = re.compile(
    rf"(?:\s*[,(]\s*(?:and |but |so |because |though |although |since |which means )?|"
    rf"\s+(?:but|so|because|and)\s+)"
    rf"(?=(?:{_SOMEBODY}\s+(?!who\b)[\w']+|{_OWNED}\b|(?:please|just) \w+))",
    re.IGNORECASE,
)
_ELIDED_STARTS = re.compile(
    r"\s*,\s*(?:and |but |so )?(?=(?:sold|bought|traded|swapped|got|moved|left|quit|started|"
    r"live|living|saving|looking|working|starting|"
    r"now (?:at|in|renting|living|working)|been|due|can't stand|no longer|currently|originally)\s)",
    re.IGNORECASE,
)
# A sentence that hangs on its opening, or whose parts are only true together, stays whole.
_UNSAFE = re.compile(
    r"^(?:when|while|whenever|because|since|although|though|after|before|once|as|until|in|at|on|"
    r"for|with|during|apart|besides|instead|if|unless)\b|"
    r"\b(?:either|whether|not only|says?|said|told|thinks?|claims?|believes?|reckons?|heard|asked|"
    r"I think|I guess|I suppose|maybe|perhaps|probably|might|not sure)\b",
    re.IGNORECASE,
)
_SHORTEST = 8
_LONGEST_SUBJECT = 4


def split_clauses(sentence: Sentence) -> tuple[Sentence, ...]:
    """The statements of a sentence, each with its own words; the sentence itself when it is one."""
    text = sentence.text
    if _UNSAFE.search(text):
        return (sentence,)
    cuts = [m for p in (_STARTS, _ELIDED_STARTS) for m in p.finditer(text)]
    places = sorted({(m.start(), m.end()) for m in cuts if m.start() >= _SHORTEST})
    parts, at = [], 0
    for start, end in places:
        if start < at + _SHORTEST or _is_one_subject(text[at:start], text[start:]):
            continue
        parts.append((at, start))
        at = end
    parts.append((at, len(text)))
    if len(parts) == 1:
        return (sentence,)
    return tuple(_part(sentence, start, end) for start, end in parts if text[start:end].strip())


def _is_one_subject(before: str, after: str) -> bool:
    """`My boyfriend Theo and I run ...`: both do."""
    is_joined = re.match(r"\s+and (?:I|we|my|our|he|she)\b", after, re.IGNORECASE)
    opens = re.match(r"(?:I|we|he|she|they|it|that|there)\b", before.strip(), re.IGNORECASE)
    return bool(is_joined) and not opens and len(before.split()) <= _LONGEST_SUBJECT


def _part(sentence: Sentence, start: int, end: int) -> Sentence:
    origins = sentence.origins[start:end]
    text, restored = with_subject(sentence.text[start:end], origins)
    return replace(sentence, text=text, origins=restored)
