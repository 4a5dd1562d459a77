"""The axis and its bars: what lies where, what is clipped, and labels that keep their distance."""

import re
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from memory_pipeline.domain.fact import FactStatus
from memory_pipeline.report.shown import ShownFact, facts_of
from memory_pipeline.report.timeline import Axis, axis_of, draw_bar, draw_shared
from memory_pipeline_tests.report.memories import EVERY_STATUS, NOW, at, fact

JANUARY, DECEMBER = datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 12, 31, tzinfo=UTC)
YEAR = Axis(JANUARY, DECEMBER, NOW)


def shown(*rows: object, **changes: object) -> ShownFact:
    """One fact of one version."""
    return ShownFact((fact(1, "lives in", "porto", **changes),))


def rects(drawing: str) -> dict[str, tuple[float, float]]:
    """Class -> place and width in percent of the boxes of a bar."""
    found = re.findall(r'<rect class="([^"]+)" x="([^"]+)%" width="([^"]+)%"', drawing)
    return {name: (float(x), float(width)) for name, x, width in found}


def test_a_bar_spans_its_valid_time_and_the_band_its_known_time() -> None:
    drawn = rects(
        draw_bar(
            shown(
                valid_from=at("2024-04-01"),
                valid_until=at("2024-07-01"),
                known_from=at("2024-05-01"),
                status=FactStatus.ENDED,
            ),
            YEAR,
        )
    )
    assert drawn["v ended"] == pytest.approx((24.93, 24.93), abs=0.1)
    assert drawn["k"] == pytest.approx((33.15, 66.85), abs=0.1)


def test_a_bar_without_an_end_runs_on_with_an_arrow() -> None:
    drawn = draw_bar(shown(valid_from=at("2024-07-01")), YEAR)
    assert sum(rects(drawn)["v live"]) == pytest.approx(100, abs=0.01)
    assert 'd="M-8' in drawn
    assert 'd="M8' not in drawn


def test_what_lies_wholly_beyond_the_axis_is_an_arrow_at_its_end() -> None:
    before = draw_bar(
        shown(valid_from=at("1990-01-01"), valid_until=at("1995-01-01"), status=FactStatus.ENDED),
        YEAR,
    )
    after = draw_bar(shown(valid_from=at("2060-01-01"), status=FactStatus.FUTURE), YEAR)
    assert [name for drawn in (before, after) for name in rects(drawn)] == ["k", "k"]
    assert ('d="M8' in before, 'd="M-8' in before) == (True, False)
    assert ('d="M8' in after, 'd="M-8' in after) == (False, True)


def test_a_moment_is_still_wide_enough_to_be_seen_and_stays_on_the_axis() -> None:
    drawn = rects(draw_bar(shown(valid_from=DECEMBER - timedelta(hours=1)), YEAR))
    x, width = drawn["v live"]
    assert width >= 0.5
    assert x + width <= 100


def test_an_invalidated_fact_is_struck_through() -> None:
    drawn = draw_bar(shown(status=FactStatus.INVALIDATED, known_until=at("2024-07-01")), YEAR)
    assert 'class="strike"' in drawn


def test_every_version_has_its_piece_of_the_known_band() -> None:
    berlin = facts_of(EVERY_STATUS)[0]
    assert draw_bar(berlin, YEAR).count('class="k"') == 2


def test_a_bar_says_in_words_what_it_draws() -> None:
    title = "<title>live: valid since 1 Feb 2024; known since 1 Feb 2024</title>"
    assert title in draw_bar(shown(), YEAR)


def test_a_distant_birth_does_not_stretch_the_axis_but_a_near_plan_does() -> None:
    facts = facts_of(
        [
            fact(1, "born in", "1985", valid_from=at("1985-04-02")),
            fact(2, "visits", "japan", valid_from=at("2025-03-01"), status=FactStatus.FUTURE),
        ]
    )
    axis = axis_of(facts, (JANUARY, DECEMBER), NOW)
    assert axis.start > datetime(2023, 11, 1, tzinfo=UTC)
    assert datetime(2025, 3, 1, tzinfo=UTC) < axis.end < datetime(2025, 6, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "instant", [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)]
)
def test_the_ends_of_the_calendar_can_be_drawn(instant: datetime) -> None:
    facts = facts_of([fact(1, "is", "old", valid_from=instant, known_from=instant)])
    axis = axis_of(facts, (instant, instant), instant)
    assert "<svg" in draw_shared(axis) + draw_bar(facts[0], axis)


@pytest.mark.parametrize("days", [1, 5, 30, 45, 100, 200, 400, 900, 2000, 5000, 40000])
def test_labels_keep_their_distance_and_stay_inside(days: int) -> None:
    axis = axis_of([], (JANUARY, JANUARY + timedelta(days=days)), NOW)
    places = [tick.place for tick in axis.ticks() if tick.label]
    assert 1 <= len(places) <= 5
    assert all(8 <= place <= 92 for place in places)
    assert all(later - earlier >= 18 for earlier, later in pairwise(places))


def test_today_is_a_line_only_where_it_lies_on_the_axis() -> None:
    assert 'class="today"' in draw_shared(YEAR)
    assert 'class="today"' not in draw_shared(Axis(JANUARY, DECEMBER, DECEMBER + timedelta(9)))
