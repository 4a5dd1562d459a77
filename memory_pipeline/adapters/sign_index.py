"""What lies near a vector in one generation, ranked in memory by the signs of the vectors' parts.

Near vectors share most of their signs, so 48 bytes (at 384 dimensions) for each open fact and each
entity are held and kept up with what is folded: a scan in the database would grow with the tenant
and is asked for several times an episode. The ranking is a pure function of what is stored,
whatever came when, so that a rebuild finds what the live memory found (spec G1). Belongs here:
reading the signs, keeping them up, ranking. Does not: the exact comparison of the best, which the
database makes, and what is near enough.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
_FARTHEST = 1 << 20
"""More signs than two vectors can differ in."""


def ask_signs(connection: RowConnection, keys: Row) -> Cursor[Row]:
    """Ask for a whole generation in one row; `read_signs` takes the answer."""
    return execute(connection, "generation_signs", keys, is_binary=True)


def read_signs(cursor: Cursor[Row]) -> "SignIndex":
    """The index as of the version of the generation that was read with it."""
    row = cursor.fetchone()
    if row is None:
        raise LookupError("there is no generation to read vectors of")
    predicates = row["predicates"].split("\x1f") if row["fact_count"] else []
    index = SignIndex(row["version"], _read_table(row, "fact"), _read_table(row, "entity"))
    index.name_predicates(predicates)
    return index


def _read_table(row: Row, kind: str) -> "_Table":
    count: int = row[f"{kind}_count"]
    bits = np.frombuffer(row[f"{kind}_signs"], np.uint8)
    return _Table(
        ids=_halves(row[f"{kind}_ids"], count),
        subjects=_halves(row["fact_subjects"], count) if kind == "fact" else _none(2, count),
        signs=_packed(bits.reshape(count, -1)[:, _BIT_HEADER:]) if count else _none(0, 0),
        known_from=np.frombuffer(row[f"{kind}_known_from"], ">i8").astype(np.int64),
        predicates=np.zeros(count, np.int32),
        is_open=np.ones(count, np.bool_),
        count=count,
    )


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
    predicates: NDArray[np.int32]
    is_open: NDArray[np.bool_]
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
        if self.count == self.is_open.size:
            self._make_room(signs.shape[0])
        place = self.count
        self.ids[:, place] = _half_words(key)
        self.subjects[:, place] = _half_words(subject) if subject else 0
        self.signs[:, place] = signs[:, 0]
        self.known_from[place] = _microseconds(known_from)
        self.predicates[place] = predicate
        self.is_open[place] = True
        self.count += 1

    def _make_room(self, words: int) -> None:
        if not self.signs.size:
            self.signs = _none(words, self.is_open.size)
        extra = 64 + self.count // 2
        for name in ("ids", "subjects", "signs", "known_from", "predicates", "is_open"):
            column: NDArray[Any] = getattr(self, name)
            room = np.zeros((*column.shape[:-1], extra), column.dtype)
            setattr(self, name, np.concatenate([column, room], axis=-1))

    def remove(self, key: UUID) -> _Words | None:
        """Leave a row out from now on; its signs, None where there is none."""
        high, low = _half_words(key)
        (places,) = np.nonzero((self.ids[0] == high) & (self.ids[1] == low) & self.is_open)
        if not places.size:
            return None
        self.is_open[places] = False
        return self.signs[:, places[:1]]

    def known_by(self, at: datetime | None) -> _Positions:
        """Where the rows are that were known at an instant, or are known."""
        if at is None:
            return np.nonzero(self.is_open)[0]
        return np.nonzero(self.is_open & (self.known_from <= _microseconds(at)))[0]

    def about(self, subject: UUID) -> _Positions:
        """Where the rows of a subject are."""
        high, low = _half_words(subject)
        return np.nonzero((self.subjects[0] == high) & (self.subjects[1] == low) & self.is_open)[0]

    def nearest(
        self, places: _Positions, among: _Words, vector: Vector, count: int, slot: int | None = None
    ) -> Ids:
        """The rows at `places` that share most signs with a vector; those of a slot come first.

        `among` holds the signs at `places`. Equally near ones come in the order of their ids.
        """
        if not places.size:
            return "{}"
        differing = np.zeros(places.size, np.int32)
        for words, word in zip(among, signs_of(vector), strict=True):
            differing += np.bitwise_count(words ^ word)
        if slot is not None:
            differing += _FARTHEST * (self.predicates[places] != slot)
        if places.size > count:
            last = np.partition(differing, count - 1)[count - 1]
            is_near = differing <= last
            places, differing = places[is_near], differing[is_near]
        high, low = self.ids[:, places]
        chosen = places[np.lexsort((low, high, differing))[:count]]
        return self._array(chosen)

    def _array(self, places: _Positions) -> Ids:
        key = np.ascontiguousarray(self.ids[:, places].T.astype(">u8"))
        return "{" + key.tobytes().hex(",", 16) + "}"


@dataclass
class SignIndex:
    """The open facts (believed, without an end) and the entities of one generation.

    True for exactly this `version` of the generation.
    """

    version: int
    _facts: _Table
    _entities: _Table
    _predicates: dict[str, int] = field(default_factory=dict)

    @property
    def fact_count(self) -> int:
        """How many facts are open."""
        return int(self._facts.is_open.sum())

    @property
    def entity_count(self) -> int:
        """How many entities there are."""
        return int(self._entities.is_open.sum())

    def name_predicates(self, predicates: Sequence[str]) -> None:
        """Take in the predicates of the facts, in their order."""
        numbers = np.fromiter(map(self._number, predicates), np.int32, len(predicates))
        self._facts.predicates[: self._facts.count] = numbers

    def _number(self, predicate: str) -> int:
        return self._predicates.setdefault(predicate, len(self._predicates))

    def nearest_entities(
        self, vectors: Sequence[Vector], count: int, at: datetime | None = None
    ) -> list[Ids]:
        """For each vector the entities nearest to it, of those known `at` an instant if given."""
        return self._nearest_known(self._entities, vectors, count, at)

    def nearest_facts(self, vectors: Sequence[Vector], count: int, at: datetime) -> list[Ids]:
        """For each vector the open facts nearest to it that were known at an instant."""
        return self._nearest_known(self._facts, vectors, count, at)

    @staticmethod
    def _nearest_known(
        table: _Table, vectors: Sequence[Vector], count: int, at: datetime | None
    ) -> list[Ids]:
        places = table.known_by(at)
        among = table.signs[:, places]
        return [table.nearest(places, among, vector, count) for vector in vectors]

    def neighbours(self, claims: Sequence[tuple[EntityId, str, Vector]], count: int) -> list[Ids]:
        """For each claim (subject, predicate, vector) the open facts about its subject nearest to
        it: those of its slot first.
        """
        subjects: dict[EntityId, tuple[_Positions, _Words]] = {}
        for subject, _, _ in claims:
            if subject not in subjects:
                places = self._facts.about(subject)
                subjects[subject] = (places, self._facts.signs[:, places])
        return [
            self._facts.nearest(*subjects[subject], vector, count, self._number(predicate))
            for subject, predicate, vector in claims
        ]

    def follow(self, changes: ChangeSet, vectors: Mapping[str, Vector]) -> bool:
        """Take in what was written on this version; False where that can't be told from here.

        `vectors` maps statements of new facts and names of new entities to their vectors.
        """
        if changes.head.version != self.version:
            return False
        closed = {c.fact_id: self._facts.remove(c.fact_id) for c in changes.version_closures}
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
