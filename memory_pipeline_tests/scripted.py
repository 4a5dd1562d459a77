"""A walk whose extractor follows the messages' own script, and builders of histories for it.

Belongs here: doubles and builders that adapters', defs' and commands' tests share. Does not:
fixtures (conftest) and assertions.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta

import psycopg

from memory_pipeline.adapters.conversation_store import ConversationStore
from memory_pipeline.adapters.hashed_embedder import HashedNgramEmbedder
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.adapters.tenant_settings import tenant_policy
from memory_pipeline.adapters.tenant_walk import TenantWalk, Workshop
from memory_pipeline.adapters.workshop import make_recipe
from memory_pipeline.defs.io_managers import fold_episode
from memory_pipeline.domain.conversation import Role, SourceMessage, SourceThread, Window
from memory_pipeline.domain.embedding import Embedder
from memory_pipeline.domain.extraction import (
    ExtractedEntity,
    ExtractedFact,
    ExtractedGraph,
    KnownLists,
    Tier,
)
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.domain.policy import Policy
from memory_pipeline.stages.judge import RulesJudge
from memory_pipeline.stages.ports import ExtractionError

TENANT = TenantId("acme/user_1")
START = datetime(2024, 1, 1, 9, tzinfo=UTC)
DAY = timedelta(days=1)


class ScriptedExtractor:
    """Reads `works at: acme; likes: tea` as facts of the user; `boom` fails.

    `seen` holds what each ordinal was shown, every call in order; `is_broken` off mends `boom`.
    """

    tier = Tier.HEURISTICS

    def __init__(self, version: str = "scripted/1") -> None:
        self.version = version
        self.is_broken = True
        self.seen: list[tuple[int, KnownLists]] = []
        self._lock = threading.Lock()

    def extract(self, window: Window, known: KnownLists) -> ExtractedGraph:
        """The facts that the user's messages spell out."""
        with self._lock:
            self.seen.append((window.ordinal, known))
        texts = [message.text for message in window.own_messages()]
        if self.is_broken and any(text.startswith("boom") for text in texts):
            raise ExtractionError(f"no answer for episode {window.ordinal}")
        facts = [fact for text in texts for fact in _facts(text)]
        return ExtractedGraph(
            entities=tuple(ExtractedEntity(name=fact.object, type="ORG") for fact in facts),
            relationships=tuple(facts),
        )

    def ordinals(self) -> list[int]:
        """Ordinals in the order of their calls."""
        return [ordinal for ordinal, _ in self.seen]


def _facts(text: str) -> Iterator[ExtractedFact]:
    for part in text.split("; "):
        predicate, separator, thing = part.partition(": ")
        if separator:
            yield ExtractedFact(
                subject="user",
                predicate=predicate,
                object=thing,
                confidence=0.9,
                source_quote=part,
            )


def message(
    number: int, text: str, said_at: datetime | None, role: Role = Role.USER
) -> SourceMessage:
    """One message whose id in its thread is its number."""
    return SourceMessage(source_id=str(number), role=role, text=text, said_at=said_at)


def thread(name: str, *messages: tuple[str, datetime | None]) -> SourceThread:
    """A thread of the user's messages."""
    return SourceThread(
        source_id=name,
        messages=tuple(message(n, *content) for n, content in enumerate(messages, start=1)),
    )


def daily(*texts: str, name: str = "day") -> list[SourceThread]:
    """One thread of one message for each text, a day apart: episode n says text n."""
    return [
        thread(f"{name}-{number:04d}", (text, START + number * DAY))
        for number, text in enumerate(texts, start=1)
    ]


def import_history(
    database: Database,
    threads: Iterable[SourceThread],
    tenant_id: TenantId = TENANT,
    policy: Policy | None = None,
) -> int:
    """Store and cut; how many episodes are new."""
    store = ConversationStore(database)
    store.import_threads(tenant_id, "test", threads)
    return store.register_episodes(tenant_id, policy or Policy())


