"""The items of an answer: fields and types repaired where the meaning is plain, the rest dropped.

Belongs here: one fact, one verdict and so on, each read by itself. Does not: which part of a text
is the answer (stages/answers), the form of the JSON (stages/repair_json).
"""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

from memory_pipeline.domain.changes import Verdict
from memory_pipeline.domain.extraction import (
    ExtractedEntity,
    ExtractedFact,
    ExtractedInstruction,
    ExtractedUncertainty,
)
from memory_pipeline.stages.repair_json import BrokenObject, Unread

Value = TypeVar("Value")

_ARRAY_NAMES = frozenset({"relationships", "literal_facts"})
_NOT_INSIDE = _ARRAY_NAMES | {"subject"}

MAX_ITEMS = 300
"""Items of one array that are read, values of a list counted; no honest answer has so many."""

LEARNING_CHARS = 500
SHOWN_CHARS = 500

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_YEAR_OR_MONTH = re.compile(r"\d{4}(?:-\d\d)?")

_FIELDS = {
    "quote": "source_quote", "evidence": "source_quote", "source": "source_quote",
    "verb": "predicate", "relation": "predicate", "key": "predicate", "value": "object",
    "target": "object", "start": "valid_from", "from": "valid_from", "end": "valid_until",
    "until": "valid_until", "valid_to": "valid_until", "category": "memory_category",
    "entity_type": "type", "entity_name": "name", "score": "confidence",
    "index": "pair", "pair_index": "pair", "pair_number": "pair", "id": "pair",
    "invalidate": "verdict", "decision": "verdict", "correction": "is_correction",
    "corrected": "is_correction", "learnings": "key_learnings", "key_points": "key_learnings",
    "name": "name", "text": "text",
}  # fmt: skip


class BadAnswerError(ValueError):
    """An answer that can't be read. `place` says where, `text` is the whole answer.

    As a text it is the fault with its place, fit to be shown to the model.
    """

    def __init__(self, message: str, place: str = "$", text: str = "") -> None:
        super().__init__(f"{message} (at {place})" if place not in ("", "$") else message)
        self.message = message
        self.place = place
        self.text = text


@dataclass(frozen=True, slots=True)
class DroppedItem:
    """An item that no value could be made of. `content` is what stood there, cut."""

    place: str
    reason: str
    content: str


@dataclass(frozen=True, slots=True)
class PairVerdict:
    """The judge's word on one pair; not `is_given` where it failed to say one."""

    verdict: Verdict
    is_correction: bool = False
    reason: str = ""
    is_given: bool = True


class ItemReader:
    """Reads the items of arrays and keeps account of those that can't be read."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.dropped: list[DroppedItem] = []

    def drop(self, place: str, reason: str, content: str) -> None:
        self.dropped.append(DroppedItem(place, reason, content[:SHOWN_CHARS]))

    def read(
        self, document: Mapping[str, Any], array: str, make: Callable[[Any], Iterator[Value]]
    ) -> Iterator[Value]:
        count = 0
        for number, item in enumerate(document.get(array, ())):
            place = f"{array}[{number}]"
            if _swallows_others(item):
                raise BadAnswerError("an item has swallowed others", place, self.text)
            if number >= MAX_ITEMS:
                self.drop(place, f"more than {MAX_ITEMS} items", "")
                return
            try:
                for value in make(item):
                    if count >= MAX_ITEMS:
                        self.drop(place, f"more than {MAX_ITEMS} items", "")
                        return
                    count += 1
                    yield value
            except BadAnswerError as error:
                self.drop(f"{place}{error.place}", error.message, _shown(item))


def _swallows_others(item: object) -> bool:
    """Whether damage has put other items inside this one, where they would be lost unseen."""
    if isinstance(item, Unread):
        return item.text.count('"subject"') > 1
    if not isinstance(item, dict):
        return False
    inner = [v for held in item.values() for v in (held if isinstance(held, list) else [held])]
    nested = (key for value in inner if isinstance(value, dict) for key in value)
    return any(key in _NOT_INSIDE for key in nested) or any(key in _ARRAY_NAMES for key in item)


def _shown(item: object) -> str:
    if isinstance(item, Unread):
        return item.text
    return json.dumps(item, ensure_ascii=False, default=str)


def fields_of(item: Mapping[str, object]) -> dict[str, Any]:
    """The fields of an item under our names; our own spelling wins over an alias."""
    named = {snake_case(key): value for key, value in item.items()}
    aliased = {_FIELDS[key]: value for key, value in named.items() if key in _FIELDS}
    return {**aliased, **{key: value for key, value in named.items() if key not in _FIELDS}}


@lru_cache(maxsize=1024)
def snake_case(key: str) -> str:
    return re.sub(r"[\s-]+", "_", _CAMEL.sub("_", key.strip())).lower()


def read_object(item: object) -> dict[str, Any]:
    if isinstance(item, list) and len(item) == 1:
        item = item[0]
    if isinstance(item, BrokenObject):
        raise BadAnswerError(item.fault, "")
    if isinstance(item, Unread):
        raise BadAnswerError("is unreadable", "")
    if not isinstance(item, dict):
        raise BadAnswerError(f"is {_kind(item)}, not an object", "")
    return fields_of(item)


def _kind(value: object) -> str:
    if isinstance(value, str):
        return "a text"
    return "an array" if isinstance(value, list) else "a bare value"


def read_text(value: object) -> str | None:
    """A text, or a scalar written as one; None for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)  # No way over a float, which holds no integer of hundreds of digits.
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else str(value)
    if isinstance(value, dict) and len(value) > 0 and isinstance(value.get("name"), str):
        return str(value["name"])
    if isinstance(value, list) and len(value) == 1:
        return read_text(value[0])
    return None


