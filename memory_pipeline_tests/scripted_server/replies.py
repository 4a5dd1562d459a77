"""Replies as they go over the wire, good ones and those of a fault.

Belongs here: bodies, headers, damage. Does not: when a fault strikes (faults), answers (answers).
"""

import json
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

from memory_pipeline_tests.scripted_server.faults import Fault, FaultKind, error_body


@dataclass(frozen=True)
class Reply:
    """What is sent; `is_cut` announces the whole body and sends half."""

    status: int
    content: bytes
    headers: tuple[tuple[str, str], ...] = ()
    usage: dict[str, Any] = field(default_factory=dict)
    is_cut: bool = False


def json_reply(status: int, content: object, usage: dict[str, Any] | None = None) -> Reply:
    """The content as JSON."""
    return Reply(status, json.dumps(content).encode(), usage=usage or {})


def failed_reply(fault: Fault, key: str, model: str) -> Reply | None:
    """The reply of a fault that leaves no room for an answer."""
    kind = fault.kind
    if kind in (FaultKind.RATE_LIMIT, FaultKind.RATE_LIMIT_DATE):
        asked = f"{fault.seconds:g}"
        if kind is FaultKind.RATE_LIMIT_DATE:
            moment = datetime.now(UTC) + timedelta(seconds=fault.seconds)
            asked = format_datetime(moment, usegmt=True)
        body = error_body(
            "Rate limit reached", kind="requests", code="rate_limit_exceeded", param=None
        )
        reply = json_reply(429, body)
        return Reply(429, reply.content, headers=(("Retry-After", asked),))
    errors = {
        FaultKind.QUOTA: (429, "You exceeded your current quota", "insufficient_quota"),
        FaultKind.SERVER_ERROR: (500, "The server had an error", "server_error"),
        FaultKind.TOO_LONG: (
            400,
            "This model's maximum context length is exceeded",
            "context_length_exceeded",
        ),
        FaultKind.UNAUTHORIZED: (401, f"Incorrect API key provided: {key}", "invalid_api_key"),
        FaultKind.NOT_FOUND: (404, f"The model `{model}` does not exist", "model_not_found"),
    }
    if kind in errors:
        status, message, code = errors[kind]
        return json_reply(status, error_body(message, kind=code, code=code, param=None))
    if kind is FaultKind.PAGE:
        return Reply(200, b"<html><body>Sign in to the network</body></html>")
    return None


def damaged(reply: Reply, fault: Fault | None) -> Reply:
    """A good reply as it arrives under a fault, after the time the fault takes."""
    if fault is None:
        return reply
    if fault.kind is FaultKind.SLOW:
        time.sleep(fault.seconds)
    half = reply.content[: len(reply.content) // 2]
    if fault.kind is FaultKind.CUT_REPLY:
        return Reply(reply.status, half, usage=reply.usage)
    if fault.kind is FaultKind.DROP:
        return Reply(reply.status, reply.content, usage=reply.usage, is_cut=True)
    return reply


def message_of(text: str, fault: Fault | None) -> tuple[dict[str, Any], str]:
    """The message of a chat reply and its finish reason, spoiled by the fault if it says so."""
    kind = fault.kind if fault else None
    if kind is FaultKind.REFUSAL:
        refusal = "I'm sorry, but I can't help with that."
        return {"role": "assistant", "content": None, "refusal": refusal}, "stop"
    if kind is FaultKind.CUT_ANSWER:
        return {"role": "assistant", "content": text[: len(text) // 2]}, "length"
    if kind is FaultKind.GARBAGE:
        return {
            "role": "assistant",
            "content": "Sure! Here you go: {entities: [}} \ud83d ok",
        }, "stop"
    if kind is FaultKind.NOTHING:
        return {"role": "assistant", "content": ""}, "stop"
    return {"role": "assistant", "content": text}, "stop"
