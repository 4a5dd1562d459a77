"""Models with the answer store before them: an unchanged request makes no call (spec G3).

Belongs here: find, else call, check, keep; counts for run metadata. Does not: rows
(adapters/answer_store), HTTP (adapters/openai_models), parsers (stages).
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Final, TypeVar

from memory_pipeline.adapters.answer_store import AnswerStore, StoredAnswer, storable
from memory_pipeline.domain.embedding import Embedder
from memory_pipeline.domain.model import ChatModel, ModelAnswer, ModelRequest

T = TypeVar("T")

_BROKEN_OFF: Final = ("length", "refusal", "content_filter", "context_length_exceeded")


@dataclass(frozen=True)
class CallCounts:
    """Sums of one model since it was made. Tokens, price and latency are those of the calls.

    `hits` were answered from a store, `misses` by a call, `refused` answers were unusable.
    `price_usd` sums the priced calls; `unpriced_calls` are not in it.
    """

    hits: int = 0
    misses: int = 0
    refused: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    price_usd: float = 0.0
    unpriced_calls: int = 0
    latency_ms: int = 0

    def __add__(self, other: "CallCounts") -> "CallCounts":
        return CallCounts(
            **{item.name: getattr(self, item.name) + getattr(other, item.name) for item in _COUNTS}
        )

    def __sub__(self, other: "CallCounts") -> "CallCounts":
        return CallCounts(
            **{item.name: getattr(self, item.name) - getattr(other, item.name) for item in _COUNTS}
        )


_COUNTS = fields(CallCounts)


class StoredChatModel:
    """A chat model that remembers; satisfies `ChatModel` and the stages' `Asker`.

    Safe to share between threads: equal requests asked at once make one call.
    """

    def __init__(self, model: ChatModel, store: AnswerStore) -> None:
        self._model = model
        self._store = store
        self._lock = threading.Lock()
        self._counts = CallCounts()
        self._in_flight: dict[str, tuple[threading.Lock, int]] = {}

    @property
    def counts(self) -> CallCounts:
        """Sums so far; take the difference of two for one stretch of work."""
        with self._lock:
            return self._counts

    def count_hits(self, found: int) -> None:
        """Count what another store answered, so that no request was made for it."""
        self._count(CallCounts(hits=found))

    def complete(self, request: ModelRequest) -> ModelAnswer:
        """The answer; a whole one counts as valid. Raises as `ChatModel.complete` does."""
        try:
            return self._answer(request, _whole_text, attempt=None)[1]
        except _NoWholeAnswerError as error:
            return error.answer

    def ask(
        self, request: ModelRequest, parse: Callable[[str], T], *, attempt: int | None = None
    ) -> tuple[T, ModelAnswer]:
        """What `parse` makes of the answer, and the answer, `is_stored` when no call was made.

        `parse` is pure and raises ValueError (pydantic's and json's errors are) for a text that
        can't be used. The answer is stored in a transaction of its own before this returns, and
        before the parser's error goes on to the caller, who may ask for a repair, ask a
        stronger model, or give up.

        `attempt` is the number of the episode's attempt, from 1: an answer that was refused in
        this attempt, before a crash or in an earlier build of the memory, is refused again
        without a call, so that the same repair request follows and finds its stored answer; a
        later attempt asks anew. Without a number a refused request is always sent again.

        Raises as `ChatModel.complete` does.
        """
        return self._answer(request, lambda answer: parse(answer.text), attempt)

    def _answer(
        self, request: ModelRequest, parse: Callable[[ModelAnswer], T], attempt: int | None
    ) -> tuple[T, ModelAnswer]:
        digest = request.digest()
        with self._alone(digest):
            stored = self._store.find_stored([digest]).get(digest)
            if stored is not None:
                try:
                    parsed = parse(stored.answer)
                except ValueError as error:
                    # A stricter parser than the one that let it pass: ask anew.
                    self._store.refuse(digest, stored.attempt, str(error))
                else:
                    self._count(CallCounts(hits=1))
                    return parsed, stored.answer
            elif attempt is not None:
                self._refuse_again(self._store.find_refused(digest, attempt), parse)
            return self._call(request, parse, attempt)

    def _refuse_again(
        self, refused: StoredAnswer | None, parse: Callable[[ModelAnswer], object]
    ) -> None:
        if refused is None:
            return
        try:
            parse(refused.answer)
        except ValueError:
            self._count(CallCounts(hits=1, refused=1))
            raise

    def _call(
        self, request: ModelRequest, parse: Callable[[ModelAnswer], T], attempt: int | None
    ) -> tuple[T, ModelAnswer]:
        raw = self._model.complete(request)
        answer = raw.model_copy(update={"text": storable(raw.text)})
        self._count(_cost(answer))
        try:
            parsed = parse(answer)
        except ValueError as error:
            self._store.keep(request, answer, is_valid=False, problem=str(error), attempt=attempt)
            self._count(CallCounts(refused=1))
            raise
        kept = self._store.keep(request, answer, is_valid=True, attempt=attempt)
        if kept.is_stored:
            # Another process was first: its answer is what every replay will see.
            return parse(kept), kept
        return parsed, answer

    def _count(self, more: CallCounts) -> None:
        with self._lock:
            self._counts += more

    @contextmanager
    def _alone(self, digest: str) -> Iterator[None]:
        """Equal requests of this process one after the other, so that the second finds a hit."""
        with self._lock:
            gate, users = self._in_flight.get(digest, (threading.Lock(), 0))
            self._in_flight[digest] = (gate, users + 1)
        try:
            with gate:
                yield
        finally:
            with self._lock:
                gate, users = self._in_flight.pop(digest)
                if users > 1:
                    self._in_flight[digest] = (gate, users - 1)


class _NoWholeAnswerError(ValueError):
    def __init__(self, answer: ModelAnswer) -> None:
        super().__init__(f"no whole answer ({answer.finish_reason})")
        self.answer = answer


def _whole_text(answer: ModelAnswer) -> str:
    if not answer.text or answer.finish_reason in _BROKEN_OFF:
        raise _NoWholeAnswerError(answer)
    return answer.text


def _cost(answer: ModelAnswer) -> CallCounts:
    usage = answer.usage
    return CallCounts(
        misses=1,
        prompt_tokens=usage.prompt_tokens,
        cached_tokens=usage.cached_tokens,
        completion_tokens=usage.completion_tokens,
        price_usd=usage.price_usd or 0.0,
        unpriced_calls=int(usage.price_usd is None),
        latency_ms=answer.latency_ms,
    )


class StoredEmbedder:
    """An embedder that remembers, so that a replay over an endpoint makes no call either.

    Only for embedders that cost a request: a local model is faster than the store.
    """

    def __init__(self, embedder: Embedder, store: AnswerStore) -> None:
        self._embedder = embedder
        self._store = store
        self._lock = threading.Lock()
        self.hits = 0
        self.misses = 0

    @property
    def profile_id(self) -> str:
        """That of the model behind the store."""
        return self._embedder.profile_id

    @property
    def dimensions(self) -> int:
        """Length of every vector."""
        return self._embedder.dimensions

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector for each text, in order; only texts never seen before are sent."""
        distinct = list(dict.fromkeys(texts))
        found = self._store.find_vectors(self.profile_id, distinct)
        missing = [text for text in distinct if text not in found]
        with self._lock:
            self.hits += len(distinct) - len(missing)
            self.misses += len(missing)
        if missing:
            fresh = dict(zip(missing, self._embedder.embed(missing), strict=True))
            self._store.keep_vectors(self.profile_id, fresh)
            found |= fresh
        return [list(found[text]) for text in texts]
