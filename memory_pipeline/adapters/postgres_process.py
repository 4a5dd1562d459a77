"""Processes of the embedded server: whether a postmaster is alive, and under whose account it runs.

Belongs here: postmaster.pid, the process table, signals, running a command as another user.
Does not: where files lie (postgres_places) and the order of starting (embedded_postgres).
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from memory_pipeline.adapters.postgres_errors import AccessError

SYSTEM_USER = "memory-pipeline"
_READY = "ready"


@dataclass(frozen=True)
class PidFile:
    """The lines of postmaster.pid that matter; `pid` is that of the postmaster."""

    pid: int
    port: int
    socket_dir: Path
    is_ready: bool


@dataclass(frozen=True)
class Process:
    """One entry of the process table. `command` is the whole command line."""

    pid: int
    uid: int
    command: tuple[str, ...]
    is_zombie: bool


@dataclass(frozen=True)
class Account:
    """The user that owns the data and runs the server; `is_other` if that is not ourselves."""

    name: str
    uid: int
    gid: int
    is_other: bool

    @property
    def user(self) -> int | None:
        """The uid to switch to, None to stay."""
        return self.uid if self.is_other else None

    @property
    def group(self) -> int | None:
        """The gid to switch to, None to stay."""
        return self.gid if self.is_other else None

    @property
    def extra_groups(self) -> list[int] | None:
        """The supplementary groups to switch to, None to stay."""
        return [] if self.is_other else None

    def give(self, target: Path | int) -> None:
        """Make a file, folder or open descriptor of ours the property of this account."""
        if self.is_other:
            os.chown(target, self.uid, self.gid)


def read_pid_file(data_dir: Path) -> PidFile | None:
    """The postmaster.pid of a data folder; None if it is missing, truncated or garbled."""
    try:
        lines = (data_dir / "postmaster.pid").read_text(errors="surrogateescape").splitlines()
        return PidFile(
            pid=abs(int(lines[0])),
            port=int(lines[3]),
            socket_dir=Path(lines[4]),
            is_ready=len(lines) > 7 and lines[7].strip() == _READY,
        )
    except (FileNotFoundError, IndexError, ValueError):
        return None


def find_process(pid: int) -> Process | None:
    """The process of that id, None if there is none."""
    return _from_proc(pid) if sys.platform == "linux" else _from_ps(pid)


def is_postmaster_of(process: Process | None, data_dir: Path, owner_uid: int) -> bool:
    """Whether a process is a living postmaster that serves exactly this data folder.

    An id alone proves nothing: it may be a zombie nobody reaps, or have gone to a stranger after
    a restart of the container.
    """
    return (
        process is not None
        and not process.is_zombie
        and process.uid == owner_uid
        and _serves(process, data_dir)
    )


def evict_remains(data_dir: Path) -> list[int]:
    """Ask every server process still sitting in the data folder to end; gives their ids.

    After a kill -9 of the postmaster a backend in a long query lives on and keeps the shared
    memory, so that no new postmaster may start. Only Linux can find them; call it under the lock
    and only while no postmaster is known to be alive.
    """
    evicted = []
    for process in _processes_in(data_dir):
        # A postmaster whose pid file was destroyed: fast shutdown. SIGTERM would await clients.
        is_postmaster = _serves(process, data_dir)
        send(process.pid, signal.SIGINT if is_postmaster else signal.SIGTERM)
        evicted.append(process.pid)
    return evicted


def send(pid: int, signal_number: signal.Signals) -> None:
    """Send a signal; a process that is already gone is no error."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal_number)


def run_as(account: Account, command: Sequence[str | Path]) -> subprocess.CompletedProcess[str]:
    """Run a short command of ours under an account, output captured, without checking its code.

    Raises PermissionError if the account cannot reach the program.
    """
    return subprocess.run(  # noqa: S603 -- our own commands, no shell
        [str(word) for word in command],
        user=account.user,
        group=account.group,
        extra_groups=account.extra_groups,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        errors="replace",
        text=True,
        cwd="/",
        env=clean_environment(),
        check=False,
        timeout=300,
    )


class _Outliving(subprocess.Popen[bytes]):
    """A process that runs on when its handle is gone; `Popen` would warn of that."""

    def __del__(self) -> None:
        """Say nothing: it is meant to be so."""


