"""The border that every byte of an export crosses: decoding, JSON, and text made storable.

What belongs here: reading files safely and cleaning text. What does not: the meaning of any
field (export_values) and any format.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from memory_pipeline.importers.errors import UnreadableExportError

_BOM = b"\xef\xbb\xbf"
_LINE_ENDS = re.compile(r"\r\n?")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_ARCHIVES = {
    b"PK\x03\x04": "is a zip archive: unpack it and import the folder or the file inside",
    b"PK\x05\x06": "is an empty zip archive",
    b"\x1f\x8b": "is a gzip archive: unpack it first",
    b"\xff\xfe": "is UTF-16 text: save it as UTF-8 first",
    b"\xfe\xff": "is UTF-16 text: save it as UTF-8 first",
}


class BadJsonError(ValueError):
    """Text that is no JSON value; the message says where."""


def clean_text(text: str) -> str:
    """The text without NUL, halves of surrogate pairs as U+FFFD, line ends as newlines.

    PostgreSQL stores neither NUL nor lone surrogates; two halves that belong together are joined.
    """
    if _SURROGATE.search(text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return _LINE_ENDS.sub("\n", text.replace("\x00", ""))


def parse_json(raw: bytes) -> object:
    """The JSON value of UTF-8 bytes, a byte order mark and raw control characters tolerated.

    Raises BadJsonError, also for values nested too deep or numbers too long to read.
    """
    try:
        # Sloppy writers encode half a surrogate pair as if it were a character.
        text = raw.removeprefix(_BOM).decode("utf-8", "surrogatepass")
        value: object = json.loads(text, strict=False)
    except json.JSONDecodeError as error:
        cut = ", the end: it looks cut short" if not text[error.pos :].strip() else ""
        place = f"line {error.lineno}, column {error.colno}{cut}"
        raise BadJsonError(f"{error.msg} at {place}") from error
    except UnicodeDecodeError as error:
        raise BadJsonError(f"not UTF-8 at byte {error.start}") from error
    except RecursionError as error:
        raise BadJsonError("nested too deep") from error
    except ValueError as error:
        raise BadJsonError(str(error)) from error
    return value


def read_document(path: Path) -> object:
    """The one JSON value of a file. Raises UnreadableExportError with the place of the fault."""
    with _open_export(path) as file:
        raw = file.read()
    try:
        return parse_json(raw)
    except BadJsonError as error:
        raise UnreadableExportError(
            path, f"is not a whole JSON document ({error}): export or copy it again"
        ) from error


def read_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, each with its number from 1, one at a time."""
    with _open_export(path) as file:
        for number, line in enumerate(file, start=1):
            content = line.removeprefix(_BOM).strip() if number == 1 else line.strip()
            if content:
                yield number, content


def read_head(path: Path, size: int) -> str:
    """The first `size` bytes as text; a character cut in half at the end is left out.

    Raises UnreadableExportError when they are not UTF-8.
    """
    with _open_export(path) as file:
        raw = file.read(size).removeprefix(_BOM)
    try:
        return raw.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        # Three bytes are the most that a cut character leaves behind.
        if len(raw) - error.start > 3:
            raise UnreadableExportError(
                path, f"is not UTF-8 text (byte {error.start}): is it a chat export?"
            ) from error
        return raw[: error.start].decode("utf-8", "surrogatepass")


@contextmanager
def _open_export(path: Path) -> Iterator[BinaryIO]:
    """The file opened for reading, once it is known to be no folder, archive or empty file."""
    if path.is_dir():
        raise UnreadableExportError(path, "is a folder: import the files in it")
    try:
        with path.open("rb") as file:
            head = file.read(4)
            for magic, problem in _ARCHIVES.items():
                if head.startswith(magic):
                    raise UnreadableExportError(path, problem)
            if not head.removeprefix(_BOM):
                raise UnreadableExportError(path, "is empty: export it again")
            file.seek(0)
            yield file
    except FileNotFoundError as error:
        raise UnreadableExportError(path, "does not exist") from error
    except OSError as error:
        raise UnreadableExportError(path, f"cannot be read ({error.strerror})") from error
