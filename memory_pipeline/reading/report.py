"""All that a page about one tenant's memory shows, collected in a fixed number of round trips.

Belongs here: the value of a whole memory and reading it at one version of the memory.
Does not: choosing, wording and drawing what is shown (report).
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from uuid import UUID

from memory_pipeline.adapters.postgres import Database
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.reading.facts import FactRow, read_facts
from memory_pipeline.reading.ledger import Ledger, read_ledger
from memory_pipeline.reading.lists import (
    EntityRow,
    InstructionRow,
    UncertaintyRow,
    read_entities,
    read_instructions,
    read_uncertainties,
)
from memory_pipeline.reading.recipes import RecipeRow, read_recipes
from memory_pipeline.reading.scope import Instant, Reading, read

_TRIES = 3
"""How often a memory that moves while it is read is read again."""


class ReportHead(Reading):
    """How far a memory reaches. `generation` and `recipe_id` are None before the first run.

    `version` moves with every change of the memory; `folded` counts episodes taken in.
    """

    generation: int | None
    version: int
    recipe_id: str | None
    folded: int
    episodes: int
    first_at: Instant | None
    newest_at: Instant | None
    messages: int
    threads: int


class ReportedProfile(Reading):
    """The paragraph about an entity and the facts it cites, in the order of citing."""

    entity: str
    type: str
    text: str
    cited: tuple[UUID, ...]


class MemoryReport(Reading):
    """One tenant's memory as it is, with statuses as of `valid_at`.

    `facts` holds every version; `recipe` is the live one. `is_settled` is False when the memory
    went on moving while it was read, so that its parts may be of different versions.
    """

    tenant: str
    valid_at: Instant
    head: ReportHead
    is_settled: bool
    recipe: RecipeRow | None
    facts: tuple[FactRow, ...]
    entities: tuple[EntityRow, ...]
    profiles: tuple[ReportedProfile, ...]
    instructions: tuple[InstructionRow, ...]
    uncertainties: tuple[UncertaintyRow, ...]
    ledger: Ledger


def read_report(
    database: Database, tenant_id: TenantId, *, valid_at: datetime | None = None
) -> MemoryReport:
    """The tenant's memory; `valid_at` = the instant that counts as now.

    Raises `NotFoundError` for an unknown tenant.
    """
    at = valid_at or datetime.now(UTC)
    for _ in range(_TRIES):
        report = _read_once(database, tenant_id, at)
        if report.is_settled:
            break
    return report


def _read_once(database: Database, tenant_id: TenantId, at: datetime) -> MemoryReport:
    (head_row,), profiles = read(database, tenant_id, ("report_head", {}), ("report_profiles", {}))
    head = ReportHead.model_validate(head_row)
    facts = read_facts(database, tenant_id, valid_at=at, with_history=True)
    recipes = read_recipes(database, tenant_id)
    entities = read_entities(database, tenant_id)
    instructions = read_instructions(database, tenant_id)
    uncertainties = read_uncertainties(database, tenant_id, with_resolved=True)
    ledger = read_ledger(database, tenant_id)
    ((after,),) = read(database, tenant_id, ("report_head", {}))
    return MemoryReport(
        tenant=tenant_id,
        valid_at=at,
        head=head,
        is_settled=ReportHead.model_validate(after) == head,
        recipe=next((recipe for recipe in recipes if recipe.is_live), None),
        facts=tuple(facts),
        entities=tuple(entities),
        profiles=tuple(
            ReportedProfile(**row, cited=tuple(dict.fromkeys(_ids_in(row["citations"]))))
            for row in profiles
        ),
        instructions=tuple(instructions),
        uncertainties=tuple(uncertainties),
        ledger=ledger,
    )


def _ids_in(value: object) -> Iterator[UUID]:
    """Ids anywhere in a JSON value, in reading order; how citations are nested may change."""
    match value:
        case str():
            try:
                yield UUID(value)
            except ValueError:
                return
        case list():
            for each in value:
                yield from _ids_in(each)
        case dict():
            for each in value.values():
                yield from _ids_in(each)
