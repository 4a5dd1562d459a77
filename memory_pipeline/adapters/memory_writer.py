"""The one function that changes facts: a change set, in one transaction, all or nothing.

Belongs here: spec W1, W2, W4, W5 as statements in one pipeline. Does not: deciding anything
(domain/plan) and asking for another plan (the IO manager does).
"""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import psycopg
from pgvector import HalfVector
from psycopg.types.json import Jsonb

from memory_pipeline.adapters.generation_store import STALE_PLAN
from memory_pipeline.adapters.postgres import (
    Database,
    Row,
    RowConnection,
    execute,
    execute_many,
)
from memory_pipeline.adapters.stage_outputs import StageRecord, keep_outputs
from memory_pipeline.domain.changes import ChangeSet
from memory_pipeline.domain.fact import FactVersion
from memory_pipeline.domain.ids import derive_id
from memory_pipeline.stages.walk import StalePlanError

__all__ = [
    "AlreadyFoldedError",
    "LostVersionError",
    "OutOfOrderError",
    "StalePlanError",
    "apply_changes",
]

_OUT_OF_ORDER = "MP002"
_ALREADY_FOLDED = "MP003"

_EPISODE_STATUS = {"folded": "done", "given_up": "given_up", "skipped": "skipped"}


class OutOfOrderError(RuntimeError):
    """The episode's turn has passed or not yet come; nothing was written."""


class AlreadyFoldedError(OutOfOrderError):
    """The generation holds the episode: another process was faster, or it is a replay."""


class LostVersionError(RuntimeError):
    """A change of a believed fact has no room beside what memory holds; nothing was written."""


_REFUSALS: dict[str, type[RuntimeError]] = {
    STALE_PLAN: StalePlanError,
    _OUT_OF_ORDER: OutOfOrderError,
    _ALREADY_FOLDED: AlreadyFoldedError,
}


def apply_changes(
    database: Database,
    changes: ChangeSet,
    vectors: Mapping[str, Sequence[float]],
    stage_records: Sequence[StageRecord] = (),
    counts: Mapping[str, Any] | None = None,
) -> None:
    """Apply one episode's changes in one transaction and one round trip.

    `vectors` maps statements of new facts and names of new entities to unit vectors. Raises
    `StalePlanError` when the generation moved since the plan, `OutOfOrderError` when the episode
    is not the next one, its subclass `AlreadyFoldedError` when the generation has it,
    `LostVersionError` when a changed fact would get lost; in all cases, as after any crash,
    nothing is written. A new fact that memory holds already ends as `race` on that one (W2).
    """
    head = changes.head
    keys: Row = {
        "tenant_id": head.tenant_id,
        "generation_id": head.generation_id,
        "episode_id": changes.episode_id,
        "opened_by": changes.episode_id,
        "known_at": changes.known_at,
    }
    try:
        with database.tenant_pipeline(head.tenant_id, is_fold=True) as connection:
            execute(connection, "claim_version", keys | {"version": head.version})
            _write_entities(connection, changes, keys, vectors)
            _write_facts(connection, changes, keys, vectors)
            _write_evidence(connection, changes, keys)
            _write_accounts(connection, changes, keys)
            _yield_to_twins(connection, changes, keys)
            _write_judgements(connection, changes, keys)
            _write_remarks(connection, changes, keys)
            keep_outputs(connection, keys, stage_records)
            _write_status(connection, changes, keys, counts or {})
    except psycopg.Error as error:
        refusal = _refusal(error, changes)
        if refusal is None:
            raise
        raise refusal from error


def _refusal(error: psycopg.Error, changes: ChangeSet) -> RuntimeError | None:
    """What an error of the server means here; None for one that stands for itself."""
    message = str(error).strip().splitlines()[0] if str(error) else "refused"
    kind = _REFUSALS.get(error.sqlstate or "")
    if kind is not None:
        return kind(message)
    if isinstance(error, psycopg.errors.UniqueViolation) and error.diag.table_name == "facts":
        return LostVersionError(
            f"episode {changes.episode_id} changes a fact that has no room: {message} "
            f"({error.diag.message_detail}). Nothing was written"
        )
    return None


def _execute_for_all(connection: RowConnection, name: str, keys: Row, rows: Sequence[Row]) -> None:
    """Run a statement once for all rows, which go as one document: messages cost more than rows."""
    if rows:
        execute(connection, name, keys | {"rows": Jsonb(rows, dumps=_dumps)})


_dumps = partial(json.dumps, default=str)
"""JSON in which ids are text, as PostgreSQL reads them."""


def _vector(vectors: Mapping[str, Sequence[float]], text: str) -> HalfVector | None:
    vector = vectors.get(text)
    return HalfVector(list(vector)) if vector is not None else None


def _write_entities(
    connection: RowConnection,
    changes: ChangeSet,
    keys: Row,
    vectors: Mapping[str, Sequence[float]],
) -> None:
    execute_many(
        connection,
        "insert_entity",
        [
            keys
            | {
                "entity_id": e.entity_id,
                "name": e.name,
                "type": e.type.value,
                "memory_category": e.memory_category.value,
                "embedding": _vector(vectors, e.name),
            }
            for e in changes.new_entities
        ],
    )
    execute_many(
        connection,
        "insert_alias",
        [
            keys | {"alias": a.alias, "entity_id": a.entity_id, "reason": a.reason.value}
            for a in changes.new_aliases
        ],
    )
    if changes.linked_entities:
        execute(connection, "touch_entity", keys | {"entity_ids": list(changes.linked_entities)})
    if changes.dirty_entities:
        execute(connection, "bump_dirty", keys | {"entity_ids": list(changes.dirty_entities)})


