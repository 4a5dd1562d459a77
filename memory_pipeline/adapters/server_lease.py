"""Who uses the embedded server: it lives as long as its last user, unless asked to stay up.

Belongs here: shared use of one server by many commands. Does not: starting and stopping
(embedded_postgres). Each user holds a shared file lock that the kernel frees even after kill -9.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memory_pipeline.adapters.embedded_postgres import EmbeddedPostgres, Server

_STAY_UP = "stay_up"
_USERS = "users.lock"


@contextmanager
def serving(home: Path) -> Iterator[Server]:
    """The server of a home while the block runs; the last user to leave stops it."""
    postgres = EmbeddedPostgres(home)
    home.mkdir(parents=True, exist_ok=True)
    users = os.open(home / _USERS, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(users, fcntl.LOCK_SH)
        yield postgres.ensure()
    finally:
        try:
            if not (home / _STAY_UP).exists() and _is_last(users):
                postgres.stop()
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
