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


def _read(default: float | int, low: float, high: float, about: str) -> Any:
    return Field(default, ge=low, le=high, description=about, json_schema_extra={"side": "read"})


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
    extraction_attempts: int = _read(3, 1, 10, "tries of one episode")
    lease_minutes: int = _read(10, 1, 1_440, "a lease not renewed for so long is lost")
    profile_facts_k: int = _read(40, 1, 400, "newest live facts a profile is built on")
    profile_chars: int = _read(1_200, 100, 10_000, "characters of a profile at most")
    profile_batch_size: int = _read(64, 1, 1_000, "dirty entities one refresh takes")
    profile_build_concurrency: int = _read(8, 1, 64, "profiles summarised at a time")
    profile_attempts: int = _read(5, 1, 20, "tries of one profile before it is held")
    insight_facts_k: int = _read(40, 2, 400, "newest live statements insights are drawn from")
    insight_chars: int = _read(384, 40, 2_000, "characters of an insight at most")
    insight_min_significance: float = _read(0.6, 0, 1, "below it an insight is not kept")
    insights_per_run: int = _read(5, 1, 50, "insights kept of one run at most")
    decay_half_life_days: float = _read(90, 0.01, 36_500, "days in which relevance halves")
    decay_floor: float = _read(0.25, 0, 1, "facts of less relevance are archived; 0 keeps all")
    recall_limit: int = _read(8, 1, 100, "facts recalled unless asked otherwise")
    recall_min_confidence: float = _read(0.5, 0, 1, "less sure facts are not recalled")
    recall_rrf_k: int = _read(60, 1, 1_000, "k of reciprocal rank fusion")
    recall_anchor_similarity: float = _read(0.75, 0, 1, "an entity so near to a query is meant")

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
