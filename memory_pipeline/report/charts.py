"""Small pictures for the event log: bars and a graph, as SVG of a few kilobytes.

Belongs here: drawing values that are given. Does not: reading them, and the page of a memory
(page, timeline). Colours are readable on light and on dark ground.
"""

from collections.abc import Mapping, Sequence
from math import cos, pi, sin

from markupsafe import escape

_WIDTH = 640
_BAR = 22
_LABEL = 170
_INK = "#7a7f87"
_FILL = "#4c78a8"
_ACCENT = "#e45756"
_NAME_CHARS = 24


def bar_chart(title: str, bars: Sequence[tuple[str, float]], accents: frozenset[str]) -> str:
    """Horizontal bars with their numbers, those named in `accents` in another colour."""
    height = 34 + _BAR * max(1, len(bars))
    longest = max((value for _, value in bars), default=0) or 1
    parts = [_text(8, 20, title, "bold")]
    for row, (label, value) in enumerate(bars):
        top = 34 + row * _BAR
        width = round((_WIDTH - _LABEL - 70) * value / longest, 1)
        colour = _ACCENT if label in accents else _FILL
        parts.append(_text(8, top + 13, label))
        parts.append(
            f'<rect x="{_LABEL}" y="{top}" width="{max(width, 1)}" height="{_BAR - 7}" rx="2" '
            f'fill="{colour}"/>'
        )
        parts.append(_text(_LABEL + width + 6, top + 13, f"{value:g}"))
    return _svg(height, parts)


def entity_graph(
    centre: str, links: Sequence[tuple[str, str, str]], types: Mapping[str, str]
) -> str:
    """Entities in a circle around `centre`, a line for each (from, predicate, to).

    At most as many as stay readable; the caller chooses which.
    """
    around = sorted({name for link in links for name in (link[0], link[2])} - {centre})
    height = 420
    middle_x, middle_y, radius = _WIDTH / 2, height / 2, 160
    places = {centre: (middle_x, middle_y)}
    for number, name in enumerate(around):
        angle = 2 * pi * number / max(1, len(around))
        places[name] = (middle_x + 1.35 * radius * cos(angle), middle_y + radius * sin(angle))
    parts = []
    for source, predicate, target in links:
        (x1, y1), (x2, y2) = places[source], places[target]
        parts.append(
            f'<line x1="{x1:.0f}" y1="{y1:.0f}" x2="{x2:.0f}" y2="{y2:.0f}" stroke="{_INK}" '
            f'stroke-opacity="0.5"><title>{escape(f"{source} {predicate} {target}")}</title></line>'
        )
    for name, (x, y) in places.items():
        colour = _ACCENT if name == centre else _FILL
        parts.append(
            f'<circle cx="{x:.0f}" cy="{y:.0f}" r="6" fill="{colour}">'
            f"<title>{escape(types.get(name, ''))}</title></circle>"
        )
        parts.append(_text(x, y - 10, _short(name), anchor="middle"))
    return _svg(height, parts)


def _short(name: str) -> str:
    return name if len(name) <= _NAME_CHARS else f"{name[: _NAME_CHARS - 1]}\u2026"


def _text(x: float, y: float, text: str, weight: str = "normal", anchor: str = "start") -> str:
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" font-weight="{weight}" text-anchor="{anchor}">'
        f"{escape(text)}</text>"
    )


def _svg(height: int, parts: Sequence[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        f'width="{_WIDTH}" height="{height}" font-family="sans-serif" font-size="12" '
        f'fill="{_INK}">{"".join(parts)}</svg>'
    )
