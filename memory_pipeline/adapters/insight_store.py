"""Insights in the database: what they are drawn from, repeats kept out, kept ones as facts (I3).

Belongs here: one tenant's search, its reads, one call, its write. Does not: request and choice
(stages/insight).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from pgvector import HalfVector
from psycopg.types.json import Jsonb

from memory_pipeline.adapters.embedding_profiles import profile_of
from memory_pipeline.adapters.generation_store import claim_event
from memory_pipeline.adapters.postgres import Database, Row, RowConnection, execute
from memory_pipeline.domain.embedding import Embedder, cosine
from memory_pipeline.domain.extraction import EntityType, MemoryCategory, Tier
from memory_pipeline.domain.ids import EntityId, FactId, TenantId, derive_id
from memory_pipeline.domain.model import Usage
from memory_pipeline.domain.plan import OBSERVER
from memory_pipeline.domain.policy import Policy
from memory_pipeline.stages.insight import (
    LEAST_FACTS,
    InsightFinder,
    Proposal,
    Proposals,
    ShownFact,
    normalise_statement,
)


@dataclass(frozen=True)
class InsightReport:
    """One search: how many facts it saw and what became of each proposal.

    `outcomes` holds `statement`, `outcome` and, where two statements were compared, `similarity`.
    """

    facts: int
    outcomes: tuple[dict[str, Any], ...] = ()
    usage: Usage = field(default_factory=Usage)
    made_call: bool = False

    @property
    def inserted(self) -> tuple[str, ...]:
        """Statements that became facts."""
        return tuple(o["statement"] for o in self.outcomes if o["outcome"] == "inserted")


def derive_insights(
    database: Database,
    tenant_id: TenantId,
    finder: InsightFinder,
    embedder: Embedder,
    policy: Policy,
) -> InsightReport:
    """Search one tenant's live facts for insights and store what is new.

    Fewer than two facts make no call. No transaction is open during the call. What was ever
    claimed is not claimed again, nor what is as near to it as a duplicate. Raises what the model
    raises; nothing is written then.
    """
    keys: Row = {"tenant_id": tenant_id}
    with database.tenant_reads(tenant_id) as connection:
        cursor = execute(connection, "insight_grounding", keys | {"limit": policy.insight_facts_k})
    facts = [ShownFact(**row) for row in reversed(cursor.fetchall())]
    if len(facts) < LEAST_FACTS:
        return InsightReport(len(facts))
    proposals = finder.find(facts, _as_of(facts, datetime.now(UTC)).date())
    outcomes = [{"statement": s, "outcome": f"refused: {why}"} for s, why in proposals.refused]
    new, vectors = _leave_out_repeats(database, tenant_id, proposals.kept, embedder, outcomes)
    report = InsightReport(len(facts), tuple(outcomes), proposals.usage, made_call=True)
    return _store(database, tenant_id, proposals, report, [(p, vectors[p.statement]) for p in new])


def _as_of(facts: Sequence[ShownFact], now: datetime) -> datetime:
    """The latest instant at which one of them began or ended: equal facts, equal request."""
    borders = (border for f in facts for border in (f.valid_from, f.valid_until))
    return max((border for border in borders if border and border <= now), default=now)


def _leave_out_repeats(
    database: Database,
    tenant_id: TenantId,
    kept: Sequence[Proposal],
    embedder: Embedder,
    outcomes: list[dict[str, Any]],
) -> tuple[list[Proposal], Mapping[str, Sequence[float]]]:
    """Proposals that nobody made before, in other words either; the others get their outcome."""
    if not kept:
        return [], {}
    statements = [p.statement for p in kept]
    vectors = dict(zip(statements, embedder.embed(statements), strict=True))
    duplicate = profile_of(database, embedder).duplicate
    with database.tenant_reads(tenant_id) as connection:
        cursors = {
            text: execute(
                connection,
                "claimed_insights",
                {"tenant_id": tenant_id, "vector": HalfVector(list(vector))},
            )
            for text, vector in vectors.items()
        }
    new: list[Proposal] = []
    for proposal in kept:
        claimed = [(r["statement"], r["similarity"]) for r in cursors[proposal.statement]]
        claimed += [
            (p.statement, cosine(vectors[p.statement], vectors[proposal.statement])) for p in new
        ]
        repeat = _repeat_of(proposal.statement, claimed, duplicate)
        if repeat is None:
            new.append(proposal)
        else:
            outcomes.append({"statement": proposal.statement} | repeat)
    return new, vectors


def _repeat_of(
    statement: str, claimed: Sequence[tuple[str, float | None]], duplicate: float
) -> dict[str, Any] | None:
    """Which earlier statement says the same, and how near it is."""
    folded = normalise_statement(statement)
    for other, similarity in claimed:
        if normalise_statement(other) == folded:
            return {"outcome": "claimed before", "of": other}
        if similarity is not None and similarity >= duplicate:
            shown = round(float(similarity), 3)
            return {"outcome": "close to another", "of": other, "similarity": shown}
    return None


def _store(
    database: Database,
    tenant_id: TenantId,
    proposals: Proposals,
    report: InsightReport,
    new: Sequence[tuple[Proposal, Sequence[float]]],
) -> InsightReport:
    """One transaction: the observer if it is new, the insights, the account of the search."""
    keys: Row = {"tenant_id": tenant_id, "version": None, "opened_by": None}
    outcomes = list(report.outcomes)
    with database.tenant(tenant_id) as connection:
        live = execute(connection, "live_generation", keys).fetchone() or {}
        keys["generation_id"] = live["generation_id"]
        if new:
            keys["known_at"] = claim_event(connection, keys)
            keys["subject_id"] = _observer(connection, keys)
        for proposal, vector in new:
            row = keys | _insight_row(tenant_id, proposal, proposals)
            row["embedding"] = HalfVector(list(vector))
            is_in = execute(connection, "insert_insight", row).fetchone() is not None
            outcome = "inserted" if is_in else _why_kept_out(connection, row)
            outcomes.append({"statement": proposal.statement, "outcome": outcome})
        account: Row = {
            "run_at": datetime.now(UTC),
            "request_digest": proposals.request_digest or None,
            "facts": report.facts,
            "outcomes": Jsonb(outcomes),
        }
        execute(connection, "insert_insight_run", keys | account)
    return replace(report, outcomes=tuple(outcomes))


def _why_kept_out(connection: RowConnection, row: Row) -> str:
    """Another search was quicker, or memory has moved on."""
    is_claimed = execute(connection, "insight_of_id", row).fetchone() is not None
    return "claimed before" if is_claimed else "refused: what it stands on has changed"


def _observer(connection: RowConnection, keys: Row) -> EntityId:
    """The subject of all insights of the tenant."""
    observer = EntityId(derive_id("entity", keys["tenant_id"], OBSERVER))
    execute(
        connection,
        "insert_entity",
        keys
        | {
            "entity_id": observer,
            "name": OBSERVER,
            "type": EntityType.CONCEPT.value,
            "memory_category": MemoryCategory.CONTEXT.value,
            "embedding": None,
        },
    )
    return observer


def _insight_row(tenant_id: TenantId, proposal: Proposal, proposals: Proposals) -> Row:
    fact_id = FactId(derive_id("insight", tenant_id, normalise_statement(proposal.statement)))
    return {
        "fact_id": fact_id,
        "statement": proposal.statement,
        "significance": proposal.significance,
        "tier": Tier.FAST.value,
        "fact_ids": list(proposal.fact_ids),
        "attributes": Jsonb(
            {
                "significance": proposal.significance,
                "derived_from": [str(f) for f in proposal.fact_ids],
                "request_digest": proposals.request_digest,
            }
        ),
    }
