"""Reads at any point in both times agree with a model written from the specification alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from hypothesis import given

from memory_pipeline.adapters.postgres import Database
from memory_pipeline.reading.facts import FactRow, read_facts
from memory_pipeline_tests.properties.effort import examples
from memory_pipeline_tests.properties.histories import History, histories, noon
from memory_pipeline_tests.properties.model import Identity, Memory
from memory_pipeline_tests.properties.model_fold import told
from memory_pipeline_tests.properties.running import Tenant, folded_tenant


@dataclass(frozen=True)
class _Names:
    """What stands for ids: the identity of each fact, and which versions were dropped."""

    identities: Mapping[UUID, Identity]
    dropped: frozenset[tuple[UUID, datetime]]


def _names(history: Sequence[FactRow]) -> _Names:
    identities: dict[UUID, Identity] = {}
    last: dict[UUID, FactRow] = {}
    for row in sorted(history, key=lambda row: row.known_from):
        statement = f"{row.subject} {row.predicate} {row.object}"
        identities.setdefault(row.fact_id, (statement, row.valid_from, row.known_from))
        last[row.fact_id] = row
    return _Names(
        identities,
        frozenset((r.fact_id, r.known_from) for r in last.values() if r.known_until is not None),
    )


def _shown(
    rows: Sequence[FactRow],
    names: _Names,
    dropped: frozenset[tuple[UUID, datetime]] = frozenset(),
) -> list[tuple[object, ...]]:
    """Rows as the model has them: without ids, the successor by its words.

    Of a `dropped` version the history tells what is believed instead, which the model does not.
    """
    return sorted((_line(row, names, dropped) for row in rows), key=repr)


def _line(
    row: FactRow, names: _Names, dropped: frozenset[tuple[UUID, datetime]]
) -> tuple[object, ...]:
    heir = None if (row.fact_id, row.known_from) in dropped else row.superseded_by
    return (
        row.subject,
        row.predicate,
        row.object,
        row.object_is_entity,
        row.valid_from,
        row.valid_until,
        row.known_from,
        row.known_until,
        round(row.confidence, 4),
        None if heir is None else names.identities[heir],
    )


def assert_agree(tenant: Tenant, model: Memory) -> None:
    """The whole history, and what is read at points around all that was said."""
    database, tenant_id = tenant.database, tenant.tenant_id
    history = read_facts(database, tenant_id, with_history=True)
    names = _names(history)
    assert _shown(history, names, names.dropped) == model.history()
    for valid_at in (noon(-6), noon(0), noon(3), noon(14)):
        for known_at in (noon(2), None):
            rows = read_facts(database, tenant_id, valid_at=valid_at, known_at=known_at)
            assert _shown(rows, names) == model.as_of(valid_at, known_at)


@examples(100)
@given(history=histories())
def test_reads_at_any_valid_and_known_instant_show_what_the_model_believes(
    memory: Database, history: History
) -> None:
    assert_agree(folded_tenant(memory, history), told(history))
