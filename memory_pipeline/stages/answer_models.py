"""The shapes that language models are asked to answer in, as strict JSON schemas (spec X4, J3).

Belongs here: the answer models, one for each prompt. Does not: reading what really comes back
(stages/answers) and what the pipeline works with (domain).
"""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from memory_pipeline.domain.extraction import EntityType, MemoryCategory


class Answer(BaseModel):
    """Base: no other field than those named, every field required."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class EntityAnswer(Answer):
    """A named thing."""

    name: str
    type: EntityType
    memory_category: MemoryCategory


class FactAnswer(Answer):
    """One fact. The quote comes first, so that the fact is worded after what was said."""

    source_quote: str
    subject: str
    predicate: str
    object: str
    valid_from: str | None
    valid_until: str | None
    confidence: float
    memory_category: MemoryCategory


class InstructionAnswer(Answer):
    """One standing order; the quote proves that the user gave it."""

    source_quote: str
    label: str
    description: str
    action: Literal["set", "revoke"]


class UncertaintyAnswer(Answer):
    """One open point."""

    about: str
    reason: str
    subject: str | None
    predicate: str | None


class ExtractionAnswer(Answer):
    """Everything that one window gives."""

    entities: tuple[EntityAnswer, ...]
    relationships: tuple[FactAnswer, ...]
    literal_facts: tuple[FactAnswer, ...]
    instructions: tuple[InstructionAnswer, ...]
    uncertainties: tuple[UncertaintyAnswer, ...]


class VerdictAnswer(Answer):
    """The verdict on one pair; the reason comes first, so that the verdict follows from it."""

    pair: int
    reason: str
    verdict: Literal["old", "new", "neither"]
    is_correction: bool


class JudgeAnswer(Answer):
    """The verdicts on all pairs."""

    verdicts: tuple[VerdictAnswer, ...]


class SummaryAnswer(Answer):
    """The summary of one window."""

    summary: str
    key_learnings: tuple[str, ...]


class InsightAnswer(Answer):
    """One insight; the facts come first, so that the statement follows from them."""

    facts: tuple[str, ...]
    statement: str
    significance: float


class InsightsAnswer(Answer):
    """What several facts show together."""

    insights: tuple[InsightAnswer, ...]


class SentenceAnswer(Answer):
    """One sentence; the facts come first, so that the sentence follows from them."""

    facts: tuple[str, ...]
    text: str


class ProfileAnswer(Answer):
    """The profile of one entity."""

    sentences: tuple[SentenceAnswer, ...]


def strict_schema(model: type[Answer]) -> dict[str, Any]:
    """The JSON schema of an answer: every field required, none besides, no references.

    Only words that every server knows (type, properties, items, enum, anyOf), in a fixed order.
    """
    raw = model.model_json_schema()
    return {**_plain(raw, raw.get("$defs", {}))}


def _plain(node: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(node, list):
        return [_plain(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return _plain(definitions[node["$ref"].rpartition("/")[2]], definitions)
    kept = {k: v for k, v in node.items() if k not in {"$defs", "title", "description"}}
    if "properties" not in kept:
        return {key: _plain(value, definitions) for key, value in kept.items()}
    properties = {name: _plain(value, definitions) for name, value in kept["properties"].items()}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
