"""Small histories taken through the real write path, for the tests of reading.

Belongs here: a scripted extractor (a port double), a history told in lines, folding it.
Does not: expectations.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import psycopg

from memory_pipeline.adapters.conversation_store import ConversationStore
from memory_pipeline.adapters.hashed_embedder import HashedNgramEmbedder
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.adapters.tenant_walk import TenantWalk, Workshop
from memory_pipeline.defs.io_managers import fold_episode
from memory_pipeline.domain.conversation import Role, SourceMessage, SourceThread, Window
from memory_pipeline.domain.extraction import (
    ExtractedEntity,
    ExtractedFact,
    ExtractedGraph,
    ExtractedInstruction,
    ExtractedUncertainty,
    KnownLists,
    NothingDurable,
    Tier,
)
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.domain.policy import Policy
from memory_pipeline.domain.recipe import Recipe, sorted_settings
from memory_pipeline.stages.judge import RulesJudge
from memory_pipeline.stages.ports import ExtractionError

ANN = TenantId("acme/ann")
BOB = TenantId("acme/bob")


def day(text: str) -> datetime:
    """A date's first instant, or an ISO instant, in UTC."""
    instant = datetime.fromisoformat(text)
    return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant


@dataclass(frozen=True)
class Fact:
    """A candidate as the extractor words it: `user`, predicate, object."""

    predicate: str
    object: str
    valid_from: str | None = None
    valid_until: str | None = None
    entity_type: str | None = None
    subject: str = "user"
    quote: str | None = None
    confidence: float = 0.9


@dataclass(frozen=True)
class Line:
    """A message of its own episode, with what the extractor reads out of it."""

    at: str
    text: str
    facts: tuple[Fact, ...] = ()
    instructions: tuple[ExtractedInstruction, ...] = ()
    uncertainties: tuple[ExtractedUncertainty, ...] = ()
    silence: str | None = None
    role: Role = Role.USER
    fails: bool = False
    thread: str | None = None


@dataclass(frozen=True)
class ScriptedExtractor:
    """Answers each message with what its line says."""

    lines: Mapping[str, Line]
    version: str = "scripted/1"
    tier: Tier = Tier.HEURISTICS
    seen: list[str] = field(default_factory=list)

    def extract(self, window: Window, known: KnownLists) -> ExtractedGraph:
        """What the lines of the window's own messages say."""
        lines = [(m.seq, self.lines[m.text]) for m in window.own_messages()]
        if any(line.fails for _, line in lines):
            raise ExtractionError("the model answered nonsense")
        facts = [(line, fact) for _, line in lines for fact in line.facts]
        return ExtractedGraph(
            entities=tuple(
                ExtractedEntity(name=fact.object, type=fact.entity_type)
                for _, fact in facts
                if fact.entity_type
            ),
            relationships=tuple(_extracted(line, f) for line, f in facts if f.entity_type),
            literal_facts=tuple(_extracted(line, f) for line, f in facts if not f.entity_type),
            instructions=tuple(i for _, line in lines for i in line.instructions),
            uncertainties=tuple(u for _, line in lines for u in line.uncertainties),
            nothing_durable=tuple(
                NothingDurable(seq=seq, reason=line.silence) for seq, line in lines if line.silence
            ),
        )


def _extracted(line: Line, fact: Fact) -> ExtractedFact:
    return ExtractedFact(
        subject=fact.subject,
        predicate=fact.predicate,
        object=fact.object,
        confidence=fact.confidence,
        source_quote=line.text if fact.quote is None else fact.quote,
        valid_from=fact.valid_from,
        valid_until=fact.valid_until,
    )


def store(database: Database, tenant_id: TenantId, lines: Sequence[Line]) -> None:
    """Import the lines, each a thread of its own unless it names one, and cut episodes."""
    threads: dict[str, list[Line]] = {}
    for line in lines:
        threads.setdefault(line.thread or line.at, []).append(line)
    conversations = ConversationStore(database)
    conversations.import_threads(
        tenant_id,
        "openai",
        [
            SourceThread(
                source_id=name,
                messages=tuple(
                    SourceMessage(
                        source_id=line.at, role=line.role, text=line.text, said_at=day(line.at)
                    )
                    for line in spoken
                ),
            )
            for name, spoken in threads.items()
        ],
    )
    conversations.register_episodes(tenant_id, Policy())


def fold(database: Database, tenant_id: TenantId, lines: Sequence[Line]) -> None:
    """Walk the tenant's open episodes with the scripted extractor and write them."""
    extractor = ScriptedExtractor({line.text: line for line in lines})
    policy, embedder, judge = Policy(), HashedNgramEmbedder(), RulesJudge()
    workshop = Workshop(
        database=database,
        extractor=extractor,
        judge=judge,
        embedder=embedder,
        recipe=Recipe(
            extractor=extractor.version,
            judge=judge.version,
            guard="guard",
            resolver="resolver",
            embedding_profile=embedder.profile_id,
            settings=sorted_settings(policy),
        ),
        policy=policy,
    )
    for walked in TenantWalk(workshop, tenant_id).walk():
        fold_episode(database, walked)


def remember(database: Database, tenant_id: TenantId, *lines: Line) -> None:
    """Import the lines and fold them."""
    store(database, tenant_id, lines)
    fold(database, tenant_id, lines)


def as_owner(url: str, statement: str, *parameters: object) -> int:
    """Run a statement past all rules, as somebody with the owner's rights could; rows changed."""
    with psycopg.connect(url, autocommit=True) as connection:
        return connection.execute(statement.encode(), parameters).rowcount


HISTORY = (
    Line("2024-01-10", "I live in Berlin.", (Fact("lives in", "Berlin", entity_type="PLACE"),)),
    Line(
        "2024-02-01",
        "I work at Acme, and I like hiking.",
        (
            Fact("works at", "Acme", entity_type="ORG"),
            Fact("likes", "hiking", quote="I like hiking"),
        ),
    ),
    Line("2024-03-05", "What is the weather like?", silence="question"),
    Line(
        "2024-06-01",
        "I moved to Porto today.",
        (Fact("lives in", "Porto", "2024-06-01", entity_type="PLACE"),),
    ),
    Line(
        "2024-07-01",
        "Sorry, correction: I meant Apex, not Acme.",
        (Fact("works at", "Apex", entity_type="ORG"),),
    ),
    Line(
        "2024-08-01",
        "I rent a boat until the end of August.",
        (Fact("rents", "a boat", valid_until="2024-09-01"),),
    ),
)
"""A move, a correction, a question, a lasting liking and a period that ends."""