def spawn(account: Account, command: Sequence[str], log_fd: int) -> subprocess.Popen[bytes]:
    """Start a server that outlives us: own session, no terminal, output to the log."""
    return _Outliving(
        list(command),
        user=account.user,
        group=account.group,
        extra_groups=account.extra_groups,
        stdin=subprocess.DEVNULL,
        stdout=log_fd,
        stderr=log_fd,
        cwd="/",
        env=clean_environment(),
        start_new_session=True,
    )


def account_for(data_dir: Path) -> Account:
    """The account for a data folder: its owner; for a new one ourselves, or root's stand-in.

    PostgreSQL refuses to run as root. Raises AccessError if the folder is somebody else's.
    """
    try:
        owner = data_dir.stat().st_uid
    except FileNotFoundError:
        return _unprivileged() if os.geteuid() == 0 else _account(os.geteuid(), is_other=False)
    if owner == os.geteuid() != 0:
        return _account(owner, is_other=False)
    if os.geteuid() != 0:
        raise AccessError(
            f"{data_dir} belongs to {_user_name(owner)}. Run as that user, or choose another "
            "home (MEMORY_HOME)"
        )
    if owner == 0:
        raise AccessError(
            f"{data_dir} belongs to root, and PostgreSQL never runs as root. Give it back: "
            f"chown -R {_unprivileged().name} {data_dir}"
        )
    return _account(owner, is_other=True)


def clean_environment() -> dict[str, str]:
    """Our environment without libpq's variables, which would redirect the server's own tools."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PG")}


def _serves(process: Process, data_dir: Path) -> bool:
    # Joined, because ps gives no borders between words; data folders end alike, so none is the
    # beginning of another.
    program = Path(process.command[0]).name if process.command else ""
    return program == "postgres" and f" -D {data_dir} " in " ".join(process.command) + " "


def _from_proc(pid: int) -> Process | None:
    folder = Path("/proc") / str(pid)
    try:
        uid = folder.stat().st_uid
        command = os.fsdecode((folder / "cmdline").read_bytes()).rstrip("\0").split("\0")
        # The name before the state is in parentheses and may itself hold some.
        state = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError, IndexError):
        return None
    return Process(pid, uid, tuple(command), is_zombie=state in "ZXx")


def _from_ps(pid: int) -> Process | None:
    found = subprocess.run(  # noqa: S603 -- a number of ours
        ["/bin/ps", "-ww", "-o", "uid=,stat=,args=", "-p", str(pid)],
        capture_output=True,
        text=True,
        check=False,
    )
    words = found.stdout.strip().split(maxsplit=2)
    if len(words) < 2:
        return None
    program, _, rest = (words[2] if len(words) > 2 else "").partition(" -D ")
    command = (program, "-D", rest)
    return Process(pid, int(words[0]), command, is_zombie=words[1].startswith("Z"))


def _processes_in(data_dir: Path) -> Iterator[Process]:
    if sys.platform != "linux":
        return
    target = data_dir.stat()
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            place = (folder / "cwd").stat()
            name = (folder / "comm").read_text().strip()
        except OSError:  # ended meanwhile, or not ours to look at
            continue
        if name == "postgres" and (place.st_dev, place.st_ino) == (target.st_dev, target.st_ino):
            process = _from_proc(int(folder.name))
            if process is not None and not process.is_zombie:
                yield process


def _unprivileged() -> Account:
    for name in (SYSTEM_USER, "postgres"):
        with contextlib.suppress(KeyError):
            return _account(pwd.getpwnam(name).pw_uid, is_other=True)
    useradd = shutil.which("useradd", path="/usr/sbin:/sbin:/usr/bin")
    if useradd is not None:
        subprocess.run(  # noqa: S603 -- fixed words
            [useradd, "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", SYSTEM_USER],
            capture_output=True,
            check=False,
        )
    for name in (SYSTEM_USER, "nobody"):
        with contextlib.suppress(KeyError):
            return _account(pwd.getpwnam(name).pw_uid, is_other=True)
    raise AccessError(
        "PostgreSQL never runs as root, and there is no unprivileged user to run it as; create "
        f"one: useradd --system {SYSTEM_USER}"
    )


def _account(uid: int, *, is_other: bool) -> Account:
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        raise AccessError(
            f"user id {uid} has no name on this machine, and initdb and libpq need one; add it "
            "to /etc/passwd"
        ) from None
    return Account(entry.pw_name, uid, entry.pw_gid, is_other)


def _user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user id {uid}"
