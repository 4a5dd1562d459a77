"""Reads of one generation of a tenant's memory, as the stages' ports ask for them.

Belongs here: known lists, name index, neighbourhoods, stored extractions. Does not: changing
anything (memory_writer) and reading for people (reading).
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from pgvector import HalfVector
from psycopg import Cursor
from psycopg.types.json import Jsonb

from memory_pipeline.adapters.known_lists import (
    ask_known,
    ask_relevant,
    known_lists,
    own_words,
)
from memory_pipeline.adapters.postgres import Database, Row, RowConnection, execute, execute_many
from memory_pipeline.domain.changes import GenerationHead, MemoryState
from memory_pipeline.domain.claim import ResolvedClaim
from memory_pipeline.domain.conversation import Window
from memory_pipeline.domain.extraction import (
    EntityType,
    KnownLists,
    MemoryCategory,
    Tier,
)
from memory_pipeline.domain.fact import EndedReason, Entity, FactVersion
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
from memory_pipeline.stages.resolve import HeldEntity, NameIndex, lookup_keys, user_entity

_USER_KEY = "user"
_ACRONYM = 6
"""Letters of an acronym at most."""
_NEAR_FACTS = 60
"""Facts read near one claim at most: as many as one judge call takes pairs."""
_NEAR_ENTITIES = 10
_COMPARED_FACTS = 4 * _NEAR_FACTS
_COMPARED_ENTITIES = 16 * _NEAR_ENTITIES
"""Vectors compared exactly for one question: those that share most signs with the one asked for.

Of 2.6 million pairs of real statements, all with a cosine above 0.8 shared more signs than 999 of
1,000 pairs do.
"""
EXTRACTED = "extracted_graphs"

Embed = Callable[[Sequence[str]], Sequence[Sequence[float]]]
"""Unit vectors of texts, in order."""

Stored = dict[EpisodeId, tuple[str, Any]]
"""(input digest, payload) of stored extractions, by episode."""


class UnfoldedStrideError(RuntimeError):
    """The episodes before a stride have not been folded: its known lists do not exist yet."""


class MemoryStore:
    """Reader of one generation; every method is one transaction and one round trip."""

    def __init__(
        self, database: Database, tenant_id: TenantId, generation_id: GenerationId
    ) -> None:
        self._database = database
        self._tenant_id = tenant_id
        self._generation_id = generation_id
        self._keys: dict[str, Any] = {"tenant_id": tenant_id, "generation_id": generation_id}
        self._user_id = user_entity(tenant_id).entity_id
        self._unsaved: list[Row] = []

    def head(self) -> GenerationHead:
        """Where the generation stands now."""
        with self._saving_reads() as connection:
            cursor = execute(connection, "generation_head", self._keys)
        return self._head(cursor.fetchone())

    def _head(self, row: Row | None) -> GenerationHead:
        if row is None:
            raise LookupError(f"tenant {self._tenant_id} has no generation {self._generation_id}")
        return GenerationHead(
            tenant_id=self._tenant_id,
            generation_id=self._generation_id,
            recipe_id=RecipeId(row["recipe_id"]),
            version=row["version"],
            folded_count=row["folded_count"],
            last_known_at=row["last_known_at"],
        )

    def stride_context(
        self, windows: Sequence[Window], policy: Policy, boundary: int, embed: Embed
    ) -> tuple[list[KnownLists], Stored]:
        """What a stride's extractions are shown, and which of them are stored: one round trip,
        and one more where memory holds more than is shown.

        Known lists hold memory as it was after `boundary` folds: what the window names, then what
        is nearest to it, then the latest, cut and sorted (spec X2). `embed` is asked only for
        windows with more than fits. Raises `UnfoldedStrideError` when the generation does not
        hold `boundary` episodes yet.
        """
        keys = self._keys | {"boundary": boundary}
        with self._database.tenant_reads(self._tenant_id) as connection:
            head = execute(connection, "generation_head", keys)
            names = execute(connection, "known_names_of_user", keys | {"user_id": self._user_id})
            stored = execute(
                connection,
                "stored_extractions",
                keys | {"episode_ids": [w.episode_id for w in windows]},
            )
            cursors = [ask_known(connection, keys, window, policy) for window in windows]
        if self._head(head.fetchone()).folded_count < boundary:
            raise UnfoldedStrideError
        row = names.fetchone()
        user_names = tuple(sorted({name.lower() for name in row["names"]})) if row else ()
        found = [(entities.fetchall(), facts.fetchall()) for entities, facts in cursors]
        self._prefer_nearest(windows, policy, keys, embed, found)
        known = [
            known_lists(entities[: policy.known_entities], facts[: policy.known_facts], user_names)
            for entities, facts in found
        ]
        return known, _stored(stored.fetchall())

    def _prefer_nearest(
        self,
        windows: Sequence[Window],
        policy: Policy,
        keys: Row,
        embed: Embed,
        found: list[tuple[list[Row], list[Row]]],
    ) -> None:
        """Ask again, with the window's vector, where there is more than is shown."""
        full = {
            index: (
                policy.known_entities if len(entities) > policy.known_entities else None,
                policy.known_facts if len(facts) > policy.known_facts else None,
            )
            for index, (entities, facts) in enumerate(found)
            if len(entities) > policy.known_entities or len(facts) > policy.known_facts
        }
        if not full:
            return
        vectors = embed([own_words(windows[index]) for index in full])
        with self._database.tenant_reads(self._tenant_id) as connection:
            asked = [
                ask_relevant(connection, keys, windows[index], vector, full[index])
                for index, vector in zip(full, vectors, strict=True)
            ]
        for index, (entities, facts) in zip(full, asked, strict=True):
            found[index] = (
                entities.fetchall() if entities else found[index][0],
                facts.fetchall() if facts else found[index][1],
            )

    def store_extractions(self, rows: Sequence[Row]) -> None:
        """Keep extractions (episode_id, input_digest, payload), so that none is made twice.

        They are written with the fold's next read, which saves waiting for them alone; what a
        crash before it takes is made again, equal, out of the answers, which are stored.
        """
        self._unsaved += [
            self._keys | {**row, "stage": EXTRACTED, "payload": Jsonb(row["payload"])}
            for row in rows
        ]

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
            with self._database.tenant_reads(self._tenant_id) as connection:
                yield connection
            return
        with self._database.tenant_pipeline(self._tenant_id) as connection:
            execute(connection, "without_waiting_for_disk")
            execute_many(connection, "upsert_stage_output", self._unsaved)
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
        with self._database.tenant_reads(self._tenant_id) as connection:
            cursors = {
                name: execute(
                    connection,
                    "nearest_entities",
                    self._keys
                    | {
                        "vector": HalfVector(list(vector)),
                        "limit": _NEAR_ENTITIES,
                        "compared": _COMPARED_ENTITIES,
                        "acronym": name if name.isalpha() and len(name) <= _ACRONYM else None,
                        "initials": list(initials_of(name)),
                    },
                )
                for name, vector in vectors.items()
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
        minimum_similarity: float,
    ) -> MemoryState:
        """Believed facts that can matter to the claims; `vectors` by claim ref."""
        near: list[tuple[str, Cursor[Row]]] = []
        with self._database.tenant_reads(self._tenant_id) as connection:
            same_object = execute(connection, "facts_of_objects", self._keys | _objects(claims))
            for claim in claims:
                parameters = self._keys | {
                    "vector": HalfVector(list(vectors[claim.claim.ref])),
                    "subject_id": claim.subject_id,
                    "predicate": claim.claim.predicate,
                    "said_at": claim.claim.said_at,
                    "minimum": minimum_similarity,
                    "compared": _COMPARED_FACTS,
                    "limit": _NEAR_FACTS,
                }
                near.append((claim.claim.ref, execute(connection, "nearby_facts", parameters)))
        rows = {row["fact_id"]: row for row in same_object.fetchall()}
        similarities: dict[tuple[str, str], float] = {}
        for ref, cursor in near:
            for row in cursor.fetchall():
                rows[row["fact_id"]] = row
                if row["similarity"] is not None:
                    similarities[(ref, str(row["fact_id"]))] = float(row["similarity"])
        return MemoryState(
            head=head,
            user_id=self._user_id,
            facts=tuple(_fact(rows[key]) for key in sorted(rows)),
            similarities=similarities,
            quotes={FactId(key): row["quote"] for key, row in rows.items() if row["quote"]},
        )

    def with_links(
        self, state: MemoryState, ending: Collection[FactId], claims: Sequence[ResolvedClaim]
    ) -> MemoryState:
        """The same state with the believed facts that decide what ends with the links `ending`.

        These are the facts about what may lose its last way to the user, and every way there is to
        those things and to the subjects of `claims`, where new links may begin. A cascade over
        them comes out as it would over all facts (spec W3).
        """
        subjects = {claim.subject_id for claim in claims}
        with self._database.tenant_reads(self._tenant_id) as connection:
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
        facts |= {FactId(row["fact_id"]): _fact(row) for row in cursor.fetchall()}
        ordered = tuple(facts[key] for key in sorted(facts))
        return state.model_copy(update={"facts": ordered, "has_links": True})


