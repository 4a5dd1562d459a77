"""Stored answers on a real database: found again, kept once, bad ones for inspection only."""

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from memory_pipeline.adapters.answer_store import AnswerStore
from memory_pipeline.adapters.openai_embedder import OpenAiEmbedder
from memory_pipeline.adapters.openai_models import OpenAiChatModel
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.adapters.stored_models import StoredChatModel, StoredEmbedder
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.domain.model import ModelAnswer, ModelRequest, Usage
from memory_pipeline_tests.adapters.models.endpoints import KEY, endpoint_of, request_of
from memory_pipeline_tests.scripted_server import Asked, Fault, FaultKind, ScriptedServer
from memory_pipeline_tests.scripted_server.answers import fixed

TENANT = TenantId("acme/user_1")
WORD = "heron"


@pytest.fixture
def store(database: Database) -> AnswerStore:
    return AnswerStore(database, TENANT)


class _Model:
    """A chat model with prepared answers, one after the other; the last one for ever."""

    def __init__(self, *texts: str) -> None:
        self._texts = list(texts)
        self.asked: list[ModelRequest] = []

    def complete(self, request: ModelRequest) -> ModelAnswer:
        self.asked.append(request)
        text = self._texts.pop(0) if len(self._texts) > 1 else self._texts[0]
        usage = Usage(prompt_tokens=100, cached_tokens=60, completion_tokens=10, price_usd=0.25)
        return ModelAnswer(text=text, usage=usage, latency_ms=7)


class NotLowerError(ValueError):
    """The parser of these tests refuses a text."""


def shout(text: str) -> str:
    """Parses lower-case words only."""
    if not text.islower():
        raise NotLowerError(f"{text!r} is not lower case")
    return text.upper()


def rows(database: Database) -> list[dict[str, object]]:
    """All stored answers, as the owner of the database sees them."""
    with psycopg.connect(database.url, row_factory=dict_row) as connection:
        return connection.execute(
            "select * from memory.model_answers order by request_digest, attempt"
        ).fetchall()


def test_an_unchanged_request_makes_no_second_call(store: AnswerStore) -> None:
    model = _Model(WORD)
    first = StoredChatModel(model, store).ask(request_of(), shout)
    again = StoredChatModel(model, store).ask(request_of(), shout)
    assert (first[0], again[0]) == ("HERON", "HERON")
    assert (first[1].is_stored, again[1].is_stored) == (False, True)
    assert again[1].usage == first[1].usage
    assert len(model.asked) == 1


@pytest.mark.parametrize(
    "changed",
    [
        {"user": "Say two words."},
        {"model": "scripted-strong"},
        {"system": "You sing."},
        {"prompt_digest": "prompt/2"},
        {"temperature": 0.5},
        {"json_schema": {"type": "object"}},
    ],
)
def test_any_change_of_a_request_makes_a_call(store: AnswerStore, changed: dict[str, Any]) -> None:
    model = _Model(WORD)
    stored = StoredChatModel(model, store)
    stored.ask(request_of(), shout)
    stored.ask(request_of(**changed), shout)
    assert len(model.asked) == 2


def test_many_requests_are_looked_up_at_once_in_order(store: AnswerStore) -> None:
    known, unknown = request_of("known"), request_of("unknown")
    store.keep(known, ModelAnswer(text=WORD), is_valid=True)
    found = store.find_many([unknown, known])
    assert found == [None, ModelAnswer(text=WORD, is_stored=True)]
    assert store.find_many([]) == []


def test_a_tenant_does_not_see_anothers_answers(database: Database, store: AnswerStore) -> None:
    store.keep(request_of(), ModelAnswer(text=WORD), is_valid=True)
    assert AnswerStore(database, TenantId("acme/user_2")).find(request_of()) is None


def test_a_bad_answer_is_kept_with_its_problem_and_never_reused(
    database: Database, store: AnswerStore
) -> None:
    model = _Model("HERON", "OWL", WORD)
    stored = StoredChatModel(model, store)
    for _ in range(2):
        with pytest.raises(NotLowerError, match="not lower case"):
            stored.ask(request_of(), shout)
    assert stored.ask(request_of(), shout)[0] == "HERON"
    kept = [(row["attempt"], row["raw_answer"], row["is_valid"]) for row in rows(database)]
    assert kept == [(1, "HERON", False), (2, "OWL", False), (3, WORD, True)]
    assert rows(database)[0]["answer"] == {
        "finish_reason": "stop",
        "problem": "'HERON' is not lower case",
    }


def test_an_attempt_that_is_repeated_sees_its_bad_answer_without_a_call(store: AnswerStore) -> None:
    model = _Model("HERON", WORD)
    for stored in (StoredChatModel(model, store), StoredChatModel(model, store)):
        with pytest.raises(NotLowerError, match="'HERON' is not lower case"):
            stored.ask(request_of(), shout, attempt=1)
    assert len(model.asked) == 1
    assert (stored.counts.hits, stored.counts.misses, stored.counts.refused) == (1, 0, 1)


def test_a_later_attempt_asks_anew_and_an_earlier_one_then_finds_its_answer(
    store: AnswerStore,
) -> None:
    model = _Model("HERON", WORD)
    stored = StoredChatModel(model, store)
    with pytest.raises(NotLowerError):
        stored.ask(request_of(), shout, attempt=1)
    assert stored.ask(request_of(), shout, attempt=2)[0] == "HERON"
    assert stored.ask(request_of(), shout, attempt=1)[0] == "HERON"
    assert len(model.asked) == 2


def test_an_answer_that_a_stricter_parser_refuses_is_asked_for_again(store: AnswerStore) -> None:
    model = _Model("HERON", WORD)
    stored = StoredChatModel(model, store)
    assert stored.ask(request_of(), str)[0] == "HERON"
    assert stored.ask(request_of(), shout)[1].text == WORD
    assert stored.ask(request_of(), str)[0] == WORD


