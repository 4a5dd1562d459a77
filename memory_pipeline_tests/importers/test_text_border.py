"""What crosses the border of the project: files, bytes, JSON, text."""

from pathlib import Path

import pytest

from memory_pipeline.importers.errors import UnreadableExportError
from memory_pipeline.importers.text_border import (
    BadJsonError,
    clean_text,
    parse_json,
    read_document,
    read_head,
    read_lines,
)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("a\x00b", "ab"),
        ("half \ud83d of a pair", "half \ufffd of a pair"),
        ("low \ude00", "low \ufffd"),
        ("\ud83d\ude00", "\U0001f600"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
        ("one\r\ntwo\rthree\n", "one\ntwo\nthree\n"),
        ("untouched \U0001f600 \u2028 é", "untouched \U0001f600 \u2028 é"),
    ],
)
def test_text_becomes_storable(text: str, clean: str) -> None:
    assert clean_text(text) == clean


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (b'\xef\xbb\xbf{"a": 1}', {"a": 1}),
        (b'"\\ud83d"', "\ud83d"),
        (b'"\xed\xa0\xbd"', "\ud83d"),
        (b'"a\x00b\tc"', "a\x00b\tc"),
    ],
)
def test_json_of_sloppy_writers_is_read(raw: bytes, value: object) -> None:
    assert parse_json(raw) == value


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b'{"a": ', "cut short"),
        (b'{"a": }', "line 1, column 7"),
        (b'"\xff"', "not UTF-8 at byte 1"),
        (b"[" * 100_000, "nested too deep"),
        (b"1" * 10_000, "digit"),
    ],
)
def test_bad_json_says_what_is_wrong_and_where(raw: bytes, says: str) -> None:
    with pytest.raises(BadJsonError, match=says):
        parse_json(raw)


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"", "is empty"),
        (b"\xef\xbb\xbf", "is empty"),
        (b"PK\x03\x04rest", "zip archive"),
        (b"\x1f\x8brest", "gzip"),
        (b"\xff\xfe[\x00]\x00", "UTF-16"),
        (b'[{"mapping": {', "cut short"),
    ],
)
def test_a_file_that_is_no_document_is_refused_with_what_to_do(
    tmp_path: Path, raw: bytes, says: str
) -> None:
    path = tmp_path / "conversations.json"
    path.write_bytes(raw)
    with pytest.raises(UnreadableExportError, match=says) as caught:
        read_document(path)
    assert caught.value.path == path


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableExportError, match="is a folder"):
        read_document(tmp_path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableExportError, match="does not exist"):
        read_document(tmp_path / "nothing.json")


def test_lines_keep_their_numbers_and_lose_blank_ones_and_the_byte_order_mark(
    tmp_path: Path,
) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_bytes(b"\xef\xbb\xbfa\r\n\n  \nb\xe2\x80\xa8c")
    assert list(read_lines(path)) == [(1, b"a"), (4, b"b\xe2\x80\xa8c")]


def test_a_head_that_ends_inside_a_character_leaves_it_out(tmp_path: Path) -> None:
    path = tmp_path / "head.json"
    path.write_bytes("ab\U0001f600".encode())
    assert [read_head(path, size) for size in (2, 3, 4, 5, 6)] == [
        "ab",
        "ab",
        "ab",
        "ab",
        "ab\U0001f600",
    ]


def test_a_binary_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "picture.json"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    with pytest.raises(UnreadableExportError, match="not UTF-8"):
        read_head(path, 1000)
