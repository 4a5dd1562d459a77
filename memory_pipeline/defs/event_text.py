"""What the events of a single-episode run show of the conversation, as Markdown.

Belongs here: the fact table and the model calls of one episode. Does not: whether they may be
shown (`MEMORY_EVENT_TEXT`) and range runs, whose events hold ids and counts only.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime

import dagster as dg

from memory_pipeline.adapters.postgres import Database
from memory_pipeline.adapters.profile_builder import BuiltProfile
from memory_pipeline.defs.io_managers import FoldedEpisode
from memory_pipeline.domain.fact import FactVersion
from memory_pipeline.reading.requests import RequestShown, read_requests

_SHOWN_CHARS = 30_000
"""More is behind `explain --request`: every event row is read whole by the UI."""

_PROFILES_SHOWN = 5
_MARKS = re.compile(r"[\\`*_{}\[\]<>()#|!~&]")


def episode_text(
    database: Database, episode: FoldedEpisode
) -> Mapping[str, Mapping[str, dg.MarkdownMetadataValue]]:
    """Markdown entries by asset name: the calls of the extraction, the facts written."""
    walked = episode.walked
    calls = read_requests(database, walked.tenant_id, walked.guarded.request_digests)
    entries = {"facts": {"versions": dg.MetadataValue.md(_table(episode.plan.changes.versions))}}
    if calls:
        entries["extracted_graphs"] = {"model_calls": dg.MetadataValue.md(_calls(calls))}
    return entries


def profiles_table(profiles: Sequence[BuiltProfile]) -> dg.MarkdownMetadataValue:
    """The first few profiles that a run wrote."""
    lines = ["| entity | profile | dropped |", "|---|---|---|"]
    lines += [
        f"| {markdown_cell(p.name)} | {markdown_cell(p.text)} | {len(p.dropped)} |"
        for p in profiles[:_PROFILES_SHOWN]
    ]
    return dg.MetadataValue.md("\n".join(lines)[:_SHOWN_CHARS])


def _table(versions: Sequence[FactVersion]) -> str:
    lines = ["| fact | valid from | until | why it ends |", "|---|---|---|---|"]
    lines += [
        f"| {markdown_cell(v.statement)} | {_day(v.valid_from)} | {_day(v.valid_until)} "
        f"| {v.ended_reason or ''} |"
        for v in versions
    ]
    return "\n".join(lines)


def _calls(calls: Sequence[RequestShown]) -> str:
    parts = []
    for call in calls:
        parts += [f"### {call.purpose.value} with {call.model}", _fenced(call.rendered)]
        for answer in call.answers:
            verdict = "used" if answer.is_valid else f"refused: {answer.problem}"
            parts += [f"**Answer {answer.attempt}** ({verdict})", _fenced(answer.text)]
    return "\n\n".join(parts)[:_SHOWN_CHARS]


def _fenced(text: str) -> str:
    """A code block that the text can't end."""
    return "~~~~~~~~\n" + text.replace("~~~~", "~~ ~~") + "\n~~~~~~~~"


def markdown_cell(text: str) -> str:
    """Stored text as the text of one cell: no mark-up of its own, so no link and no picture."""
    return _MARKS.sub(r"\\\g<0>", " ".join(text.split())).replace("://", ":\u200b//")


def _day(instant: datetime | None) -> str:
    return instant.date().isoformat() if instant else "…"
