"""The chat client over real HTTP: retries, limits, fallbacks, budgets, and the key kept quiet."""

import logging
import time
import traceback
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from memory_pipeline.adapters.models.budget import Budget
from memory_pipeline.adapters.models.endpoint import (
    Endpoint,
    ModelConfigurationError,
    UnansweredRequestError,
)
from memory_pipeline.adapters.models.prices import ModelPrice, PriceTable
from memory_pipeline.adapters.openai_models import OpenAiChatModel
from memory_pipeline.domain.model import (
    BudgetExhaustedError,
    ModelAnswer,
    ModelUnavailableError,
)
from memory_pipeline.stages.answers import parse_summary
from memory_pipeline.stages.length_limit import TooLongError
from memory_pipeline_tests.adapters.models.endpoints import KEY, endpoint_of, request_of
from memory_pipeline_tests.scripted_server import Fault, FaultKind, ScriptedServer
from memory_pipeline_tests.scripted_server.answers import fixed
from memory_pipeline_tests.scripted_server.faults import error_body
from memory_pipeline_tests.scripted_server.replies import Reply, json_reply

WORD = '{"word": "heron"}'
CHAT = "/chat/completions"


@contextmanager
def model_at(
    server: ScriptedServer, budget: Budget | None = None, **settings: Any
) -> Iterator[OpenAiChatModel]:
    model = OpenAiChatModel(endpoint_of(server, **settings), budget=budget)
    try:
        yield model
    finally:
        model.close()


def answer_under(fault: Fault, **settings: Any) -> tuple[ModelAnswer, int]:
    """The answer in spite of a fault, and how many requests it took."""
    with (
        ScriptedServer(fixed(WORD), faults=[fault]) as server,
        model_at(server, **settings) as model,
    ):
        return model.complete(request_of()), len(server.requests)


def error_under(fault: Fault, error: type[Exception], **settings: Any) -> tuple[str, int]:
    """The error of a call whose every request meets a fault, and how many there were."""
    with (
        ScriptedServer(fixed(WORD), faults=[fault]) as server,
        model_at(server, **settings) as model,
    ):
        with pytest.raises(error) as raised:
            model.complete(request_of())
        return str(raised.value), len(server.requests)


def test_an_answer_carries_text_tokens_and_the_time_it_took() -> None:
    with ScriptedServer(fixed(WORD), latency_s=0.05) as server, model_at(server) as model:
        answer = model.complete(request_of())
    assert answer.text == WORD
    assert answer.finish_reason == "stop"
    assert answer.usage.prompt_tokens > 0
    assert answer.usage.completion_tokens > 0
    assert answer.latency_ms >= 50
    assert not answer.is_stored


def test_a_request_asks_for_the_schema_strictly_and_sends_nothing_unknown() -> None:
    with ScriptedServer(fixed(WORD)) as server, model_at(server) as model:
        model.complete(request_of())
    body = server.requests[0].body
    assert sorted(body) == ["max_tokens", "messages", "model", "response_format", "temperature"]
    schema = body["response_format"]["json_schema"]
    assert schema == {"name": "word", "strict": True, "schema": request_of().json_schema}


@pytest.mark.parametrize(
    "kind",
    [
        FaultKind.RATE_LIMIT_DATE,
        FaultKind.SERVER_ERROR,
        FaultKind.DROP,
        FaultKind.CUT_REPLY,
        FaultKind.PAGE,
    ],
)
def test_a_passing_fault_is_tried_again(kind: FaultKind) -> None:
    answer, requests = answer_under(Fault(kind, times=2, seconds=0.1))
    assert (answer.text, requests) == (WORD, 3)


def test_a_request_without_an_answer_in_time_is_tried_again() -> None:
    slow = Fault(FaultKind.SLOW, seconds=0.8)
    with (
        ScriptedServer(fixed(WORD), faults=[slow]) as server,
        model_at(server, timeout_s=0.4) as model,
    ):
        assert model.complete(request_of()).text == WORD
        while len(server.requests) < 2:
            time.sleep(0.05)
        assert [request.fault for request in server.requests] == [None, "slow"]


def test_rate_limits_cost_time_and_no_tries() -> None:
    fault = Fault(FaultKind.RATE_LIMIT, times=4, seconds=0.02)
    answer, requests = answer_under(fault, attempts=1)
    assert (answer.text, requests) == (WORD, 5)


