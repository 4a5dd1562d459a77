"""What an import gave, in a form that tests can ask; and exports written for one test.

What belongs here: reading and writing for the tests of this package. What does not: tests.
"""

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from memory_pipeline.domain.conversation import Role, Skipped, SourceMessage, SourceThread
from memory_pipeline.importers.registry import read_export

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Imported:
    """Everything one import gave."""

    threads: tuple[SourceThread, ...]
    skips: tuple[Skipped, ...]

    @property
    def messages(self) -> list[SourceMessage]:
        return [message for thread in self.threads for message in thread.messages]

    @property
    def texts(self) -> list[str]:
        return [message.text for message in self.messages]

    @property
    def roles(self) -> list[Role]:
        return [message.role for message in self.messages]

    @property
    def ids(self) -> list[tuple[str, str]]:
        return [(t.source_id, m.source_id) for t in self.threads for m in t.messages]

    @property
    def skipped(self) -> dict[str, int]:
        counts: Counter[str] = Counter()
        for skip in self.skips:
            counts[skip.reason] += skip.count
        return dict(counts)


def import_file(path: Path, fmt: str = "auto", user: str | None = None) -> Imported:
    items = list(read_export(path, fmt, user))
    return Imported(
        threads=tuple(item for item in items if isinstance(item, SourceThread)),
        skips=tuple(item for item in items if isinstance(item, Skipped)),
    )


def write_json(folder: Path, value: object, name: str = "export.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(value), encoding="ascii")
    return path


def write_lines(folder: Path, *values: object, name: str = "export.jsonl") -> Path:
    """One JSON value a line; a string is written as it stands."""
    path = folder / name
    lines = [value if isinstance(value, str) else json.dumps(value) for value in values]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
