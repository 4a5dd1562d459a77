"""Gives telegram style its subject back, since the parser needs one (`Quit my job at Initech`).

What belongs here: which openings leave out `I`, `I'm` or `my`. What does not: where a sentence
starts (sentences), and answers to what the assistant asked (answers).
"""

from __future__ import annotations

import re

from memory_pipeline.stages.heuristic_rules.roles import is_role
from memory_pipeline.stages.heuristic_rules.words import words

_THING = (
    r"(?:my|our|the|rid|a|an|some|two|three|in|at|from|to|on|with|for|out|up|off|away|back|as|into|"
    r"over|of|last|this|about|smoking|drinking|eating|going|playing|working|using|taking|doing|"
    r"\d\S*|[A-Z]\w+)\b"
)
_PAST = "|".join(sorted(words("elisions", "past")))
_NO_PAST = "|".join(sorted(words("elisions", "not_past")))
_DOING = "|".join(sorted(words("elisions", "doing")))
_STATES = "|".join(sorted(words("elisions", "states"), key=len, reverse=True)).replace("_", " ")
_WELL = r"(?:(?:just|finally|recently|also|actually|already|officially|sadly|still|only)\s+)?"

_KIN = "wife|husband|partner|girlfriend|boyfriend|son|daughter|fiancée?|mother-in-law|flatmate"
# Openings that stand for others: what was said, and what is read in its place.
_REWORDED = tuple(
    (re.compile(pattern, re.IGNORECASE), instead)
    for pattern, instead in (
        (r"^they (?:let me go|laid me off|fired me|sacked me)(?= from)", "I was laid off"),
        (r"^(?:now|currently|these days) (?:at|with)(?= (?-i:[A-Z]))", "I work at"),
        (r"^(?:now|currently|these days) in(?= (?-i:[A-Z]))", "I live in"),
        (r"^(?:now|currently) (?=(?:renting|living|based|working|studying|training)\b)", "I'm "),
        (r"^(?:just |recently )?(?:was |been |got )(?=(?:laid off|let go|fired)\b)", "I was "),
    )
)

_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(
            r"^no longer (?=(?:live|work|eat|drink|use|play|drive|smoke|have|own|volunteer|go|"
            r"study|teach|do|ride|run|need)\b)",
            re.IGNORECASE,
        ),
        "I ",
    ),
    (
        re.compile(
            r"^(?:born (?:and (?:raised|bred) )?in|(?:just )?(?:got )?diagnosed with|"
            r"(?:got |was |been )?(?:laid off|made redundant|let go|fired|sacked) )",
            re.IGNORECASE,
        ),
        "I was ",
    ),
    (re.compile(rf"^{_WELL}used to \w+", re.IGNORECASE), "I "),
    (re.compile(r"^been (?!to\b)(?:\w+ly )?\w+ing\b", re.IGNORECASE), "I've "),
    (re.compile(r"^been (?:a|an|on|in|at|married|vegan|vegetarian|with|living)\b", re.I), "I've "),
    (re.compile(rf"^(?:{_STATES})\b", re.IGNORECASE), "I'm "),
    (
        re.compile(
            rf"^(?:no longer|not (?:a|an|into|vegan|vegetarian)|{_WELL}(?:{_DOING})(?= (?!is\b))|"
            r"(?:huge|big|massive) fan of|currently \w+ing|still \w+ing|"
            r"from [A-Z]\w+ originally|(?:a )?(?:mum|mom|dad|mother|father) (?:of|to) \w+)\b",
            re.IGNORECASE,
        ),
        "I'm ",
    ),
    (re.compile(rf"^{_WELL}(?!(?:{_NO_PAST})\b)(?:{_PAST}|[a-z]{{3,}}ed) {_THING}"), "I "),
    (
        re.compile(rf"^(?!(?:{_NO_PAST})\b)(?:{_PAST}|[a-z]{{3,}}ed) {_THING}", re.IGNORECASE),
        "I ",
    ),
    (re.compile(rf"^{_WELL}(?:quit|gave up|cancelled|canceled|sold|bought) \w", re.I), "I "),
    (
        re.compile(rf"^(?:{_KIN})(?:'s name is|'s called| is| has| works| lives)\b", re.IGNORECASE),
        "my ",
    ),
    (
        re.compile(r"^(?:(?:severe|mild|bad|slight) )?[a-z]+ allergy (?:here|so|too)\b", re.I),
        "I have a ",
    ),
    (re.compile(r"^retired (?:last|this|in|two|three|\d|a few|early)\b", re.IGNORECASE), "I "),
    (
        re.compile(
            r"^(?:live|lives|work|own|drive|have|play|speak|teach|rent) (?:in|at|on|with|w|near|a|"
            r"an|for|as|two|three|four|my|[A-Z]\w+)\b",
            re.IGNORECASE,
        ),
        "I ",
    ),
    (
        re.compile(r"^(?:can't|cannot|don't|do not) (?:stand|eat|drink|like|drive|own)\b", re.I),
        "I ",
    ),
    (
        re.compile(
            r"^(?:pronouns are|budget (?:is|for)|name is|birthday is|rent is|"
            r"favourite \w+ (?:is|are)|native language is|mother tongue is|goal is|day job is)\b",
            re.IGNORECASE,
        ),
        "my ",
    ),
)
_ROLE_AT = re.compile(
    r"^(?P<role>(?:[\w-]+ ){0,3}?[\w-]+) (?:at|for|with) (?:an? |the )?(?:[A-Z]|\w+ \w+ in [A-Z])"
)
_NEVER_FIRST = frozenset(
    {"i", "my", "we", "our", "the", "a", "an", "is", "not", "any", "your", "you", "what", "how"}
)


