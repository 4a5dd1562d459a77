"""Messages in OpenAI's form."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memory_pipeline.domain.conversation import Role, Skipped, SourceThread
from memory_pipeline.importers.errors import UnknownUserError, UnreadableExportError
from memory_pipeline.importers.openai_messages import OpenAiMessagesImporter
from memory_pipeline_tests.importers.imported import (
    DATA,
    Imported,
    import_file,
    write_lines,
)

SAMPLE = DATA / "openai_messages.jsonl"


def _user(text: object, **more: object) -> dict[str, object]:
    return {"role": "user", "content": text, **more}


def _import_messages(folder: Path, *messages: object) -> Imported:
    return import_file(write_lines(folder, {"id": "t", "messages": messages}), "openai")


def test_the_sample_gives_its_conversations_and_counts_the_rest() -> None:
    got = import_file(SAMPLE)
    assert [(t.source_id, len(t.messages)) for t in got.threads] == [("t-100", 4), ("t-101", 4)]
    assert got.threads[0].started_at == datetime(2025, 5, 5, 19, tzinfo=UTC)
    assert got.threads[1].messages[1].role is Role.TOOL
    assert got.skipped == {"image": 1, "tool_call": 1}
    assert {m.said_at for m in got.messages} == {None}
    assert {m.speaker for m in got.messages} == {None}


def test_reading_twice_gives_the_same() -> None:
    assert import_file(SAMPLE) == import_file(SAMPLE)


def test_a_conversation_that_grew_keeps_the_ids_it_had(tmp_path: Path) -> None:
    messages = [_user("yes"), _user("no"), _user("yes"), _user("I moved to Faro.")]
    ids = _import_messages(tmp_path, *messages).ids
    assert _import_messages(tmp_path, *messages[:3]).ids == ids[:3]


def test_a_file_cut_in_pieces_gives_the_same_ids(tmp_path: Path) -> None:
    lines = [_user(f"note {n}", thread_id=f"t{n % 2}", created_at=1746471600 + n) for n in range(6)]
    whole = import_file(write_lines(tmp_path, *lines)).ids
    pieces = [import_file(write_lines(tmp_path, *lines[n : n + 2])).ids for n in (0, 2, 4)]
    assert sorted(whole) == sorted(pair for piece in pieces for pair in piece)


def test_single_messages_are_grouped_by_conversation_in_order_of_appearance(
    tmp_path: Path,
) -> None:
    path = write_lines(
        tmp_path,
        _user("b1", conversation_id="b"),
        _user("a1", conversation_id="a"),
        _user("b2", conversation_id="b"),
    )
    threads = import_file(path).threads
    assert [(t.source_id, [m.text for m in t.messages]) for t in threads] == [
        ("b", ["b1", "b2"]),
        ("a", ["a1"]),
    ]


@pytest.mark.parametrize("field", ["thread_id", "conversation_id", "session_id", "chat_id"])
def test_a_conversation_is_named_by_any_common_field(tmp_path: Path, field: str) -> None:
    path = write_lines(tmp_path, _user("hello", **{field: "x"}, id="m1"))
    assert import_file(path).ids == [("x", "m1")]


def test_messages_without_a_conversation_are_one_thread_with_a_stable_id(tmp_path: Path) -> None:
    first = import_file(write_lines(tmp_path, _user("one"), _user("two")))
    grown = import_file(write_lines(tmp_path, _user("one"), _user("two"), _user("three")))
    assert grown.ids[:2] == first.ids
    assert len(grown.threads) == 1


def test_conversations_without_ids_that_open_alike_stay_apart(tmp_path: Path) -> None:
    lines = [{"messages": [_user("hi"), _user(text)]} for text in ("I ski", "I swim")]
    got = import_file(write_lines(tmp_path, *lines))
    assert len({t.source_id for t in got.threads}) == 2


def test_a_bad_line_is_counted_with_its_number_and_its_neighbours_stay(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path, _user("one"), "", '{"role": "user", "content": "cut', "[1,", _user("two")
    )
    got = import_file(path)
    assert got.texts == ["one", "two"]
    assert got.skips == (
        Skipped(reason="bad_line", where="line 3"),
        Skipped(reason="bad_line", where="line 4"),
    )


def test_a_bad_first_line_does_not_hide_the_format(tmp_path: Path) -> None:
    path = write_lines(tmp_path, '{"role": "user", "content": "cut', _user("one"))
    got = import_file(path)
    assert (got.texts, got.skipped) == (["one"], {"bad_line": 1})


def test_a_first_line_cut_after_a_bracket_is_a_bad_line_too(tmp_path: Path) -> None:
    path = write_lines(tmp_path, '{"messages": [{', _user("one"), _user("two"))
    got = import_file(path)
    assert (got.texts, got.skipped) == (["one", "two"], {"bad_line": 1})


def test_a_line_with_bytes_that_are_no_text_is_a_bad_line(tmp_path: Path) -> None:
    path = tmp_path / "mixed.jsonl"
    good = json.dumps(_user("one")).encode()
    path.write_bytes(good + b'\n{"role": "user", "content": "caf\xe9"}\n')
    got = import_file(path, "openai")
    assert (got.texts, got.skipped) == (["one"], {"bad_line": 1})


def test_a_line_that_is_neither_conversation_nor_message_is_counted(tmp_path: Path) -> None:
    got = import_file(write_lines(tmp_path, _user("one"), {"meta": 1}, "7"))
    assert got.skipped == {"unknown_line": 2}


@pytest.mark.parametrize(
    "document",
    [
        [_user("one"), _user("two")],
        {"messages": [_user("one"), _user("two")]},
        [{"messages": [_user("one")]}, {"messages": [_user("two")]}],
        [[_user("one")], [_user("two")]],
        {"conversations": [{"messages": [_user("one"), _user("two")]}]},
    ],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_a_json_document_is_read_like_lines(
    tmp_path: Path, document: object, indent: int | None
) -> None:
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(document, indent=indent))
    assert import_file(path).texts == ["one", "two"]


def test_a_document_cut_short_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "chat.json"
    path.write_text(json.dumps([_user("one"), _user("two")], indent=2)[:-10])
    with pytest.raises(UnreadableExportError, match="not a whole JSON document"):
        import_file(path)


def test_text_parts_are_joined_and_other_parts_counted(tmp_path: Path) -> None:
    parts = [
        {"type": "text", "text": "one"},
        {"type": "image_url", "image_url": {"url": "x"}},
        {"type": "input_text", "text": "two"},
        {"type": "input_audio", "input_audio": {}},
        {"type": "text", "text": {"value": "three", "annotations": []}},
        {"type": "file", "file": {}},
        {"type": "refusal", "refusal": "no"},
        {"type": "reasoning"},
        {"type": "hologram"},
        "four",
        7,
    ]
    got = _import_messages(tmp_path, _user(parts))
    assert got.texts == ["one\ntwo\nthree\nfour"]
    assert got.skipped == {
        "image": 1,
        "audio": 1,
        "file": 1,
        "refusal": 1,
        "thinking": 1,
        "unknown_part": 2,
    }


def test_a_message_of_pictures_alone_is_counted_once(tmp_path: Path) -> None:
    got = _import_messages(tmp_path, _user("hi"), _user([{"type": "image_url"}]))
    assert (got.texts, got.skipped) == (["hi"], {"image": 1})


def test_what_was_spoken_is_text(tmp_path: Path) -> None:
    spoken = {"role": "assistant", "content": None, "audio": {"transcript": "Good morning."}}
    assert _import_messages(tmp_path, spoken).texts == ["Good morning."]


def test_tool_calls_beside_text_are_counted_and_the_text_stays(tmp_path: Path) -> None:
    call = {"role": "assistant", "content": "Let me see.", "tool_calls": [{}, {}]}
    got = _import_messages(tmp_path, call)
    assert (got.texts, got.skipped) == (["Let me see."], {"tool_call": 2})


@pytest.mark.parametrize("message", [_user(""), _user(None), _user(" \n"), _user([])])
def test_an_empty_message_is_counted(tmp_path: Path, message: object) -> None:
    assert _import_messages(tmp_path, _user("hi"), message).skipped == {"empty": 1}


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ({"role": "narrator", "content": "x"}, "unknown_role"),
        ({"role": None, "content": "x"}, "unknown_role"),
        ({"content": "x"}, "bad_message"),
        ("x", "bad_message"),
        ({"role": "assistant", "content": None, "refusal": "I can't."}, "refusal"),
        ({"role": "assistant", "content": None, "function_call": {"name": "f"}}, "tool_call"),
    ],
)
def test_a_message_that_says_nothing_is_counted_with_its_reason(
    tmp_path: Path, message: object, reason: str
) -> None:
    got = _import_messages(tmp_path, _user("hi"), message)
    assert (got.texts, got.skipped) == (["hi"], {reason: 1})


@pytest.mark.parametrize(
    ("role", "expected"),
    [
        ("user", Role.USER),
        ("assistant", Role.ASSISTANT),
        ("system", Role.SYSTEM),
        ("developer", Role.SYSTEM),
        ("tool", Role.TOOL),
        ("function", Role.TOOL),
    ],
)
def test_roles_keep_their_meaning(tmp_path: Path, role: str, expected: Role) -> None:
    assert _import_messages(tmp_path, {"role": role, "content": "x"}).roles == [expected]


@pytest.mark.parametrize("field", ["created_at", "timestamp", "create_time", "date"])
def test_a_message_has_its_own_time_under_any_common_field(tmp_path: Path, field: str) -> None:
    got = _import_messages(tmp_path, _user("x", **{field: "2025-05-05T19:00:00"}))
    assert got.messages[0].said_at == datetime(2025, 5, 5, 19, tzinfo=UTC)


def test_a_bad_time_is_counted_and_the_message_stays(tmp_path: Path) -> None:
    got = _import_messages(tmp_path, _user("x", created_at="soon"))
    assert (got.texts, got.messages[0].said_at, got.skipped) == (["x"], None, {"bad_time": 1})


def test_nul_is_dropped_from_text(tmp_path: Path) -> None:
    got = _import_messages(tmp_path, _user("My notes say \x00 that I own a kayak."))
    assert got.texts == ["My notes say  that I own a kayak."]


def test_lone_surrogates_are_replaced_everywhere(tmp_path: Path) -> None:
    line = {"id": "t\ud83d", "title": "\ude00", "messages": [_user("\ud83d!")]}
    thread = import_file(write_lines(tmp_path, line)).threads[0]
    assert (thread.source_id, thread.title) == ("t\ufffd", "\ufffd")
    assert thread.messages[0].text == "\ufffd!"


def test_a_byte_order_mark_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "bom.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + SAMPLE.read_bytes())
    assert import_file(path) == import_file(SAMPLE)


def test_ten_thousand_single_messages_are_all_read(tmp_path: Path) -> None:
    lines = [_user(f"note {n}", thread_id=f"t{n % 100}") for n in range(10_000)]
    got = import_file(write_lines(tmp_path, *lines))
    assert (len(got.threads), len(got.messages)) == (100, 10_000)


def test_conversations_are_given_before_the_file_was_read_to_its_end(tmp_path: Path) -> None:
    path = write_lines(tmp_path, *({"id": n, "messages": [_user("x")]} for n in range(3)))
    items = OpenAiMessagesImporter().read(str(path), None)
    next(items)
    with path.open("a") as file:
        file.write(json.dumps({"id": "late", "messages": [_user("x")]}))
    rest = [item.source_id for item in items if isinstance(item, SourceThread)]
    assert rest == ["1", "2", "late"]


def test_one_name_alone_is_the_users(tmp_path: Path) -> None:
    path = write_lines(tmp_path, _user("I ski", name="Ada"), _user("I swim", name="Ada"))
    assert {m.speaker for m in import_file(path).messages} == {None}


def test_names_beside_the_unnamed_user_are_other_speakers(tmp_path: Path) -> None:
    path = write_lines(tmp_path, _user("I ski"), _user("I hate football", name="Jurre"))
    assert [m.speaker for m in import_file(path).messages] == [None, "Jurre"]


def test_of_several_names_the_user_must_be_given(tmp_path: Path) -> None:
    path = write_lines(tmp_path, _user("I ski", name="Ada"), _user("I swim", name="Bo"))
    with pytest.raises(UnknownUserError, match="names Ada, Bo: pass one of them with --user"):
        import_file(path)
    assert [m.speaker for m in import_file(path, user="ada").messages] == ["Ada", "Bo"]


def test_a_name_that_is_not_in_the_export_is_refused(tmp_path: Path) -> None:
    path = write_lines(tmp_path, _user("I ski", name="Ada"))
    with pytest.raises(UnknownUserError, match="'Bo' is not in it; it names Ada"):
        import_file(path, user="Bo")


def test_a_user_may_have_a_name_where_the_export_names_nobody() -> None:
    assert import_file(SAMPLE, user="Ada") == import_file(SAMPLE)


def test_names_of_tools_and_assistants_are_no_speakers(tmp_path: Path) -> None:
    tool = {"role": "tool", "name": "search", "content": "found"}
    got = _import_messages(tmp_path, _user("hi"), tool)
    assert [m.speaker for m in got.messages] == [None, None]


def test_ids_do_not_depend_on_the_user_given(tmp_path: Path) -> None:
    path = write_lines(tmp_path, _user("I ski", name="Ada"))
    assert import_file(path, user="Ada").ids == import_file(path).ids


def test_of_several_accounts_only_the_one_that_is_meant_is_read(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path,
        {"id": "a", "user_id": "u-1", "messages": [_user("I ski")]},
        {"id": "b", "user_id": "u-2", "messages": [_user("I swim")]},
    )
    with pytest.raises(UnknownUserError, match="u-1, u-2"):
        import_file(path)
    got = import_file(path, user="u-2")
    assert (got.texts, got.skipped) == (["I swim"], {"other_user": 1})
