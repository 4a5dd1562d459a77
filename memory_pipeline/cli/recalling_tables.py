"""How recalled facts and found messages look on a terminal: tables of at most 100 columns.

Belongs here: columns and their order. Does not: shared cells (cells), the block for a prompt
(reading/context_block).
"""

from collections.abc import Sequence

from rich.console import RenderableType

from memory_pipeline.cli.cells import (
    SHORT_ID,
    date_cell,
    make_table,
    number_cell,
    or_nothing,
    period_cell,
    status_cell,
    text_cell,
)
from memory_pipeline.reading.recalled import MessageFound, Recalled

_SHOWN_CHARS = 300


def recalled_tables(found: Recalled) -> list[RenderableType]:
    """The facts, the best first, with the lists that found each and its place in them."""
    table = make_table("Id", "Fact", "Valid", "Conf", "Score", "Found by")
    for fact in found.facts:
        table.add_row(
            text_cell(str(fact.fact_id)[:SHORT_ID]),
            text_cell(f"{fact.subject} {fact.predicate} {fact.object}"),
            period_cell(fact.valid_from, fact.valid_until),
            text_cell(f"{fact.confidence:.2f}"),
            text_cell(f"{fact.score:.4f}"),
            text_cell(", ".join(f"{name} {place}" for name, place in fact.ranks if place)),
        )
    return [or_nothing(table, "no facts")]


def messages_table(rows: Sequence[MessageFound]) -> RenderableType:
    """Messages, the best first, with what became of their episodes."""
    table = make_table("When", "Who", "Message", "Ep", "Status")
    for row in rows:
        table.add_row(
            date_cell(row.said_at),
            text_cell(row.speaker or row.role),
            text_cell(row.text[:_SHOWN_CHARS]),
            number_cell(row.episode),
            status_cell(row.status or "open"),
        )
    return or_nothing(table, "no messages")
