"""One request to an endpoint: paced, timed, tried again where that can help.

Belongs here: the client library, retries. Does not: what a request says (abilities, the ports)
and what a failure means to the run.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Generic, TypeVar

import httpx
import openai
from tenacity import RetryCallState, Retrying, retry_if_result
from tenacity.wait import wait_random_exponential

from memory_pipeline.adapters.models.endpoint import Endpoint
from memory_pipeline.adapters.models.failures import (
    Failure,
    FailureKind,
    classify,
    classify_reply,
)
from memory_pipeline.adapters.models.pacing import pace_of
from memory_pipeline.adapters.models.replies import UnreadableReplyError

T = TypeVar("T")

_LONGEST_BACKOFF_S: Final = 20.0
# A server that keeps saying "at once" is asked ever more slowly from here on.
_TRIES_AT_ITS_WORD: Final = 3
_CONNECT_TIMEOUT_S: Final = 10.0
_NO_KEY: Final = "none"


@dataclass(frozen=True)
class Reply(Generic[T]):
    """What was read from a good answer, and how long the endpoint took for it."""

    content: T
    latency_ms: int


def _nothing() -> None:
    """Nobody counts."""


class Caller:
    """Sends requests to one endpoint; safe to share between threads, to be made after a fork."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._pace = pace_of(endpoint.base_url, endpoint.concurrency)
        self._lock = threading.Lock()
        self._opened: openai.OpenAI | None = None

    def post(
        self,
        path: str,
        body: Mapping[str, Any],
        read: Callable[[httpx.Response], T],
        *,
        on_unread: Callable[[], None] = _nothing,
        is_single: bool = False,
    ) -> Reply[T] | Failure:
        """The reply as `read` understands it, or the failure that remains after all tries.

        `on_unread` is called after each try that was sent without an answer that could be read,
        and what it raises ends the call; `is_single` allows one failed try only.
        """
        attempts = 1 if is_single else self.endpoint.attempts
        patience = _Patience(
            self.endpoint.model_copy(update={"attempts": attempts}), self._pace.hold
        )

        def ask() -> Reply[T] | Failure:
            outcome = self._try(path, body, read)
            if isinstance(outcome, Failure) and outcome.is_unread:
                on_unread()
            return outcome

        retrying = Retrying(
            retry=retry_if_result(_may_pass),
            wait=patience.wait_for,
            stop=patience.is_over,
            retry_error_callback=patience.last_word,
        )
        outcome: Reply[T] | Failure = retrying(ask)
        return outcome

    def close(self) -> None:
        """Close the connections; the next request opens others."""
        with self._lock:
            opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()

    def _try(
        self, path: str, body: Mapping[str, Any], read: Callable[[httpx.Response], T]
    ) -> Reply[T] | Failure:
        with self._pace.turn():
            started = time.monotonic()
            try:
                response = self._client().post(path, cast_to=httpx.Response, body=dict(body))
                content = read(response)
            except openai.APIError as error:
                return classify(error, self.endpoint, str(body["model"]))
            except UnreadableReplyError as error:
                return classify_reply(error, self.endpoint, str(body["model"]))
        return Reply(content, latency_ms=round((time.monotonic() - started) * 1_000))

    def _client(self) -> openai.OpenAI:
        with self._lock:
            if self._opened is None:
                key = self.endpoint.api_key
                self._opened = openai.OpenAI(
                    api_key=key.get_secret_value() if key else _NO_KEY,
                    base_url=self.endpoint.base_url,
                    timeout=httpx.Timeout(self.endpoint.timeout_s, connect=_CONNECT_TIMEOUT_S),
                    # Tries are counted here, where a pause holds for every thread.
                    max_retries=0,
                )
            return self._opened


def _may_pass(outcome: object) -> bool:
    return isinstance(outcome, Failure) and outcome.kind in (
        FailureKind.PASSING,
        FailureKind.RATE_LIMIT,
    )


class _Patience:
    """How often and how long one request is tried; rate limits cost time, not tries."""

    def __init__(self, endpoint: Endpoint, hold: Callable[[float], None]) -> None:
        self._endpoint = endpoint
        self._hold = hold
        self._failed = 0
        self._waited_s = 0.0
        self._backoff = wait_random_exponential(
            multiplier=endpoint.backoff_s, max=_LONGEST_BACKOFF_S
        )

    def wait_for(self, state: RetryCallState) -> float:
        """Seconds this thread sleeps; what the server asks for holds all threads instead."""
        failure = _failure_of(state)
        backoff = float(self._backoff(state))
        if failure.kind is FailureKind.PASSING:
            self._failed += 1
            if failure.wait_s is None:
                return backoff
        pause = failure.wait_s or backoff
        if state.attempt_number > _TRIES_AT_ITS_WORD:
            pause = max(pause, backoff)
        self._waited_s += pause
        if self._waited_s <= self._endpoint.patience_s:
            self._hold(pause)
        return 0.0

    def is_over(self, state: RetryCallState) -> bool:
        """Whether the last failure stands."""
        is_patient = self._waited_s <= self._endpoint.patience_s
        return self._failed >= self._endpoint.attempts or not is_patient

    def last_word(self, state: RetryCallState) -> Failure:
        """The failure that stands; a limit that lasts longer than we wait is a quota."""
        failure = _failure_of(state)
        asked = failure.wait_s or 0.0
        if failure.kind is FailureKind.RATE_LIMIT and asked > self._endpoint.patience_s:
            text = f"{failure.summary} (asks to wait {asked:.0f} s)"
            return replace(failure, kind=FailureKind.QUOTA, summary=text)
        return replace(failure, summary=f"{failure.summary} (tried {state.attempt_number} times)")


def _failure_of(state: RetryCallState) -> Failure:
    failure = state.outcome.result() if state.outcome else None
    if not isinstance(failure, Failure):
        raise TypeError(f"only failures are tried again, not {type(failure).__name__}")
    return failure
