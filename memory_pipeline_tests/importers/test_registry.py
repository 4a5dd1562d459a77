"""Finding the format of a file, and reading files and folders."""

import json
import shutil
from pathlib import Path

import pytest

from memory_pipeline.domain.conversation import Skipped, SourceThread
from memory_pipeline.importers.errors import (
    UnknownFormatError,
    UnknownUserError,
    UnreadableExportError,
)
from memory_pipeline.importers.registry import (
    FORMATS,
    detect,
    expand,
    read_export,
    read_exports,
)
from memory_pipeline_tests.importers.imported import DATA, import_file, write_json, write_lines

LOCOMO = {
    "qa": [{"question": "x" * 100}] * 5000,
    "conversation": {
        "speaker_a": "Ines",
        "speaker_b": "Otto",
        "session_1": [{"speaker": "Ines", "text": "hi"}],
    },
}
MEMORYBANK = {"Ines": {"summary": {}, "history": {"2023-04-27": [{"query": "hi"}]}}}


@pytest.mark.parametrize(
    ("sample", "name"),
    [
        ("chatgpt_conversations.json", "chatgpt"),
        ("claude_conversations.json", "claude"),
        ("openai_messages.jsonl", "openai"),
    ],
)
def test_a_sample_is_recognised_by_its_content_whatever_its_name(
    tmp_path: Path, sample: str, name: str
) -> None:
    copy = tmp_path / "renamed.txt"
    shutil.copy(DATA / sample, copy)
    assert detect(copy).name == name
    assert import_file(copy) == import_file(DATA / sample, name)


@pytest.mark.parametrize(
    ("document", "name"),
    [
        (LOCOMO, "locomo"),
        ([LOCOMO, LOCOMO], "locomo"),
        (MEMORYBANK, "memorybank"),
        ({"messages": [{"role": "user"}]}, "openai"),
        ([{"content": "x", "role": "user"}], "openai"),
        ({"mapping": {}}, "chatgpt"),
        ([{"name": 'a "mapping": {', "chat_messages": []}], "claude"),
        ({"conversations": [{"mapping": {}}]}, "chatgpt"),
    ],
)
def test_a_format_is_recognised_by_its_keys(tmp_path: Path, document: object, name: str) -> None:
    assert detect(write_json(tmp_path, document)).name == name


def test_every_format_can_be_asked_for_by_name() -> None:
    assert sorted(FORMATS) == ["chatgpt", "claude", "locomo", "memorybank", "openai"]
    assert all(name == importer.name for name, importer in FORMATS.items())


@pytest.mark.parametrize("fmt", ["openai", "OpenAI-messages", "openai_messages"])
def test_a_format_may_be_spelled_as_people_spell_it(fmt: str) -> None:
    assert import_file(DATA / "openai_messages.jsonl", fmt).threads


def test_a_format_that_does_not_exist_is_refused_with_those_that_do(tmp_path: Path) -> None:
    with pytest.raises(UnknownFormatError, match=r"no format 'slack'.*auto, chatgpt.*--format"):
        read_export(tmp_path / "x.json", "slack")


@pytest.mark.parametrize(
    "content",
    ['[{"type": "message", "user": "U1", "ts": "1.2"}]', "just words", "\x00\x01\x02", '{"a": "'],
)
def test_an_unknown_format_is_refused_with_those_known(tmp_path: Path, content: str) -> None:
    path = tmp_path / "export.json"
    path.write_text(content)
    with pytest.raises(UnknownFormatError, match=r"chatgpt, claude.*--format NAME"):
        read_export(path)


@pytest.mark.parametrize("content", ["[]", "{}", " \n", "[[], {}]"])
def test_an_export_without_a_conversation_is_refused_as_such(tmp_path: Path, content: str) -> None:
    path = tmp_path / "export.json"
    path.write_text(content)
    with pytest.raises(UnreadableExportError, match="holds no conversation"):
        read_export(path)


@pytest.mark.parametrize(
    ("raw", "says"),
    [(b"", "is empty"), (b"PK\x03\x04", "zip"), (b"\x89PNG\r\n\x1a\n\x00\x00", "not UTF-8")],
)
def test_a_file_that_is_no_text_is_refused(tmp_path: Path, raw: bytes, says: str) -> None:
    path = tmp_path / "export.json"
    path.write_bytes(raw)
    with pytest.raises(UnreadableExportError, match=says):
        read_export(path)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(UnreadableExportError, match="is a folder"):
        read_export(tmp_path)


@pytest.mark.parametrize("sample", ["chatgpt_conversations.json", "claude_conversations.json"])
def test_a_truncated_export_is_refused_with_the_place(tmp_path: Path, sample: str) -> None:
    path = tmp_path / "export.json"
    path.write_bytes((DATA / sample).read_bytes()[:-200])
    with pytest.raises(UnreadableExportError, match=r"not a whole JSON document \(.* line \d+"):
        next(read_export(path))


@pytest.mark.parametrize("name", ["chatgpt", "claude"])
def test_a_byte_order_mark_is_ignored(tmp_path: Path, name: str) -> None:
    path = tmp_path / "export.json"
    sample = DATA / f"{name}_conversations.json"
    path.write_bytes(b"\xef\xbb\xbf" + sample.read_bytes())
    assert import_file(path) == import_file(sample)


def test_the_wrong_format_by_name_gives_no_thread_and_counts(tmp_path: Path) -> None:
    got = import_file(DATA / "claude_conversations.json", "chatgpt")
    assert (got.threads, got.skipped) == ((), {"bad_conversation": 2})


def _folder(root: Path) -> Path:
    folder = root / "export"
    (folder / "deep").mkdir(parents=True)
    (folder / ".cache").mkdir()
    shutil.copy(DATA / "openai_messages.jsonl", folder / "deep" / "chats.JSONL")
    write_json(folder, {"id": "me"}, "user.json")
    write_json(folder / ".cache", {"id": "me"}, "hidden.json")
    (folder / "chat.html").write_text("<html>")
    return folder


def test_a_folder_stands_for_the_json_files_in_it(tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    single = folder / "chat.html"
    files = [folder / "deep" / "chats.JSONL", folder / "user.json"]
    assert expand([folder, single, folder]) == [*files, single]


def test_a_folder_without_a_file_to_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableExportError, match=r"holds no \.json or \.jsonl file"):
        expand([tmp_path])


def test_what_lies_beside_the_chats_in_a_folder_is_counted(tmp_path: Path) -> None:
    items = list(read_exports([_folder(tmp_path)]))
    assert [item.source_id for item in items if isinstance(item, SourceThread)] == [
        "t-100",
        "t-101",
    ]
    assert Skipped(reason="unknown_format", where="user.json") in items


def test_an_unknown_file_that_is_named_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownFormatError):
        list(read_exports([DATA / "openai_messages.jsonl", _folder(tmp_path) / "user.json"]))


def test_chats_of_others_in_a_folder_are_counted(tmp_path: Path) -> None:
    write_json(tmp_path, LOCOMO, "a.json")
    write_json(tmp_path, {"Ada": MEMORYBANK["Ines"]}, "b.json")
    items = list(read_exports([tmp_path], user="Otto"))
    assert [type(item) for item in items] == [SourceThread, Skipped]
    assert items[1] == Skipped(reason="other_user", where="b.json")


def test_a_user_found_nowhere_in_a_folder_is_refused(tmp_path: Path) -> None:
    write_json(tmp_path, LOCOMO, "a.json")
    with pytest.raises(UnknownUserError, match="Ines, Otto"):
        list(read_exports([tmp_path], user="Zoe"))


def test_a_telling_key_far_into_the_file_is_found(tmp_path: Path) -> None:
    document = {"qa": ["x" * 2_000_000], "conversation": {"speaker_a": "Ines"}}
    assert detect(write_json(tmp_path, document)).name == "locomo"


def test_text_that_looks_like_keys_is_not_taken_for_them(tmp_path: Path) -> None:
    line = {"role": "user", "content": json.dumps({"mapping": {}, "chat_messages": []})}
    assert detect(write_lines(tmp_path, line)).name == "openai"
