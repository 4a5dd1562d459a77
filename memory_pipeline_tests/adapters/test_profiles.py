"""The calls of profiles over HTTP and in many tenants (spec P4, X13): one, dirty ones, all.

Belongs here: `build_profile`, `refresh_dirty_profiles`, `refresh_all_profiles` as configured. Does
not: what becomes of each entity (test_profile_builder).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from memory_pipeline.adapters import environment, workshop
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.adapters.profile_store import due_tenants, tenants_with_memory
from memory_pipeline.adapters.profiles import (
    NoProfileError,
    ProfileFailedError,
    build_profile,
    refresh_all_profiles,
    refresh_dirty_profiles,
)
from memory_pipeline.domain.ids import EntityId, TenantId
from memory_pipeline.domain.model import BudgetExhaustedError, ModelUnavailableError
from memory_pipeline_tests.adapters.models.endpoints import endpoint_of
from memory_pipeline_tests.adapters.profile_walks import (
    bump,
    bumps,
    entity_id,
    let_time_pass,
    rows,
    texts,
)
from memory_pipeline_tests.defs.model_walks import EMBEDDER, AimedServer, chats, configure, spoken
from memory_pipeline_tests.scripted import TENANT, remember
from memory_pipeline_tests.scripted_server import Fault, FaultKind

NEIGHBOUR = TenantId("acme/user_2")


@pytest.fixture
def database(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    monkeypatch.setenv(environment.EMBEDDING_MODEL, EMBEDDER)
    database = Database(database_url, max_connections=8)
    yield database
    database.close()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[AimedServer]:
    with AimedServer(spoken) as server:
        configure(monkeypatch, server, strong=False)
        monkeypatch.setattr(workshop, "_endpoint", lambda: endpoint_of(server))
        yield server


def about(name: str, kind: FaultKind) -> Any:
    """An aim at requests about one entity."""

    def aim(body: dict[str, Any]) -> Fault | None:
        is_meant = f"Entity: {name} (" in str(body["messages"][-1]["content"])
        return Fault(kind, times=None) if is_meant else None

    return aim


def test_dirty_profiles_of_several_tenants_are_refreshed_with_one_report_each(
    database: Database, database_url: str, server: AimedServer
) -> None:
    remember(database, "likes: tea")
    remember(database, "likes: gin; likes: rum", tenant_id=NEIGHBOUR)
    reports = list(refresh_dirty_profiles(database, due_tenants(database, 10)))
    assert [(r.tenant_id, len(r.written), r.calls.misses) for r in reports] == [
        (TENANT, 2, 2),
        (NEIGHBOUR, 3, 3),
    ]
    assert texts(database_url, NEIGHBOUR)["gin"] == "User likes gin."
    assert due_tenants(database, 10) == {}


def test_one_call_takes_one_batch_of_each_tenant_unless_it_is_to_be_exhaustive(
    database: Database, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORY_SETTING_PROFILE_BATCH_SIZE", "2")
    remember(database, "likes: tea; likes: jazz; likes: beer; likes: milk")
    assert [len(r.written) for r in refresh_dirty_profiles(database, [TENANT])] == [2]
    rest = refresh_dirty_profiles(database, [TENANT], is_exhaustive=True)
    assert [len(r.written) for r in rest] == [2, 1]


def test_settings_of_a_tenant_count_and_refused_ones_stop_only_that_tenant(
    database: Database, database_url: str
) -> None:
    remember(database, "likes: tea")
    remember(database, "likes: gin", tenant_id=NEIGHBOUR)
    rows(
        database_url,
        """update memory.tenants set settings = '{"profile_chars": 5}' where tenant_id = %s""",
        [TENANT],
    )
    reports = list(refresh_dirty_profiles(database, [TENANT, NEIGHBOUR]))
    assert "profile_chars" in reports[0].problem
    assert len(reports[1].written) == 2
    assert bumps(database_url) == {"tea": 1, "user": 1}


@pytest.mark.parametrize(
    "kind", [FaultKind.GARBAGE, FaultKind.REFUSAL, FaultKind.NOTHING, FaultKind.TOO_LONG]
)
def test_an_entity_that_spoils_every_answer_fails_alone(
    database: Database, database_url: str, server: AimedServer, kind: FaultKind
) -> None:
    remember(database, "likes: tea; likes: jazz")
    server.aim = about("tea", kind)
    (report,) = refresh_dirty_profiles(database, [TENANT])
    assert ([name for name, _ in report.failures], report.waiting) == (["tea"], 0)
    assert set(texts(database_url)) == {"jazz", "user"}


def test_an_answer_cut_off_by_its_length_keeps_its_whole_sentences(
    database: Database, database_url: str, server: AimedServer
) -> None:
    remember(database, "likes: tea; likes: jazz; likes: beer; likes: milk")
    server.aim = about("user", FaultKind.CUT_ANSWER)
    list(refresh_dirty_profiles(database, [TENANT]))
    assert texts(database_url)["user"].startswith("User likes beer.")


def test_an_outage_leaves_everything_due_and_counts_nothing(
    database: Database, database_url: str, server: AimedServer
) -> None:
    remember(database, "likes: tea; likes: jazz")
    server.faults.add(Fault(FaultKind.SERVER_ERROR, times=None, path="/chat/completions"))
    (report,) = refresh_dirty_profiles(database, [TENANT])
    assert (report.waiting, report.failures) == (3, ())
    assert report.problem
    assert rows(database_url, "select distinct attempts from memory.dirty_entities") == [(0,)]


def test_a_full_refresh_that_is_stopped_keeps_what_it_has_done(
    database: Database,
    database_url: str,
    server: AimedServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MEMORY_SETTING_PROFILE_BATCH_SIZE", "2")
    monkeypatch.setenv("MEMORY_SETTING_PROFILE_BUILD_CONCURRENCY", "1")
    remember(database, "likes: tea; likes: jazz; likes: beer; likes: milk")
    server.aim = about("milk", FaultKind.QUOTA)
    with pytest.raises(BudgetExhaustedError):
        list(refresh_all_profiles(database, [TENANT]))
    done, asked = texts(database_url), len(chats(server))
    server.aim = lambda _body: None
    list(refresh_all_profiles(database, [TENANT]))
    assert done.items() <= texts(database_url).items()
    assert len(texts(database_url)) == 5
    # Each was asked about once, the refused one twice.
    assert len(chats(server)) == 6
    assert asked >= 1


def test_a_full_refresh_goes_on_when_one_entity_fails(
    database: Database, database_url: str, server: AimedServer
) -> None:
    remember(database, "likes: tea; likes: jazz")
    remember(database, "likes: gin", tenant_id=NEIGHBOUR)
    server.aim = about("tea", FaultKind.GARBAGE)
    reports = list(refresh_all_profiles(database, tenants_with_memory(database)))
    assert [(len(r.written), len(r.failures)) for r in reports] == [(2, 1), (2, 0)]


def test_a_full_refresh_of_unchanged_memory_makes_no_call(
    database: Database, database_url: str, server: AimedServer
) -> None:
    remember(database, "likes: tea; likes: jazz")
    list(refresh_all_profiles(database, [TENANT]))
    asked = len(server.requests)
    (report,) = refresh_all_profiles(database, [TENANT])
    assert (report.kept, len(server.requests)) == (3, asked)


def test_one_profile_is_built_at_once_whatever_waits(
    database: Database, database_url: str, server: AimedServer
) -> None:
    remember(database, "likes: tea; likes: jazz")
    report = build_profile(database, TENANT, entity_id(database_url, "tea"))
    assert [profile.text for profile in report.written] == ["User likes tea."]
    assert bumps(database_url) == {"jazz": 1, "user": 1}
    assert build_profile(database, TENANT, entity_id(database_url, "tea")).kept == 1
    assert len(chats(server)) == 1


def test_nothing_visible_is_an_error_and_retires_the_profile(
    database: Database, database_url: str
) -> None:
    remember(database, "likes: tea")
    tea = entity_id(database_url, "tea")
    build_profile(database, TENANT, tea)
    rows(database_url, "update memory.facts set valid_time = '[2020-01-01,2021-01-01)'")
    with pytest.raises(NoProfileError, match="tea"):
        build_profile(database, TENANT, tea)
    assert texts(database_url) == {}
    with pytest.raises(NoProfileError):
        build_profile(database, TENANT, EntityId(UUID(int=7)))


def test_a_held_entity_can_be_built_by_hand_and_a_failure_by_hand_counts(
    database: Database,
    database_url: str,
    server: AimedServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MEMORY_SETTING_PROFILE_ATTEMPTS", "2")
    remember(database, "likes: tea")
    tea = entity_id(database_url, "tea")
    server.aim = about("tea", FaultKind.GARBAGE)
    for _ in range(3):
        with pytest.raises(ProfileFailedError):
            build_profile(database, TENANT, tea)
    held = rows(database_url, "select attempts, held_at is not null from memory.dirty_entities"
                " where attempts > 0")  # fmt: skip
    assert held == [(3, True)]
    # Each try is a new question and its repair.
    assert len(chats(server)) == 6
    server.aim = lambda _body: None
    assert len(build_profile(database, TENANT, tea).written) == 1
    bump(database_url, "tea")
    assert due_tenants(database, 10) == {TENANT: 2}


def test_an_outage_during_a_build_by_hand_is_told(
    database: Database, database_url: str, server: AimedServer
) -> None:
    remember(database, "likes: tea")
    server.aim = about("tea", FaultKind.SERVER_ERROR)
    with pytest.raises(ModelUnavailableError):
        build_profile(database, TENANT, entity_id(database_url, "tea"))
    let_time_pass(database_url)
    assert due_tenants(database, 10) == {TENANT: 2}


def test_a_little_tenant_costs_five_round_trips(
    database: Database, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tenants = [TenantId(f"tenant{n}") for n in range(12)]
    for tenant_id in tenants:
        remember(database, "likes: tea", tenant_id=tenant_id)
    round_trips: list[str] = []
    pool = database._pool()
    original = pool.connection

    def count(*args: Any, **options: Any) -> Any:
        round_trips.append("connection")
        return original(*args, **options)

    monkeypatch.setattr(pool, "connection", count)
    assert len(list(refresh_dirty_profiles(database, tenants))) == 12
    # Settings, width of vectors, claim, groundings, store.
    assert len(round_trips) == 5 * 12


def test_the_prompt_of_a_profile_holds_no_secret_and_is_stored_by_content(
    database: Database, database_url: str, server: AimedServer
) -> None:
    remember(database, "likes: tea")
    list(refresh_dirty_profiles(database, [TENANT]))
    stored = rows(
        database_url,
        "select a.request_digest, a.request from memory.model_answers a join memory.profiles p"
        " using (tenant_id, request_digest)",
    )
    assert len(stored) == 2
    secrets = rows(database_url, "select replace(secret::text, '-', '') from memory.tenants")
    assert all(secret not in json.dumps(request) for _, request in stored for (secret,) in secrets)
