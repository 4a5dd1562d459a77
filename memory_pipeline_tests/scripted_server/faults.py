"""Faults on demand: what goes wrong, how often, on which path.

Belongs here: kinds, counting down, the wording real servers use. Does not: sending.
"""

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class FaultKind(StrEnum):
    """What a request gets instead of a good reply."""

    RATE_LIMIT = "rate-limit"  # 429 with Retry-After in seconds
    RATE_LIMIT_DATE = "rate-limit-date"  # 429 with Retry-After as an HTTP date
    QUOTA = "quota"  # 429 insufficient_quota
    SERVER_ERROR = "server-error"  # 500
    SLOW = "slow"  # a good reply, after `seconds`
    DROP = "drop"  # the connection is cut in mid-body
    CUT_REPLY = "cut-reply"  # 200 whose JSON ends too early
    PAGE = "page"  # 200 with an HTML page
    CUT_ANSWER = "cut-answer"  # a good reply whose answer ends too early (finish_reason length)
    REFUSAL = "refusal"  # a good reply whose message refuses
    GARBAGE = "garbage"  # a good reply whose answer is no JSON
    NOTHING = "nothing"  # a good reply whose answer is empty
    TOO_LONG = "too-long"  # 400 context_length_exceeded
    UNAUTHORIZED = "unauthorized"  # 401 that echoes the key
    NOT_FOUND = "not-found"  # 404 for the model


@dataclass(frozen=True)
class Fault:
    """One fault for the next `times` requests (None = all) whose path ends with `path`."""

    kind: FaultKind
    times: int | None = 1
    path: str = ""
    seconds: float = 1.0


class FaultPlan:
    """Hands out faults in the order given; safe to share between threads."""

    def __init__(self, faults: Iterable[Fault] = (), *, in_turn: Iterable[Fault] = ()) -> None:
        self._lock = threading.Lock()
        self._queue: list[tuple[Fault, int | None]] = [(fault, fault.times) for fault in faults]
        self._in_turn = tuple(in_turn)
        self._turn = 0

    def add(self, fault: Fault) -> None:
        """One more fault, after those planned."""
        with self._lock:
            self._queue.append((fault, fault.times))

    def next_for(self, path: str) -> Fault | None:
        """The fault of this request, if any; faults given `in_turn` go round for ever."""
        with self._lock:
            for place, (fault, left) in enumerate(self._queue):
                if path.endswith(fault.path):
                    if left is not None:
                        self._queue[place : place + 1] = [(fault, left - 1)] if left > 1 else []
                    return fault
            if not self._in_turn or path.endswith("/models"):
                return None
            self._turn += 1
            return self._in_turn[(self._turn - 1) % len(self._in_turn)]


def error_body(message: str, *, kind: str, code: str | None, param: str | None) -> dict[str, Any]:
    """An error as the protocol words it."""
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def refused_parameter(body: dict[str, Any], refused: frozenset[str]) -> dict[str, Any] | None:
    """The 400 of a server that does not know a part of the request, if it holds one."""
    form = body.get("response_format", {}).get("type")
    for name in sorted(refused):
        if form == name:
            message = f"response_format type '{name}' is not supported by this model"
            return error_body(
                message, kind="invalid_request_error", code=None, param="response_format"
            )
        if name in body:
            return error_body(
                f"Unsupported parameter: '{name}' is not supported with this model.",
                kind="invalid_request_error",
                code="unsupported_parameter",
                param=name,
            )
    return None
