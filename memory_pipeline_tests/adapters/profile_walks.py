"""Memory with dirty entities, and profile parts with a model double, for tests of profiles.

Belongs here: doubles and builders that store, builder and call tests share. Does not: fixtures and
assertions.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterable
from typing import Any

import psycopg

from memory_pipeline.adapters.answer_store import AnswerStore
from memory_pipeline.adapters.hashed_embedder import HashedNgramEmbedder
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.adapters.profile_builder import ProfileParts
from memory_pipeline.adapters.profile_store import ProfileStore
from memory_pipeline.adapters.stored_models import StoredChatModel
from memory_pipeline.domain.embedding import Embedder
from memory_pipeline.domain.ids import EntityId, TenantId
from memory_pipeline.domain.model import ModelAnswer, ModelRequest, Usage
from memory_pipeline.domain.policy import Policy
from memory_pipeline.stages.profile import ProfileWriter
from memory_pipeline_tests.scripted import TENANT

SECRET = b"a secret of the tenant"
MODEL = "scripted-fast"
_NAME = re.compile(r"^Entity: (.*) \(\w+\)", re.MULTILINE)
_FACT = re.compile(r"^\[(f\d+)\] ([^|\n]+?)(?: \||$)", re.MULTILINE)


class ProfileModel:
    """A model that says each shown fact in a sentence; `spoil` may answer or raise in its place.

    `asked` holds the names of the entities asked about, in the order of their calls.
    """

    def __init__(self, spoil: Callable[[str], str | None] = lambda _name: None) -> None:
        self.spoil = spoil
        self.asked: list[str] = []
        self.requests: list[ModelRequest] = []
        self.most_open = 0
        self._open = 0
        self._lock = threading.Lock()

    def complete(self, request: ModelRequest) -> ModelAnswer:
        """A valid answer from the facts shown."""
        found = _NAME.search(request.user)
        name = found.group(1) if found else ""
        with self._lock:
            self.asked.append(name)
            self.requests.append(request)
            self._open += 1
            self.most_open = max(self.most_open, self._open)
        try:
            text = self.spoil(name)
        finally:
            with self._lock:
                self._open -= 1
        usage = Usage(prompt_tokens=100, completion_tokens=10, price_usd=0.001)
        return ModelAnswer(text=told(request) if text is None else text, usage=usage)


def told(request: ModelRequest) -> str:
    """Each fact that a request shows, as a sentence of its own."""
    shown = _FACT.findall(request.user)
    return json.dumps(
        {
            "sentences": [
                {"facts": [f], "text": f"{said[:1].upper()}{said[1:]}."} for f, said in shown
            ]
        }
    )


def make_parts(
    database: Database,
    model: ProfileModel | None = None,
    tenant_id: TenantId = TENANT,
    policy: Policy | None = None,
    embedder: Embedder | None = None,
) -> ProfileParts:
    """The parts of one tenant; keyless without a model."""
    policy = policy or Policy()
    asker = None if model is None else StoredChatModel(model, AnswerStore(database, tenant_id))
    return ProfileParts(
        tenant_id=tenant_id,
        store=ProfileStore(database, tenant_id, policy),
        writer=ProfileWriter(asker, MODEL if model else None, SECRET, policy.profile_chars),
        embedder=embedder or HashedNgramEmbedder(),
        gate=threading.BoundedSemaphore(policy.profile_build_concurrency),
        calls=asker,
    )


def entity_id(url: str, name: str, tenant_id: TenantId = TENANT) -> EntityId:
    """The entity of a name."""
    (row,) = rows(
        url,
        "select entity_id from memory.entities where tenant_id = %s and name = %s",
        [tenant_id, name],
    )
    return EntityId(row[0])


def rows(url: str, statement: str, parameters: Iterable[object] = ()) -> list[tuple[Any, ...]]:
    """What the owner of the database reads, or changes with a `returning`."""
    with psycopg.connect(url) as connection:
        cursor = connection.execute(statement.encode(), list(parameters))
        return cursor.fetchall() if cursor.description is not None else []


def bumps(url: str, tenant_id: TenantId = TENANT) -> dict[str, int]:
    """The counter of each entity that is dirty, by name."""
    found = rows(
        url,
        "select e.name, d.bumps from memory.dirty_entities d join memory.entities e"
        " using (tenant_id, generation_id, entity_id)"
        " where d.tenant_id = %s and d.bumps > 0 order by e.name",
        [tenant_id],
    )
    return dict(found)


def texts(url: str, tenant_id: TenantId = TENANT) -> dict[str, str]:
    """The profile of each entity that has one in use, by name."""
    found = rows(
        url,
        "select e.name, p.text from memory.profiles p join memory.entities e"
        " using (tenant_id, generation_id, entity_id)"
        " where p.tenant_id = %s and p.retired_at is null order by e.name",
        [tenant_id],
    )
    return dict(found)


def bump(url: str, *names: str, tenant_id: TenantId = TENANT) -> None:
    """A change arrives for these entities."""
    rows(
        url,
        "update memory.dirty_entities d set bumps = d.bumps + 1,"
        " first_bumped_at = case when d.bumps = 0 then clock_timestamp() else d.first_bumped_at end"
        " from memory.entities e where e.entity_id = d.entity_id and e.tenant_id = d.tenant_id"
        " and d.tenant_id = %s and e.name = any(%s)",
        [tenant_id, list(names)],
    )


def let_time_pass(url: str) -> None:
    """Rests and leases are over."""
    rows(
        url,
        "update memory.dirty_entities set next_try_at = next_try_at - interval '1 day',"
        " claimed_until = claimed_until - interval '1 day'",
    )