def scripted_workshop(
    database: Database,
    extractor: ScriptedExtractor,
    tenant_id: TenantId = TENANT,
    settings: Mapping[str, object] | None = None,
    embedder: Embedder | None = None,
) -> Workshop:
    """A workshop with the scripted extractor, rules for a judge and hashed n-grams."""
    judge = RulesJudge()
    embedder = embedder or HashedNgramEmbedder()
    policy = tenant_policy(database, tenant_id, settings or {})
    return Workshop(
        database=database,
        extractor=extractor,
        judge=judge,
        embedder=embedder,
        recipe=make_recipe(policy, embedder.profile_id, extractor.version, judge.version),
        policy=policy,
    )


def fold_all(
    workshop: Workshop, tenant_id: TenantId = TENANT, ordinals: Iterable[int] | None = None
) -> list[int]:
    """Walk and fold without Dagster; the ordinals folded here, in order."""
    chosen = None if ordinals is None else frozenset(ordinals)
    return [
        walked.ordinal
        for walked in TenantWalk(workshop, tenant_id).walk(chosen)
        if fold_episode(workshop.database, walked) is not None
    ]


def remember(
    database: Database, *texts: str, tenant_id: TenantId = TENANT, name: str = "day"
) -> None:
    """Import a message a day and fold them all."""
    import_history(database, daily(*texts, name=name), tenant_id)
    fold_all(scripted_workshop(database, ScriptedExtractor(), tenant_id), tenant_id)


def forget_memory(url: str) -> None:
    """Take away all that was derived; the conversations stay and are open again."""
    with psycopg.connect(url) as owner:
        owner.execute(
            "truncate memory.folds, memory.facts, memory.entities, memory.fact_evidence,"
            " memory.claim_outcomes, memory.judged_pairs, memory.message_outcomes,"
            " memory.dirty_entities, memory.stage_outputs, memory.generations, memory.publications,"
            " memory.entity_aliases, memory.uncertainties, memory.insight_runs cascade"
        )
        owner.execute("update memory.episodes set extraction_status = 'pending'")


_CONTENT = {
    "folds": "e.ordinal, t.fold_number, t.status, t.known_at, t.recipe_id, t.counts"
    " - 'extracted_graphs'",
    "entities": "t.entity_id, t.name, t.type, t.known_from, t.last_linked_at",
    "facts": "t.fact_id, t.version, t.statement, t.valid_time, t.known_time, t.confidence,"
    " t.ended_reason, t.ended_by, t.opened_by, t.successor_id, t.dropped_reason, t.dropped_by,"
    " t.dropped_for, t.triple_key, t.embedding::text",
    "fact_evidence": "t.fact_id, t.claim_ref, t.kind, t.message_id, t.quote",
    "claim_outcomes": "t.ref, t.outcome, t.fact_id, t.detail",
    "judged_pairs": "t.claim_ref, t.fact_id, t.verdict",
    "message_outcomes": "t.message_id, t.reason",
    "dirty_entities": "t.entity_id, t.bumps",
    "stage_outputs": "t.stage, t.input_digest, t.payload",
}


def memory_content(url: str, tenant_id: TenantId = TENANT) -> dict[str, list[str]]:
    """Every derived row of a tenant without wall-clock times, as sorted text by table."""
    content: dict[str, list[str]] = {}
    with psycopg.connect(url) as connection:
        for table, columns in _CONTENT.items():
            join = "left join memory.episodes e using (tenant_id, episode_id)" * (table == "folds")
            rows = connection.execute(
                f"select {columns} from memory.{table} t {join} "  # noqa: S608 - constants above
                "where t.tenant_id = %s",
                [tenant_id],
            ).fetchall()
            content[table] = sorted(map(repr, rows))
    return content


def scalar(url: str, statement: str, parameters: Sequence[object] = ()) -> object:
    """The first column of the first row, read by the owner of the database."""
    with psycopg.connect(url) as connection:
        row = connection.execute(statement.encode(), parameters).fetchone()
    return row[0] if row else None
