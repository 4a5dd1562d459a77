"""What memory holds, as an extraction is shown it: names and facts, the most relevant ones (X2).

Belongs here: asking for them in a pipeline and making the lists. Does not: when and for which
stride (memory_store), how they stand in a prompt (stages/transcript).
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Final, Literal

from pgvector import HalfVector
from psycopg import Cursor

from memory_pipeline.adapters.postgres import Row, RowConnection, execute
from memory_pipeline.adapters.sign_index import Ids, SignIndex
from memory_pipeline.domain.conversation import Window
from memory_pipeline.domain.extraction import EntityType, KnownEntity, KnownFact, KnownLists
from memory_pipeline.domain.ids import EntityId
from memory_pipeline.domain.policy import Policy
from memory_pipeline.stages.spoken_names import spoken_names

Embed = Callable[[Sequence[str]], Sequence[Sequence[float]]]
"""Unit vectors of texts, in order."""
Kind = Literal["entities", "facts"]
KINDS: Final[tuple[Kind, ...]] = ("entities", "facts")
_ALL: Final[Mapping[Kind, str]] = {"entities": "known_entities", "facts": "known_facts"}
_RELEVANT: Final[Mapping[Kind, str]] = {
    "entities": "relevant_entities",
    "facts": "relevant_facts",
}
_OWN_CHARS = 2_000
_Place = tuple[int, Kind]
"""A list: the window's index and what it lists."""


class KnownReads:
    """The known lists of a stride's windows as of `boundary` folds.

    Each list is read whole, or by relevance where there is more than is shown: `rank`, `ask` (in a
    pipeline) and `settle`, again for what turned out to be more.
    """

    def __init__(self, windows: Sequence[Window], policy: Policy, keys: Row, embed: Embed) -> None:
        self._windows = windows
        self._limits = {"entities": policy.known_entities, "facts": policy.known_facts}
        self._keys = keys
        self._embed = embed
        self._open: set[_Place] = {(i, kind) for i in range(len(windows)) for kind in KINDS}
        self._vectors: dict[int, Sequence[float]] = {}
        self._near: dict[_Place, Ids] = {}
        self._cursors: dict[_Place, Cursor[Row]] = {}
        self._rows: dict[_Place, list[Row]] = {}

    @property
    def is_settled(self) -> bool:
        """Whether all lists are read."""
        return not self._open

    def too_many(self, signs: SignIndex) -> list[Kind]:
        """What memory holds more of than is shown, by all that the index knows."""
        counts = {"entities": signs.entity_count, "facts": signs.fact_count}
        return [kind for kind in KINDS if counts[kind] > self._limits[kind]]

    def rank(self, signs: SignIndex, at: datetime, kinds: Collection[Kind] = KINDS) -> None:
        """Choose for the open lists of some kinds what is near to the window's words.

        `at` is the known instant of the last fold before the stride. May call the embedder.
        """
        places = sorted(place for place in self._open if place[1] in kinds)
        windows = sorted({index for index, _ in places})
        missing = [index for index in windows if index not in self._vectors]
        if missing:
            vectors = self._embed([own_words(self._windows[index]) for index in missing])
            self._vectors |= dict(zip(missing, vectors, strict=True))
        by_kind: dict[Kind, list[int]] = defaultdict(list)
        for index, kind in places:
            by_kind[kind].append(index)
        for kind, indexes in by_kind.items():
            nearest = signs.nearest_entities if kind == "entities" else signs.nearest_facts
            found = nearest([self._vectors[i] for i in indexes], 2 * self._limits[kind], at)
            self._near |= {(i, kind): ids for i, ids in zip(indexes, found, strict=True)}

    def ask(self, connection: RowConnection) -> None:
        """Ask for the open lists: for the most relevant ones where `rank` chose, else for all."""
        for index, kind in sorted(self._open):
            window, limit = self._windows[index], self._limits[kind]
            near = self._near.get((index, kind))
            asked = self._keys | {"at": window.started_at, "limit": limit}
            if near is None:
                cursor = execute(connection, _ALL[kind], asked | {"limit": limit + 1})
            else:
                asked |= {
                    "spoken": spoken_names("\n".join(m.text for m in window.messages)),
                    "vector": HalfVector(list(self._vectors[index])),
                    "near": near,
                    "compared": 2 * limit,
                }
                cursor = execute(connection, _RELEVANT[kind], asked)
            self._cursors[index, kind] = cursor

    def settle(self, *, is_ranking_current: bool) -> None:
        """Take the answers; what is more than is shown, or was ranked too early, stays open."""
        for place, cursor in self._cursors.items():
            rows = cursor.fetchall()
            is_ranked = place in self._near
            if is_ranking_current if is_ranked else len(rows) <= self._limits[place[1]]:
                self._rows[place] = rows
                self._open.discard(place)
        self._cursors.clear()
        self._near.clear()

    def lists(self, user_names: tuple[str, ...]) -> list[KnownLists]:
        """The lists of each window, in order."""
        return [
            _known_lists(self._rows[index, "entities"], self._rows[index, "facts"], user_names)
            for index in range(len(self._windows))
        ]


def own_words(window: Window) -> str:
    """What stands for a window where nearness counts: what the user says, cut."""
    return " ".join(m.text for m in window.own_messages())[:_OWN_CHARS] or window.thread_id


def _known_lists(
    entities: Sequence[Row], facts: Sequence[Row], user_names: tuple[str, ...]
) -> KnownLists:
    """Sorted, so that equal sets give equal prompts."""
    return KnownLists(
        entities=tuple(sorted(map(_known_entity, entities), key=lambda e: (e.name, e.entity_id))),
        facts=tuple(
            sorted(
                (KnownFact.model_validate(row) for row in facts),
                key=lambda f: (f.subject, f.predicate, f.object, f.fact_id),
            )
        ),
        user_names=user_names,
    )


def _known_entity(row: Row) -> KnownEntity:
    return KnownEntity(
        entity_id=EntityId(row["entity_id"]),
        name=row["name"],
        type=EntityType(row["type"]),
        aliases=tuple(row["aliases"]),
    )
