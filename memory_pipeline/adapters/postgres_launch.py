"""The life of one postmaster on one data folder: made, started, awaited, stopped, its log read.

Belongs here: initdb, spawning and re-spawning, readiness, shutdown. Callers hold the home's lock.
Does not: the lock, attaching, what callers see (embedded_postgres).
"""

from __future__ import annotations

import logging
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from memory_pipeline.adapters.postgres_errors import (
    EmbeddedPostgresError,
    StartError,
    disk_full,
    error_from_log,
    is_transient,
    last_lines,
    other_major,
)
from memory_pipeline.adapters.postgres_places import (
    PORT,
    Binaries,
    Places,
    place_data,
    place_socket,
    share_owner,
)
from memory_pipeline.adapters.postgres_process import (
    Account,
    PidFile,
    evict_remains,
    find_process,
    is_postmaster_of,
    read_pid_file,
    run_as,
    send,
    spawn,
)

SUPERUSER = "postgres"
SETTINGS: Mapping[str, str] = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    "shared_buffers": "128MB",
    # A parallel index build needs more shared memory than a small container has.
    "max_parallel_maintenance_workers": "0",
    "fsync": "on",
    "synchronous_commit": "on",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "lc_messages": "C",
    "log_line_prefix": "%m [%p] ",
    "logging_collector": "off",
}
_START_SECONDS = 60.0
_FAST_STOP_SECONDS = 30.0
_HARD_STOP_SECONDS = 15.0
_POLL_SECONDS = 0.02
_SPAWNS_BEFORE_GIVING_UP = 3
_LOG_BYTES = 10_000_000
_LOG_TAIL_BYTES = 100_000
_NEXT_WRITE_BYTES = 1_000_000
_FIRST_WORDS = "starting PostgreSQL "
# The shortest question of the protocol: a backend answers it with one byte before any login.
_SSL_REQUEST = struct.pack("!II", 8, 80877103)
# Servers that this process started: their parent must reap them, or they stay as zombies.
_children: dict[int, subprocess.Popen[bytes]] = {}

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Launch:
    """All that a start needs to know."""

    places: Places
    account: Account
    binaries: Binaries
    settings: Mapping[str, str]


def find_postmaster(data_dir: Path) -> PidFile | None:
    """The living postmaster of a data folder. PermissionError if we may not look into it."""
    pid_file = read_pid_file(data_dir)
    if pid_file is None:
        return None
    _reap(pid_file.pid)
    owner = data_dir.stat().st_uid
    return pid_file if is_postmaster_of(find_process(pid_file.pid), data_dir, owner) else None


def is_answering(pid_file: PidFile) -> bool:
    """Whether the server has finished starting and a backend of it speaks to us.

    That the socket can be connected to is not enough: that of a postmaster which has just been
    killed takes connections until the kernel is through with it.
    """
    if not pid_file.is_ready:
        return False
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(5)
        try:
            probe.connect(os.fsencode(_socket_path(pid_file)))
            probe.sendall(_SSL_REQUEST)
            return probe.recv(1) in (b"N", b"S")
        except OSError:
            return False


def initialise(launch: Launch, system_dir: Path) -> None:
    """Make the database cluster. A call that was killed half way leaves nothing in the way."""
    place_data(launch.places, launch.account, system_dir)
    data_dir = launch.places.data_dir
    if data_dir.exists() and any(data_dir.iterdir()):
        raise StartError(f"{data_dir} holds files but no database cluster; move it away")
    # A half-made cluster already looks whole: only the rename says that initdb got through.
    fresh = data_dir.with_name("data.new")
    if fresh.exists():
        shutil.rmtree(fresh)
    fresh.mkdir(mode=0o700)
    launch.account.give(fresh)
    answer = run_as(launch.account, _initdb_command(launch.binaries, fresh))
    if answer.returncode != 0:
        shutil.rmtree(fresh)
        raise error_from_log(answer.stdout, data_dir) or StartError(
            f"initdb failed in {data_dir}:\n{last_lines(answer.stdout)}"
        )
    fresh.rename(data_dir)


def check_major(launch: Launch) -> None:
    """Raise MajorVersionError if the cluster is of another major version than the binaries."""
    found, expected = launch.places.version, str(launch.binaries.major)
    if found is not None and found != expected:
        raise other_major(launch.places.data_dir, found, expected)


def bring_up(launch: Launch) -> tuple[PidFile, bool]:
    """Start the server and wait until it answers; gives it and whether this call spawned it.

    Waits for crash recovery, and spawns anew while remains of a killed server are in the way.
    Raises the typed error as soon as it is clear that the server cannot come up.
    """
    _rotate(launch.places.log_file)
    data_dir = launch.places.data_dir
    deadline = time.monotonic() + _START_SECONDS
    attempt = _Attempt(launch)
    try:
        while time.monotonic() < deadline:
            pid_file = find_postmaster(data_dir)
            if pid_file is None:
                attempt.advance()
            elif is_answering(pid_file):
                attempt.is_done = True
                return pid_file, attempt.pid == pid_file.pid
            elif pid_file.is_ready and not _socket_path(pid_file).exists():
                # Cleaners of temporary folders take the socket away; nobody can come in.
                shut_down(pid_file.pid)
            time.sleep(_POLL_SECONDS)
    finally:
        attempt.abandon()
    raise StartError(
        f"the server of {data_dir} did not come up in {_START_SECONDS:.0f} s. "
        f"{launch.places.log_file} ends with:\n{last_lines(_read(launch.places.log_file, 0))}"
    )