def test_complete_stores_whole_answers_only(store: AnswerStore) -> None:
    model = _Model("", WORD)
    stored = StoredChatModel(model, store)
    texts = [stored.complete(request_of()).text for _ in range(3)]
    assert texts == ["", WORD, WORD]
    assert len(model.asked) == 2


def test_counts_tell_hits_calls_and_what_the_calls_cost(store: AnswerStore) -> None:
    stored = StoredChatModel(_Model("HERON", WORD), store)
    with pytest.raises(NotLowerError):
        stored.ask(request_of(), shout)
    before = stored.counts
    stored.ask(request_of(), shout)
    stored.ask(request_of(), shout)
    assert (stored.counts.hits, stored.counts.misses, stored.counts.refused) == (1, 2, 1)
    since = stored.counts - before
    assert (since.misses, since.hits, since.prompt_tokens, since.price_usd) == (1, 1, 100, 0.25)


def test_text_that_the_database_cannot_hold_is_parsed_as_it_will_be_stored(
    store: AnswerStore,
) -> None:
    stored = StoredChatModel(_Model("a\x00b \ud83d \ud83d\ude00"), store)
    request = request_of("user says \x00 and \udfff")
    first = stored.ask(request, str)[0]
    assert first == "a� b � \U0001f600".replace(" b", "b")
    assert stored.ask(request, str) == (first, store.find(request))


def test_equal_requests_of_two_threads_make_one_call(store: AnswerStore) -> None:
    with (
        ScriptedServer(fixed(WORD), latency_s=0.1) as server,
        ThreadPoolExecutor(4) as pool,
    ):
        chat = OpenAiChatModel(endpoint_of(server))
        stored = StoredChatModel(chat, store)
        answers = list(pool.map(lambda _: stored.ask(request_of(), shout)[0], range(4)))
        chat.close()
    assert answers == ["HERON"] * 4
    assert len(server.requests) == 1


def test_two_processes_that_ask_the_same_at_once_agree_on_one_answer(
    database: Database, store: AnswerStore
) -> None:
    numbers = count(1)
    both_asked = threading.Barrier(2)

    def another_word(_: Asked) -> str:
        both_asked.wait(timeout=10)
        return f"word {next(numbers)}"

    def ask(chat: OpenAiChatModel) -> str:
        # One stored model each: what threads of a process share is not shared here.
        return StoredChatModel(chat, store).ask(request_of(), shout)[0]

    with ScriptedServer(another_word) as server, ThreadPoolExecutor(2) as pool:
        chat = OpenAiChatModel(endpoint_of(server))
        answers = list(pool.map(ask, [chat, chat]))
        chat.close()
    assert len(server.requests) == 2
    assert answers[0] == answers[1]
    assert [row["is_valid"] for row in rows(database)] == [True]


_ASK_AND_WAIT = """
import sys, time
from memory_pipeline.adapters.answer_store import AnswerStore
from memory_pipeline.adapters.models.endpoint import Endpoint
from memory_pipeline.adapters.openai_models import OpenAiChatModel
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.adapters.stored_models import StoredChatModel
from memory_pipeline.domain.ids import TenantId
from memory_pipeline_tests.adapters.models.endpoints import request_of

chat = OpenAiChatModel(Endpoint(base_url=sys.argv[1]))
store = AnswerStore(Database(sys.argv[2]), TenantId(sys.argv[3]))
StoredChatModel(chat, store).ask(request_of(), str)
print("answered", flush=True)
time.sleep(60)
"""


def test_a_process_killed_right_after_an_answer_has_not_lost_it(
    database_url: str, store: AnswerStore
) -> None:
    with ScriptedServer(fixed(WORD)) as server:
        arguments = [sys.executable, "-c", _ASK_AND_WAIT, server.base_url, database_url, TENANT]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "answered\n"
            os.kill(process.pid, signal.SIGKILL)
        chat = OpenAiChatModel(endpoint_of(server))
        parsed, answer = StoredChatModel(chat, store).ask(request_of(), shout)
        chat.close()
    assert (parsed, answer.is_stored) == ("HERON", True)
    assert len(server.requests) == 1


def test_the_key_is_in_no_stored_row(database: Database, store: AnswerStore) -> None:
    faults = [Fault(FaultKind.RATE_LIMIT, seconds=0.01)]
    with ScriptedServer(fixed(f"the key is {KEY}"), faults=faults) as server:
        chat = OpenAiChatModel(endpoint_of(server))
        stored = StoredChatModel(chat, store)
        with pytest.raises(NotLowerError):
            stored.ask(request_of("bad"), lambda text: shout(text.title()))
        stored.ask(request_of("good"), shout)
        chat.close()
    assert all(request.has_key for request in server.requests)
    assert len(rows(database)) == 2
    assert KEY not in repr(rows(database))


def test_texts_embedded_before_are_not_sent_again_and_give_the_same_numbers(
    store: AnswerStore,
) -> None:
    with ScriptedServer() as server:
        embedder = OpenAiEmbedder(endpoint_of(server), "scripted-embedding")
        first = StoredEmbedder(embedder, store).embed(["a heron", "an owl", "a heron"])
        again = StoredEmbedder(embedder, store)
        assert again.embed(["an owl", "a new \x00 one", "a heron"])[::2] == [first[1], first[0]]
        assert (again.hits, again.misses) == (2, 1)
        assert again.profile_id == "scripted-embedding/384"
        embedder.close()
    assert [request.body["input"] for request in server.requests] == [
        ["a heron", "an owl"],
        ["a new \x00 one"],
    ]