def test_a_retry_after_is_waited_out_by_every_thread() -> None:
    fault = Fault(FaultKind.RATE_LIMIT, seconds=0.4)
    with (
        ScriptedServer(fixed(WORD), faults=[fault]) as server,
        model_at(server, concurrency=4) as model,
        ThreadPoolExecutor(4) as pool,
    ):
        first = pool.submit(model.complete, request_of("first"))
        while not server.requests:
            time.sleep(0.01)
        refused_at = server.requests[0].at
        time.sleep(0.1)
        others = [pool.submit(model.complete, request_of(f"other {n}")) for n in range(3)]
        assert {future.result().text for future in [first, *others]} == {WORD}
    assert min(request.at for request in server.requests[1:]) - refused_at >= 0.4


def test_a_limit_that_outlasts_our_patience_ends_the_run_as_a_quota() -> None:
    fault = Fault(FaultKind.RATE_LIMIT, times=None, seconds=7_200)
    message, requests = error_under(fault, BudgetExhaustedError)
    assert "asks to wait 7200 s" in message
    assert requests == 1


def test_an_exhausted_quota_is_told_apart_from_a_rate_limit_and_says_what_was_spent() -> None:
    message, requests = error_under(Fault(FaultKind.QUOTA, times=None), BudgetExhaustedError)
    assert "exceeded your current quota" in message
    assert "0 calls, 0 tokens" in message
    assert requests == 1


def test_an_endpoint_that_keeps_failing_is_unavailable_after_its_tries() -> None:
    fault = Fault(FaultKind.SERVER_ERROR, times=None)
    message, requests = error_under(fault, ModelUnavailableError, attempts=3)
    assert "tried 3 times" in message
    # One more asks something harmless, to tell an outage from a text at fault.
    assert requests == 4


def test_an_endpoint_that_is_not_there_is_unavailable_and_named() -> None:
    with ScriptedServer() as server:
        gone = endpoint_of(server, attempts=2)
    with pytest.raises(ModelUnavailableError, match=r"can't reach .*127\.0\.0\.1.*OPENAI_BASE_URL"):
        OpenAiChatModel(gone).complete(request_of())


@pytest.mark.parametrize(
    ("kind", "variable"),
    [(FaultKind.UNAUTHORIZED, "OPENAI_API_KEY"), (FaultKind.NOT_FOUND, "MEMORY_FAST_MODEL")],
)
def test_wrong_settings_are_named_at_once_with_the_endpoint(kind: FaultKind, variable: str) -> None:
    message, requests = error_under(Fault(kind, times=None), ModelConfigurationError)
    assert variable in message
    assert "127.0.0.1" in message
    assert requests == 1


def test_the_key_is_in_no_error_no_traceback_and_no_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    fault = Fault(FaultKind.UNAUTHORIZED, times=None)
    with ScriptedServer(fixed(WORD), faults=[fault]) as server, model_at(server) as model:
        with pytest.raises(ModelConfigurationError) as raised:
            model.complete(request_of())
        assert server.requests[0].has_key
    told = "".join(traceback.format_exception(raised.value)) + caplog.text + repr(model.endpoint)
    assert caplog.records
    assert KEY not in told
    assert raised.value.__cause__ is None
    assert raised.value.__context__ is None


def test_an_answer_that_repeats_the_key_comes_without_it() -> None:
    with ScriptedServer(fixed(f"your key is {KEY}")) as server, model_at(server) as model:
        assert model.complete(request_of()).text == "your key is ***"


def test_an_address_with_a_password_is_refused_without_repeating_it() -> None:
    with pytest.raises(ModelConfigurationError, match="OPENAI_BASE_URL") as raised:
        Endpoint(base_url="https://me:hunter2@models.example/v1")
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize(
    ("refuses", "form", "tries"),
    [
        (["json_schema"], {"type": "json_object"}, 2),
        (["json_schema", "json_object"], None, 3),
        (["response_format"], None, 3),
    ],
)
def test_a_server_without_schemas_is_asked_in_words_and_that_is_remembered(
    refuses: list[str], form: object, tries: int
) -> None:
    with ScriptedServer(fixed(WORD), refuses=refuses) as server, model_at(server) as model:
        model.complete(request_of("first"))
        assert len(server.requests) == tries
        with model_at(server) as another:
            another.complete(request_of("second"))
        assert len(server.requests) == tries + 1
    body = server.requests[-1].body
    assert body.get("response_format") == form
    system = body["messages"][0]["content"]
    assert system.startswith("You say words.")
    assert "JSON" in system
    assert '"additionalProperties": false' in system


