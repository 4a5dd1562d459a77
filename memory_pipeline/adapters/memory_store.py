"""Reads of one generation of a tenant's memory, as the stages' ports ask for them.

Belongs here: known lists, name index, neighbourhoods, stored extractions. Does not: changing
anything (memory_writer) and reading for people (reading).
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from pgvector import HalfVector

from memory_pipeline.adapters.known_lists import Embed, KnownReads
from memory_pipeline.adapters.near_facts import NearFacts, fact_of, in_order
from memory_pipeline.adapters.postgres import Database, Row, RowConnection, execute
from memory_pipeline.adapters.sign_index import SignIndex, ask_signs, read_signs
from memory_pipeline.adapters.stage_outputs import StageRecord, keep_outputs
from memory_pipeline.domain.changes import ChangeSet, GenerationHead, MemoryState
from memory_pipeline.domain.claim import ResolvedClaim
from memory_pipeline.domain.conversation import Window
from memory_pipeline.domain.extraction import (
    EntityType,
    KnownLists,
    MemoryCategory,
)
from memory_pipeline.domain.fact import Entity
from memory_pipeline.domain.ids import (
    EntityId,
    EpisodeId,
    FactId,
    GenerationId,
    RecipeId,
    TenantId,
)
from memory_pipeline.domain.plan import OBSERVER
from memory_pipeline.domain.policy import Policy
from memory_pipeline.stages.name_folding import initials_of
from memory_pipeline.stages.ports import NearnessLimits
from memory_pipeline.stages.resolve import HeldEntity, NameIndex, lookup_keys, user_entity

_USER_KEY = "user"
_ACRONYM = 6
"""Letters of an acronym at most."""
_NEAR_ENTITIES = 10
_COMPARED_FACTS = 80
_COMPARED_ENTITIES = 8 * _NEAR_ENTITIES
"""Vectors compared exactly for one question: those that share most signs with the one asked for.

