"""The command that recalls: facts, profiles and instructions for a query, or raw messages.

Belongs here: its arguments, JSON, exit codes. Does not: what is recalled (reading/recall) and how
the tables look (cli/recalling_tables).
"""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from memory_pipeline.cli import session
from memory_pipeline.cli.errors import CommandError, ExitCode
from memory_pipeline.cli.reading import (
    JsonFlag,
    KnownAtOption,
    TenantOption,
    ValidAtOption,
    _instant,
    _known_failures,
    _print_json,
    _print_rows,
    _print_tables,
)
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.reading.wanted import Wanted

if TYPE_CHECKING:
    from memory_pipeline.adapters.postgres import Database
    from memory_pipeline.domain.embedding import Embedder


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command()(recall)


def recall(
    tenant: TenantOption,
    query: Annotated[
        str, typer.Argument(help="Words, a name or a question; without one the newest.")
    ] = "",
    limit: Annotated[int, typer.Option(help="Facts or messages at most, up to 100.")] = 8,
    min_confidence: Annotated[float, typer.Option(help="Facts less sure are left out.")] = 0.5,
    valid_at: ValidAtOption = None,
    known_at: KnownAtOption = None,
    messages: Annotated[
        bool,
        typer.Option("--messages", help="Search the raw messages, extracted or not, by words."),
    ] = False,
    no_count: Annotated[
        bool, typer.Option("--no-count", help="Do not count as read, which delays forgetting.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """What memory says to a query: the best facts, then all of it as a block for a prompt.

    Example: memory-pipeline recall --tenant acme/user_42 "where does ann live?" --limit 5
    """
    tenant_id = TenantId(tenant)
    if messages:
        if valid_at is not None or known_at is not None:
            raise CommandError(
                "--messages goes without --valid-at and --known-at: messages are not believed",
                ExitCode.WRONG_USAGE,
            )
        _show_messages(tenant_id, query, limit, as_json)
        return
    wanted = Wanted(
        limit=limit,
        min_confidence=min_confidence,
        valid_at=_instant("--valid-at", valid_at),
        known_at=_instant("--known-at", known_at),
        is_counted=not no_count,
    )
    _show_facts(tenant_id, query, wanted, as_json)


def _show_facts(tenant_id: TenantId, query: str, wanted: Wanted, as_json: bool) -> None:
    from memory_pipeline.cli.recalling_tables import recalled_tables
    from memory_pipeline.reading.recall import recall as recall_facts

    with _known_failures():
        database = session.memory_database()
        found = recall_facts(
            database, tenant_id, query, _embedder(database, tenant_id, query), **wanted
        )
    if as_json:
        _print_json(found.model_dump(mode="json"))
    else:
        _print_tables(recalled_tables(found))
        sys.stdout.write(found.context and found.context + "\n")
    _write_counts(database)


def _embedder(database: "Database", tenant_id: TenantId, query: str) -> "Embedder | None":
    """The configured embedder; none is loaded where there is nothing to embed."""
    if not query.strip():
        return None
    from memory_pipeline.adapters.workshop import open_embedder
    from memory_pipeline.reading.scope import ensure_tenant_exists

    ensure_tenant_exists(database, tenant_id)  # before a model is loaded or asked
    return open_embedder(database, tenant_id)


def _show_messages(tenant_id: TenantId, query: str, limit: int, as_json: bool) -> None:
    from memory_pipeline.cli.recalling_tables import messages_table
    from memory_pipeline.reading.recall import recall_messages

    with _known_failures():
        rows = recall_messages(session.memory_database(), tenant_id, query, limit=limit)
    _print_rows(rows, as_json, lambda: messages_table(rows))


def _write_counts(database: "Database") -> None:
    """Before the command ends; that a count was lost is no reason to lose the answer."""
    from memory_pipeline.adapters.access_counter import NotCountedError, flush_access_counts

    try:
        flush_access_counts(database)
    except NotCountedError as error:
        sys.stderr.write(f"memory-pipeline: {' '.join(str(error).split())}\n")
