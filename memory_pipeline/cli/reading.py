"""Commands that read memory: facts, lists, ledger, digest, recipes, explain, why-not.

Belongs here: arguments, JSON, exit codes. Does not: what is read (reading) and how tables look
(cli/reading_tables, cli/explain_tables).
"""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from memory_pipeline.cli import session
from memory_pipeline.cli.errors import CommandError, ExitCode
from memory_pipeline.domain.ids import TenantId

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

    from memory_pipeline.reading.scope import Reading

TenantOption = Annotated[str, typer.Option("--tenant", help="Whose memory, e.g. acme/user_42.")]
JsonFlag = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]
ValidAtOption = Annotated[
    str | None,
    typer.Option(help="What held in the world then: a date or an ISO instant; else now."),
]
KnownAtOption = Annotated[
    str | None,
    typer.Option(help="What was believed then, on the conversation's clock; else the latest."),
]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command()(facts)
    app.command()(entities)
    app.command()(episodes)
    app.command()(instructions)
    app.command()(uncertainties)
    app.command()(ledger)
    app.command()(digest)
    app.command()(recipes)
    app.command()(explain)
    app.command(name="why-not")(why_not)


def facts(
    tenant: TenantOption,
    valid_at: ValidAtOption = None,
    known_at: KnownAtOption = None,
    history: Annotated[
        bool, typer.Option("--history", help="Every version, whatever its status.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """What is believed about the user, with the words that say it.

    Example: memory-pipeline facts --tenant acme/user_42 --valid-at 2024-06-30 --known-at 2024-07-01
    """
    from memory_pipeline.cli.reading_tables import facts_table
    from memory_pipeline.reading.facts import read_facts

    at, known = instant("--valid-at", valid_at), instant("--known-at", known_at)
    with known_failures():
        rows = read_facts(
            session.memory_database(),
            TenantId(tenant),
            valid_at=at,
            known_at=known,
            with_history=history,
        )
    print_rows(rows, as_json, lambda: facts_table(rows, with_history=history))


def entities(tenant: TenantOption, as_json: JsonFlag = False) -> None:
    """The people, places and things that memory knows, with their other names.

    Example: memory-pipeline entities --tenant acme/user_42
    """
    from memory_pipeline.cli.reading_tables import entities_table
    from memory_pipeline.reading.lists import read_entities

    with known_failures():
        rows = read_entities(session.memory_database(), TenantId(tenant))
    print_rows(rows, as_json, lambda: entities_table(rows))


def episodes(
    tenant: TenantOption,
    late: Annotated[bool, typer.Option("--late", help="Those that wait for a replay.")] = False,
    given_up: Annotated[
        bool, typer.Option("--given-up", help="Those given up after failed attempts.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Episodes in the order of time, with what became of each.

    Example: memory-pipeline episodes --tenant acme/user_42 --late --given-up
    """
    from memory_pipeline.cli.reading_tables import episodes_table
    from memory_pipeline.reading.lists import read_episodes

    wanted = ["late"] * late + ["given_up"] * given_up
    with known_failures():
        rows = read_episodes(
            session.memory_database(), TenantId(tenant), statuses=wanted if wanted else None
        )
    print_rows(rows, as_json, lambda: episodes_table(rows))


def instructions(
    tenant: TenantOption,
    history: Annotated[bool, typer.Option("--history", help="Earlier states too.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Standing orders of the user to the assistant, revoked ones marked.

    Example: memory-pipeline instructions --tenant acme/user_42 --history
    """
    from memory_pipeline.cli.reading_tables import instructions_table
    from memory_pipeline.reading.lists import read_instructions

    with known_failures():
        rows = read_instructions(session.memory_database(), TenantId(tenant), with_history=history)
    print_rows(rows, as_json, lambda: instructions_table(rows))


def uncertainties(
    tenant: TenantOption,
    every: Annotated[bool, typer.Option("--all", help="Settled ones too.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Open points: what was said but could not be taken as a fact.

    Example: memory-pipeline uncertainties --tenant acme/user_42 --all
    """
    from memory_pipeline.cli.reading_tables import uncertainties_table
    from memory_pipeline.reading.lists import read_uncertainties

    with known_failures():
        rows = read_uncertainties(session.memory_database(), TenantId(tenant), with_resolved=every)
    print_rows(rows, as_json, lambda: uncertainties_table(rows))


def ledger(tenant: TenantOption, as_json: JsonFlag = False) -> None:
    """Where every message and every candidate ended; exit code 1 if it does not add up.

    Example: memory-pipeline ledger --tenant acme/user_42 --json
    """
    from memory_pipeline.cli.reading_tables import ledger_tables
    from memory_pipeline.reading.ledger import read_ledger

    with known_failures():
        account = read_ledger(session.memory_database(), TenantId(tenant))
    if as_json:
        print_json(account.model_dump(mode="json"))
    else:
        print_tables(ledger_tables(account))
    if not account.adds_up:
        raise typer.Exit(int(ExitCode.FAILED))


def digest(tenant: TenantOption, as_json: JsonFlag = False) -> None:
    """The canonical sha256 of the live memory: equal for equal memory, free of ids and clocks.

    Example: memory-pipeline digest --tenant acme/user_42
    """
    from memory_pipeline.reading.digest import digest as digest_of

    with known_failures():
        found = digest_of(session.memory_database(), TenantId(tenant))
    if as_json:
        print_json({"tenant": tenant, "digest": found})
    else:
        sys.stdout.write(found + "\n")


def recipes(
    tenant: Annotated[
        str | None, typer.Option("--tenant", help="Whose recipes; else those of all tenants.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """What shapes memory: models, prompts, guards and settings, since when, for how many episodes.

    Example: memory-pipeline recipes --tenant acme/user_42
    """
    from memory_pipeline.cli.reading_tables import recipes_tables
    from memory_pipeline.reading.recipes import read_recipes

    with known_failures():
        rows = read_recipes(session.memory_database(), TenantId(tenant) if tenant else None)
    if as_json:
        print_json([row.model_dump(mode="json") for row in rows])
    else:
        print_tables(recipes_tables(rows))


def explain(
    fact: Annotated[
        str | None,
        typer.Argument(metavar="[FACT_ID]", help="The id, or its first digits as facts shows."),
    ] = None,
    tenant: Annotated[
        str | None, typer.Option("--tenant", help="Whose fact it is; else it is looked for.")
    ] = None,
    with_requests: Annotated[
        bool,
        typer.Option("--request", help="What models were asked too, and what they answered."),
    ] = False,
    episode: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="With --request, in place of a fact: the ordinal of an episode. Shows what a "
            "model was asked to extract from it, or would be.",
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Why a fact is believed: its words, candidates, verdicts, versions, relatives, extractions.

    Example: memory-pipeline explain 3f2a9c1e --tenant acme/user_42

    Example: memory-pipeline explain --request --tenant acme/user_42 --episode 3
    """
    if episode is not None:
        if fact is not None or tenant is None or not with_requests:
            raise CommandError(
                "--episode goes with --request and --tenant, and without a fact",
                ExitCode.WRONG_USAGE,
            )
        _explain_episode(TenantId(tenant), episode, as_json)
    elif fact is None:
        raise CommandError(
            "say which fact, or --request --tenant NAME --episode N", ExitCode.WRONG_USAGE
        )
    else:
        _explain_fact(fact, TenantId(tenant) if tenant else None, with_requests, as_json)


def _explain_fact(
    fact: str, tenant_id: TenantId | None, with_requests: bool, as_json: bool
) -> None:
    from memory_pipeline.cli.explain_tables import explanation_tables, request_texts
    from memory_pipeline.reading.explain import explain as explain_fact
    from memory_pipeline.reading.explain import find_fact

    with known_failures():
        database = session.memory_database()
        found = find_fact(database, fact, tenant_id)
        explanation = explain_fact(database, *found, with_requests=with_requests)
    if as_json:
        print_json(explanation.model_dump(mode="json"))
    else:
        texts = request_texts(explanation.requests) if with_requests else []
        print_tables(explanation_tables(explanation), texts)


def _explain_episode(tenant_id: TenantId, ordinal: int, as_json: bool) -> None:
    from memory_pipeline.cli.explain_tables import episode_head, request_texts
    from memory_pipeline.reading.requests import read_episode_requests

    with known_failures():
        found = read_episode_requests(session.memory_database(), tenant_id, ordinal)
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        print_tables(episode_head(found), request_texts(found.requests))


def why_not(
    text: Annotated[str, typer.Argument(help="Words of what was said or expected.")],
    tenant: TenantOption,
    as_json: JsonFlag = False,
) -> None:
    """What became of something that is no fact: its candidates, open points and messages.

    Example: memory-pipeline why-not "moving to Porto" --tenant acme/user_42
    """
    from memory_pipeline.cli.explain_tables import traces_table
    from memory_pipeline.reading.why_not import why_not as traces_of

    with known_failures():
        rows = traces_of(session.memory_database(), TenantId(tenant), text)
    print_rows(rows, as_json, lambda: traces_table(rows))


def instant(option: str, value: str | None) -> datetime | None:
    """A date (its first instant in UTC) or an ISO instant, UTC where it names no offset."""
    if value is None:
        return None
    try:
        instant = datetime.fromisoformat(value.strip())
        if instant.tzinfo is None:
            return instant.replace(tzinfo=UTC)
        return instant.astimezone(UTC)
    except (ValueError, OverflowError):
        raise CommandError(
            f"{option}: {value!r} is no date or instant; "
            "write 2024-06-30 or 2024-06-30T12:00:00+02:00",
            ExitCode.WRONG_USAGE,
        ) from None


@contextmanager
def known_failures() -> Iterator[None]:
    from memory_pipeline.reading.scope import NotFoundError, UnreadableError

    try:
        yield
    except UnreadableError as error:
        raise CommandError(str(error), ExitCode.WRONG_USAGE) from error
    except NotFoundError as error:
        raise CommandError(str(error)) from error


def print_rows(
    rows: Sequence["Reading"], as_json: bool, table: Callable[[], "RenderableType"]
) -> None:
    if as_json:
        print_json([row.model_dump(mode="json") for row in rows])
    else:
        print_tables([table()])


def print_json(document: object) -> None:
    sys.stdout.write(json.dumps(document) + "\n")


def print_tables(parts: Sequence["RenderableType"], texts: Sequence["Text"] = ()) -> None:
    """Print tables, then texts: for a person to the width, into a file line by line as they are."""
    from memory_pipeline.cli.cells import page

    console = page()
    for part in parts:
        console.print(part)
    for text in texts:
        console.print(text, soft_wrap=not console.is_terminal)
