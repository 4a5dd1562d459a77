"""What a command works with, opened on first use and closed when the command ends.

Belongs here: the server's life in a command, the schema check, Dagster's instance.
Does not: any command.
"""

import os
from contextlib import ExitStack
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from memory_pipeline.adapters import environment
from memory_pipeline.adapters.database_urls import DAGSTER_DATABASE, MEMORY_DATABASE
from memory_pipeline.adapters.migrations import migrate, pending
from memory_pipeline.adapters.postgres import Database, check_reachable
from memory_pipeline.adapters.queries import migrations_folder, project_folder
from memory_pipeline.cli.errors import CommandError, ExitCode

if TYPE_CHECKING:
    from dagster import DagsterInstance

_closing = ExitStack()
_DAGSTER_HOME = "DAGSTER_HOME"
_DAGSTER_FILE = "dagster.yaml"


def close_session() -> None:
    """Close pools and, as its last user, stop the embedded server."""
    _closing.close()
    open_database.cache_clear()
    dagster_instance.cache_clear()


def point_at_databases() -> str:
    """Make both databases reachable and name them in the environment, for children to read.

    Gives the memory database's URL. With a configured URL nothing is started.
    """
    configured = environment.database_url()
    if configured:
        check_reachable(configured)
        return configured
    # Imported here, so that an installation with a URL never loads the embedded server's code.
    from memory_pipeline.adapters.embedded_postgres import ensure_database
    from memory_pipeline.adapters.server_lease import serving

    server = _closing.enter_context(serving(environment.memory_home()))
    url = ensure_database(server, MEMORY_DATABASE)
    os.environ[environment.DATABASE_URL] = url
    _closing.callback(os.environ.pop, environment.DATABASE_URL, None)
    if environment.dagster_database_url() is None:
        os.environ[environment.DAGSTER_URL] = ensure_database(server, DAGSTER_DATABASE)
        _closing.callback(os.environ.pop, environment.DAGSTER_URL, None)
    return url


@lru_cache(maxsize=1)
def open_database() -> Database:
    """The memory database with its schema in place.

    An empty database gets the schema; one whose schema is older than this code is left alone:
    changing it is for `memory-pipeline migrate`.
    """
    is_ours = environment.database_url() is None
    url = point_at_databases()
    missing = pending(url, migrations_folder())
    if missing and (is_ours or missing[0].startswith("0001")):
        migrate(url, migrations_folder())
    elif missing:
        raise CommandError(
            f"the database lacks the migrations {', '.join(missing)}: run "
            "`memory-pipeline migrate` first"
        )
    database = Database(url)
    _closing.callback(database.close)
    return database


def memory_database() -> Database:
    """The memory database with its schema in place; the same one for the whole command."""
    return open_database()


def check_dagster_home() -> None:
    """Refuse a home without `dagster.yaml`.

    With one Dagster would use its own storage and settings, telemetry among them, instead of ours.
    """
    home = os.environ.get(_DAGSTER_HOME)
    if home and not (Path(home).expanduser() / _DAGSTER_FILE).is_file():
        raise CommandError(
            f"{_DAGSTER_HOME} names {home}, which holds no {_DAGSTER_FILE}: copy "
            f"{project_folder() / _DAGSTER_FILE} there, or unset {_DAGSTER_HOME}",
            ExitCode.WRONG_USAGE,
        )


@lru_cache(maxsize=1)
def dagster_instance() -> "DagsterInstance":
    """Dagster's instance as `dagster.yaml` says; home: the project's folder.

    Raises as `check_dagster_home` does.
    """
    check_dagster_home()
    from dagster import DagsterInstance

    open_database()
    # Empty counts as unset, as above.
    os.environ[_DAGSTER_HOME] = os.environ.get(_DAGSTER_HOME) or str(project_folder())
    os.environ.setdefault("DAGSTER_EVENT_BATCH_SIZE", "500")
    instance = DagsterInstance.get()
    _closing.callback(instance.dispose)
    return instance
