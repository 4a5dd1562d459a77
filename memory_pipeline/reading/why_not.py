"""What became of words that are no fact: candidates, open points, messages (spec Q2).

Belongs here: finding the words and telling their end. Does not: facts in depth (reading/explain),
the account of all messages (reading/ledger).
"""

import re
from collections.abc import Sequence
from typing import Literal
from uuid import UUID

from memory_pipeline.adapters.postgres import Database, Row
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.reading.ledger import MessageEnd, end_of_message
from memory_pipeline.reading.scope import Reading, UnreadableError, read

_MATCHES = 50
"""Lines of each kind that `why_not` gives at most."""


class Trace(Reading):
    """What became of something that holds the words asked for.

    `outcome` is a candidate's outcome, a message's end or `open` / `resolved`; `tier` is what
    extracted its episode, None for an open point and before extraction.
    """

    kind: Literal["candidate", "message", "uncertainty"]
    outcome: str
    detail: str
    quote: str
    episode: int | None
    fact_id: UUID | None = None
    message_id: UUID | None = None
    tier: str | None = None


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
        tier=row["tier"],
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
    MessageEnd.TRUNCATED: "it is so long that only its beginning was read, which gave no fact",
    MessageEnd.UNCERTAIN: "what it says is kept as an open point",
    MessageEnd.DROPPED: "its candidates were dropped",
    MessageEnd.UNACCOUNTED: "nobody wrote down what became of it: memory-pipeline ledger",
}

_REASONS = {
    "refused": "refused: it gives orders to whoever reads it, so no model was shown it",
    "nothing_durable": "it was read, and nothing durable was found in it",
}


def _message_trace(row: Row) -> Trace:
    end = end_of_message(row)
    if end is MessageEnd.NOTHING_DURABLE:
        detail = _REASONS.get(row["reason"], row["reason"])
    else:
        detail = _SAYINGS[end]
    return Trace(
        kind="message",
        outcome=end.value,
        detail=f"{detail} ({row['error']})" if row["error"] else detail,
        quote=row["text"],
        episode=row["episode"],
        message_id=row["message_id"],
        tier=row["tier"],
    )
