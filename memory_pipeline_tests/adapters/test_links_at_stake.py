"""The links that are read where one may end decide the cascade as all links would (spec W3)."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory_pipeline.adapters.memory_store import MemoryStore
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.domain.changes import DistinctClaims, Judgement, MemoryState
from memory_pipeline.domain.claim import USER, ResolvedClaim
from memory_pipeline.domain.fact import FactVersion
from memory_pipeline.domain.ids import EntityId, FactId, GenerationId
from memory_pipeline.domain.plan import OBSERVER, plan_changes
from memory_pipeline.stages.resolve import user_entity
from memory_pipeline_tests.domain.memory_builders import (
    EPISODE,
    NOW,
    TENANT,
    claim,
    closing,
    entity_id,
    fact,
    judged,
    state,
    surviving,
)

_THINGS = ("acme", "berlin", "cleo", "dune", "elm", "fay")
_NAMES = (USER, USER, *_THINGS)
_DAYS = ("2025-10-01", "2025-12-01", "2026-03-01")
USER_ID = user_entity(TENANT).entity_id

_TENANT_ROWS = """
insert into memory.tenants (tenant_id) values (%(tenant)s) on conflict do nothing;
insert into memory.recipes (tenant_id, recipe_id, content) values (%(tenant)s, 'recipe', '{}')
on conflict do nothing;
insert into memory.embedding_profiles values ('test', 384, 1, 1, 1, 1) on conflict do nothing;
insert into memory.generations (tenant_id, generation_id, number, recipe_id, profile_id, status)
select %(tenant)s, %(generation)s, count(*) + 1, 'recipe', 'test', 'candidate'
from memory.generations where tenant_id = %(tenant)s;
"""
_ENTITY = """
insert into memory.entities (tenant_id, generation_id, entity_id, name, type, memory_category,
    known_from, last_linked_at)
values (%s, %s, %s, %s, 'THING', 'context', now(), now())
"""
_FACT = """
insert into memory.facts (tenant_id, generation_id, fact_id, version, subject_id, predicate,
    object_id, object_text, statement, valid_time, known_time, confidence, memory_category, tier,
    attributes, ended_reason, recipe_id)
values (%s, %s, %s, %s, %s, %s, %s, %s, %s, tstzrange(%s, %s), tstzrange(%s, null), %s, %s, %s,
    '{"has_stated_start": true}', %s, 'recipe')
