"""How what was read looks on a terminal: tables of at most 100 columns.

Belongs here: columns, colours, short dates, stored text made harmless. Does not: reading.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import starmap

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from memory_pipeline.reading.explain import Explanation, Trace
from memory_pipeline.reading.facts import FactRow
from memory_pipeline.reading.ledger import Ledger
from memory_pipeline.reading.lists import EntityRow, EpisodeRow, InstructionRow, UncertaintyRow

_WIDTH = 100
_UNBOUNDED = "…"
_SHORT_ID = 8
_STYLES = {
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
    return Console() if sys.stdout.isatty() else Console(width=_WIDTH)


def facts_table(rows: Sequence[FactRow], *, with_history: bool) -> RenderableType:
    """Facts; with history each version with when it was known, the fact as one sentence."""
    return _history_table(rows) if with_history else _present_table(rows)


def _present_table(rows: Sequence[FactRow]) -> RenderableType:
    table = _table("Id", "Subject", "Predicate", "Object", "Valid", "Status", "Conf", "Ep")
    for row in rows:
        table.add_row(
            _cell(str(row.fact_id)[:_SHORT_ID]),
            _cell(row.subject),
            _cell(row.predicate),
            _cell(row.object),
            _period(row.valid_from, row.valid_until),
            _status(row.status),
            _cell(f"{row.confidence:.2f}"),
            _number(row.episode),
        )
    return _or_nothing(table, "no facts")


def _history_table(rows: Sequence[FactRow]) -> RenderableType:
    table = _table("Id", "Fact", "Valid", "Known", "Status", "Ep")
    for row in rows:
        table.add_row(
            _cell(str(row.fact_id)[:_SHORT_ID]),
            _cell(f"{row.subject} {row.predicate} {row.object}"),
            _period(row.valid_from, row.valid_until),
            _period(row.known_from, row.known_until),
            _status(row.status),
            _number(row.episode),
        )
    return _or_nothing(table, "no facts")


def entities_table(rows: Sequence[EntityRow]) -> RenderableType:
    """Entities with their other names."""
    table = _table("Name", "Type", "Category", "Other names", "Facts", "Last linked")
    for row in rows:
        table.add_row(
            _cell(row.name),
            _cell(row.type),
            _cell(row.memory_category),
            _cell(", ".join(row.aliases)),
            _number(row.facts),
            _date(row.last_linked_at),
        )
    return _or_nothing(table, "no entities")


def episodes_table(rows: Sequence[EpisodeRow]) -> RenderableType:
    """Episodes; an error is shown below its status."""
    table = _table("Pos", "Ordinal", "Thread", "Messages", "Time", "Status", "Tries", "Summary")
    for row in rows:
        status = _status(row.status)
        if row.error:
            status.append(f"\n{_harmless(row.error)}", style="dim")
        table.add_row(
            _number(row.position),
            _number(row.ordinal),
            _cell(row.thread_id),
            _cell(f"{row.first_seq}-{row.last_seq}"),
            _period(row.started_at, row.ended_at),
            status,
            _number(row.attempts),
            _cell(row.summary_status),
        )
    return _or_nothing(table, "no episodes")


def instructions_table(rows: Sequence[InstructionRow]) -> RenderableType:
    """Instructions; a revoked one says so."""
    table = _table("Label", "Description", "State", "Known", "Said")
    for row in rows:
        state = Text("active", "green") if row.is_active else Text("revoked", "dim")
        table.add_row(
            _cell(row.label),
            _cell(row.description),
            state,
            _period(row.known_from, row.known_until),
            _cell(row.quote or ""),
        )
    return _or_nothing(table, "no instructions")


def uncertainties_table(rows: Sequence[UncertaintyRow]) -> RenderableType:
    """Open points, with the episodes that opened and settled them."""
    table = _table("About", "Why it is open", "Opened by", "Settled by")
    for row in rows:
        table.add_row(
            _cell(row.about),
            _cell(row.reason),
            _number(row.opened_by),
            _number(row.resolved_by),
        )
    return _or_nothing(table, "no open points")


def ledger_tables(account: Ledger) -> list[RenderableType]:
    """Counts side by side, then whether they add up."""
    messages = dict(account.messages)
    parts: list[RenderableType] = [
        _counts("Messages", messages, account.reasons),
        _counts("Candidates", account.candidates, {}),
        _counts("Episodes", account.episodes, {}),
    ]
    if account.adds_up:
        return [*parts, Text("It adds up.", "green")]
    problems = Text("It does not add up:", "red")
    for problem in account.problems:
        problems.append(f"\n  {problem}")
    return [*parts, problems]


def traces_table(rows: Sequence[Trace]) -> RenderableType:
    """What became of the words asked for."""
    table = _table("What", "Outcome", "Detail", "Said", "Ep", "Fact")
    for row in rows:
        table.add_row(
            _cell(row.kind),
            _status(row.outcome),
            _cell(row.detail),
            _cell(row.quote[:_WIDTH]),
            _number(row.episode),
            _cell(str(row.fact_id)[:_SHORT_ID] if row.fact_id else ""),
        )
    return _or_nothing(table, "nothing in memory or in the messages holds these words")


def explanation_tables(found: Explanation) -> list[RenderableType]:
    """The fact, then a table for each kind of ground it has."""
    head = Text(_harmless(found.statement), "bold")
    head.append(f"  {found.status}\n", style=_STYLES.get(found.status, ""))
    head.append(f"{found.fact_id} of tenant {_harmless(found.tenant)}", style="dim")
    parts = (
        ("Versions", _versions(found)),
        ("Said", _evidence(found)),
        ("Candidates", _candidates(found)),
        ("Verdicts", _verdicts(found)),
        ("Related", _related(found)),
    )
    return [head, *(part for part in starmap(_titled, parts) if part is not None)]


def _versions(found: Explanation) -> Table:
    table = _table("Ver", "Valid", "Known", "Status", "Conf", "Tier", "Opened", "Ended", "Recipe")
    for line in found.versions:
        ended = _number(line.ended_by)
        if line.ended_reason:
            ended.append(f" {line.ended_reason}")
        table.add_row(
            _number(line.version),
            _period(line.valid_from, line.valid_until),
            _period(line.known_from, line.known_until),
            _status(line.status),
            _cell(f"{line.confidence:.2f}"),
            _cell(line.tier),
            _number(line.opened_by),
            ended,
            _cell(line.recipe_id[:_SHORT_ID]),
        )
    return table


def _evidence(found: Explanation) -> Table:
    table = _table("Kind", "Ep", "When", "Thread", "Message")
    for line in found.evidence:
        table.add_row(
            _cell(line.kind),
            _number(line.episode),
            _date(line.said_at),
            _cell(f"{line.thread_id} #{line.seq}" if line.thread_id else ""),
            _marked(line.message_text, line.quote, line.span_start, line.span_end),
        )
    return table


def _candidates(found: Explanation) -> Table:
    table = _table("Ep", "Ref", "Outcome", "Candidate", "Detail")
    for line in found.candidates:
        table.add_row(
            _number(line.episode),
            _cell(line.ref),
            _status(line.outcome),
            _cell(f"{line.subject} {line.predicate} {line.object}"),
            _cell(line.detail),
        )
    return table


def _verdicts(found: Explanation) -> Table:
    table = _table("Ep", "Believed", "Newcomer", "Verdict", "Judge", "Why")
    for line in found.verdicts:
        verdict = f"{line.verdict} (corrected)" if line.is_correction else line.verdict
        table.add_row(
            _number(line.episode),
            _cell(line.believed or ""),
            _cell(line.newcomer or line.claim_ref),
            _cell(verdict),
            _cell(line.judge),
            _cell(f"{line.why}: {line.reason}"),
        )
    return table


def _related(found: Explanation) -> Table:
    table = _table("Relation", "Id", "Fact", "Valid")
    for line in found.related:
        table.add_row(
            _cell(line.relation),
            _cell(str(line.fact_id)[:_SHORT_ID]),
            _cell(line.statement),
            _period(line.valid_from, line.valid_until),
        )
    return table


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for name in columns:
        # Short columns stay whole, so that only text wraps.
        is_whole = name in {"Id", "Valid", "Known", "Status", "Ep", "Time", "When"}
        table.add_column(name, no_wrap=is_whole, overflow="fold")
    return table


def _titled(title: str, table: Table) -> Table | None:
    if not table.row_count:
        return None
    table.title = title
    table.title_justify = "left"
    return table


def _or_nothing(table: Table, nothing: str) -> RenderableType:
    return table if table.row_count else Text(nothing, "dim")


def _counts(title: str, counts: Mapping[str, int], reasons: Mapping[str, int]) -> RenderableType:
    table = _table(title, "")
    table.columns[1].justify = "right"
    for name, count in _with_parts(counts, reasons):
        table.add_row(name, _number(count))
    return _or_nothing(table, f"no {title.lower()}")


def _with_parts(
    counts: Mapping[str, int], reasons: Mapping[str, int]
) -> Iterator[tuple[Text, int]]:
    for name, count in counts.items():
        yield _status(name), count
        if name == "nothing_durable":
            for reason, part in reasons.items():
                yield Text(f"  {_harmless(reason)}", "dim"), part


def _period(start: datetime | None, end: datetime | None) -> Text:
    if start is None and end is None:
        return Text(_UNBOUNDED)
    return Text(f"{_day(start)} → {_day(end)}")


def _date(instant: datetime | None) -> Text:
    return Text(_day(instant) if instant else "")


def _day(instant: datetime | None) -> str:
    return _UNBOUNDED if instant is None else instant.date().isoformat()


def _status(status: str) -> Text:
    return Text(_harmless(status), _STYLES.get(status, ""))


def _number(number: int | None) -> Text:
    return Text("" if number is None else str(number))


def _marked(text: str | None, quote: str, start: int | None, end: int | None) -> Text:
    """The message with its quote underlined; the quote alone where there is no message."""
    if text is None or start is None or end is None:
        return _cell(quote)
    before, after = text[max(start - _WIDTH, 0) : start], text[end : end + _WIDTH]
    return Text.assemble(
        _harmless(before), (_harmless(text[start:end]), "underline"), _harmless(after)
    )


def _cell(text: str) -> Text:
    return Text(_harmless(text))


def _harmless(text: str) -> str:
    """Stored text without line breaks and control characters, which could forge output."""
    return "".join(char if char.isprintable() else " " for char in text)
