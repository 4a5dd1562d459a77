"""A model served on this machine, asked the way of every other endpoint."""

import os
import sys
from pathlib import Path

import pytest

from memory_pipeline.adapters.local_llm import LocalModelError, serving_model
from memory_pipeline.adapters.models.endpoint import Endpoint
from memory_pipeline.adapters.openai_models import OpenAiChatModel
from memory_pipeline.stages.extract import build_request
from memory_pipeline.stages.transcript import write_transcript
from memory_pipeline_tests.stages.model_doubles import SECRET, known, window

GGUF = "MEMORY_TEST_GGUF"
"""Names a file of weights in the environment; without it nothing is served."""


def test_a_file_that_is_no_model_is_refused_before_anything_is_loaded(tmp_path: Path) -> None:
    text = tmp_path / "notes.gguf"
    text.write_text("not a model")
    with pytest.raises(LocalModelError, match="is no GGUF file"), serving_model(text):
        pass
    missing = tmp_path / "missing.gguf"
    with pytest.raises(LocalModelError, match="No such file"), serving_model(missing):
        pass


def test_without_the_runtime_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = tmp_path / "model.gguf"
    weights.write_bytes(b"GGUF")
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(LocalModelError, match=r"\[local-llm\]"), serving_model(weights):
        pass


@pytest.mark.long
def test_a_local_model_answers_an_extraction_in_the_shape_that_was_asked_for() -> None:
    if GGUF not in os.environ:
        pytest.skip(f"{GGUF} names no file of weights")
    pytest.importorskip("xllamacpp")
    transcript = write_transcript(window("I live in Lisbon with my dog Bruno."), SECRET)
    with serving_model(Path(os.environ[GGUF])) as served:
        request = build_request(transcript, known(), served.name)
        model = OpenAiChatModel(Endpoint(base_url=served.base_url, timeout_s=1_800.0))
        # Small models fill every list until they are stopped: the beginning shows the shape.
        answer = model.complete(request.model_copy(update={"max_tokens": 48}))
        model.close()
    assert "".join(answer.text.split()).startswith('{"entities":')
    assert answer.usage.prompt_tokens > 1_024
    assert 0 < answer.usage.completion_tokens <= 48