def _stored(rows: Sequence[Row]) -> Stored:
    return {EpisodeId(row["episode_id"]): (row["input_digest"], row["payload"]) for row in rows}


def _objects(claims: Sequence[ResolvedClaim]) -> dict[str, list[Any]]:
    return {
        "subjects": [c.subject_id for c in claims],
        "objects": [c.object_id for c in claims],
        "texts": [None if c.object_id else c.claim.object for c in claims],
    }


def _entity(row: Row) -> Entity:
    return HeldEntity(
        entity_id=EntityId(row["entity_id"]),
        name=row["name"],
        type=EntityType(row["type"]),
        memory_category=MemoryCategory(row["memory_category"]),
        last_linked_at=row["last_linked_at"],
        aliases=tuple(row["aliases"]),
    )


def _fact(row: Row) -> FactVersion:
    """A version from a row; built without validation, since every fold reads many."""
    ended_reason: str | None = row["ended_reason"]
    successor: Any = row["successor_id"]
    known_from: datetime = row["known_from"]
    return FactVersion.model_construct(
        fact_id=FactId(row["fact_id"]),
        version=row["version"],
        subject_id=EntityId(row["subject_id"]),
        predicate=row["predicate"],
        object_id=EntityId(row["object_id"]) if row["object_id"] else None,
        object_text=row["object_text"],
        statement=row["statement"],
        valid_from=row["valid_from"],
        valid_until=row["valid_until"],
        known_from=known_from,
        confidence=row["confidence"],
        memory_category=MemoryCategory(row["memory_category"]),
        tier=Tier(row["tier"]),
        has_stated_start=bool(row["has_stated_start"]),
        opened_by=row["opened_by"],
        ended_by=row["ended_by"],
        ended_reason=EndedReason(ended_reason) if ended_reason else None,
        successor_id=FactId(successor) if successor else None,
    )
