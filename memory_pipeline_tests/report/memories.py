"""Memories as values, for tests of the page that need no database.

Belongs here: builders of facts and reports, text that would break a careless page.
Does not: expectations, and memories made by the write path (reading/histories).
"""

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import count
from typing import Any

from memory_pipeline.domain.fact import FactStatus
from memory_pipeline.reading.facts import FactRow
from memory_pipeline.reading.ledger import Ledger
from memory_pipeline.reading.lists import EntityRow, InstructionRow, UncertaintyRow
from memory_pipeline.reading.recipes import RecipePrompt, RecipeRow
from memory_pipeline.reading.report import MemoryReport, ReportedProfile, ReportHead

HOSTILE = (
    "</script><script>alert(1)</script>",
    "</style></title></svg><img src=x onerror=alert(2)>",
    "\" autofocus onfocus=alert(3) x='",
    "<!-- ]]> --><svg/onload=alert(4)>",
    "{{ 7 * 7 }}{% include '/etc/passwd' %}",
    "<a href=javascript:alert(5)>&lt;b&gt;",
    "\u202e\u2066gnirts desrever\x00\x1b[31m\x85",
    "<base href=//evil.example><meta http-equiv=refresh content=0;url=//evil.example>",
)
"""Breaks out of script, style, attribute, comment, template and line direction, if anything can."""

NOW = datetime(2024, 11, 30, tzinfo=UTC)


def at(text: str | None) -> datetime | None:
    """An instant in UTC from an ISO date, None for None."""
    return None if text is None else datetime.fromisoformat(text).replace(tzinfo=UTC)


def fact_id(number: int) -> uuid.UUID:
    """The id of the fact of a number."""
    return uuid.uuid5(uuid.NAMESPACE_OID, str(number))


def fact(number: int, predicate: str, thing: str, **changes: Any) -> FactRow:
    """A live fact of the user from 2024; `changes` are fields of the row."""
    fields = {
        "fact_id": fact_id(number),
        "subject": "user",
        "predicate": predicate,
        "object": thing,
        "object_is_entity": False,
        "valid_from": at("2024-02-01"),
        "valid_until": None,
        "known_from": at("2024-02-01"),
        "known_until": None,
        "status": FactStatus.LIVE,
        "superseded_by": None,
        "confidence": 0.9,
        "memory_category": "context",
        "source_quote": f"{predicate} {thing}",
        "message_id": None,
        "episode": 1,
        "span_start": None,
        "span_end": None,
    }
    return FactRow.model_validate(fields | changes)


def report(facts: Sequence[FactRow] = (), **changes: Any) -> MemoryReport:
    """A memory of one tenant with these facts; `changes` are fields of the report."""
    fields = {
        "tenant": "acme/ann",
        "valid_at": NOW,
        "head": head(),
        "is_settled": True,
        "recipe": RECIPE,
        "facts": tuple(facts),
        "entities": (),
        "profiles": (),
        "instructions": (),
        "uncertainties": (),
        "ledger": Ledger(
            messages={"evidence": 4, "nothing_durable": 3},
            reasons={"question": 2, "small_talk": 1},
            candidates={"inserted": 4},
            episodes={"done": 7},
            adds_up=True,
            problems=(),
        ),
    }
    return MemoryReport.model_validate(fields | changes)


def head(**changes: Any) -> ReportHead:
    """Seven episodes of seven messages, January to October 2024."""
    fields = {
        "generation": 1,
        "version": 7,
        "recipe_id": "0123456789abcdef",
        "folded": 7,
        "episodes": 7,
        "first_at": at("2024-01-10"),
        "newest_at": at("2024-10-20"),
        "messages": 7,
        "threads": 7,
    }
    return ReportHead.model_validate(fields | changes)


RECIPE = RecipeRow(
    tenant="acme/ann",
    recipe_id="0123456789abcdef",
    is_live=True,
    since=NOW,
    folds=7,
    changes=(),
    extractor="scripted/1",
    judge="rules/1",
    guard="guard/1",
    resolver="resolve/1",
    embedding_profile="hashed",
    prompts=(RecipePrompt(label="extract_graph.v1", digest="ab" * 32),),
    settings={"duplicate": 0.92},
)

