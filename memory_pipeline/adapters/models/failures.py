"""What went wrong with one request, as a value: its kind, a text safe to show, how long to wait.

Belongs here: reading HTTP errors of OpenAI-compatible servers. Does not: what is done about them.
Nothing here keeps the original error: it holds the request with its key.
"""

import email.utils
import re
import time
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import httpx
import openai

from memory_pipeline.adapters import environment
from memory_pipeline.adapters.models.endpoint import Endpoint, ModelConfigurationError
from memory_pipeline.domain.model import BudgetExhaustedError, ModelUnavailableError


class FailureKind(StrEnum):
    """What can be done about a failure."""

    PASSING = "passing"  # try again
    RATE_LIMIT = "rate_limit"  # wait, then try again; not the request's fault
    QUOTA = "quota"  # money or quota is used up
    SETTINGS = "settings"  # key, address or model name is wrong
    UNSUPPORTED = "unsupported"  # the server does not know a part of the request
    CONTENT = "content"  # the text is refused for what it says
    LENGTH = "length"  # the text is longer than the model or its limits take


@dataclass(frozen=True)
class Failure:
    """One failed try. `wait_s` is what the server asks for; `parameter` what it names as unknown.

    `code` is the server's short reason and `accepted` the values it would take instead;
    `is_answer_counted` says that a length includes the longest answer asked for.
    """

    kind: FailureKind
    summary: str
    wait_s: float | None = None
    parameter: str | None = None
    code: str = ""
    accepted: tuple[str, ...] = ()
    is_answer_counted: bool = False

    def to_error(self) -> RuntimeError:
        """The exception that ends the call, naming the endpoint and never the key."""
        if self.kind is FailureKind.QUOTA:
            return BudgetExhaustedError(self.summary)
        if self.kind in (FailureKind.PASSING, FailureKind.RATE_LIMIT):
            return ModelUnavailableError(self.summary)
        return ModelConfigurationError(self.summary)


_QUOTA_CODES: Final = frozenset(
    {
        "insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "quota_exceeded",
        "insufficient_balance", "insufficient_funds", "credit_balance_too_low",
    }
)  # fmt: skip
_QUOTA_WORDS: Final = re.compile(
    r"exceeded your current quota|insufficient (?:quota|balance|credit|funds)|credit balance"
    r"|billing|out of credits", re.IGNORECASE,
)  # fmt: skip
_CONTENT_CODES: Final = frozenset({"content_filter", "content_policy_violation", "invalid_prompt"})
_LENGTH_CODES: Final = frozenset(
    {
        "context_length_exceeded", "string_above_max_length", "exceed_context_size_error",
        "request_too_large",
    }
)  # fmt: skip
_TOO_LONG: Final = re.compile(
    r"context[ _](?:length|size|window)|too many tokens|maximum (?:input|model) length"
    r"|max_model_len|(?:prompt|input|request) is too (?:long|large)"
    r"|max_new_tokens` must be|must have less than \d+ tokens|request too large|string too long"
    r"|exceeds the maximum number of (?:input )?tokens",
    re.IGNORECASE,
)  # fmt: skip
_ANSWER_COUNTED: Final = re.compile(
    r"in the completion|max_(?:completion_|new_)?tokens|output tokens requested", re.IGNORECASE
)
# Said with a status of another meaning: what no later try can change.
_SURELY_TOO_LONG: Final = re.compile(
    r"exceed\w*\b.{0,40}\bcontext|context (?:length|size|window).{0,20}\bexceed"
    r"|request too large|tokens must be reduced",
    re.IGNORECASE,
)  # fmt: skip
_FORM_WORDS: Final = re.compile(
    r"response_format|json_schema|json_object|structured output|guided|grammar|schema",
    re.IGNORECASE,
)
_PARAMETERS: Final = (
    "chat_template_kwargs", "enable_thinking", "reasoning_effort", "response_format",
    "max_completion_tokens", "max_tokens", "temperature", "dimensions", "encoding_format",
)  # fmt: skip
_WAIT_WORDS: Final = re.compile(
    r"(?:try again|retry)(?:ing)? (?:in|after) "
    r"(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)\s*(ms|s|second))?",
    re.IGNORECASE,
)
_SUMMARY_CHARS: Final = 300
_READ_CHARS: Final = 4_000
_TOO_LARGE: Final = 413
_UNCLEAR_REQUEST: Final = (400, _TOO_LARGE, 415, 422)
_PASSING_STATUS: Final = (408, 409, 425)


def classify(error: openai.APIError, endpoint: Endpoint, model: str) -> Failure:
    """The failure behind an error of the client library."""
    where = f"the model endpoint {endpoint.base_url}"
    if isinstance(error, openai.APITimeoutError):
        text = f"{where} did not answer within {endpoint.timeout_s:g} s"
        return Failure(FailureKind.PASSING, f"{text} ({environment.MODEL_TIMEOUT} sets the limit)")
    if not isinstance(error, openai.APIStatusError):
        cause = error.__cause__
        reason = endpoint.redact(f"{type(cause).__name__}: {cause}" if cause else str(error))
        text = f"can't reach {where} ({reason[:_SUMMARY_CHARS]}); see {environment.BASE_URL}"
        return Failure(FailureKind.PASSING, text)
    said = _Said.of(error, endpoint)
    prefix = f"{where} answers {error.status_code} for model {model}"
    return _by_status(error.status_code, said, prefix, error.response.headers)


