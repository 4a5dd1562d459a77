"""Fills a tenant with many facts at once, past the write path, for benches of reading.

Belongs here: made-up statements with vectors in clusters, entities, one bulk load.
Does not: measuring, and what the write path costs (walk_overhead).
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
import psycopg
from numpy.typing import NDArray
from pgvector import HalfVector
from pgvector.psycopg import register_vector
from psycopg.types.range import TimestamptzRange

from memory_pipeline.domain.embedding import HASHED_NGRAMS_ID
from memory_pipeline.domain.ids import GenerationId, TenantId, derive_id

DIMENSIONS = 384
_TOPICS = 256
_START = datetime(2020, 1, 1, tzinfo=UTC)
_FACTS_PER_ENTITY = 10
_PREDICATES = (
    "likes", "works at", "lives in", "visited", "owns", "reads", "plays", "cooks", "met with",
    "is learning", "wants to buy", "travels to", "has allergy to", "is planning", "prefers",
    "has meeting about", "watched", "is worried about", "is proud of", "subscribes to",
)  # fmt: skip

_COPY_ENTITIES = """
copy memory.entities (tenant_id, generation_id, entity_id, name, type, memory_category, known_from,
    last_linked_at, embedding) from stdin (format binary)
"""
_COPY_FACTS = """
copy memory.facts (tenant_id, generation_id, fact_id, version, subject_id, predicate, object_id,
    object_text, statement, valid_time, known_time, confidence, memory_category, tier, recipe_id,
    embedding) from stdin (format binary)
"""


@dataclass(frozen=True)
class BigTenant:
    """A filled tenant: its generation, and (text, vector) of made-up queries about its facts."""

    tenant_id: TenantId
    generation_id: GenerationId
    queries: tuple[tuple[str, tuple[float, ...]], ...]


def fill_tenant(url: str, tenant_id: TenantId, count: int, queries: int = 200) -> BigTenant:
    """Store `count` believed facts that hold now, about a tenth as many entities and the user."""
    chance = random.Random(count)  # noqa: S311 -- made-up data
    topics = _unit(np.random.default_rng(count).normal(size=(_TOPICS, DIMENSIONS)))
    numbers = np.random.default_rng(count + 1)
    generation_id = GenerationId(derive_id("generation", tenant_id, "1"))
    names = ["user", *(_name(chance, n) for n in range(count // _FACTS_PER_ENTITY))]
    ids = [derive_id("entity", tenant_id, name) for name in names]
    words = [_word(n) for n in range(5_000)]
    told: set[tuple[int, str, int | None]] = set()
    asked: list[tuple[str, tuple[float, ...]]] = []

    def facts() -> Iterator[tuple[Any, ...]]:
        for number in range(count):
            subject = 0 if chance.random() < 0.6 else chance.randrange(len(names))
            said = " ".join(words[min(int(chance.paretovariate(0.6)), 5_000) - 1] for _ in "abcd")
            predicate = _PREDICATES[min(int(chance.paretovariate(0.7)), len(_PREDICATES)) - 1]
            target = chance.randrange(1, len(names)) if chance.random() < 0.5 else None
            if (subject, predicate, target) in told:
                target = None
            told.add((subject, predicate, target))
            thing = names[target] if target else said
            vector = _near(topics[chance.randrange(_TOPICS)], numbers)
            if number % max(count // queries, 1) == 0:
                noisy = _near(vector, numbers)
                text = f"what about {predicate} {thing}?"
                asked.append((text, tuple(noisy.tolist())))
            at = _START + timedelta(minutes=20 * number)
            yield (
                tenant_id, generation_id, _uuid(numbers), 1, ids[subject], predicate,
                ids[target] if target else None, None if target else f"{thing} {number}",
                f"{names[subject]} {predicate} {thing}" + ("" if target else f" {number}"),
                TimestamptzRange(at, None), TimestamptzRange(at, None), 0.9, "context", "fast",
                "bench", HalfVector(vector),
            )  # fmt: skip

    with psycopg.connect(url, autocommit=True) as connection:
        register_vector(connection)
        _open(connection, tenant_id, generation_id)
        with connection.cursor() as cursor, cursor.copy(_COPY_ENTITIES) as copy:
            copy.set_types(
                ["text", "uuid", "uuid", "text", "text", "text", "timestamptz", "timestamptz",
                 "halfvec"]
            )  # fmt: skip
            for name, entity_id in zip(names, ids, strict=True):
                vector = _near(topics[chance.randrange(_TOPICS)], numbers)
                copy.write_row(
                    (tenant_id, generation_id, entity_id, name, "THING", "context", _START, _START,
                     HalfVector(vector))
                )  # fmt: skip
        with connection.cursor() as cursor, cursor.copy(_COPY_FACTS) as copy:
            copy.set_types(
                ["text", "uuid", "uuid", "int4", "uuid", "text", "uuid", "text", "text",
                 "tstzrange", "tstzrange", "float4", "text", "text", "text", "halfvec"]
            )  # fmt: skip
            for row in facts():
                copy.write_row(row)
    return BigTenant(tenant_id, generation_id, tuple(asked))


def _open(connection: psycopg.Connection, tenant_id: TenantId, generation: GenerationId) -> None:
    connection.execute("insert into memory.tenants (tenant_id) values (%s)", [tenant_id])
    connection.execute(
        "insert into memory.embedding_profiles values (%s, %s, 2, 0.98, 2, 2) on conflict do "
        "nothing",
        [HASHED_NGRAMS_ID, DIMENSIONS],
    )
    connection.execute(
        "insert into memory.recipes (tenant_id, recipe_id, content) values (%s, 'bench', '{}')",
        [tenant_id],
    )
    connection.execute(
        "insert into memory.generations (tenant_id, generation_id, number, recipe_id, profile_id,"
        " status) values (%s, %s, 1, 'bench', %s, 'live')",
        [tenant_id, generation, HASHED_NGRAMS_ID],
    )


def _unit(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    scaled: NDArray[np.float64] = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    return scaled


def _near(vector: NDArray[np.float64], numbers: np.random.Generator) -> NDArray[np.float64]:
    return _unit(vector + 0.05 * numbers.normal(size=DIMENSIONS))


def _uuid(numbers: np.random.Generator) -> UUID:
    return UUID(bytes=numbers.bytes(16))


_SYLLABLES = ("ba", "co", "di", "fe", "gu", "ha", "jo", "ki", "lu", "mo", "na", "pe", "ri", "so")


def _word(number: int) -> str:
    """A pronounceable word, another for each number."""
    base = len(_SYLLABLES)
    digits = [number % base, number // base % base, number // base**2 % base, number // base**3]
    return "".join(_SYLLABLES[digit] for digit in digits)


def _name(chance: random.Random, number: int) -> str:
    return f"{_word(number)} {_word(chance.randrange(5_000))}"
