"""How one fact in depth, what became of words, and model requests look on a terminal.

Belongs here: their tables and text. Does not: lists (reading_tables), shared cells (cells).
"""

from collections.abc import Iterator, Sequence
from itertools import starmap

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from memory_pipeline.cli.cells import (
    SHORT_ID,
    STYLES,
    WIDTH,
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
from memory_pipeline.domain.model import Usage
from memory_pipeline.reading.explain import Explanation
from memory_pipeline.reading.requests import AnswerShown, EpisodeRequests, RequestShown
from memory_pipeline.reading.why_not import Trace


def traces_table(rows: Sequence[Trace]) -> RenderableType:
    """What became of the words asked for."""
    table = make_table("What", "Outcome", "Detail", "Said", "Ep", "Tier", "Fact")
    for row in rows:
        table.add_row(
            text_cell(row.kind),
            status_cell(row.outcome),
            text_cell(row.detail),
            text_cell(row.quote[:WIDTH]),
            number_cell(row.episode),
            text_cell(row.tier or ""),
            text_cell(str(row.fact_id)[:SHORT_ID] if row.fact_id else ""),
        )
    return or_nothing(table, "nothing in memory or in the messages holds these words")


def explanation_tables(found: Explanation) -> list[RenderableType]:
    """The fact, then a table for each kind of ground it has."""
    head = Text(harmless(found.statement), "bold")
    head.append(f"  {found.status}\n", style=STYLES.get(found.status, ""))
    head.append(f"{found.fact_id} of tenant {harmless(found.tenant)}", style="dim")
    parts = (
        ("Versions", _versions(found)),
        ("Said", _evidence(found)),
        ("Candidates", _candidates(found)),
        ("Verdicts", _verdicts(found)),
        ("Related", _related(found)),
        ("Extracted by", _extractions(found)),
    )
    return [head, *(part for part in starmap(titled, parts) if part is not None)]


def episode_head(found: EpisodeRequests) -> list[RenderableType]:
    """Which episode it is and what became of it."""
    head = Text(f"Episode {found.episode} of tenant {harmless(found.tenant)}", "bold")
    head.append(f", thread {harmless(found.thread_id)}", style="not bold")
    return [head, Text(harmless(found.note), "yellow")]


def request_texts(requests: Sequence[RequestShown]) -> list[Text]:
    """Each request as the model gets it, then its answers word for word."""
    return [part for request in requests for part in _request_parts(request)] or [
        Text(
            "No model was asked. What one would be asked about an episode shows\n"
            "memory-pipeline explain --request --tenant NAME --episode N",
            "dim",
        )
    ]


def _request_parts(request: RequestShown) -> Iterator[Text]:
    yield Text("\n" + harmless_lines(request.rendered))
    for answer in request.answers:
        yield Text(f"\n===== answer {answer.attempt} =====", "bold")
        yield Text(_about(answer), "" if answer.is_valid else "red")
        yield Text(harmless_lines(answer.text) or "(empty)")


def _about(answer: AnswerShown) -> str:
    state = "used" if answer.is_valid else f"refused: {harmless(answer.problem)}"
    finish = f"finish reason {harmless(answer.finish_reason)}, " if answer.finish_reason else ""
    seconds = answer.latency_ms / 1_000
    return f"{state}; {finish}{_cost(answer.usage)}, {seconds:.1f} s, {answer.recorded_at:%Y-%m-%d}"


def _cost(usage: Usage) -> str:
    cached = f" ({usage.cached_tokens} cached)" if usage.cached_tokens else ""
    price = "no price known" if usage.price_usd is None else f"${usage.price_usd:.4f}"
    return f"{usage.prompt_tokens} tokens in{cached}, {usage.completion_tokens} out, {price}"


def _versions(found: Explanation) -> Table:
    table = make_table("Ver", "Valid", "Known", "Status", "Conf", "Ep", "Ended by", "Recipe")
    for line in found.versions:
        ended = number_cell(line.ended_by)
        if line.ended_reason and line.ended_reason != line.status.value:
            ended.append(f" {line.ended_reason}")
        table.add_row(
            number_cell(line.version),
            period_cell(line.valid_from, line.valid_until),
            period_cell(line.known_from, line.known_until),
            status_cell(line.status),
            text_cell(f"{line.confidence:.2f}"),
            number_cell(line.opened_by),
            ended,
            text_cell(line.recipe_id[:SHORT_ID]),
        )
    return table


def _evidence(found: Explanation) -> Table:
    table = make_table("Kind", "Ep", "When", "Thread", "Message")
    for line in found.evidence:
        table.add_row(
            text_cell(line.kind),
            number_cell(line.episode),
            date_cell(line.said_at),
            text_cell(f"{line.thread_id} #{line.seq}" if line.thread_id else ""),
            _marked(line.message_text, line.quote, line.span_start, line.span_end),
        )
    return table


def _candidates(found: Explanation) -> Table:
    table = make_table("Ep", "Ref", "Outcome", "Candidate", "Detail")
    for line in found.candidates:
        table.add_row(
            number_cell(line.episode),
            text_cell(line.ref),
            status_cell(line.outcome),
            text_cell(f"{line.subject} {line.predicate} {line.object}"),
            text_cell(line.detail),
        )
    return table


def _verdicts(found: Explanation) -> Table:
    table = make_table("Ep", "Believed", "Newcomer", "Verdict", "Judge", "Why")
    for line in found.verdicts:
        verdict = f"{line.verdict} (corrected)" if line.is_correction else line.verdict
        table.add_row(
            number_cell(line.episode),
            text_cell(line.believed or ""),
            text_cell(line.newcomer or line.claim_ref),
            text_cell(verdict),
            text_cell(line.judge),
            text_cell(f"{line.why}: {line.reason}"),
        )
    return table


def _related(found: Explanation) -> Table:
    table = make_table("Relation", "Id", "Fact", "Valid")
    for line in found.related:
        table.add_row(
            text_cell(line.relation),
            text_cell(str(line.fact_id)[:SHORT_ID]),
            text_cell(line.statement),
            period_cell(line.valid_from, line.valid_until),
        )
    return table


def _marked(text: str | None, quote: str, start: int | None, end: int | None) -> Text:
    """The message with its quote underlined; the quote alone where there is no message."""
    if text is None or start is None or end is None:
        return text_cell(quote)
    before, after = text[max(start - WIDTH, 0) : start], text[end : end + WIDTH]
    return Text.assemble(
        harmless(before), (harmless(text[start:end]), "underline"), harmless(after)
    )


def _extractions(found: Explanation) -> Table:
    table = make_table("Ep", "Tier", "Why", "Model", "Cost", "Requests")
    for line in found.extractions:
        digests = [digest[:SHORT_ID] for digest in line.request_digests]
        table.add_row(
            number_cell(line.episode),
            text_cell(line.tier),
            text_cell(line.tier_reason),
            text_cell(", ".join(line.models)),
            text_cell(_cost(line.usage) if digests else ""),
            text_cell(" ".join(digests)),
        )
    return table