"""


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url, max_connections=1)
    yield database
    database.close()


@st.composite
def graphs(draw: st.DrawFn) -> tuple[FactVersion, ...]:
    """Links and texts of a few things, some with an end ahead or behind, cycles included."""
    facts: dict[tuple[str, str], FactVersion] = {}
    for number in range(draw(st.integers(1, 14))):
        about = draw(st.sampled_from((*_NAMES, OBSERVER)))
        target = draw(st.sampled_from((*_NAMES, "red")))
        if about == target or (about, target) in facts:
            continue
        facts[about, target] = fact(
            f"f{number}", f"verb {number}", target, about=about, names=target != "red",
            until=draw(st.none() | st.none() | st.sampled_from(_DAYS)),
        )  # fmt: skip
    return tuple(facts.values())


@st.composite
def changes_of(
    draw: st.DrawFn, facts: tuple[FactVersion, ...]
) -> tuple[DistinctClaims, tuple[Judgement, ...], frozenset[FactId]]:
    """Some links that end, are replaced or were never true, and new links beside them."""
    edges = [f for f in facts if f.object_id is not None]
    new = [
        claim(f"c{10 + n}", f"new {n}", target, about=about, names=True)
        for n, (about, target) in enumerate(
            draw(st.lists(st.tuples(*[st.sampled_from(_NAMES)] * 2), max_size=2))
        )
        if about != target
    ]
    named = draw(st.lists(st.sampled_from(edges), min_size=1, max_size=2)) if edges else []
    closures, judgements = [], []
    for number, edge in enumerate(dict.fromkeys(f.fact_id for f in named)):
        kind = draw(st.sampled_from(["ends", "replaced", "never"]))
        ending = claim(f"c{number}", "x", "y", until=draw(st.sampled_from(_DAYS)))
        if kind == "ends":
            closed = closing(ending, "f0").closures[0].model_copy(update={"fact_id": edge})
            closures.append((ending, closed))
        else:
            new.append(claim(f"c{number}", "z", "red", since="2025-09-01"))
            verdict = judged(f"c{number}", "f0", is_correction=kind == "never")
            judgements.append(verdict.model_copy(update={"fact_id": edge}))
    distinct = surviving(*map(_of_user, new))
    distinct = distinct.model_copy(
        update={
            "closures": tuple(closure for _, closure in closures),
            "claims": (*distinct.claims, *(_of_user(ending) for ending, _ in closures)),
        }
    )
    return distinct, tuple(judgements), frozenset(f.fact_id for f in named)


def _of_user(resolved: ResolvedClaim) -> ResolvedClaim:
    return resolved.model_copy(
        update={
            "subject_id": _known(resolved.subject_id),
            "object_id": _known(resolved.object_id) if resolved.object_id else None,
        }
    )


def _known(found: EntityId) -> EntityId:
    """The user by the id that the store has for it."""
    return USER_ID if found == entity_id(USER) else found


def _store_graph(url: str, facts: tuple[FactVersion, ...]) -> GenerationId:
    generation = GenerationId(uuid4())
    keys = {"tenant": TENANT, "generation": generation}
    with psycopg.ClientCursor(psycopg.connect(url)) as cursor, cursor.connection:
        cursor.execute(_TENANT_ROWS, keys)
        for name in (*_THINGS, OBSERVER, USER):
            cursor.execute(_ENTITY, [TENANT, generation, _known(entity_id(name)), name])
        for f in facts:
            cursor.execute(
                _FACT,
                [
                    TENANT, generation, f.fact_id, f.version, f.subject_id, f.predicate,
                    f.object_id, f.object_text, f.statement, f.valid_from, f.valid_until,
                    f.known_from, f.confidence, f.memory_category.value, f.tier.value,
                    f.ended_reason.value if f.ended_reason else None,
                ],
            )  # fmt: skip
    return generation


def _in_store(found: FactVersion) -> FactVersion:
    return found.model_copy(
        update={
            "subject_id": _known(found.subject_id),
            "object_id": _known(found.object_id) if found.object_id else None,
        }
    )


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_w3_links_at_stake_give_the_plan_that_all_links_give(
    database: Database, database_url: str, data: st.DataObject
) -> None:
    facts = tuple(_in_store(f) for f in data.draw(graphs()))
    distinct, judgements, ending = data.draw(changes_of(facts))
    store = MemoryStore(database, TENANT, _store_graph(database_url, facts))
    near = tuple(f for f in facts if f.fact_id in ending)
    before: MemoryState = state(*near).model_copy(update={"user_id": USER_ID, "has_links": False})
    linked = (f for f in facts if f.subject_id != entity_id(OBSERVER))
    wide = before.model_copy(
        update={
            "facts": tuple({f.fact_id: f for f in (*near, *linked)}.values()),
            "has_links": True,
        }
    )
    narrow = store.with_links(before, ending, distinct.claims)
    assert set(narrow.facts) <= set(wide.facts) | set(near)
    plans = [
        plan_changes(links, EPISODE, NOW, distinct, judgements).model_dump()
        for links in (wide, narrow)
    ]
    assert plans[0] == plans[1]


def test_links_at_stake_leave_out_what_another_link_holds(
    database: Database, database_url: str
) -> None:
    facts = tuple(
        map(
            _in_store,
            (
                fact("f1", "works at", "acme", names=True),
                fact("f2", "owns", "acme", names=True),
                fact("f3", "has site", "berlin", about="acme", names=True),
                fact("f4", "knows", "cleo", names=True),
                fact("f5", "likes", "dune", about="cleo", names=True),
            ),
        )
    )
    store = MemoryStore(database, TENANT, _store_graph(database_url, facts))
    before = state(facts[0]).model_copy(update={"user_id": USER_ID, "has_links": False})
    of_acme = store.with_links(before, [facts[0].fact_id], ())
    assert {f.fact_id for f in of_acme.facts} == {facts[0].fact_id}
    of_cleo = store.with_links(before, [facts[3].fact_id], ())
    assert {f.fact_id for f in of_cleo.facts} == {facts[i].fact_id for i in (0, 3, 4)}


def test_w3_a_new_link_from_a_thing_that_is_held_saves_what_would_have_lost_its_last(
    database: Database, database_url: str
) -> None:
    works = _in_store(fact("f1", "works at", "acme", names=True))
    office = _in_store(fact("f2", "has office in", "red", about="acme"))
    knows = _in_store(fact("f3", "knows", "cleo", names=True))
    store = MemoryStore(database, TENANT, _store_graph(database_url, (works, office, knows)))
    before = state(works).model_copy(update={"user_id": USER_ID, "has_links": False})
    new = _of_user(claim("c2", "owns", "acme", about="cleo", names=True))
    ending = _of_user(claim("c1", "works at", "acme", names=True, until="2025-08-31"))
    narrow = store.with_links(before, [works.fact_id], [ending, new])
    changes = plan_changes(narrow, EPISODE, NOW, closing(ending, "f1", new), ())
    assert office.fact_id in {f.fact_id for f in narrow.facts}
    assert office.fact_id not in {v.fact_id for v in changes.versions}
