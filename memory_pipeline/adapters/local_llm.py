"""A language model on this machine: llama.cpp's own OpenAI-compatible server on loopback.

Belongs here: starting it over a file of weights, stopping it. Does not: asking it, which goes
the way of every other endpoint (adapters/openai_models).
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

CONTEXT_TOKENS = 24_576
"""Room for the rules, the longest episode of the default settings, known lists and the answer."""

_LOOPBACK = "127.0.0.1"
_MAGIC = b"GGUF"


class LocalModelError(RuntimeError):
    """The model can't be served; the message says what is missing."""


@dataclass(frozen=True)
class ServedModel:
    """Where a local model answers: `base_url` ends in `/v1`, `name` is what requests call it."""

    base_url: str
    name: str


@contextmanager
def serving_model(
    weights: Path, *, port: int = 0, context_tokens: int = CONTEXT_TOKENS, threads: int = 0
) -> Iterator[ServedModel]:
    """Serves a GGUF file while the block runs, one request at a time.

    Port 0 takes a free one. `threads` 0 leaves one core free: more than the idle cores only spin.
    Raises `LocalModelError` when the package or the file is missing or the server does not start.
    """
    _check_weights(weights)
    try:
        import xllamacpp
    except ImportError:
        raise LocalModelError(
            "the runtime of local models is not installed: pip install 'memory-pipeline[local-llm]'"
        ) from None
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(weights)
    parameters.model_alias = {weights.stem}
    parameters.hostnames = [_LOOPBACK]
    parameters.port = port
    # Else any web page open in a browser of this machine could ask the model.
    parameters.cors_origins = f"http://{_LOOPBACK}"
    parameters.ui = False
    parameters.n_ctx = context_tokens
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = threads or _spare_cores()
    parameters.cpuparams_batch.n_threads = threads or _spare_cores()
    parameters.verbosity = 0
    try:
        server = xllamacpp.Server(parameters)
    except RuntimeError as error:
        raise LocalModelError(
            f"llama.cpp can't serve {weights.name}: it does not know this kind of model, or port "
            f"{port} is taken"
        ) from error
    try:
        yield ServedModel(base_url=f"{server.listening_address}/v1", name=weights.stem)
    finally:
        # The server stops when nothing holds it any more.
        del server


def _check_weights(weights: Path) -> None:
    try:
        with weights.open("rb") as file:
            is_gguf = file.read(len(_MAGIC)) == _MAGIC
    except OSError as error:
        raise LocalModelError(f"can't read {weights}: {error.strerror}") from error
    if not is_gguf:
        raise LocalModelError(f"{weights} is no GGUF file")


def _spare_cores() -> int:
    return max(1, (os.cpu_count() or 1) - 1)
