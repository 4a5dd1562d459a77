"""Messages in bulk: a polars frame with a declared schema, and its way into PostgreSQL.

Belongs here: the frame and its binary COPY. Does not: where the rows come from and what becomes
of the staged ones (conversation_store).
"""

from collections.abc import Sequence
from uuid import UUID

import polars as pl

from memory_pipeline.adapters.postgres import Row, RowConnection
from memory_pipeline.adapters.queries import query

_FRAME_SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "thread_id": pl.String,
    "message_id": pl.String,
    "source_id": pl.String,
    "role": pl.String,
    "speaker": pl.String,
    "is_own": pl.Boolean,
    "text": pl.String,
    "said_at": pl.Datetime("us", "UTC"),
    "token_count": pl.Int32,
    "place": pl.Int32,
}
_COPY_TYPES = [
    "text", "uuid", "text", "text", "text", "bool", "text", "timestamptz", "int4", "int4",
]  # fmt: skip


def message_frame(rows: Sequence[Row]) -> pl.DataFrame:
    """Rows of messages as a frame; raises when one does not fit the schema."""
    return pl.DataFrame(rows, schema=_FRAME_SCHEMA)


def copy_messages(connection: RowConnection, frame: pl.DataFrame) -> None:
    """Copy a frame into the staging table of this transaction."""
    with connection.cursor().copy(query("copy_messages")) as copy:
        copy.set_types(_COPY_TYPES)
        for thread_id, message_id, *rest in frame.iter_rows():
            copy.write_row((thread_id, UUID(message_id), *rest))
