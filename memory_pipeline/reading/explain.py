"""One fact in depth, and what became of words that are no fact (spec Q2).

Belongs here: explain and why-not as values. Does not: lists of facts (reading/facts), the account
of all messages (reading/ledger).
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal
from uuid import UUID

from memory_pipeline.adapters.postgres import Database, Row, execute
from memory_pipeline.domain.fact import FactStatus
from memory_pipeline.domain.ids import FactId, TenantId
from memory_pipeline.reading.facts import status_of
from memory_pipeline.reading.ledger import MessageEnd, end_of_message
from memory_pipeline.reading.scope import (
    Instant,
    NotFoundError,
    Reading,
    UnreadableError,
    read,
)

_HEX_DIGITS = 32
_MATCHES = 50
"""Lines of each kind that `why_not` gives at most."""


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


class VerdictLine(Reading):
    """A verdict on a pair; `side` says which of the two the explained fact was."""

    side: Literal["believed", "newcomer"]
    episode: int | None
    claim_ref: str
    believed_id: UUID
    believed: str | None
    newcomer_id: UUID | None
    newcomer: str | None
    verdict: str
    is_correction: bool
    judge: str
    reason: str
    why: str


class RelatedFact(Reading):
    """A fact that the explained one replaced, or that replaced it."""

    relation: Literal["successor", "predecessor"]
    fact_id: UUID
    statement: str
    valid_from: Instant | None
    valid_until: Instant | None


class Explanation(Reading):
    """Everything memory holds about one fact of one tenant."""

    tenant: str
    fact_id: UUID
    statement: str
    status: FactStatus
    versions: tuple[VersionLine, ...]
    evidence: tuple[EvidenceLine, ...]
    candidates: tuple[CandidateLine, ...]
    verdicts: tuple[VerdictLine, ...]
    related: tuple[RelatedFact, ...]


class Trace(Reading):
    """What became of something that holds the words asked for.

    `outcome` is a candidate's outcome, a message's end or `open` / `resolved`.
    """

    kind: Literal["candidate", "message", "uncertainty"]
    outcome: str
    detail: str
    quote: str
    episode: int | None
    fact_id: UUID | None = None
    message_id: UUID | None = None


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


def explain(database: Database, tenant_id: TenantId, fact_id: FactId) -> Explanation:
    """Versions, evidence, candidates, verdicts and related facts of one fact.

    Raises `NotFoundError` for an unknown tenant or fact.
    """
    keys = {"fact_id": fact_id}
    versions, evidence, candidates, verdicts, related = read(
        database,
        tenant_id,
        ("explain_versions", keys),
        ("explain_evidence", keys),
        ("explain_candidates", keys),
        ("explain_verdicts", keys),
        ("explain_related", keys),
    )
    if not versions:
        raise NotFoundError(
            f"tenant {tenant_id!r} has no fact {fact_id}: "
            "`memory-pipeline facts --tenant NAME --history --json` lists the ids"
        )
    now = datetime.now(UTC)
    lines = tuple(VersionLine(**row, status=status_of(row, now)) for row in versions)
    return Explanation(
        tenant=tenant_id,
        fact_id=fact_id,
        statement=versions[0]["statement"],
        status=lines[-1].status,
        versions=lines,
        evidence=tuple(EvidenceLine.model_validate(row) for row in evidence),
        candidates=tuple(CandidateLine.model_validate(row) for row in candidates),
        verdicts=tuple(VerdictLine.model_validate(row) for row in verdicts),
        related=tuple(RelatedFact.model_validate(row) for row in related),
    )


def why_not(database: Database, tenant_id: TenantId, text: str) -> list[Trace]:
    """What became of the candidates, open points and messages that hold the words of `text`.

    Letter case does not matter. Those that hold the most of the words come back, if that is at
    least half of them, best kind of answer first; at most 50 of each kind. Raises `NotFoundError`
    for an unknown tenant, `UnreadableError` for a text without words.
    """
    words = list(dict.fromkeys(re.findall(r"[\w']+", text.lower())))
    if not words:
        raise UnreadableError("say which words to look for")
    keys = {"words": words, "limit": _MATCHES}
    candidates, doubts, messages = read(
        database,
        tenant_id,
        ("matching_candidates", keys),
        ("matching_uncertainties", keys),
        ("matching_messages", keys),
    )
    best = max((row["hits"] for row in (*candidates, *doubts, *messages)), default=0)
    return [
        *map(_candidate_trace, _with_hits(candidates, best)),
        *map(_doubt_trace, _with_hits(doubts, best)),
        *map(_message_trace, _with_hits(messages, best)),
    ]


def _with_hits(rows: Sequence[Row], hits: int) -> list[Row]:
    return [row for row in rows if row["hits"] == hits]


def _candidate_trace(row: Row) -> Trace:
    statement = f"{row['subject']} {row['predicate']} {row['object']}"
    return Trace(
        kind="candidate",
        outcome=row["outcome"],
        detail=f"{statement}: {row['detail']}" if row["detail"] else statement,
        quote=row["quote"],
        episode=row["episode"],
        fact_id=row["fact_id"],
        message_id=row["message_id"],
    )


def _doubt_trace(row: Row) -> Trace:
    resolved_by = row["resolved_by"]
    settled = f" (settled by episode {resolved_by})" if resolved_by is not None else ""
    return Trace(
        kind="uncertainty",
        outcome="open" if resolved_by is None else "resolved",
        detail=f"{row['about']}: {row['reason']}{settled}",
        quote="",
        episode=row["episode"],
        message_id=row["message_id"],
    )


_SAYINGS = {
    MessageEnd.NOT_THE_USER: "only what the user says can be evidence",
    MessageEnd.LATE: "its episode came late and waits for a replay",
    MessageEnd.GIVEN_UP: "its episode was given up after failed attempts",
    MessageEnd.PENDING: "its episode is not processed yet: memory-pipeline run",
    MessageEnd.EVIDENCE: "it is evidence of facts",
    MessageEnd.INSTRUCTION: "it gives an instruction",
    MessageEnd.UNCERTAIN: "what it says is kept as an open point",
    MessageEnd.DROPPED: "its candidates were dropped",
    MessageEnd.UNACCOUNTED: "nobody wrote down what became of it: memory-pipeline ledger",
}


def _message_trace(row: Row) -> Trace:
    end = end_of_message(row)
    detail = row["reason"] if end is MessageEnd.NOTHING_DURABLE else _SAYINGS[end]
    return Trace(
        kind="message",
        outcome=end.value,
        detail=f"{detail} ({row['error']})" if row["error"] else detail,
        quote=row["text"],
        episode=row["episode"],
        message_id=row["message_id"],
    )
