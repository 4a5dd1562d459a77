"""Upkeep after the walk: what faded is archived, entities of one name merge, insights are found.

Belongs here: three assets over tenants and their metadata. Does not: what each pass does
(adapters/upkeep) and when it runs (defs/upkeep).
"""

import base64
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import pairwise
from typing import Any

import dagster as dg

from memory_pipeline.adapters import environment
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.adapters.profile_store import tenants_with_memory
from memory_pipeline.adapters.repair_store import repair_tenant
from memory_pipeline.adapters.tenant_settings import tenant_policy
from memory_pipeline.adapters.upkeep import OF_ONE_TENANT, decay, decaying, insights
from memory_pipeline.adapters.workshop import NoModelError
from memory_pipeline.defs.assets.side_branch import side_branch
from memory_pipeline.defs.dagster_internals import (
    log_committed_partitions,
    record_partition_metadata,
)
from memory_pipeline.defs.event_text import markdown_cell
from memory_pipeline.defs.partitions import TENANT_PARTITIONS, chosen_tenants, tenant_key
from memory_pipeline.defs.resources import WalkResource
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.domain.model import ModelUnavailableError
from memory_pipeline.reading.facts import read_facts
from memory_pipeline.reading.lists import read_entities
from memory_pipeline.report.charts import bar_chart, entity_graph

ARCHIVED_FACTS, MERGED_ENTITIES, INSIGHTS = "archived_facts", "merged_entities", "insights"

Metadata = Mapping[str, Any]
Work = Callable[[Database, TenantId, bool], Metadata | None]
"""One tenant's pass; with the flag its metadata may hold text. None: there was nothing to do."""

_LINES_SHOWN = 20
_LINKS_SHOWN = 30


def _over_tenants(
    name: str, description: str
) -> Callable[[Callable[..., Any]], dg.AssetsDefinition]:
    return side_branch(
        name,
        after="facts",
        partitions=TENANT_PARTITIONS,
        description=f"{description} Partition: one tenant; one run takes many.",
    )


def _done(
    database: Database, tenants: Sequence[TenantId], work: Work, width: int
) -> Iterator[tuple[TenantId, Metadata | Exception | None]]:
    """What was done for each tenant, `width` of them side by side, or that tenant's own trouble.

    Any other error is raised once those at work beside it are through; no further one is begun.
    """
    may_show = len(tenants) == 1 and environment.event_text() == "single"

    def of_one(tenant_id: TenantId) -> Metadata | Exception | None:
        try:
            return work(database, tenant_id, may_show)
        except OF_ONE_TENANT as error:
            return error

    if width == 1:
        yield from ((tenant_id, of_one(tenant_id)) for tenant_id in tenants)
        return
    with ThreadPoolExecutor(width) as pool:
        for first in range(0, len(tenants), width):
            beside = tenants[first : first + width]
            futures = [pool.submit(of_one, tenant_id) for tenant_id in beside]
            wait(futures)
            # What is done is told before the first error is raised.
            for tenant_id, future in sorted(
                zip(beside, futures, strict=True), key=lambda pair: bool(pair[1].exception())
            ):
                yield tenant_id, future.result()


def _pass(
    context: dg.AssetExecutionContext, walks: WalkResource, name: str, work: Work, width: int = 1
) -> Iterator[dg.MaterializeResult[Any]]:
    """One pass over the chosen tenants, or over all where no partition is chosen.

    Without chosen partitions only tenants with something to do get an event. What is done stays
    when the run fails; a tenant's own trouble fails the run after the others' work.
    """
    database = walks.database()
    chosen = chosen_tenants(context)
    tenants = tenants_with_memory(database) if chosen is None else chosen
    entries: dict[tuple[dg.AssetKey, str], Metadata] = {}
    problems: list[str] = []
    try:
        for tenant_id, done in _done(database, tenants, work, width):
            if isinstance(done, Exception):
                problems.append(f"{tenant_key(tenant_id)}: {done}")
            elif done is not None:
                entries[(dg.AssetKey(name), tenant_key(tenant_id))] = done
        if problems:
            raise dg.Failure("; ".join(problems), allow_retries=False)
    except BaseException:
        log_committed_partitions(context, entries)
        raise
    context.log.info(f"{name}: {len(entries)} of {len(tenants)} tenants had something to do")
    if chosen is None:
        log_committed_partitions(context, entries)
        return
    nothing = {(dg.AssetKey(name), tenant_key(tenant)): {"changed": 0} for tenant in chosen}
    record_partition_metadata(context, {**nothing, **entries})
    yield dg.MaterializeResult(asset_key=name)


@_over_tenants(
    ARCHIVED_FACTS, "Facts that nobody read for long are believed no more; history keeps them."
)
def archived_facts(
    context: dg.AssetExecutionContext, walks: WalkResource
) -> Iterator[dg.MaterializeResult[Any]]:
    """Archive what faded, tenant by tenant, each in one statement."""
    yield from _pass(context, walks, ARCHIVED_FACTS, _archive)


