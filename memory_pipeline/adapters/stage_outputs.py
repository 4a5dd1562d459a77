"""What stages made of episodes, kept so that a re-run can start behind any of them.

Belongs here: writing them, many in one statement. Does not: when (memory_store, memory_writer).
"""

from collections.abc import Sequence
from typing import NamedTuple

from pydantic import BaseModel

from memory_pipeline.adapters.postgres import Row, RowConnection, execute
from memory_pipeline.domain.ids import EpisodeId


class StageRecord(NamedTuple):
    """One stage's output for an episode, with the digest of what it was made from."""

    episode_id: EpisodeId
    stage: str
    input_digest: str
    payload: BaseModel


def keep_outputs(connection: RowConnection, keys: Row, records: Sequence[StageRecord]) -> None:
    """Write the outputs; those made from the same input as what is stored change nothing."""
    if not records:
        return
    execute(
        connection,
        "upsert_stage_outputs",
        keys
        | {
            "episode_ids": [record.episode_id for record in records],
            "stages": [record.stage for record in records],
            "input_digests": [record.input_digest for record in records],
            "payloads": [record.payload.model_dump_json() for record in records],
        },
    )