def test_one_models_fallback_says_nothing_about_another() -> None:
    with ScriptedServer(fixed(WORD), refuses=["json_schema"]) as server, model_at(server) as model:
        model.complete(request_of())
        model.complete(request_of(model="scripted-strong"))
    assert [request.status for request in server.requests] == [400, 200, 400, 200]


@pytest.mark.parametrize(
    ("refused", "model_name", "left"),
    [
        ("temperature", "scripted-fast", "max_tokens"),
        ("max_tokens", "scripted-fast", "max_completion_tokens"),
        ("chat_template_kwargs", "Qwen/Qwen3-8B", "temperature"),
        ("reasoning_effort", "gpt-5.4-mini", "temperature"),
    ],
)
def test_an_unknown_parameter_is_left_out_and_that_is_remembered(
    refused: str, model_name: str, left: str
) -> None:
    with ScriptedServer(fixed(WORD), refuses=[refused]) as server, model_at(server) as model:
        model.complete(request_of("first", model=model_name))
        model.complete(request_of("second", model=model_name))
    assert [request.status for request in server.requests] == [400, 200, 200]
    assert refused in server.requests[0].body
    assert refused not in server.requests[-1].body
    assert left in server.requests[-1].body
    assert "response_format" in server.requests[-1].body


@pytest.mark.parametrize(
    ("model_name", "switch"),
    [
        ("Qwen/Qwen3-8B", {"chat_template_kwargs": {"enable_thinking": False}}),
        ("gpt-5-mini", {"reasoning_effort": "minimal"}),
        ("openai/gpt-5.4-mini", {"reasoning_effort": "none"}),
        ("gpt-4.1-mini", {}),
        ("llama3.2", {}),
    ],
)
def test_reasoning_is_switched_off_where_the_model_has_a_switch(
    model_name: str, switch: dict[str, Any]
) -> None:
    with ScriptedServer(fixed(WORD)) as server, model_at(server) as model:
        model.complete(request_of(model=model_name))
    body = server.requests[0].body
    found = {name: body[name] for name in body if "reason" in name or "template" in name}
    assert found == switch


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (FaultKind.REFUSAL, "refusal"),
        (FaultKind.CUT_ANSWER, "length"),
        (FaultKind.TOO_LONG, "context_length_exceeded"),
        (FaultKind.GARBAGE, "stop"),
    ],
)
def test_a_bad_answer_comes_back_with_its_reason_and_is_not_asked_again(
    kind: FaultKind, reason: str
) -> None:
    answer, requests = answer_under(Fault(kind, times=None))
    assert (answer.finish_reason, requests) == (reason, 1)
    assert answer.text != WORD


@pytest.mark.parametrize("kind", [FaultKind.TOO_LONG, FaultKind.CUT_ANSWER])
def test_an_answer_spoiled_by_its_length_says_so_and_what_helps_when_it_is_read(
    kind: FaultKind,
) -> None:
    answer, _ = answer_under(Fault(kind, times=None))
    setting = "MEMORY_SETTING_EPISODE_MAX_TOKENS"
    with pytest.raises(TooLongError, match=rf"context.*MEMORY_STRONG_MODEL.*{setting}"):
        parse_summary(answer.text)


class SmallServer(ScriptedServer):
    """Takes no request that asks for room for a long answer."""

    def _reply(self, path: str, body: dict[str, Any], key: str, fault: Fault | None) -> Reply:
        if "max_tokens" not in body:
            return super()._reply(path, body, key, fault)
        said = (
            "This model's maximum context length is 4096 tokens. However, you requested 5000 "
            "tokens (904 in the messages, 4096 in the completion)."
        )
        return json_reply(400, error_body(said, kind="BadRequestError", code=None, param=None))


