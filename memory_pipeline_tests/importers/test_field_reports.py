"""Faults reported of other systems, by their ids, where they concern the reading of exports.

Belongs here: reports with an export for input, and other faults of their kind. Does not: what
memory makes of what was read.
"""

import copy
from pathlib import Path
from typing import Any

import pytest

from memory_pipeline_tests.field_reports import needs_reports, report
from memory_pipeline_tests.importers.imported import Imported, import_file, write_json


def node(
    text: str, parent: str | None, *children: str, role: str = "user", **more: object
) -> dict[str, Any]:
    """A node of a tree of messages as ChatGPT writes it."""
    content = {"content_type": "text", "parts": [text]}
    message = {"author": {"role": role}, "content": content} | more
    return {"message": message, "parent": parent, "children": list(children)}


def chatgpt(folder: Path, conversation: dict[str, Any], fmt: str = "chatgpt") -> Imported:
    return import_file(write_json(folder, [conversation]), fmt)


# --- B35: the branch that was seen last -------------------------------------------------------


def reported(**changed: object) -> dict[str, Any]:
    """The report's conversation; a change to None takes the field away."""
    conversation = copy.deepcopy(report("B35")["input"]["chatgpt"]) | changed
    return {name: value for name, value in conversation.items() if value is not None}


@needs_reports
@pytest.mark.parametrize("fmt", ["chatgpt", "auto"])
def test_b35_a_regenerated_answer_replaces_the_first_one(tmp_path: Path, fmt: str) -> None:
    expected = report("B35")["expected"]
    got = chatgpt(tmp_path, reported(), fmt)
    assert got.texts == expected["messages"]
    assert not set(expected["must_not_contain"]) & set(got.texts)
    assert got.skipped == {"other_branch": 1}


@needs_reports
@pytest.mark.parametrize("current", [None, "", "gone", 7])
def test_b35_without_a_usable_current_node_the_last_answer_is_read(
    tmp_path: Path, current: object
) -> None:
    got = chatgpt(tmp_path, reported(current_node=current))
    assert got.texts == report("B35")["expected"]["messages"]


@needs_reports
def test_b35_the_order_of_the_nodes_in_the_file_does_not_matter(tmp_path: Path) -> None:
    nodes = report("B35")["input"]["chatgpt"]["mapping"]
    got = chatgpt(tmp_path, reported(mapping=dict(reversed(nodes.items()))))
    assert got.texts == report("B35")["expected"]["messages"]


@needs_reports
@pytest.mark.parametrize("lost", ["parent", "children"])
def test_b35_one_direction_of_the_links_is_enough(tmp_path: Path, lost: str) -> None:
    nodes = reported()["mapping"]
    for one in nodes.values():
        del one[lost]
    got = chatgpt(tmp_path, reported(mapping=nodes))
    assert got.texts == report("B35")["expected"]["messages"]


FORKED = {
    "r": {"message": None, "parent": None, "children": ["u1", "u1b"]},
    "u1": node("Name my boat", "r", "a1", "a2"),
    "u1b": node("Name my dog", "r"),
    "a1": node("Old Salt", "u1", "u2x", role="assistant"),
    "u2x": node("Too salty", "a1", "a2x"),
    "a2x": node("Salt Free", "u2x", role="assistant"),
    "a2": node("Sea Otter", "u1", "u2", "u2b", role="assistant"),
    "u2": node("And the dinghy?", "a2", "a3", "a3b"),
    "u2b": node("And the raft?", "a2"),
    "a3": node("Pup", "u2", "u3", role="assistant"),
    "a3b": node("Kit", "u2", role="assistant"),
    "u3": node("Thanks", "a3"),
}


@pytest.mark.parametrize(
    ("current", "texts"),
    [
        ("u3", ["Name my boat", "Sea Otter", "And the dinghy?", "Pup", "Thanks"]),
        ("a3b", ["Name my boat", "Sea Otter", "And the dinghy?", "Kit"]),
        ("u2b", ["Name my boat", "Sea Otter", "And the raft?"]),
        ("a2x", ["Name my boat", "Old Salt", "Too salty", "Salt Free"]),
        ("a2", ["Name my boat", "Sea Otter"]),
        ("u1b", ["Name my dog"]),
    ],
)
def test_b35_of_forks_within_forks_only_the_path_to_the_current_node_is_read(
    tmp_path: Path, current: str, texts: list[str]
) -> None:
    got = chatgpt(tmp_path, {"current_node": current, "mapping": FORKED})
    assert got.texts == texts
    assert got.skipped == {"other_branch": len(FORKED) - 1 - len(texts)}


