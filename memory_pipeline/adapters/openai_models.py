"""Chat models behind OpenAI-compatible endpoints: the ChatModel port over HTTP.

Belongs here: what a chat request looks like on the wire. Does not: retries and limits
(adapters/models), the wording of a question (prompts), storing answers (adapters/answer_store).
"""

import json
import logging
from functools import cache
from importlib.resources import files
from typing import Any, Final

from memory_pipeline.adapters import environment
from memory_pipeline.adapters.models.abilities import (
    Abilities,
    AnswerForm,
    learn,
    learned,
    lesser,
    reasoning_switch,
)
from memory_pipeline.adapters.models.budget import Budget
from memory_pipeline.adapters.models.calls import Caller, Reply
from memory_pipeline.adapters.models.encodable import encodable
from memory_pipeline.adapters.models.endpoint import Endpoint, UnansweredRequestError
from memory_pipeline.adapters.models.failures import Failure, FailureKind
from memory_pipeline.adapters.models.replies import ChatReply, read_chat
from memory_pipeline.domain.model import BudgetExhaustedError, ModelAnswer, ModelRequest
from memory_pipeline.stages.length_limit import mark_length
from memory_pipeline.stages.windows import estimate_tokens

log = logging.getLogger(__name__)

SCHEMA_WORDING: Final = "schema_in_words.v1.md"
TOO_LONG: Final = "context_length_exceeded"
"""Why an answer ended, where the request or its answer is too long for the model."""
NO_ANSWER: Final = "no_choices"
"""Why an answer is empty, where the server never gave a choice."""
_PROBE_SYSTEM: Final = "Answer in the form asked for, with nothing in it."
_PROBE_USER: Final = "Hello."

_LIMITS: Final = ("max_tokens", "max_completion_tokens")
_CUT_OFF: Final = frozenset({"length", "max_tokens"})
_ADVICE: Final = (
    f"a model with a larger context helps ({environment.FAST_MODEL}, {environment.STRONG_MODEL}), "
    f"or shorter episodes, by {environment.SETTING_PREFIX}EPISODE_MAX_TOKENS before an import"
)
_OPENAI_HOSTS: Final = ("api.openai.com", ".openai.azure.com")


class OpenAiChatModel:
    """Asks any model of one endpoint; safe to share between threads.

    Without a budget it counts what is spent and never stops.
    """

    def __init__(self, endpoint: Endpoint, *, budget: Budget | None = None) -> None:
        self.endpoint = endpoint
        self.budget = budget if budget is not None else Budget()
        self._caller = Caller(endpoint)

    def complete(self, request: ModelRequest) -> ModelAnswer:
        """The answer to one request, its shape enforced as far as the server can.

        A text that the server refuses for what it says or for its length is an empty answer with
        the reason in `finish_reason`, so that one such episode stops no run, and so is one without
        a choice; an answer that a limit in length ended or prevented is marked
        (stages/length_limit).

        Raises `ModelUnavailableError`, as `UnansweredRequestError` when the endpoint answers a
        harmless request of the same form and never this one, `BudgetExhaustedError` and
        `ModelConfigurationError` (key, address or model name are wrong).
        """
        abilities = learned(self.endpoint, request.model)
        while True:
            body = chat_body(request, self.endpoint, abilities)
            outcome = self._ask_with_room(request, body)
            if isinstance(outcome, ModelAnswer):
                learn(self.endpoint, request.model, abilities)
                return outcome
            empty = _without_text(outcome)
            if empty is not None:
                return empty
            next_try = None
            if outcome.kind is FailureKind.UNSUPPORTED:
                next_try = lesser(abilities, outcome, body)
            if next_try is None:
                return self._last_try(request, abilities, outcome)
            level = logging.INFO if next_try.form is abilities.form else logging.WARNING
            log.log(level, "%s: asking again with less", outcome.summary)
            abilities = next_try

    def close(self) -> None:
        """Close the connections to the endpoint."""
        self._caller.close()

    def _last_try(
        self, request: ModelRequest, abilities: Abilities, failure: Failure
    ) -> ModelAnswer:
        """The answer to one more try, when the endpoint answers others; else what `failure` means.

        An outage may have ended in between: at fault is only a text that fails again then.
        """
        if failure.kind not in (FailureKind.PASSING, FailureKind.UNSUPPORTED):
            raise self._final(failure)
        probe = request.model_copy(update={"system": _PROBE_SYSTEM, "user": _PROBE_USER})
        body = chat_body(probe, self.endpoint, abilities)
        if isinstance(self._ask(probe, body, is_single=True), Failure):
            raise self._final(failure)
        again = self._ask(request, chat_body(request, self.endpoint, abilities), is_single=True)
        if isinstance(again, ModelAnswer):
            return again
        empty = _without_text(again)
        if empty is not None:
            return empty
        if again.kind not in (FailureKind.PASSING, FailureKind.UNSUPPORTED):
            raise self._final(again)
        raise UnansweredRequestError(
            f"{failure.summary}; it answers other requests, so this one's text is at fault"
        )

    def _ask_with_room(self, request: ModelRequest, body: dict[str, Any]) -> ModelAnswer | Failure:
        """As `_ask`; without a limit where prompt and longest answer are too long together."""
        outcome = self._ask(request, body)
        if isinstance(outcome, Failure) and outcome.is_answer_counted:
            without = {name: value for name, value in body.items() if name not in _LIMITS}
            return self._ask(request, without) if without != body else outcome
        return outcome

    def _ask(
        self, request: ModelRequest, body: dict[str, Any], *, is_single: bool = False
    ) -> ModelAnswer | Failure:
        expected = sum(estimate_tokens(message["content"]) for message in body["messages"])
        if "response_format" in body:
            expected += estimate_tokens(json.dumps(body["response_format"]))
        reservation = self.budget.reserve(request.model, expected, request.max_tokens)
        outcome: Reply[ChatReply] | Failure | None = None
        try:
            outcome = self._caller.post(
                "/chat/completions",
                body,
                read_chat,
                on_unread=lambda: self.budget.charge_unread(reservation),
                is_single=is_single,
            )
        finally:
            if not isinstance(outcome, Reply):
                self.budget.release(reservation)
        if isinstance(outcome, Failure):
            return outcome
        reply = outcome.content
        text = self.endpoint.redact_key(reply.text)
        if reply.finish_reason.lower() in _CUT_OFF:
            text = mark_length(text, f"the context or answer length was not enough; {_ADVICE}")
        return ModelAnswer(
            text=text,
            finish_reason=reply.finish_reason,
            usage=self.budget.settle(reservation, reply.usage),
            latency_ms=outcome.latency_ms,
        )

    def _final(self, failure: Failure) -> RuntimeError:
        if failure.kind is FailureKind.QUOTA:
            return BudgetExhaustedError(f"{failure.summary}; this run spent {self.budget.spent}")
        return failure.to_error()


