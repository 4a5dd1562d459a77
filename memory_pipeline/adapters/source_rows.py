"""Threads of an export as the rows that an import stores.

Belongs here: ids, times, whose words a message holds. Does not: export formats (importers) and
the database (conversation_store).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from memory_pipeline.domain.conversation import Role, SourceThread
from memory_pipeline.domain.ids import TenantId, derive_id
from memory_pipeline.stages.windows import estimate_tokens

_TITLE_CHARS = 200
_BLANK = re.compile(r"[\s\x00-\x1f\x7f]+")


class AmbiguousSpeakerError(ValueError):
    """A thread names several speakers and nobody said which of them is the user."""


@dataclass(frozen=True)
class ImportTerms:
    """What one import says of all its threads."""

    tenant_id: TenantId
    format: str
    user: str | None = None
    default_time: datetime | None = None


@dataclass(frozen=True)
class ThreadRows:
    """One thread's row and those of its messages; messages without any time are left out."""

    thread: dict[str, Any]
    messages: list[dict[str, Any]]
    without_time: int


def thread_rows(terms: ImportTerms, thread: SourceThread) -> ThreadRows:
    """The rows of one thread. Raises `AmbiguousSpeakerError`."""
    own_speaker = _own_speaker(thread, terms.user)
    thread_id = f"{terms.format}/{thread.source_id}"
    rows = list(_message_rows(terms, thread, thread_id, own_speaker))
    return ThreadRows(
        thread={
            "tenant_id": terms.tenant_id,
            "thread_id": thread_id,
            "format": terms.format,
            "title": _BLANK.sub(" ", thread.title).strip()[:_TITLE_CHARS],
            "own_speaker": own_speaker,
            "started_at": thread.started_at or (rows[0]["said_at"] if rows else None),
        },
        messages=rows,
        without_time=len(thread.messages) - len(rows),
    )


def _message_rows(
    terms: ImportTerms, thread: SourceThread, thread_id: str, own_speaker: str | None
) -> Iterator[dict[str, Any]]:
    start = thread.started_at or terms.default_time
    for place, message in enumerate(thread.messages):
        said_at = message.said_at or (start and start + timedelta(milliseconds=place))
        if said_at is None:
            continue
        is_own = message.role is Role.USER and (
            message.speaker is None
            or own_speaker is None
            or message.speaker.casefold() == own_speaker.casefold()
        )
        yield {
            "thread_id": thread_id,
            "message_id": str(derive_id("message", terms.tenant_id, thread_id, message.source_id)),
            "source_id": message.source_id,
            "role": message.role.value,
            "speaker": message.speaker,
            "is_own": is_own,
            "text": message.text,
            "said_at": said_at.astimezone(UTC),
            "token_count": estimate_tokens(message.text),
        }


def _own_speaker(thread: SourceThread, user: str | None) -> str | None:
    """The speaker who is the user: as told, else the only one named (spec X9)."""
    named = {m.speaker for m in thread.messages if m.role is Role.USER and m.speaker}
    if not named:
        return None
    if user is not None:
        return next((n for n in named if n.casefold() == user.casefold()), user)
    if len(named) > 1:
        raise AmbiguousSpeakerError(
            f"thread {thread.source_id} has several speakers ({', '.join(sorted(named))}): "
            "say which one is the user with --user NAME"
        )
    return named.pop()
