"""From a case to a tenant: its conversation, and the memory it starts with.

Belongs here: threads, episodes and change sets that make what a case calls given.
Does not: running the case (running).
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import uuid4

from memory_pipeline.adapters.conversation_store import ConversationStore
from memory_pipeline.adapters.memory_store import MemoryStore
from memory_pipeline.adapters.memory_writer import apply_changes
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.adapters.tenant_walk import TenantWalk, Workshop
from memory_pipeline.domain.changes import ChangeSet, EvidenceRow, VersionClosure
from memory_pipeline.domain.claim import USER
from memory_pipeline.domain.conversation import Role, SourceMessage, SourceThread
from memory_pipeline.domain.extraction import (
    EntityType,
    ExtractedEntity,
    ExtractedFact,
    ExtractedGraph,
    MemoryCategory,
    Tier,
)
from memory_pipeline.domain.fact import EndedReason, Entity, FactVersion
from memory_pipeline.domain.ids import (
    EntityId,
    EpisodeId,
    FactId,
    TenantId,
    derive_id,
)
from memory_pipeline.stages.resolve import user_entity
from memory_pipeline_tests.cases.case_file import Candidate, Given, GivenFact, NamedThing, Scope

FORMAT = "cases"
WINDOW = "window"
YEAR = timedelta(days=365)
_ROLES = {"human": "user", "ai": "assistant", "model": "assistant"}


def tenant_of(run: str, scope: Scope) -> TenantId:
    """The tenant of a scope, apart from the same scope in other cases."""
    return TenantId(f"{run}/{scope.dataset}/{scope.project}")


def quote_of(candidate: Candidate) -> str:
    """Words that stand for the quote of a candidate that comes without one."""
    return f"statement {candidate.ref} for the record"


def extracted_graph(given: Given) -> tuple[ExtractedGraph, dict[str, str]]:
    """What the model returned, and the ref that the guards give each candidate.

    Guards number relationships before literal facts. Where no evidence check is asked for, every
    candidate gets a quote that the window holds.
    """
    arrays: dict[bool, list[Candidate]] = {True: [], False: []}
    for candidate in given.candidates:
        arrays[candidate.array == "relationships"].append(candidate)
    refs = {c.ref: f"c{i}" for i, c in enumerate(arrays[True] + arrays[False], start=1)}
    graph = ExtractedGraph(
        entities=tuple(
            ExtractedEntity(name=e.name, type=e.type, memory_category=e.memory_category)
            for e in given.extracted_entities
        ),
        relationships=tuple(_extracted(c, given.has_quotes()) for c in arrays[True]),
        literal_facts=tuple(_extracted(c, given.has_quotes()) for c in arrays[False]),
    )
    return graph, refs


def _extracted(candidate: Candidate, has_quotes: bool) -> ExtractedFact:
    return ExtractedFact(
        subject=candidate.subject,
        predicate=candidate.predicate,
        object=candidate.object,
        confidence=candidate.confidence,
        source_quote=candidate.source_quote
        if has_quotes or candidate.source_quote
        else quote_of(candidate),
        valid_from=candidate.valid_from,
        valid_until=candidate.valid_until,
        memory_category=candidate.memory_category,
    )


def window_thread(given: Given) -> SourceThread:
    """The conversation of the case; an empty one holds a turn of the assistant without words."""
    messages = [
        SourceMessage(
            source_id=f"m{place}",
            role=Role(_ROLES.get(message.role, message.role)),
            text=message.content.replace("\x00", ""),
            said_at=message.created_at or given.now,
            speaker=message.speaker,
        )
        for place, message in enumerate(given.messages or ())
    ]
    if not given.has_quotes() and given.candidates and given.messages != ():
        text = "\n".join(c.source_quote or quote_of(c) for c in given.candidates)
        messages.append(
            SourceMessage(source_id="record", role=Role.USER, text=text, said_at=given.now)
        )
    if not messages:
        messages = [
            SourceMessage(source_id="empty", role=Role.ASSISTANT, text="", said_at=given.now)
        ]
    return SourceThread(source_id=WINDOW, started_at=given.now, messages=tuple(messages))


@dataclass
class TenantMemory:
    """Writes given facts of one tenant, each at the instant from which it is known."""

    database: Database
    workshop: Workshop
    tenant_id: TenantId
    now: datetime
    entities: dict[str, Entity] = field(default_factory=dict)
    _unwritten: list[Entity] = field(default_factory=list)

    def __post_init__(self) -> None:
        with_history = ConversationStore(self.database)
        with_history.import_threads(self.tenant_id, FORMAT, [])
        self.walk = TenantWalk(self.workshop, self.tenant_id)
        self.store = MemoryStore(self.database, self.tenant_id, self.walk.generation_id)

    def remember(
        self, things: Sequence[NamedThing], facts: Sequence[GivenFact]
    ) -> dict[str, FactId]:
        """Store entities and facts as the folds of earlier episodes; fact ids by their words."""
        for thing in things:
            self._entity(thing.name, thing.type)
        written: dict[str, FactVersion] = {}
        for fact in facts:
            written[fact.id] = self._version(fact)
        events: dict[datetime, list[GivenFact]] = defaultdict(list)
        for fact in facts:
            events[self._known_from(fact)].append(fact)
        for fact in facts:
            if fact.invalid_at is not None:
                events[self._superseded_at(fact)].append(fact)
        if self._unwritten and not events:
            events[self.now - YEAR] = []
        for instant in sorted(events):
            self._fold(instant, events[instant], facts, written)
        return {name: version.fact_id for name, version in written.items()}

    def commit(self, facts: Sequence[GivenFact], at: datetime) -> dict[str, FactId]:
        """Store facts as another worker does, in one episode that ends at `at`."""
        written = {fact.id: self._version(fact) for fact in facts}
        self._write(at, tuple(v.model_copy(update={"known_from": at}) for v in written.values()))
        return {name: version.fact_id for name, version in written.items()}

    def _known_from(self, fact: GivenFact) -> datetime:
        known_from = fact.valid_from or self.now - YEAR
        return known_from if known_from < self.now - timedelta(days=1) else self.now - YEAR

    def _superseded_at(self, fact: GivenFact) -> datetime:
        latest = self.now - timedelta(hours=1)
        earliest = self._known_from(fact) + timedelta(seconds=1)
        return max(min(fact.invalid_at or latest, latest), earliest)

    def _fold(
        self,
        instant: datetime,
        facts: Sequence[GivenFact],
        all_facts: Sequence[GivenFact],
        written: dict[str, FactVersion],
    ) -> None:
        versions: list[FactVersion] = []
        closures: list[VersionClosure] = []
        for fact in facts:
            version = written[fact.id]
            if self._known_from(fact) == instant:
                versions.append(version)
                continue
            ended = self._superseded(fact, version, instant, all_facts, written)
            is_over = ended.valid_from is not None and ended.valid_from >= instant
            closures.append(
                VersionClosure(
                    fact_id=version.fact_id,
                    version=1,
                    dropped_reason=EndedReason.INVALIDATED if is_over else None,
                    dropped_for=ended.successor_id if is_over else None,
                )
            )
            if not is_over:
                versions.append(ended)
        self._write(instant, tuple(versions), tuple(closures))

    def _superseded(
        self,
        fact: GivenFact,
        version: FactVersion,
        instant: datetime,
        all_facts: Iterable[GivenFact],
        written: dict[str, FactVersion],
    ) -> FactVersion:
        heirs = [
            other
            for other in all_facts
            if other.id != fact.id
            and (other.subject, other.predicate) == (fact.subject, fact.predicate)
        ]
        heirs.sort(key=lambda other: abs((other.valid_from or instant) - instant))
        heir = written[heirs[0].id].fact_id if heirs else FactId(uuid4())
        ends = [end for end in (fact.valid_until, instant) if end is not None]
        return version.model_copy(
            update={
                "version": 2,
                "known_from": instant,
                "valid_until": min(ends),
                "ended_reason": EndedReason.SUPERSEDED,
                "successor_id": heir,
            }
        )

    def _write(
        self,
        instant: datetime,
        versions: tuple[FactVersion, ...],
        closures: tuple[VersionClosure, ...] = (),
    ) -> None:
        episode_id = self._episode(instant)
        texts = [v.statement for v in versions] + [e.name for e in self._unwritten]
        vectors = dict(zip(texts, self.workshop.embedder.embed(texts), strict=True))
        changes = ChangeSet(
            head=self.store.head(),
            episode_id=episode_id,
            known_at=instant,
            new_entities=tuple(self._unwritten),
            version_closures=closures,
            versions=tuple(v.model_copy(update={"opened_by": episode_id}) for v in versions),
            evidence=tuple(
                EvidenceRow(
                    fact_id=v.fact_id,
                    ref=f"g{i}",
                    kind="asserted",
                    evidence=None,
                    quote=v.statement,
                )
                for i, v in enumerate(versions)
                if v.version == 1
            ),
        )
        apply_changes(self.database, changes, vectors)
        self._unwritten = []

    def _episode(self, instant: datetime) -> EpisodeId:
        """An episode that ends at the instant, with a turn that says nothing."""
        conversations = ConversationStore(self.database)
        name = f"before-{instant.isoformat()}"
        thread = SourceThread(
            source_id=name,
            messages=(
                SourceMessage(source_id="m1", role=Role.ASSISTANT, text="-", said_at=instant),
            ),
        )
        conversations.import_threads(self.tenant_id, FORMAT, [thread])
        conversations.register_episodes(self.tenant_id, self.workshop.policy)
        rows = conversations.walk_episodes(self.tenant_id)
        return next(
            EpisodeId(row["episode_id"]) for row in rows if row["thread_id"] == f"{FORMAT}/{name}"
        )

    def _entity(self, name: str, type_name: str | None = None) -> Entity:
        """The stored entity of a name; a second one where the type is another."""
        known = next(
            (e for e in self.entities.values() if e.name == name and type_name in (None, e.type)),
            None,
        )
        if known is not None:
            return known
        entity = user_entity(self.tenant_id)
        if name != USER:
            kind = EntityType(type_name or EntityType.THING)
            entity_id = derive_id("entity", self.tenant_id, "given", name, kind)
            entity = Entity(entity_id=EntityId(entity_id), name=name, type=kind)
        self.entities[str(entity.entity_id)] = entity
        self._unwritten.append(entity)
        return entity

    def _version(self, fact: GivenFact) -> FactVersion:
        subject = self._entity(fact.subject)
        target = self._entity(fact.object) if fact.kind == "edge" else None
        return FactVersion(
            fact_id=FactId(derive_id("fact", self.tenant_id, "given", fact.id)),
            version=1,
            subject_id=subject.entity_id,
            predicate=fact.predicate,
            object_id=target.entity_id if target else None,
            object_text=None if target else fact.object,
            statement=f"{fact.subject} {fact.predicate} {fact.object}",
            valid_from=fact.valid_from,
            valid_until=fact.valid_until,
            known_from=self._known_from(fact),
            confidence=fact.confidence,
            memory_category=MemoryCategory.CONTEXT,
            tier=Tier.FAST,
            has_stated_start=fact.valid_from is not None,
            ended_reason=EndedReason.ENDED if fact.valid_until else None,
        )
