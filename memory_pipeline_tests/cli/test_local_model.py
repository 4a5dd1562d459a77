"""The command that serves a local model: what it prints and how it fails."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from memory_pipeline.adapters.local_llm import ServedModel
from memory_pipeline.cli import local_model
from memory_pipeline.cli.errors import CommandError


def run(*arguments: str) -> Result:
    """Run the command."""
    app = typer.Typer()
    local_model.register(app)
    return CliRunner().invoke(app, list(arguments))


def test_the_lines_to_use_the_model_are_those_of_a_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def served(weights: Path, **settings: int) -> Iterator[ServedModel]:
        yield ServedModel(f"http://127.0.0.1:{settings['port']}/v1", weights.stem)

    monkeypatch.setattr(local_model, "serving_model", served)
    monkeypatch.setattr(local_model, "_wait_for_interrupt", lambda: None)
    lines = run("my model.q4.gguf", "--port", "8081").stdout.splitlines()
    assert "export OPENAI_BASE_URL=http://127.0.0.1:8081/v1" in lines
    assert "export MEMORY_FAST_MODEL='my model.q4'" in lines
    assert "export MEMORY_MODEL_CONCURRENCY=1" in lines


def test_a_missing_file_fails_in_one_clear_line() -> None:
    failed = run("nowhere.gguf").exception
    assert isinstance(failed, CommandError)
    assert failed.message == "can't read nowhere.gguf: No such file or directory"
    assert failed.exit_code == 1
