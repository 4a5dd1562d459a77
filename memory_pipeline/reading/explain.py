"""One fact in depth: who said it, what was decided, what was asked of models (spec Q2).

Belongs here: finding a fact, its explanation as values. Does not: lists of facts (reading/facts),
what is no fact (reading/why_not), verdicts (reading/verdicts), requests (reading/requests).
"""

from datetime import UTC, datetime
from typing import Literal
from uuid import UUID

from memory_pipeline.adapters.postgres import Database, execute
from memory_pipeline.domain.fact import FactStatus
from memory_pipeline.domain.ids import FactId, TenantId
from memory_pipeline.domain.model import Usage
from memory_pipeline.reading.facts import status_of
from memory_pipeline.reading.requests import RequestShown, read_requests
from memory_pipeline.reading.scope import (
    Instant,
    NotFoundError,
    Reading,
    UnreadableError,
    read,
)
from memory_pipeline.reading.verdicts import (
    VerdictLine,
    read_verdict_lines,
    read_verdict_requests,
)

_HEX_DIGITS = 32


class VersionLine(Reading):
    """One version of the fact; `opened_by` and `ended_by` are ordinals of episodes."""

    version: int
    subject: str
    predicate: str
    object: str
    object_is_entity: bool
    valid_from: Instant | None
    valid_until: Instant | None
    known_from: Instant
    known_until: Instant | None
    status: FactStatus
    ended_reason: str | None
    successor_id: UUID | None
    confidence: float
    memory_category: str
    tier: str
    recipe_id: str
    opened_by: int | None
    ended_by: int | None
    recorded_at: Instant


class EvidenceLine(Reading):
    """Who said it: `message_text[span_start:span_end]` is the quote."""

    kind: str
    claim_ref: str
    episode: int | None
    quote: str
    message_id: UUID | None
    span_start: int | None
    span_end: int | None
    role: str | None
    said_at: Instant | None
    thread_id: str | None
    seq: int | None
    message_text: str | None


class CandidateLine(Reading):
    """A candidate that led to the fact, and what was decided about it."""

    episode: int | None
    ref: str
    outcome: str
    subject: str
    predicate: str
    object: str
    detail: str
    quote: str


class RelatedFact(Reading):
    """A fact that the explained one replaced, or that replaced it."""

    relation: Literal["successor", "predecessor"]
    fact_id: UUID
    statement: str
    valid_from: Instant | None
    valid_until: Instant | None


class ExtractionLine(Reading):
    """What extracted an episode that says the fact: tier, why lower ones were left, cost.

    `request_digests` name the model requests made, that of the answer last; `models` gave them.
    """

    episode: int
    tier: str
    tier_reason: str
    models: tuple[str, ...]
    request_digests: tuple[str, ...]
    usage: Usage


class Explanation(Reading):
    """Everything memory holds about one fact of one tenant; `requests` only where asked for."""

    tenant: str
    fact_id: UUID
    statement: str
    status: FactStatus
    versions: tuple[VersionLine, ...]
    evidence: tuple[EvidenceLine, ...]
    candidates: tuple[CandidateLine, ...]
    verdicts: tuple[VerdictLine, ...]
    related: tuple[RelatedFact, ...]
    extractions: tuple[ExtractionLine, ...]
    requests: tuple[RequestShown, ...] = ()


def find_fact(
    database: Database, fact_id: str, tenant_id: TenantId | None = None
) -> tuple[TenantId, FactId]:
    """The one fact whose id is, or begins with, these hex digits; of all tenants without one.

    Raises `UnreadableError` for what can't be an id, `NotFoundError` for none and for several.
    """
    digits = fact_id.strip().replace("-", "").lower()
    if not 1 <= len(digits) <= _HEX_DIGITS or not set(digits) <= set("0123456789abcdef"):
        raise UnreadableError(
            f"{fact_id!r} is no fact id: write its hex digits, all or the first ones"
        )
    keys = {
        "tenant_id": tenant_id,
        "first_id": UUID(digits.ljust(_HEX_DIGITS, "0")),
        "last_id": UUID(digits.ljust(_HEX_DIGITS, "f")),
    }
    scope = database.operator() if tenant_id is None else database.tenant(tenant_id)
    with scope as connection:
        rows = execute(connection, "find_facts", keys).fetchall()
    whose = "any tenant" if tenant_id is None else f"tenant {tenant_id!r}"
    if not rows:
        raise NotFoundError(
            f"no fact {fact_id} in the live memory of {whose}: "
            "`memory-pipeline facts --tenant NAME --history --json` lists the ids"
        )
    if len(rows) > 1:
        raise NotFoundError(f"several facts of {whose} begin with {fact_id}: give more of the id")
    return TenantId(rows[0]["tenant_id"]), FactId(rows[0]["fact_id"])


def explain(
    database: Database, tenant_id: TenantId, fact_id: FactId, *, with_requests: bool = False
) -> Explanation:
    """Versions, evidence, candidates, verdicts, related facts and extractions of one fact.

    With requests also what models were asked: to extract the episodes that say it, and to judge
    its pairs. Raises `NotFoundError` for an unknown tenant or fact.
    """
    keys = {"fact_id": fact_id}
    versions, evidence, candidates, verdicts, related, extractions = read(
        database,
        tenant_id,
        ("explain_versions", keys),
        ("explain_evidence", keys),
        ("explain_candidates", keys),
        ("explain_verdicts", keys),
        ("explain_related", keys),
        ("explain_extractions", keys),
    )
    if not versions:
        raise NotFoundError(
            f"tenant {tenant_id!r} has no fact {fact_id}: "
            "`memory-pipeline facts --tenant NAME --history --json` lists the ids"
        )
    now = datetime.now(UTC)
    lines = tuple(VersionLine(**row, status=status_of(row, now)) for row in versions)
    found = Explanation(
        tenant=tenant_id,
        fact_id=fact_id,
        statement=versions[0]["statement"],
        status=lines[-1].status,
        versions=lines,
        evidence=tuple(EvidenceLine.model_validate(row) for row in evidence),
        candidates=tuple(CandidateLine.model_validate(row) for row in candidates),
        verdicts=read_verdict_lines(database, tenant_id, verdicts),
        related=tuple(RelatedFact.model_validate(row) for row in related),
        extractions=tuple(ExtractionLine.model_validate(row) for row in extractions),
    )
    if not with_requests:
        return found
    return found.model_copy(update={"requests": _requests_behind(database, tenant_id, found)})


def _requests_behind(
    database: Database, tenant_id: TenantId, found: Explanation
) -> tuple[RequestShown, ...]:
    digests = [digest for line in found.extractions for digest in line.request_digests]
    return (
        *read_requests(database, tenant_id, digests),
        *read_verdict_requests(database, tenant_id, found.verdicts),
    )
