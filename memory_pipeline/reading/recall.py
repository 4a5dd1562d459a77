"""Recall: the facts that answer a query, from three lists fused (spec Q1), and raw messages.

Belongs here: what is asked, what comes back. Does not: the ranking (sql/migrations, recall_facts),
how it reads in a prompt (reading/context_block), counts (adapters/access_counter).
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Unpack
from uuid import UUID

from pgvector import HalfVector

from memory_pipeline.adapters.access_counter import access_counter
from memory_pipeline.adapters.generation_store import VectorWidthError
from memory_pipeline.adapters.postgres import Database, Row
from memory_pipeline.domain.embedding import Embedder
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.reading.context_block import write_context
from memory_pipeline.reading.facts import status_of
from memory_pipeline.reading.lists import InstructionRow
from memory_pipeline.reading.query_spans import name_spans
from memory_pipeline.reading.recalled import (
    MessageFound,
    ProfileShown,
    Recalled,
    RecalledFact,
)
from memory_pipeline.reading.scope import UnreadableError, read
from memory_pipeline.reading.wanted import Wanted
from memory_pipeline.stages.sanitise import sanitise_line

MAX_LIMIT = 100
QUERY_CHARS = 10_000
"""Characters of a query that are searched for; a longer one is cut."""


_ANCHORS = 3
"""Entities whose facts make the anchor list."""
_INSTANTS = ("valid_from", "valid_until", "known_from", "known_until")


def recall(
    database: Database,
    tenant_id: TenantId,
    query: str,
    embedder: Embedder | None,
    **wanted: Unpack[Wanted],
) -> Recalled:
    """The best `limit` (8, at most 100) facts with `min_confidence` (0.5) or more for a query,
    with profiles of what it names and they are about, and the active instructions.

    Facts that hold at `valid_at` (now) as believed at `known_at` (the latest), ranked by the same
    rules at any instant: nearest vectors, facts of the entities that the query names or nearly
    names, full text. An empty query gives the newest. Without an embedder there are no vectors.
    Facts returned are counted as read, unless `is_counted` is False; the counts are written soon
    after, at exit, and by `flush_access_counts`. One round trip, beside the embedder's.

    Raises `NotFoundError` for an unknown tenant, `UnreadableError` for options out of range,
    `VectorWidthError` when memory was embedded by another model.
    """
    limit, min_confidence = _checked(wanted)
    valid_at, known_at = wanted.get("valid_at"), wanted.get("known_at")
    words = sanitise_line(query, QUERY_CHARS)
    vector = embedder.embed([words])[0] if embedder is not None and words else None
    at = valid_at or datetime.now(UTC)
    parameters: dict[str, Any] = {
        "k": wanted.get("rrf_k", 60),
        "anchor_similarity": wanted.get("anchor_similarity", 0.75),
        "anchors": _ANCHORS,
        "depth": MAX_LIMIT,
        "query": words,
        "spans": name_spans(words),
        "vector": None if vector is None else HalfVector(vector),
        "profile_id": None if vector is None or embedder is None else embedder.profile_id,
        "valid_at": at,
        "known_at": known_at,
        "is_present": valid_at is None,
        "limit": limit,
        "min_confidence": min_confidence,
    }
    (rows,) = read(database, tenant_id, ("recall", parameters))
    head = next(row["item"] for row in rows if row["kind"] == "generation")
    _require_profile(tenant_id, head["profile_id"], parameters["profile_id"])
    recalled = _recalled(rows, at, known_at).model_copy(update={"query": query})
    if wanted.get("is_counted", True):
        keys = [fact.content_key for fact in recalled.facts]
        access_counter(database).count(tenant_id, keys)
    context = write_context(recalled, UUID(head["secret"]).bytes)
    return recalled.model_copy(update={"context": context})


def _checked(wanted: Wanted) -> tuple[int, float]:
    """Limit and least confidence, or `UnreadableError`."""
    limit, min_confidence = wanted.get("limit", 8), wanted.get("min_confidence", 0.5)
    if not 1 <= limit <= MAX_LIMIT:
        raise UnreadableError(f"limit must lie between 1 and {MAX_LIMIT}, not {limit}")
    if not 0 <= min_confidence <= 1:
        raise UnreadableError(f"min_confidence must lie between 0 and 1, not {min_confidence}")
    for name in ("valid_at", "known_at"):
        instant = wanted.get(name)
        if isinstance(instant, datetime) and instant.tzinfo is None:
            raise UnreadableError(f"{name} must name its offset from UTC, not {instant}")
    return limit, min_confidence


def _require_profile(tenant_id: TenantId, stored: str | None, asked: str | None) -> None:
    if stored is not None and asked is not None and stored != asked:
        raise VectorWidthError(
            f"tenant {tenant_id}'s memory holds vectors of {stored}, the query was embedded by "
            f"{asked}: set MEMORY_EMBEDDING_MODEL to the former, or rebuild the memory"
        )


def _recalled(rows: Sequence[Row], at: datetime, known_at: datetime | None) -> Recalled:
    def of_kind(kind: str) -> list[Row]:
        return [row["item"] for row in rows if row["kind"] == kind]

    return Recalled(
        query="",
        valid_at=at,
        known_at=known_at,
        facts=tuple(_fact(item, at, known_at) for item in of_kind("fact")),
        profiles=tuple(ProfileShown.model_validate(item) for item in of_kind("profile")),
        instructions=tuple(InstructionRow.model_validate(item) for item in of_kind("instruction")),
        context="",
    )


def _fact(item: Row, at: datetime, known_at: datetime | None) -> RecalledFact:
    instants = {name: item[name] and datetime.fromisoformat(item[name]) for name in _INSTANTS}
    row = {**item, **instants, "is_last": True}
    return RecalledFact(
        **row,
        status=status_of(row, at, known_at),
        superseded_by=row["successor_id"],
    )


def recall_messages(
    database: Database, tenant_id: TenantId, query: str, *, limit: int = 8
) -> list[MessageFound]:
    """Messages that say all words of a query, then those that say some, the best first.

    Found as soon as they are imported, whatever became of their episodes. An empty query gives
    the newest. Raises as `recall`.
    """
    checked, _ = _checked({"limit": limit})
    parameters = {"query": sanitise_line(query, QUERY_CHARS), "limit": checked}
    (rows,) = read(database, tenant_id, ("recall_messages", parameters))
    return [MessageFound.model_validate(row) for row in rows]
