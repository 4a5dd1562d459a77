"""Canonical predicates: present tense, lower case, preposition folded in.

What belongs here: inflection, the small table of frequent life facts on top of the general rule,
closed lists of verbs that never leave a durable fact. What does not: the parse (clauses).
"""

from __future__ import annotations

from dataclasses import dataclass

from memory_pipeline.domain.extraction import EntityType, MemoryCategory
from memory_pipeline.stages.heuristic_rules.words import listed, rule_tables, words


@dataclass(frozen=True)
class Rule:
    """What a verb (with particle and preposition) is called in memory.

    `after` says what a past tense leaves: a `state` that holds since, an `ended` state, or None
    when a past event of this verb is over and leaves nothing.
    """

    predicate: str
    type: EntityType | None = None
    after: str | None = None


def _load_rules() -> dict[str, Rule]:
    """Rules of the table by verb; a verb listed again keeps its first rule."""
    found: dict[str, Rule] = {}
    for entry in rule_tables()["rule"]:
        kind = entry.get("type")
        rule = Rule(entry["predicate"], EntityType(kind) if kind else None, entry.get("after"))
        for verb in listed(entry["verbs"]):
            found.setdefault(verb, rule)
    return found


RULES = _load_rules()

# Verbs whose plain present says how things stand right now, or what is said, not what lasts.
FLEETING = words("predicates", "fleeting")
# The fleeting verbs that a second word makes durable, or a habit marker.
HABIT_MARKERS = words("predicates", "habit_markers")
# Going on now, yet over in an hour: these need more than a progressive.
FLEETING_PROGRESSIVE = FLEETING | words("predicates", "fleeting_progressive")
DURABLE_PROGRESSIVE = words("predicates", "durable_progressive")
# Past events that are worth keeping though no state of the table follows from them.
LASTING_EVENTS = words("predicates", "lasting_events")
EMPTY_OBJECTS = words("predicates", "empty_objects")
ALLOWED_FLEETING_STATES = words("predicates", "allowed_fleeting_states")
_THIRD = {"be": "is", "have": "has", "do": "does", "go": "goes", "can": "can"}


def third_person(lemma: str) -> str:
    """The third person singular of a verb's base form."""
    if lemma in _THIRD:
        return _THIRD[lemma]
    if lemma.endswith("y") and lemma[-2:-1] not in set("aeiou"):
        return lemma[:-1] + "ies"
    return lemma + ("es" if lemma.endswith(("s", "x", "z", "ch", "sh", "o")) else "s")


_IDENTITY = (
    "has name", "has age", "has birthday", "lives", "works", "is from", "was born", "grew up",
    "is married", "is engaged", "has sister", "has brother", "has wife", "has husband", "has son",
    "has daughter", "has mother", "has father", "has nationality", "is allergic", "is named",
)  # fmt: skip
_KNOWLEDGE = ("speaks", "studies", "learns", "teaches", "graduated", "knows", "can ", "is fluent")


def category_of(predicate: str) -> MemoryCategory:
    """What kind of memory a predicate makes."""
    if predicate.startswith(_IDENTITY):
        return MemoryCategory.IDENTITY
    if predicate.startswith(_KNOWLEDGE):
        return MemoryCategory.KNOWLEDGE
    return MemoryCategory.CONTEXT
