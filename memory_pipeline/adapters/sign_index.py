"""What lies near a vector in one generation, ranked in memory by the signs of the vectors' parts.

Near vectors share most signs: 48 bytes a fact, kept up with what is folded, spare a scan for each
claim. A pure function of what is stored, whatever came when (spec G1). Belongs here: reading,
keeping up and ranking signs. Does not: the exact comparison of the best (the database's).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from psycopg import Cursor

from memory_pipeline.adapters.postgres import Row, RowConnection, execute
from memory_pipeline.domain.changes import ChangeSet
from memory_pipeline.domain.ids import EntityId

Vector = Sequence[float]
Ids = str
"""Ids, nearest first, as the text of an array: a list would be written item by item."""
_Words = NDArray[np.uint64]
_Positions = NDArray[np.intp]

_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
"""Where the server begins to count microseconds."""
_BIT_HEADER = 4
"""Bytes before the bits of each value: how many bits follow."""
_STILL = np.iinfo(np.int64).max
"""The end of known time, as the server sends it."""


def ask_signs(connection: RowConnection, keys: Row, boundary: int | None) -> Cursor[Row]:
    """Ask for a whole generation in one row; `read_signs` takes the answer.

    With a `boundary` the index also tells what was nearest after so many folds, and later.
    """
    return execute(connection, "generation_signs", keys | {"boundary": boundary}, is_binary=True)


def read_signs(cursor: Cursor[Row]) -> "SignIndex":
    """The index as of the version of the generation that was read with it."""
    row = cursor.fetchone()
    if row is None:
        raise LookupError("there is no generation to read vectors of")
    predicates = row["predicates"].split("\x1f") if row["fact_count"] else []
    numbers = {predicate: number for number, predicate in enumerate(dict.fromkeys(predicates))}
    facts = _read_table(row, "fact")
    facts.predicates[:] = [numbers[predicate] for predicate in predicates]
    return SignIndex(row["version"], facts, _read_table(row, "entity"), numbers)


def _read_table(row: Row, kind: str) -> "_Table":
    count: int = row[f"{kind}_count"]
    bits = np.frombuffer(row[f"{kind}_signs"], np.uint8)
    return _Table(
        ids=_halves(row[f"{kind}_ids"], count),
        subjects=_halves(row["fact_subjects"], count) if kind == "fact" else _none(2, count),
        signs=_packed(bits.reshape(count, -1)[:, _BIT_HEADER:]) if count else _none(0, 0),
        known_from=_instants(row[f"{kind}_known_from"]),
        known_until=_instants(row["fact_known_until"])
        if kind == "fact"
        else np.full(count, _STILL),
        predicates=np.zeros(count, np.int32),
        count=count,
    )


def _instants(packed: bytes) -> NDArray[np.int64]:
    return np.frombuffer(packed, ">i8").astype(np.int64)


def _none(rows: int, count: int) -> _Words:
    return np.zeros((rows, count), np.uint64)


def _halves(ids: bytes, count: int) -> _Words:
    """UUIDs as two numbers each, in whose order they sort as they do in the server."""
    return np.ascontiguousarray(np.frombuffer(ids, ">u8").reshape(count, 2).T.astype(np.uint64))


def _packed(bits: NDArray[np.uint8]) -> _Words:
    """Bytes of bits, a row a vector, as a column of words each."""
    rest = -bits.shape[1] % 8
    padded = np.pad(bits, ((0, 0), (0, rest))) if rest else np.ascontiguousarray(bits)
    return np.ascontiguousarray(padded.view(np.uint64).T)


def signs_of(vector: Vector) -> _Words:
    """The signs of a vector as the server has them, which rounds to half precision first."""
    return _packed(np.packbits(np.asarray(vector, np.float16) > 0)[np.newaxis, :])


def _half_words(key: UUID) -> tuple[int, int]:
    return key.int >> 64, key.int & (1 << 64) - 1


def _microseconds(instant: datetime) -> int:
    return (instant - _EPOCH) // timedelta(microseconds=1)


@dataclass
class _Table:
    """Columns of as many places as there is room for; the first `count` are in use."""

    ids: _Words
    subjects: _Words
    signs: _Words
    known_from: NDArray[np.int64]
    known_until: NDArray[np.int64]
    predicates: NDArray[np.int32]
    count: int

    def add(
        self,
        key: UUID,
        signs: _Words,
        known_from: datetime,
        subject: UUID | None = None,
        predicate: int = 0,
    ) -> None:
        """Take a row in at the end."""
        if self.count == self.known_from.size:
            self._make_room(signs.shape[0])
        place = self.count
        self.ids[:, place] = _half_words(key)
        self.subjects[:, place] = _half_words(subject) if subject else 0
        self.signs[:, place] = signs[:, 0]
        self.known_from[place] = _microseconds(known_from)
        self.known_until[place] = _STILL
        self.predicates[place] = predicate
        self.count += 1

    def _make_room(self, words: int) -> None:
        if not self.signs.size:
            self.signs = _none(words, self.count)
        extra = 64 + self.count // 2
        for name in ("ids", "subjects", "signs", "known_from", "known_until", "predicates"):
            column: NDArray[Any] = getattr(self, name)
            room = np.zeros((*column.shape[:-1], extra), column.dtype)
            setattr(self, name, np.concatenate([column, room], axis=-1))

    def close(self, key: UUID, known_until: datetime) -> _Words | None:
        """A row is believed no more from now on; its signs, None where there is no such row."""
        high, low = _half_words(key)
        (places,) = np.nonzero((self.ids[0] == high) & (self.ids[1] == low) & self._is_believed())
        if not places.size:
            return None
        self.known_until[places] = _microseconds(known_until)
        return self.signs[:, places[:1]]

    def _is_believed(self) -> NDArray[np.bool_]:
        return np.equal(self.known_until, _STILL)

    def believed_count(self) -> int:
        """How many rows are believed."""
        return int(np.count_nonzero(self._is_believed()))

    def known_by(self, at: datetime | None) -> _Positions:
        """Where the rows are that were believed at an instant, or are believed."""
        if at is None:
            return np.nonzero(self._is_believed())[0]
        instant = _microseconds(at)
        # Room that is not in use is believed until zero, long before any instant.
        return np.nonzero((self.known_from <= instant) & (self.known_until > instant))[0]

    def about(self, subject: UUID) -> _Positions:
        """Where the believed rows of a subject are."""
        high, low = _half_words(subject)
        is_about = (self.subjects[0] == high) & (self.subjects[1] == low)
        return np.nonzero(is_about & self._is_believed())[0]

    def differing(self, among: _Words, vector: Vector) -> NDArray[np.int32]:
        """In how many signs the rows `among` differ from a vector."""
        found = np.zeros(among.shape[1], np.int32)
        for words, word in zip(among, signs_of(vector), strict=False):  # no words without rows
            found += np.bitwise_count(words ^ word)
        return found

    def nearest(self, places: _Positions, differing: NDArray[np.int32], count: int) -> _Positions:
        """The rows at `places` that differ least; equally near ones in the order of their ids."""
        if places.size > count > 0:
            last = np.partition(differing, count - 1)[count - 1]
            is_near = differing <= last
            places, differing = places[is_near], differing[is_near]
        high, low = self.ids[:, places]
        return places[np.lexsort((low, high, differing))[:count]]

    def id_array(self, places: _Positions) -> Ids:
        """The ids at `places`."""
        key = np.ascontiguousarray(self.ids[:, places].T.astype(">u8"))
        return "{" + key.tobytes().hex(",", 16) + "}"


@dataclass
class SignIndex:
    """The open facts (believed, without an end) and the entities of one generation.

    True for exactly this `version` of the generation. Facts that were open at the last fold before
    the stride are there as well, so that what was near then can be told.
    """

    version: int
    _facts: _Table
    _entities: _Table
    _predicates: dict[str, int]

    @property
    def fact_count(self) -> int:
        """How many facts are open."""
        return self._facts.believed_count()

    @property
    def entity_count(self) -> int:
        """How many entities there are."""
        return self._entities.believed_count()

    def _number(self, predicate: str) -> int:
        return self._predicates.setdefault(predicate, len(self._predicates))

    def nearest_entities(
        self, vectors: Sequence[Vector], count: int, at: datetime | None = None
    ) -> list[Ids]:
        """For each vector the entities nearest to it, of those known `at` an instant if given."""
        return self._nearest_known(self._entities, vectors, count, at)

    def nearest_facts(self, vectors: Sequence[Vector], count: int, at: datetime) -> list[Ids]:
        """For each vector the facts nearest to it that were open at an instant."""
        return self._nearest_known(self._facts, vectors, count, at)

    @staticmethod
    def _nearest_known(
        table: _Table, vectors: Sequence[Vector], count: int, at: datetime | None
    ) -> list[Ids]:
        places = table.known_by(at)
        among = table.signs[:, places]
        return [
            table.id_array(table.nearest(places, table.differing(among, vector), count))
            for vector in vectors
        ]

    def neighbours(self, claims: Sequence[tuple[EntityId, str, Vector]], count: int) -> list[Ids]:
        """For each claim (subject, predicate, vector) the open facts about its subject that are
        nearest to it: so many of its slot, and so many others, which a full slot can't hide.
        """
        facts = self._facts
        subjects: dict[EntityId, tuple[_Positions, _Words]] = {}
        found = []
        for subject, predicate, vector in claims:
            if subject not in subjects:
                places = facts.about(subject)
                subjects[subject] = (places, facts.signs[:, places])
            places, among = subjects[subject]
            differing = facts.differing(among, vector)
            is_slot = facts.predicates[places] == self._number(predicate)
            parts = [facts.nearest(places[p], differing[p], count) for p in (is_slot, ~is_slot)]
            found.append(facts.id_array(np.concatenate(parts)))
        return found

    def follow(self, changes: ChangeSet, vectors: Mapping[str, Vector]) -> bool:
        """Take in what was written on this version; False where that can't be told from here.

        `vectors` maps statements of new facts and names of new entities to their vectors.
        """
        if changes.head.version != self.version:
            return False
        closed = {
            c.fact_id: self._facts.close(c.fact_id, changes.known_at)
            for c in changes.version_closures
        }
        for version in changes.versions:
            if version.valid_until is not None:
                continue
            vector = vectors.get(version.statement) if version.version == 1 else None
            signs = closed.get(version.fact_id) if vector is None else signs_of(vector)
            if signs is None:
                return False  # what had ended is open again: only the database has its vector
            predicate = self._number(version.predicate)
            self._facts.add(version.fact_id, signs, changes.known_at, version.subject_id, predicate)
        for entity in changes.new_entities:
            if entity.name in vectors:
                self._entities.add(
                    entity.entity_id, signs_of(vectors[entity.name]), changes.known_at
                )
        self.version += 1
        return True
