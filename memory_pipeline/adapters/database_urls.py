"""Where the two databases are: memory and Dagster's storage.

Belongs here: choosing between the environment's URL and the embedded server, and spelling.
Does not: starting the server (embedded_postgres) and the schema (migrations).
"""

from contextlib import closing

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from memory_pipeline.adapters import environment
from memory_pipeline.adapters.postgres import DatabaseUnavailableError, check_reachable

MEMORY_DATABASE = "memory"
DAGSTER_DATABASE = "dagster"


def memory_url() -> str:
    """A libpq URL of the memory database; starts the embedded server when none is configured."""
    configured = environment.database_url()
    if configured:
        return configured
    return _embedded_url(MEMORY_DATABASE)


def dagster_url() -> str:
    """A SQLAlchemy URL of Dagster's database, with its driver spelled out.

    In order: its own variable; a database `<name>_dagster` beside the configured one, created when
    missing; the embedded server's. Raises `DatabaseUnavailableError` when it can't be created.
    """
    configured = environment.dagster_database_url()
    if configured is None and environment.database_url():
        configured = _sibling(environment.database_url() or "")
    return sqlalchemy_url(configured or _embedded_url(DAGSTER_DATABASE))


def sqlalchemy_url(libpq_url: str) -> str:
    """The same database for SQLAlchemy: a bare `postgresql://` would pick another driver."""
    from sqlalchemy.engine import URL  # takes half a second, which most commands need not spend

    parts = dict(conninfo_to_dict(libpq_url))
    host = str(parts.pop("host", "") or "")
    port = parts.pop("port", None)
    is_socket = host.startswith("/")
    query = {key: str(value) for key, value in parts.items() if key not in _PLAIN_PARTS}
    if is_socket:
        query["host"] = host
        if port:
            query["port"] = str(port)
    return URL.create(
        "postgresql+psycopg2",
        username=_text(parts.get("user")),
        password=_text(parts.get("password")),
        host=None if is_socket else host or None,
        port=None if is_socket or port is None else int(str(port)),
        database=_text(parts.get("dbname")),
        query=query,
    ).render_as_string(hide_password=False)


_PLAIN_PARTS = frozenset({"user", "password", "dbname"})


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _embedded_url(database: str) -> str:
    # Imported here, so that an installation with a URL never loads the embedded server's code.
    from memory_pipeline.adapters.embedded_postgres import ensure_database
    from memory_pipeline.adapters.server_lease import server_of_process

    return ensure_database(server_of_process(environment.memory_home()), database)


def _sibling(url: str) -> str:
    """The database beside the configured one that holds Dagster's tables, created when missing."""
    check_reachable(url)
    with closing(psycopg.connect(url, autocommit=True)) as connection:
        name = f"{connection.info.dbname}_dagster"
        found = connection.execute("select from pg_database where datname = %s", [name])
        if found.fetchone() is None:
            try:
                connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
            except psycopg.errors.DuplicateDatabase:
                pass
            except psycopg.errors.InsufficientPrivilege as error:
                raise DatabaseUnavailableError(
                    f"may not create the database {name} for Dagster's storage: create it, or "
                    f"name another with {environment.DAGSTER_URL}"
                ) from error
    return psycopg.conninfo.make_conninfo(url, dbname=name)
