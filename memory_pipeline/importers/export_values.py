"""What the loose values of an export mean: ids, instants, texts, lists.

What belongs here: typed readings of one untyped JSON value. What does not: field names, which
each format knows for itself.
"""

import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import cast

from memory_pipeline.importers.text_border import clean_text

_NUMBER = re.compile(r"\d{9,}(?:\.\d+)?")
# Zero times of other languages (year 1, 1970) and far futures say nothing about when.
_FIRST = datetime(1970, 1, 2, tzinfo=UTC)
_LAST = datetime(2200, 1, 1, tzinfo=UTC)


def mapping_of(value: object) -> Mapping[str, object]:
    """The JSON object, or an empty one for anything else."""
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}


def list_of(value: object) -> list[object]:
    """The JSON array, or an empty one for anything else."""
    return cast("list[object]", value) if isinstance(value, list) else []


def text_of(value: object) -> str:
    """The string, cleaned; anything else is no text."""
    return clean_text(value) if isinstance(value, str) else ""


def id_of(value: object) -> str | None:
    """An id given as a non-blank string or a whole number."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return text_of(value).strip() or None


def first_of(mapping: Mapping[str, object], names: Iterable[str]) -> object:
    """The first of the named fields that holds something, else None."""
    return next((v for v in map(mapping.get, names) if v is not None and v != ""), None)


def instant_of(value: object) -> datetime | None:
    """The aware UTC instant of ISO text (naive: UTC) or an epoch number in s, ms, us or ns.

    None for what is absent and for what is no plausible instant.
    """
    try:
        instant = _parse_instant(value)
    except (ValueError, OverflowError, OSError):
        return None
    return instant if instant is not None and _FIRST <= instant < _LAST else None


def _parse_instant(value: object) -> datetime | None:
    if isinstance(value, str):
        text = value.strip()
        if not _NUMBER.fullmatch(text):
            parsed = datetime.fromisoformat(text.removesuffix(" UTC"))
            return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
        value = float(text)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # Seconds stay under 1e11 until the year 5138; each finer unit is a thousand times that.
    steps = 0 if abs(value) < 1e11 else min(3, math.floor(math.log10(abs(value)) - 8) // 3)
    return datetime.fromtimestamp(value / 1000**steps, UTC)
