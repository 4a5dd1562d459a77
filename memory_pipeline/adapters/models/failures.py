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
from memory_pipeline.adapters.models.replies import (
    ErrorInReplyError,
    NoChoiceError,
    UnreadableReplyError,
)
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
    `is_answer_counted` says that a length includes the longest answer asked for, `is_unread` that
    the request was sent, and may be charged for, without an answer that could be read, `is_empty`
    that what came holds no answer at all.
    """

    kind: FailureKind
    summary: str
    wait_s: float | None = None
    parameter: str | None = None
    code: str = ""
    accepted: tuple[str, ...] = ()
    is_answer_counted: bool = False
    is_unread: bool = False
    is_empty: bool = False

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
CONTENT_FILTER: Final = "content_filter"
"""Why an answer is missing, where the server gives no reason of a known name for its refusal."""
_CONTENT_CODES: Final = frozenset(
    {
        CONTENT_FILTER, "content_policy_violation", "invalid_prompt", "data_inspection_failed",
        "DataInspectionFailed", "moderation_blocked", "content_blocked", "PROHIBITED_CONTENT",
        "sensitive_content",
    }
)  # fmt: skip
_CONTENT_WORDS: Final = re.compile(
    r"content exists risk|flagged (?:by|as|for)\b|\bmoderation\b"
    r"|(?:inappropriate|prohibited|sensitive|unsafe|harmful) (?:content|words?|language|text)"
    r"|content (?:management )?(?:policy|filter)|content was (?:blocked|refused|filtered)"
    r"|safety (?:system|filter|settings)",
    re.IGNORECASE,
)
# A door that is closed to all of an account's requests, whatever words it is closed with.
_ACCOUNT_WORDS: Final = re.compile(
    r"\b(?:account|organi[sz]ation|project|api key|country|region|permission|access denied)\b",
    re.IGNORECASE,
)
_TELLING_CODES: Final = _QUOTA_CODES | _CONTENT_CODES
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
_AMOUNT: Final = (
    r"(\d+(?:\.\d+)?)\s*"
    r"(ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?)(?![a-z])"
)
_WAIT_WORDS: Final = re.compile(
    r"(?:try again|retry)(?:ing)? (?:in|after) (?:about |approximately )?"
    rf"((?:{_AMOUNT}(?:,\s*|\s+and\s+|\s*))+|\d+(?:\.\d+)?)",
    re.IGNORECASE,
)
_UNIT_S: Final = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
_SUMMARY_CHARS: Final = 300
_READ_CHARS: Final = 4_000
_TOO_LARGE: Final = 413
_UNCLEAR_REQUEST: Final = (400, _TOO_LARGE, 415, 422)
_PASSING_STATUS: Final = (408, 409, 425)
_REFUSING: Final = (400, 403, 422, 451)


def classify(error: openai.APIError, endpoint: Endpoint, model: str) -> Failure:
    """The failure behind an error of the client library."""
    where = f"the model endpoint {endpoint.base_url}"
    if isinstance(error, openai.APITimeoutError):
        text = f"{where} did not answer within {endpoint.timeout_s:g} s"
        return Failure(
            FailureKind.PASSING,
            f"{text} ({environment.MODEL_TIMEOUT} sets the limit)",
            is_unread=isinstance(error.__cause__, httpx.ReadTimeout),
        )
    if not isinstance(error, openai.APIStatusError):
        cause = error.__cause__
        reason = endpoint.redact(f"{type(cause).__name__}: {cause}" if cause else str(error))
        text = f"can't reach {where} ({reason[:_SUMMARY_CHARS]}); see {environment.BASE_URL}"
        return Failure(FailureKind.PASSING, text)
    said = _Said.of(error, endpoint)
    prefix = f"{where} answers {error.status_code} for model {model}"
    return _by_status(error.status_code, said, prefix, error.response.headers)


def classify_reply(error: UnreadableReplyError, endpoint: Endpoint, model: str) -> Failure:
    """The failure behind a reply with status 200 that holds no answer.

    An error of a gateway inside of it counts as if it had come with the status it names.
    """
    where = f"the model endpoint {endpoint.base_url}"
    text = endpoint.redact(f"{where} sent no usable reply: {error}")
    if not isinstance(error, ErrorInReplyError):
        is_empty = isinstance(error, NoChoiceError)
        return Failure(FailureKind.PASSING, text, is_unread=True, is_empty=is_empty)
    body = error.error if isinstance(error.error, dict) else {"message": error.error}
    said = _Said.read(body, str(error.error), endpoint)
    status = _status_in(body)
    if status is not None:
        prefix = f"{where} answers 200 with error {status} for model {model}"
        return _by_status(status, said, prefix, httpx.Headers())
    if said.is_of_quota():
        return Failure(FailureKind.QUOTA, text, code=said.code)
    if said.is_of_content():
        return Failure(FailureKind.CONTENT, text, code=said.content_code())
    return Failure(FailureKind.PASSING, text, is_unread=True)


def _status_in(body: dict[str, Any]) -> int | None:
    for name in ("code", "status", "status_code"):
        told = str(body.get(name, ""))
        if re.fullmatch(r"[45]\d\d", told):
            return int(told)
    return None


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
        return cls.read(fields, str(body or error.response.text), endpoint)

    @classmethod
    def read(cls, fields: dict[str, Any], whole: str, endpoint: Endpoint) -> "_Said":
        """From the fields of an error; `whole` is shown where none of them is a message."""
        message = fields.get("message") or fields.get("detail") or fields.get("error")
        text = _in_words(message) if message else whole
        code = str(fields.get("code") or fields.get("type") or "")
        kind = str(fields.get("type") or "")
        return cls(
            message=endpoint.redact(" ".join(text.split()))[:_READ_CHARS],
            code=next((item for item in (code, kind) if item in _TELLING_CODES), code),
            parameter=str(fields.get("param") or ""),
        )

    def is_of_quota(self) -> bool:
        """Whether it says that money or quota is used up."""
        return self.code in _QUOTA_CODES or _QUOTA_WORDS.search(self.message) is not None

    def is_of_content(self) -> bool:
        """Whether it refuses this one text for what it says."""
        if self.code in _CONTENT_CODES:
            return True
        is_said = _CONTENT_WORDS.search(self.message) is not None
        return is_said and not _ACCOUNT_WORDS.search(self.message)

    def content_code(self) -> str:
        """The reason of such a refusal, under a known name."""
        return self.code if self.code in _CONTENT_CODES else CONTENT_FILTER

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
    if said.code in _CONTENT_CODES or (status in _REFUSING and said.is_of_content()):
        return Failure(FailureKind.CONTENT, text, code=said.content_code())
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
    if found is None:
        return None
    amounts = re.findall(_AMOUNT, found[1], re.IGNORECASE)
    if not amounts:
        return float(found[1])  # without a unit it means seconds
    return sum(float(number) * _seconds_of(unit.lower()) for number, unit in amounts)


def _seconds_of(unit: str) -> float:
    is_milli = unit == "ms" or unit.startswith("milli")
    return 0.001 if is_milli else _UNIT_S[unit[0]]
