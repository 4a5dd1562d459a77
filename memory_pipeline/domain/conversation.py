"""Conversation history as importers hand it over and as episodes read it.

What belongs here: roles, messages, threads, windows. What does not: any export format (importers)
and how windows are cut (stages/windows).
"""

from collections.abc import Iterator
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from pydantic import BaseModel, ConfigDict, Field

from memory_pipeline.domain.ids import EpisodeId, MessageId, TenantId, ThreadId


class Role(StrEnum):
    """Who or what a message comes from.

    Only `USER` messages can be evidence (spec X9). `ATTACHMENT` holds pasted or uploaded text.
    """

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"
    ATTACHMENT = "attachment"


class SourceMessage(BaseModel):
    """One message as an export gives it, text already clean (no NUL, no lone surrogate).

    `source_id` is unique in its thread and equal on every import of the same export.
    `said_at` is the message's own aware UTC time, or None when the export has none.
    `speaker` is the person's name where the export names speakers.
    """

    model_config = ConfigDict(frozen=True)

    source_id: str
    role: Role
    text: str
    said_at: datetime | None = None
    speaker: str | None = None


class SourceThread(BaseModel):
    """One conversation as an export gives it, messages in their order.

    `source_id` is stable over imports and unique within the format; `started_at` is the
    conversation's own time, used for messages that have none.
    """

    model_config = ConfigDict(frozen=True)

    source_id: str
    title: str = ""
    started_at: datetime | None = None
    messages: tuple[SourceMessage, ...]


class Skipped(BaseModel):
    """Something of an export that was left out, counted with its reason (one word, snake case)."""

    model_config = ConfigDict(frozen=True)

    reason: str
    count: int = Field(default=1, ge=1)
    where: str = ""


class Importer(Protocol):
    """Reads one export format; a file of `importers/` each."""

    name: str

    def read(self, path: str, user: str | None) -> Iterator[SourceThread | Skipped]:
        """Threads of the export at `path`, and what was left out, in file order."""
        ...


class Message(BaseModel):
    """A stored message of a window. `is_own` says that it is the tenant's user who speaks."""

    model_config = ConfigDict(frozen=True)

    message_id: MessageId
    seq: int
    role: Role
    text: str
    said_at: datetime
    speaker: str | None = None
    is_own: bool


class Window(BaseModel):
    """An episode's messages in `seq` order: what a stage gets to see of a conversation."""

    model_config = ConfigDict(frozen=True)

    tenant_id: TenantId
    episode_id: EpisodeId
    thread_id: ThreadId
    ordinal: int
    started_at: datetime
    ended_at: datetime
    messages: tuple[Message, ...]

    def own_messages(self) -> tuple[Message, ...]:
        """The messages that can be evidence: said by the tenant's user (spec X9)."""
        return tuple(m for m in self.messages if m.is_own)
