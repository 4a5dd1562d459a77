"""Threads, messages and episodes in PostgreSQL: the append-only source of truth.

Belongs here: bulk import, cutting stored messages into episodes, reading windows.
Does not: export formats (importers), how windows are cut (stages/windows), memory (memory_*).
"""

import os
import socket
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import uuid4

from memory_pipeline.adapters.answer_store import storable
from memory_pipeline.adapters.postgres import (
    Database,
    Row,
    execute,
    execute_many,
)
from memory_pipeline.adapters.queries import query
from memory_pipeline.adapters.source_rows import (
    AmbiguousSpeakerError,
    ImportTerms,
    ThreadRows,
    thread_rows,
)
from memory_pipeline.domain.conversation import (
    Message,
    Role,
    Skipped,
    SourceThread,
    Window,
)
from memory_pipeline.domain.ids import (
    EpisodeId,
    GenerationId,
    MessageId,
    TenantId,
    ThreadId,
    derive_id,
)
from memory_pipeline.domain.policy import Policy
from memory_pipeline.stages.windows import (
    TimedMessage,
    WindowBounds,
    cut_windows,
)

__all__ = ["AmbiguousSpeakerError", "ConversationStore", "ImportReport"]

_BATCH_MESSAGES = 5_000
# The random part tells a container from the one before it.
_WORKER = f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"
TAKEN_AT_ONCE = 32
"""Episodes leased in one statement; more would be in nobody else's reach for no gain."""


@dataclass(frozen=True)
class ImportReport:
    """What an import stored and left out."""

    threads: int
    messages: int
    episodes: int
    skipped: dict[str, int]
    late: int = 0


@dataclass
class _Batch:
    """Threads on their way into one transaction."""

    threads: list[Row] = field(default_factory=list)
    messages: list[Row] = field(default_factory=list)

    def add(self, rows: ThreadRows) -> None:
        """Take a thread in; a second piece of one thread comes behind the first."""
        if rows.messages:
            self.threads.append(rows.thread)
            place = len(self.messages)
            self.messages += [{**row, "place": place + n} for n, row in enumerate(rows.messages)]


@dataclass(frozen=True)
class Stride:
    """Episodes taken for extraction, with their windows in the same order.

    `boundary` is how many episodes the generation held where the stride began: all of them are
    shown memory as it was then (spec X2).
    """

    episodes: tuple[Row, ...]
    windows: tuple[Window, ...]
    boundary: int


