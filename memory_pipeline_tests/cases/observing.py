"""What stands in the tables after a case, as frozen values.

Belongs here: reading rows and ledger of one tenant. Does not: judging them (comparing).
"""

import re
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from memory_pipeline.adapters.postgres import Database, Row
from memory_pipeline.domain.fact import has_ended
from memory_pipeline.domain.ids import FactId, TenantId
from memory_pipeline_tests.cases.doubles import CaseIds
from memory_pipeline_tests.cases.setting_up import FORMAT, WINDOW

_BORN = ("inserted", "renewed")


class Frozen(BaseModel):
    """Base of the values here."""

    model_config = ConfigDict(frozen=True)


class ObservedFact(Frozen):
    """A fact as its last version has it."""

    fact_id: FactId
    subject: str
    predicate: str
    object: str
    is_edge: bool
    confidence: float
    valid_from: datetime | None
    valid_until: datetime | None
    is_believed: bool
    ended_reason: str | None
    successor_id: FactId | None
    quote_length: int

    def is_live(self, at: datetime) -> bool:
        """Believed and not ended; a fact that lies ahead counts."""
        return self.is_believed and not has_ended(self.valid_until, at)

    def statement(self) -> str:
        """The fact in words."""
        return f"{self.subject} {self.predicate} {self.object}"


class ObservedOutcome(Frozen):
    """Where a candidate ended."""

    ref: str
    outcome: str
    fact_id: FactId | None
    object: str
    quote_length: int


class Observed(Frozen):
    """All that a case can ask about: facts of its tenants by the case's words, and the rest."""

    facts: Mapping[str, ObservedFact]
    own_facts: tuple[str, ...]
    entities: tuple[tuple[str, str], ...]
    outcomes: Mapping[str, ObservedOutcome]
    episode_status: str
    episode_attempts: int
    judge_pairs: tuple[tuple[str, str], ...]
    extract_calls: int


@lru_cache(maxsize=1)
def _queries() -> dict[str, str]:
    text = Path(__file__).with_name("observe.sql").read_text(encoding="utf-8")
    parts = re.split(r"^-- name: (\w+)\s*$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def _rows(database: Database, tenant_id: TenantId, name: str, **parameters: Any) -> list[Row]:
    with database.tenant(tenant_id) as connection:
        cursor = connection.execute(
            _queries()[name].encode(), {"tenant_id": tenant_id, **parameters}
        )
        return cursor.fetchall()


def observe(
    database: Database,
    tenant_id: TenantId,
    other_tenants: tuple[TenantId, ...],
    ids: CaseIds,
    asked: tuple[tuple[str, str], ...],
    extract_calls: int,
) -> Observed:
    """Read everything back. A fact that the case has no word for stands under its statement."""
    episode = _rows(database, tenant_id, "observed_episode", thread_id=f"{FORMAT}/{WINDOW}")[0]
    outcomes = {
        ids.name_of_ref(row["ref"]): ObservedOutcome.model_validate(row)
        for row in _rows(database, tenant_id, "observed_outcomes", episode_id=episode["episode_id"])
    }
    names = {fact_id: name for name, fact_id in ids.facts.items()}
    names |= {o.fact_id: name for name, o in outcomes.items() if o.fact_id and o.outcome in _BORN}
    own = _facts(_rows(database, tenant_id, "observed_facts"), names)
    facts = dict(own)
    for other in other_tenants:
        facts |= _facts(_rows(database, other, "observed_facts"), names)
    return Observed(
        facts=facts,
        own_facts=tuple(own),
        entities=tuple(
            (row["name"], row["type"]) for row in _rows(database, tenant_id, "observed_entities")
        ),
        outcomes=outcomes,
        episode_status=episode["extraction_status"],
        episode_attempts=episode["extraction_attempts"],
        judge_pairs=asked,
        extract_calls=extract_calls,
    )


def _facts(rows: list[Row], names: Mapping[FactId, str]) -> dict[str, ObservedFact]:
    found: dict[str, ObservedFact] = {}
    for row in rows:
        fact = ObservedFact.model_validate(row)
        found[names.get(fact.fact_id, f"{fact.statement()} ({fact.fact_id})")] = fact
    return found