# `Running can boost your mood`, `playing guitar keeps me sane`: the verb of a gerund that is the
# subject, with nothing between that would open another clause.
_GERUND_SUBJECT = re.compile(
    r"^\w+ing\b(?:(?! (?:that|which|who|whom|whose|because|since|as|when|while|where|until|till|so|"
    r"and|but|if|i|we|he|she|it|they|this|there)\b)[^,;:()-]|(?<=\w)-(?=\w))*?"
    r" (?:(?:can|could|will|would|may|might|should|must|is|isn't|are|was|wasn't|were|has|had|does|"
    r"doesn't|did|won't|can't)\b|(?:helps|makes|keeps|gives|brings|lets|boosts|clears|relaxes|takes|"
    r"feels|requires|reminds|teaches|calms|means|improves|gets|puts|allows|seems|sounds|becomes)\b|"
    r"[a-z]{2,}s (?:me|us|you|him|them|people|your)\b)",
    re.IGNORECASE,
)


def _is_role_alone(text: str) -> bool:
    """`Barista at Coffee Collective, 4 days a week`."""
    match = _ROLE_AT.match(text)
    if match is None:
        return False
    role = match["role"].lower()
    return role.split()[0] not in _NEVER_FIRST and is_role(role)


def with_subject(text: str, origins: tuple[int, ...]) -> tuple[str, tuple[int, ...]]:
    """The sentence with what its opening leaves out, and the places its characters come from."""
    if _is_role_alone(text):
        subject = "I'm an " if text[0].lower() in "aeiou" else "I'm a "
        return _put_before(subject, text, origins)
    for pattern, instead in _REWORDED:
        if match := pattern.match(text):
            rest = origins[match.end() :]
            return instead + text[match.end() :], (origins[0],) * len(instead) + rest
    if _GERUND_SUBJECT.match(text):
        return text, origins
    for pattern, subject in _PATTERNS:
        if pattern.match(text):
            if subject == "I was " and re.match(
                r"(?:just )?(?:was|been|got) ", text, re.IGNORECASE
            ):
                cut = re.match(r"(?:just )?(?:was|been|got) ", text, re.IGNORECASE)
                size = cut.end() if cut else 0
                text, origins = text[size:], origins[size:]
            return _put_before(subject, text, origins)
    return text, origins


def _put_before(subject: str, text: str, origins: tuple[int, ...]) -> tuple[str, tuple[int, ...]]:
    lowered = text if text[:2].isupper() else text[0].lower() + text[1:]
    return subject + lowered, (origins[0],) * len(subject) + origins