def shut_down(pid: int) -> None:
    """End a postmaster and its connections: fast, then without a checkpoint. StartError if not."""
    send(pid, signal.SIGINT)
    if _is_gone_within(pid, _FAST_STOP_SECONDS):
        return
    log.warning("the server (process %d) does not end; stopping it without a checkpoint", pid)
    send(pid, signal.SIGQUIT)
    if not _is_gone_within(pid, _HARD_STOP_SECONDS):
        raise StartError(f"the server process {pid} does not end; end it by hand")


def cause_of_end(places: Places, said: str | None = None) -> EmbeddedPostgresError | None:
    """Why the server ended, from what it said (by default, what the latest one said).

    None if no cause is known.
    """
    if not places.data_dir.exists():
        return None
    if said is None:
        said = _read(places.log_file, 0).rpartition(_FIRST_WORDS)[2]
    # On a full disk the server's last words may be missing from the log as well.
    if shutil.disk_usage(places.data_dir).free < _NEXT_WRITE_BYTES:
        return disk_full(places.data_dir)
    return error_from_log(said, places.data_dir)


class _Attempt:
    """The spawns of one start: the first, and those after remains of a crash were in the way."""

    def __init__(self, launch: Launch) -> None:
        self._launch = launch
        self._child: subprocess.Popen[bytes] | None = None
        self._log_offset = 0
        self._failures = 0
        self.is_done = False

    @property
    def pid(self) -> int | None:
        """The process of the latest spawn."""
        return self._child.pid if self._child else None

    def advance(self) -> None:
        """No postmaster is alive: spawn one, unless the latest is still on its way."""
        if self._child is not None:
            if self._child.poll() is None:
                return
            if find_postmaster(self._launch.places.data_dir) is not None:
                return  # a start whose caller was killed has won
            self._account_for_exit()
        self._child = self._spawn()
        _children[self._child.pid] = self._child

    def abandon(self) -> None:
        """Take back a spawn that did not lead to a server, for example after Ctrl-C."""
        if not self.is_done and self._child is not None and self._child.poll() is None:
            send(self._child.pid, signal.SIGQUIT)
            self._child.wait(_HARD_STOP_SECONDS)

    def _account_for_exit(self) -> None:
        places = self._launch.places
        said = _read(places.log_file, self._log_offset)
        if is_transient(said):
            evicted = evict_remains(places.data_dir)
            log.warning("remains of a killed server are in the way; asked to end: %s", evicted)
            time.sleep(0.2)
            return
        known = cause_of_end(places, said)
        if known is not None:
            raise known
        self._failures += 1
        if self._failures >= _SPAWNS_BEFORE_GIVING_UP:
            raise StartError(
                f"the server of {places.data_dir} ends at once. {places.log_file} ends with:\n"
                f"{last_lines(said)}"
            )

    def _spawn(self) -> subprocess.Popen[bytes]:
        launch, places = self._launch, self._launch.places
        socket_dir = place_socket(places, launch.account)
        # The server itself takes a zombie, or a stranger with the old id, for its predecessor.
        # Only under the lock is it certain that nobody made these files a moment ago.
        (places.data_dir / "postmaster.pid").unlink(missing_ok=True)
        (socket_dir / f".s.PGSQL.{PORT}.lock").unlink(missing_ok=True)
        command = [str(launch.binaries.bin_dir / "postgres"), "-D", str(places.data_dir)]
        command += ["-p", str(PORT), "-k", str(socket_dir)]
        for name, value in launch.settings.items():
            command += ["-c", f"{name}={value}"]
        log_fd = os.open(
            places.log_file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600
        )
        try:
            share_owner(log_fd, places.folder)
            self._log_offset = os.fstat(log_fd).st_size
            return spawn(launch.account, command, log_fd)
        finally:
            os.close(log_fd)


def _initdb_command(binaries: Binaries, data_dir: Path) -> list[str]:
    command = [str(binaries.bin_dir / "initdb"), "-D", str(data_dir), "-U", SUPERUSER]
    command += ["--auth=trust", "-E", "UTF8", "--text-search-config=english"]
    # C.UTF-8 is unknown to macOS; the builtin provider makes it the same everywhere.
    command += [f"--locale={'C.UTF-8' if sys.platform == 'linux' else 'C'}"]
    if binaries.major >= 17:
        command += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        if sys.platform == "linux":
            command += ["--sync-method=syncfs"]  # one call instead of a thousand
    return command


def _socket_path(pid_file: PidFile) -> Path:
    return pid_file.socket_dir / f".s.PGSQL.{pid_file.port}"


def _is_gone_within(pid: int, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        _reap(pid)
        found = find_process(pid)
        if found is None or found.is_zombie:
            return True
        time.sleep(_POLL_SECONDS)
    return False


def _reap(pid: int) -> None:
    child = _children.get(pid)
    if child is not None and child.poll() is not None:
        del _children[pid]


def _rotate(log_file: Path) -> None:
    if log_file.exists() and log_file.stat().st_size > _LOG_BYTES:
        log_file.replace(log_file.with_name(f"{log_file.name}.1"))


def _read(log_file: Path, offset: int) -> str:
    try:
        with log_file.open("rb") as file:
            file.seek(max(offset, os.fstat(file.fileno()).st_size - _LOG_TAIL_BYTES))
            return file.read().decode(errors="replace")
    except FileNotFoundError:
        return ""
