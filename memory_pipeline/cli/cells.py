"""Parts of what commands print: consoles, tables and cells, stored text made harmless.

Belongs here: what tables share. Does not: any particular table.
"""

import sys
from datetime import datetime

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

WIDTH = 100
_UNBOUNDED = "…"
SHORT_ID = 8
STYLES = {
    "live": "green",
    "future": "cyan",
    "ended": "dim",
    "superseded": "yellow",
    "invalidated": "red",
    "archived": "magenta",
    "done": "green",
    "pending": "cyan",
    "late": "yellow",
    "failed": "red",
    "given_up": "red",
    "skipped": "dim",
    "open": "cyan",
    "resolved": "green",
    "unaccounted": "red",
}


def page() -> Console:
    """The console of the tables: as wide as the terminal, 100 columns into a file."""
    return Console() if sys.stdout.isatty() else Console(width=WIDTH)


def make_table(*columns: str) -> Table:
    """An empty table; columns of ids, dates and states stay whole."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for name in columns:
        # Short columns stay whole, so that only text wraps.
        is_whole = name in {"Id", "Valid", "Known", "Status", "Ep", "Time", "When"}
        table.add_column(name, no_wrap=is_whole, overflow="fold")
    return table


def titled(title: str, table: Table) -> Table | None:
    """The table under its title, or None when it has no row."""
    if not table.row_count:
        return None
    table.title = title
    table.title_justify = "left"
    return table


def or_nothing(table: Table, nothing: str) -> RenderableType:
    """The table, or a line in its place when it has no row."""
    return table if table.row_count else Text(nothing, "dim")


def period_cell(start: datetime | None, end: datetime | None) -> Text:
    """Both days, an open end as dots."""
    if start is None and end is None:
        return Text(_UNBOUNDED)
    return Text(f"{_day(start)} → {_day(end)}")


def date_cell(instant: datetime | None) -> Text:
    """The day, empty for none."""
    return Text(_day(instant) if instant else "")


def _day(instant: datetime | None) -> str:
    return _UNBOUNDED if instant is None else instant.date().isoformat()


def status_cell(status: str) -> Text:
    """A state in its colour."""
    return Text(harmless(status), STYLES.get(status, ""))


def number_cell(number: int | None) -> Text:
    """A number, empty for none."""
    return Text("" if number is None else str(number))


def text_cell(text: str) -> Text:
    """Stored text, harmless."""
    return Text(harmless(text))


def harmless(text: str) -> str:
    """Stored text without line breaks and control characters, which could forge output."""
    return "".join(char if char.isprintable() else " " for char in text)


def harmless_lines(text: str) -> str:
    """As `harmless`, but for text of several lines, which keeps them."""
    return "\n".join(map(harmless, text.split("\n")))
