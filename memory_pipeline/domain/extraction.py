"""What an extractor returns for one window: the answer shape of spec X4, before any guard.

Belongs here: raw graphs, known lists, tiers. Does not: guarded claims (domain/claim).
"""

from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from memory_pipeline.domain.ids import EntityId, FactId


class EntityType(StrEnum):
    """Types an entity can have (spec X5)."""

    PERSON = "PERSON"
    ORG = "ORG"
    PLACE = "PLACE"
    PRODUCT = "PRODUCT"
    SKILL = "SKILL"
    TOPIC = "TOPIC"
    EVENT = "EVENT"
    FOOD = "FOOD"
    ROLE = "ROLE"
    CONCEPT = "CONCEPT"
    THING = "THING"
    DATE = "DATE"


class MemoryCategory(StrEnum):
    """What kind of memory a fact is (spec X5)."""

    IDENTITY = "identity"
    KNOWLEDGE = "knowledge"
    CONTEXT = "context"


class Tier(StrEnum):
    """Which extractor answered (spec X10)."""

    NONE = "none"
    HEURISTICS = "heuristics"
    FAST = "fast"
    STRONG = "strong"


class ExtractedEntity(BaseModel):
    """A mention as the extractor named and typed it; type and category are still free text."""

    model_config = ConfigDict(frozen=True)

    name: str
    type: str = "THING"
    memory_category: str = "context"


class ExtractedFact(BaseModel):
    """A candidate as the extractor worded it; dates are `YYYY-MM-DD` or an ISO instant, or None.

    `valid_until` is exclusive. `source_quote` is verbatim text of a message of the user.
    """

    model_config = ConfigDict(frozen=True)

    subject: str
    predicate: str
    object: str
    confidence: float | None = None
    source_quote: str = ""
    valid_from: str | None = None
    valid_until: str | None = None
    memory_category: str = "context"


class ExtractedInstruction(BaseModel):
    """A standing order of the user to the assistant ("always answer in metric units")."""

    model_config = ConfigDict(frozen=True)

    label: str
    description: str
    action: Literal["set", "revoke"] = "set"
    source_quote: str = ""


class ExtractedUncertainty(BaseModel):
    """Something the window leaves open, kept so that nothing is lost."""

    model_config = ConfigDict(frozen=True)

    about: str
    reason: str
    subject: str | None = None
    predicate: str | None = None


class NothingDurable(BaseModel):
    """Why a message, or a sentence of it, gave no candidate (`question`, `conditional`, ...)."""

    model_config = ConfigDict(frozen=True)

    seq: int
    reason: str
    quote: str = ""


class ExtractedGraph(BaseModel):
    """The whole answer for one window. `relationships` objects name entities, others are values."""

    model_config = ConfigDict(frozen=True)

    entities: tuple[ExtractedEntity, ...] = ()
    relationships: tuple[ExtractedFact, ...] = ()
    literal_facts: tuple[ExtractedFact, ...] = ()
    instructions: tuple[ExtractedInstruction, ...] = ()
    uncertainties: tuple[ExtractedUncertainty, ...] = ()
    nothing_durable: tuple[NothingDurable, ...] = ()


class KnownEntity(BaseModel):
    """An entity that memory holds, as shown to an extractor (spec X2)."""

    model_config = ConfigDict(frozen=True)

    entity_id: EntityId
    name: str
    type: EntityType
    aliases: tuple[str, ...] = ()


class KnownFact(BaseModel):
    """A believed fact that has not ended, as shown to an extractor (spec X2)."""

    model_config = ConfigDict(frozen=True)

    fact_id: FactId
    subject: str
    predicate: str
    object: str
    object_is_entity: bool


class KnownLists(BaseModel):
    """What memory held when the window was extracted: at most 200 names and 100 facts, sorted."""

    model_config = ConfigDict(frozen=True)

    entities: tuple[KnownEntity, ...] = ()
    facts: tuple[KnownFact, ...] = ()
    user_names: tuple[str, ...] = Field(default=(), description="Names known to mean the user.")
