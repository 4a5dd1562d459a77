"""What one message in OpenAI's form says: roles, parts, tool calls, times.

What belongs here: the fields of a message. What does not: how messages are laid out in a file.
"""

from collections.abc import Mapping

from memory_pipeline.domain.conversation import Role, SourceMessage
from memory_pipeline.importers.export_values import (
    first_of,
    id_of,
    list_of,
    mapping_of,
    text_of,
)
from memory_pipeline.importers.openai_speakers import Speakers
from memory_pipeline.importers.thread_draft import ThreadDraft

TIME_FIELDS = ("created_at", "timestamp", "create_time", "date", "created")
_ROLES = {
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "tool": Role.TOOL,
    "function": Role.TOOL,
}
_TEXT_TYPES = frozenset({"text", "input_text", "output_text"})
_LEFT_OUT = {
    "image_url": "image",
    "input_image": "image",
    "image_file": "image",
    "image": "image",
    "input_audio": "audio",
    "audio": "audio",
    "file": "file",
    "input_file": "file",
    "document": "file",
    "refusal": "refusal",
    "reasoning": "thinking",
    "thinking": "thinking",
    "tool_use": "tool_call",
    "tool_result": "tool_result",
}


def add_message(draft: ThreadDraft, message: Mapping[str, object], speakers: Speakers) -> None:
    """Adds what the message says to the draft, or counts why it says nothing."""
    if "role" not in message:
        draft.skip("bad_message")
        return
    role = _ROLES.get(text_of(message["role"]).strip().lower())
    if role is None:
        draft.skip("unknown_role")
        return
    text, left_out = _read_content(draft, message)
    said_at = draft.instant(first_of(message, TIME_FIELDS))
    if text.strip() or not left_out:
        draft.add(
            SourceMessage(
                source_id=id_of(first_of(message, ("id", "message_id"))) or "",
                role=role,
                text=text,
                said_at=said_at,
                speaker=speakers.speaker_of(message) if role is Role.USER else None,
            )
        )


def _read_content(draft: ThreadDraft, message: Mapping[str, object]) -> tuple[str, int]:
    """The text of all parts, and how many parts and calls were counted as left out."""
    texts: list[str] = []
    calls = len(list_of(message.get("tool_calls"))) + bool(message.get("function_call"))
    draft.skip("tool_call", calls)
    left_out = calls
    content = message.get("content")
    for part in list_of(content) or [content]:
        fields = mapping_of(part)
        part_type = text_of(fields.get("type"))
        if isinstance(part, str):
            texts.append(text_of(part))
        elif part_type in _TEXT_TYPES:
            # The Assistants API wraps the text once more.
            texts.append(text_of(mapping_of(fields.get("text")).get("value", fields.get("text"))))
        elif part is not None and part != []:
            draft.skip(_LEFT_OUT.get(part_type, "unknown_part"))
            left_out += 1
    if message.get("refusal"):
        draft.skip("refusal")
        left_out += 1
    spoken = text_of(mapping_of(message.get("audio")).get("transcript"))
    return "\n".join(text for text in (*texts, spoken) if text.strip()), left_out
