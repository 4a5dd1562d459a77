"""Embedding models behind OpenAI-compatible endpoints: the Embedder port over HTTP.

Belongs here: batches, vector width, unit length. Does not: retries and limits (adapters/models),
keeping vectors (adapters/answer_store).
"""

import hashlib
import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Final

import httpx
import numpy as np
from numpy.typing import NDArray

from memory_pipeline.adapters import environment
from memory_pipeline.adapters.models.abilities import Abilities, learn, learned, lesser
from memory_pipeline.adapters.models.budget import Budget
from memory_pipeline.adapters.models.calls import Caller, Reply
from memory_pipeline.adapters.models.encodable import encodable
from memory_pipeline.adapters.models.endpoint import Endpoint, ModelConfigurationError
from memory_pipeline.adapters.models.failures import Failure, FailureKind
from memory_pipeline.adapters.models.replies import read_embeddings
from memory_pipeline.domain.model import BudgetExhaustedError, Usage
from memory_pipeline.stages.windows import estimate_tokens

log = logging.getLogger(__name__)

Vectors = list[NDArray[np.float64]]
_READ = tuple[Vectors, Usage]

MAX_TOKENS_PER_CALL: Final = 250_000
"""Below what one request may hold at the strictest large provider (300,000)."""
_MAY_BE_TOO_MUCH: Final = (FailureKind.LENGTH, FailureKind.CONTENT, FailureKind.UNSUPPORTED)
MAX_TEXT_CHARS: Final = 8_000
"""Longer texts are cut: 8,000 characters stay under 8,191 tokens in any script."""


