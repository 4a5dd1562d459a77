"""The append-only history: what an import stores, how it is cut, numbered and set aside."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

import pytest

from memory_pipeline.adapters.conversation_store import AmbiguousSpeakerError, ConversationStore
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.domain.conversation import Role, SourceMessage, SourceThread
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.domain.policy import Policy
from memory_pipeline_tests.scripted import (
    DAY,
    START,
    TENANT,
    ScriptedExtractor,
    fold_all,
    import_history,
    remember,
    scalar,
    scripted_workshop,
    thread,
)

MINUTE = timedelta(minutes=1)


@pytest.fixture
def store(database: Database) -> ConversationStore:
    return ConversationStore(database)


def cut(store: ConversationStore, tenant_id: TenantId = TENANT) -> list[dict[str, Any]]:
    keys = ("ordinal", "position", "thread_id", "first_seq", "last_seq", "extraction_status")
    return [{key: row[key] for key in keys} for row in store.episodes(tenant_id)]


def chat(count: int, step: timedelta = MINUTE, name: str = "chat") -> SourceThread:
    return thread(name, *((f"line {n}", START + n * step) for n in range(1, count + 1)))


def upto(source: SourceThread, first: int, last: int) -> SourceThread:
    return source.model_copy(update={"messages": source.messages[first - 1 : last]})


def test_importing_a_history_again_adds_nothing(
    database: Database, store: ConversationStore
) -> None:
    history = [chat(5), chat(3, 2 * DAY, "slow")]
    assert import_history(database, history) == 4
    before = cut(store)
    assert store.import_threads(TENANT, "test", history)[:2] == (0, 0)
    assert store.register_episodes(TENANT, Policy()) == 0
    assert cut(store) == before


def test_a_window_that_does_not_grow_stays_behind_the_sensors_cursor(
    database: Database, database_url: str
) -> None:
    import_history(database, [chat(5)])
    first = "select ingest_seq from memory.episodes where ordinal = 1"
    before = scalar(database_url, first)
    later = thread("chat", *((m.text, m.said_at) for m in chat(5).messages), ("x", START + DAY))
    assert import_history(database, [later]) == 1
    assert scalar(database_url, first) == before


def test_ten_pieces_of_a_history_give_the_episodes_of_one_import(
    database: Database, store: ConversationStore
) -> None:
    whole = thread(
        "chat",
        *((f"line {n}", START + n * MINUTE + (n // 7) * DAY) for n in range(1, 31)),
    )
    import_history(database, [whole])
    for first in range(1, 31, 3):
        import_history(database, [upto(whole, first, first + 2)], TenantId("pieces"))
    assert cut(store, TenantId("pieces")) == cut(store)
    assert len(cut(store)) == 5


def test_pieces_of_one_thread_in_one_import_stand_one_behind_the_other(
    database: Database, store: ConversationStore
) -> None:
    import_history(database, [upto(chat(6), first, first + 1) for first in (1, 3, 5)])
    (window,) = store.windows(TENANT, store.walk_episodes(TENANT))
    assert [m.text for m in window.messages] == [f"line {n}" for n in range(1, 7)]


def test_an_export_that_grew_is_cut_as_if_it_had_come_at_once(
    database: Database, store: ConversationStore
) -> None:
    policy = Policy(episode_max_messages=4)
    import_history(database, [chat(14)], policy=policy)
    for last in (1, 3, 5, 10, 14):
        import_history(database, [upto(chat(14), 1, last)], TenantId("pieces"), policy)
    assert cut(store, TenantId("pieces")) == cut(store)
    assert [row["last_seq"] for row in cut(store)] == [4, 8, 12, 14]


def test_a_pending_window_grows_and_keeps_its_ordinal(
    database: Database, store: ConversationStore
) -> None:
    import_history(database, [upto(chat(5), 1, 3), thread("other", ("hello there", START + DAY))])
    import_history(database, [chat(5)])
    assert [(row["ordinal"], row["last_seq"]) for row in cut(store)] == [(1, 5), (2, 1)]


def test_a_window_that_a_walk_has_taken_does_not_grow(
    database: Database, store: ConversationStore
) -> None:
    import_history(database, [upto(chat(5), 1, 3)])
    workshop = scripted_workshop(database, ScriptedExtractor())
    from memory_pipeline.adapters.tenant_walk import TenantWalk

    walk = TenantWalk(workshop, TENANT).walk()
    assert next(walk).ordinal == 1
    import_history(database, [chat(5)])
    assert [(row["first_seq"], row["last_seq"]) for row in cut(store)] == [(1, 3), (4, 5)]


def test_j7_what_comes_after_the_fold_passed_it_is_late_and_numbered_last(
    database: Database, store: ConversationStore, database_url: str
) -> None:
    remember(database, "likes: tea", "likes: coffee")
    import_history(database, [thread("early", ("likes: milk", START + DAY * 1.5))])
    assert [(row["ordinal"], row["extraction_status"]) for row in cut(store)] == [
        (1, "done"),
        (3, "late"),
        (2, "done"),
    ]
    tenant = store.tenant(TENANT)
    assert tenant is not None
    assert tenant["stale_from"] == START + DAY * 1.5
    assert fold_all(scripted_workshop(database, ScriptedExtractor())) == []
    assert scalar(database_url, "select count(*) from memory.folds") == 2


def test_j7_stale_from_keeps_the_earliest_late_episode(
    database: Database, store: ConversationStore
) -> None:
    remember(database, "likes: tea", "likes: coffee")
    for name, days in (("a", 1.5), ("b", 1.2), ("c", 1.7)):
        import_history(database, [thread(name, ("likes: milk", START + DAY * days))])
    tenant = store.tenant(TENANT)
    assert tenant is not None
    assert tenant["stale_from"] == START + DAY * 1.2


def test_ordinals_of_one_import_follow_time_over_interleaved_threads(
    database: Database, store: ConversationStore
) -> None:
    threads = [
        thread(name, *((f"{name} {n}", START + (3 * n + offset) * DAY) for n in range(4)))
        for offset, name in enumerate(("one", "two", "three"))
    ]
    import_history(database, reversed(threads))
    rows = cut(store)
    assert [row["ordinal"] for row in rows] == list(range(1, 13))
    assert [row["position"] for row in rows] == list(range(1, 13))
    assert [row["thread_id"] for row in rows] == ["test/one", "test/two", "test/three"] * 4


def test_positions_of_one_instant_sort_by_code_point(
    database: Database, store: ConversationStore
) -> None:
    names = ["a-b", "B", "aC", "a_c", "Ä", "a"]
    import_history(database, [thread(name, ("hello there", START)) for name in names])
    rows = cut(store)
    assert [row["thread_id"] for row in rows] == sorted(f"test/{name}" for name in names)
    assert [row["ordinal"] for row in rows] == [row["position"] for row in rows]


def test_positions_do_not_depend_on_the_language_of_the_database(database_url: str) -> None:
    others = (
        "select count(*) from pg_attribute a join pg_class c on c.oid = a.attrelid"
        " where c.relnamespace = 'memory'::regnamespace and c.relkind = 'r'"
        " and a.attname = any(%s) and a.attcollation <> '\"C\"'::regcollation"
    )
    assert scalar(database_url, others, [["thread_id", "folded_thread_id"]]) == 0


def test_messages_without_any_time_are_skipped_unless_a_date_is_given(
    store: ConversationStore,
) -> None:
    timeless = thread("old", ("hello there", None), ("and more", None))
    assert store.import_threads(TENANT, "test", [timeless]) == (0, 0, {"no_time": 2})
    threads, messages, skipped = store.import_threads(
        TENANT, "test", [timeless], default_time=START
    )
    assert (threads, messages, dict(skipped)) == (1, 2, {})
    store.register_episodes(TENANT, Policy())
    (episode,) = store.episodes(TENANT)
    assert (episode["started_at"], episode["ended_at"]) == (
        START,
        START + timedelta(milliseconds=1),
    )


def test_a_conversations_own_time_stands_in_for_its_messages(store: ConversationStore) -> None:
    untimed = thread("a", ("one", None), ("two", None)).model_copy(update={"started_at": START})
    store.import_threads(TENANT, "test", [untimed], default_time=START + DAY)
    store.register_episodes(TENANT, Policy())
    assert store.episodes(TENANT)[0]["started_at"] == START


def test_a_clock_that_jumps_back_closes_the_window_and_keeps_the_order(
    database: Database, store: ConversationStore
) -> None:
    times = (START, START + MINUTE, START - DAY, START - DAY + MINUTE, START + 2 * MINUTE)
    import_history(database, [thread("chat", *((f"line {n}", t) for n, t in enumerate(times)))])
    rows = cut(store)
    assert [(r["first_seq"], r["last_seq"], r["position"]) for r in rows] == [
        (3, 4, 1),
        (1, 2, 2),
        (5, 5, 3),
    ]
    assert [row["ordinal"] for row in rows] == [1, 2, 3]


def test_text_of_any_script_is_stored_as_it_is(
    database: Database, store: ConversationStore
) -> None:
    text = "tab\tline\nquote ' \\ 雪 🧊 \u202eabc \x01"
    import_history(database, [thread("chat", (text, START))])
    (window,) = store.windows(TENANT, store.walk_episodes(TENANT))
    assert window.messages[0].text == text


def test_control_characters_of_a_title_do_not_reach_the_database(
    store: ConversationStore, database_url: str
) -> None:
    titled = chat(1).model_copy(update={"title": " a\x00b\n\nc" + "x" * 500})
    store.import_threads(TENANT, "test", [titled])
    title = scalar(database_url, "select title from memory.threads")
    assert isinstance(title, str)
    assert title.startswith("a b cxxx")
    assert len(title) == 200


def test_ten_thousand_messages_come_in_through_copy(
    database: Database, store: ConversationStore, database_url: str
) -> None:
    history = [chat(500, name=f"thread-{n:02d}") for n in range(20)]
    assert store.import_threads(TENANT, "test", history)[:2] == (20, 10_000)
    assert store.register_episodes(TENANT, Policy()) == 100
    assert scalar(database_url, "select count(*) from memory.messages") == 10_000


def test_an_interrupted_import_leaves_whole_batches_and_completes_when_run_again(
    store: ConversationStore, database_url: str
) -> None:
    history = [chat(2_000, name=f"thread-{n}") for n in range(6)]

    def broken() -> Iterator[SourceThread]:
        yield from history[:5]
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        store.import_threads(TENANT, "test", broken())
    assert scalar(database_url, "select count(*) from memory.messages") == 6_000
    assert store.import_threads(TENANT, "test", history)[:2] == (3, 6_000)
    assert store.register_episodes(TENANT, Policy()) == 120


def speakers(*names: str) -> SourceThread:
    return SourceThread(
        source_id="talk",
        messages=tuple(
            SourceMessage(
                source_id=str(n), role=Role.USER, text="hello", said_at=START, speaker=name
            )
            for n, name in enumerate(names)
        ),
    )


def test_several_speakers_without_a_user_are_refused(store: ConversationStore) -> None:
    with pytest.raises(AmbiguousSpeakerError, match=r"Ann, Bob.*--user"):
        store.import_threads(TENANT, "test", [speakers("Ann", "Bob")])


@pytest.mark.parametrize(
    ("names", "user", "own"),
    [(("Ann", "Bob"), "ann", 1), (("Ann", "Ann"), None, 2), (("Ann", "Bob"), "Carl", 0)],
)
def test_own_messages_are_those_of_the_user(
    store: ConversationStore, names: tuple[str, ...], user: str | None, own: int
) -> None:
    store.import_threads(TENANT, "test", [speakers(*names)], user=user)
    store.register_episodes(TENANT, Policy())
    assert store.episodes(TENANT)[0]["own_message_count"] == own


def test_names_of_the_user_add_up_over_imports(store: ConversationStore) -> None:
    for name in ("Ann", "Annie", "Ann"):
        store.import_threads(TENANT, "test", [], user=name)
    tenant = store.tenant(TENANT)
    assert tenant is not None
    assert tenant["user_names"] == ["Ann", "Annie"]


def test_four_imports_at_once_give_every_episode_a_number_of_its_own(
    database: Database, store: ConversationStore
) -> None:
    def import_one(number: int) -> None:
        threads = [thread(f"{number}-{n}", ("hello there", _instant(number, n))) for n in range(25)]
        threads.append(chat(8))
        import_history(database, threads)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(import_one, range(4)))
    rows = cut(store)
    assert sorted(row["ordinal"] for row in rows) == list(range(1, 102))


def _instant(number: int, step: int) -> datetime:
    return START + (number + 4 * step) * DAY