class ConversationStore:
    """Reads and writes conversation history, one tenant at a time."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def import_threads(
        self,
        tenant_id: TenantId,
        fmt: str,
        threads: Iterable[SourceThread | Skipped],
        *,
        user: str | None = None,
        default_time: datetime | None = None,
    ) -> tuple[int, int, Counter[str]]:
        """Store threads and messages: (new threads, new messages, skipped by reason).

        Whole batches of threads are written in one transaction each; what is stored already is
        left alone, so an interrupted import is simply run again. Episodes are registered by
        `register_episodes` when all is stored.
        """
        terms = ImportTerms(tenant_id, fmt, user, default_time)
        skipped: Counter[str] = Counter()
        stored = [0, 0]
        batch = _Batch()
        with self._database.tenant(tenant_id) as connection:
            names = [user] if user else []
            execute(connection, "ensure_tenant", {"tenant_id": tenant_id, "user_names": names})
        for item in threads:
            if isinstance(item, Skipped):
                skipped[item.reason] += item.count
                continue
            rows = thread_rows(terms, item)
            skipped.update({"no_time": rows.without_time} if rows.without_time else {})
            batch.add(rows)
            if len(batch.messages) >= _BATCH_MESSAGES:
                self._write(tenant_id, batch, stored)
                batch = _Batch()
        self._write(tenant_id, batch, stored)
        return stored[0], stored[1], skipped

    def _write(self, tenant_id: TenantId, batch: _Batch, stored: list[int]) -> None:
        if not batch.threads:
            return
        # Imported here: polars takes a second that commands without bulk data need not spend.
        from memory_pipeline.adapters.message_frame import copy_messages, message_frame

        frame = message_frame(batch.messages)
        with self._database.tenant(tenant_id) as connection:
            execute(connection, "lock_tenant", {"tenant_id": tenant_id})
            cursor = connection.cursor()
            cursor.executemany(query("insert_threads"), batch.threads)
            stored[0] += cursor.rowcount
            execute(connection, "stage_messages")
            copy_messages(connection, frame)
            inserted = execute(connection, "insert_staged_messages", {"tenant_id": tenant_id})
            stored[1] += inserted.rowcount

    def register_episodes(self, tenant_id: TenantId, policy: Policy) -> int:
        """Cut everything not yet cut into episodes, numbered in time order; how many are new.

        A pending window that nobody has looked at grows when its thread goes on within the idle
        time, so that a history imported in pieces has the episodes of one imported whole.
        """
        with self._database.tenant(tenant_id) as connection:
            execute(connection, "lock_tenant", {"tenant_id": tenant_id})
            rows = execute(connection, "uncut_messages", {"tenant_id": tenant_id}).fetchall()
            new, grown = _cut(tenant_id, rows, policy)
            new.sort(key=lambda row: (row["ended_at"], row["thread_id"], row["first_seq"]))
            last = execute(connection, "last_ordinal", {"tenant_id": tenant_id}).fetchone()
            for ordinal, row in enumerate(new, start=(last or {"ordinal": 0})["ordinal"] + 1):
                row["ordinal"] = ordinal
            execute_many(connection, "grow_episode", grown)
            execute_many(connection, "insert_episodes", new)
            execute(connection, "set_aside_late", {"tenant_id": tenant_id})
        return len(new)

    def set_aside_late(self, tenant_id: TenantId) -> None:
        """Mark pending episodes that lie before the last folded one as late (spec J7)."""
        with self._database.tenant(tenant_id) as connection:
            execute(connection, "set_aside_late", {"tenant_id": tenant_id})

    def walk_episodes(self, tenant_id: TenantId) -> list[Row]:
        """Episodes not yet folded, in position order."""
        with self._database.tenant(tenant_id) as connection:
            return execute(connection, "walk_episodes", {"tenant_id": tenant_id}).fetchall()

    def take_strides(
        self,
        tenant_id: TenantId,
        generation_id: GenerationId,
        policy: Policy,
        ordinals: Collection[int] | None = None,
    ) -> list[Stride]:
        """The next strides' open episodes in position order, those of `ordinals` if given.

        They are leased: from here on an import opens a new window instead of growing them. An
        episode whose worker was lost, its lease over and nothing extracted, counts an attempt.
        Whole strides are taken: about `TAKEN_AT_ONCE` episodes, one stride at least.
        """
        parameters = {
            "tenant_id": tenant_id,
            "generation_id": generation_id,
            "stride": policy.context_stride,
            "count": TAKEN_AT_ONCE,
            "ordinals": None if ordinals is None else sorted(ordinals),
            "worker": _WORKER,
            "minutes": policy.lease_minutes,
        }
        with self._database.tenant_pipeline(tenant_id) as connection:
            execute(connection, "without_waiting_for_disk")
            execute(connection, "lock_tenant", {"tenant_id": tenant_id})
            taken = execute(connection, "take_episodes", parameters)
            messages = execute(connection, "messages_of_next", parameters)
            execute(connection, "analyse_grown")
        episodes = taken.fetchall()
        windows = _windows(tenant_id, episodes, messages.fetchall())
        by_boundary: dict[int, list[tuple[Row, Window]]] = defaultdict(list)
        for row, window in zip(episodes, windows, strict=True):
            by_boundary[row["boundary"]].append((row, window))
        return [
            Stride(
                episodes=tuple(row for row, _ in pairs),
                windows=tuple(window for _, window in pairs),
                boundary=boundary,
            )
            for boundary, pairs in sorted(by_boundary.items())
        ]

    def renew_leases(self, tenant_id: TenantId, policy: Policy) -> None:
        """Keep this worker's episodes for another `lease_minutes` (spec E5)."""
        with self._database.tenant_pipeline(tenant_id) as connection:
            execute(connection, "without_waiting_for_disk")
            execute(
                connection,
                "renew_leases",
                {"tenant_id": tenant_id, "worker": _WORKER, "minutes": policy.lease_minutes},
            )

    def release_leases(self, tenant_id: TenantId) -> None:
        """Give back what this worker holds and has not folded (spec E5)."""
        with self._database.tenant_pipeline(tenant_id) as connection:
            execute(connection, "without_waiting_for_disk")
            execute(connection, "release_leases", {"tenant_id": tenant_id, "worker": _WORKER})

    def windows(self, tenant_id: TenantId, episodes: Sequence[Row]) -> list[Window]:
        """The windows of some rows of `walk_episodes`, in their order, in one round trip."""
        with self._database.tenant_reads(tenant_id) as connection:
            cursor = execute(
                connection,
                "window_messages",
                {"tenant_id": tenant_id, "episode_ids": [row["episode_id"] for row in episodes]},
            )
        return _windows(tenant_id, episodes, cursor.fetchall())

    def record_failure(self, tenant_id: TenantId, episode_id: EpisodeId, error: str) -> int:
        """Count a failed extraction; how many attempts that makes."""
        with self._database.tenant(tenant_id) as connection:
            row = execute(
                connection,
                "record_failed_extraction",
                {
                    "tenant_id": tenant_id,
                    "episode_id": episode_id,
                    "error": storable(error)[:2_000],
                },
            ).fetchone()
        return int(row["extraction_attempts"]) if row else 0

    def tenant(self, tenant_id: TenantId) -> Row | None:
        """Settings and user names, None for an unknown tenant."""
        with self._database.tenant(tenant_id) as connection:
            return execute(connection, "tenant_row", {"tenant_id": tenant_id}).fetchone()

    def episodes(self, tenant_id: TenantId) -> list[Row]:
        """All episodes with their positions, in position order."""
        with self._database.tenant(tenant_id) as connection:
            return execute(connection, "list_episodes", {"tenant_id": tenant_id}).fetchall()

    def statuses(self, tenant_id: TenantId, ordinals: Collection[int]) -> dict[int, str]:
        """Extraction status by ordinal; an ordinal without an episode is missing."""
        with self._database.tenant(tenant_id) as connection:
            rows = execute(
                connection,
                "statuses_of_ordinals",
                {"tenant_id": tenant_id, "ordinals": sorted(ordinals)},
            ).fetchall()
        return {int(row["ordinal"]): row["extraction_status"] for row in rows}

    def late_count(self, tenant_id: TenantId) -> int:
        """How many episodes of the tenant are set aside as late (spec J7)."""
        with self._database.tenant(tenant_id) as connection:
            row = execute(connection, "late_count", {"tenant_id": tenant_id}).fetchone()
        return int(row["late"]) if row else 0

    def tenants(self) -> list[TenantId]:
        """Ids of all tenants."""
        with self._database.operator() as connection:
            rows = execute(connection, "all_tenants").fetchall()
        return [TenantId(row["tenant_id"]) for row in rows]

    def open_episodes_after(self, cursor: int, limit: int) -> list[Row]:
        """Pending episodes of all tenants behind a cursor of the ingest sequence."""
        with self._database.operator() as connection:
            return execute(
                connection, "open_episodes_after", {"cursor": cursor, "limit": limit}
            ).fetchall()

    def tenants_with_open_episodes(self) -> dict[TenantId, int]:
        """The most attempts any open episode has had, by tenant; failed episodes are open too."""
        with self._database.operator() as connection:
            rows = execute(connection, "tenants_with_open_episodes").fetchall()
        return {TenantId(row["tenant_id"]): int(row["extraction_attempts"]) for row in rows}

    def highest_ordinals(self) -> dict[TenantId, int]:
        """The highest ordinal of each tenant that has episodes."""
        with self._database.operator() as connection:
            rows = execute(connection, "highest_ordinals").fetchall()
        return {TenantId(row["tenant_id"]): int(row["ordinal"]) for row in rows}