class OpenAiEmbedder:
    """Turns texts into unit vectors of a fixed width; safe to share between threads.

    Equal texts of one call are sent once. A model that can't give the width asked for is an
    error, never a cut or padded vector.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        model: str,
        dimensions: int = 384,
        *,
        budget: Budget | None = None,
    ) -> None:
        self.endpoint = endpoint
        self.model = model
        self._dimensions = dimensions
        self.budget = budget if budget is not None else Budget()
        self._caller = Caller(endpoint)

    @property
    def profile_id(self) -> str:
        """Model id and width, e.g. `text-embedding-3-small/384`."""
        return f"{self.model}/{self._dimensions}"

    @property
    def dimensions(self) -> int:
        """Length of every vector."""
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One unit-length vector for each text, in the order given; no texts, no request.

        A text that the server refuses for what it says gets a vector that is like no other.
        Raises as `OpenAiChatModel.complete` does.
        """
        distinct = list(dict.fromkeys(_embeddable(text) for text in texts))
        batches = list(self._batches(distinct))
        if len(batches) > 1:
            workers = min(len(batches), self.endpoint.concurrency)
            with ThreadPoolExecutor(workers, thread_name_prefix="embed") as pool:
                answers = list(pool.map(self._embed_batch, batches))
        else:
            answers = [self._embed_batch(batch) for batch in batches]
        vectors = (vector.tolist() for answer in answers for vector in answer)
        by_text: dict[str, list[float]] = dict(zip(distinct, vectors, strict=True))
        return [list(by_text[_embeddable(text)]) for text in texts]

    def close(self) -> None:
        """Close the connections to the endpoint."""
        self._caller.close()

    def _batches(self, texts: Sequence[str]) -> Iterator[list[str]]:
        most = learned(self.endpoint, self.model).inputs_per_call
        batch: list[str] = []
        tokens = 0
        for text in texts:
            cost = estimate_tokens(text)
            if batch and (len(batch) >= most or tokens + cost > MAX_TOKENS_PER_CALL):
                yield batch
                batch, tokens = [], 0
            batch.append(text)
            tokens += cost
        if batch:
            yield batch

    def _embed_batch(self, texts: Sequence[str]) -> Vectors:
        """Vectors of one batch; a batch that the server finds too large is halved."""
        abilities = learned(self.endpoint, self.model)
        while True:
            body = self._body(texts, abilities)
            outcome = self._ask(body, texts)
            if not isinstance(outcome, Failure):
                learn(self.endpoint, self.model, abilities)
                return [
                    self._unit(vector, text) for vector, text in zip(outcome, texts, strict=True)
                ]
            next_try = None
            if outcome.kind is FailureKind.UNSUPPORTED:
                next_try = lesser(abilities, outcome, body)
            if next_try is None and outcome.kind in _MAY_BE_TOO_MUCH and len(texts) > 1:
                return self._halved(texts, abilities)
            if outcome.kind is FailureKind.CONTENT:
                log.warning("%s: a vector without meaning stands in", outcome.summary)
                return [self._stand_in(text) for text in texts]
            if next_try is None:
                raise self._final(outcome)
            log.info("%s: asking again with less", outcome.summary)
            abilities = next_try

    def _halved(self, texts: Sequence[str], abilities: Abilities) -> Vectors:
        half = len(texts) // 2
        vectors = [*self._embed_batch(texts[:half]), *self._embed_batch(texts[half:])]
        # Learned only now that the halves went through: it was the size and nothing else.
        learn(self.endpoint, self.model, replace(abilities, inputs_per_call=len(texts) - half))
        return vectors

    def _body(self, texts: Sequence[str], abilities: Abilities) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self.model, "input": list(texts)}
        # Half the bytes of decimal numbers, and exact.
        optional = {"encoding_format": "base64", "dimensions": self._dimensions}
        return body | {
            name: value for name, value in optional.items() if name not in abilities.dropped
        }

    def _ask(self, body: dict[str, Any], texts: Sequence[str]) -> Vectors | Failure:
        expected = sum(estimate_tokens(text) for text in texts)
        reservation = self.budget.reserve(self.model, expected, 0)
        outcome: Reply[_READ] | Failure | None = None
        try:
            outcome = self._caller.post(
                "/embeddings",
                body,
                lambda response: _read(response, len(texts)),
                on_unread=lambda: self.budget.charge_unread(reservation),
            )
        finally:
            if not isinstance(outcome, Reply):
                self.budget.release(reservation)
        if isinstance(outcome, Failure):
            return outcome
        vectors, usage = outcome.content
        self.budget.settle(reservation, usage)
        return vectors

    def _unit(self, vector: NDArray[np.float64], text: str) -> NDArray[np.float64]:
        if len(vector) != self._dimensions:
            raise ModelConfigurationError(
                f"{self.model} at {self.endpoint.base_url} gives vectors of {len(vector)} "
                f"dimensions, {self._dimensions} are needed: choose a model that can be asked "
                f"for {self._dimensions} with {environment.EMBEDDING_MODEL}"
            )
        length = float(np.linalg.norm(vector))
        if length == 0.0:
            return self._stand_in(text)
        # Single precision, so that a kept vector and a fresh one are the same to the last bit.
        return (vector / length).astype(np.float32).astype(np.float64)

    def _stand_in(self, text: str) -> NDArray[np.float64]:
        """The vector of a text without meaning to the model, or refused for what it says.

        A direction of its own, far from all others: two such texts must not seem alike.
        """
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
        vector = np.random.default_rng(seed).standard_normal(self._dimensions)
        unit: NDArray[np.float64] = (
            (vector / np.linalg.norm(vector)).astype(np.float32).astype(np.float64)
        )
        return unit

    def _final(self, failure: Failure) -> RuntimeError:
        if failure.kind is FailureKind.QUOTA:
            return BudgetExhaustedError(f"{failure.summary}; this run spent {self.budget.spent}")
        return failure.to_error()


def _read(response: httpx.Response, expected: int) -> _READ:
    return read_embeddings(response, expected)


def _embeddable(text: str) -> str:
    """Endpoints refuse an empty text, and texts beyond their limit."""
    return encodable(text[:MAX_TEXT_CHARS]) or " "
