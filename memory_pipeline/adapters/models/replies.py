"""Reading what an endpoint sends back with status 200, which need not be what was asked for.

Belongs here: chat and embedding replies as values. Does not: whether the text is a good answer.
"""

import base64
import binascii
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import httpx
import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError

from memory_pipeline.domain.model import Usage

_MOST_TOKENS: Final = 2**31 - 1


class UnreadableReplyError(ValueError):
    """The reply is cut, is no JSON, or lacks what the protocol promises."""


class NoChoiceError(UnreadableReplyError):
    """A chat completion without any choice: the model has nothing to say to this request."""


class ErrorInReplyError(UnreadableReplyError):
    """An error that a gateway sends with status 200; `error` is what it says."""

    def __init__(self, error: object) -> None:
        super().__init__(str(error)[:200])
        self.error = error


@dataclass(frozen=True)
class ChatReply:
    """The text of the first choice, why it ended, and the tokens, as far as they are told."""

    text: str
    finish_reason: str
    usage: Usage


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True)

    text: str | None = None


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True)

    content: str | list[_Part] | None = None
    refusal: str | None = None


class _Choice(BaseModel):
    model_config = ConfigDict(frozen=True)

    message: _Message
    finish_reason: str | None = None


class _Chat(BaseModel):
    model_config = ConfigDict(frozen=True)

    choices: list[_Choice]
    usage: Any = None


class _Item(BaseModel):
    model_config = ConfigDict(frozen=True)

    embedding: str | list[float]
    index: int | None = None


class _Embeddings(BaseModel):
    model_config = ConfigDict(frozen=True)

    data: list[_Item]
    usage: Any = None


def read_chat(response: httpx.Response) -> ChatReply:
    """The first choice of a chat completion. Raises `UnreadableReplyError`.

    What it says of tokens may be missing or wrong: that spoils no answer.
    """
    content = _json(response)
    try:
        reply = _Chat.model_validate(content)
    except ValidationError as error:
        raise _unreadable(error, content) from None
    if not reply.choices:
        raise NoChoiceError("it has no choices")
    choice = reply.choices[0]
    usage = _usage(reply.usage)
    if choice.message.refusal:
        return ChatReply(choice.message.refusal, "refusal", usage)
    text = choice.message.content
    if isinstance(text, list):
        text = "".join(part.text or "" for part in text)
    return ChatReply(text or "", choice.finish_reason or "unknown", usage)


def read_embeddings(
    response: httpx.Response, expected: int
) -> tuple[list[NDArray[np.float64]], Usage]:
    """As many vectors as texts were sent, in their order, from base64 or from numbers.

    Raises `UnreadableReplyError` when one is missing or holds something that is no number.
    """
    content = _json(response)
    try:
        reply = _Embeddings.model_validate(content)
    except ValidationError as error:
        raise _unreadable(error, content) from None
    if len(reply.data) != expected:
        raise UnreadableReplyError(f"it has {len(reply.data)} vectors for {expected} texts")
    vectors = [_vector(item.embedding) for item in _in_order(reply.data)]
    if len({len(vector) for vector in vectors}) > 1:
        raise UnreadableReplyError("its vectors differ in length")
    return vectors, _usage(reply.usage)


def _usage(told: object) -> Usage:
    """The tokens of a reply; what is not told, or is no count, is 0."""
    fields = told if isinstance(told, dict) else {}
    details = fields.get("prompt_tokens_details")
    cached = _count(details.get("cached_tokens")) if isinstance(details, dict) else 0
    prompt = _count(fields.get("prompt_tokens"))
    return Usage(
        prompt_tokens=prompt,
        cached_tokens=min(prompt, cached or _count(fields.get("prompt_cache_hit_tokens"))),
        completion_tokens=_count(fields.get("completion_tokens")),
    )


def _count(told: object) -> int:
    if not isinstance(told, int | float) or isinstance(told, bool):
        return 0
    return int(told) if math.isfinite(told) and 0 < told <= _MOST_TOKENS else 0


def _in_order(items: Sequence[_Item]) -> Sequence[_Item]:
    places = [item.index for item in items]
    if all(place is None for place in places):
        return items
    by_place = {item.index: item for item in items}
    if set(by_place) != set(range(len(items))):
        raise UnreadableReplyError("its indexes are no permutation of the texts")
    return [by_place[place] for place in range(len(items))]


def _vector(embedding: str | list[float]) -> NDArray[np.float64]:
    if isinstance(embedding, str):
        try:
            raw = base64.b64decode(embedding, validate=True)
            vector = np.frombuffer(raw, dtype="<f4").astype(np.float64)
        except (binascii.Error, ValueError):
            raise UnreadableReplyError("a vector is no base64 of 32-bit numbers") from None
    else:
        vector = np.array(embedding, dtype=np.float64)
    if vector.size == 0 or not np.isfinite(vector).all():
        raise UnreadableReplyError("a vector is empty or not finite")
    if not math.isfinite(_length(vector)):
        raise UnreadableReplyError("a vector is too long to be measured")
    return vector


def _length(vector: NDArray[np.float64]) -> float:
    with np.errstate(over="ignore"):
        return float(np.linalg.norm(vector))


def _json(response: httpx.Response) -> Any:
    try:
        return json.loads(response.text)
    except ValueError as error:
        raise UnreadableReplyError(f"it is no JSON ({error})") from None
    except RecursionError:
        raise UnreadableReplyError("it is nested too deeply") from None


def _unreadable(error: ValidationError, content: Any) -> UnreadableReplyError:
    """Where it deviates, or the error that some gateways send with status 200."""
    if isinstance(content, dict) and content.get("error"):
        return ErrorInReplyError(content["error"])
    first = error.errors()[0]
    return UnreadableReplyError(f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}")
