"""No transaction is open while a model is asked or a plan is thought out (design, section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import psycopg

from memory_pipeline.adapters.postgres import Database
from memory_pipeline.domain.changes import Judgement
from memory_pipeline.domain.conversation import Window
from memory_pipeline.domain.extraction import ExtractedGraph, KnownLists
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.stages.judge import Question, RulesJudge
from memory_pipeline_tests.crashes.histories import RichExtractor, import_episodes, rich_workshop
from memory_pipeline_tests.scripted import fold_all

TENANT = TenantId("ann")
_SESSIONS = (
    "select state, xact_start is not null, backend_xmin is not null from pg_stat_activity"
    " where datname = current_database() and pid <> pg_backend_pid()"
    " and backend_type = 'client backend'"
)
_LOCKS = (
    "select count(*) from pg_locks where locktype = 'advisory' and database ="
    " (select oid from pg_database where datname = current_database())"
)
IDLE = ("idle", False, False)


@dataclass
class Watch:
    """Looks at the server whenever it is asked to."""

    url: str
    sessions: list[tuple[Any, ...]] = field(default_factory=list)
    locks: list[int] = field(default_factory=list)

    def look(self) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            self.sessions += connection.execute(_SESSIONS.encode()).fetchall()
            self.locks += [row[0] for row in connection.execute(_LOCKS.encode())]


class WatchingJudge(RulesJudge):
    """Looks at the server while it judges."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def judge(self, questions: Sequence[Question]) -> tuple[Judgement, ...]:
        self._watch.look()
        return super().judge(questions)


class WatchingExtractor(RichExtractor):
    """Looks at the server while it extracts."""

    def __init__(self, watch: Watch) -> None:
        super().__init__("watching/1")
        self._watch = watch

    def extract(self, window: Window, known: KnownLists) -> ExtractedGraph:
        self._watch.look()
        return super().extract(window, known)


class WatchingEmbedder:
    """Looks at the server while it embeds."""

    def __init__(self, inner: Any, watch: Watch) -> None:
        self._inner, self._watch = inner, watch
        self.profile_id, self.dimensions = inner.profile_id, inner.dimensions

    def embed(self, texts: Sequence[str]) -> Any:
        self._watch.look()
        return self._inner.embed(texts)


def test_no_transaction_and_no_lock_is_held_while_a_model_is_asked(database: Database) -> None:
    import_episodes(database, TENANT)
    plain = rich_workshop(database, TENANT)
    extracting, embedding, judging = (Watch(database.url) for _ in range(3))
    workshop = replace(
        plain,
        extractor=WatchingExtractor(extracting),
        embedder=WatchingEmbedder(plain.embedder, embedding),
        judge=WatchingJudge(judging),
    )
    assert fold_all(workshop, TENANT) == [1, 2, 3, 4, 5]
    for watch in (extracting, embedding, judging):
        assert len(watch.locks) >= 2
        assert set(watch.sessions) == {IDLE}
        assert set(watch.locks) == {0}


def test_a_transaction_left_open_would_be_seen(database: Database) -> None:
    import_episodes(database, TENANT)
    watch = Watch(database.url)
    with database.tenant(TENANT):
        watch.look()
    assert "idle in transaction" in {state for state, *_ in watch.sessions}
