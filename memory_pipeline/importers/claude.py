"""Claude's conversations.json: what was said, pasted texts apart, the latest branch only.

What belongs here: the shape of that export. What does not: walking the tree (message_tree).
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from memory_pipeline.domain.conversation import Role, Skipped, SourceMessage, SourceThread
from memory_pipeline.importers.export_values import (
    first_of,
    id_of,
    instant_of,
    list_of,
    mapping_of,
    text_of,
)
from memory_pipeline.importers.message_tree import MessageTree
from memory_pipeline.importers.outline import KeyPath
from memory_pipeline.importers.text_border import read_document
from memory_pipeline.importers.thread_draft import ThreadDraft

_ROLES = {"human": Role.USER, "user": Role.USER, "assistant": Role.ASSISTANT}
_ROOT = "00000000-0000-4000-8000-000000000000"
_TEXT_TYPES = frozenset({"text", "voice_note"})
_LEFT_OUT = {
    "thinking": "thinking",
    "redacted_thinking": "thinking",
    "tool_use": "tool_call",
    "server_tool_use": "tool_call",
    "tool_result": "tool_result",
    "web_search_tool_result": "tool_result",
    "image": "image",
    "document": "file",
    "token_budget": "token_budget",
    "flag": "flag",
}
# Stands in the flat text where a block could not be shown.
_PLACEHOLDER = re.compile(r"```\s*This block is not supported on your current device yet\.\s*```")


class ClaudeImporter:
    """A list of conversations, or a single one. Speakers are not named."""

    name = "claude"

    def recognises(self, paths: frozenset[KeyPath]) -> bool:
        return bool(paths & {("chat_messages",), ("conversations", "chat_messages")})

    def read(self, path: str, user: str | None) -> Iterator[SourceThread | Skipped]:
        document = read_document(Path(path))
        values = list_of(document) or list_of(mapping_of(document).get("conversations"))
        for place, value in enumerate(values or [document], start=1):
            conversation = mapping_of(value)
            if not isinstance(conversation.get("chat_messages"), list):
                yield Skipped(reason="bad_conversation", where=f"conversation {place}")
            else:
                yield from _thread(conversation)


def _thread(conversation: Mapping[str, object]) -> Iterator[SourceThread | Skipped]:
    draft = ThreadDraft()
    started_at = draft.instant(conversation.get("created_at"))
    # Messages without an id keep their place in the tree under one made of it; what is handed
    # over gets an id of its content instead.
    messages: dict[str, Mapping[str, object]] = {}
    for place, value in enumerate(list_of(conversation["chat_messages"])):
        message = mapping_of(value)
        if message:
            key = id_of(message.get("uuid")) or f"#{place}"
            messages[key if key not in messages else f"{key}#{place}"] = message
        else:
            draft.skip("bad_message")
    path = _tree(messages).visible_path(id_of(conversation.get("current_leaf_message_uuid")))
    for key in path:
        _add_message(draft, messages[key])
    draft.skip("other_branch", len(messages) - len(path))
    title = text_of(conversation.get("name"))
    thread_id = id_of(first_of(conversation, ("uuid", "id")))
    yield from draft.finish(thread_id or draft.opening(started_at), title, started_at)


def _tree(messages: Mapping[str, Mapping[str, object]]) -> MessageTree:
    """The tree by the stated parents; a message that states none follows the one before it."""
    parents: dict[str, str | None] = {}
    before: str | None = None
    for key, message in messages.items():
        stated = id_of(message.get("parent_message_uuid"))
        parents[key] = None if stated == _ROOT else stated or before
        before = key
    times = {key: instant_of(message.get("created_at")) for key, message in messages.items()}
    return MessageTree(parents, {key: time for key, time in times.items() if time is not None})


def _add_message(draft: ThreadDraft, message: Mapping[str, object]) -> None:
    said_at = draft.instant(message.get("created_at"))
    message_id = id_of(message.get("uuid")) or ""
    role = _ROLES.get(text_of(message.get("sender")))
    if role is None:
        draft.skip("unknown_role")
        return
    text, left_out = _read_text(draft, message)
    pasted, missing = _read_attachments(message)
    draft.skip("attachment", missing)
    if text.strip() or not (left_out or pasted or missing):
        draft.add(SourceMessage(source_id=message_id, role=role, text=text, said_at=said_at))
    for place, content in enumerate(pasted):
        own_id = f"{message_id}/attachment-{place}" if message_id else ""
        draft.add(
            SourceMessage(source_id=own_id, role=Role.ATTACHMENT, text=content, said_at=said_at)
        )


def _read_text(draft: ThreadDraft, message: Mapping[str, object]) -> tuple[str, int]:
    """The text blocks, else the flat text; and how many other blocks were left out."""
    texts: list[str] = []
    left_out = 0
    content = message.get("content")
    for block in list_of(content) or [content]:
        fields = mapping_of(block)
        block_type = text_of(fields.get("type"))
        if isinstance(block, str):
            texts.append(text_of(block))
        elif block_type in _TEXT_TYPES:
            texts.append(text_of(fields.get("text")))
        elif block is not None and block != []:
            draft.skip(_LEFT_OUT.get(block_type, "unknown_part"))
            left_out += 1
    text = "\n".join(text for text in texts if text.strip())
    # The flat text repeats the blocks; older exports have nothing else.
    return text or _PLACEHOLDER.sub("", text_of(message.get("text"))).strip(), left_out


def _read_attachments(message: Mapping[str, object]) -> tuple[list[str], int]:
    """The texts of attachments, and how many files came without theirs."""
    pasted: list[str] = []
    names: set[str] = set()
    missing = 0
    for attachment in map(mapping_of, list_of(message.get("attachments"))):
        content = text_of(attachment.get("extracted_content"))
        names.add(text_of(attachment.get("file_name")))
        if content.strip():
            pasted.append(content)
        else:
            missing += 1
    names.discard("")
    # A file of an attachment's name is that attachment once more.
    files = list_of(message.get("files")) or list_of(message.get("files_v2"))
    missing += sum(text_of(mapping_of(file).get("file_name")) not in names for file in files)
    return pasted, missing
