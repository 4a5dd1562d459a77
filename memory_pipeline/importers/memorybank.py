"""MemoryBank: several users' days of talk with a companion, one thread a day.

What belongs here: the shape of that data set. What does not: choosing among its users, which only
`--user` can do.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from memory_pipeline.domain.conversation import Role, Skipped, SourceMessage, SourceThread
from memory_pipeline.importers.errors import UnknownUserError, UnreadableExportError
from memory_pipeline.importers.export_values import list_of, mapping_of, text_of
from memory_pipeline.importers.outline import KeyPath
from memory_pipeline.importers.text_border import clean_text, read_document
from memory_pipeline.importers.thread_draft import ThreadDraft

_SIDES = {"query": Role.USER, "response": Role.ASSISTANT}


class MemoryBankImporter:
    """A mapping of user names to their history: days of query and response pairs.

    Messages have no time of their own; a day's thread starts at 00:00 UTC.
    """

    name = "memorybank"

    def recognises(self, paths: frozenset[KeyPath]) -> bool:
        return any(len(p) == 4 and p[1] == "history" and p[3] in _SIDES for p in paths)

    def read(self, path: str, user: str | None) -> Iterator[SourceThread | Skipped]:
        """Raises UnknownUserError, before anything is given, when it is not clear who is meant."""
        document = read_document(Path(path))
        if not isinstance(document, dict):
            raise UnreadableExportError(Path(path), "is no MemoryBank file: it holds no users")
        people = {clean_text(name): mapping_of(person) for name, person in document.items()}
        chosen = _chosen(Path(path), list(people), user)
        for name, person in people.items():
            history = mapping_of(person.get("history"))
            if name in chosen:
                for day, pairs in history.items():
                    yield from _thread(name, clean_text(day), list_of(pairs))
                if not history:
                    yield Skipped(reason="empty_thread", where=name)
            elif count := sum(len(mapping_of(p)) for day in history.values() for p in list_of(day)):
                yield Skipped(reason="other_user", count=count, where=name)


def _chosen(path: Path, names: list[str], user: str | None) -> set[str]:
    """The name that is meant: the one given, or the only one there is."""
    wanted = None if user is None else user.strip().casefold()
    chosen = {name for name in names if name.strip().casefold() == wanted}
    if not chosen and (user is not None or len(names) > 1):
        raise UnknownUserError(path, user, names)
    return chosen or set(names)


def _thread(name: str, day: str, pairs: list[object]) -> Iterator[SourceThread | Skipped]:
    draft = ThreadDraft()
    started_at = draft.instant(day)
    for pair in map(mapping_of, pairs):
        _add_pair(draft, pair)
    yield from draft.finish(f"{name}/{day}", started_at=started_at)


def _add_pair(draft: ThreadDraft, pair: Mapping[str, object]) -> None:
    if not pair.keys() & _SIDES.keys():
        draft.skip("bad_message")
        return
    for side, role in _SIDES.items():
        draft.add(SourceMessage(source_id="", role=role, text=text_of(pair.get(side))))
