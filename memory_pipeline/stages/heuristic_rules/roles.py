"""Tells occupations from other nouns, by their endings and a closed list.

What belongs here: one test. What does not: what somebody does at work.
"""

import re

from memory_pipeline.stages.heuristic_rules.predicates import ALLOWED_FLEETING_STATES
from memory_pipeline.stages.heuristic_rules.words import words

_ROLE_END = re.compile(
    r"(?:er|or|ist|ian|eer|nurse|chef|cook|student|scientist|intern|pilot|clerk|guide|judge|agent|"
    r"consultant|assistant|attendant|accountant|dean|dj|dev|devs|ceo|cto|cfo|coo|ux|founder|sergeant|"
    r"surgeon|veteran|vet|monk|priest|nun|mechanic|analyst|architect|barista|hygienist|freelance|"
    r"lawyer|attorney|therapist|developer|trainee|apprentice|diplomat|economist|electrician|"
    r"paramedic|midwife|nanny|housewife|postdoc|fireman|policeman|fellow|lead|head|"
    r"representative|executive|associate|specialist|dietitian|biochemist|broker|athlete)$"
)
_NOT_ROLE = words("roles", "not_role")


def is_role(phrase: str) -> bool:
    """Whether the words name an occupation."""
    words = phrase.split(" of ")[0].split()
    if words and words[-1] in ALLOWED_FLEETING_STATES - {"freelance"}:
        return False
    if {"and", "or"} & set(words) or phrase[:1].isdigit():
        return False
    return bool(words) and words[-1] not in _NOT_ROLE and bool(_ROLE_END.search(words[-1]))
