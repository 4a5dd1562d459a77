"""The picture of time: one axis for the page, and a bar in SVG for each fact.

Belongs here: where an instant lies on the axis, ticks, bars. Does not: what is shown (shown) and
how it looks (style.css). Places are in percent, so that a bar is as wide as its column.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from markupsafe import Markup

from memory_pipeline.reading.facts import FactRow
from memory_pipeline.report.shown import ShownFact
from memory_pipeline.report.words import (
    day_words,
    month_words,
    period_words,
    valid_words,
)

_LEAST_SPAN = timedelta(days=28)
_MAX_VERSIONS = 5
_MIN_WIDTH = 0.9
"""Percent; what is shorter is drawn as long as this, or nobody would see it."""

_LABEL_SPACE = 20.0
"""Percent of the narrowest column that a tick's label takes with some air."""
_EDGE = 8.5
"""Percent at each end where a label would stick out; such ticks stay without one."""

_STEPS = (
    *((0, days) for days in (1, 2, 7, 14)),
    *((months, 0) for months in (1, 2, 3, 6)),
    *((12 * years, 0) for years in (1, 2, 5, 10, 20, 50, 100, 500)),
)
"""Distances of ticks, in months and days."""


@dataclass(frozen=True)
class Tick:
    """A line of the axis; the label is empty where it would not fit."""

    place: float
    label: str


@dataclass(frozen=True)
class Axis:
    """The time from `start` to `end`, `today` on it where it lies within."""

    start: datetime
    end: datetime
    today: datetime

    def place(self, instant: datetime) -> float:
        """Percent of the way from start to end; what lies outside is clipped to the ends."""
        share = (instant - self.start) / (self.end - self.start)
        return round(100 * min(max(share, 0.0), 1.0), 2)

    def ticks(self) -> tuple[Tick, ...]:
        """Lines as close as their labels allow."""
        span = self.end - self.start
        for months, days in _STEPS:
            if timedelta(days=30.4 * months + days) / span * 100 >= _LABEL_SPACE:
                break
        places = ((at, self.place(at)) for at in _rounds(self.start, self.end, months, days))
        return tuple(
            Tick(place, _tick_words(at, months) if _EDGE <= place <= 100 - _EDGE else "")
            for at, place in places
        )

    @property
    def today_place(self) -> float | None:
        """Where today is, None when it lies outside."""
        return self.place(self.today) if self.start < self.today < self.end else None

    @property
    def words(self) -> str:
        """What the axis covers."""
        return period_words(self.start, self.end)


def axis_of(facts: Sequence[ShownFact], talk: tuple[datetime, datetime], today: datetime) -> Axis:
    """The time of the conversation, widened to what facts say, at most twice its length each way.

    A birth in 1960 must not squeeze a year of chats into a dot: it lies beyond the axis and is
    told in words.
    """
    first, last = talk
    span = max(last - first, _LEAST_SPAN)
    bounds = [
        bound
        for fact in facts
        for bound in (fact.last.valid_from, fact.last.valid_until, fact.versions[0].known_from)
        if bound is not None and _is_within(bound, first, last, span)
    ]
    low, high = min([first, *bounds]), max([last, *bounds])
    missing = max(_LEAST_SPAN - (high - low), timedelta(0)) / 2
    edge = (high - low) * 0.03
    return Axis(_moved(low, -missing - edge), _moved(high, missing + 2 * edge), today)


def _moved(instant: datetime, by: timedelta) -> datetime:
    """The instant moved, but not out of the years that there are."""
    try:
        return instant + by
    except OverflowError:
        return instant


def _is_within(bound: datetime, first: datetime, last: datetime, span: timedelta) -> bool:
    # Written with differences: a sum could leave the years that a datetime can hold.
    return first - bound <= span and bound - last <= span


def _rounds(start: datetime, end: datetime, months: int, days: int) -> Iterator[datetime]:
    """Round instants of the step after the start and before the end."""
    dates = _months(start, end, months) if months else _days(start, end, days)
    instants = (datetime.combine(each, time.min, UTC) for each in dates)
    return (at for at in instants if start < at < end)


def _days(start: datetime, end: datetime, step: int) -> Iterator[date]:
    first = start.toordinal() + -start.toordinal() % step
    return map(date.fromordinal, range(first, end.toordinal() + 1, step))