def required_text(fields: Mapping[str, Any], name: str) -> str:
    value = read_text(fields.get(name))
    if value is None:
        wrong = "is missing" if fields.get(name) is None else "has a wrong type"
        raise BadAnswerError(f"{name} {wrong}", f".{name}")
    return value


def read_entity(item: object) -> Iterator[ExtractedEntity]:
    fields = {"name": item} if isinstance(item, str) else read_object(item)
    name = required_text(fields, "name")
    if name.strip():
        yield ExtractedEntity(
            name=name,
            type=read_text(fields.get("type")) or "THING",
            memory_category=read_text(fields.get("memory_category")) or "context",
        )


def read_fact(item: object) -> Iterator[ExtractedFact]:
    """One fact; several when the object is an array of values."""
    fields = read_object(item)
    subject, predicate = required_text(fields, "subject"), required_text(fields, "predicate")
    held = fields.get("object")
    objects = held if isinstance(held, list) and held else [held]
    for value in objects:
        yield ExtractedFact(
            subject=subject,
            predicate=predicate,
            object=required_text({"object": value}, "object"),
            confidence=read_number(fields.get("confidence")),
            source_quote=read_text(fields.get("source_quote")) or "",
            valid_from=_start(read_text(fields.get("valid_from"))),
            valid_until=read_text(fields.get("valid_until")),
            memory_category=read_text(fields.get("memory_category")) or "context",
        )


def read_number(value: object) -> float | None:
    """A finite number, also when it is written as a text or a percentage."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        written = value.strip().removesuffix("%")
        try:
            number = float(written) / (100 if written != value.strip() else 1)
        except ValueError:
            return None
    elif isinstance(value, int | float) and abs(value) < 1e15:
        number = float(value)
    else:
        return None
    return number if math.isfinite(number) else None


def _start(value: str | None) -> str | None:
    """A year or a month alone begins on its first day; where one ends is not so plain."""
    if value is None or not _YEAR_OR_MONTH.fullmatch(value.strip()):
        return value
    return value.strip() + ("-01-01" if len(value.strip()) == 4 else "-01")


def read_instruction(item: object) -> Iterator[ExtractedInstruction]:
    fields = {"description": item} if isinstance(item, str) else read_object(item)
    label, description = read_text(fields.get("label")), read_text(fields.get("description"))
    if not (label or description or "").strip():
        raise BadAnswerError("label and description are missing", ".label")
    action = (read_text(fields.get("action")) or "set").strip().lower()
    if action not in ("set", "revoke"):
        raise BadAnswerError(f"action is neither set nor revoke: {action[:40]!r}", ".action")
    yield ExtractedInstruction(
        label=label or "",
        description=description or label or "",
        action="revoke" if action == "revoke" else "set",
        source_quote=read_text(fields.get("source_quote")) or "",
    )


def read_uncertainty(item: object) -> Iterator[ExtractedUncertainty]:
    fields = {"about": item} if isinstance(item, str) else read_object(item)
    about, reason = read_text(fields.get("about")), read_text(fields.get("reason"))
    if not (about or reason or "").strip():
        raise BadAnswerError("about and reason are missing", ".about")
    yield ExtractedUncertainty(
        about=about or reason or "",
        reason=reason or "",
        subject=read_text(fields.get("subject")),
        predicate=read_text(fields.get("predicate")),
    )


def read_verdict(item: object) -> Iterator[tuple[int, PairVerdict]]:
    fields = read_object(item)
    written = required_text(fields, "pair").strip()
    if not re.fullmatch(r"\d{1,6}", written, re.ASCII):
        raise BadAnswerError(f"{written[:40]!r} is no number of a pair", ".pair")
    word = required_text(fields, "verdict").strip().lower()
    if word not in (Verdict.OLD, Verdict.NEW, Verdict.NEITHER):
        raise BadAnswerError(f"{word[:40]!r} is no verdict", ".verdict")
    is_correction = (read_text(fields.get("is_correction")) or "").strip().lower() == "true"
    reason = " ".join((read_text(fields.get("reason")) or "").split())[:SHOWN_CHARS]
    yield int(written), PairVerdict(Verdict(word), is_correction and word == "old", reason)


def read_learning(item: object) -> Iterator[str]:
    held = item
    if isinstance(item, dict) and not isinstance(item, BrokenObject):
        texts = [value for value in item.values() if isinstance(value, str)]
        held = texts[0] if len(texts) == 1 else None
    text = read_text(held)
    if text is None:
        raise BadAnswerError("is no text", "")
    yield " ".join(text.split())[:LEARNING_CHARS].rstrip()
