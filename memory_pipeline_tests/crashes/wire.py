"""Counts what goes over the wire between us and PostgreSQL, from the protocol itself.

Belongs here: the trace of one connection. Does not: how many turns are right (test_round_trips).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from psycopg.pq import Trace

from memory_pipeline.adapters.postgres import Database

_TURN = re.compile(r"^F\t\d+\t(?:Sync|Query|(?<!Sync\nF\t4\t)Flush)\b", re.MULTILINE)
"""A flush right behind a sync goes with it in one piece."""


class Wire:
    """The messages sent so far over the only connection of a pool."""

    def __init__(self, trace: Path) -> None:
        self._trace = trace
        self._counted = 0

    def turns(self) -> int:
        """How often the server was made to answer since the last time this was asked.

        Syncs, simple queries and flushes do: they are what a client waits behind.
        """
        total = len(_TURN.findall(self._trace.read_text(encoding="utf-8", errors="replace")))
        since, self._counted = total - self._counted, total
        return since


@contextmanager
def traced(database: Database, trace: Path) -> Iterator[Wire]:
    """Trace a pool of one connection."""
    with trace.open("wb") as file:
        with database.operator() as connection:
            connection.pgconn.trace(file.fileno())
            connection.pgconn.set_trace_flags(Trace.SUPPRESS_TIMESTAMPS | Trace.REGRESS_MODE)
        wire = Wire(trace)
        wire.turns()
        yield wire
        with database.operator() as connection:
            connection.pgconn.untrace()