def _cut(tenant_id: TenantId, rows: Sequence[Row], policy: Policy) -> tuple[list[Row], list[Row]]:
    """New and grown episodes out of uncut messages, thread by thread."""
    threads: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        threads[row["thread_id"]].append(row)
    new: list[Row] = []
    grown: list[Row] = []
    for thread_id, messages in threads.items():
        timed = [TimedMessage(m["seq"], m["said_at"], m["token_count"]) for m in messages]
        windows = cut_windows(
            timed,
            max_messages=policy.episode_max_messages,
            max_tokens=policy.episode_max_tokens,
            idle=timedelta(minutes=policy.episode_idle_minutes),
        )
        own = {m["seq"] for m in messages if m["is_own"]}
        for index, window in enumerate(windows):
            row = _episode_row(tenant_id, thread_id, window, own)
            if index == 0 and messages[0]["grows"] is not None:
                grown.append(row | {"episode_id": messages[0]["grows"]})
            else:
                new.append(row)
    return new, grown


def _episode_row(tenant_id: TenantId, thread_id: str, window: WindowBounds, own: set[int]) -> Row:
    return {
        "tenant_id": tenant_id,
        "episode_id": derive_id("episode", tenant_id, thread_id, str(window.first_seq)),
        "thread_id": thread_id,
        "first_seq": window.first_seq,
        "last_seq": window.last_seq,
        "started_at": window.started_at,
        "ended_at": window.ended_at,
        "message_count": window.message_count,
        "own_message_count": sum(window.first_seq <= seq <= window.last_seq for seq in own),
        "token_count": window.token_count,
    }


def _message(row: Row) -> Message:
    return Message(
        message_id=MessageId(row["message_id"]),
        seq=row["seq"],
        role=Role(row["role"]),
        text=row["text"],
        said_at=row["said_at"],
        speaker=row["speaker"],
        is_own=row["is_own"],
    )


def _windows(tenant_id: TenantId, episodes: Sequence[Row], messages: Sequence[Row]) -> list[Window]:
    by_episode: dict[EpisodeId, list[Message]] = defaultdict(list)
    for row in messages:
        by_episode[row["episode_id"]].append(_message(row))
    return [
        Window(
            tenant_id=tenant_id,
            episode_id=EpisodeId(row["episode_id"]),
            thread_id=ThreadId(row["thread_id"]),
            ordinal=row["ordinal"],
            started_at=row["started_at"],
            ended_at=row["ended_at"],
            messages=tuple(by_episode[row["episode_id"]]),
        )
        for row in episodes
    ]