def test_a_prompt_that_leaves_no_room_for_the_longest_answer_is_sent_without_its_limit() -> None:
    with SmallServer(fixed(WORD)) as server, model_at(server) as model:
        assert model.complete(request_of("first")).text == WORD
        model.complete(request_of("second"))
    # Each time: a shorter prompt may well leave the room.
    assert ["max_tokens" in request.body for request in server.requests] == [True, False] * 2


def test_a_prompt_that_is_too_long_by_itself_is_refused_for_good() -> None:
    fault = Fault(FaultKind.TOO_LONG, times=None)
    with SmallServer(fixed(WORD), faults=[fault]) as server, model_at(server) as model:
        assert model.complete(request_of()).finish_reason == "context_length_exceeded"
    assert len(server.requests) == 2


def test_what_the_server_says_of_a_length_is_kept_with_the_answer() -> None:
    answer, _ = answer_under(Fault(FaultKind.TOO_LONG, times=None))
    assert "400 for model scripted-fast: This model's maximum context length" in answer.text


def test_text_with_broken_surrogates_can_be_sent() -> None:
    with ScriptedServer(fixed(WORD)) as server, model_at(server) as model:
        model.complete(request_of("\ud83d\ude00 and \ud83d alone"))
    assert server.requests[0].body["messages"][1]["content"] == "\U0001f600 and � alone"


def test_no_more_requests_are_open_than_allowed() -> None:
    with (
        ScriptedServer(fixed(WORD), latency_s=0.05) as server,
        model_at(server, concurrency=3) as model,
        ThreadPoolExecutor(12) as pool,
    ):
        list(pool.map(lambda n: model.complete(request_of(f"ask {n}")), range(24)))
    assert len(server.requests) == 24
    assert server.most_open == 3


def test_a_repeated_prefix_is_counted_as_cached_and_priced_lower() -> None:
    prices = PriceTable({"scripted-fast": ModelPrice(input=1.0, cached_input=0.1, output=2.0)})
    with ScriptedServer(fixed(WORD)) as server, model_at(server, Budget(prices=prices)) as model:
        first = model.complete(request_of("one", system="rule " * 2_000)).usage
        second = model.complete(request_of("two", system="rule " * 2_000)).usage
    assert first.cached_tokens == 0
    assert second.cached_tokens > 2_000
    fresh = second.prompt_tokens - second.cached_tokens
    expected = (fresh + second.cached_tokens * 0.1 + second.completion_tokens * 2.0) / 1_000_000
    assert second.price_usd == pytest.approx(expected)
    assert model.budget.spent.usd == pytest.approx((first.price_usd or 0) + expected)


def test_a_model_in_no_price_table_is_unpriced() -> None:
    with ScriptedServer(fixed(WORD)) as server, model_at(server) as model:
        assert model.complete(request_of()).usage.price_usd is None
    assert model.budget.spent.unpriced_calls == 1


def test_a_budget_in_tokens_stops_before_the_call_that_would_pass_it() -> None:
    with (
        ScriptedServer(fixed(WORD)) as server,
        model_at(server, Budget(tokens=700)) as model,
    ):
        model.complete(request_of("first"))
        answers = (model.complete(request_of(f"more {number}")) for number in range(100))
        with pytest.raises(
            BudgetExhaustedError, match=r"MEMORY_BUDGET_TOKENS=700.*spent \d+ calls"
        ):
            deque(answers, maxlen=0)
    assert 0 < model.budget.spent.tokens <= 700
    assert len(server.requests) == model.budget.spent.calls


def test_parallel_calls_do_not_pass_a_budget_together() -> None:
    prices = PriceTable({"scripted-fast": ModelPrice(input=1.0, output=1.0)})
    budget = Budget(usd=0.0013, prices=prices)

    def ask(model: OpenAiChatModel, number: int) -> bool:
        try:
            model.complete(request_of(f"ask {number}"))
        except BudgetExhaustedError:
            return False
        return True

    with (
        ScriptedServer(fixed(WORD), latency_s=0.1) as server,
        model_at(server, budget) as model,
        ThreadPoolExecutor(8) as pool,
    ):
        answered = list(pool.map(lambda n: ask(model, n), range(8)))
    assert answered.count(True) == 2
    assert len(server.to(CHAT)) == 2


def test_a_failed_call_costs_nothing() -> None:
    fault = Fault(FaultKind.SERVER_ERROR, times=None)
    with (
        ScriptedServer(faults=[fault]) as server,
        model_at(server, attempts=1) as model,
        pytest.raises(ModelUnavailableError),
    ):
        model.complete(request_of())
    assert model.budget.spent.calls == 0


