"""Reading what an endpoint sends back with status 200, which need not be what was asked for.

Belongs here: chat and embedding replies as values. Does not: whether the text is a good answer.
"""

import base64
import binascii
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import httpx
import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError

from memory_pipeline.domain.model import Usage


class UnreadableReplyError(ValueError):
    """The reply is cut, is no JSON, or lacks what the protocol promises."""


@dataclass(frozen=True)
class ChatReply:
    """The text of the first choice, why it ended, and the tokens, as far as they are told."""

    text: str
    finish_reason: str
    usage: Usage


class _PromptDetails(BaseModel):
    model_config = ConfigDict(frozen=True)

    cached_tokens: int | None = None


class _Usage(BaseModel):
    model_config = ConfigDict(frozen=True)

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _PromptDetails | None = None
    prompt_cache_hit_tokens: int | None = None

    def value(self) -> Usage:
        details = self.prompt_tokens_details
        cached = details.cached_tokens if details else None
        return Usage(
            prompt_tokens=self.prompt_tokens or 0,
            cached_tokens=cached or self.prompt_cache_hit_tokens or 0,
            completion_tokens=self.completion_tokens or 0,
        )


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
    usage: _Usage | None = None


class _Item(BaseModel):
    model_config = ConfigDict(frozen=True)

    embedding: str | list[float]
    index: int | None = None


class _Embeddings(BaseModel):
    model_config = ConfigDict(frozen=True)

    data: list[_Item]
    usage: _Usage | None = None


def read_chat(response: httpx.Response) -> ChatReply:
    """The first choice of a chat completion. Raises `UnreadableReplyError`."""
    content = _json(response)
    try:
        reply = _Chat.model_validate(content)
    except ValidationError as error:
        raise UnreadableReplyError(_shortly(error, content)) from None
    if not reply.choices:
        raise UnreadableReplyError("it has no choices")
    choice = reply.choices[0]
    usage = reply.usage.value() if reply.usage else Usage()
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
        raise UnreadableReplyError(_shortly(error, content)) from None
    if len(reply.data) != expected:
        raise UnreadableReplyError(f"it has {len(reply.data)} vectors for {expected} texts")
    vectors = [_vector(item.embedding) for item in _in_order(reply.data)]
    if len({len(vector) for vector in vectors}) > 1:
        raise UnreadableReplyError("its vectors differ in length")
    return vectors, reply.usage.value() if reply.usage else Usage()


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
    return vector


def _json(response: httpx.Response) -> Any:
    try:
        return json.loads(response.text)
    except ValueError as error:
        raise UnreadableReplyError(f"it is no JSON ({error})") from None


def _shortly(error: ValidationError, content: Any) -> str:
    """Where it deviates, or the error that some gateways send with status 200."""
    if isinstance(content, dict) and "error" in content:
        return str(content["error"])[:200]
    first = error.errors()[0]
    return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
