"""What memory holds, as an extraction is shown it: names and facts, the most relevant ones (X2).

Belongs here: asking for them in a pipeline and making the lists. Does not: when and for which
stride (memory_store), how they stand in a prompt (stages/transcript).
"""

from collections.abc import Sequence

from pgvector import HalfVector
from psycopg import Cursor

from memory_pipeline.adapters.postgres import Row, RowConnection, execute
from memory_pipeline.domain.conversation import Window
from memory_pipeline.domain.extraction import EntityType, KnownEntity, KnownFact, KnownLists
from memory_pipeline.domain.ids import EntityId
from memory_pipeline.domain.policy import Policy
from memory_pipeline.stages.spoken_names import spoken_names

_OWN_CHARS = 2_000


def own_words(window: Window) -> str:
    """What stands for a window where nearness counts: what the user says, cut."""
    return " ".join(m.text for m in window.own_messages())[:_OWN_CHARS] or window.thread_id


def ask_known(
    connection: RowConnection, keys: Row, window: Window, policy: Policy
) -> tuple[Cursor[Row], Cursor[Row]]:
    """All known entities and facts, or more of them than are shown, in no order."""
    asked = keys | {"at": window.started_at}
    return (
        execute(connection, "known_entities", asked | {"limit": policy.known_entities + 1}),
        execute(connection, "known_facts", asked | {"limit": policy.known_facts + 1}),
    )


def ask_relevant(
    connection: RowConnection,
    keys: Row,
    window: Window,
    vector: Sequence[float],
    limits: tuple[int | None, int | None],
) -> tuple[Cursor[Row] | None, Cursor[Row] | None]:
    """The known entities and facts that are most to a window's point; no limit, not asked."""
    asked = keys | {
        "spoken": spoken_names("\n".join(m.text for m in window.messages)),
        "at": window.started_at,
        "vector": HalfVector(list(vector)),
    }
    cursors = [
        execute(connection, name, asked | {"limit": limit, "compared": 2 * limit})
        if limit is not None
        else None
        for name, limit in zip(("relevant_entities", "relevant_facts"), limits, strict=True)
    ]
    return cursors[0], cursors[1]


def known_lists(
    entities: Sequence[Row], facts: Sequence[Row], user_names: tuple[str, ...]
) -> KnownLists:
    """Sorted, so that equal sets give equal prompts."""
    return KnownLists(
        entities=tuple(
            sorted(map(_known_entity, entities), key=lambda e: (e.name, str(e.entity_id)))
        ),
        facts=tuple(
            sorted(
                (KnownFact.model_validate(row) for row in facts),
                key=lambda f: (f.subject, f.predicate, f.object, str(f.fact_id)),
            )
        ),
        user_names=user_names,
    )


def _known_entity(row: Row) -> KnownEntity:
    return KnownEntity(
        entity_id=EntityId(row["entity_id"]),
        name=row["name"],
        type=EntityType(row["type"]),
        aliases=tuple(row["aliases"]),
    )
