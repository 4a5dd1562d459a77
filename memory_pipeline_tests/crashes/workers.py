"""The other side of `worker`: orders workers and looks at what they leave in the database.

Belongs here: talking to the forking process, sessions and locks. Does not: what workers do.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Literal

import psycopg

from memory_pipeline.adapters.postgres import Database
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.reading.checks import CHECKS, read_check
from memory_pipeline.reading.ledger import read_ledger
from memory_pipeline_tests.crashes.worker import Ended, Job, Order

_PATIENCE_SECONDS = 60
_OTHER_SESSIONS = (
    "select count(*) from pg_stat_activity where datname = current_database()"
    " and pid <> pg_backend_pid() and backend_type = 'client backend'"
)
_LOCKS = (
    "select count(*) from pg_locks where locktype = 'advisory' and database ="
    " (select oid from pg_database where datname = current_database())"
)


class Workers:
    """Orders workers from one warm process; `with` ends it."""

    def __init__(self) -> None:
        # One thread, so that forking is safe.
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "memory_pipeline_tests.crashes.worker"],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(
        self,
        url: str,
        *jobs: Job,
        disturb_after: float | None = None,
        disturb: Literal["kill", "terminate"] = "kill",
    ) -> list[Ended]:
        """How each job's worker ended, in order; all start at once."""
        order = Order(url=url, jobs=jobs, disturb_after=disturb_after, disturb=disturb)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(order.model_dump_json(), file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        assert line, "the process that forks the workers has died"
        return [Ended.model_validate(row) for row in json.loads(line)]

    def close(self) -> None:
        """End the process."""
        self._process.communicate(timeout=_PATIENCE_SECONDS)


def locks_left(url: str) -> int:
    """Advisory locks held once every session but this one has ended."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    with psycopg.connect(url, autocommit=True) as connection:
        while _count(connection, _OTHER_SESSIONS):
            assert time.monotonic() < deadline, "a session does not end"
            time.sleep(0.005)
        return _count(connection, _LOCKS)


def _count(connection: psycopg.Connection, statement: str) -> int:
    row = connection.execute(statement.encode()).fetchone()
    return int(row[0]) if row else 0


def broken_rules(database: Database, tenant_id: TenantId) -> list[str]:
    """Checks that do not hold and episodes whose account does not add up."""
    found = [name for name in CHECKS if tenant_id in read_check(database, name)]
    return [*found, *read_ledger(database, tenant_id).problems]
