"""Windows of own messages and the loaded extractor for the tests of the keyless tier."""

from datetime import UTC, datetime
from functools import cache
from uuid import UUID, uuid5

from memory_pipeline.domain.conversation import Message, Role, Window
from memory_pipeline.domain.extraction import (
    EntityType,
    ExtractedFact,
    ExtractedGraph,
    KnownEntity,
    KnownFact,
    KnownLists,
)
from memory_pipeline.domain.ids import EntityId, EpisodeId, FactId, MessageId, TenantId, ThreadId
from memory_pipeline.stages.heuristics import HeuristicExtractor, load_heuristic_extractor

SAID_AT = datetime(2024, 5, 3, 10, tzinfo=UTC)
_SPACE = UUID("4b6f2f6e-3c39-5a55-9d0b-0a3a2a0f6a11")
Triple = tuple[str, str, str]


@cache
def extractor() -> HeuristicExtractor:
    """The extractor, loaded once per process: loading takes as long as reading 500 messages."""
    return load_heuristic_extractor()


def window(*texts: str, role: Role = Role.USER, is_own: bool = True) -> Window:
    """A window of messages that the user says at SAID_AT."""
    return Window(
        tenant_id=TenantId("t"),
        episode_id=EpisodeId(uuid5(_SPACE, "episode")),
        thread_id=ThreadId("thread"),
        ordinal=1,
        started_at=SAID_AT,
        ended_at=SAID_AT,
        messages=tuple(
            Message(
                message_id=MessageId(uuid5(_SPACE, str(seq))),
                seq=seq,
                role=role,
                text=text,
                said_at=SAID_AT,
                is_own=is_own,
            )
            for seq, text in enumerate(texts)
        ),
    )


def known(*triples: Triple, entity_types: dict[str, EntityType] | None = None) -> KnownLists:
    """Known lists that hold the triples; objects with a type given are entities."""
    types = entity_types or {}
    return KnownLists(
        entities=tuple(
            KnownEntity(entity_id=EntityId(uuid5(_SPACE, name)), name=name, type=kind)
            for name, kind in types.items()
        ),
        facts=tuple(
            KnownFact(
                fact_id=FactId(uuid5(_SPACE, " ".join(t))),
                subject=t[0],
                predicate=t[1],
                object=t[2],
                object_is_entity=t[2] in types,
            )
            for t in triples
        ),
    )


def extract(*texts: str, memory: KnownLists | None = None) -> ExtractedGraph:
    """The graph of a window of own messages."""
    return extractor().extract(window(*texts), memory or KnownLists())


def facts_of(graph: ExtractedGraph) -> tuple[ExtractedFact, ...]:
    """Relationships and literal facts together."""
    return (*graph.relationships, *graph.literal_facts)


def triples(graph: ExtractedGraph) -> set[Triple]:
    """Subject, predicate and object of every fact."""
    return {(f.subject, f.predicate, f.object) for f in facts_of(graph)}


def only_fact(graph: ExtractedGraph) -> ExtractedFact:
    """The one fact of a graph that must have one."""
    (fact,) = facts_of(graph)
    return fact