For facts, so many of the claim's slot and so many others.
"""
EXTRACTED = "extracted_graphs"

Stored = dict[EpisodeId, tuple[str, Any]]
"""(input digest, payload) of stored extractions, by episode."""


class UnfoldedStrideError(RuntimeError):
    """The episodes before a stride have not been folded: its known lists do not exist yet."""


class MemoryStore:
    """Reader of one generation; every method is one transaction and one round trip.

    What ranks facts and entities by nearness is held from one read to the next, one more round trip
    where another process wrote meanwhile.
    """

    def __init__(
        self, database: Database, tenant_id: TenantId, generation_id: GenerationId
    ) -> None:
        self._database = database
        self._tenant_id = tenant_id
        self._generation_id = generation_id
        self._keys: dict[str, Any] = {"tenant_id": tenant_id, "generation_id": generation_id}
        self._user_id = user_entity(tenant_id).entity_id
        self._unsaved: list[StageRecord] = []
        self._signs: SignIndex | None = None
        self._boundary: int | None = None
        self._instants: dict[int, datetime] = {}

    def head(self) -> GenerationHead:
        """Where the generation stands now."""
        with self._saving_reads() as connection:
            cursor = execute(connection, "generation_head", self._keys)
        return self._head(cursor.fetchone())

    def _head(self, row: Row | None) -> GenerationHead:
        if row is None:
            raise LookupError(f"tenant {self._tenant_id} has no generation {self._generation_id}")
        if self._signs is not None and self._signs.version != row["version"]:
            self._signs = None
        return GenerationHead(
            tenant_id=self._tenant_id,
            generation_id=self._generation_id,
            recipe_id=RecipeId(row["recipe_id"]),
            version=row["version"],
            folded_count=row["folded_count"],
            last_known_at=row["last_known_at"],
        )

    def follow(self, changes: ChangeSet, vectors: Mapping[str, Sequence[float]]) -> None:
        """Take note of what was written, so that the next episode need not read it again."""
        self._instants[changes.head.folded_count + 1] = changes.known_at
        if self._signs is not None and not self._signs.follow(changes, vectors):
            self._signs = None

    def _current_signs(self) -> SignIndex:
        """The index as it was at the last read of the head, or newer."""
        if self._signs is None:
            with self._database.tenant_reads(self._tenant_id, is_fold=True) as connection:
                cursor = ask_signs(connection, self._keys, self._boundary)
            self._signs = read_signs(cursor)
        return self._signs

    def stride_context(
        self, windows: Sequence[Window], policy: Policy, boundary: int, embed: Embed
    ) -> tuple[list[KnownLists], Stored]:
        """What a stride's extractions are shown, and which of them are stored: one round trip,
        and one more where memory turns out to hold more than is shown.

        Known lists hold memory as it was after `boundary` folds: what the window names, then what
        is nearest to it, then the latest, cut and sorted (spec X2). `embed` is asked only for
        windows with more than fits. Raises `UnfoldedStrideError` when the generation does not
        hold `boundary` episodes yet.
        """
        if self._boundary is None or boundary < self._boundary:
            self._signs = None  # it may lack what was near after fewer folds
        self._boundary = boundary
        keys = self._keys | {"boundary": boundary}
        known = KnownReads(windows, policy, keys, embed)
        ranked_on = self._signs
        at = self._instants.get(boundary)
        if ranked_on is not None and at is not None:
            known.rank(ranked_on, at, known.too_many(ranked_on))
        with self._database.tenant_reads(self._tenant_id, is_fold=True) as connection:
            head = execute(connection, "generation_head", keys)
            names = execute(connection, "known_names_of_user", keys | {"user_id": self._user_id})
            instant = execute(connection, "boundary_instant", keys)
            stored = execute(
                connection,
                "stored_extractions",
                keys | {"episode_ids": [w.episode_id for w in windows]},
            )
            signs = ask_signs(connection, self._keys, boundary) if ranked_on is None else None
            known.ask(connection)
        if signs is not None:
            self._signs = read_signs(signs)
        if self._head(head.fetchone()).folded_count < boundary:
            raise UnfoldedStrideError
        known.settle(is_ranking_current=self._signs is ranked_on)
        if not known.is_settled:
            known.rank(self._current_signs(), _instant(instant.fetchone()))
            with self._database.tenant_reads(self._tenant_id, is_fold=True) as connection:
                known.ask(connection)
            known.settle(is_ranking_current=True)
        row = names.fetchone()
        user_names = tuple(sorted({name.lower() for name in row["names"]})) if row else ()
        return known.lists(user_names), _stored(stored.fetchall())

    def store_extractions(self, extractions: Sequence[StageRecord]) -> None:
        """Keep extractions, so that none is made twice.

        They are written with the fold's next read, which saves waiting for them alone; what a
        crash before it takes is made again, equal, out of the answers, which are stored.
        """
        self._unsaved += extractions

    def save(self) -> None:
        """Write now the extractions that no read of a fold has taken along."""
        if self._unsaved:
            with self._saving_reads():
                pass

    @contextmanager
    def _saving_reads(self) -> Iterator[RowConnection]:
        """Reads in one round trip, which writes the extractions that are not saved yet.

        Does not wait for the disk.
        """
        if not self._unsaved:
            with self._database.tenant_reads(self._tenant_id, is_fold=True) as connection:
                yield connection
            return
        with self._database.tenant_pipeline(self._tenant_id, is_fold=True) as connection:
            execute(connection, "without_waiting_for_disk")
            keep_outputs(connection, self._keys, self._unsaved)
            yield connection
        self._unsaved = []

    def name_index(self, names: Sequence[str]) -> NameIndex:
        """Exact holders of the names, with the head of the generation they were read at."""
        keys = list(dict.fromkeys(key for name in names for key in lookup_keys(name)))
        with self._saving_reads() as connection:
            head = execute(connection, "generation_head", self._keys)
            held = execute(connection, "names_held", self._keys | {"keys": [*keys, _USER_KEY]})
        holders: dict[str, list[Entity]] = defaultdict(list)
        for row in held.fetchall():
            holders[row["key"]].append(_entity(row))
        user = next((e for e in holders[_USER_KEY] if e.entity_id == self._user_id), None)
        return NameIndex(
            head=self._head(head.fetchone()),
            user=user,
            holders={key: tuple(found) for key, found in holders.items() if found},
        )

    def nearest_entities(
        self, vectors: Mapping[str, Sequence[float]]
    ) -> dict[str, tuple[tuple[Entity, float], ...]]:
        """The entities nearest to each name, with their cosine, nearest first."""
        near = self._current_signs().nearest_entities(list(vectors.values()), _COMPARED_ENTITIES)
        with self._database.tenant_reads(self._tenant_id, is_fold=True) as connection:
            cursors = {
                name: execute(
                    connection,
                    "nearest_entities",
                    self._keys
                    | {
                        "vector": HalfVector(list(vector)),
                        "near": ids,
                        "limit": _NEAR_ENTITIES,
                        "acronym": name if name.isalpha() and len(name) <= _ACRONYM else None,
                        "initials": list(initials_of(name)),
                    },
                )
                for (name, vector), ids in zip(vectors.items(), near, strict=True)
            }
        return {
            name: tuple((_entity(row), float(row["similarity"])) for row in cursor.fetchall())
            for name, cursor in cursors.items()
        }

    def neighbourhood(
        self,
        head: GenerationHead,
        claims: Sequence[ResolvedClaim],
        vectors: Mapping[str, Sequence[float]],
        limits: NearnessLimits,
    ) -> MemoryState:
        """Believed facts that can matter to the claims; `vectors` by claim ref."""
        state = MemoryState(head=head, user_id=self._user_id)
        if not claims:
            return state
        asked = [(c.subject_id, c.claim.predicate, vectors[c.claim.ref]) for c in claims]
        near = self._current_signs().neighbours(asked, _COMPARED_FACTS)
        facts = NearFacts(claims, vectors, limits)
        with self._database.tenant_reads(self._tenant_id, is_fold=True) as connection:
            cursors = facts.ask(connection, self._keys, near)
        return state.model_copy(update=facts.read(cursors))

    def with_links(
        self, state: MemoryState, ending: Collection[FactId], claims: Sequence[ResolvedClaim]
    ) -> MemoryState:
        """The same state with the believed facts that decide what ends with the links `ending`.

        These are the facts about what may lose its last way to the user, and every way there is to
        those things and to the subjects of `claims`, where new links may begin. A cascade over
        them comes out as it would over all facts (spec W3).
        """
        subjects = {claim.subject_id for claim in claims}
        with self._database.tenant_reads(self._tenant_id, is_fold=True) as connection:
            cursor = execute(
                connection,
                "links_at_stake",
                self._keys
                | {
                    "user_id": self._user_id,
                    "exempt": OBSERVER,
                    "ending": sorted(ending, key=str),
                    "named": sorted(subjects, key=str),
                },
            )
        facts = {f.fact_id: f for f in state.facts}
        facts |= {FactId(row["fact_id"]): fact_of(row) for row in cursor.fetchall()}
        ordered = tuple(facts[key] for key in sorted(facts, key=in_order))
        return state.model_copy(update={"facts": ordered, "has_links": True})


def _instant(row: Row | None) -> datetime:
    if row is None or row["at"] is None:
        raise LookupError("more is known than is shown, before anything was folded")
    at: datetime = row["at"]
    return at


def _stored(rows: Sequence[Row]) -> Stored:
    return {EpisodeId(row["episode_id"]): (row["input_digest"], row["payload"]) for row in rows}


def _entity(row: Row) -> Entity:
    return HeldEntity(
        entity_id=EntityId(row["entity_id"]),
        name=row["name"],
        type=EntityType(row["type"]),
        memory_category=MemoryCategory(row["memory_category"]),
        last_linked_at=row["last_linked_at"],
        aliases=tuple(row["aliases"]),
    )