EVERY_STATUS = (
    fact(1, "lives in", "berlin", valid_until=at("2024-06-01"), known_until=None,
         status=FactStatus.SUPERSEDED, superseded_by=fact_id(2), known_from=at("2024-06-01")),
    fact(1, "lives in", "berlin", known_until=at("2024-06-01")),
    fact(2, "lives in", "porto", valid_from=at("2024-06-01"), known_from=at("2024-06-01")),
    fact(3, "visits", "japan", valid_from=at("2025-03-01"), status=FactStatus.FUTURE,
         known_from=at("2024-09-01")),
    fact(4, "rents", "a boat", valid_until=at("2024-09-01"), status=FactStatus.ENDED),
    fact(5, "likes", "hiking", known_until=at("2024-10-01"), status=FactStatus.ARCHIVED),
    fact(6, "works at", "acme", known_until=at("2024-07-01"), status=FactStatus.INVALIDATED),
    fact(7, "born in", "1985", valid_from=at("1985-04-02")),
    fact(8, "is curious", "", valid_from=None),
    fact(9, "lived in", "rome", valid_from=at("1990-01-01"), valid_until=at("1995-01-01"),
         status=FactStatus.ENDED),
    fact(10, "retires", "with pension", valid_from=at("2060-01-01"), status=FactStatus.FUTURE),
    fact(11, "flies", "to rome", valid_from=at("2024-05-01"), valid_until=at("2024-05-02"),
         status=FactStatus.ENDED),
    fact(12, "observes", "The user moves when work changes.", subject="graph observations"),
    fact(13, "has hobby", "sailing", subject="joris"),
)  # fmt: skip
"""A fact of each status, before, on and beyond the axis, an insight and a second subject."""


def whole_report(**changes: Any) -> MemoryReport:
    """A memory that has something in every section."""
    fields: dict[str, Any] = {
        "entities": (entity("user", "PERSON"), entity("joris", "PERSON", "jo", "j")),
        "profiles": (
            profile("user", "The user lives in Porto. They will visit Japan in March.", 2, 3, 99),
            profile("joris", "Joris sails.", 13),
        ),
        "instructions": (
            instruction("Units", "Use metric units", is_active=True),
            instruction("Tone", "Be brief", is_active=False),
        ),
        "uncertainties": (
            uncertainty("where the user works"),
            uncertainty("an old doubt", resolved_at=at("2024-09-01")),
        ),
    }
    return report(EVERY_STATUS, **(fields | changes))


def hostile_report() -> MemoryReport:
    """A memory whose every text tries to break out of the page."""
    texts = [HOSTILE[number % len(HOSTILE)] for number in range(len(HOSTILE) * 3)]
    number = count(1)
    facts = [
        fact(next(number), text, texts[place - 1], subject=texts[place - 2], source_quote=text,
             memory_category=text)
        for place, text in enumerate(texts)
    ] + [
        fact(next(number), "observes", text, subject="graph observations") for text in HOSTILE
    ]  # fmt: skip
    hostile = {text: 1 for text in HOSTILE}
    return report(
        facts,
        tenant="".join(HOSTILE),
        entities=tuple(entity(text, text, *HOSTILE) for text in HOSTILE),
        profiles=tuple(profile(text, text, 1, 2) for text in HOSTILE),
        instructions=tuple(instruction(text, text, is_active=len(text) % 2 == 0, quote=text)
                           for text in HOSTILE),
        uncertainties=tuple(uncertainty(text, reason=text) for text in HOSTILE),
        ledger=Ledger(messages={"evidence": 1, "nothing_durable": 8}, reasons=hostile,
                      candidates=hostile, episodes=hostile, adds_up=False, problems=HOSTILE),
        recipe=RECIPE.model_copy(update={
            "recipe_id": HOSTILE[1], "extractor": HOSTILE[0], "judge": HOSTILE[2],
            "prompts": (RecipePrompt(label=HOSTILE[3], digest=HOSTILE[4]),),
            "settings": {HOSTILE[5]: 1},
        }),
        head=head(recipe_id=HOSTILE[1]),
    )  # fmt: skip


def entity(name: str, kind: str, *aliases: str) -> EntityRow:
    """A thing with its other names."""
    return EntityRow(
        entity_id=uuid.uuid5(uuid.NAMESPACE_OID, name),
        name=name,
        type=kind,
        memory_category="context",
        aliases=aliases,
        facts=1,
        last_linked_at=NOW,
    )


def profile(name: str, text: str, *numbers: int) -> ReportedProfile:
    """A paragraph that cites the facts of these numbers."""
    return ReportedProfile(
        entity=name, type="PERSON", text=text, cited=tuple(map(fact_id, numbers))
    )


def instruction(
    label: str, description: str, *, is_active: bool, quote: str | None = None
) -> InstructionRow:
    """A standing order since March 2024."""
    return InstructionRow(
        label=label,
        description=description,
        is_active=is_active,
        known_from=datetime(2024, 3, 1, tzinfo=UTC),
        known_until=None,
        message_id=None,
        quote=quote,
    )


def uncertainty(
    about: str, reason: str = "hedged", resolved_at: datetime | None = None
) -> UncertaintyRow:
    """An open point, or one settled at the instant given."""
    return UncertaintyRow(
        about=about,
        reason=reason,
        subject=None,
        predicate=None,
        candidate=None,
        message_id=None,
        opened_by=3,
        resolved_by=None,
        resolved_at=resolved_at,
    )
