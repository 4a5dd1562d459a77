"""What a walk holds of the vectors of its tenant is what is stored, whatever was folded."""

import math
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from hypothesis import given

from memory_pipeline.adapters.postgres import Database
from memory_pipeline.adapters.sign_index import Ids, SignIndex, ask_signs, read_signs, signs_of
from memory_pipeline.adapters.tenant_walk import TenantWalk
from memory_pipeline.defs.io_managers import fold_episode
from memory_pipeline.domain.ids import EntityId
from memory_pipeline.stages.resolve import user_entity
from memory_pipeline_tests.properties.doubles import ThemedEmbedder
from memory_pipeline_tests.properties.effort import examples
from memory_pipeline_tests.properties.histories import (
    PREDICATES,
    VALUES,
    Candidate,
    Episode,
    History,
    histories,
    noon,
)
from memory_pipeline_tests.properties.running import Tenant, folded_tenant, new_tenant

_ALL = 1_000
_FACTS = """
select n.fact_id, n.subject_id, n.predicate, n.known_from,
    n.embedding_signs <~> binary_quantize(%s::halfvec) as differing
from memory.facts n where upper_inf(n.known_time) and n.valid_until is null
"""


def _stored(tenant: Tenant) -> SignIndex:
    with tenant.database.tenant(tenant.tenant_id) as connection:
        (row,) = connection.execute("select generation_id from memory.generations").fetchall()
        keys = {"tenant_id": tenant.tenant_id, **row}
        return read_signs(ask_signs(connection, keys, boundary=0))


def _vectors(tenant: Tenant) -> list[list[float]]:
    history = tenant.history
    said = sorted({c.statement for e in history.episodes for c in e.candidates})
    return ThemedEmbedder(history).embed(said[:3])


def _seen(index: SignIndex, vectors: Sequence[list[float]], subjects: Sequence[EntityId]) -> Any:
    """All that can be read of an index."""
    asked = [(s, p, vectors[0]) for s in subjects for p in PREDICATES]
    instants = [noon(month) for month in (0, 2, 4, 20)]
    return (
        index.version,
        index.fact_count,
        index.entity_count,
        [index.nearest_facts(vectors, _ALL, at) for at in instants],
        [index.nearest_entities(vectors, _ALL, at) for at in (*instants, None)],
        index.neighbours(asked, _ALL),
    )


@examples(40)
@given(history=histories())
def test_an_index_that_follows_the_folds_is_what_the_tables_hold(
    memory: Database, history: History
) -> None:
    tenant = new_tenant(memory, history)
    tenant.import_episodes(history.episodes)
    walk = TenantWalk(tenant.workshop(), tenant.tenant_id)
    followed = _stored(tenant)
    for walked in walk.walk():
        folded = fold_episode(memory, walked)
        assert folded is not None
        changes, vectors = folded.plan.changes, folded.plan.vectors
        version = followed.version
        if not followed.follow(changes, vectors):
            assert _is_open_again(changes.versions, changes.version_closures)
            followed = _stored(tenant)
        assert followed.version == version + 1
        named = (user_entity(tenant.tenant_id), *changes.new_entities)
        subjects = [entity.entity_id for entity in named]
        asked = _vectors(tenant)
        assert _seen(followed, asked, subjects) == _seen(_stored(tenant), asked, subjects)


def _is_open_again(versions: Sequence[Any], closures: Sequence[Any]) -> bool:
    """Whether an episode made an ended fact last: nothing else may make the index read anew."""
    closed = {closure.fact_id for closure in closures}
    return any(v.version > 1 and v.valid_until is None and v.fact_id in closed for v in versions)


def test_another_version_is_not_followed(memory: Database) -> None:
    said = Episode(0, 0, (Candidate("user", "likes", "red"),))
    tenant = new_tenant(memory, History((said, Episode(1, 0, said.candidates))))
    tenant.import_episodes(tenant.history.episodes)
    walk = TenantWalk(tenant.workshop(), tenant.tenant_id).walk()
    index = _stored(tenant)
    first, second = (fold_episode(memory, walked) for walked in walk)
    assert first is not None
    assert second is not None
    assert not index.follow(second.plan.changes, second.plan.vectors)
    assert index.follow(first.plan.changes, first.plan.vectors)
    assert index.follow(second.plan.changes, second.plan.vectors)


def test_the_facts_of_a_slot_and_the_others_rank_by_the_signs_that_differ_then_by_id(
    memory: Database,
) -> None:
    said = tuple(
        Candidate("user", predicate, thing) for thing in VALUES for predicate in PREDICATES
    )
    themes = tuple((c.statement, place % 2, 2 * (place % 3 == 0)) for place, c in enumerate(said))
    told = (Episode(0, 0, said[:5]), Episode(1, 0, said[5:]))
    tenant = folded_tenant(memory, History(told, themes=themes))
    (vector, *_) = _vectors(tenant)
    with memory.tenant(tenant.tenant_id) as connection:
        rows = connection.execute(_FACTS, [str(vector)]).fetchall()
    ranked = sorted(rows, key=lambda r: (r["differing"], r["fact_id"]))
    assert len({row["differing"] for row in rows}) < len(rows)
    user = user_entity(tenant.tenant_id).entity_id
    slot = [row["fact_id"] for row in ranked if row["predicate"] == "likes"]
    others = [row["fact_id"] for row in ranked if row["predicate"] != "likes"]
    for count in (1, 2, 5):
        (found,) = _stored(tenant).neighbours([(user, "likes", vector)], count)
        assert _ids(found) == slot[:count] + others[:count]


def _ids(array: Ids) -> list[UUID]:
    return [UUID(text) for text in array.strip("{}").split(",")]


def test_signs_are_those_of_the_stored_half_precision(memory: Database) -> None:
    vector = [math.sin(place) * 10.0 ** -(place % 12) for place in range(384)]
    with memory.tenant(new_tenant(memory, History(())).tenant_id) as connection:
        (row,) = connection.execute(
            "select binary_quantize(%s::halfvec)::text as signs", [str(vector)]
        ).fetchall()
    assert "".join(f"{byte:08b}" for byte in signs_of(vector).T.tobytes()) == row["signs"]
    assert any(value > 0 and sign == "0" for value, sign in zip(vector, row["signs"], strict=True))
