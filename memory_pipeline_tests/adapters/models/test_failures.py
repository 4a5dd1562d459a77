"""How long servers ask to wait, in all the ways they say it, and what their errors mean."""

import json

import httpx
import openai
import pytest

from memory_pipeline.adapters.models.endpoint import Endpoint
from memory_pipeline.adapters.models.failures import Failure, FailureKind, classify


def failure_of(status: int, body: object, headers: dict[str, str] | None = None) -> Failure:
    """What the client library's error for this response is taken for."""
    client = openai.OpenAI(api_key="none", base_url="http://127.0.0.1:1/v1")
    request = httpx.Request("POST", "http://127.0.0.1:1/v1/chat/completions")
    response = httpx.Response(status, text=json.dumps(body), headers=headers, request=request)
    error = client._make_status_error_from_response(response)
    client.close()
    return classify(error, Endpoint(base_url="http://127.0.0.1:1/v1"), "some-model")


@pytest.mark.parametrize(
    ("headers", "message", "wait_s"),
    [
        ({"retry-after": "7"}, "slow down", 7.0),
        ({"retry-after-ms": "250", "retry-after": "1"}, "slow down", 0.25),
        ({"retry-after": "Fri, 01 Jan 1999 00:00:00 GMT"}, "slow down", 0.0),
        ({"retry-after": "soon"}, "slow down", None),
        ({}, "Rate limit reached. Please try again in 20s.", 20.0),
        ({}, "Please try again in 6m0.5s. Visit the site", 360.5),
        ({}, "Please try again in 250ms.", 0.25),
        ({}, "Please retry in 34.07s.", 34.07),
        ({}, "Please try again in 2 minutes.", 120.0),
        ({}, "Try again in about 1 hour", 3_600.0),
        ({}, "Try again in 1 minute and 30 seconds", 90.0),
        ({}, "retry after 1h2m3s", 3_723.0),
        ({}, "retry after 20", 20.0),
        ({}, "Too many requests", None),
    ],
)
def test_the_wait_is_read_from_headers_else_from_words(
    headers: dict[str, str], message: str, wait_s: float | None
) -> None:
    failure = failure_of(429, {"error": {"message": message}}, headers)
    assert failure.kind is FailureKind.RATE_LIMIT
    assert failure.wait_s == (None if wait_s is None else pytest.approx(wait_s))


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (429, {"error": {"message": "quota", "code": "insufficient_quota"}}, FailureKind.QUOTA),
        (429, {"error": {"message": "quota", "type": "insufficient_quota"}}, FailureKind.QUOTA),
        (429, {"error": {"message": "You exceeded your current quota"}}, FailureKind.QUOTA),
        (402, {"error": {"message": "Insufficient Balance"}}, FailureKind.QUOTA),
        (
            429,
            {"error": {"message": "You exceeded your current quota. Please retry in 3s."}},
            FailureKind.RATE_LIMIT,
        ),
        (503, {"error": {"message": "overloaded"}}, FailureKind.PASSING),
        (408, {}, FailureKind.PASSING),
        (409, {}, FailureKind.PASSING),
        (403, {"error": "forbidden"}, FailureKind.SETTINGS),
        (404, {"detail": "Not Found"}, FailureKind.SETTINGS),
        (400, {"error": {"message": "x", "code": "content_filter"}}, FailureKind.CONTENT),
        (400, {"error": {"message": "Content Exists Risk"}}, FailureKind.CONTENT),
        (400, {"error": {"message": "x", "type": "data_inspection_failed"}}, FailureKind.CONTENT),
        (403, {"error": {"message": "Your input was flagged by moderation"}}, FailureKind.CONTENT),
        (403, {"error": {"message": "Account flagged as unsafe"}}, FailureKind.SETTINGS),
        (422, {"detail": [{"msg": "extra fields", "loc": ["body", "x"]}]}, FailureKind.UNSUPPORTED),
        (500, {"error": "response_format type must be text"}, FailureKind.UNSUPPORTED),
    ],
)
def test_an_error_is_told_by_status_code_and_words(
    status: int, body: object, kind: FailureKind
) -> None:
    assert failure_of(status, body).kind is kind


@pytest.mark.parametrize(
    ("status", "message", "more"),
    [
        (400, "prompt is too long: 210000 tokens > 200000 maximum", {}),
        (400, "too long", {"code": "context_length_exceeded"}),
        (400, "Invalid 'messages[1].content': string too long.", {}),
        (400, "This model's maximum context length is 4096 tokens, you requested 5000", {}),
        (400, "The decoder prompt (length 5000) is longer than the maximum model length", {}),
        (400, "the request exceeds the available context size, try increasing it",
         {"type": "exceed_context_size_error", "code": 400}),
        (500, "the request exceeds the available context size. try increasing it", {}),
        (500, "the input length exceeds the context length", {}),
        (400, "The number of tokens to keep is greater than the context length", {}),
        (422, "Input validation error: `inputs` must have less than 4095 tokens. Given: 5000", {}),
        (422, "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 and 4096", {}),
        (400, "The input token count (9) exceeds the maximum number of tokens allowed (8).", {}),
        (400, "Input is too long for requested model.", {}),
        (413, "Request Entity Too Large", {}),
        (413, "Request too large for model `m` on tokens per minute (TPM): Limit 6000",
         {"code": "rate_limit_exceeded"}),
        (429, "Request too large for m on tokens per min (TPM): Limit 10000, Requested 20000. The "
         "input or output tokens must be reduced.", {"code": "rate_limit_exceeded"}),
    ],
)  # fmt: skip
def test_a_refusal_for_length_is_told_from_all_others(
    status: int, message: str, more: dict[str, object]
) -> None:
    assert failure_of(status, {"error": {"message": message} | more}).kind is FailureKind.LENGTH


@pytest.mark.parametrize(
    ("body", "parameter"),
    [
        ({"error": {"message": "Unsupported value", "param": "temperature"}}, "temperature"),
        ({"error": {"message": "no", "param": "reasoning.effort"}}, "reasoning_effort"),
        ({"error": {"message": "no", "param": "response_format.type"}}, "response_format"),
        (
            {"error": {"message": "'max_tokens' is unknown, use 'max_completion_tokens'"}},
            "max_tokens",
        ),
        ({"detail": [{"loc": ["body", "chat_template_kwargs"]}]}, "chat_template_kwargs"),
        ({"error": "json_schema is not available here"}, "response_format"),
        ({"error": "bad request"}, None),
    ],
)
def test_the_parameter_an_error_is_about_is_found(body: object, parameter: str | None) -> None:
    assert failure_of(400, body).parameter == parameter


def test_values_that_the_server_would_take_are_read_from_its_words() -> None:
    message = (
        "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model. "
        "Supported values are: 'none', 'low', 'medium', and 'high'."
    )
    failure = failure_of(400, {"error": {"message": message, "param": "reasoning_effort"}})
    assert failure.accepted == ("none", "low", "medium", "high")


def test_an_error_that_echoes_the_request_is_told_without_it() -> None:
    fault = {"loc": ["body", "temperature"], "msg": "too low", "input": {"messages": "my secret"}}
    failure = failure_of(422, {"detail": [fault]})
    assert "body.temperature: too low" in failure.summary
    assert "my secret" not in failure.summary
    assert failure.parameter == "temperature"