def _months(start: datetime, end: datetime, step: int) -> Iterator[date]:
    first = -(-(start.year * 12 + start.month - 1) // step) * step
    for number in range(first, end.year * 12 + end.month, step):
        yield date(number // 12, number % 12 + 1, 1)


def _tick_words(at: datetime, months: int) -> str:
    if months >= 12:
        return str(at.year)
    return month_words(at) if months else day_words(at)


SCALE = Markup(
    '<svg class="scale" width="100%" height="22" aria-hidden="true" focusable="false">'
    '<use href="#scale"/></svg>'
)
"""The axis with its labels, to stand above bars."""

_TICK = Markup('<line class="tick" x1="{0}%" x2="{0}%" y1="17" y2="22"/>')
_LABEL = Markup('<text class="label" x="{}%" y="12" text-anchor="middle">{}</text>')
_SHARED = Markup(
    '<svg class="defs" width="0" height="0" aria-hidden="true" focusable="false"><defs>'
    '<g id="grid">{}</g><g id="scale">{}</g>'
    '<pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(45)"><rect class="hatch-back" width="6" height="6"/>'
    '<rect class="hatch-line" width="2.4" height="6"/></pattern>'
    '<pattern id="dots" width="5" height="5" patternUnits="userSpaceOnUse">'
    '<rect class="dots-back" width="5" height="5"/><circle class="dots-dot" cx="2.5" cy="2.5" '
    'r="1.2"/></pattern></defs></svg>'
)
_LINE = Markup('<line class="{1}" x1="{0}%" x2="{0}%" y1="0" y2="100%"/>')
_BAR = Markup(
    '<svg class="bar" role="img" width="100%" height="26"><title>{title}</title>'
    '<use href="#grid"/>{parts}</svg>'
)
_VALID = Markup('<rect class="v {kind}" x="{x}%" width="{width}%" y="5" height="11" rx="{rx}"/>')
_STRIKE = Markup('<line class="strike" x1="{}%" x2="{}%" y1="10.5" y2="10.5"/>')
_KNOWN = Markup('<rect class="k" x="{x}%" width="{width}%" y="20" height="3"/>')
_ONWARD = Markup(
    '<svg x="100%" overflow="visible"><path class="on {}" d="M-8 6l5 4.5-5 4.5"/></svg>'
)
_BACK = Markup('<svg overflow="visible"><path class="on {}" d="M8 6l-5 4.5 5 4.5"/></svg>')


def draw_shared(axis: Axis) -> Markup:
    """What all bars and scales refer to: lines, labels and patterns; once in a page."""
    ticks = axis.ticks()
    lines = [_LINE.format(tick.place, "grid") for tick in ticks]
    if axis.today_place is not None:
        lines.append(_LINE.format(axis.today_place, "today"))
    scale = [_TICK.format(tick.place) for tick in ticks]
    scale += [_LABEL.format(tick.place, tick.label) for tick in ticks if tick.label]
    return _SHARED.format(Markup("").join(lines), Markup("").join(scale))


def draw_bar(fact: ShownFact, axis: Axis) -> Markup:
    """Valid time as a bar in the pattern of its status, known time as a thin band under it."""
    parts = [*_valid_parts(fact.last, axis), *_known_parts(fact.versions[-_MAX_VERSIONS:], axis)]
    return _BAR.format(title=bar_words(fact, axis.today), parts=Markup("").join(parts))


def bar_words(fact: ShownFact, today: datetime) -> str:
    """What a bar says, in words."""
    row, first = fact.last, fact.versions[0]
    valid = valid_words(row.valid_from, row.valid_until, today)
    return (
        f"{row.status.value}: valid {valid}; "
        f"known {period_words(first.known_from, row.known_until)}"
    )


def _valid_parts(row: FactRow, axis: Axis) -> Iterator[Markup]:
    kind = row.status.value
    start, until = row.valid_from, row.valid_until
    is_before = until is not None and until <= axis.start
    is_after = start is not None and start >= axis.end
    if not is_before and not is_after:
        x, width = _extent(start or axis.start, until or axis.end, axis)
        is_open = until is None or until > axis.end or start is None or start < axis.start
        yield _VALID.format(kind=kind, x=x, width=width, rx=1 if is_open else 3)
        if kind == "invalidated":
            yield _STRIKE.format(x, round(x + width, 2))
    if is_before or start is None or start < axis.start:
        yield _BACK.format(kind)
    if is_after or until is None or until > axis.end:
        yield _ONWARD.format(kind)


def _known_parts(versions: Sequence[FactRow], axis: Axis) -> Iterator[Markup]:
    for row in versions:
        x, width = _extent(row.known_from, row.known_until or axis.end, axis)
        yield _KNOWN.format(x=x, width=width)


def _extent(start: datetime, until: datetime, axis: Axis) -> tuple[float, float]:
    """Place and width in percent; never thinner than can be seen, never beyond the end."""
    x, end = axis.place(start), axis.place(until)
    width = max(end - x, _MIN_WIDTH)
    return round(min(x, 100 - width), 2), round(width, 2)