def _archive(database: Database, tenant_id: TenantId, may_show: bool) -> Metadata | None:
    gone = decay(database, tenant_id)
    if not (gone or may_show):
        return None
    left = decaying(database, tenant_id)
    metadata: dict[str, Any] = {"archived": len(gone), "left": len(left)}
    if may_show:
        metadata["archived_now"] = _table("statement", [fact.statement for fact in gone])
        metadata["going_next"] = dg.MetadataValue.md(
            _lines(
                "| fact | relevance | reads | goes |\n|---|---|---|---|",
                [
                    f"| {markdown_cell(f.statement)} | {f.relevance:.2f} | {f.access_count} | "
                    f"{'never' if f.archived_from is None else f'{f.archived_from:%Y-%m-%d}'} |"
                    for f in left[:_LINES_SHOWN]
                ],
            )
        )
        floor = tenant_policy(database, tenant_id, {}).decay_floor
        metadata["relevance"] = _histogram([fact.relevance for fact in left], floor)
    return metadata


def _histogram(relevances: list[float], floor: float) -> dg.MarkdownMetadataValue:
    """How many facts stand where; what lies below the floor goes with the next pass."""
    bounds = sorted({floor, 0.5, 1.0, 2.0, 5.0} - {0.0})
    edges = [0.0, *bounds, float("inf")]
    bars = [
        (f"{low:g} to {high:g}" if high < float("inf") else f"{low:g} and more", low, high)
        for low, high in pairwise(edges)
    ]
    counted = [(label, float(sum(a <= r < b for r in relevances))) for label, a, b in bars]
    below = frozenset(label for label, _, high in bars if high <= floor)
    return _picture(bar_chart(f"facts by relevance; below {floor:g} they go", counted, below))


@_over_tenants(
    MERGED_ENTITIES, "Entities of equal type and name become one; every merge can be taken apart."
)
def merged_entities(
    context: dg.AssetExecutionContext, walks: WalkResource
) -> Iterator[dg.MaterializeResult[Any]]:
    """Repair, tenant by tenant, each in one transaction."""
    yield from _pass(context, walks, MERGED_ENTITIES, _repair)


def _repair(database: Database, tenant_id: TenantId, may_show: bool) -> Metadata | None:
    repaired = repair_tenant(database, tenant_id)
    if repaired.entities.is_empty and not may_show:
        return None
    metadata: dict[str, Any] = {
        "merged": len(repaired.entities.merges),
        "retired": len(repaired.entities.retired),
        "moved_facts": len(repaired.facts.moved),
        "closed_facts": len(repaired.facts.closed),
    }
    if may_show:
        merges = [f"{m.loser.name} \u2192 {m.winner.name}" for m in repaired.entities.merges]
        metadata["merges"] = _table("merge", merges)
        metadata["entities"] = _graph(database, tenant_id)
    return metadata


def _graph(database: Database, tenant_id: TenantId) -> dg.MarkdownMetadataValue:
    links = [
        (fact.subject, fact.predicate, fact.object)
        for fact in read_facts(database, tenant_id)
        if fact.object_is_entity
    ]
    types = {entity.name: entity.type for entity in read_entities(database, tenant_id)}
    return _picture(entity_graph("user", links[:_LINKS_SHOWN], types))


@_over_tenants(
    INSIGHTS, "What several facts show together, as facts of `graph observations`; needs a model."
)
def insights_asset(
    context: dg.AssetExecutionContext, walks: WalkResource
) -> Iterator[dg.MaterializeResult[Any]]:
    """Search for insights, several tenants at a time; without a model nothing is written."""
    width = environment.model_concurrency()
    try:
        yield from _pass(context, walks, INSIGHTS, _find_insights, width)
    except NoModelError as error:
        context.log.info(str(error))
    except ModelUnavailableError as error:
        raise dg.Failure(f"the other tenants wait: {error}", allow_retries=False) from error


def _find_insights(database: Database, tenant_id: TenantId, may_show: bool) -> Metadata | None:
    report = insights(database, tenant_id)
    if not (report.made_call or may_show):
        return None
    metadata: dict[str, Any] = {
        "facts_shown": report.facts,
        "proposals": len(report.outcomes),
        "inserted": len(report.inserted),
        "prompt_tokens": report.usage.prompt_tokens,
        "completion_tokens": report.usage.completion_tokens,
        "price_usd": "unpriced" if report.usage.price_usd is None else report.usage.price_usd,
    }
    if may_show:
        lines = [
            f"| {markdown_cell(o['statement'])} | {markdown_cell(o['outcome'])} |"
            for o in report.outcomes
        ]
        metadata["outcomes"] = dg.MetadataValue.md(
            _lines("| insight | outcome |\n|---|---|", lines)
        )
    return metadata


def _table(head: str, rows: list[str]) -> dg.MarkdownMetadataValue:
    cells = [f"| {markdown_cell(row)} |" for row in rows[:_LINES_SHOWN]]
    return dg.MetadataValue.md(_lines(f"| {head} |\n|---|", cells))


def _lines(head: str, rows: list[str]) -> str:
    return "\n".join([head, *rows]) if rows else "nothing"


def _picture(svg: str) -> dg.MarkdownMetadataValue:
    """An SVG as an image of a page, in which no script can run."""
    encoded = base64.b64encode(svg.encode()).decode()
    return dg.MetadataValue.md(f"![picture](data:image/svg+xml;base64,{encoded})")
