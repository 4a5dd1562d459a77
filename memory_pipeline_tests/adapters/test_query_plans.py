"""What the database does for each statement of a walk over a large memory, as it does it in use.

The statements are those that a real walk runs, in the application's role, with the plans that the
server made for it: none is listed here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from psycopg.errors import Diagnostic

from memory_pipeline.adapters.postgres import Database, RowConnection
from memory_pipeline.adapters.queries import all_queries, project_folder
from memory_pipeline.domain.ids import TenantId
from memory_pipeline_tests.bench.filled_memory import FilledTenant, fill_tenant
from memory_pipeline_tests.bench.fold_scale import StepTimes, fold_episodes, open_moving_walk

_EPISODES = 12
"""More than the five runs after which the server may reuse a plan."""
_EXPLAIN = {
    "session_preload_libraries": "auto_explain",
    "auto_explain.log_min_duration": "0",
    "auto_explain.log_analyze": "on",
    "auto_explain.log_timing": "off",
    "auto_explain.log_nested_statements": "on",
    "auto_explain.log_format": "json",
    "auto_explain.log_level": "notice",
}


@dataclass(frozen=True)
class Scan:
    """One visit of a table in one statement; `rows` are all that were looked at."""

    statement: str
    table: str
    kind: str
    index: str
    rows: int


class ExplainedDatabase(Database):
    """Keeps the plan of every statement, also of those inside functions."""

    def __init__(self, url: str) -> None:
        super().__init__(url, max_connections=1)
        self.plans: list[dict[str, Any]] = []
        self._heard: set[int] = set()

    def _hear(self, connection: RowConnection) -> RowConnection:
        if id(connection) not in self._heard:
            self._heard.add(id(connection))
            connection.add_notice_handler(self._keep)
        return connection

    def _keep(self, notice: Diagnostic) -> None:
        _, found, plan = (notice.message_primary or "").partition("plan:\n")
        if found:
            self.plans.append(json.loads(plan))

    @contextmanager
    def tenant(self, tenant_id: TenantId) -> Iterator[RowConnection]:
        with super().tenant(tenant_id) as connection:
            yield self._hear(connection)

    @contextmanager
    def tenant_pipeline(
        self, tenant_id: TenantId, *, is_fold: bool = False
    ) -> Iterator[RowConnection]:
        with super().tenant_pipeline(tenant_id, is_fold=is_fold) as connection:
            yield self._hear(connection)

    @contextmanager
    def tenant_reads(
        self, tenant_id: TenantId, *, is_fold: bool = False
    ) -> Iterator[RowConnection]:
        with super().tenant_reads(tenant_id, is_fold=is_fold) as connection:
            yield self._hear(connection)


def _scans(statement: str, node: dict[str, Any]) -> Iterator[Scan]:
    if "Relation Name" in node:
        rows = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
        yield Scan(
            statement=statement,
            table=node["Relation Name"],
            kind=node["Node Type"],
            index=node.get("Index Name", ""),
            rows=round(rows * node["Actual Loops"]),
        )
    for part in node.get("Plans", ()):
        yield from _scans(statement, part)


def _first_lines(family: str) -> dict[str, str]:
    """What each statement of a family begins with, which the server logs as it is."""
    text = (project_folder() / "sql" / "queries" / family).read_text(encoding="utf-8")
    return {
        name: body.partition("\n")[0]
        for name, body in all_queries().items()
        if f"-- name: {name}\n" in text
    }


def _large_tables(url: str, least: int) -> set[str]:
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            "select relname from pg_class where relkind = 'r' and reltuples >= %s"
            " and relnamespace = 'memory'::regnamespace",
            [least],
        ).fetchall()
    return {name for (name,) in rows}


def _walk(url: str, filled: FilledTenant) -> ExplainedDatabase:
    """Fold some episodes of a filled tenant, every statement explained."""
    with psycopg.connect(url, autocommit=True) as admin:
        for name, value in _EXPLAIN.items():
            admin.execute(f"alter database {admin.info.dbname} set {name} = '{value}'".encode())
    database = ExplainedDatabase(url)
    try:
        walk = open_moving_walk(database, filled, _EPISODES)
        database.plans.clear()  # the import
        fold_episodes(database, walk, StepTimes(), 0)
    finally:
        database.close()
    return database


@pytest.fixture(params=[20_000, pytest.param(100_000, marks=pytest.mark.long)])
def walked(request: pytest.FixtureRequest, database_url: str) -> ExplainedDatabase:
    fill_tenant(database_url, TenantId("other"), 1_000)
    return _walk(database_url, fill_tenant(database_url, TenantId("large"), request.param))


def test_a_walk_over_a_large_memory_reads_by_index_and_no_more_than_it_needs(
    walked: ExplainedDatabase,
) -> None:
    statements = {plan["Query Text"].partition("\n")[0] for plan in walked.plans}
    reads = _first_lines("memory_read.sql")
    assert [name for name, line in reads.items() if line not in statements] == []

    large = _large_tables(walked.url, 3_000)
    assert {"facts", "entities", "fact_evidence", "folds", "episodes", "messages"} <= large
    scans = {
        scan
        for plan in walked.plans
        for scan in _scans(plan["Query Text"].partition("\n")[0], plan["Plan"])
        if scan.table in large
    }
    assert [scan for scan in scans if scan.kind == "Seq Scan"] == []
    # What is asked of all facts of a subject is answered from an index alone.
    writes = set(_first_lines("memory_write.sql").values())
    fetching = [s for s in scans if s.kind != "Index Only Scan" and s.statement not in writes]
    assert [scan for scan in fetching if scan.rows > 1_000] == []