def _without_text(failure: Failure) -> ModelAnswer | None:
    """The empty answer that a refusal of this one text amounts to; None for other failures."""
    if failure.kind is FailureKind.CONTENT:
        answer = ModelAnswer(text="", finish_reason=failure.code)
    elif failure.kind is FailureKind.LENGTH:
        words = f"the context length is not enough: {failure.summary}; {_ADVICE}"
        answer = ModelAnswer(text=mark_length("", words), finish_reason=TOO_LONG)
    elif failure.is_empty:
        answer = ModelAnswer(text="", finish_reason=NO_ANSWER)
    else:
        return None
    log.warning("%s", failure.summary)
    return answer


def chat_body(request: ModelRequest, endpoint: Endpoint, abilities: Abilities) -> dict[str, Any]:
    """The request as it goes over the wire to a server with these abilities.

    What is equal in all requests of a prompt comes first and keeps its bytes, so that the
    provider's prefix cache applies.
    """
    system = request.system
    if abilities.form is not AnswerForm.JSON_SCHEMA:
        schema = json.dumps(request.json_schema, ensure_ascii=False)
        system = f"{system.rstrip()}\n\n{_schema_wording()}\n{schema}"
    body: dict[str, Any] = {
        "model": request.model,
        "messages": [
            {"role": "system", "content": encodable(system)},
            {"role": "user", "content": encodable(request.user)},
        ],
        **_response_format(request, abilities.form),
        **_token_limit(request, endpoint, abilities),
        **reasoning_switch(endpoint, request.model, abilities),
    }
    if "temperature" not in abilities.dropped:
        body["temperature"] = request.temperature
    return body


def _response_format(request: ModelRequest, form: AnswerForm) -> dict[str, Any]:
    if form is AnswerForm.JSON_SCHEMA:
        schema = {"name": request.schema_name, "strict": True, "schema": request.json_schema}
        return {"response_format": {"type": "json_schema", "json_schema": schema}}
    if form is AnswerForm.JSON_OBJECT:
        return {"response_format": {"type": "json_object"}}
    return {}


def _token_limit(request: ModelRequest, endpoint: Endpoint, abilities: Abilities) -> dict[str, Any]:
    names = list(_LIMITS)
    if endpoint.host.endswith(_OPENAI_HOSTS):
        names.reverse()
    wanted = [name for name in names if name not in abilities.dropped]
    return {wanted[0]: request.max_tokens} if wanted else {}


@cache
def _schema_wording() -> str:
    folder = files("memory_pipeline.adapters.models")
    return folder.joinpath(SCHEMA_WORDING).read_text(encoding="utf-8").strip()
