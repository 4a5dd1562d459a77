"""Summaries of episodes: written by a model, embedded, stored beside the episode (spec E4, E5).

Belongs here: which episodes want one and what becomes of failures. Does not: wording (prompts)
and the request (stages/summarise). A side branch: extraction never waits for it.
"""

from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import Any

from pgvector import HalfVector

from memory_pipeline.adapters.answer_store import storable, storable_json
from memory_pipeline.adapters.conversation_store import ConversationStore
from memory_pipeline.adapters.models.endpoint import UnansweredRequestError
from memory_pipeline.adapters.postgres import Database, Row, execute
from memory_pipeline.adapters.work_lock import TenantBusyError, hold_work_lock
from memory_pipeline.domain.conversation import Window
from memory_pipeline.domain.embedding import Embedder
from memory_pipeline.domain.extraction import Tier
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.domain.model import ModelUnavailableError, Usage
from memory_pipeline.stages.extract import NO_MODEL
from memory_pipeline.stages.summarise import Summariser, SummaryError, is_worth_a_summary

SUMMARY_ATTEMPTS = 3
# What needed no model to extract needs none to be summed up (spec X10).
_NO_CALL_TIERS = frozenset({Tier.NONE.value, Tier.HEURISTICS.value})


@dataclass(frozen=True)
class SummaryReport:
    """What became of one episode's summary, without its text."""

    ordinal: int
    status: str
    learnings: int = 0
    usage: Usage = field(default_factory=Usage)
    error: str = ""


class SummaryWriter:
    """Writes the summaries of one tenant."""

    def __init__(
        self,
        database: Database,
        tenant_id: TenantId,
        summariser: Summariser,
        embedder: Embedder,
        threads: int,
    ) -> None:
        self._database = database
        self._tenant_id = tenant_id
        self._summariser = summariser
        self._embedder = embedder
        self._threads = threads

    def write(self, ordinals: Collection[int]) -> list[SummaryReport]:
        """Summaries of these episodes and of earlier failures under the cap, side by side.

        A failed one is recorded and stops nobody; `BudgetExhaustedError` stops the rest, and
        what is stored by then stays. One process at a time writes a tenant's summaries: while
        another is at it, none are written here, since that one takes what earlier runs left too.
        """
        try:
            with hold_work_lock(self._database.url, self._tenant_id, "summaries"):
                return self._write_all(ordinals)
        except TenantBusyError as error:
            return [SummaryReport(n, "pending", error=str(error)) for n in sorted(ordinals)]

    def _write_all(self, ordinals: Collection[int]) -> list[SummaryReport]:
        with self._database.tenant(self._tenant_id) as connection:
            rows = execute(
                connection,
                "open_summaries",
                {
                    "tenant_id": self._tenant_id,
                    "ordinals": sorted(ordinals),
                    "attempts": SUMMARY_ATTEMPTS,
                },
            ).fetchall()
        windows = ConversationStore(self._database).windows(self._tenant_id, rows)
        with ThreadPoolExecutor(self._threads) as pool:
            return list(pool.map(self._write_one, rows, windows))

    def _write_one(self, row: Row, window: Window) -> SummaryReport:
        needs_no_model = row["tier"] in _NO_CALL_TIERS and row["tier_reason"] != NO_MODEL
        if needs_no_model or not is_worth_a_summary(window):
            return self._store(row, SummaryReport(row["ordinal"], "skipped"))
        stored: dict[str, Any] | None = row["summary"]
        usage = Usage()
        if stored is None:
            try:
                written = self._summariser.summarise(window, attempt=row["summary_attempts"] + 1)
            except UnansweredRequestError as error:
                report = SummaryReport(row["ordinal"], "failed", error=str(error))
                return self._store(row, report)
            except ModelUnavailableError as error:
                # An outage is not the episode's fault: it stays as it is and counts no attempt.
                return SummaryReport(row["ordinal"], "pending", error=str(error))
            except SummaryError as error:
                report = SummaryReport(row["ordinal"], "failed", error=str(error))
                return self._store(row, report)
            stored, usage = asdict(written.summary), written.usage
        report = SummaryReport(row["ordinal"], "done", len(stored["key_learnings"]), usage)
        return self._embed_and_store(row, report, stored)

    def _embed_and_store(
        self, row: Row, report: SummaryReport, summary: dict[str, Any]
    ) -> SummaryReport:
        """A summary whose embedding fails is kept: the next try only embeds."""
        text = " ".join((summary["summary"], *summary["key_learnings"]))
        try:
            (vector,) = self._embedder.embed([text])
        except ModelUnavailableError as error:
            failed = SummaryReport(
                report.ordinal, "failed", report.learnings, report.usage, str(error)
            )
            return self._store(row, failed, summary)
        return self._store(row, report, summary, vector)

    def _store(
        self,
        row: Row,
        report: SummaryReport,
        summary: dict[str, Any] | None = None,
        vector: Sequence[float] | None = None,
    ) -> SummaryReport:
        with self._database.tenant(self._tenant_id) as connection:
            execute(
                connection,
                "store_summary",
                {
                    "tenant_id": self._tenant_id,
                    "episode_id": row["episode_id"],
                    "status": report.status,
                    "summary": None if summary is None else storable_json(summary),
                    "embedding": None if vector is None else HalfVector(list(vector)),
                    "error": storable(report.error) or None,
                },
            )
        return report
