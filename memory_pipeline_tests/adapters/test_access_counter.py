"""Counts of reads: gathered, written together, lost by no clean exit, doubled by no fork (F2)."""

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from uuid import UUID

import psycopg
import pytest

from memory_pipeline.adapters import access_counter as module
from memory_pipeline.adapters.access_counter import (
    AccessCounter,
    NotCountedError,
    access_counter,
    flush_access_counts,
)
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.domain.ids import TenantId

ANN, BOB = TenantId("ann"), TenantId("bob")
TEA, BOAT = UUID(int=1), UUID(int=2)


@pytest.fixture
def url(database_url: str) -> str:
    """A database with two tenants."""
    with psycopg.connect(database_url) as connection:
        connection.execute("insert into memory.tenants (tenant_id) values ('ann'), ('bob')")
    return database_url


@pytest.fixture
def counter(url: str) -> Iterator[AccessCounter]:
    """A counter of its own; what still waits is dropped."""
    counter = AccessCounter(url)
    yield counter
    counter.forget()


def counts(url: str) -> dict[tuple[str, UUID], int]:
    """What is written."""
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            "select tenant_id, content_key, access_count from memory.fact_access"
        ).fetchall()
    return {(tenant, key): count for tenant, key, count in rows}


def test_counts_of_several_reads_are_written_as_sums(counter: AccessCounter, url: str) -> None:
    counter.count(ANN, [TEA, BOAT])
    counter.count(ANN, [TEA])
    counter.count(BOB, [TEA])
    assert counts(url) == {}
    counter.flush()
    assert counts(url) == {(ANN, TEA): 2, (ANN, BOAT): 1, (BOB, TEA): 1}
    counter.count(ANN, [TEA])
    counter.flush()
    assert counts(url)[ANN, TEA] == 3


def test_the_last_read_is_kept_even_when_an_older_one_is_written_later(
    counter: AccessCounter, url: str
) -> None:
    late = datetime(2999, 1, 1, tzinfo=UTC)
    with psycopg.connect(url) as connection:
        connection.execute(
            "insert into memory.fact_access (tenant_id, content_key, last_accessed_at)"
            " values ('ann', %s, %s)",
            [TEA, late],
        )
    counter.count(ANN, [TEA])
    counter.flush()
    with psycopg.connect(url) as connection:
        row = connection.execute("select last_accessed_at from memory.fact_access").fetchone()
    assert row == (late,)


def test_nothing_to_write_asks_nobody() -> None:
    AccessCounter("postgresql://nobody@127.0.0.1:1/none").flush()


def test_a_refused_write_keeps_the_counts_for_the_next(url: str) -> None:
    counter = AccessCounter("postgresql://nobody@127.0.0.1:1/none")
    counter.count(ANN, [TEA])
    with pytest.raises(NotCountedError, match="reads were not counted"):
        counter.flush()
    counter.count(ANN, [TEA])
    counter._url = url
    counter.flush()
    assert counts(url) == {(ANN, TEA): 2}


def test_a_tenant_that_was_erased_meanwhile_holds_up_no_other(
    counter: AccessCounter, url: str
) -> None:
    counter.count(TenantId("aaa-erased"), [TEA])
    counter.count(BOB, [TEA])
    counter.flush()
    assert counts(url) == {(BOB, TEA): 1}


def test_counts_are_written_by_themselves_after_a_while(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FLUSH_SECONDS", 0.01)
    is_written = threading.Event()
    counter = AccessCounter(url)
    flush = counter.flush

    def flush_and_tell() -> None:
        flush()
        is_written.set()

    monkeypatch.setattr(counter, "flush", flush_and_tell)
    counter.count(ANN, [TEA])
    assert is_written.wait(60)
    assert counts(url) == {(ANN, TEA): 1}


def test_many_counts_are_written_without_waiting(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FLUSH_KEYS", 2)
    is_written = threading.Event()
    counter = AccessCounter(url)
    flush = counter.flush

    def flush_and_tell() -> None:
        flush()
        is_written.set()

    monkeypatch.setattr(counter, "flush", flush_and_tell)
    monkeypatch.setattr(module, "FLUSH_SECONDS", 10_000)
    counter.count(ANN, [TEA])
    counter.count(ANN, [BOAT])
    assert is_written.wait(60)
    assert len(counts(url)) == 2


def test_a_failure_in_the_background_is_told_and_kills_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    counter = AccessCounter("postgresql://nobody@127.0.0.1:1/none")
    counter.count(ANN, [TEA])
    with caplog.at_level(logging.WARNING):
        counter._flush_quietly()
    assert "reads were not counted" in caplog.text
    counter.forget()


def test_counts_from_many_threads_all_arrive(counter: AccessCounter, url: str) -> None:
    def read() -> None:
        for number in range(50):
            counter.count(ANN, [TEA])
            if number % 20 == 0:
                counter.flush()

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counter.flush()
    assert counts(url) == {(ANN, TEA): 200}


def test_there_is_one_counter_for_a_database(url: str) -> None:
    one, other = Database(url), Database(url)
    assert access_counter(one) is access_counter(other)
    access_counter(one).count(ANN, [TEA])
    flush_access_counts(other)
    assert counts(url) == {(ANN, TEA): 1}


_READ_AND_EXIT = """
import os, sys
from uuid import UUID
from memory_pipeline.adapters.access_counter import access_counter
from memory_pipeline.adapters.postgres import Database
database = Database(sys.argv[1])
access_counter(database).count("ann", [UUID(int=1)])
if sys.argv[2] == "forks":
    child = os.fork()
    if child == 0:
        access_counter(database).count("bob", [UUID(int=1)])
        sys.exit()
    os.waitpid(child, 0)
"""


@pytest.mark.parametrize(
    ("how", "expected"),
    [("exits", {(ANN, TEA): 1}), ("forks", {(ANN, TEA): 1, (BOB, TEA): 1})],
)
def test_a_clean_exit_loses_nothing_and_a_fork_doubles_nothing(
    url: str, how: str, expected: dict[tuple[str, UUID], int]
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _READ_AND_EXIT, url, how],
        env=os.environ | {"PYTHONWARNINGS": "default"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert counts(url) == expected
