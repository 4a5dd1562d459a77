"""Verdicts on single pairs on a real database, given by a model over real HTTP (spec J2, G1).

Belongs here: what is found again, who wins, what a replay sees. Does not: reading of answers,
which failures keep nothing (stages/test_model_judge).
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import count
from uuid import UUID

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory_pipeline.adapters.answer_store import AnswerStore
from memory_pipeline.adapters.openai_models import OpenAiChatModel
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.adapters.stored_models import StoredChatModel
from memory_pipeline.adapters.verdict_store import PairVerdictStore
from memory_pipeline.domain.changes import Judgement, Pair, PairReason, Verdict
from memory_pipeline.domain.claim import Claim, Evidence
from memory_pipeline.domain.extraction import MemoryCategory, Tier
from memory_pipeline.domain.fact import FactVersion
from memory_pipeline.domain.ids import EntityId, FactId, MessageId, TenantId
from memory_pipeline.stages.answers import PairVerdict
from memory_pipeline.stages.judge import Question
from memory_pipeline.stages.model_judge import ModelJudge
from memory_pipeline_tests.adapters.models.endpoints import endpoint_of
from memory_pipeline_tests.scripted_server import Asked, ScriptedServer

TENANT, OTHER = TenantId("acme/user_1"), TenantId("acme/user_2")
OLD = PairVerdict(Verdict.OLD, is_correction=True, reason="never so")
NEITHER = PairVerdict(Verdict.NEITHER, reason="both")
WORDS = ("old", "new", "neither")

_SHOWN = re.compile(r"^pair (\d+)\n.*\n.*\n.*\nnew: user likes thing(\d+)$", re.MULTILINE)


@pytest.fixture
def store(database: Database) -> PairVerdictStore:
    return PairVerdictStore(database, TENANT)


def question(thing: int) -> Question:
    """A pair that differs from others by what the user likes now."""
    said_at = datetime(2024, 7, 1, tzinfo=UTC)
    evidence = Evidence(
        message_id=MessageId(UUID(int=1)), span_start=0, span_end=4, quote="like", said_at=said_at
    )
    return Question(
        pair=Pair(ref=f"c{thing}", fact_id=FactId(UUID(int=1)), reason=PairReason.BAND),
        claim=Claim(
            ref=f"c{thing}", order=thing, subject="user", predicate="likes",
            object=f"thing{thing}", object_is_entity=True, confidence=0.9,
            memory_category=MemoryCategory.CONTEXT, said_at=said_at, valid_from=said_at,
            valid_until=None, evidence=evidence, tier=Tier.FAST,
        ),
        fact=FactVersion(
            fact_id=FactId(UUID(int=1)), version=1, subject_id=EntityId(UUID(int=9)),
            predicate="likes", object_id=None, object_text="tea", statement="user likes tea",
            valid_from=said_at, valid_until=None, known_from=said_at, confidence=0.9,
            memory_category=MemoryCategory.CONTEXT, tier=Tier.FAST,
        ),
        fact_quote="I like tea",
    )  # fmt: skip


class Model:
    """A scripted model; `is_moody` gives every call other verdicts, whatever it is asked."""

    def __init__(self, *, is_moody: bool = False) -> None:
        self.is_moody = is_moody
        self.flawed: set[frozenset[int]] = set()
        self._calls = count(1)

    def __call__(self, asked: Asked) -> str:
        """One verdict for each pair, by its content or by the number of the call."""
        call = next(self._calls)
        pairs = [(int(n), int(thing)) for n, thing in _SHOWN.findall(asked.user)]
        if frozenset(thing for _, thing in pairs) in self.flawed:
            pairs = pairs[:-1]
        verdicts = [
            {
                "pair": number,
                "reason": f"call {call}" if self.is_moody else f"thing {thing}",
                "verdict": WORDS[(call if self.is_moody else thing) % 3],
                "is_correction": thing % 2 == 0,
            }
            for number, thing in pairs
        ]
        return json.dumps({"verdicts": verdicts})


class Court:
    """A judge of one tenant that asks over HTTP, as the composition root puts it together."""

    def __init__(
        self, database: Database, server: ScriptedServer, tenant_id: TenantId = TENANT
    ) -> None:
        self.chat = OpenAiChatModel(endpoint_of(server))
        self.calls = StoredChatModel(self.chat, AnswerStore(database, tenant_id))
        verdicts = PairVerdictStore(database, tenant_id, self.calls.count_hits)
        self._judge = ModelJudge(self.calls, "scripted-fast", b"secret", verdicts)

    def judge(self, *things: int) -> dict[int, Judgement]:
        """What is said of each pair, asked together."""
        judgements = self._judge.judge([question(thing) for thing in things])
        return dict(zip(things, judgements, strict=True))


def forget(database: Database) -> None:
    """Remove what every example must start without."""
    with psycopg.connect(database.url, autocommit=True) as owner:
        owner.execute("truncate memory.pair_verdicts, memory.model_answers")


def stored(database: Database) -> int:
    with psycopg.connect(database.url) as owner:
        row = owner.execute("select count(*) from memory.pair_verdicts").fetchone()
    return int(row[0]) if row else 0


# --- rows -------------------------------------------------------------------------------------


def test_kept_verdicts_are_found_word_for_word(store: PairVerdictStore) -> None:
    given = {"b": OLD, "a": NEITHER}
    assert store.keep(given, "request") == given
    assert store.find(["a", "b", "c"], "another") == given


def test_the_first_verdict_kept_on_a_pair_stays_and_counts(store: PairVerdictStore) -> None:
    store.keep({"a": OLD}, "first")
    assert store.keep({"a": NEITHER, "b": NEITHER}, "second") == {"a": OLD, "b": NEITHER}
    assert store.find(["a"], "") == {"a": OLD}


def test_a_reason_that_the_database_cannot_hold_is_used_as_it_is_stored(
    store: PairVerdictStore,
) -> None:
    kept = store.keep({"a": PairVerdict(Verdict.NEW, reason="a\x00b \ud83d")}, "request")
    assert kept["a"].reason == "a�b �"
    assert store.find(["a"], "") == kept


def test_a_tenant_does_not_find_anothers_verdicts(
    database: Database, store: PairVerdictStore
) -> None:
    store.keep({"a": OLD}, "request")
    other = PairVerdictStore(database, OTHER)
    assert other.find(["a"], "") == {}
    assert other.keep({"a": NEITHER}, "request") == {"a": NEITHER}
    assert store.find(["a"], "") == {"a": OLD}


def test_nothing_to_find_or_keep_opens_no_connection() -> None:
    store = PairVerdictStore(Database("postgresql://nobody@127.0.0.1:1/nowhere"), TENANT)
    assert (store.find([], "request"), store.keep({}, "request")) == ({}, {})


def test_the_table_is_guarded_and_granted_like_that_of_the_answers(
    database_url: str, store: PairVerdictStore
) -> None:
    def shape(owner: psycopg.Connection, table: str) -> list[tuple[object, ...]]:
        policies = owner.execute(
            "select policyname, roles::text, cmd, qual, with_check from pg_policies"
            " where schemaname = 'memory' and tablename = %s order by 1",
            [table],
        ).fetchall()
        grants = owner.execute(
            "select grantee, privilege_type from information_schema.role_table_grants"
            " where table_schema = 'memory' and table_name = %s and grantee like 'memory%%'"
            " order by 1, 2",
            [table],
        ).fetchall()
        columns = owner.execute(
            "select grantee, privilege_type from information_schema.column_privileges"
            " where table_schema = 'memory' and table_name = %s and grantee like 'memory%%'"
            " and column_name = 'tenant_id' order by 1, 2",
            [table],
        ).fetchall()
        forced = owner.execute(
            "select relrowsecurity, relforcerowsecurity from pg_class where oid = %s::regclass",
            [f"memory.{table}"],
        ).fetchall()
        return [*policies, *grants, *columns, *forced]

    with psycopg.connect(database_url) as owner:
        answers = shape(owner, "model_answers")
        assert ("memory_app", "INSERT") in answers
        assert shape(owner, "pair_verdicts") == answers


def test_a_pair_has_a_known_verdict_or_is_refused(database_url: str) -> None:
    with (
        psycopg.connect(database_url) as owner,
        pytest.raises(psycopg.errors.CheckViolation, match="verdict"),
    ):
        owner.execute(
            "insert into memory.pair_verdicts values ('t', 'd', 'not_judged', false, '', 'r', 1)"
        )


# --- judging over HTTP ------------------------------------------------------------------------


def test_pairs_judged_in_other_calls_make_none(database: Database) -> None:
    with ScriptedServer(Model()) as server:
        first = Court(database, server).judge(1, 2) | Court(database, server).judge(3)
        court = Court(database, server)
        assert court.judge(3, 1, 2) == {thing: first[thing] for thing in (3, 1, 2)}
        assert len(server.requests) == 2
    assert (court.calls.counts.hits, court.calls.counts.misses) == (3, 0)


def test_only_pairs_never_judged_are_shown(database: Database) -> None:
    with ScriptedServer(Model()) as server:
        court = Court(database, server)
        court.judge(1)
        court.judge(1, 2)
        shown = [_SHOWN.findall(r.body["messages"][-1]["content"]) for r in server.requests]
    assert shown == [[("1", "1")], [("1", "2")]]
    assert (court.calls.counts.hits, court.calls.counts.misses) == (1, 2)


def test_tenants_do_not_share_verdicts(database: Database) -> None:
    with ScriptedServer(Model(is_moody=True)) as server:
        one = Court(database, server).judge(1)[1]
        other = Court(database, server, OTHER).judge(1)[1]
        assert (one.reason, other.reason) == ("call 1", "call 2")


def test_a_partial_answer_has_the_same_effect_when_a_pair_of_it_was_judged_since(
    database: Database,
) -> None:
    model = Model(is_moody=True)
    model.flawed = {frozenset({1, 2})}
    with ScriptedServer(model) as server:
        flawed = Court(database, server).judge(1, 2)
        assert stored(database) == 0
        later = Court(database, server).judge(1)
        assert (flawed[1].reason, later[1].reason) == ("call 1", "call 2")
        asked = len(server.requests)
        assert Court(database, server).judge(1, 2) == flawed
        assert Court(database, server).judge(1) == later
        assert len(server.requests) == asked


def test_an_unreadable_answer_has_the_same_effect_when_a_pair_of_it_was_judged_since(
    database: Database,
) -> None:
    model = Model()
    with ScriptedServer(lambda _asked: "I would rather not.") as server:
        flawed = Court(database, server).judge(1, 2)
        server.answer = model
        later = Court(database, server).judge(1)
        asked = len(server.requests)
        assert Court(database, server).judge(1, 2) == flawed
        assert Court(database, server).judge(1) == later
        assert len(server.requests) == asked
    assert {j.verdict for j in flawed.values()} == {Verdict.NEITHER}
    assert later[1].verdict is Verdict.NEW


def test_two_workers_that_ask_a_pair_at_once_use_the_verdict_kept_first(
    database: Database,
) -> None:
    both_asked = threading.Barrier(2)
    model = Model(is_moody=True)

    def answer(asked: Asked) -> str:
        both_asked.wait(timeout=10)
        return model(asked)

    with ScriptedServer(answer) as server, ThreadPoolExecutor(2) as pool:
        # Different requests, so that only the pair itself can make them agree.
        asked = [pool.submit(Court(database, server).judge, *things) for things in ((1, 2), (1, 3))]
        one, other = (future.result() for future in asked)
        assert len(server.requests) == 2
        again = Court(database, server).judge(2, 1, 3)
        assert len(server.requests) == 2
    assert one[1] == other[1] == again[1]
    assert (one[2], other[3]) == (again[2], again[3])


def test_whoever_waits_for_another_worker_holds_no_pair_that_the_other_needs(
    database: Database, store: PairVerdictStore
) -> None:
    insert = (
        "insert into memory.pair_verdicts values ('acme/user_1', %s, 'neither', false, 'both', 'r',"
        " 1)"
    )
    with ThreadPoolExecutor(1) as pool, psycopg.connect(database.url) as other:
        other.execute(insert, ["a"])
        keeping = pool.submit(store.keep, {"z": OLD, "a": OLD}, "request")
        wait_until_somebody_waits(database.url)
        other.execute(insert, ["z"])
        other.commit()
        assert keeping.result(timeout=30) == {"z": NEITHER, "a": NEITHER}


def wait_until_somebody_waits(url: str) -> None:
    """Return once a session of the database waits for a lock."""
    waiting = (
        "select count(*) from pg_stat_activity"
        " where datname = current_database() and wait_event_type = 'Lock'"
    )
    with psycopg.connect(url, autocommit=True) as watcher:
        for _ in range(1_000):
            if watcher.execute(waiting).fetchone() != (0,):
                return
            time.sleep(0.02)
    raise AssertionError("nobody waits")


# --- any order, any split ---------------------------------------------------------------------


@st.composite
def splits(draw: st.DrawFn) -> list[list[int]]:
    """Pairs 0 to 5 in any order, cut into calls, some of them asked again."""
    order = draw(st.permutations(range(6)))
    cuts = sorted(draw(st.sets(st.integers(1, 5))))
    calls = [order[a:b] for a, b in zip([0, *cuts], [*cuts, 6], strict=True)]
    again = draw(st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=4, unique=True)))
    return draw(st.permutations([*calls, *again[:3]]))


def judged(court: Court, calls: Sequence[Sequence[int]]) -> list[dict[int, Judgement]]:
    return [court.judge(*things) for things in calls]


def by_pair(said: Sequence[dict[int, Judgement]]) -> dict[int, set[Judgement]]:
    """All that was said of each pair."""
    things = {thing for one in said for thing in one}
    return {thing: {one[thing] for one in said if thing in one} for thing in things}


once_a_database = settings(
    max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@once_a_database
@given(one=splits(), other=splits())
def test_any_order_and_split_gives_the_same_verdicts(
    database: Database, one: list[list[int]], other: list[list[int]]
) -> None:
    with ScriptedServer(Model()) as server:
        forget(database)
        first = by_pair(judged(Court(database, server), one))
        forget(database)
        second = by_pair(judged(Court(database, server), other))
    assert first == second
    assert {len(said) for said in first.values()} == {1}


@once_a_database
@given(one=splits(), other=splits())
def test_what_was_judged_once_is_never_asked_or_judged_otherwise_in_any_order_and_split(
    database: Database, one: list[list[int]], other: list[list[int]]
) -> None:
    with ScriptedServer(Model(is_moody=True)) as server:
        forget(database)
        first = by_pair(judged(Court(database, server), one))
        asked = len(server.requests)
        assert by_pair(judged(Court(database, server), other)) == first
        assert len(server.requests) == asked
    assert {len(said) for said in first.values()} == {1}
