"""The page: a report put into the template, with style and script inside and nothing outside.

Belongs here: what the template is given, the limits of its lists, the content policy. Does not:
which facts (shown), bars (timeline), single values in words (words), markup (page.html).
"""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Generic, TypeVar
from uuid import UUID

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from memory_pipeline.domain.fact import FactStatus
from memory_pipeline.reading.ledger import Ledger
from memory_pipeline.reading.report import MemoryReport
from memory_pipeline.report import words
from memory_pipeline.report.shown import MAX_FACTS, Selection, ShownFact, select_facts
from memory_pipeline.report.timeline import SCALE, axis_of, draw_bar, draw_shared

MAX_BYTES = 10_000_000
"""No page is larger, whatever is stored: every list and every text in it has a limit."""

_MAX_PROFILES = 60
_MAX_INSIGHTS = 100
_MAX_ITEMS = 100
_MAX_REASONS = 30
_OPEN_UP_TO = 60
"""Facts with which a page needs no folding; beyond, only the user's section is open."""

_END_WORDS = {
    "not_the_user": "said by somebody else",
    "late": "late: waits for a replay",
    "given_up": "given up after failed attempts",
    "pending": "not processed yet",
    "evidence": "evidence of facts",
    "instruction": "gave an instruction",
    "truncated": "too long: only the beginning was read",
    "uncertain": "left an open point",
    "dropped": "candidates dropped by a guard",
    "nothing_durable": "nothing durable",
    "unaccounted": "unaccounted for",
}

_Item = TypeVar("_Item")


@dataclass(frozen=True)
class Part(Generic[_Item]):
    """The beginning of a list that has room in the page; `left_out` counts the rest."""

    items: tuple[_Item, ...]
    left_out: int


@dataclass(frozen=True)
class Account:
    """One table of the ledger: lines of (words, count, lines that break it down)."""

    title: str
    lines: tuple[tuple[str, int, tuple[tuple[str, int], ...]], ...]

    @property
    def total(self) -> int:
        """The sum of the lines."""
        return sum(count for _, count, _ in self.lines)


def render_page(report: MemoryReport) -> str:
    """The whole page: one HTML document without any reference to the outside.

    Equal reports give equal pages; the only time in it that is not of the memory is `valid_at`.
    """
    selection = select_facts(report.facts)
    talk = (report.head.first_at or report.valid_at, report.head.newest_at or report.valid_at)
    every = [fact for subject in selection.subjects for fact in subject.facts]
    axis = axis_of(every, talk, report.valid_at)
    style, script = _resource("style.css"), _resource("page.js")
    return (
        _environment()
        .get_template("page.html")
        .render(
            report=report,
            style=Markup(style),  # noqa: S704 -- our own file
            script=Markup(script),  # noqa: S704 -- our own file
            policy=_content_policy(style, script),
            selection=selection,
            counts=_counts(selection),
            entities={entity.name: entity for entity in reversed(report.entities)},
            is_open=len(every) <= _OPEN_UP_TO,
            anchors=_anchors([*every, *selection.insights]),
            axis=axis,
            shared=draw_shared(axis),
            scale=SCALE,
            bar=lambda fact: draw_bar(fact, axis),
            profiles=_part(report.profiles, _MAX_PROFILES),
            insights=_part(selection.insights, _MAX_INSIGHTS),
            active=_part([i for i in report.instructions if i.is_active], _MAX_ITEMS),
            revoked=_part([i for i in report.instructions if not i.is_active], _MAX_ITEMS),
            open_points=_part(
                [u for u in report.uncertainties if u.resolved_at is None], _MAX_ITEMS
            ),
            settled=sum(u.resolved_at is not None for u in report.uncertainties),
            accounts=_accounts(report.ledger),
            problems=_part(report.ledger.problems, _MAX_REASONS),
            limits={"facts": MAX_FACTS, "megabytes": MAX_BYTES // 1_000_000},
        )
        + "\n"
    )


def _content_policy(style: str, script: str) -> str:
    """Only the page's own style and script, by their digests; nothing is fetched or sent."""
    return (
        "default-src 'none'; "
        f"style-src 'sha256-{_digest(style)}'; script-src 'sha256-{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _resource(name: str) -> str:
    return files("memory_pipeline.report").joinpath(name).read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("memory_pipeline.report", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        plain=words.plain,
        date=words.date_words,
        instant=words.instant_words,
        counted=words.count_words,
        name=words.name_words,
    )
    environment.globals.update(period=words.period_words, valid=words.valid_words)
    return environment


def _counts(selection: Selection) -> Mapping[str, int]:
    """Facts that hold, will and are history."""
    total = selection.total
    live, future = total[FactStatus.LIVE], total[FactStatus.FUTURE]
    return {"live": live, "future": future, "past": total.total() - live - future}


def _anchors(facts: Sequence[ShownFact]) -> dict[UUID, tuple[str, ShownFact]]:
    """Where in the page a fact is, for links to it."""
    return {fact.last.fact_id: (f"f{number}", fact) for number, fact in enumerate(facts, start=1)}


def _part(items: Sequence[_Item], limit: int) -> Part[_Item]:
    return Part(tuple(items[:limit]), max(len(items) - limit, 0))


def _accounts(ledger: Ledger) -> list[Account]:
    reasons = tuple(ledger.reasons.items())
    rest = sum(count for _, count in reasons[_MAX_REASONS:])
    shown = reasons[:_MAX_REASONS] + ((("other reasons", rest),) if rest else ())
    return [
        Account(
            "Messages",
            tuple(
                (_END_WORDS[end], count, shown if end == "nothing_durable" else ())
                for end, count in ledger.messages.items()
            ),
        ),
        Account("Claims", tuple((name, n, ()) for name, n in ledger.candidates.items())),
        Account("Episodes", tuple((name, n, ()) for name, n in ledger.episodes.items())),
    ]
