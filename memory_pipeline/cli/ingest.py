"""Commands that bring history in and process it: import, run.

Belongs here: arguments, progress, counts. Does not: formats, windows, stages.
"""

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from memory_pipeline.adapters import environment
from memory_pipeline.adapters.conversation_store import ConversationStore, ImportReport
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.adapters.tenant_settings import UnknownTenantError, tenant_policy
from memory_pipeline.cli import session
from memory_pipeline.cli.errors import CommandError, ExitCode
from memory_pipeline.cli.walked import Walked
from memory_pipeline.domain.conversation import Skipped, SourceThread
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.domain.policy import make_policy
from memory_pipeline.importers.registry import (
    AUTO,
    FORMATS,
    detect,
    expand,
    is_format,
    read_exports,
)

if TYPE_CHECKING:
    from memory_pipeline.defs.runs import RunOptions

_stderr = Console(stderr=True)

TenantOption = Annotated[str, typer.Option("--tenant", help="Whose memory, e.g. acme/user_42.")]
JsonFlag = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command(name="import")(import_chats)
    app.command()(run)


def import_chats(
    paths: Annotated[list[Path], typer.Argument(help="Files or folders of chat exports.")],
    tenant: TenantOption,
    format_: Annotated[
        str, typer.Option("--format", help="openai, chatgpt, claude, locomo, memorybank or auto.")
    ] = AUTO,
    user: Annotated[
        str | None, typer.Option("--user", help="The speaker who is the user, where named.")
    ] = None,
    date: Annotated[
        datetime | None,
        typer.Option("--date", formats=["%Y-%m-%d"], help="Time of messages that have none."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Import chats: threads, messages, episodes and their partitions. Re-importing is harmless.

    Example: memory-pipeline import conversations.json --tenant acme/user_42
    """
    tenant_id = _tenant_id(tenant)
    _check_format(format_)
    report = import_files(
        session.memory_database(),
        tenant_id,
        paths,
        fmt=format_,
        user=user,
        default_time=date.replace(tzinfo=UTC) if date else None,
    )
    _print_report(report, as_json)


def _print_report(report: ImportReport, as_json: bool) -> None:
    skipped = [{"reason": r, "count": c} for r, c in sorted(report.skipped.items())]
    if as_json:
        document = {
            "threads": report.threads,
            "messages": report.messages,
            "episodes": report.episodes,
            "skipped": skipped,
        }
        sys.stdout.write(json.dumps(document) + "\n")
        return
    console = Console()
    console.print(
        f"imported {report.threads} threads, {report.messages} messages, {report.episodes} episodes"
    )
    if report.late:
        console.print(f"  {report.late} episodes wait: they lie before what is processed already")
    for line in skipped:
        console.print(f"  skipped {line['count']} x {line['reason']}")


def _check_format(fmt: str) -> None:
    if not is_format(fmt):
        raise CommandError(
            f"there is no format {fmt!r}: choose one of {', '.join((AUTO, *sorted(FORMATS)))}",
            ExitCode.WRONG_USAGE,
        )


def import_files(
    database: Database,
    tenant_id: TenantId,
    paths: list[Path],
    *,
    fmt: str = AUTO,
    user: str | None = None,
    default_time: datetime | None = None,
) -> ImportReport:
    """Read, store, cut and register; what this call added, and what was left out."""
    make_policy(environment.setting_overrides())  # refuse bad settings before any work
    session.check_dagster_home()
    files = expand(paths)
    store = ConversationStore(database)
    late_before = store.late_count(tenant_id)
    totals = [0, 0]
    read = [0]
    skipped: Counter[str] = Counter()
    with _progress("reading messages", None) as advance_to:
        for path in files:
            name = detect(path).name if fmt == AUTO else fmt
            threads, messages, left_out = store.import_threads(
                tenant_id,
                name,
                _counted(read_exports([path], fmt, user), read, advance_to),
                user=user,
                default_time=default_time,
            )
            totals[0] += threads
            totals[1] += messages
            skipped += left_out
    if not read[0]:
        _refuse_empty(files, fmt, skipped)
    episodes = store.register_episodes(tenant_id, tenant_policy(database, tenant_id, {}))
    _register_partitions(store, tenant_id)
    late = store.late_count(tenant_id) - late_before
    return ImportReport(totals[0], totals[1], episodes, dict(skipped), late)


def _refuse_empty(files: list[Path], fmt: str, skipped: Counter[str]) -> None:
    """Nothing at all was readable: that is no import but a mistake."""
    counted = ", ".join(f"{count} x {reason}" for reason, count in sorted(skipped.items()))
    names = ", ".join(path.name for path in files[:3])
    as_what = "" if fmt == AUTO else f" as {fmt}"
    raise CommandError(f"no message could be read from {names}{as_what} ({counted or 'empty'})")


def _counted(
    items: Iterable[SourceThread | Skipped], read: list[int], advance_to: Callable[[int], None]
) -> Iterator[SourceThread | Skipped]:
    """The same items, moving the progress by the messages that went by."""
    for item in items:
        yield item
        if isinstance(item, SourceThread):
            read[0] += len(item.messages)
            advance_to(read[0])


def _register_partitions(store: ConversationStore, tenant_id: TenantId) -> None:
    from memory_pipeline.defs.partitions import (
        MAX_CELLS,
        grid_size,
        partition_number_of,
        register_partitions,
    )

    highest = store.highest_ordinals().get(tenant_id)
    if highest is None:
        return
    instance = session.dagster_instance()
    register_partitions(instance, tenant_id, partition_number_of(highest))
    size = grid_size(instance)
    if size.cells > MAX_CELLS:
        sys.stderr.write(
            f"{size.tenants} tenants, the longest of {size.partitions} episodes, make "
            f"{size.cells:,} partitions: beyond {MAX_CELLS:,} Dagster's pages get slow (memory and "
            "runs do not). Keep the longest tenants in an installation of their own\n"
        )


def run(
    tenant: Annotated[str | None, typer.Option("--tenant", help="One tenant; else all.")] = None,
    first: Annotated[int | None, typer.Option("--from", min=1, help="First ordinal.")] = None,
    last: Annotated[int | None, typer.Option("--to", min=1, help="Last ordinal.")] = None,
    stage: Annotated[
        str | None, typer.Option("--stage", help="Start at this stage, from stored outputs.")
    ] = None,
    context_stride: Annotated[
        int | None,
        typer.Option(
            "--context-stride", min=1, max=1_000, help="Episodes extracted against the same memory."
        ),
    ] = None,
) -> None:
    """Process what is pending, in one Dagster run per tenant, in position order.

    Example: memory-pipeline run --tenant acme/user_42
    """
    chosen = None if tenant is None else _tenant_id(tenant)
    _check_stage(stage)
    if first is not None and last is not None and first > last:
        raise CommandError(f"--from {first} lies behind --to {last}", ExitCode.WRONG_USAGE)
    make_policy(environment.setting_overrides())
    session.check_dagster_home()
    _check_models()
    store = ConversationStore(session.memory_database())
    tenants = store.tenants() if chosen is None else [chosen]
    for tenant_id in tenants:
        _check_tenant(store, tenant_id)
    options = {"first": first, "last": last, "context_stride": context_stride}
    _run_all(store, tenants, stage, options)


def _run_all(
    store: ConversationStore,
    tenants: list[TenantId],
    stage: str | None,
    options: dict[str, int | None],
) -> None:
    """One run for each tenant; one that fails stops nobody but is told at the end."""
    console = Console()
    total = 0
    failures: list[str] = []
    for tenant_id in tenants:
        try:
            walked = walk_tenant(store, tenant_id, stage=stage, **options)
        except CommandError as error:
            if error.exit_code == ExitCode.BUDGET_EXHAUSTED:
                raise  # the next tenant would only meet the same end
            failures.append(f"{tenant_id}: {error.message}")
            continue
        total += walked.folded
        if walked.folded:
            console.print(f"{tenant_id}: {walked}")
    if failures:
        raise CommandError("\n".join(failures))
    if not total:
        late = sum(store.late_count(tenant_id) for tenant_id in tenants)
        console.print(f"nothing to do{f' ({late} late episodes wait)' if late else ''}")


def _check_models() -> None:
    """Refuse model settings with which no request could ever be sent, before a run is begun."""
    from memory_pipeline.adapters.models.endpoint import ModelConfigurationError, check_endpoint

    try:
        environment.check_models()
        check_endpoint()
    except (environment.EnvironmentValueError, ModelConfigurationError) as error:
        raise CommandError(str(error), ExitCode.WRONG_USAGE) from error


def _check_tenant(store: ConversationStore, tenant_id: TenantId) -> None:
    if store.tenant(tenant_id) is None:
        raise UnknownTenantError(
            f"there is no tenant {tenant_id!r}: import its history first "
            "(memory-pipeline import PATH --tenant NAME)"
        )


def run_tenant(store: ConversationStore, tenant_id: TenantId) -> int:
    """Process all that is pending, as `walk_tenant` does; how many episodes left the queue."""
    return walk_tenant(store, tenant_id).folded


def walk_tenant(
    store: ConversationStore,
    tenant_id: TenantId,
    *,
    first: int | None = None,
    last: int | None = None,
    stage: str | None = None,
    context_stride: int | None = None,
) -> Walked:
    """One Dagster run over a tenant's open episodes; what it came to.

    Episodes given up fail nothing: a warning on stderr counts them. Raises `CommandError` that
    says what is done and kept when the run fails.
    """
    from memory_pipeline.defs.runs import RunOptions

    _check_stage(stage)
    store.set_aside_late(tenant_id)
    open_ordinals = [
        row["ordinal"]
        for row in store.walk_episodes(tenant_id)
        if (first is None or row["ordinal"] >= first) and (last is None or row["ordinal"] <= last)
    ]
    if not open_ordinals:
        return Walked()
    _register_partitions(store, tenant_id)
    options = RunOptions(stage=stage, context_stride=context_stride)
    walked, failure = _run_counted(tenant_id, open_ordinals, options)
    if walked.given_up:
        sys.stderr.write(f"{walked.warning(tenant_id)}\n")
    if failure is not None:
        # Where the same settings would only meet the same end, the message says what to change.
        advice = "" if failure.is_lasting else "; run again to go on"
        raise CommandError(
            f"{failure} ({walked.kept_of(len(open_ordinals))}{advice})", failure.exit_code
        ) from failure
    return walked


def _run_counted(
    tenant_id: TenantId, ordinals: Sequence[int], options: "RunOptions"
) -> tuple[Walked, CommandError | None]:
    """What a run over the ordinals came to, and why it failed if it did."""
    from memory_pipeline.defs.runs import BudgetStopError, WalkFailedError, run_walk

    counted: Counter[str] = Counter()
    failure: CommandError | None = None
    with _progress(f"processing {tenant_id}", len(ordinals)) as advance_to:

        def folded() -> None:
            counted["folded"] += 1
            advance_to(counted["folded"])

        def given_up() -> None:
            counted["given_up"] += 1

        options = replace(options, on_folded=folded, on_given_up=given_up)
        try:
            run_walk(session.dagster_instance(), tenant_id, min(ordinals), max(ordinals), options)
        except BudgetStopError as error:
            failure = CommandError(
                str(error), ExitCode.BUDGET_EXHAUSTED, is_lasting=error.is_lasting
            )
        except WalkFailedError as error:
            failure = CommandError(str(error), is_lasting=error.is_lasting)
    return Walked(**counted), failure


def _check_stage(stage: str | None) -> None:
    from memory_pipeline.defs.assets.walked_episodes import STAGES

    if stage is not None and stage not in STAGES:
        raise CommandError(
            f"there is no stage {stage!r}: choose one of {', '.join(STAGES)}", ExitCode.WRONG_USAGE
        )


def _tenant_id(name: str) -> TenantId:
    from memory_pipeline.defs.partitions import tenant_key

    if not name.isprintable():
        raise CommandError(
            "--tenant is no name for a tenant: it holds characters that can't be shown",
            ExitCode.WRONG_USAGE,
        )
    try:
        tenant_key(name.strip())
    except ValueError as error:
        raise CommandError(
            f"--tenant is no name for a tenant: {error}", ExitCode.WRONG_USAGE
        ) from error
    return TenantId(name)


@contextmanager
def _progress(title: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A bar on stderr that ends with the block; gives a function that moves it."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=_stderr) as bar:
        task = bar.add_task(title, total=total)
        yield lambda done: bar.update(task, completed=done)