# --- one text at fault, or an outage -----------------------------------------------------------


class PoisonedServer(ScriptedServer):
    """Answers every request as scripted but those that hold the word `poison`."""

    poisoned: Reply | Fault

    def _reply(self, path: str, body: dict[str, Any], key: str, fault: Fault | None) -> Reply:
        if "poison" in str(body.get("messages", "")):
            if isinstance(self.poisoned, Reply):
                return self.poisoned
            fault = self.poisoned
        return super()._reply(path, body, key, fault)


@contextmanager
def poisoned_server(poisoned: Reply | Fault) -> Iterator[PoisonedServer]:
    with PoisonedServer(fixed(WORD)) as server:
        server.poisoned = poisoned
        yield server


@pytest.mark.parametrize(
    "poisoned",
    [
        json_reply(500, {"error": {"message": "internal error"}}),
        json_reply(400, {"error": {"message": "no", "code": "invalid_request_error"}}),
        Reply(200, b"[" * 200_000),
        Fault(FaultKind.SLOW, seconds=1.0, times=None),
    ],
    ids=["500", "unknown refusal", "deep nesting", "timeout"],
)
def test_a_request_that_alone_is_never_answered_is_no_outage(poisoned: Reply | Fault) -> None:
    with (
        poisoned_server(poisoned) as server,
        model_at(server, attempts=2, timeout_s=0.3) as model,
        pytest.raises(UnansweredRequestError, match="answers other requests"),
    ):
        model.complete(request_of("poison"))


def test_a_request_that_goes_through_once_the_endpoint_is_back_is_answered() -> None:
    fault = Fault(FaultKind.SERVER_ERROR, times=2)
    answer, requests = answer_under(fault, attempts=2)
    assert answer.text == WORD
    assert requests == 4


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (json_reply(200, {"choices": []}), "no_choices"),
        (json_reply(400, {"error": {"message": "Content Exists Risk"}}), "content_filter"),
        (json_reply(403, {"error": {"message": "flagged by moderation"}}), "content_filter"),
        (
            json_reply(400, {"error": {"message": "no", "type": "data_inspection_failed"}}),
            "data_inspection_failed",
        ),
    ],
)
def test_a_text_that_is_refused_in_other_words_is_an_empty_answer(
    reply: Reply, reason: str
) -> None:
    with poisoned_server(reply) as server, model_at(server, attempts=2) as model:
        answer = model.complete(request_of("poison"))
    assert (answer.text, answer.finish_reason) == ("", reason)


def test_tries_whose_answer_can_not_be_read_are_charged_with_their_prompt() -> None:
    budget = Budget()
    with (
        poisoned_server(Reply(200, b"{")) as server,
        model_at(server, budget, attempts=3) as model,
        pytest.raises(ModelUnavailableError),
    ):
        model.complete(request_of("poison"))
    # Three tries, the harmless request, and one more try.
    assert budget.spent.calls == 5
    assert budget.spent.tokens > 0


def test_a_server_error_costs_nothing() -> None:
    budget = Budget()
    with (
        ScriptedServer(fixed(WORD), faults=[Fault(FaultKind.SERVER_ERROR, times=None)]) as server,
        model_at(server, budget, attempts=2) as model,
        pytest.raises(ModelUnavailableError),
    ):
        model.complete(request_of())
    assert budget.spent.calls == 0


def test_unreadable_answers_use_a_budget_up() -> None:
    budget = Budget(tokens=700)
    with (
        poisoned_server(Reply(200, b"{")) as server,
        model_at(server, budget, attempts=1_000) as model,
        pytest.raises(BudgetExhaustedError, match="MEMORY_BUDGET_TOKENS=700"),
    ):
        model.complete(request_of("poison"))


def test_credits_that_are_used_up_are_a_spent_quota_whatever_the_status() -> None:
    spent = {"error": {"message": "Insufficient credits", "code": 402}}
    with (
        poisoned_server(json_reply(200, spent)) as server,
        model_at(server) as model,
        pytest.raises(BudgetExhaustedError, match="Insufficient credits"),
    ):
        model.complete(request_of("poison"))
    assert len(server.requests) == 1
