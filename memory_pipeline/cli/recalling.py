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
    instant,
    known_failures,
    print_json,
    print_rows,
    print_tables,
)
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.reading.wanted import Wanted

if TYPE_CHECKING:
    from memory_pipeline.adapters.postgres import Database
    from memory_pipeline.domain.embedding import Embedder
    from memory_pipeline.domain.policy import Policy


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command()(recall)


QueryArgument = Annotated[
    str, typer.Argument(help="Words, a name or a question; without one the newest.")
]
LimitOption = Annotated[
    int | None, typer.Option(help="Facts or messages at most, up to 100; else `recall_limit`.")
]
SurenessOption = Annotated[
    float | None, typer.Option(help="Facts less sure are left out; else `recall_min_confidence`.")
]


def recall(
    tenant: TenantOption,
    query: QueryArgument = "",
    limit: LimitOption = None,
    min_confidence: SurenessOption = None,
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
    if messages and (valid_at is not None or known_at is not None):
        raise CommandError(
            "--messages goes without --valid-at and --known-at: messages are not believed",
            ExitCode.WRONG_USAGE,
        )
    policy = _policy(tenant_id)
    if messages:
        _show_messages(tenant_id, query, policy.recall_limit if limit is None else limit, as_json)
        return
    wanted = Wanted(
        limit=policy.recall_limit if limit is None else limit,
        min_confidence=(policy.recall_min_confidence if min_confidence is None else min_confidence),
        rrf_k=policy.recall_rrf_k,
        anchor_similarity=policy.recall_anchor_similarity,
        valid_at=instant("--valid-at", valid_at),
        known_at=instant("--known-at", known_at),
        is_counted=not no_count,
    )
    _show_facts(tenant_id, query, wanted, as_json)


def _policy(tenant_id: TenantId) -> "Policy":
    """The tenant's settings, where it exists."""
    from memory_pipeline.adapters.tenant_settings import UnknownTenantError, tenant_policy

    try:
        return tenant_policy(session.memory_database(), tenant_id, {})
    except UnknownTenantError as error:
        raise CommandError(str(error)) from error


def _show_facts(tenant_id: TenantId, query: str, wanted: Wanted, as_json: bool) -> None:
    from memory_pipeline.cli.recalling_tables import recalled_tables
    from memory_pipeline.reading.recall import recall as recall_facts

    with known_failures():
        database = session.memory_database()
        found = recall_facts(
            database, tenant_id, query, _embedder(database, tenant_id, query), **wanted
        )
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        print_tables(recalled_tables(found))
        sys.stdout.write(found.context and found.context + "\n")
    _write_counts(database)


def _embedder(database: "Database", tenant_id: TenantId, query: str) -> "Embedder | None":
    """The configured embedder; none is loaded where there is nothing to embed."""
    if not query.strip():
        return None
    from memory_pipeline.adapters.workshop import open_embedder

    return open_embedder(database, tenant_id)


def _show_messages(tenant_id: TenantId, query: str, limit: int, as_json: bool) -> None:
    from memory_pipeline.cli.recalling_tables import messages_table
    from memory_pipeline.reading.recall import recall_messages

    with known_failures():
        rows = recall_messages(session.memory_database(), tenant_id, query, limit=limit)
    print_rows(rows, as_json, lambda: messages_table(rows))


def _write_counts(database: "Database") -> None:
    """Before the command ends; that a count was lost is no reason to lose the answer."""
    from memory_pipeline.adapters.access_counter import NotCountedError, flush_access_counts

    try:
        flush_access_counts(database)
    except NotCountedError as error:
        sys.stderr.write(f"memory-pipeline: {' '.join(str(error).split())}\n")
