"""Claude's conversations.json."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from memory_pipeline.domain.conversation import Role, SourceMessage
from memory_pipeline_tests.importers.imported import DATA, Imported, import_file, write_json

SAMPLE = DATA / "claude_conversations.json"
ROOT = "00000000-0000-4000-8000-000000000000"


def _import(folder: Path, *messages: object, **more: object) -> Imported:
    conversation = {"uuid": "c", "chat_messages": messages, **more}
    return import_file(write_json(folder, [conversation]), "claude")


def _human(text: str = "", *blocks: object, **more: object) -> dict[str, object]:
    return {"sender": "human", "text": text, "content": list(blocks), **more}


def test_the_sample_gives_its_conversations_and_counts_the_rest() -> None:
    got = import_file(SAMPLE)
    assert [(t.title, len(t.messages)) for t in got.threads] == [
        ("Sourdough schedule", 4),
        ("Tax letter", 3),
    ]
    assert got.skipped == {"thinking": 1, "tool_call": 1, "tool_result": 1}
    assert {m.speaker for m in got.messages} == {None}


def test_what_was_pasted_follows_its_message_as_an_attachment() -> None:
    thread = import_file(SAMPLE).threads[1]
    assert [(m.role, m.text) for m in thread.messages] == [
        (Role.USER, "What does this letter want from me?"),
        (Role.ATTACHMENT, "Dear Ms Okafor, your return for 2024 is due on 31 May 2025."),
        (Role.ASSISTANT, "It reminds you to file by 31 May 2025."),
    ]
    assert thread.messages[1].said_at == thread.messages[0].said_at


def test_ids_and_times_are_the_exports_own() -> None:
    thread = import_file(SAMPLE).threads[0]
    assert thread.source_id == "a4e49a43-9422-5f0d-9c2c-0d8c5c241794"
    assert thread.started_at == datetime(2025, 4, 2, 18, 20, 11, 402113, tzinfo=UTC)
    assert thread.messages[1] == SourceMessage(
        source_id="537a8ff3-f595-519a-85b2-1423fe61d847",
        role=Role.ASSISTANT,
        text="Feed Bubbles on Wednesday and Thursday evening, bake on Friday.",
        said_at=datetime(2025, 4, 2, 18, 20, 25, 660012, tzinfo=UTC),
    )


def test_reading_twice_gives_the_same() -> None:
    assert import_file(SAMPLE) == import_file(SAMPLE)


@pytest.mark.parametrize("flat", ["", "I sing tenor.", "something else"])
def test_text_blocks_are_the_text_whatever_the_flat_text_says(tmp_path: Path, flat: str) -> None:
    got = _import(tmp_path, _human(flat, {"type": "text", "text": "I sing tenor."}))
    assert (got.texts, got.skipped) == (["I sing tenor."], {})


@pytest.mark.parametrize("blocks", [[], None, [{"type": "text", "text": ""}]])
def test_without_text_blocks_the_flat_text_is_the_text(tmp_path: Path, blocks: object) -> None:
    got = _import(tmp_path, _human("I sing tenor.", content=blocks))
    assert (got.texts, got.skipped) == (["I sing tenor."], {})


def test_content_may_be_plain_text(tmp_path: Path) -> None:
    assert _import(tmp_path, _human(content="I sing tenor.")).texts == ["I sing tenor."]


def test_the_stand_in_for_a_block_is_no_text(tmp_path: Path) -> None:
    stand_in = "```\nThis block is not supported on your current device yet.\n```"
    got = _import(tmp_path, _human("hi"), _human(stand_in, {"type": "tool_use"}))
    assert (got.texts, got.skipped) == (["hi"], {"tool_call": 1})


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("thinking", "thinking"),
        ("redacted_thinking", "thinking"),
        ("tool_use", "tool_call"),
        ("tool_result", "tool_result"),
        ("image", "image"),
        ("document", "file"),
        ("token_budget", "token_budget"),
        ("flag", "flag"),
        ("hologram", "unknown_part"),
    ],
)
def test_blocks_that_nobody_said_are_counted(tmp_path: Path, kind: str, reason: str) -> None:
    got = _import(tmp_path, _human("", {"type": kind, "text": "x"}, {"type": "text", "text": "hi"}))
    assert (got.texts, got.skipped) == (["hi"], {reason: 1})


def test_a_voice_note_is_text(tmp_path: Path) -> None:
    got = _import(tmp_path, _human("", {"type": "voice_note", "text": "I sing tenor."}))
    assert got.texts == ["I sing tenor."]


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (_human(""), "empty"),
        ({"sender": "narrator", "text": "x"}, "unknown_role"),
        ("x", "bad_message"),
    ],
)
def test_a_message_that_says_nothing_is_counted(
    tmp_path: Path, message: object, reason: str
) -> None:
    got = _import(tmp_path, _human("hi"), message)
    assert (got.texts, got.skipped) == (["hi"], {reason: 1})


def test_files_without_their_text_are_counted_once(tmp_path: Path) -> None:
    attachments = [
        {"file_name": "a.txt", "extracted_content": "A"},
        {"file_name": "b.pdf", "extracted_content": ""},
        {"file_name": "", "extracted_content": "pasted"},
    ]
    files = [{"file_name": "a.txt"}, {"file_name": "b.pdf"}, {"file_name": "c.png"}, {}]
    message = _human("", attachments=attachments, files=files, uuid="m")
    got = _import(tmp_path, message)
    assert got.texts == ["A", "pasted"]
    assert got.roles == [Role.ATTACHMENT, Role.ATTACHMENT]
    assert len(set(got.ids)) == 2
    assert got.skipped == {"attachment": 3}


def _branch(uuid: str, parent: str, minute: int) -> dict[str, object]:
    created_at = f"2025-04-02T18:{minute:02}:00Z"
    return _human(uuid, uuid=uuid, parent_message_uuid=parent, created_at=created_at)


BRANCHES = [
    _branch("u1", ROOT, 1),
    _branch("a1", "u1", 2),
    _branch("u2", "a1", 3),
    _branch("u2b", "a1", 9),
    _branch("a2", "u2", 4),
]


def test_of_several_branches_the_latest_is_read(tmp_path: Path) -> None:
    got = _import(tmp_path, *BRANCHES)
    assert (got.texts, got.skipped) == (["u1", "a1", "u2b"], {"other_branch": 2})


def test_a_branch_that_the_export_calls_current_is_read(tmp_path: Path) -> None:
    got = _import(tmp_path, *BRANCHES, current_leaf_message_uuid="a2")
    assert (got.texts, got.skipped) == (["u1", "a1", "u2", "a2"], {"other_branch": 1})


def test_a_first_message_that_was_edited_is_a_branch(tmp_path: Path) -> None:
    got = _import(tmp_path, _branch("u1", ROOT, 1), _branch("u1b", ROOT, 2))
    assert (got.texts, got.skipped) == (["u1b"], {"other_branch": 1})


def test_messages_without_parents_are_one_branch(tmp_path: Path) -> None:
    got = _import(tmp_path, _human("a"), _human("b"), _human("b"))
    assert got.texts == ["a", "b", "b"]
    assert len(set(got.ids)) == 3


def test_a_message_given_twice_is_counted_once(tmp_path: Path) -> None:
    got = _import(tmp_path, _human("a", uuid="m"), _human("a", uuid="m"), _human("b", uuid="m"))
    assert (got.texts, got.skipped) == (["a", "b"], {"duplicate_message": 1})


def test_junk_among_the_conversations_is_counted_and_the_rest_stays(tmp_path: Path) -> None:
    values = [{"uuid": "c", "chat_messages": [_human("hi")]}, 7, {"uuid": "d", "chat_messages": 1}]
    got = import_file(write_json(tmp_path, values))
    assert (got.texts, got.skipped) == (["hi"], {"bad_conversation": 2})


def test_a_single_conversation_is_read_too(tmp_path: Path) -> None:
    path = write_json(tmp_path, {"uuid": "c", "chat_messages": [_human("hi")]})
    assert import_file(path).texts == ["hi"]


def test_a_bad_time_is_counted(tmp_path: Path) -> None:
    got = _import(tmp_path, _human("hi", created_at="soon"))
    assert (got.texts, got.skipped) == (["hi"], {"bad_time": 1})


def test_text_is_clean(tmp_path: Path) -> None:
    got = _import(tmp_path, _human("a\x00\ud83d\r\nb"), name="\udc00\x00")
    assert (got.texts, got.threads[0].title) == (["a\ufffd\nb"], "\ufffd")
