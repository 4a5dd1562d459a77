"""What can go wrong with the embedded PostgreSQL server, as types that say what to do next.

Belongs here: the exception hierarchy, and reading a cause out of an OSError or a server log.
Does not: deciding when to start, retry or give up (embedded_postgres).
"""

from __future__ import annotations

import contextlib
import errno
import sys
from collections.abc import Iterator
from pathlib import Path


class EmbeddedPostgresError(RuntimeError):
    """The embedded server cannot do what was asked; the message names the way out."""


class AccessError(EmbeddedPostgresError):
    """A file or folder belongs to somebody else, or its owner may not reach it."""


class DiskFullError(EmbeddedPostgresError):
    """The disk holding the data is full. Committed rows are safe; the server is down."""


class MajorVersionError(EmbeddedPostgresError):
    """The data folder was written by another major version than that of the binaries."""


class SocketPathError(EmbeddedPostgresError):
    """No folder was found that is private and short enough for the Unix socket."""


class StartError(EmbeddedPostgresError):
    """The server did not come up (or did not go down) for a reason of its own."""


class UnsupportedPlatformError(EmbeddedPostgresError):
    """There are no usable server binaries for this machine."""


_DISK_FULL_NUMBERS = frozenset({errno.ENOSPC, errno.EDQUOT})
_ACCESS_NUMBERS = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_DISK_FULL_PHRASES = ("No space left on device", "Disk quota exceeded")
_ACCESS_PHRASES = ("Permission denied", "has wrong ownership", "has invalid permissions")
_SOCKET_PHRASES = ("is too long (maximum", "could not create any Unix-domain sockets")
_VERSION_PHRASE = "database files are incompatible with server"
_TRANSIENT_PHRASES = (
    "pre-existing shared memory block",
    'lock file "postmaster.pid" already exists',
)


def is_transient(log: str) -> bool:
    """Whether the server refused to start only because remains of another one still live."""
    return any(phrase in log for phrase in _TRANSIENT_PHRASES)


def disk_full(folder: Path) -> DiskFullError:
    """The error for a full disk under `folder`."""
    return DiskFullError(
        f"the disk holding {folder} is full, so the database server is down; committed rows are "
        "safe. Free some space (or move the folder to a larger disk) and start it again"
    )


def other_major(data_dir: Path, found: str, expected: str) -> MajorVersionError:
    """The error for a data folder of PostgreSQL `found` under binaries of `expected`."""
    return MajorVersionError(
        f"{data_dir} was written by PostgreSQL {found}, the installed binaries are {expected}. "
        f"Either install binaries of {found} again, or carry the data over: run pg_dumpall of "
        f"{found} against it, move the folder away, start again and feed the dump to psql"
    )


def error_from_log(log: str, data_dir: Path) -> EmbeddedPostgresError | None:
    """The typed error for what a server (or initdb) wrote before it ended, if it is a known one.

    The order matters: a full disk also breaks the files that later complaints are about.
    """
    if any(phrase in log for phrase in _DISK_FULL_PHRASES):
        return disk_full(data_dir)
    if _VERSION_PHRASE in log:
        return MajorVersionError(
            f"{data_dir} was written by another major version of PostgreSQL than the installed "
            "binaries. Dump it with the old version and restore it into a new folder"
        )
    if any(phrase in log for phrase in _SOCKET_PHRASES):
        return SocketPathError(
            f"the server of {data_dir} could not make its Unix socket; choose a home with a "
            f"shorter path on a local disk. It said:\n{last_lines(log)}"
        )
    if any(phrase in log for phrase in _ACCESS_PHRASES):
        return AccessError(
            f"the server may not use {data_dir}; give the folder back to the user that runs the "
            f"server, with mode 0700. It said:\n{last_lines(log)}"
        )
    return None


def error_from_os(error: OSError, folder: Path) -> EmbeddedPostgresError:
    """The typed error for an OSError met while preparing `folder`."""
    if error.errno in _DISK_FULL_NUMBERS:
        return disk_full(folder)
    if error.errno in _ACCESS_NUMBERS:
        return AccessError(
            f"{error.filename or folder} cannot be used ({error.strerror}). Run as the user that "
            "owns the folder, or choose another home (MEMORY_HOME)"
        )
    return StartError(f"could not prepare {folder}: {error}")


@contextlib.contextmanager
def typed_os_errors(folder: Path) -> Iterator[None]:
    """Turn each OSError of the block into the typed error for `folder`."""
    try:
        yield
    except OSError as error:
        raise error_from_os(error, folder) from error


def last_lines(log: str, count: int = 12) -> str:
    """The last `count` non-empty lines of a log, for a message."""
    return "\n".join([line for line in log.splitlines() if line.strip()][-count:])


if sys.platform == "win32":
    # Here, because the other modules of the server import what Windows does not have.
    raise UnsupportedPlatformError(
        "the embedded server needs Linux or macOS; set MEMORY_DATABASE_URL to a PostgreSQL server"
    )
