"""What can go wrong with an export as a whole, in words that say what to do.

What belongs here: the errors an import can raise. What does not: single bad messages, which are
counted as `Skipped` and never raise.
"""

from collections.abc import Iterable
from pathlib import Path


class ExportError(Exception):
    """An export could not be imported; nothing of it was handed over unless said otherwise."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path
        self.problem = problem


class UnknownFormatError(ExportError):
    """No format recognises the file, or the format asked for does not exist."""

    def __init__(self, path: Path, problem: str, formats: Iterable[str]) -> None:
        self.formats = tuple(formats)
        names = ", ".join(self.formats)
        super().__init__(path, f"{problem}; formats known: {names} (choose one with --format NAME)")


class UnreadableExportError(ExportError):
    """The file is missing, not text, or broken as a whole."""


class UnknownUserError(ExportError):
    """The export holds several people and nothing says which of them is the user.

    `speakers` are the names it holds. A guess could attribute one person's life to another.
    """

    def __init__(self, path: Path, user: str | None, speakers: Iterable[str]) -> None:
        self.user = user
        self.speakers = tuple(speakers)
        names = ", ".join(self.speakers) or "nobody"
        asked = "it does not say who the user is" if user is None else f"{user!r} is not in it"
        super().__init__(path, f"{asked}; it names {names}: pass one of them with --user NAME")
