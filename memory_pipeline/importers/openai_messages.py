"""Messages in OpenAI's form, one conversation or one message a line (or one JSON document).

What belongs here: finding conversations and messages in lines. What does not: a message's own
fields (openai_content) and who the user is (openai_speakers).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from memory_pipeline.domain.conversation import Skipped, SourceThread
from memory_pipeline.importers.export_values import (
    first_of,
    id_of,
    list_of,
    mapping_of,
    text_of,
)
from memory_pipeline.importers.openai_content import TIME_FIELDS, add_message
from memory_pipeline.importers.openai_speakers import Speakers, find_speakers
from memory_pipeline.importers.outline import KeyPath
from memory_pipeline.importers.text_border import (
    BadJsonError,
    parse_json,
    read_document,
    read_lines,
)
from memory_pipeline.importers.thread_draft import ThreadDraft

_THREAD_FIELDS = ("thread_id", "conversation_id", "session_id", "chat_id")


class OpenAiMessagesImporter:
    """Conversations as they come; single messages grouped by their conversation, at the end."""

    name = "openai"

    def recognises(self, paths: frozenset[KeyPath]) -> bool:
        return (
            bool(paths & {("messages", "role"), ("conversations", "messages", "role")})
            or {("role",)} <= paths
        )

    def read(self, path: str, user: str | None) -> Iterator[SourceThread | Skipped]:
        """Lines are read one at a time; messages of a conversation need not stand together.

        Raises UnknownUserError, before anything is given, when several people are users and
        `user` is none of them.
        """
        speakers = Speakers(user_id=None, has_names=False)
        # A second pass over the file is only worth it where it may name people.
        if any(b'"name"' in line or b'"user_id"' in line for _, line in read_lines(Path(path))):
            speakers = find_speakers(Path(path), _values(Path(path)), user)
        return _Reading(speakers).threads(Path(path))


@dataclass
class _Reading:
    """The state of one pass over an export."""

    speakers: Speakers
    drafts: dict[str | None, ThreadDraft] = field(default_factory=dict)
    openings: dict[str, int] = field(default_factory=dict)

    def threads(self, path: Path) -> Iterator[SourceThread | Skipped]:
        for where, value in _values(path):
            if isinstance(value, BadJsonError):
                yield Skipped(reason="bad_line", where=where)
            elif isinstance(value, list):
                yield from self._conversation({"messages": value})
            elif not self.speakers.is_of_user(mapping_of(value)):
                yield Skipped(reason="other_user", where=where)
            else:
                yield from self._line(where, mapping_of(value))
        for thread_id, draft in self.drafts.items():
            yield from draft.finish(thread_id or draft.opening(None))

    def _line(self, where: str, value: Mapping[str, object]) -> Iterator[SourceThread | Skipped]:
        if isinstance(value.get("messages"), list):
            yield from self._conversation(value)
        elif "role" in value:
            thread_id = id_of(first_of(value, _THREAD_FIELDS))
            draft = self.drafts.setdefault(thread_id, ThreadDraft())
            add_message(draft, value, self.speakers)
        else:
            yield Skipped(reason="unknown_line", where=where)

    def _conversation(self, value: Mapping[str, object]) -> Iterator[SourceThread | Skipped]:
        draft = ThreadDraft()
        started_at = draft.instant(first_of(value, TIME_FIELDS))
        for message in list_of(value["messages"]):
            add_message(draft, mapping_of(message), self.speakers)
        thread_id = id_of(first_of(value, (*_THREAD_FIELDS, "id")))
        if thread_id is None:
            opening = draft.opening(started_at)
            count = self.openings[opening] = self.openings.get(opening, 0) + 1
            # Conversations that open alike are still several.
            thread_id = opening if count == 1 else f"{opening}-{count}"
        yield from draft.finish(thread_id, text_of(value.get("title")), started_at)


def _values(path: Path) -> Iterator[tuple[str, object]]:
    """Conversations and messages with their place; a bad line gives its BadJsonError."""
    for number, line in read_lines(path):
        try:
            value = parse_json(line)
        except BadJsonError as error:
            if number == 1 and line.endswith((b"{", b"[", b",")) and _is_document(path):
                yield from _items("document", read_document(path))
                return
            yield f"line {number}", error
        else:
            yield from _items(f"line {number}", value)


def _is_document(path: Path) -> bool:
    """Whether a broken first line opens a document: then the second is no object by itself."""
    second = next(islice(read_lines(path), 1, None), (0, b""))[1]
    try:
        return not isinstance(parse_json(second), dict)
    except BadJsonError:
        return True


def _items(where: str, value: object) -> Iterator[tuple[str, object]]:
    """A list of messages is one conversation; a list of conversations is all of them."""
    values = list_of(value) or list_of(mapping_of(value).get("conversations"))
    if any(isinstance(item, list) or "messages" in mapping_of(item) for item in values):
        for place, item in enumerate(values, start=1):
            yield f"{where}, conversation {place}", item
    else:
        yield where, value