def _write_facts(
    connection: RowConnection,
    changes: ChangeSet,
    keys: Row,
    vectors: Mapping[str, Sequence[float]],
) -> None:
    execute_many(
        connection,
        "close_version",
        [
            keys
            | {
                "fact_id": c.fact_id,
                "version": c.version,
                "dropped_reason": c.dropped_reason.value if c.dropped_reason else None,
                "dropped_for": c.dropped_for,
            }
            for c in changes.version_closures
        ],
    )
    rows = [
        keys | _version_row(v) | {"recipe_id": changes.head.recipe_id} for v in changes.versions
    ]
    execute_many(
        connection,
        "insert_fact",
        [r | {"embedding": _vector(vectors, r["statement"])} for r in rows if r["version"] == 1],
    )
    execute_many(connection, "insert_version", [r for r in rows if r["version"] > 1])
    said = sorted({r["statement"] for r in rows if r["version"] == 1})
    if said:
        execute(connection, "note_contents", keys | {"statements": said})


def _write_evidence(connection: RowConnection, changes: ChangeSet, keys: Row) -> None:
    _execute_for_all(
        connection,
        "insert_evidence",
        keys,
        [
            {
                "fact_id": row.fact_id,
                "claim_ref": row.ref,
                "kind": row.kind,
                "message_id": row.evidence.message_id if row.evidence else None,
                "span_start": row.evidence.span_start if row.evidence else None,
                "span_end": row.evidence.span_end if row.evidence else None,
                "quote": row.quote,
            }
            for row in changes.evidence
        ],
    )


def _version_row(version: FactVersion) -> Row:
    row = version.model_dump(
        include={
            "fact_id",
            "version",
            "subject_id",
            "predicate",
            "object_id",
            "object_text",
            "statement",
            "valid_from",
            "valid_until",
            "known_from",
            "confidence",
            "opened_by",
            "ended_by",
            "successor_id",
        }
    )
    return row | {
        "memory_category": version.memory_category.value,
        "tier": version.tier.value,
        "ended_reason": version.ended_reason.value if version.ended_reason else None,
        "attributes": Jsonb({"has_stated_start": True} if version.has_stated_start else {}),
    }


def _write_accounts(connection: RowConnection, changes: ChangeSet, keys: Row) -> None:
    _execute_for_all(
        connection,
        "insert_outcome",
        keys,
        [
            {
                "ref": final.outcome.ref,
                "outcome": final.outcome.outcome.value,
                "subject": final.outcome.subject,
                "predicate": final.outcome.predicate,
                "object": final.outcome.object,
                "detail": final.outcome.detail,
                "fact_id": final.fact_id,
                "message_id": final.outcome.message_id,
                "quote": final.outcome.quote,
            }
            for final in changes.outcomes
        ],
    )
    _execute_for_all(
        connection,
        "insert_message_outcome",
        keys,
        [{"message_id": n.message_id, "reason": n.reason} for n in changes.nothing_said],
    )


def _yield_to_twins(connection: RowConnection, changes: ChangeSet, keys: Row) -> None:
    """Settle what the backstop kept out: only open-ended new facts can have a believed twin."""
    new = [v for v in changes.versions if v.version == 1 and v.valid_until is None]
    if not new:
        return
    changed = {v.fact_id for v in changes.versions} | {c.fact_id for c in changes.version_closures}
    execute(
        connection,
        "yield_to_twins",
        keys
        | {
            "fact_ids": [v.fact_id for v in new],
            "subject_ids": [v.subject_id for v in new],
            "predicates": [v.predicate for v in new],
            "objects": [v.object_id for v in new],
            "texts": [v.object_text for v in new],
            "statements": [v.statement for v in new],
            "changed_ids": sorted(changed, key=str),
        },
    )


def _write_judgements(connection: RowConnection, changes: ChangeSet, keys: Row) -> None:
    _execute_for_all(
        connection,
        "insert_judgement",
        keys,
        [
            {
                "claim_ref": j.ref,
                "fact_id": j.fact_id,
                "judge": j.judge,
                "verdict": j.verdict.value,
                "is_correction": j.is_correction,
                "reason": j.reason,
                "why": j.pair_reason.value,
            }
            for j in changes.judgements
        ],
    )


def _write_remarks(connection: RowConnection, changes: ChangeSet, keys: Row) -> None:
    tenant = changes.head.tenant_id
    instructions = [
        keys
        | {
            "instruction_id": derive_id("instruction", tenant, i.label.casefold()),
            "label": i.label,
            "description": i.description,
            "is_active": i.is_active,
            "message_id": i.message_id,
        }
        for i in changes.instructions
    ]
    execute_many(connection, "close_instruction", instructions)
    execute_many(connection, "insert_instruction", instructions)
    execute_many(
        connection,
        "insert_uncertainty",
        [
            keys
            | {
                "uncertainty_id": derive_id(
                    "uncertainty", tenant, str(changes.episode_id), str(index), u.about
                ),
                **u.model_dump(),
            }
            for index, u in enumerate(changes.uncertainties)
        ],
    )
    if changes.resolved_slots:
        subjects, predicates = zip(*changes.resolved_slots, strict=True)
        slots = {"subjects": list(subjects), "predicates": list(predicates)}
        execute(connection, "resolve_uncertainties", keys | slots)


def _write_status(
    connection: RowConnection, changes: ChangeSet, keys: Row, counts: Mapping[str, Any]
) -> None:
    execute(
        connection,
        "insert_fold",
        keys
        | {
            "fold_number": changes.head.folded_count + 1,
            "status": changes.status,
            "recipe_id": changes.head.recipe_id,
            "counts": Jsonb(dict(counts)),
        },
    )
    execute(
        connection,
        "finish_episode",
        keys | {"extraction_status": _EPISODE_STATUS[changes.status]},
    )
