"""A process that forks workers on demand: they fold, are killed, compete, and tell how they ended.

Belongs here: what runs in processes of its own. Does not: asking for it (workers) and judging.
One line of JSON in (an `Order`), one line out (a list of `Ended`); ends with its input.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NoReturn

import psycopg
from psycopg.pq import ExecStatus, PipelineStatus
from pydantic import BaseModel, ConfigDict

from memory_pipeline.adapters.conversation_store import ConversationStore
from memory_pipeline.adapters.memory_writer import OutOfOrderError, StalePlanError
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.adapters.queries import all_queries
from memory_pipeline.domain.ids import TenantId
from memory_pipeline_tests.crashes.histories import rich_workshop
from memory_pipeline_tests.scripted import fold_all


class Frozen(BaseModel):
    """Base of what goes through the pipes."""

    model_config = ConfigDict(frozen=True)


class Job(Frozen):
    """What one worker does: fold `before` undisturbed, then `ordinals` (all open ones if None).

    With `killed_behind` it ends behind so many statements of the latter. One that `competes` goes
    on after refusals until nothing is open.
    """

    tenants: tuple[str, ...]
    before: tuple[int, ...] = ()
    ordinals: tuple[int, ...] | None = None
    killed_behind: int | None = None
    competes: bool = False


class Order(Frozen):
    """Jobs to be done side by side; after so many seconds their processes or sessions end."""

    url: str
    jobs: tuple[Job, ...]
    disturb_after: float | None = None
    disturb: Literal["kill", "terminate"] = "kill"


class Ended(Frozen):
    """How a worker ended; the rest is what it could still tell."""

    signal: int = 0
    exit_code: int = 0
    error: str = ""
    folded: dict[str, tuple[int, ...]] = {}
    refusals: dict[str, int] = {}
    statements: tuple[str, ...] = ()


_ROUNDS = 200
_TERMINATE = (
    b"select pg_terminate_backend(pid) from pg_stat_activity"
    b" where datname = current_database() and pid <> pg_backend_pid()"
)


class Fuse:
    """Ends the process behind its n-th statement, once the server has carried that one out."""

    def __init__(self, blows_behind: int | None) -> None:
        self._blows_behind = blows_behind
        self.statements: list[str] = []

    def arm(self) -> None:
        """Count from now on; batches go one by one, so that there is a boundary in each."""
        names = {text: name for name, text in all_queries().items()}
        execute = psycopg.Cursor.execute

        def counted(
            cursor: psycopg.Cursor[Any], statement: Any, parameters: Any = None, **named: Any
        ) -> psycopg.Cursor[Any]:
            execute(cursor, statement, parameters, **named)
            self.statements.append(names.get(statement, str(statement)))
            self._blow_if_due(cursor.connection)
            return cursor

        def one_by_one(
            cursor: psycopg.Cursor[Any], statement: Any, rows: Iterable[Any], **_: Any
        ) -> None:
            for row in rows:
                cursor.execute(statement, row)

        psycopg.Cursor.execute = counted  # type: ignore[method-assign,assignment]
        psycopg.Cursor.executemany = one_by_one  # type: ignore[method-assign,assignment]
        self._blow_if_due(None)

    def _blow_if_due(self, connection: psycopg.Connection[Any] | None) -> None:
        if len(self.statements) != self._blows_behind:
            return
        if connection is not None and connection.pgconn.pipeline_status != PipelineStatus.OFF:
            _wait_for_server(connection)
        os.kill(os.getpid(), signal.SIGKILL)


def _wait_for_server(connection: psycopg.Connection[Any]) -> None:
    """Until all that was sent is done; a sync within `begin` and `commit` ends no transaction."""
    connection.pgconn.pipeline_sync()
    while True:
        result = connection.pgconn.get_result()
        if result is not None and result.status == ExecStatus.PIPELINE_SYNC:
            return


def _do(job: Job, url: str) -> Ended:
    database = Database(url, max_connections=2)
    if job.competes:
        return _compete(job, database)
    fuse = Fuse(job.killed_behind)
    folded: dict[str, tuple[int, ...]] = {}
    try:
        for tenant in map(TenantId, job.tenants):
            workshop = rich_workshop(database, tenant)
            if job.before:
                fold_all(workshop, tenant, job.before)
                fuse.arm()
            folded[tenant] = tuple(fold_all(workshop, tenant, job.ordinals))
    except psycopg.OperationalError as error:
        return Ended(error=type(error).__name__)
    return Ended(folded=folded, statements=tuple(fuse.statements))


def _compete(job: Job, database: Database) -> Ended:
    """Fold whatever is open of each tenant, among others who do the same."""
    folded: dict[str, tuple[int, ...]] = {}
    refusals: Counter[str] = Counter()
    for tenant in map(TenantId, job.tenants):
        folded[tenant] = ()
        workshop = rich_workshop(database, tenant)
        for _ in range(_ROUNDS):
            try:
                folded[tenant] += tuple(fold_all(workshop, tenant))
            except (OutOfOrderError, StalePlanError) as refusal:
                refusals[type(refusal).__name__] += 1
            if not ConversationStore(database).walk_episodes(tenant):
                break
    return Ended(folded=folded, refusals=dict(refusals))


def _be_worker(job: Job, url: str, start: int, report: int) -> NoReturn:
    """Wait for the start, do the job, report, and end without waiting for anything."""
    os.read(start, 1)
    ended = _do(job, url)
    with os.fdopen(report, "w") as pipe:
        pipe.write(ended.model_dump_json())
    os._exit(0)


def carry_out(order: Order) -> list[Ended]:
    """Fork a worker for each job, let all start at once, disturb them if asked, wait."""
    start, starter = os.pipe()
    workers: list[tuple[int, int]] = []
    for job in order.jobs:
        reader, report = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                os.close(starter)
                _be_worker(job, order.url, start, report)
            finally:
                # Whatever went wrong: a worker must not go on as the process it came from.
                sys.excepthook(*sys.exc_info())
                os._exit(70)
        os.close(report)
        workers.append((pid, reader))
    os.close(starter)
    if order.disturb_after is not None:
        time.sleep(order.disturb_after)
        _disturb(order, [pid for pid, _ in workers])
    ended = [_ending(pid, reader) for pid, reader in workers]
    os.close(start)
    return ended


def _disturb(order: Order, pids: Iterable[int]) -> None:
    if order.disturb == "kill":
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        return
    with psycopg.connect(order.url, autocommit=True) as connection:
        connection.execute(_TERMINATE)


def _ending(pid: int, reader: int) -> Ended:
    with os.fdopen(reader) as pipe:
        told = pipe.read()
    _, status = os.waitpid(pid, 0)
    content: Mapping[str, Any] = json.loads(told) if told.endswith("}") else {}
    ending = {"signal": os.WTERMSIG(status)} if os.WIFSIGNALED(status) else {}
    if os.WIFEXITED(status):
        ending["exit_code"] = os.WEXITSTATUS(status)
    return Ended.model_validate({**content, **ending})


if __name__ == "__main__":
    for line in sys.stdin:
        answers = carry_out(Order.model_validate_json(line))
        print(json.dumps([answer.model_dump() for answer in answers]), flush=True)
