"""The command `upkeep`: decay, repair, insights and profiles by hand.

Belongs here: arguments, tables, JSON. Does not: what a pass does (adapters/upkeep,
adapters/profiles) and its schedule (defs/upkeep).
"""

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from memory_pipeline.cli import session
from memory_pipeline.cli.errors import CommandError, ExitCode
from memory_pipeline.cli.reading import known_failures, print_json
from memory_pipeline.domain.ids import TenantId

if TYPE_CHECKING:
    from memory_pipeline.adapters.postgres import Database


class Pass(StrEnum):
    """What keeps a memory up, in the order in which all are done."""

    DECAY = "decay"
    REPAIR = "repair"
    INSIGHTS = "insights"
    PROFILES = "profiles"


@dataclass(frozen=True)
class Done:
    """What a pass did for a tenant, or would do: numbers by name, and lines to read."""

    name: Pass
    tenant: str
    counts: dict[str, int]
    lines: list[str] = field(default_factory=list)
    remark: str = ""
    has_failed: bool = False


_ALL = 1_000_000


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command()(upkeep)


def upkeep(
    which: Annotated[
        Pass | None, typer.Argument(metavar="[PASS]", help="One pass; all four without.")
    ] = None,
    tenant: Annotated[str | None, typer.Option(help="Only this one; else all tenants.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done; change nothing, call nobody.")
    ] = False,
    list_merges: Annotated[
        bool, typer.Option("--list", help="With repair: the merges made, with their ids.")
    ] = False,
    undo: Annotated[
        str | None, typer.Option(help="With repair: take the merge of this id apart.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """Forget what faded, merge double entities, look for insights, renew profiles.

    Example: memory-pipeline upkeep decay --tenant acme/user_42 --dry-run
    """
    if (list_merges or undo) and (which is not Pass.REPAIR or tenant is None):
        raise CommandError(
            "--list and --undo go with `upkeep repair --tenant T`", ExitCode.WRONG_USAGE
        )
    database = session.memory_database()
    if tenant is not None:
        _require(database, TenantId(tenant))
    if list_merges and tenant is not None:
        _print_merges(database, TenantId(tenant), as_json=as_json)
        return
    if undo is not None and tenant is not None:
        _undo(database, TenantId(tenant), undo, as_json=as_json)
        return
    tenants = [TenantId(tenant)] if tenant is not None else _all_tenants(database)
    passes = [which] if which is not None else list(Pass)
    done: list[Done] = []
    problem = _do(database, passes, tenants, dry_run, done)
    _print(done, is_dry=dry_run, as_json=as_json)
    if problem is not None:
        raise problem


def _do(
    database: "Database",
    passes: Iterable[Pass],
    tenants: Iterable[TenantId],
    dry_run: bool,
    done: list[Done],
) -> CommandError | None:
    """Add what is done to the list; the trouble that ends the command after it was shown.

    A tenant's own trouble stands in its remark and stops no other one.
    """
    from memory_pipeline.domain.model import BudgetExhaustedError, ModelUnavailableError

    try:
        for name in passes:
            done.extend(_PASSES[name](database, tenants, dry_run))
    except BudgetExhaustedError as error:
        return CommandError(str(error), ExitCode.BUDGET_EXHAUSTED)
    except ModelUnavailableError as error:
        return CommandError(str(error))
    failed = sum(one.has_failed for one in done)
    return (
        CommandError(f"{failed} of {len(done)} passes failed: see the remarks") if failed else None
    )


def _one_by_one(
    name: Pass, tenants: Iterable[TenantId], work: Callable[[TenantId], Done]
) -> Iterable[Done]:
    """One tenant after the other; one's own trouble leaves the others to go on."""
    from memory_pipeline.adapters.upkeep import OF_ONE_TENANT

    for tenant_id in tenants:
        try:
            yield work(tenant_id)
        except OF_ONE_TENANT as error:
            yield Done(name, tenant_id, {}, remark=str(error), has_failed=True)


def _require(database: "Database", tenant_id: TenantId) -> None:
    from memory_pipeline.reading.scope import ensure_tenant_exists

    with known_failures():
        ensure_tenant_exists(database, tenant_id)


def _all_tenants(database: "Database") -> list[TenantId]:
    from memory_pipeline.adapters.profile_store import tenants_with_memory

    return tenants_with_memory(database)


def _decay(database: "Database", tenants: Iterable[TenantId], dry_run: bool) -> Iterable[Done]:
    from memory_pipeline.adapters.upkeep import decay, decaying

    def archive(tenant_id: TenantId) -> Done:
        if not dry_run:
            gone = decay(database, tenant_id)
            lines = [fact.statement for fact in gone]
            return Done(Pass.DECAY, tenant_id, {"archived": len(gone)}, lines)
        going = [fact for fact in decaying(database, tenant_id) if fact.is_due]
        lines = [
            f"{fact.statement} (relevance {fact.relevance:.3f}, read {fact.access_count} times)"
            for fact in going
        ]
        return Done(Pass.DECAY, tenant_id, {"to_archive": len(going)}, lines)

    return _one_by_one(Pass.DECAY, tenants, archive)


def _repair(database: "Database", tenants: Iterable[TenantId], dry_run: bool) -> Iterable[Done]:
    from memory_pipeline.adapters.repair_store import repair_tenant

    def merge(tenant_id: TenantId) -> Done:
        repaired = repair_tenant(database, tenant_id, dry_run=dry_run)
        merges, retired = repaired.entities.merges, repaired.entities.retired
        counts = {
            "merges": len(merges),
            "retired": len(retired),
            "facts_moved": len(repaired.facts.moved),
            "facts_closed": len(repaired.facts.closed),
        }
        lines = [f"{m.loser.name} is {m.winner.name} ({m.winner.type})" for m in merges]
        lines += [f"an entity without a name is out of use ({e.type})" for e in retired]
        return Done(Pass.REPAIR, tenant_id, counts, lines)

    return _one_by_one(Pass.REPAIR, tenants, merge)


def _insights(database: "Database", tenants: Iterable[TenantId], dry_run: bool) -> Iterable[Done]:
    from memory_pipeline.adapters.environment import fast_model
    from memory_pipeline.adapters.upkeep import NO_MODEL_FOR_INSIGHTS, insights

    def find(tenant_id: TenantId) -> Done:
        if fast_model() is None:
            return Done(Pass.INSIGHTS, tenant_id, {"inserted": 0}, remark=NO_MODEL_FOR_INSIGHTS)
        if dry_run:
            remark = "one call for the newest live facts, unless there are fewer than two"
            return Done(Pass.INSIGHTS, tenant_id, {"calls_at_most": 1}, remark=remark)
        report = insights(database, tenant_id)
        counts = {"facts_shown": report.facts, "inserted": len(report.inserted)}
        lines = [f"{o['outcome']}: {o['statement']}" for o in report.outcomes]
        return Done(Pass.INSIGHTS, tenant_id, counts, lines)

    return _one_by_one(Pass.INSIGHTS, tenants, find)


def _profiles(database: "Database", tenants: Iterable[TenantId], dry_run: bool) -> Iterable[Done]:
    from memory_pipeline.adapters.profile_store import due_tenants
    from memory_pipeline.adapters.profiles import refresh_dirty_profiles

    if dry_run:
        due = due_tenants(database, _ALL)
        for tenant_id in tenants:
            yield Done(Pass.PROFILES, tenant_id, {"to_renew": due.get(tenant_id, 0)})
        return
    for report in refresh_dirty_profiles(database, tenants, is_exhaustive=True):
        counts = {
            "written": len(report.written),
            "unchanged": report.kept,
            "retired": report.retired,
            "failed": len(report.failures),
        }
        lines = [f"{profile.name}: {profile.text}" for profile in report.written]
        yield Done(
            Pass.PROFILES, report.tenant_id, counts, lines, report.problem, bool(report.problem)
        )


_PASSES: dict[Pass, Callable[["Database", Iterable[TenantId], bool], Iterable[Done]]] = {
    Pass.DECAY: _decay,
    Pass.REPAIR: _repair,
    Pass.INSIGHTS: _insights,
    Pass.PROFILES: _profiles,
}


def _print(done: list[Done], *, is_dry: bool, as_json: bool) -> None:
    if as_json:
        print_json({"dry_run": is_dry, "passes": [asdict(d) for d in done]})
        return
    if not done:
        typer.echo("nothing to do")
        return
    from rich.console import Console
    from rich.table import Table

    from memory_pipeline.cli.cells import text_cell

    table = Table("pass", "tenant", "would do" if is_dry else "done", "remark")
    for one in done:
        counts = ", ".join(f"{name.replace('_', ' ')} {n}" for name, n in one.counts.items())
        table.add_row(one.name.value, text_cell(one.tenant), counts, text_cell(one.remark))
    console = Console()
    console.print(table)
    for one in done:
        for line in one.lines:
            console.print(text_cell(f"{one.name.value}: {line}"))


def _print_merges(database: "Database", tenant_id: TenantId, *, as_json: bool) -> None:
    from memory_pipeline.adapters.repair_store import read_merges

    merges = read_merges(database, tenant_id)
    if as_json:
        print_json([_plain(asdict(merge)) for merge in merges])
        return
    if not merges:
        typer.echo("no merges were made")
        return
    from rich.console import Console
    from rich.table import Table

    from memory_pipeline.cli.cells import text_cell

    table = Table("merge", "was", "is", "type", "known since", "taken apart")
    for merge in merges:
        undone = "" if merge.undone_at is None else f"{merge.undone_at:%Y-%m-%d %H:%M}"
        since = f"{merge.known_at:%Y-%m-%d %H:%M}"
        names = (text_cell(merge.loser), text_cell(merge.winner))
        table.add_row(str(merge.event_id), *names, merge.type, since, undone)
    Console().print(table)


def _undo(database: "Database", tenant_id: TenantId, event: str, *, as_json: bool) -> None:
    from memory_pipeline.adapters.repair_store import UnknownMergeError, undo_merge

    try:
        merge = undo_merge(database, tenant_id, UUID(event))
    except ValueError as error:
        raise CommandError(f"{event!r} is no id of a merge", ExitCode.WRONG_USAGE) from error
    except UnknownMergeError as error:
        raise CommandError(str(error)) from error
    if as_json:
        print_json(_plain(asdict(merge)))
    else:
        typer.echo(f"{merge.loser} and {merge.winner} are two again")


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value if value is None or isinstance(value, str) else str(value)
        for name, value in values.items()
    }
