"""ChatGPT's conversations.json."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from memory_pipeline.domain.conversation import Role, Skipped, SourceMessage
from memory_pipeline_tests.importers.imported import DATA, Imported, import_file, write_json

SAMPLE = DATA / "chatgpt_conversations.json"


def _message(
    text: object = "hello", role: str = "user", kind: str = "text", **more: object
) -> dict[str, object]:
    content = {"content_type": kind, "parts": [text]}
    return {"author": {"role": role}, "content": content, **more}


def _conversation(*messages: object, **more: object) -> dict[str, object]:
    """A conversation of one branch; nodes are named 0, 1, 2 ... under a root."""
    mapping: dict[str, object] = {"root": {"message": None, "parent": None, "children": ["0"]}}
    for n, message in enumerate(messages):
        parent = str(n - 1) if n else "root"
        mapping[str(n)] = {"message": message, "parent": parent, "children": [str(n + 1)]}
    tip = str(len(messages) - 1)
    return {"id": "c", "create_time": 1741600000, "mapping": mapping, "current_node": tip} | more


def _import(folder: Path, *messages: object, **more: object) -> Imported:
    return import_file(write_json(folder, [_conversation(*messages, **more)]), "chatgpt")


def test_the_sample_gives_the_visible_branches_and_counts_the_rest() -> None:
    got = import_file(SAMPLE)
    assert [(t.title, len(t.messages)) for t in got.threads] == [
        ("Marathon shoes", 6),
        ("Photo of a rash", 2),
    ]
    assert "Good, I ordered the Novablast 5 in size 42." in got.texts
    assert "Hmm, I'd rather try Saucony." not in got.texts
    assert "My son Emil gets this when he eats walnuts." in got.texts
    assert got.skipped == {
        "hidden": 1,
        "thinking": 1,
        "other_branch": 1,
        "image": 1,
        "tool_call": 1,
        "tool_result": 1,
    }
    assert {m.speaker for m in got.messages} == {None}


def test_the_samples_custom_instructions_are_the_users_own_notes() -> None:
    notes = import_file(SAMPLE).threads[0].messages[:2]
    assert [(m.role, m.text, m.said_at) for m in notes] == [
        (Role.USER, "I work nights as a paramedic.", None),
        (Role.USER, "Answer briefly.", None),
    ]
    assert notes[0].source_id != notes[1].source_id


def test_ids_and_times_are_the_exports_own() -> None:
    thread = import_file(SAMPLE).threads[1]
    assert thread.source_id == "7fa0018e-c75a-5d37-8f71-f6f782f7dd8a"
    assert thread.started_at == datetime(2025, 3, 11, 9, 46, 39, tzinfo=UTC)
    assert thread.messages[0] == SourceMessage(
        source_id="5a8206cc-aa73-5156-b81b-755345a8ee6e",
        role=Role.USER,
        text="My son Emil gets this when he eats walnuts.",
        said_at=datetime(2025, 3, 11, 9, 46, 40, tzinfo=UTC),
    )


def test_reading_twice_gives_the_same() -> None:
    assert import_file(SAMPLE) == import_file(SAMPLE)


def test_of_regenerated_answers_the_current_one_is_read(tmp_path: Path) -> None:
    export = {
        "current_node": "a2",
        "mapping": {
            "r": {"message": None, "parent": None, "children": ["u1"]},
            "u1": {"message": _message("Name my boat"), "parent": "r", "children": ["a1", "a2"]},
            "a1": {"message": _message("Old Salt", "assistant"), "parent": "u1", "children": []},
            "a2": {"message": _message("Sea Otter", "assistant"), "parent": "u1", "children": []},
        },
    }
    got = import_file(write_json(tmp_path, export))
    assert (got.texts, got.skipped) == (["Name my boat", "Sea Otter"], {"other_branch": 1})
    assert [m.source_id for m in got.messages] == ["u1", "a2"]


def test_a_parent_that_is_missing_is_found_by_the_children_of_others(tmp_path: Path) -> None:
    export = _conversation(_message("one"), _message("two"))
    mapping = export["mapping"]
    assert isinstance(mapping, dict)
    del mapping["1"]["parent"]
    assert import_file(write_json(tmp_path, export)).texts == ["one", "two"]


def test_a_cycle_neither_hangs_nor_loses_a_message(tmp_path: Path) -> None:
    export = _conversation(_message("one"), _message("two"))
    mapping = export["mapping"]
    assert isinstance(mapping, dict)
    mapping["0"]["parent"] = "1"
    assert import_file(write_json(tmp_path, export)).texts == ["one", "two"]


def test_a_lost_parent_does_not_lose_what_came_before(tmp_path: Path) -> None:
    export = _conversation(_message("one"), _message("two"), _message("three"))
    mapping = export["mapping"]
    assert isinstance(mapping, dict)
    del mapping["1"]
    assert import_file(write_json(tmp_path, export)).texts == ["one", "three"]


@pytest.mark.parametrize("current", [None, "gone"])
def test_without_a_current_node_the_last_leaf_counts(tmp_path: Path, current: object) -> None:
    got = _import(tmp_path, _message("one"), _message("two"), current_node=current)
    assert got.texts == ["one", "two"]


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("thoughts", "thinking"),
        ("reasoning_recap", "thinking"),
        ("code", "code"),
        ("execution_output", "code_output"),
        ("tether_browsing_display", "tool_result"),
        ("tether_quote", "quoted_page"),
        ("sonic_webpage", "quoted_page"),
        ("system_error", "system_error"),
        ("model_editable_context", "model_context"),
        ("hologram", "unknown_content"),
    ],
)
def test_content_that_nobody_said_is_counted(tmp_path: Path, kind: str, reason: str) -> None:
    got = _import(tmp_path, _message("hi"), _message("x", "assistant", kind))
    assert (got.texts, got.skipped) == (["hi"], {reason: 1})


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (_message("x", "system", weight=0.0), "hidden"),
        (_message("x", metadata={"is_visually_hidden_from_conversation": True}), "hidden"),
        (_message("x", "tool"), "tool_result"),
        (_message("x", "critic"), "unknown_role"),
        (_message("{}", "assistant", recipient="canmore.create_textdoc"), "tool_call"),
        (_message("x", "assistant", channel="analysis"), "thinking"),
        (_message(""), "empty"),
        (_message(None), "empty"),
        ({"author": {"role": "user"}, "content": None}, "unknown_content"),
        (_message(kind="user_editable_context"), "empty"),
    ],
)
def test_a_message_that_was_not_seen_is_counted(
    tmp_path: Path, message: object, reason: str
) -> None:
    got = _import(tmp_path, _message("hi"), message)
    assert (got.texts, got.skipped) == (["hi"], {reason: 1})


def test_parts_that_are_no_text_are_counted_and_voice_is_text(tmp_path: Path) -> None:
    message = _message(kind="multimodal_text")
    kinds = [
        "image_asset_pointer",
        "audio_asset_pointer",
        "real_time_user_audio_video_asset_pointer",
        "video_container_asset_pointer",
        "hologram",
    ]
    message["content"] = {
        "content_type": "multimodal_text",
        "parts": [
            {"content_type": "audio_transcription", "text": "I sing tenor."},
            *({"content_type": kind} for kind in kinds),
            "And I whistle.",
        ],
    }
    got = _import(tmp_path, message)
    assert got.texts == ["I sing tenor.\nAnd I whistle."]
    assert got.skipped == {"image": 1, "audio": 2, "video": 1, "unknown_part": 1}


def test_uploaded_files_are_counted_and_pictures_not_twice(tmp_path: Path) -> None:
    files = [{"name": "a.png", "mime_type": "image/png"}, {"name": "b.pdf", "mimeType": "x/pdf"}]
    picture = {"content_type": "image_asset_pointer"}
    message = _message(picture, kind="multimodal_text", metadata={"attachments": files})
    got = _import(tmp_path, _message("hi"), message)
    assert (got.texts, got.skipped) == (["hi"], {"image": 1, "attachment": 1})


def _notes(content: dict[str, str], **metadata: object) -> dict[str, object]:
    return {
        "author": {"role": "user"},
        "content": {"content_type": "user_editable_context", **content},
        "metadata": {"is_visually_hidden_from_conversation": True, **metadata},
    }


def test_the_frame_around_custom_instructions_is_not_the_users(tmp_path: Path) -> None:
    frame = "The user provided the following about themselves. It is always shown.\n```{}```"
    got = _import(tmp_path, _notes({"user_profile": frame.format("I keep bees.")}))
    assert got.texts == ["I keep bees."]


def test_custom_instructions_are_taken_as_they_were_typed(tmp_path: Path) -> None:
    typed = {"about_user_message": "I keep bees.", "about_model_message": "Be brief."}
    notes = _notes({"user_profile": "framed"}, user_context_message_data=typed)
    assert _import(tmp_path, notes).texts == ["I keep bees.", "Be brief."]


def test_a_conversation_not_to_be_remembered_is_left_out(tmp_path: Path) -> None:
    got = _import(tmp_path, _message("secret"), is_do_not_remember=True)
    assert got.skips == (Skipped(reason="do_not_remember", where="c"),)


def test_junk_among_the_conversations_is_counted_and_the_rest_stays(tmp_path: Path) -> None:
    values = [_conversation(_message("hi")), "x", {"title": "y"}, _conversation(id="empty")]
    got = import_file(write_json(tmp_path, values))
    assert (got.texts, got.skipped) == (["hi"], {"bad_conversation": 2, "empty_thread": 1})


def test_a_message_without_an_id_has_that_of_its_node(tmp_path: Path) -> None:
    got = _import(tmp_path, _message("a"), _message("b", id="own"))
    assert got.ids == [("c", "0"), ("c", "own")]


def test_a_bad_time_is_counted_and_an_absent_one_is_not(tmp_path: Path) -> None:
    got = _import(tmp_path, _message("a"), _message("b", create_time="soon"))
    assert ([m.said_at for m in got.messages], got.skipped) == ([None, None], {"bad_time": 1})


def test_text_is_clean(tmp_path: Path) -> None:
    got = _import(tmp_path, _message("a\x00\ud83d\r\nb"), title="\udc00\x00", id="c\x00")
    assert (got.texts, got.threads[0].title) == (["a\ufffd\nb"], "\ufffd")
    assert got.threads[0].source_id == "c"
