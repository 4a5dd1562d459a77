"""What is asked of a language model and what comes back, as values (spec G3).

Belongs here: requests with their digest, answers, usage, the port of a chat model.
Does not: HTTP (adapters/openai_models), storing answers (adapters/answer_store), wording (prompts).
"""

import hashlib
import json
from enum import StrEnum
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, Field


class Purpose(StrEnum):
    """What a request is for; one prompt family each."""

    SUMMARISE = "summarise"
    EXTRACT = "extract"
    JUDGE = "judge"
    REPAIR = "repair"
    PROFILE = "profile"
    INSIGHT = "insight"


class ModelRequest(BaseModel):
    """One request, complete: equal content has an equal digest and is never sent twice.

    `system` is byte-identical for all requests of one prompt version (provider prefix caching),
    `user` holds what changes. `json_schema` is the answer's shape. `prompt_digest` names the
    prompt file's version and content. No secret is part of a request.
    """

    model_config = ConfigDict(frozen=True)

    purpose: Purpose
    model: str
    system: str
    user: str
    schema_name: str
    json_schema: dict[str, Any]
    prompt_digest: str
    temperature: float = 0.0
    max_tokens: int = Field(default=4_096, gt=0)

    def digest(self) -> str:
        """Sha256 over the canonical JSON of the whole request."""
        content = json.dumps(self.model_dump(mode="json"), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()


class Usage(BaseModel):
    """Tokens of one call as the endpoint counts them; `price_usd` None = the model is unpriced."""

    model_config = ConfigDict(frozen=True)

    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    price_usd: float | None = None


class ModelAnswer(BaseModel):
    """The raw text a model returned; `finish_reason` as the endpoint gives it (`stop`, ...)."""

    model_config = ConfigDict(frozen=True)

    text: str
    finish_reason: str = "stop"
    usage: Usage = Usage()
    latency_ms: int = 0
    is_stored: bool = False


class ChatModel(Protocol):
    """A chat model behind some endpoint."""

    def complete(self, request: ModelRequest) -> ModelAnswer:
        """The answer to one request.

        Raises `ModelUnavailableError` when the endpoint does not answer after all retries, and
        `BudgetExhaustedError` when money, tokens or quota are used up.
        """
        ...


class ModelUnavailableError(RuntimeError):
    """The endpoint did not answer, after all retries; trying again later may help."""


class BudgetExhaustedError(RuntimeError):
    """Our own budget or the provider's quota is used up: the run stops, resumable (spec X13)."""
