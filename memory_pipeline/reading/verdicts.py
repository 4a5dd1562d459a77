"""Verdicts on pairs of a fact, each with the model request that it came from (spec J2, Q2).

Belongs here: finding the request of a verdict, also when an earlier episode asked. Does not:
requests themselves (reading/requests), the other parts of an explanation (reading/explain).
"""

from collections.abc import Sequence
from typing import Literal
from uuid import UUID

from memory_pipeline.adapters.postgres import Database, Row
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.reading.requests import RequestShown, read_judge_requests, read_requests
from memory_pipeline.reading.scope import Reading, read
from memory_pipeline.stages.model_judge import STATEMENT_CHARS, render_newcomer_quote
from memory_pipeline.stages.sanitise import sanitise_line


class VerdictLine(Reading):
    """A verdict on a pair; `side` says which of the two the explained fact was.

    `request_digest` names the model request whose answer gave the verdict, and `pair_number` the
    pair in it; None for other judges and where no verdict is stored: the answer was bad.
    """

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
    request_digest: str | None = None
    pair_number: int | None = None


def read_verdict_lines(
    database: Database, tenant_id: TenantId, rows: Sequence[Row]
) -> tuple[VerdictLine, ...]:
    """The rows of `explain_verdicts` as values, in their order, with the requests behind them."""
    asked = [
        place
        for place, row in enumerate(rows)
        if row["judge"] == "model" and row["believed"] and row["newcomer"]
    ]
    found: list[Row] = []
    if asked:
        shown = _shown_of([rows[place] for place in asked])
        (found,) = read(database, tenant_id, ("requests_of_verdicts", shown))
    sources = {asked[row["place"] - 1]: row for row in found}
    return tuple(
        VerdictLine.model_validate(row | sources.get(place, {})) for place, row in enumerate(rows)
    )


def read_verdict_requests(
    database: Database, tenant_id: TenantId, lines: Sequence[VerdictLine]
) -> tuple[RequestShown, ...]:
    """The requests of verdicts, each once; of those not stored, what shows their pairs."""
    digests = [line.request_digest for line in lines if line.request_digest]
    pairs = [
        (line.believed, line.newcomer)
        for line in lines
        if line.judge == "model" and not line.request_digest and line.believed and line.newcomer
    ]
    found = (
        *read_requests(database, tenant_id, digests),
        *read_judge_requests(database, tenant_id, pairs),
    )
    return tuple({request.digest: request for request in found}.values())


def _shown_of(rows: Sequence[Row]) -> Row:
    """What a request shows of each pair, line by line, and what the judge said."""
    return {
        "old_lines": [_line("old", row["believed"]) for row in rows],
        "new_lines": [_line("new", row["newcomer"]) for row in rows],
        "said_lines": [
            render_newcomer_quote(row["newcomer_said_at"], row["newcomer_quote"])
            if row["newcomer_said_at"]
            else ""
            for row in rows
        ],
        "judges": [row["judge_version"] for row in rows],
        "verdicts": [row["verdict"] for row in rows],
        "corrections": [row["is_correction"] for row in rows],
        "reasons": [row["reason"] for row in rows],
    }


def _line(side: str, statement: str) -> str:
    return f"{side}: {sanitise_line(statement, STATEMENT_CHARS)}\n"
