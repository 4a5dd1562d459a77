"""The demo command: the shipped history from import to an as-of question.

Belongs here: what a newcomer is shown, in which order. Does not: anything that another command
could not do.
"""

import os
import shutil
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from memory_pipeline.adapters.conversation_store import ConversationStore
from memory_pipeline.cli import session
from memory_pipeline.cli.ingest import import_files, run_tenant
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.reading.facts import FactRow, read_facts
from memory_pipeline.reading.ledger import Ledger, read_ledger
from memory_pipeline.sample import sample_files

_ROWS = 14
_ASKED = {"lives in", "works at"}
_THEN = datetime(2024, 6, 1, tzinfo=UTC)

_NEXT = (
    ("what it says of a past date", "facts --tenant {tenant} --valid-at 2024-06-01"),
    ("what was believed then", "facts --tenant {tenant} --known-at 2024-06-01"),
    ("every version of every fact", "facts --tenant {tenant} --history"),
    ("why a fact is there", "explain {fact} --tenant {tenant}"),
    ("why something is not", "why-not butler --tenant demo/theo"),
    ("the Dagster UI", "dev"),
    ("your own chats", "import conversations.json --tenant me   and then: run"),
)


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command()(demo)


def demo(
    rows: Annotated[int, typer.Option(help="Facts shown of the first person.")] = _ROWS,
) -> None:
    """Import the shipped sample history, process it in Dagster, show what memory holds.

    Example: memory-pipeline demo
    """
    console = Console(width=max(100, Console().width), highlight=False)
    database = session.memory_database()
    store = ConversationStore(database)
    tenants = [TenantId(name) for name in sample_files()]
    console.print("[bold]1. Import[/]: two people, months of chats with an assistant")
    for tenant_id, path in zip(tenants, sample_files().values(), strict=True):
        report = import_files(database, tenant_id, [path])
        known = "" if report.messages else "  (imported before)"
        console.print(
            f"   {tenant_id:<10} {report.threads} threads, {report.messages} messages, "
            f"{report.episodes} episodes{known}"
        )
    console.print("\n[bold]2. Process[/]: one Dagster run per person, one transaction per episode")
    console.print(
        "   No language model is configured, so a dependency parse extracts what is said plainly:\n"
        '   sparse, instant, every fact marked as such. README, "Bring your own model", says how\n'
        "   one base URL and key change that.",
        style="yellow",
    )
    for tenant_id in tenants:
        count = run_tenant(store, tenant_id)
        console.print(f"   {tenant_id:<10} {count or 'no new'} episodes")
    tenant_id = tenants[0]
    facts = read_facts(database, tenant_id)
    console.print(_fact_table(facts[:rows], f"3. What memory holds of {tenant_id} now", len(facts)))
    _show_change(console, tenant_id, read_facts(database, tenant_id, with_history=True))
    _show_then(console, read_facts(database, tenant_id, valid_at=_THEN), facts)
    for each in tenants:
        _show_ledger(console, each, read_ledger(database, each))
    console.print("\n[bold]7. Try next[/]  (each with --help)")
    for what, command in _NEXT:
        line = command.format(tenant=tenant_id, fact=facts[0].fact_id if facts else "FACT_ID")
        console.print(f"   {what:<28} [cyan]{_program()} {line}[/]", soft_wrap=True)


def _program() -> str:
    """How this command can be called from the shell it was called from."""
    if shutil.which("memory-pipeline"):
        return "memory-pipeline"
    return os.path.relpath(Path(sys.executable).parent / "memory-pipeline")


def _fact_table(facts: list[FactRow], title: str, total: int) -> Table:
    table = Table(
        title=f"\n{title} ({len(facts)} of {total} facts)", title_justify="left", expand=True
    )
    for column in ("subject", "predicate", "object", "valid from", "until"):
        table.add_column(column, overflow="fold")
    table.add_column("said", overflow="fold", ratio=1)
    for fact in facts:
        table.add_row(
            fact.subject, fact.predicate, fact.object or "", _day(fact.valid_from),
            _day(fact.valid_until), f"“{_short(fact.source_quote)}”",
        )  # fmt: skip
    return table


def _show_change(console: Console, tenant_id: TenantId, history: list[FactRow]) -> None:
    console.print("\n[bold]4. One fact that was superseded[/], kept with both periods")
    by_id = {fact.fact_id: fact for fact in history}
    changed = [
        fact
        for fact in history
        if fact.superseded_by in by_id and fact.known_until is None and fact.predicate in _ASKED
    ]
    for fact in changed[:2]:
        heir = by_id[fact.superseded_by] if fact.superseded_by else fact
        console.print(
            f"   {_sentence(fact)}: true from {_day(fact.valid_from)} until "
            f"{_day(fact.valid_until)}, [{_colour(fact)}]{fact.status}[/] by:"
        )
        console.print(
            f"   {_sentence(heir)}: true from {_day(heir.valid_from)}, said on "
            f"{_day(heir.known_from)}: “{_short(heir.source_quote)}”"
        )


def _show_then(console: Console, then: list[FactRow], now: list[FactRow]) -> None:
    console.print(f"\n[bold]5. The same question[/] as of {_day(_THEN)} and today")
    for predicate in sorted(_ASKED):
        answers = [
            ", ".join(f.object or "" for f in facts if _is_asked(f, predicate)) or "nothing"
            for facts in (then, now)
        ]
        console.print(f"   user {predicate:<9}  then: {answers[0]:<24} now: {answers[1]}")


def _is_asked(fact: FactRow, predicate: str) -> bool:
    return fact.subject == "user" and fact.predicate == predicate and fact.status == "live"


def _show_ledger(console: Console, tenant_id: TenantId, ledger: Ledger) -> None:
    if tenant_id.endswith("ilse"):
        console.print("\n[bold]6. Where every message and every candidate ended[/]")
    console.print(f"   {tenant_id:<10} messages    {_counted(ledger.messages)}", soft_wrap=True)
    console.print(f"   {'':<10} candidates  {_counted(ledger.candidates)}", soft_wrap=True)
    verdict = "it adds up" if ledger.adds_up else f"DOES NOT ADD UP: {ledger.problems}"
    console.print(f"   {'':<10} {verdict}")


def _counted(counts: dict[str, int]) -> str:
    ordered = Counter(counts).most_common()
    return ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in ordered if count)


def _sentence(fact: FactRow) -> str:
    return f"[bold]{fact.subject} {fact.predicate} {fact.object or ''}[/]"


def _colour(fact: FactRow) -> str:
    return "red" if fact.status == "superseded" else "yellow"


def _day(instant: datetime | None) -> str:
    return instant.date().isoformat() if instant else "…"


def _short(text: str | None, limit: int = 60) -> str:
    text = " ".join((text or "").split())
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…"
