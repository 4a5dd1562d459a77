"""One conversation while it is being read: its messages, and the count of what is left out.

What belongs here: ids that survive a re-import, empty texts, counting. What does not: the fields
of any format.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator
from datetime import datetime

from memory_pipeline.domain.conversation import Role, Skipped, SourceMessage, SourceThread
from memory_pipeline.importers.export_values import instant_of
from memory_pipeline.importers.text_border import clean_text

_LONGEST_ID = 200


class ThreadDraft:
    """Collects one thread's messages in their order, and the reasons for what is left out."""

    def __init__(self) -> None:
        self._messages: dict[str, SourceMessage] = {}
        self._skipped: Counter[str] = Counter()
        self._seen: Counter[str] = Counter()

    def add(self, message: SourceMessage) -> None:
        """Takes a message as the export gives it; blank ones are counted as `empty`.

        A blank `source_id` is replaced by one made of the content and the number of equal
        messages before it: never of the place, so that a longer export gives the same ids.
        An id given twice keeps the first; other content under it gets an id of its own.
        """
        text = clean_text(message.text)
        if not text.strip():
            self.skip("empty")
            return
        content = content_id(message)
        source_id = _short(message.source_id) or f"{content}-{self._seen[content]}"
        self._seen[content] += 1
        clean = message.model_copy(update={"text": text, "source_id": source_id})
        held = self._messages.get(source_id)
        if held is not None and held != clean:
            clean = clean.model_copy(update={"source_id": f"{source_id}-{content}"})
        if clean.source_id in self._messages:
            self.skip("duplicate_message")
        else:
            self._messages[clean.source_id] = clean

    def skip(self, reason: str, count: int = 1) -> None:
        """Counts something that is left out; a count of 0 is nothing."""
        if count:
            self._skipped[reason] += count

    def instant(self, value: object) -> datetime | None:
        """The instant that `value` means; junk is counted as `bad_time`, absence is not."""
        instant = instant_of(value)
        if instant is None and value is not None and value != "":
            self.skip("bad_time")
        return instant

    def opening(self, started_at: datetime | None) -> str:
        """An id for a thread that has none: of its start and all up to the user's first words.

        System prompts are often shared by all threads of an export, so they do not suffice.
        """
        digest = hashlib.sha256(str(started_at).encode())
        for message in self._messages.values():
            digest.update(content_id(message).encode())
            if message.role is Role.USER:
                break
        return digest.hexdigest()[:32]

    def finish(
        self, source_id: str, title: str = "", started_at: datetime | None = None
    ) -> Iterator[SourceThread | Skipped]:
        """The thread, or `empty_thread` when nothing of it is left, then what was left out."""
        source_id = _short(source_id)
        if self._messages:
            yield SourceThread(
                source_id=source_id,
                title=title,
                started_at=started_at,
                messages=tuple(self._messages.values()),
            )
        else:
            self.skip("empty_thread")
        for reason, count in self._skipped.items():
            yield Skipped(reason=reason, count=count, where=source_id)


def _short(source_id: str) -> str:
    """The id, or a digest in place of its end where a database index could not hold it."""
    if len(source_id) <= _LONGEST_ID:
        return source_id
    digest = hashlib.sha256(source_id.encode()).hexdigest()[:32]
    return f"{source_id[: _LONGEST_ID - 33]}-{digest}"


def content_id(message: SourceMessage) -> str:
    """A digest of role, text and time; not of the speaker, whom `--user` may hide or show."""
    parts = (message.role.value, clean_text(message.text), str(message.said_at))
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]
