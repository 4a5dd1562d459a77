"""The rules' numbers and closed lists: every setting with its default, range and side.

Belongs here: thresholds, caps, which predicates hold one value at a time.
Does not: how they are applied (stages, domain/plan) and where they are read from (settings layer).
"""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

Side = Literal["write", "read"]
"""Write-side settings shape memory and belong to the recipe; read-side ones act at once."""


def _write(default: float | int, low: float, high: float, about: str) -> Any:
    return Field(default, ge=low, le=high, description=about, json_schema_extra={"side": "write"})


class Policy(BaseModel):
    """All numbers of one tenant's pipeline. Out of range raises `PolicyError` with the range."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    episode_max_messages: int = _write(100, 1, 1_000, "messages in one episode at most")
    episode_max_tokens: int = _write(8_000, 200, 100_000, "tokens in one episode at most")
    episode_idle_minutes: int = _write(30, 1, 10_080, "a longer gap closes an episode")
    context_stride: int = _write(1, 1, 1_000, "episodes extracted against the same memory")
    known_entities: int = _write(200, 0, 1_000, "entity names shown to extraction at most")
    known_facts: int = _write(100, 0, 1_000, "believed facts shown to extraction at most")
    max_facts_per_episode: int = _write(12, 1, 100, "claims kept of one episode, endings apart")
    object_chars: int = _write(500, 20, 10_000, "characters of an object at most")
    quote_chars: int = _write(200, 20, 2_000, "characters of a quote at most")
    min_confidence: float = _write(0.5, 0, 1, "below it a claim is stored but never destroys")
    pairs_per_claim: int = _write(10, 1, 100, "pairs judged for one claim at most")
    pairs_per_call: int = _write(60, 1, 1_000, "pairs judged in one call at most")
    extraction_attempts: int = Field(
        3, ge=1, le=10, description="tries of one episode", json_schema_extra={"side": "read"}
    )
    lease_minutes: int = Field(
        10,
        ge=1,
        le=1_440,
        description="a lease not renewed for so long is lost",
        json_schema_extra={"side": "read"},
    )

    def write_side(self) -> dict[str, float | int]:
        """The settings that belong to the recipe, by name."""
        return {name: getattr(self, name) for name in setting_names("write")}


class PolicyError(ValueError):
    """A setting has an unknown name or a value outside its range."""


def setting_names(side: Side) -> tuple[str, ...]:
    """Names of all settings of one side, sorted."""
    fields = Policy.model_fields.items()
    return tuple(
        sorted(
            name
            for name, field in fields
            if isinstance(field.json_schema_extra, dict)
            and field.json_schema_extra.get("side") == side
        )
    )


def make_policy(*layers: Mapping[str, object]) -> Policy:
    """One policy from layers of settings, the later ones winning.

    Raises `PolicyError` naming each setting that is unknown or out of range.
    """
    merged: dict[str, object] = {}
    for layer in layers:
        merged.update(layer)
    try:
        return Policy.model_validate(merged)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(str(part) for part in item['loc'])}: {item['msg']}, got {item['input']!r}"
            for item in error.errors()
        )
        raise PolicyError(f"settings refused: {problems}") from error


SINGLE_VALUED_PREDICATES = frozenset(
    {
        "works at", "works as", "works for", "lives in", "lives at", "has job title",
        "is married to", "is engaged to", "is dating", "weighs", "is aged", "has age",
        "is years old", "has name", "has birthday", "is born on", "was born on", "was born in",
        "has manager", "has boss", "reports to", "has blood type", "has height",
        "has phone number", "has email", "has address", "drives", "studies at",
        "has relationship status", "is called", "has nationality", "has salary", "has gender",
        "has pronouns", "lives with", "has employer", "runs in",
    }
)  # fmt: skip
"""Predicates of which the user has one value at a time (spec J8)."""

SINGLE_VALUED_PREFIXES = ("has favourite ", "has favorite ", "prefers favourite ")
SINGLE_VALUED_SUFFIXES = (" budget of", " mileage of", " weight of", " goal of", " limit of")

CORRECTION_CUES = (
    "actually", "i meant", "i mean", "correction", "anymore", "no longer", "not any more",
    "sorry, ", "scratch that", "to correct", "wrongly", "mistake", "instead of", "changed my mind",
)  # fmt: skip
"""Words of a quote that say: what was believed is wrong or over (spec J8)."""


def is_single_valued(predicate: str) -> bool:
    """Whether the subject holds one value of this predicate at a time."""
    return (
        predicate in SINGLE_VALUED_PREDICATES
        or predicate.startswith(SINGLE_VALUED_PREFIXES)
        or predicate.endswith(SINGLE_VALUED_SUFFIXES)
    )
