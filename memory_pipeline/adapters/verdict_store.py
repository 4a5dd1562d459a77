"""Verdicts on single pairs by content, one tenant each (spec J2): found again, kept once.

Belongs here: rows of memory.pair_verdicts as values. Does not: what names a pair and when its
verdict may be kept (stages/model_judge), whole answers (adapters/answer_store).
"""

from collections.abc import Callable, Mapping, Sequence

from memory_pipeline.adapters.answer_store import storable
from memory_pipeline.adapters.postgres import Database, Row, execute
from memory_pipeline.domain.changes import Verdict
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.stages.answers import PairVerdict


def _ignore(_found: int) -> None:
    """Nobody counts what is found."""


class PairVerdictStore:
    """Satisfies the judge's `VerdictStore`; each call is one round trip, none without pairs.

    `on_found` hears how many verdicts a look-up found, for the metadata of runs.
    """

    def __init__(
        self, database: Database, tenant_id: TenantId, on_found: Callable[[int], None] = _ignore
    ) -> None:
        self._database = database
        self._tenant_id = tenant_id
        self._on_found = on_found

    def find(self, pair_digests: Sequence[str], request_digest: str) -> dict[str, PairVerdict]:
        """The verdicts that are there, by pair digest.

        None when the request for all of the pairs was answered and no pair got its verdict from
        that answer: it was bad or partial then, and has to have the same effect now.
        """
        if not pair_digests:
            return {}
        parameters = {
            "tenant_id": self._tenant_id,
            "pair_digests": list(pair_digests),
            "request_digest": request_digest,
        }
        with self._database.tenant_reads(self._tenant_id) as connection:
            cursor = execute(connection, "pair_verdicts", parameters)
        found = _by_pair(cursor.fetchall())
        if found:
            self._on_found(len(found))
        return found

    def keep(
        self, verdicts: Mapping[str, PairVerdict], request_digest: str
    ) -> dict[str, PairVerdict]:
        """Keep what one answer says, pairs in the order of its request; what counts comes back.

        A verdict that another process kept first stays and is the one that counts. Does not wait
        for the disk: the fold that uses a verdict does, and what a crash takes is found again in
        the stored answer.
        """
        if not verdicts:
            return {}
        given = list(verdicts.values())
        parameters = {
            "tenant_id": self._tenant_id,
            "pair_digests": list(verdicts),
            "verdicts": [verdict.verdict.value for verdict in given],
            "corrections": [verdict.is_correction for verdict in given],
            "reasons": [storable(verdict.reason) for verdict in given],
            "request_digest": request_digest,
        }
        with self._database.tenant_pipeline(self._tenant_id) as connection:
            execute(connection, "without_waiting_for_disk")
            execute(connection, "keep_pair_verdicts", parameters)
            # A statement of its own: only then does it see what another process has just kept.
            cursor = execute(connection, "kept_pair_verdicts", parameters)
        return _by_pair(cursor.fetchall())


def _by_pair(rows: Sequence[Row]) -> dict[str, PairVerdict]:
    return {
        row["pair_digest"]: PairVerdict(
            Verdict(row["verdict"]), row["is_correction"], row["reason"]
        )
        for row in rows
    }
