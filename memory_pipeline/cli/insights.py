"""The command `insights`: what facts show together, and how that was found.

Belongs here: arguments, the tables. Does not: finding insights (`upkeep insights`).
"""

from typing import TYPE_CHECKING, Annotated

import typer

from memory_pipeline.cli import session
from memory_pipeline.cli.reading import JsonFlag, TenantOption, known_failures, print_rows
from memory_pipeline.domain.ids import TenantId

if TYPE_CHECKING:
    from rich.table import Table

    from memory_pipeline.reading.insights import InsightRow, InsightRunRow


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command()(insights)


def insights(
    tenant: TenantOption,
    history: Annotated[bool, typer.Option("--history", help="Archived ones too.")] = False,
    runs: Annotated[
        bool, typer.Option("--runs", help="The searches and what became of each proposal.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """What several facts show together, with the facts each insight stands on.

    Example: memory-pipeline insights --tenant acme/user_42 --runs
    """
    from memory_pipeline.reading.insights import read_insight_runs, read_insights

    database = session.memory_database()
    with known_failures():
        if runs:
            searches = read_insight_runs(database, TenantId(tenant))
            print_rows(searches, as_json, lambda: _runs_table(searches))
            return
        rows = read_insights(database, TenantId(tenant), with_history=history)
    print_rows(rows, as_json, lambda: _table(rows))


def _table(rows: "list[InsightRow]") -> "Table":
    from memory_pipeline.cli.cells import SHORT_ID, make_table, period_cell, text_cell

    table = make_table("Insight", "Weight", "Known", "Stands on")
    for row in rows:
        facts = ", ".join(str(fact_id)[:SHORT_ID] for fact_id in row.derived_from)
        table.add_row(
            text_cell(row.statement),
            text_cell(f"{row.significance:.2f}"),
            period_cell(row.known_from, row.known_until),
            text_cell(facts),
        )
    return table


def _runs_table(searches: "list[InsightRunRow]") -> "Table":
    from memory_pipeline.cli.cells import date_cell, make_table, number_cell, text_cell

    table = make_table("When", "Facts", "Outcome", "Proposal")
    for search in searches:
        for outcome in search.outcomes or ({"outcome": "nothing proposed", "statement": ""},):
            likeness = f" ({outcome['similarity']})" if "similarity" in outcome else ""
            table.add_row(
                date_cell(search.run_at),
                number_cell(search.facts),
                text_cell(f"{outcome['outcome']}{likeness}"),
                text_cell(outcome["statement"]),
            )
    return table
