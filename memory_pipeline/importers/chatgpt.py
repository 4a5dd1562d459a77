"""ChatGPT's conversations.json: the branch of each conversation that its user saw last.

What belongs here: the shape of conversations and their tree. What does not: what a message's
content means (chatgpt_content).
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from memory_pipeline.domain.conversation import Skipped, SourceThread
from memory_pipeline.importers.chatgpt_content import add_message
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


class ChatGptImporter:
    """A list of conversations, or a single one. Speakers are not named."""

    name = "chatgpt"

    def recognises(self, paths: frozenset[KeyPath]) -> bool:
        return bool(paths & {("mapping",), ("conversations", "mapping")})

    def read(self, path: str, user: str | None) -> Iterator[SourceThread | Skipped]:
        document = read_document(Path(path))
        values = list_of(document) or list_of(mapping_of(document).get("conversations"))
        for place, value in enumerate(values or [document], start=1):
            conversation = mapping_of(value)
            if not isinstance(conversation.get("mapping"), dict):
                yield Skipped(reason="bad_conversation", where=f"conversation {place}")
            else:
                yield from _thread(conversation)


def _thread(conversation: Mapping[str, object]) -> Iterator[SourceThread | Skipped]:
    draft = ThreadDraft()
    nodes = {
        id_of(key) or "": mapping_of(node)
        for key, node in mapping_of(conversation["mapping"]).items()
    }
    messages = {key: mapping_of(node.get("message")) for key, node in nodes.items()}
    path = _tree(nodes, messages).visible_path(id_of(conversation.get("current_node")))
    started_at = draft.instant(conversation.get("create_time"))
    thread_id = id_of(first_of(conversation, ("conversation_id", "id")))
    # A conversation its user asked not to be remembered.
    if conversation.get("is_do_not_remember") is True:
        yield Skipped(reason="do_not_remember", where=thread_id or "")
        return
    for key in path:
        if messages[key]:
            add_message(draft, id_of(messages[key].get("id")) or key, messages[key])
    left = nodes.keys() - set(path)
    draft.skip("other_branch", sum(1 for key in left if messages[key]))
    title = text_of(conversation.get("title"))
    yield from draft.finish(thread_id or draft.opening(started_at), title, started_at)


def _tree(
    nodes: Mapping[str, Mapping[str, object]], messages: Mapping[str, Mapping[str, object]]
) -> MessageTree:
    """The tree by the nodes' `parent`, or by the `children` of others where that is missing."""
    by_children: dict[str, str] = {}
    for key, node in nodes.items():
        for child in map(id_of, list_of(node.get("children"))):
            if child is not None:
                by_children.setdefault(child, key)
    parents: dict[str, str | None] = {}
    for key, node in nodes.items():
        stated = id_of(node.get("parent"))
        parents[key] = stated if stated in nodes else by_children.get(key, stated)
    times = {key: instant_of(message.get("create_time")) for key, message in messages.items()}
    return MessageTree(parents, {key: time for key, time in times.items() if time is not None})
