"""What is made of replies with status 200 that say odd things of tokens, vectors and errors."""

import json
from typing import Any

import httpx
import pytest

from memory_pipeline.adapters.models.endpoint import Endpoint
from memory_pipeline.adapters.models.failures import FailureKind, classify_reply
from memory_pipeline.adapters.models.replies import (
    UnreadableReplyError,
    read_chat,
    read_embeddings,
)
from memory_pipeline.domain.model import Usage


def chat(usage: Any) -> httpx.Response:
    choice = {"message": {"content": "hello"}, "finish_reason": "stop"}
    return httpx.Response(200, text=json.dumps({"choices": [choice], "usage": usage}))


@pytest.mark.parametrize(
    ("told", "usage"),
    [
        ({"prompt_tokens": 10.5, "completion_tokens": 3}, (10, 0, 3)),
        ({"prompt_tokens": "ten", "completion_tokens": [3]}, (0, 0, 0)),
        ({"prompt_tokens": -5, "completion_tokens": 3}, (0, 0, 3)),
        ({"prompt_tokens": 10**30, "completion_tokens": 3}, (0, 0, 3)),
        ({"prompt_tokens": True, "prompt_tokens_details": "none"}, (0, 0, 0)),
        ({"prompt_tokens": 5, "prompt_cache_hit_tokens": 9}, (5, 5, 0)),
        ([1, 2], (0, 0, 0)),
        ("free", (0, 0, 0)),
    ],
)
def test_odd_counts_of_tokens_spoil_no_answer(told: Any, usage: tuple[int, int, int]) -> None:
    reply = read_chat(chat(told))
    assert reply.text == "hello"
    prompt, cached, completion = usage
    assert reply.usage == Usage(
        prompt_tokens=prompt, cached_tokens=cached, completion_tokens=completion
    )


def test_a_body_nested_too_deeply_to_read_is_no_answer() -> None:
    with pytest.raises(UnreadableReplyError, match="nested too deeply"):
        read_chat(httpx.Response(200, text="[" * 200_000))


def test_a_vector_whose_length_is_beyond_all_numbers_is_no_answer() -> None:
    huge = {"data": [{"index": 0, "embedding": [1e308] * 4}]}
    with pytest.raises(UnreadableReplyError, match="too long to be measured"):
        read_embeddings(httpx.Response(200, text=json.dumps(huge)), 1)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"message": "Insufficient credits", "code": 402}, FailureKind.QUOTA),
        ({"message": "you are out of credits"}, FailureKind.QUOTA),
        ({"message": "slow down", "code": "429"}, FailureKind.RATE_LIMIT),
        ({"message": "overloaded", "code": 503}, FailureKind.PASSING),
        ({"message": "flagged by moderation", "code": 403}, FailureKind.CONTENT),
        ("something odd", FailureKind.PASSING),
    ],
)
def test_an_error_inside_a_good_reply_counts_as_with_its_own_status(
    error: object, kind: FailureKind
) -> None:
    with pytest.raises(UnreadableReplyError) as raised:
        read_chat(httpx.Response(200, text=json.dumps({"error": error})))
    endpoint = Endpoint(base_url="http://127.0.0.1:1/v1")
    assert classify_reply(raised.value, endpoint, "some-model").kind is kind
