"""Who uses the embedded server: it lives as long as its last user, unless asked to stay up.

Belongs here: shared use of one server by many commands. Does not: starting and stopping
(embedded_postgres). Each user holds a shared file lock that the kernel frees even after kill -9.
"""

import atexit
import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from memory_pipeline.adapters.embedded_postgres import EmbeddedPostgres, Server
from memory_pipeline.adapters.postgres_errors import typed_os_errors

_STAY_UP = "stay_up"
_USERS = "users.lock"


@contextmanager
def serving(home: Path) -> Iterator[Server]:
    """The server of a home while the block runs; the last user to leave stops it."""
    postgres = EmbeddedPostgres(home)
    users = _open_users(home)
    try:
        fcntl.flock(users, fcntl.LOCK_SH)
        yield postgres.ensure()
    finally:
        try:
            if not (home / _STAY_UP).exists() and _is_last(users):
                postgres.stop()
        finally:
            os.close(users)


def server_of_process(home: Path) -> Server:
    """The server of a home, used by this process until it ends.

    For processes that no command of ours watches over, such as Dagster's: without a lease of
    their own the next command to end would stop the server under them.
    """
    key = (os.getpid(), home)
    if key not in _leases_of_process:
        leases = ExitStack()
        _leases_of_process[key] = leases.enter_context(serving(home))
        atexit.register(_release, os.getpid(), leases)
    return _leases_of_process[key]


_leases_of_process: dict[tuple[int, Path], Server] = {}


def _release(owner: int, leases: ExitStack) -> None:
    # A forked child shares the parent's lock and must not give it up for both.
    if os.getpid() == owner:
        leases.close()


def _open_users(home: Path) -> int:
    with typed_os_errors(home):
        home.mkdir(parents=True, exist_ok=True)
        return os.open(home / _USERS, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def is_in_use(home: Path) -> bool:
    """Whether a command or a Dagster process uses the server of a home."""
    if not (home / _USERS).exists():
        return False
    users = _open_users(home)
    try:
        return not _is_last(users)
    finally:
        os.close(users)


def keep_up(home: Path) -> None:
    """Let the server outlive its users until `let_go`."""
    home.mkdir(parents=True, exist_ok=True)
    (home / _STAY_UP).touch()


def let_go(home: Path) -> bool:
    """Stop the server now, whoever uses it; whether there was one to stop."""
    (home / _STAY_UP).unlink(missing_ok=True)
    return EmbeddedPostgres(home).stop()


def _is_last(users: int) -> bool:
    """Whether nobody else holds the lock; if so it is now ours alone."""
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
