"""The command that serves a language model of one's own: serve-model.

Belongs here: arguments, the lines that make other commands use it. Does not: the server
(adapters/local_llm).
"""

import shlex
import sys
import threading
from pathlib import Path
from typing import Annotated

import typer

from memory_pipeline.adapters import environment
from memory_pipeline.adapters.local_llm import (
    CONTEXT_TOKENS,
    LocalModelError,
    ServedModel,
    serving_model,
)
from memory_pipeline.cli.errors import CommandError

_PATIENCE_SECONDS = 1_800
"""A small machine reads the rules of extraction for minutes the first time."""


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command(name="serve-model")(serve_model)


def serve_model(
    weights: Annotated[Path, typer.Argument(metavar="FILE.gguf", help="Weights of a chat model.")],
    port: Annotated[int, typer.Option(min=0, max=65_535, help="0 picks a free one.")] = 8080,
    context_tokens: Annotated[
        int, typer.Option(min=512, help="Tokens of one request and its answer together.")
    ] = CONTEXT_TOKENS,
    threads: Annotated[int, typer.Option(min=0, help="0 leaves one core free.")] = 0,
) -> None:
    """Serve a local language model on loopback until Ctrl-C, and say how to use it.

    For trying the model tiers without a provider: slow, and small models extract badly. Needs the
    extra `local-llm`.

    Example: memory-pipeline serve-model qwen2.5-3b-instruct-q4_k_m.gguf --port 8080
    """
    try:
        with serving_model(
            weights, port=port, context_tokens=context_tokens, threads=threads
        ) as served:
            sys.stdout.write(_how_to_use(served))
            sys.stdout.flush()
            _wait_for_interrupt()
    except LocalModelError as error:
        raise CommandError(str(error)) from error


def _how_to_use(served: ServedModel) -> str:
    variables = {
        environment.BASE_URL: served.base_url,
        environment.FAST_MODEL: shlex.quote(served.name),
        environment.MODEL_CONCURRENCY: 1,
        environment.MODEL_TIMEOUT: _PATIENCE_SECONDS,
    }
    lines = (f"export {name}={value}\n" for name, value in variables.items())
    return "# Until Ctrl-C; in another shell:\n" + "".join(lines)


def _wait_for_interrupt() -> None:
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        sys.stdout.write("\n")
