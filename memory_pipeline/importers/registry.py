"""The formats there are, which one a file is in, and reading files with it.

What belongs here: one line per format, detection, folders. What does not: any format's shape. To
add a format, write its file beside this one and add it to `FORMATS`.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from memory_pipeline.domain.conversation import Importer, Skipped, SourceThread
from memory_pipeline.importers.chatgpt import ChatGptImporter
from memory_pipeline.importers.claude import ClaudeImporter
from memory_pipeline.importers.errors import (
    UnknownFormatError,
    UnknownUserError,
    UnreadableExportError,
)
from memory_pipeline.importers.locomo import LocomoImporter
from memory_pipeline.importers.memorybank import MemoryBankImporter
from memory_pipeline.importers.openai_messages import OpenAiMessagesImporter
from memory_pipeline.importers.outline import KeyPath, key_paths
from memory_pipeline.importers.text_border import BadJsonError, parse_json, read_head

AUTO = "auto"
_SUFFIXES = frozenset({".json", ".jsonl", ".ndjson"})
# A first look is enough for most; some exports put megabytes before the telling key.
_HEAD_SIZES = (1 << 16, 1 << 20, 1 << 24)


class DetectableImporter(Importer, Protocol):
    """An importer that knows its format by the keys of the file's beginning."""

    def recognises(self, paths: frozenset[KeyPath]) -> bool:
        """Whether an export with these key paths is in this format."""
        ...


# Detection asks in this order: the format with the most general keys comes last.
_IMPORTERS: tuple[DetectableImporter, ...] = (
    ChatGptImporter(),
    ClaudeImporter(),
    LocomoImporter(),
    MemoryBankImporter(),
    OpenAiMessagesImporter(),
)
FORMATS: Mapping[str, DetectableImporter] = MappingProxyType({i.name: i for i in _IMPORTERS})
"""Format names as `--format` takes them."""


def read_export(
    path: Path, fmt: str = AUTO, user: str | None = None
) -> Iterator[SourceThread | Skipped]:
    """Threads of one file, and what was left out, in file order.

    Raises UnknownFormatError at once; UnreadableExportError and UnknownUserError at the latest
    when the first item is asked for, so never after a thread was handed over.
    """
    importer = detect(path) if fmt == AUTO else _by_name(path, fmt)
    return importer.read(str(path), user)


def read_exports(
    paths: Iterable[Path], fmt: str = AUTO, user: str | None = None
) -> Iterator[SourceThread | Skipped]:
    """Threads of files and folders. What a folder holds beside chats is counted, not fatal.

    Such files are `unknown_format`, chats that the user is no part of `other_user`; a folder
    where that is so of every chat raises UnknownUserError, as a file that is named does.
    """
    for given in paths:
        if not given.is_dir():
            yield from read_export(given, fmt, user)
            continue
        strangers: list[UnknownUserError] = []
        has_threads = False
        for path in expand([given]):
            try:
                for item in read_export(path, fmt, user):
                    has_threads = has_threads or isinstance(item, SourceThread)
                    yield item
            except UnknownFormatError:
                if fmt != AUTO:
                    raise
                yield Skipped(reason="unknown_format", where=path.name)
            except UnknownUserError as error:
                strangers.append(error)
                yield Skipped(reason="other_user", where=path.name)
        if strangers and not has_threads:
            raise strangers[0]


def expand(paths: Iterable[Path]) -> list[Path]:
    """The files meant: each file as given, folders replaced by the JSON files in them, sorted.

    Raises UnreadableExportError for a folder without any.
    """
    files: dict[Path, None] = {}
    for path in paths:
        found = _files_in(path) if path.is_dir() else [path]
        if not found:
            raise UnreadableExportError(path, "holds no .json or .jsonl file")
        files.update(dict.fromkeys(found))
    return list(files)


def detect(path: Path) -> DetectableImporter:
    """The importer of a file, by its content.

    Raises UnknownFormatError, or UnreadableExportError for what is no text file.
    """
    head = ""
    for size in _HEAD_SIZES:
        longer = read_head(path, size)
        if longer == head:
            break
        head = longer
        found = _match(key_paths(head))
        if found:
            return found
    if not "".join(head.split()).strip("[]{},"):
        raise UnreadableExportError(path, "holds no conversation")
    # A broken first line hides the keys of the good ones after it.
    found = _match(frozenset().union(*map(key_paths, _whole_lines(head))))
    if found is None:
        raise UnknownFormatError(path, "is in no format that is known", FORMATS)
    return found


def _match(paths: frozenset[KeyPath]) -> DetectableImporter | None:
    return next((importer for importer in _IMPORTERS if importer.recognises(paths)), None)


def _whole_lines(head: str) -> Iterator[str]:
    for line in head.split("\n"):
        try:
            parse_json(line.encode("utf-8", "surrogatepass"))
        except BadJsonError:
            continue
        yield line


def is_format(fmt: str) -> bool:
    """Whether `--format` may say this."""
    return fmt == AUTO or _plain(fmt) in FORMATS


def _plain(fmt: str) -> str:
    return fmt.strip().lower().replace("-", "_").removesuffix("_messages")


def _by_name(path: Path, fmt: str) -> DetectableImporter:
    if _plain(fmt) not in FORMATS:
        raise UnknownFormatError(path, f"there is no format {fmt!r}", (AUTO, *FORMATS))
    return FORMATS[_plain(fmt)]


def _files_in(folder: Path) -> list[Path]:
    return sorted(
        path
        for path in folder.rglob("*")
        if path.suffix.lower() in _SUFFIXES
        and path.is_file()
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )
