"""Graph indexes over the vectors of big tenants: made, kept and dropped by upkeep.

Belongs here: which tenants have one, and making it.
Does not: searching. Recall may use such an index; the fold never does, since what a graph finds
depends on the order in which it was built (spec G1).
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

import psycopg
from psycopg import sql

from memory_pipeline.adapters.postgres import Database, execute
from memory_pipeline.adapters.queries import query
from memory_pipeline.domain.ids import GenerationId, TenantId

PROMOTED_FACTS: Final = 10_000
"""Live facts from which on a graph beats comparing all: about 25 ms a search, measured."""
MOST_PROMOTED: Final = 40
"""Indexes at most, the largest tenants first: planning grows with the indexes of a table."""
_KEPT_SHARE: Final = 0.5
"""A tenant keeps its index until it falls under this share of the threshold."""
_PREFIX: Final = "facts_graph_"
_LOCK: Final = "memory:vector_index"


@dataclass(frozen=True)
class Promotions:
    """What one call changed."""

    created: tuple[TenantId, ...] = ()
    dropped: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Memory:
    """A tenant's live generation and how many facts it holds."""

    tenant_id: TenantId
    generation_id: GenerationId
    facts: int

    @property
    def index(self) -> str:
        return index_name(self.generation_id)


def index_name(generation_id: GenerationId) -> str:
    """The name of a generation's index."""
    return _PREFIX + generation_id.hex


def promote_big_tenants(
    database: Database, threshold: int = PROMOTED_FACTS, most: int = MOST_PROMOTED
) -> Promotions:
    """Give live memories of `threshold` facts and more an index of their own; drop what is spent.

    An index holds one generation: a rebuild beside it is not slowed down, and once published gets
    its own. Needs the owner of the tables. Nobody waits: indexes are made and dropped
    concurrently, one left half-made by a crash is made again, and a second call at the same time
    changes nothing. Raises `psycopg.errors.InsufficientPrivilege` for a user who owns no tables.
    """
    with psycopg.connect(database.url, autocommit=True) as connection:
        if not _is_alone(connection):
            return Promotions()
        indexes = _indexes(connection)
        wanted = {m.index: m for m in _wanted(_memories(database), indexes, threshold, most)}
        spent = [name for name, is_valid in indexes.items() if name not in wanted or not is_valid]
        for name in spent:
            _run(connection, "drop_facts_graph", name=sql.Identifier(name))
        missing = [memory for name, memory in wanted.items() if not indexes.get(name, False)]
        for memory in missing:
            _run(
                connection,
                "create_facts_graph",
                name=sql.Identifier(memory.index),
                tenant=sql.Literal(memory.tenant_id),
                generation=sql.Literal(memory.generation_id),
            )
    return Promotions(
        created=tuple(memory.tenant_id for memory in missing),
        dropped=tuple(name for name in spent if name not in wanted),
    )


def _wanted(
    memories: list[_Memory], indexes: Collection[str], threshold: int, most: int
) -> list[_Memory]:
    """Who is to have an index: the largest, and who has one until it shrinks well below."""
    return [
        memory
        for memory in sorted(memories, key=lambda m: (-m.facts, m.tenant_id))[:most]
        if memory.facts >= threshold
        or (memory.index in indexes and memory.facts >= threshold * _KEPT_SHARE)
    ]


def _is_alone(connection: psycopg.Connection) -> bool:
    """Whether nobody else is at it; lasts as long as the connection."""
    row = connection.execute(query("lock_upkeep"), {"name": _LOCK}).fetchone()
    return bool(row and row[0])


def _memories(database: Database) -> list[_Memory]:
    with database.operator() as connection:
        rows = execute(connection, "live_facts_by_tenant").fetchall()
    return [
        _Memory(TenantId(row["tenant_id"]), GenerationId(row["generation_id"]), int(row["facts"]))
        for row in rows
    ]


def _indexes(connection: psycopg.Connection) -> dict[str, bool]:
    """Names of the indexes that there are, and whether each is complete."""
    rows = connection.execute(query("facts_graphs"), {"like": _PREFIX.replace("_", r"\_") + "%"})
    return {str(name): bool(is_valid) for name, is_valid in rows}


def _run(connection: psycopg.Connection, statement: str, /, **parts: sql.Composable) -> None:
    # A tenant stands in the index's condition, where no parameter can: quoted by the driver.
    connection.execute(sql.SQL(query(statement)).format(**parts))
