"""What a rule of the date grammar is, and how a book of rules reads a text.

Belongs here: rules, readings, the prepositions a rule asks for. Does not: the rules themselves
(temporal_named, temporal_relative).
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Literal

from memory_pipeline.stages.temporal_calendar import Frame, Period

# The preposition before a date; "" is none, "to" the other end of a range, "part" the end of "the
# middle of".
Lead = Literal[
    "", "on", "in", "at", "around", "since", "from", "until", "by", "through", "after", "before",
    "during", "to", "part",
]  # fmt: skip
Match = re.Match[str]
Resolver = Callable[[Match, Frame], Period]


def leads_of(*leads: Lead) -> frozenset[Lead]:
    """A set of prepositions."""
    return frozenset(leads)


_BOUNDING: Final = leads_of(
    "since", "from", "until", "by", "through", "after", "before", "to", "around"
)
ON: Final = leads_of(*_BOUNDING, "on")
IN: Final = leads_of(*_BOUNDING, "in", "during", "part")
LED: Final = leads_of(*ON, *IN, "at")
ANY: Final = leads_of(*LED, "")


@dataclass(frozen=True)
class Rule:
    """One form of a date expression.

    `leads` are the prepositions it may follow; `is_floating` marks forms that fit several turns of
    a cycle, so that a range may settle them by its other end.
    """

    pattern: re.Pattern[str]
    resolve: Resolver
    leads: frozenset[Lead]
    is_floating: bool


@dataclass(frozen=True)
class Reading:
    """A date expression found in a text, not yet resolved; `end` is the offset behind it.

    `resolve` raises ValueError, OverflowError or LookupError for a day that no calendar has.
    """

    end: int
    resolve: Callable[[Frame], Period]
    is_floating: bool


@dataclass(frozen=True)
class RuleBook:
    """Rules of one family; filled while its module is loaded, read ever after."""

    rules: list[Rule] = field(default_factory=list)

    def add(
        self, pattern: str, *, leads: frozenset[Lead] = ANY, is_floating: bool = False
    ) -> Callable[[Resolver], Resolver]:
        """A decorator: the function below is what `pattern` means.

        Case is ignored, and a space of the pattern stands for any run of white space.
        """
        compiled = re.compile(pattern.replace(" ", r"\s+"), re.IGNORECASE)

        def register(resolve: Resolver) -> Resolver:
            self.rules.append(Rule(compiled, resolve, leads, is_floating))
            return resolve

        return register

    def longest(self, text: str, start: int, lead: Lead) -> Reading | None:
        """The longest expression at `start` that may follow the preposition."""
        best: tuple[Rule, Match] | None = None
        for rule in self.rules:
            if lead not in rule.leads:
                continue
            match = rule.pattern.match(text, start)
            if match and (best is None or match.end() > best[1].end()):
                best = rule, match
        if best is None:
            return None
        rule, found = best
        return Reading(found.end(), lambda frame: rule.resolve(found, frame), rule.is_floating)
