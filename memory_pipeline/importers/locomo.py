"""LoCoMo: long conversations of two people in dated sessions, one thread a session.

What belongs here: the shape of that data set. What does not: who of the two is the user, which
only `--user` can say.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from memory_pipeline.domain.conversation import Role, Skipped, SourceMessage, SourceThread
from memory_pipeline.importers.errors import UnknownUserError, UnreadableExportError
from memory_pipeline.importers.export_values import id_of, list_of, mapping_of, text_of
from memory_pipeline.importers.outline import KeyPath
from memory_pipeline.importers.text_border import read_document
from memory_pipeline.importers.thread_draft import ThreadDraft

_TIME = "%I:%M %p on %d %B, %Y"
_SESSION = re.compile(r"session_(\d+)(?:_date_time)?")


@dataclass(frozen=True)
class Sample:
    """One conversation of two people; `sessions` are their numbers, ascending."""

    sample_id: str
    conversation: Mapping[str, object]

    @property
    def sessions(self) -> list[int]:
        matches = map(_SESSION.fullmatch, self.conversation)
        return sorted({int(match[1]) for match in matches if match})

    def turns(self, session: int) -> list[object]:
        return list_of(self.conversation.get(f"session_{session}"))

    @property
    def speakers(self) -> list[str]:
        """The names, in the order of the file, without repeats."""
        turns = [mapping_of(turn) for session in self.sessions for turn in self.turns(session)]
        named = [self.conversation.get("speaker_a"), self.conversation.get("speaker_b")]
        names = [text_of(name).strip() for name in (*named, *(t.get("speaker") for t in turns))]
        return [name for name in dict.fromkeys(names) if name]


class LocomoImporter:
    """One sample, or a list of them; messages of both people are `USER`, told apart by speaker.

    Messages have no time of their own; a picture's caption follows its turn as an attachment.
    """

    name = "locomo"

    def recognises(self, paths: frozenset[KeyPath]) -> bool:
        return any(
            path[-1] in {"speaker_a", "speaker_b"} and path[:-1] in {(), ("conversation",)}
            for path in paths
        )

    def read(self, path: str, user: str | None) -> Iterator[SourceThread | Skipped]:
        """Raises UnknownUserError when `user` is none of the people, before anything is given."""
        samples = _samples(read_document(Path(path)), Path(path).stem)
        if not any(sample.sessions for sample in samples):
            raise UnreadableExportError(Path(path), "is no LoCoMo file: it holds no session")
        wanted = None if user is None else user.strip().casefold()
        chosen = [s for s in samples if wanted in {name.casefold() for name in s.speakers}]
        if not chosen:
            names = dict.fromkeys(name for sample in samples for name in sample.speakers)
            raise UnknownUserError(Path(path), user, names)
        for sample in samples:
            if sample in chosen:
                yield from _threads(sample)
                continue
            count = sum(len(sample.turns(session)) for session in sample.sessions)
            if count:
                yield Skipped(reason="other_user", count=count, where=sample.sample_id)


def _samples(document: object, stem: str) -> Sequence[Sample]:
    values = list_of(document) or [document]
    samples = []
    for place, value in enumerate(map(mapping_of, values), start=1):
        spare_id = stem if len(values) == 1 else f"{stem}-{place}"
        conversation = mapping_of(value.get("conversation")) or value
        samples.append(Sample(id_of(value.get("sample_id")) or spare_id, conversation))
    return samples


def _threads(sample: Sample) -> Iterator[SourceThread | Skipped]:
    for session in sample.sessions:
        draft = ThreadDraft()
        started_at = _session_time(draft, sample.conversation.get(f"session_{session}_date_time"))
        for turn in sample.turns(session):
            _add_turn(draft, mapping_of(turn))
        yield from draft.finish(f"{sample.sample_id}/session_{session}", started_at=started_at)


def _add_turn(draft: ThreadDraft, turn: Mapping[str, object]) -> None:
    speaker = text_of(turn.get("speaker")).strip()
    if not speaker:
        draft.skip("unknown_speaker")
        return
    turn_id = id_of(turn.get("dia_id")) or ""
    text, caption = text_of(turn.get("text")), text_of(turn.get("blip_caption"))
    pictures = turn.get("img_url")
    has_picture = bool(caption.strip() or pictures)
    if text.strip() or not has_picture:
        draft.add(SourceMessage(source_id=turn_id, role=Role.USER, text=text, speaker=speaker))
    if caption.strip():
        picture_id = f"{turn_id}/image" if turn_id else ""
        # The caption was made by a model: no words of the speaker.
        draft.add(
            SourceMessage(source_id=picture_id, role=Role.ATTACHMENT, text=caption, speaker=speaker)
        )
    elif pictures:
        draft.skip("image", len(list_of(pictures)) or 1)


def _session_time(draft: ThreadDraft, value: object) -> datetime | None:
    """The instant of "1:56 pm on 8 May, 2023", read as UTC."""
    try:
        return datetime.strptime(text_of(value).strip(), _TIME).replace(tzinfo=UTC)
    except ValueError:
        return draft.instant(value)
