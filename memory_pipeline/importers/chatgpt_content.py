"""What one message of a ChatGPT export says, and which of its parts are no words of anyone.

What belongs here: content types, parts, attachments, custom instructions. What does not: the
tree of messages (chatgpt).
"""

import re
from collections.abc import Mapping
from datetime import datetime

from memory_pipeline.domain.conversation import Role, SourceMessage
from memory_pipeline.importers.export_values import list_of, mapping_of, text_of
from memory_pipeline.importers.thread_draft import ThreadDraft

_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT, "system": Role.SYSTEM}
_TEXT_TYPES = frozenset({"text", "multimodal_text"})
# Why content of other types is left out; types not listed are `unknown_content`.
_LEFT_OUT = {
    "thoughts": "thinking",
    "reasoning_recap": "thinking",
    "code": "code",
    "execution_output": "code_output",
    "computer_output": "code_output",
    "citable_code_output": "code_output",
    "tether_browsing_code": "tool_call",
    "tether_browsing_display": "tool_result",
    "tether_quote": "quoted_page",
    "sonic_webpage": "quoted_page",
    "system_error": "system_error",
    "model_editable_context": "model_context",
}
_PART_LEFT_OUT = {
    "image_asset_pointer": "image",
    "audio_asset_pointer": "audio",
    "real_time_user_audio_video_asset_pointer": "audio",
    "video_container_asset_pointer": "video",
    "canvas_asset_pointer": "canvas",
}
_NOTES = {
    "user_profile": "about_user_message",
    "user_instructions": "about_model_message",
}
# The vendor's sentence around what the user wrote.
_NOTE_FRAME = re.compile(r"\s*The user provided .*?```(?P<note>.*)```\s*", re.DOTALL)


def add_message(draft: ThreadDraft, message_id: str, message: Mapping[str, object]) -> None:
    """Adds what the message says to the draft, or counts why it says nothing."""
    content = mapping_of(message.get("content"))
    content_type = text_of(content.get("content_type"))
    metadata = mapping_of(message.get("metadata"))
    said_at = draft.instant(message.get("create_time"))
    if content_type == "user_editable_context":
        _add_notes(draft, message_id, content, metadata, said_at)
        return
    author = text_of(mapping_of(message.get("author")).get("role"))
    reason = _reason_left_out(message, author, metadata)
    if reason is None and content_type not in _TEXT_TYPES:
        reason = _LEFT_OUT.get(content_type, "unknown_content")
    if reason is not None:
        draft.skip(reason)
        return
    text, images, left_out = _read_parts(draft, content)
    attached = _count_attachments(metadata, images)
    draft.skip("attachment", attached)
    if text.strip() or not (left_out or attached):
        draft.add(
            SourceMessage(source_id=message_id, role=_ROLES[author], text=text, said_at=said_at)
        )


def _reason_left_out(
    message: Mapping[str, object], author: str, metadata: Mapping[str, object]
) -> str | None:
    """Why the message as a whole is no part of what was seen, whatever its content."""
    if author == "tool":
        return "tool_result"
    if author not in _ROLES:
        return "unknown_role"
    if message.get("weight") == 0 or metadata.get("is_visually_hidden_from_conversation") is True:
        return "hidden"
    if message.get("channel") == "analysis":
        return "thinking"
    # What the assistant addresses to a tool (search, canvas, memory) is not said to the user.
    if author == "assistant" and text_of(message.get("recipient")) not in {"", "all"}:
        return "tool_call"
    return None


def _add_notes(
    draft: ThreadDraft,
    message_id: str,
    content: Mapping[str, object],
    metadata: Mapping[str, object],
    said_at: datetime | None,
) -> None:
    """Custom instructions: the user's own notes, as the user wrote them."""
    written = mapping_of(metadata.get("user_context_message_data"))
    has_notes = False
    for field, written_field in _NOTES.items():
        framed = text_of(content.get(field))
        frame = _NOTE_FRAME.fullmatch(framed)
        note = text_of(written.get(written_field)) or (frame["note"] if frame else framed)
        if note.strip():
            has_notes = True
            draft.add(
                SourceMessage(
                    source_id=f"{message_id}/{field}",
                    role=Role.USER,
                    text=note.strip(),
                    said_at=said_at,
                )
            )
    if not has_notes:
        draft.skip("empty")


def _read_parts(draft: ThreadDraft, content: Mapping[str, object]) -> tuple[str, int, int]:
    """The text of all parts, and how many pictures and other parts in all were left out."""
    texts: list[str] = []
    images = left_out = 0
    for part in list_of(content.get("parts")) or [content.get("text")]:
        fields = mapping_of(part)
        part_type = text_of(fields.get("content_type"))
        if isinstance(part, str):
            texts.append(text_of(part))
        elif part_type in {"audio_transcription", "text"}:
            texts.append(text_of(fields.get("text")))
        elif part is not None:
            reason = _PART_LEFT_OUT.get(part_type, "unknown_part")
            draft.skip(reason)
            left_out += 1
            images += reason == "image"
    return "\n".join(text for text in texts if text.strip()), images, left_out


def _count_attachments(metadata: Mapping[str, object], images: int) -> int:
    """Uploaded files whose content the export lacks, without pictures counted as parts."""
    attachments = [mapping_of(value) for value in list_of(metadata.get("attachments"))]
    types = [text_of(a.get("mime_type")) or text_of(a.get("mimeType")) for a in attachments]
    pictures = sum(mime.startswith("image/") for mime in types)
    return len(attachments) - min(pictures, images)
