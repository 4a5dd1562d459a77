"""How one fact in depth, what became of words, and model requests look on a terminal.

Belongs here: their tables and text. Does not: lists (reading_tables), shared cells (cells), reading.
"""

def traces_table(rows: Sequence[Trace]) -> RenderableType:
    """What became of the words asked for."""
    table = make_table("What", "Outcome", "Detail", "Said", "Ep", "Fact")
    for row in rows:
        table.add_row(
            text_cell(row.kind),
            status_cell(row.outcome),
            text_cell(row.detail),
            text_cell(row.quote[:WIDTH]),
            number_cell(row.episode),
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
    )
    return [head, *(part for part in starmap(titled, parts) if part is not None)]


def _versions(found: Explanation) -> Table:
    table = make_table("Ver", "Valid", "Known", "Status", "Conf", "Tier", "Opened", "Ended", "Recipe")
    for line in found.versions:
        ended = number_cell(line.ended_by)
        if line.ended_reason:
            ended.append(f" {line.ended_reason}")
        table.add_row(
            number_cell(line.version),
            period_cell(line.valid_from, line.valid_until),
            period_cell(line.known_from, line.known_until),
            status_cell(line.status),
            text_cell(f"{line.confidence:.2f}"),
            text_cell(line.tier),
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
