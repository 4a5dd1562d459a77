"""What a case file says: one JSON object a line, as frozen values.

Belongs here: the shape of a case and the spellings it may use. Does not: what its words mean
to memory (setting_up) and what is held against it (comparing).
"""

import json
import math
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)


class CaseError(ValueError):
    """A case can't be read or set up; the message says what is wrong with it."""


def read_instant(value: object) -> object:
    """A day as 00:00 UTC, an instant as aware UTC; anything else is left to the validator."""
    if not isinstance(value, str):
        return value
    try:
        if len(value) == len("2025-01-01"):
            return datetime.combine(date.fromisoformat(value), time(), UTC)
        instant = datetime.fromisoformat(value)
    except ValueError:
        return value
    return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)


def _read_text(value: object) -> object:
    return "" if value is None else value if isinstance(value, str) else json.dumps(value)


def _read_confidence(value: object) -> object:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number else None


_CALLS = {
    "extraction": "extract",
    "judging": "judge",
    "embedding": "embed",
    "insert": "write",
    "summarise": "summary",
    "summarize": "summary",
}


def _read_call(value: object) -> object:
    return _CALLS.get(value, value) if isinstance(value, str) else value


Instant = Annotated[datetime, BeforeValidator(read_instant)]
Text = Annotated[str, BeforeValidator(_read_text)]
Confidence = Annotated[float | None, BeforeValidator(_read_confidence)]


class Strict(BaseModel):
    """Base of the values here: frozen, and a word that nobody knows is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class NamedThing(Strict):
    """An entity, stored already or returned by the model."""

    name: str
    type: Text = "THING"
    memory_category: Annotated[Text, Field(alias="memoryCategory")] = "context"


class Candidate(Strict):
    """A fact as the model returned it, before the guards; dates are whatever it wrote."""

    ref: str
    array: Literal["relationships", "literalFacts", "literal_facts"]
    subject: Text
    predicate: Text
    object: Text
    confidence: Confidence = None
    source_quote: Annotated[Text, Field(alias="sourceQuote")] = ""
    valid_from: Annotated[str | None, Field(alias="validFrom")] = None
    valid_until: Annotated[str | None, Field(alias="validUntil")] = None
    memory_category: Annotated[Text, Field(alias="memoryCategory")] = "context"


class GivenFact(Strict):
    """A fact that memory holds already, perhaps another tenant's."""

    id: str
    subject: str
    predicate: str
    object: str
    kind: Literal["edge", "literal"]
    confidence: float = 0.9
    valid_from: Instant | None = None
    valid_until: Instant | None = None
    invalid_at: Instant | None = None
    dataset: str | None = None
    project: str | None = None


class GivenMessage(Strict):
    """A message of the window; without a time it is said at the case's `now`."""

    role: str
    content: str = Field(validation_alias=AliasChoices("content", "text"))
    created_at: Instant | None = Field(
        None, validation_alias=AliasChoices("created_at", "createdAt", "said_at")
    )
    speaker: str | None = None


class Fault(Strict):
    """The first `times` calls of one kind fail; a fold makes no summary, so none of that does."""

    call: Annotated[
        Literal["extract", "judge", "embed", "write", "summary"], BeforeValidator(_read_call)
    ]
    times: int = 1


class Scope(Strict):
    """A tenant by the source's words."""

    dataset: str = "d1"
    project: str = "p1"


class Given(Strict):
    """What there is before the write, and what the outside world answers during it."""

    now: Instant
    config: Mapping[str, float] = {}
    scope: Scope = Scope()
    known_entities: tuple[NamedThing, ...] = ()
    facts: tuple[GivenFact, ...] = ()
    extracted_entities: tuple[NamedThing, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    similarity: Mapping[str, float] = {}
    entity_similarity: Mapping[str, float] = {}
    verdicts: Mapping[str, str] = {}
    judge_response_raw: Any = None
    messages: tuple[GivenMessage, ...] | None = None
    committed_by_other_job_after_snapshot: tuple[GivenFact, ...] = ()
    concurrency: int = Field(1, ge=1, le=32)
    faults: tuple[Fault, ...] = ()

    def judge_answer(self) -> str | None:
        """What the judge's call returns, as text; None when `verdicts` say it."""
        if "judge_response_raw" not in self.model_fields_set:
            return None
        raw = self.judge_response_raw
        return raw if isinstance(raw, str) else json.dumps(raw)

    def has_quotes(self) -> bool:
        """Whether the evidence check runs: there are messages, and somebody quotes them."""
        return self.messages is not None and any(c.source_quote for c in self.candidates)


class ExpectedRow(Strict):
    """What one row must be at `now`; only the fields that are named count."""

    id: str
    live: bool = True
    superseded: bool = False
    valid_from: str | None = None
    valid_until: str | None = None
    kind: Literal["edge", "literal"] = "edge"
    subject: str = ""
    predicate: str = ""
    object: str = ""
    confidence: float = 0.0


class Dropped(Strict):
    """A candidate that must not become a row, with the word for its end."""

    ref: str
    why: str


class Expected(Strict):
    """What must hold after the write; None = the case says nothing about it."""

    rows: tuple[ExpectedRow, ...] | None = None
    judge_pairs: tuple[tuple[str, str], ...] | None = None
    dropped: tuple[Dropped, ...] = ()
    entities_present: tuple[str, ...] = ()
    entities_absent: tuple[str, ...] = ()
    entity_count: Mapping[str, int] = {}
    entity_types: Mapping[str, str | tuple[str, ...]] = {}
    count: int | Mapping[str, int] | None = None
    max_new_rows: int | None = None
    max_lengths: Mapping[str, int] = {}
    episode: str | Mapping[str, Any] | None = None


class Case(BaseModel):
    """One case. What it says for readers (`note`, `covers`, ...) is kept out of the way."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str
    title: str = ""
    given: Given
    expected: Expected
    not_scored: frozenset[str] = frozenset()
    says: str = ""

    @model_validator(mode="after")
    def _has_distinct_refs(self) -> "Case":
        refs = [c.ref for c in self.given.candidates]
        refs += [f.id for f in self.given.facts]
        refs += [f.id for f in self.given.committed_by_other_job_after_snapshot]
        if len(refs) != len(set(refs)):
            raise ValueError("two candidates or facts have one id")
        return self


def read_case(line: str) -> Case:
    """The case of one line. Raises `CaseError` with its id, where it has one."""
    try:
        raw = json.loads(line)
    except ValueError as error:
        raise CaseError(f"no JSON: {error}") from error
    name = raw.get("id", "?") if isinstance(raw, dict) else "?"
    try:
        return Case.model_validate(raw)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors()
        )
        raise CaseError(f"{name}: {problems}") from error


def read_lines(path: Path) -> Iterator[str]:
    """The lines of a case file that hold a case."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            if line.strip():
                yield line


def is_close(one: float, other: float) -> bool:
    """Equal but for the single precision that a stored number has."""
    return math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-6)
