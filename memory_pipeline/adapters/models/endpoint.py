"""One OpenAI-compatible endpoint as a value: where it is, its key, its patience.

Belongs here: the value, making it from the environment, hiding the key. Does not: any request.
"""

import re
from typing import Final, Self
from urllib.parse import SplitResult, urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator

from memory_pipeline.adapters import environment
from memory_pipeline.domain.embedding import HASHED_NGRAMS_ID, MINILM_INT8_ID
from memory_pipeline.domain.model import ModelUnavailableError

LOCAL_EMBEDDERS: Final = frozenset({"local", MINILM_INT8_ID, HASHED_NGRAMS_ID})
"""Embedding models that need no endpoint, as the environment names them."""

OPENAI_URL: Final = "https://api.openai.com/v1"
_HIDDEN: Final = "***"
# Local servers are given words like `ollama` as a key, which may well occur in an answer.
_LEAST_KEY_CHARS: Final = 12
# What providers echo in error texts: keys by their usual form, whole or half masked.
_KEY_FORMS: Final = re.compile(r"\b(?:sk|pk|rk|gsk|key|xai)-[\w*.-]{6,}|(?<=Bearer )\S+", re.ASCII)


class ModelConfigurationError(RuntimeError):
    """The endpoint refuses every request of this kind: settings must change, waiting is no use."""


class UnansweredRequestError(ModelUnavailableError):
    """The endpoint answers others and never this one request: its text is at fault, no outage."""


class Endpoint(BaseModel):
    """Where models are asked. The key shows in no text form of this value.

    `attempts` counts tries of one request that failed; `patience_s` is how long one request may
    wait for rate limits in all; `timeout_s` limits one try; `backoff_s` is the first pause after
    a failure, doubled with each further one.
    """

    model_config = ConfigDict(frozen=True)

    base_url: str = OPENAI_URL
    api_key: SecretStr | None = None
    concurrency: int = Field(default=8, ge=1)
    timeout_s: float = Field(default=120.0, gt=0)
    attempts: int = Field(default=5, ge=1)
    patience_s: float = Field(default=600.0, ge=0)
    backoff_s: float = Field(default=0.5, gt=0)

    @model_validator(mode="after")
    def _has_no_secret_in_its_url(self) -> Self:
        parts = _parts_of(self.base_url)
        if parts.username or parts.password or parts.query:
            raise ModelConfigurationError(
                f"{environment.BASE_URL} carries a name, password or query: addresses end up in "
                f"logs, so put the key into {environment.API_KEY}"
            )
        return self

    @property
    def host(self) -> str:
        """The host alone, lower case."""
        return urlsplit(self.base_url).hostname or ""

    def redact(self, text: str) -> str:
        """A server's words without the key and without anything that looks like one."""
        return _KEY_FORMS.sub(_HIDDEN, self.redact_key(text))

    def redact_key(self, text: str) -> str:
        """The text without the key, else unchanged."""
        key = self.api_key.get_secret_value() if self.api_key else ""
        return text.replace(key, _HIDDEN) if len(key) >= _LEAST_KEY_CHARS else text


def _parts_of(url: str) -> SplitResult:
    """The parts of a web address. Raises `ModelConfigurationError` for anything else."""
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname)
        is_address = is_address and parts.port != 0 and url.isprintable() and " " not in url
    except ValueError:
        is_address = False
    if not is_address:
        raise ModelConfigurationError(
            f"{environment.BASE_URL} is no web address: set it to http(s)://host[:port]/v1"
        )
    return parts


def check_endpoint() -> None:
    """Raise `ModelConfigurationError` when a model is named that could never be asked."""
    embedder = environment.embedding_model()
    named = {
        environment.FAST_MODEL: environment.fast_model(),
        environment.EMBEDDING_MODEL: None if embedder in LOCAL_EMBEDDERS else embedder,
    }
    for variable, model in named.items():
        if model is not None and configured_endpoint() is None:
            raise ModelConfigurationError(
                f"{variable} names {model}, but no endpoint is set: set {environment.API_KEY} for "
                f"OpenAI, or {environment.BASE_URL} for any other server"
            )


def configured_endpoint() -> Endpoint | None:
    """The endpoint of the environment, or None when neither address nor key is set."""
    key, url = environment.api_key(), environment.base_url()
    if key is None and url is None:
        return None
    return Endpoint(
        base_url=(url or OPENAI_URL).rstrip("/"),
        api_key=SecretStr(key) if key else None,
        concurrency=environment.model_concurrency(),
        timeout_s=environment.model_timeout_seconds(),
    )
