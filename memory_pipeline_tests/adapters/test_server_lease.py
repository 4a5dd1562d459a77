"""The embedded server lives as long as its last user, unless it was asked to stay up."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from memory_pipeline.adapters.embedded_postgres import EmbeddedPostgres, Server
from memory_pipeline.adapters.server_lease import keep_up, let_go, serving

_USER = """
import sys
from pathlib import Path
from memory_pipeline.adapters.server_lease import serving
with serving(Path(sys.argv[1])):
    print("here", flush=True)
    sys.stdin.readline()
"""


_ASKER = """
import os, sys
os.environ.pop("MEMORY_DATABASE_URL", None)
os.environ["MEMORY_HOME"] = sys.argv[1]
from memory_pipeline.adapters.database_urls import memory_url
assert memory_url() == memory_url()
print("here", flush=True)
sys.stdin.readline()
"""


@pytest.fixture(scope="module")
def _home(scratch_dir: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="lease-", dir=scratch_dir) as folder:
        # As root the server runs under another account, which must pass through.
        Path(folder).chmod(0o711)
        yield Path(folder) / "home"


@pytest.fixture
def home(_home: Path) -> Iterator[Path]:
    yield _home
    let_go(_home)


def is_running(home: Path) -> bool:
    return EmbeddedPostgres(home).status().server is not None


def answers(server: Server) -> bool:
    with psycopg.connect(server.url("postgres")) as connection:
        return connection.execute("select 1").fetchone() == (1,)


def another_user(home: Path, program: str = _USER) -> subprocess.Popen[str]:
    user = subprocess.Popen(
        [sys.executable, "-c", program, str(home)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert user.stdout is not None
    assert user.stdout.readline() == "here\n"
    return user


def leave(user: subprocess.Popen[str]) -> None:
    user.communicate("\n", timeout=60)
    assert user.returncode == 0


def test_the_last_user_stops_the_server_and_the_next_starts_it_again(home: Path) -> None:
    for _ in range(2):
        with serving(home) as server:
            assert answers(server)
        assert not is_running(home)


def test_a_user_that_fails_stops_the_server_too(home: Path) -> None:
    with pytest.raises(ZeroDivisionError), serving(home):
        raise ZeroDivisionError
    assert not is_running(home)


def test_a_second_user_keeps_the_server_until_it_leaves(home: Path) -> None:
    with serving(home) as server:
        other = another_user(home)
    assert answers(server)
    leave(other)
    assert not is_running(home)


def test_two_users_of_one_process_count_as_two(home: Path) -> None:
    with serving(home) as server:
        with serving(home):
            pass
        assert answers(server)
    assert not is_running(home)


def test_a_server_kept_up_outlives_its_users_until_it_is_let_go(home: Path) -> None:
    with serving(home):
        keep_up(home)
    assert is_running(home)
    with serving(home) as server:
        assert answers(server)
    assert is_running(home)
    assert let_go(home)
    assert not is_running(home)
    assert not let_go(home)


def test_a_process_that_asks_for_the_database_counts_as_a_user_until_it_ends(home: Path) -> None:
    other = another_user(home, _ASKER)
    with serving(home) as server:
        pass
    assert answers(server)
    leave(other)
    assert not is_running(home)


def test_a_killed_user_does_not_keep_the_server_for_ever(home: Path) -> None:
    other = another_user(home)
    os.kill(other.pid, signal.SIGKILL)
    other.communicate(timeout=60)
    assert is_running(home)
    with serving(home) as server:
        assert answers(server)
    assert not is_running(home)
