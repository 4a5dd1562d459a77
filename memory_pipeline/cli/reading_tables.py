"""How lists of what was read look on a terminal: tables of at most 100 columns.

Belongs here: columns and their order. Does not: shared cells (cells), explain (explain_tables).
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from rich.console import RenderableType
from rich.text import Text

from memory_pipeline.cli.cells import (
    SHORT_ID,
    date_cell,
    harmless,
    harmless_lines,
    make_table,
    number_cell,
    or_nothing,
    period_cell,
    status_cell,
    text_cell,
    titled,
)
from memory_pipeline.reading.facts import FactRow
from memory_pipeline.reading.ledger import Ledger
from memory_pipeline.reading.lists import EntityRow, EpisodeRow, InstructionRow, UncertaintyRow
from memory_pipeline.reading.recipes import RecipeRow

_DIGEST = re.compile(r"\b([0-9a-f]{16})[0-9a-f]{48}\b")
"""Its beginning is enough to tell prompts apart; the whole digest is in the JSON."""


def facts_table(rows: Sequence[FactRow], *, with_history: bool) -> RenderableType:
    """Facts; with history each version with when it was known, the fact as one sentence."""
    return _history_table(rows) if with_history else _present_table(rows)


def _present_table(rows: Sequence[FactRow]) -> RenderableType:
    table = make_table("Id", "Subject", "Predicate", "Object", "Valid", "Status", "Conf", "Ep")
    for row in rows:
        table.add_row(
            text_cell(str(row.fact_id)[:SHORT_ID]),
            text_cell(row.subject),
            text_cell(row.predicate),
            text_cell(row.object),
            period_cell(row.valid_from, row.valid_until),
            status_cell(row.status),
            text_cell(f"{row.confidence:.2f}"),
            number_cell(row.episode),
        )
    return or_nothing(table, "no facts")


def _history_table(rows: Sequence[FactRow]) -> RenderableType:
    table = make_table("Id", "Fact", "Valid", "Known", "Status", "Ep")
    for row in rows:
        table.add_row(
            text_cell(str(row.fact_id)[:SHORT_ID]),
            text_cell(f"{row.subject} {row.predicate} {row.object}"),
            period_cell(row.valid_from, row.valid_until),
            period_cell(row.known_from, row.known_until),
            status_cell(row.status),
            number_cell(row.episode),
        )
    return or_nothing(table, "no facts")


def entities_table(rows: Sequence[EntityRow]) -> RenderableType:
    """Entities with their other names."""
    table = make_table("Name", "Type", "Category", "Other names", "Facts", "Last linked")
    for row in rows:
        table.add_row(
            text_cell(row.name),
            text_cell(row.type),
            text_cell(row.memory_category),
            text_cell(", ".join(row.aliases)),
            number_cell(row.facts),
            date_cell(row.last_linked_at),
        )
    return or_nothing(table, "no entities")


def episodes_table(rows: Sequence[EpisodeRow]) -> RenderableType:
    """Episodes; the beginning of an error is shown below its status."""
    table = make_table("Pos", "Ordinal", "Thread", "Messages", "Time", "Status", "Tries", "Summary")
    for row in rows:
        status = status_cell(row.status)
        if row.error:
            status.append(f"\n{harmless(row.error)[:60]}", style="dim")
        table.add_row(
            number_cell(row.position),
            number_cell(row.ordinal),
            text_cell(row.thread_id),
            text_cell(f"{row.first_seq}-{row.last_seq}"),
            period_cell(row.started_at, row.ended_at),
            status,
            number_cell(row.attempts),
            text_cell(row.summary_status),
        )
    return or_nothing(table, "no episodes")


def instructions_table(rows: Sequence[InstructionRow]) -> RenderableType:
    """Instructions; a revoked one says so."""
    table = make_table("Label", "Description", "State", "Known", "Said")
    for row in rows:
        state = Text("active", "green") if row.is_active else Text("revoked", "dim")
        table.add_row(
            text_cell(row.label),
            text_cell(row.description),
            state,
            period_cell(row.known_from, row.known_until),
            text_cell(row.quote or ""),
        )
    return or_nothing(table, "no instructions")


def uncertainties_table(rows: Sequence[UncertaintyRow]) -> RenderableType:
    """Open points, with the episodes that opened and settled them."""
    table = make_table("About", "Why it is open", "Opened by", "Settled by")
    for row in rows:
        table.add_row(
            text_cell(row.about),
            text_cell(row.reason),
            number_cell(row.opened_by),
            number_cell(row.resolved_by),
        )
    return or_nothing(table, "no open points")


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


def _counts(title: str, counts: Mapping[str, int], reasons: Mapping[str, int]) -> RenderableType:
    table = make_table(title, "")
    table.columns[1].justify = "right"
    for name, count in _with_parts(counts, reasons):
        table.add_row(name, number_cell(count))
    return or_nothing(table, f"no {title.lower()}")


def _with_parts(
    counts: Mapping[str, int], reasons: Mapping[str, int]
) -> Iterator[tuple[Text, int]]:
    for name, count in counts.items():
        yield status_cell(name), count
        if name == "nothing_durable":
            for reason, part in reasons.items():
                yield Text(f"  {harmless(reason)}", "dim"), part


def recipes_tables(rows: Sequence[RecipeRow]) -> list[RenderableType]:
    """Who used which recipe since when, then what each recipe consists of."""
    table = make_table(
        "Id", "Tenant", "Since", "Episodes", "Status", "Changed since the one before"
    )
    for row in rows:
        table.add_row(
            text_cell(row.recipe_id),
            text_cell(row.tenant),
            date_cell(row.since),
            number_cell(row.folds),
            status_cell("live") if row.is_live else text_cell("earlier"),
            text_cell(", ".join(row.changes)),
        )
    distinct = {row.recipe_id: row for row in rows}
    return [
        or_nothing(table, "no recipes yet: memory-pipeline run"),
        *map(_recipe, distinct.values()),
    ]


def _recipe(row: RecipeRow) -> RenderableType:
    table = make_table("Part", "Is")
    parts = {
        "extractor": row.extractor.replace("; ", "\n"),
        "judge": row.judge,
        "guard": row.guard,
        "resolver": row.resolver,
        "embedding profile": row.embedding_profile,
        "prompts": "\n".join(f"{prompt.label}  {prompt.digest[:16]}" for prompt in row.prompts),
        "settings": ", ".join(f"{name} {value}" for name, value in row.settings.items()),
    }
    for name, text in parts.items():
        if text:
            table.add_row(name, Text(_DIGEST.sub(r"\1", harmless_lines(text))))
    return titled(f"Recipe {row.recipe_id}", table) or table
