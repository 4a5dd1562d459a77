"""Fills a tenant with a memory of a given size in seconds, as many folds would have left it.

Belongs here: vectors' raw material and the order of the statements in fill_memory.sql.
Does not: measuring and asserting. Speaks as the owner of the database, past row security.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import psycopg
from numpy.typing import NDArray
from pgvector import HalfVector
from pgvector.psycopg import register_vector

from memory_pipeline.domain.embedding import MINILM_INT8_ID
from memory_pipeline.domain.ids import GenerationId, TenantId, derive_id
from memory_pipeline.stages.resolve import user_entity

_TOPICS = 256
_NOISES = 2_048
_DIMENSIONS = 384
_LATENT = 48
_MANY = 5_000
_STATEMENTS = Path(__file__).with_name("fill_memory.sql")
_SYLLABLES = ("ba", "ke", "lo", "mi", "nu", "ra", "se", "to", "vi", "za")
_START = datetime(2000, 1, 1, tzinfo=UTC)

_RAW_MATERIAL = """
create temporary table filled_topics (i integer primary key, v halfvec(384));
create temporary table filled_noise (i integer primary key, v halfvec(384));
create temporary table filled_words (i integer primary key, w text);
"""
_FUNCTIONS = """
create function pg_temp.filled_word(i bigint) returns text language sql immutable
    as $$ select w from filled_words where filled_words.i = mod(filled_word.i, 400) $$;
create function pg_temp.filled_name(i bigint) returns text language sql immutable
    as $$ select case when filled_name.i is not null then pg_temp.filled_word(filled_name.i) || ' '
        || pg_temp.filled_word(filled_name.i / 400) || ' ' || filled_name.i end $$;
create function pg_temp.filled_vector(i bigint) returns halfvec language sql immutable
    as $$ select l2_normalize(t.v + n.v) from filled_topics t, filled_noise n
        where t.i = mod(filled_vector.i * 31, 256)
            and n.i = mod(filled_vector.i * 7919 / 256, 2048) $$;
"""
_USE = re.compile(r"\bfilled_(word|name|vector)\(")


@dataclass(frozen=True)
class FilledTenant:
    """What was filled: `facts` live ones, about things that are a fifth as many."""

    tenant_id: TenantId
    generation_id: GenerationId
    facts: int
    entities: int
    episodes: int


def raw_vectors(seed: int = 7) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Directions of topics (unit length) and of what lies about them (0.8 of it), few-dimensional.

    Two statements of one topic have a cosine of about 0.6, of different topics one about 0.2, as
    those of a small sentence model.
    """
    random = np.random.default_rng(seed)
    common = random.normal(size=_DIMENSIONS)
    topics = _unit(_unit(random.normal(size=(_TOPICS, _DIMENSIONS))) + 0.6 * _unit(common))
    basis = random.normal(size=(_LATENT, _DIMENSIONS))
    noises = _unit(random.normal(size=(_NOISES, _LATENT)) @ basis)
    return topics, 0.8 * noises


def filled_name(number: int) -> str:
    """The name of the filled thing of a number, counted from 1."""
    return f"{_word(number % 400)} {_word(number // 400 % 400)} {number}"


def fill_tenant(url: str, tenant_id: TenantId, facts: int) -> FilledTenant:
    """Fill a new tenant with `facts` live facts, and analyse the tables it went into."""
    with psycopg.connect(url) as connection:
        register_vector(connection)
        filled = _fill(connection, tenant_id, facts)
    analyse(url)
    return filled


def fill_tenants(url: str, count: int, facts: int) -> list[FilledTenant]:
    """Fill `count` new tenants `filled_0001`, ..., one after another in one session."""
    with psycopg.connect(url) as connection:
        register_vector(connection)
        made = [
            _fill(connection, TenantId(f"filled_{number:04d}"), facts)
            for number in range(1, count + 1)
        ]
    analyse(url)
    return made


def analyse(url: str) -> None:
    """Do what autovacuum does soon after."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("vacuum analyze")


def _fill(connection: psycopg.Connection, tenant_id: TenantId, facts: int) -> FilledTenant:
    filled = FilledTenant(
        tenant_id=tenant_id,
        generation_id=GenerationId(derive_id("generation", tenant_id, "1")),
        facts=facts,
        entities=max(facts // 5, 10),
        episodes=max(facts // 5, 10),
    )
    parameters = {
        "tenant": tenant_id,
        "generation": filled.generation_id,
        "user": user_entity(tenant_id).entity_id,
        "facts": facts,
        "entities": filled.entities,
        "episodes": filled.episodes,
        "start": _START,
        "profile": MINILM_INT8_ID,
        "recipe": "filled",
    }
    _bring_raw_material(connection)
    for statement in _statements():
        bound = psycopg.ClientCursor(connection).mogrify(statement, parameters)
        connection.execute(bound.encode())
        if facts >= _MANY:
            connection.execute("analyze")  # or what comes next is planned for empty tables
    return filled


def _bring_raw_material(connection: psycopg.Connection) -> None:
    if connection.execute("select to_regclass('pg_temp.filled_words')").fetchone() != (None,):
        return
    connection.execute(_RAW_MATERIAL)
    for table, vectors in zip(("filled_topics", "filled_noise"), raw_vectors(), strict=True):
        with connection.cursor().copy(f"copy {table} from stdin (format binary)") as copy:
            copy.set_types(["int4", "halfvec"])
            for number, vector in enumerate(vectors):
                copy.write_row((number, HalfVector(vector)))
    with connection.cursor().copy("copy filled_words from stdin") as copy:
        for number in range(400):
            copy.write_row((number, _word(number)))
    connection.execute(_FUNCTIONS)


def _word(number: int) -> str:
    return "".join(_SYLLABLES[int(digit)] for digit in f"{number:03d}")


def _statements() -> list[str]:
    text = re.sub(r"^--.*$", "", _STATEMENTS.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [_USE.sub(r"pg_temp.filled_\1(", part) for part in text.split(";\n") if part.strip()]


def _unit(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    unit: NDArray[np.float64] = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    return unit