@dataclass(frozen=True)
class _Said:
    """What the body of an error says, already free of keys."""

    message: str
    code: str
    parameter: str

    @classmethod
    def of(cls, error: openai.APIStatusError, endpoint: Endpoint) -> "_Said":
        body: Any = error.body
        fields: dict[str, Any] = body if isinstance(body, dict) else {}
        message = fields.get("message") or fields.get("detail") or fields.get("error")
        text = _in_words(message) if message else str(body or error.response.text)
        code = str(fields.get("code") or fields.get("type") or "")
        kind = str(fields.get("type") or "")
        return cls(
            message=endpoint.redact(" ".join(text.split()))[:_READ_CHARS],
            code=next((item for item in (code, kind) if item in _QUOTA_CODES), code),
            parameter=str(fields.get("param") or ""),
        )

    def names(self) -> str | None:
        """The parameter of ours that the error is about."""
        named = self.parameter.replace("reasoning.effort", "reasoning_effort")
        for parameter in _PARAMETERS:
            if named.startswith(parameter):
                return parameter
        places = {name: self.message.find(name) for name in _PARAMETERS if name in self.message}
        if places:
            return min(places, key=lambda name: places[name])
        return "response_format" if _FORM_WORDS.search(self.message) else None


def _in_words(message: Any) -> str:
    """The text of an error; of a list of faults their places and words.

    What else is in such a list may be the whole request, which belongs in no message.
    """
    if not isinstance(message, list):
        return str(message)
    faults = (fault for fault in message if isinstance(fault, dict))
    return "; ".join(
        f"{'.'.join(str(step) for step in fault.get('loc') or ())}: {fault.get('msg', '')}"
        for fault in faults
    )


def _by_status(status: int, said: _Said, prefix: str, headers: httpx.Headers) -> Failure:
    text = f"{prefix}: {said.message[:_SUMMARY_CHARS]}"
    wait_s = _wait_asked(headers, said.message)
    if status in (401, 403):
        return Failure(FailureKind.SETTINGS, f"{text}. Check {environment.API_KEY}")
    if status == 402:
        return Failure(FailureKind.QUOTA, text)
    if (status == 429 or status >= 500) and _SURELY_TOO_LONG.search(said.message):
        return Failure(FailureKind.LENGTH, text, code=said.code)
    if status == 429:
        is_quota = said.code in _QUOTA_CODES or (
            wait_s is None and _QUOTA_WORDS.search(said.message) is not None
        )
        kind = FailureKind.QUOTA if is_quota else FailureKind.RATE_LIMIT
        return Failure(kind, text, wait_s=wait_s, code=said.code)
    is_server_fault = status >= 500 or status in _PASSING_STATUS
    if is_server_fault and not ("response_format" in said.message or "json_schema" in said.message):
        return Failure(FailureKind.PASSING, text, wait_s=wait_s)
    if status in _UNCLEAR_REQUEST or is_server_fault:
        return _refused_request(status, said, text)
    return Failure(
        FailureKind.SETTINGS,
        f"{text}. Check {environment.BASE_URL} and the model names "
        f"({environment.FAST_MODEL}, {environment.STRONG_MODEL}, {environment.EMBEDDING_MODEL})",
    )


def _refused_request(status: int, said: _Said, text: str) -> Failure:
    if said.code in _CONTENT_CODES:
        return Failure(FailureKind.CONTENT, text, code=said.code)
    if status == _TOO_LARGE or said.code in _LENGTH_CODES or _TOO_LONG.search(said.message):
        is_answer_counted = _ANSWER_COUNTED.search(said.message) is not None
        return Failure(
            FailureKind.LENGTH, text, code=said.code, is_answer_counted=is_answer_counted
        )
    listed = said.message.partition("upported values are")[2]
    return Failure(
        FailureKind.UNSUPPORTED,
        text,
        parameter=said.names(),
        code=said.code,
        accepted=tuple(re.findall(r"'(\w+)'", listed)),
    )


def _wait_asked(headers: httpx.Headers, message: str) -> float | None:
    """Seconds the server asks to wait: from its headers, in seconds or as a date, or its words."""
    for name, unit in (("retry-after-ms", 1_000.0), ("retry-after", 1.0)):
        try:
            return max(0.0, float(headers[name]) / unit)
        except (KeyError, ValueError):
            continue
    try:
        moment = email.utils.parsedate_to_datetime(headers.get("retry-after", ""))
        return max(0.0, moment.timestamp() - time.time())
    except (ValueError, OverflowError):
        return _wait_in_words(message)


def _wait_in_words(message: str) -> float | None:
    found = _WAIT_WORDS.search(message)
    if found is None or not any(found.groups()):
        return None
    hours, minutes, amount, unit = found.groups()
    seconds = float(amount or 0) / (1_000 if unit and unit.lower() == "ms" else 1)
    return int(hours or 0) * 3_600 + int(minutes or 0) * 60 + seconds
