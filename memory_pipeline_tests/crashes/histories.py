"""A history whose episodes change memory in every way, and the extractor that reads it.

Belongs here: the words of the history and their parser. Does not: walking it.
A part of a message reads `[subject / ]predicate: object[ until DATE][ sure 0.N]`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta

from memory_pipeline.adapters.postgres import Database
from memory_pipeline.adapters.tenant_walk import Workshop
from memory_pipeline.domain.conversation import Window
from memory_pipeline.domain.extraction import (
    ExtractedEntity,
    ExtractedFact,
    ExtractedGraph,
    ExtractedInstruction,
    ExtractedUncertainty,
    KnownLists,
)
from memory_pipeline.domain.ids import TenantId
from memory_pipeline_tests.scripted import (
    DAY,
    START,
    ScriptedExtractor,
    import_history,
    scripted_workshop,
    thread,
)

TYPES = {
    "halden": "ORG",
    "brightwell": "ORG",
    "kestrel": "ORG",
    "leeds": "PLACE",
    "porto": "PLACE",
    "robert smith": "PERSON",
    "bob smith": "PERSON",
    "rex": "THING",
    "volvo": "PRODUCT",
}
"""Names that mean things; any other object is a value."""

RICH = 3
"""The episode that holds every kind of change at once."""

RICH_HISTORY: tuple[tuple[str, ...], ...] = (
    (
        "works at: halden; halden / has office in: leeds; owns: rex; likes: tea",
        "always: be brief; unsure: drives",
    ),
    (
        "is friend of: robert smith; plays: cello; lives in: porto",
        "has job title: clerk; rex / likes: bones",
    ),
    (
        "works at: brightwell; is friend of: bob smith; owns: rex until 2024-01-04",
        "drives: volvo; plays: cello; speaks: dutch sure 0.3; has job title: lead",
        "no more: be brief; always: use metric units; unsure: moves house",
        "what do you think of that?",
    ),
    ("owns: rex; works at: halden; bob smith / lives in: leeds",),
    ("works at: kestrel; no more: use metric units", "ok, thanks"),
)
"""Messages by episode; the third opens, repeats, ends, replaces, cascades, orders and doubts."""

_PART = re.compile(
    r"(?:(?P<subject>[^/:]+) / )?(?P<predicate>[^/:]+): (?P<object>.+?)"
    r"(?: until (?P<until>[\d-]{10}))?(?: sure (?P<sure>0\.\d+))?"
)


class RichExtractor(ScriptedExtractor):
    """Reads facts about anyone, endings, standing orders and doubts."""

    def extract(self, window: Window, known: KnownLists) -> ExtractedGraph:
        """What the user's messages spell out."""
        texts = [message.text for message in window.own_messages()]
        parts = [part for text in texts for part in text.split("; ") if _PART.fullmatch(part)]
        return read_parts(parts)


def read_parts(parts: Sequence[str]) -> ExtractedGraph:
    """The graph that some parts spell out."""
    found = [(part, match) for part in parts if (match := _PART.fullmatch(part))]
    facts = [_fact(part, match) for part, match in found if match["predicate"] not in _ORDERS]
    names = {name for fact in facts for name in (fact.subject, fact.object) if name in TYPES}
    return ExtractedGraph(
        entities=tuple(ExtractedEntity(name=name, type=TYPES[name]) for name in sorted(names)),
        relationships=tuple(fact for fact in facts if fact.object in TYPES),
        literal_facts=tuple(fact for fact in facts if fact.object not in TYPES),
        instructions=tuple(
            ExtractedInstruction(
                label=match["object"],
                description=match["object"],
                action="set" if match["predicate"] == "always" else "revoke",
                source_quote=part,
            )
            for part, match in found
            if match["predicate"] in ("always", "no more")
        ),
        uncertainties=tuple(
            ExtractedUncertainty(
                about=part, reason="not said", subject="user", predicate=match["object"]
            )
            for part, match in found
            if match["predicate"] == "unsure"
        ),
    )


_ORDERS = {"always", "no more", "unsure"}


def _fact(part: str, match: re.Match[str]) -> ExtractedFact:
    return ExtractedFact(
        subject=match["subject"] or "user",
        predicate=match["predicate"],
        object=match["object"],
        confidence=float(match["sure"] or 0.9),
        source_quote=part,
        valid_until=match["until"],
    )


def import_episodes(
    database: Database, tenant_id: TenantId, episodes: Sequence[Sequence[str]] = RICH_HISTORY
) -> None:
    """Store episodes of the given messages, a day apart."""
    threads = [
        thread(
            f"day-{number:04d}",
            *(
                (text, START + number * DAY + timedelta(minutes=minute))
                for minute, text in enumerate(texts)
            ),
        )
        for number, texts in enumerate(episodes, start=1)
    ]
    assert import_history(database, threads, tenant_id) == len(episodes)


def rich_workshop(
    database: Database, tenant_id: TenantId, extractor: ScriptedExtractor | None = None
) -> Workshop:
    """A workshop that reads these histories, with rules for a judge."""
    return scripted_workshop(database, extractor or RichExtractor("rich/1"), tenant_id)
