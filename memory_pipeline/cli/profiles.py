"""Commands on profiles: the list, those that failed, and one, built now where it is out of date.

Belongs here: arguments, tables, exit codes. Does not: building (adapters/profiles), reading.
"""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from memory_pipeline.cli import session
from memory_pipeline.cli.errors import CommandError, ExitCode
from memory_pipeline.cli.reading import (
    JsonFlag,
    TenantOption,
    known_failures,
    print_json,
    print_rows,
    print_tables,
)
from memory_pipeline.domain.ids import EntityId, TenantId

if TYPE_CHECKING:
    from rich.console import RenderableType

    from memory_pipeline.adapters.postgres import Database
    from memory_pipeline.reading.profiles import HeldRow, ProfileRow

_EXTRACTIVE = "put together from the facts, no model wrote it"


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command()(profiles)
    app.command()(profile)


def profiles(
    tenant: TenantOption,
    held: Annotated[
        bool, typer.Option("--held", help="Those given up after failed tries, with the reason.")
    ] = False,
    retry: Annotated[
        bool, typer.Option("--retry", help="Make failed ones due again, held or not.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """The paragraphs that sum up people, places and things, or those that could not be written.

    Example: memory-pipeline profiles --tenant acme/user_42 --held
    """
    from memory_pipeline.reading.profiles import read_failed_profiles, read_profiles

    database, tenant_id = session.memory_database(), TenantId(tenant)
    with known_failures():
        if held or retry:
            failed = read_failed_profiles(database, tenant_id, only_held=not retry)
        else:
            written = read_profiles(database, tenant_id)
    if retry:
        _retry(database, tenant_id, failed, as_json)
    elif held:
        print_rows(failed, as_json, lambda: _failed_table(failed))
    else:
        print_rows(written, as_json, lambda: _profiles_table(written))


def _retry(
    database: "Database", tenant_id: TenantId, failed: Sequence["HeldRow"], as_json: bool
) -> None:
    from memory_pipeline.adapters.profile_store import ProfileStore
    from memory_pipeline.adapters.tenant_settings import tenant_policy

    store = ProfileStore(database, tenant_id, tenant_policy(database, tenant_id, {}))
    due = set(store.retry())
    names = [row.entity for row in failed if row.entity_id in due]
    if as_json:
        print_json({"tenant": tenant_id, "retried": names})
        return
    from rich.text import Text

    from memory_pipeline.cli.cells import harmless

    said = ", ".join(map(harmless, names)) if names else "nothing had failed"
    print_tables([Text(f"due again: {said}" if names else said)])


def profile(
    entity: Annotated[
        str, typer.Argument(metavar="ENTITY", help="A name, or the first digits of an id.")
    ],
    tenant: TenantOption,
    as_json: JsonFlag = False,
) -> None:
    """One profile with the facts behind each sentence, built first if facts have changed.

    Exit code 1 when nothing that holds is known about the entity. Where it can't be renewed, the
    one before is shown, with a warning.

    Example: memory-pipeline profile vera --tenant acme/user_42
    """
    from memory_pipeline.adapters.profiles import (
        NoProfileError,
        ProfileFailedError,
        build_profile,
    )
    from memory_pipeline.domain.model import BudgetExhaustedError, ModelUnavailableError
    from memory_pipeline.reading.profiles import find_entity, read_profile
    from memory_pipeline.reading.scope import NotFoundError

    database, tenant_id = session.memory_database(), TenantId(tenant)
    problem = ""
    try:
        entity_id = EntityId(find_entity(database, tenant_id, entity).entity_id)
        build_profile(database, tenant_id, entity_id)
    except (NotFoundError, NoProfileError) as error:
        raise CommandError(str(error)) from error
    except BudgetExhaustedError as error:
        raise CommandError(str(error), ExitCode.BUDGET_EXHAUSTED) from error
    except (ModelUnavailableError, ProfileFailedError) as error:
        problem = str(error)
    row = read_profile(database, tenant_id, entity_id)
    if row is None:
        raise CommandError(problem or f"nothing that holds is known about {entity!r}")
    if problem:
        sys.stderr.write(f"memory-pipeline: warning: shown as it was written before: {problem}\n")
    if as_json:
        print_json(row.model_dump(mode="json"))
    else:
        print_tables(_profile_page(row))


def _profiles_table(rows: Sequence["ProfileRow"]) -> "RenderableType":
    from memory_pipeline.cli.cells import make_table, or_nothing, text_cell

    table = make_table("Entity", "Type", "Profile", "State")
    for row in rows:
        table.add_row(
            text_cell(row.entity), text_cell(row.type), text_cell(row.text), text_cell(_state(row))
        )
    return or_nothing(table, "no profiles")


def _state(row: "ProfileRow") -> str:
    """What to know of a profile in a word or two."""
    if row.is_held:
        return "held"
    return "stale" if row.is_stale else "extractive" * row.is_extractive


def _failed_table(rows: Sequence["HeldRow"]) -> "RenderableType":
    from memory_pipeline.cli.cells import (
        date_cell,
        make_table,
        number_cell,
        or_nothing,
        text_cell,
    )

    table = make_table("Entity", "Type", "Tries", "Reason", "Since")
    for row in rows:
        table.add_row(
            text_cell(row.entity),
            text_cell(row.type),
            number_cell(row.attempts),
            text_cell(row.reason or ""),
            date_cell(row.held_at),
        )
    return or_nothing(table, "no profile is held")


def _profile_page(row: "ProfileRow") -> list["RenderableType"]:
    from rich.text import Text

    from memory_pipeline.cli.cells import (
        SHORT_ID,
        harmless,
        make_table,
        period_cell,
        text_cell,
        titled,
    )

    state = ", facts have changed since" if row.is_stale else ""
    by = _EXTRACTIVE if row.is_extractive else f"written by {harmless(row.model or 'a model')}"
    parts: list[RenderableType] = [
        Text(f"{harmless(row.entity)} ({row.type})", "bold"),
        Text(harmless(row.text)),
        Text(f"{by}, {row.written_at:%Y-%m-%d %H:%M} UTC{state}", "dim"),
    ]
    cited = make_table("Sentence", "Stands on", "Id", "Valid")
    for sentence in row.sentences:
        for place, fact in enumerate(sentence.facts):
            cited.add_row(
                text_cell(sentence.text if place == 0 else ""),
                text_cell(f"{fact.subject} {fact.predicate} {fact.object}"),
                text_cell(str(fact.fact_id)[:SHORT_ID]),
                period_cell(fact.valid_from, fact.valid_until),
            )
    dropped = make_table("Sentence", "Why it was left out")
    for left in row.dropped:
        dropped.add_row(text_cell(left.text), text_cell(left.reason))
    tables = (cited, titled("Left out", dropped))
    return [*parts, *(table for table in tables if table is not None)]
