"""The ledger: where every message and every candidate of a tenant ended (spec W6).

Belongs here: the end of a message, when the account adds up. Does not: repairing it.
"""

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum

from memory_pipeline.adapters.postgres import Database, Row
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.reading.scope import Reading, read

_TRUNCATED = "truncated"
"""The reason of a message so long that only its beginning was read."""


class MessageEnd(StrEnum):
    """Where a message ended; each is in exactly one, the first that fits."""

    NOT_THE_USER = "not_the_user"
    LATE = "late"
    GIVEN_UP = "given_up"
    PENDING = "pending"
    EVIDENCE = "evidence"
    INSTRUCTION = "instruction"
    TRUNCATED = "truncated"
    UNCERTAIN = "uncertain"
    DROPPED = "dropped"
    NOTHING_DURABLE = "nothing_durable"
    UNACCOUNTED = "unaccounted"


class Ledger(Reading):
    """The account. `reasons` breaks `nothing_durable` down; `problems` name episodes by ordinal.

    `messages` counts by `MessageEnd`, `candidates` by outcome, `episodes` by status.
    """

    messages: dict[str, int]
    reasons: dict[str, int]
    candidates: dict[str, int]
    episodes: dict[str, int]
    adds_up: bool
    problems: tuple[str, ...]


def read_ledger(database: Database, tenant_id: TenantId) -> Ledger:
    """The account of the tenant's live memory. Raises `NotFoundError` for an unknown tenant."""
    _, messages, candidates, episodes, uneven = read(
        database,
        tenant_id,
        ("prefer_hash_joins", {}),
        ("ledger_messages", {}),
        ("ledger_candidates", {}),
        ("ledger_episodes", {}),
        ("ledger_uneven_episodes", {}),
    )
    ends: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for row in messages:
        end = end_of_message(row)
        ends[end.value] += row["messages"]
        if end is MessageEnd.NOTHING_DURABLE:
            reasons[row["reason"]] += row["messages"]
    problems = (*_lost_messages(messages), *map(_unevenness, uneven))
    return Ledger(
        messages={end.value: ends[end] for end in MessageEnd if ends[end]},
        reasons=dict(reasons.most_common()),
        candidates={row["outcome"]: row["candidates"] for row in candidates},
        episodes={row["status"]: row["episodes"] for row in episodes},
        adds_up=not problems,
        problems=problems,
    )


def end_of_message(row: Row) -> MessageEnd:
    """Where a message with these marks ended; the marks are those of `ledger_messages`."""
    ends = (
        (not row["is_own"], MessageEnd.NOT_THE_USER),
        (row["status"] == "late", MessageEnd.LATE),
        ("given_up" in (row["status"], row["fold_status"]), MessageEnd.GIVEN_UP),
        (row["fold_status"] is None, MessageEnd.PENDING),
        (row["is_cited"], MessageEnd.EVIDENCE),
        (row["is_instruction"], MessageEnd.INSTRUCTION),
        (row["reason"] == _TRUNCATED, MessageEnd.TRUNCATED),
        (row["is_doubted"], MessageEnd.UNCERTAIN),
        (row["is_dropped"], MessageEnd.DROPPED),
        (row["reason"] is not None, MessageEnd.NOTHING_DURABLE),
    )
    return next((end for holds, end in ends if holds), MessageEnd.UNACCOUNTED)


def _lost_messages(messages: Sequence[Row]) -> list[str]:
    return [
        f"episode {row['episode']}: {row['messages']} message(s) of the user without an account"
        for row in messages
        if end_of_message(row) is MessageEnd.UNACCOUNTED
    ]


def _unevenness(row: Row) -> str:
    ordinal, status, fold_status = row["ordinal"], row["status"], row["fold_status"]
    if fold_status is None and status not in ("pending", "failed", "late"):
        return f"episode {ordinal}: is {status}, but memory has not taken it in"
    if fold_status is not None and status in ("pending", "failed", "late"):
        return f"episode {ordinal}: is {status}, but memory has taken it in"
    extracted = 0 if fold_status is None else row["extracted"]
    if extracted is None:
        return f"episode {ordinal}: nobody wrote down how many candidates it had"
    return f"episode {ordinal}: {extracted} candidate(s) extracted, {row['ended']} accounted for"