def test_b35_without_a_current_node_the_latest_time_tells_the_branch(tmp_path: Path) -> None:
    nodes = {
        "u1": node("Name my boat", None, "a1", "a2", create_time=1_741_600_000),
        "a1": node("Old Salt", "u1", role="assistant", create_time=1_741_600_010),
        "a2": node("Sea Otter", "u1", role="assistant", create_time=1_741_600_020),
    }
    for mapping in (nodes, dict(reversed(nodes.items()))):
        assert chatgpt(tmp_path, {"mapping": mapping}).texts == ["Name my boat", "Sea Otter"]


def test_b35_a_current_node_without_words_still_tells_the_branch(tmp_path: Path) -> None:
    nodes = {
        "u1": node("Name my boat", None, "a1", "a2"),
        "a1": node("Old Salt", "u1", "e1", role="assistant"),
        "e1": node("", "a1", role="assistant"),
        "a2": node("Sea Otter", "u1", role="assistant"),
    }
    got = chatgpt(tmp_path, {"current_node": "e1", "mapping": nodes})
    assert got.texts == ["Name my boat", "Old Salt"]


def test_b35_a_long_conversation_is_no_deeper_than_can_be_read(tmp_path: Path) -> None:
    count = 3_000
    nodes = {str(n): node(f"m{n}", str(n - 1) if n else None, str(n + 1)) for n in range(count)}
    got = chatgpt(tmp_path, {"current_node": str(count - 1), "mapping": nodes})
    assert got.texts == [f"m{n}" for n in range(count)]


# --- B38: where the words of a Claude message stand -------------------------------------------

TENOR = "I sing tenor."


def claude(folder: Path, *messages: object, fmt: str = "claude") -> Imported:
    return import_file(write_json(folder, [{"uuid": "c", "chat_messages": messages}]), fmt)


@needs_reports
@pytest.mark.parametrize("fmt", ["claude", "auto"])
def test_b38_an_empty_text_field_is_no_empty_message(tmp_path: Path, fmt: str) -> None:
    case = report("B38")
    got = claude(tmp_path, case["input"]["claude_message"], fmt=fmt)
    assert (got.texts, got.skipped) == ([case["expected"]["text"]], {})


def block(text: object = TENOR, kind: str = "text", **more: object) -> dict[str, object]:
    return {"type": kind, "text": text} | more


@pytest.mark.parametrize(
    "fields",
    [
        {"content": [block()]},
        {"text": None, "content": [block()]},
        {"text": " \n", "content": [block()]},
        {"text": TENOR},
        {"text": TENOR, "content": []},
        {"text": TENOR, "content": None},
        {"text": TENOR, "content": [block("")]},
        {"text": TENOR, "content": [block(None)]},
        {"text": TENOR, "content": [block(TENOR)]},
        {"text": "", "content": TENOR},
        {"text": "", "content": [TENOR]},
        {"text": "", "content": block()},
        {"text": "", "content": [block(""), block(), block("  ")]},
        {"text": "", "content": [block(citations=[], start_timestamp=None)]},
    ],
)
def test_b38_wherever_the_words_stand_they_are_read_once(
    tmp_path: Path, fields: dict[str, object]
) -> None:
    assert claude(tmp_path, {"sender": "human"} | fields).texts == [TENOR]


def test_b38_words_in_several_blocks_are_one_message_in_order(tmp_path: Path) -> None:
    blocks = [block("I sing."), {"type": "thinking", "thinking": "hm"}, block("Tenor.")]
    got = claude(tmp_path, {"sender": "human", "text": "", "content": blocks})
    assert got.texts == ["I sing.\nTenor."]
    assert got.skipped == {"thinking": 1}


def test_b38_a_message_that_is_empty_everywhere_is_counted_and_its_neighbours_stay(
    tmp_path: Path,
) -> None:
    empty = {"sender": "human", "text": "", "content": [block("")]}
    full = {"sender": "assistant", "text": "", "content": [block("Bravo!")]}
    got = claude(tmp_path, empty, full)
    assert (got.texts, got.skipped) == (["Bravo!"], {"empty": 1})
