"""What recall gives: facts with their ranks, profiles, instructions, messages.

Belongs here: the values. Does not: how they are found (reading/recall) and how they read in a
prompt (reading/context_block).
"""

from uuid import UUID

from memory_pipeline.reading.facts import FactRow
from memory_pipeline.reading.lists import InstructionRow
from memory_pipeline.reading.scope import Instant, Reading


class Ranks(Reading):
    """Place in each list that found the fact, from 1; `newest` only without a query."""

    vector: int | None
    anchor: int | None
    text: int | None
    newest: int | None

    def lists(self) -> tuple[str, ...]:
        """Names of the lists that found the fact."""
        return tuple(name for name, place in self if place is not None)


class RecalledFact(FactRow):
    """A fact with its fused score, the sum of 1 / (k + rank) over the lists that found it.

    `content_key` names its content in every generation.
    """

    statement: str
    score: float
    ranks: Ranks
    content_key: UUID


class ProfileShown(Reading):
    """The paragraph about an entity; stale when its facts changed since it was written."""

    entity: str
    type: str
    text: str
    is_stale: bool


class Recalled(Reading):
    """What memory says to a query; `context` is all of it as a block of text for a prompt.

    `known_at` None = the latest. `context` is empty where nothing was found.
    """

    query: str
    valid_at: Instant
    known_at: Instant | None
    facts: tuple[RecalledFact, ...]
    profiles: tuple[ProfileShown, ...]
    instructions: tuple[InstructionRow, ...]
    context: str


class MessageFound(Reading):
    """A message that says the words; `status` is that of its episode, None before it has one."""

    message_id: UUID
    thread_id: str
    seq: int
    role: str
    speaker: str | None
    is_own: bool
    said_at: Instant
    text: str
    episode: int | None
    status: str | None
