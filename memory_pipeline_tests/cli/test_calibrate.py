"""The command that measures an embedding model's thresholds (spec R5).

Belongs here: what it prints, stores and how it fails. Does not: what is proposed
(stages/test_thresholds).
"""

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from memory_pipeline.adapters import environment
from memory_pipeline.adapters.embedding_profiles import profile_of
from memory_pipeline.adapters.hashed_embedder import HashedNgramEmbedder
from memory_pipeline.adapters.local_embedder import load_embedder
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.cli import calibrate, session
from memory_pipeline.cli.errors import CommandError, ExitCode
from memory_pipeline.domain.embedding import HASHED_NGRAMS_ID, PROFILES
from memory_pipeline_tests.scripted_server import ScriptedServer


def run(*arguments: str) -> Result:
    """Run the command."""
    app = typer.Typer()
    calibrate.register(app)
    return CliRunner().invoke(app, list(arguments))


def measured(*arguments: str) -> dict[str, Any]:
    """The command's document."""
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def refusal(*arguments: str) -> CommandError:
    error = run(*arguments).exception
    assert isinstance(error, CommandError)
    return error


def test_r5_the_shipped_local_thresholds_merge_and_swallow_nothing_wrongly_on_the_shipped_pairs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(environment.EMBEDDING_MODEL, raising=False)
    pytest.importorskip("onnxruntime")
    document = measured()
    assert document["current"]["profile_id"] == load_embedder("local").profile_id
    wrong = {t["name"]: t["wrong"] for t in document["thresholds"]}
    assert wrong["entity_merge"] == wrong["duplicate"] == 0


def test_r5_what_is_proposed_errs_on_no_pair_and_keeps_what_is_related() -> None:
    document = measured("--model", HASHED_NGRAMS_ID)
    found = {t["name"]: t for t in document["thresholds"]}
    assert found["entity_merge"]["wrong_proposed"] == found["duplicate"]["wrong_proposed"] == 0
    band = found["band_low"]
    assert band["right_proposed"] >= 0.95 * band["should_pass"] > 0


def test_r5_the_shipped_pairs_are_many_and_of_every_label() -> None:
    counts = {
        d["label"]: d["pairs"] for d in measured("--model", HASHED_NGRAMS_ID)["distributions"]
    }
    assert counts["same"] + counts["different"] >= 150
    assert counts["duplicate"] + counts["related"] + counts["unrelated"] >= 200


def test_r5_a_model_of_an_endpoint_is_measured_through_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedServer() as server:
        monkeypatch.setenv(environment.BASE_URL, server.base_url)
        monkeypatch.delenv(environment.API_KEY, raising=False)
        document = measured("--model", "some-embedder")
    assert document["current"]["profile_id"] == "some-embedder/384"
    assert document["is_shipped_profile"] is False


def test_a_model_without_an_endpoint_fails_and_names_the_variables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(environment.BASE_URL, raising=False)
    monkeypatch.delenv(environment.API_KEY, raising=False)
    error = refusal("--model", "some-embedder")
    assert (error.exit_code, environment.BASE_URL in error.message) == (ExitCode.FAILED, True)


def test_pairs_of_ones_own_replace_the_shipped_ones(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("label,type,one,other\nsame,ORG,halden,halden works\n", encoding="utf-8")
    document = measured("--model", HASHED_NGRAMS_ID, "--pairs", str(path))
    assert [(d["label"], d["pairs"]) for d in document["distributions"]] == [("same", 1)]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("mine.csv", b"label,one,other\nequal,a,b\n", "line 2: label"),
        ("mine.csv", b"label,one,other\n", "holds no pairs"),
        ("mine.csv", b"\xff\xfe", "is not UTF-8"),
        ("mine.txt", b"", "neither .csv nor .jsonl"),
        ("absent.jsonl", None, "No such file"),
    ],
)
def test_a_list_that_cant_be_used_is_wrong_usage(
    tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    error = refusal("--model", HASHED_NGRAMS_ID, "--pairs", str(path))
    assert error.exit_code == ExitCode.WRONG_USAGE
    assert message in error.message


def test_the_tables_end_with_the_proposed_profile_on_one_line() -> None:
    line = next(
        line
        for line in run("--model", HASHED_NGRAMS_ID).stdout.splitlines()
        if line.startswith("Proposed profile: ")
    )
    assert json.loads(line.removeprefix("Proposed profile: "))["profile_id"] == HASHED_NGRAMS_ID


def test_r5_adopted_thresholds_hold_for_this_database_and_are_not_changed_later(
    database_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(environment.DATABASE_URL, database_url)
    path = tmp_path / "mine.csv"
    path.write_text("label,type,one,other\ndifferent,ORG,halden,brightwell\n", encoding="utf-8")
    database = Database(database_url)
    try:
        proposed = measured("--model", HASHED_NGRAMS_ID, "--adopt")["proposed"]
        assert profile_of(database, HashedNgramEmbedder()).model_dump() == proposed
        assert measured("--model", HASHED_NGRAMS_ID, "--adopt")["is_adopted"] is True
        error = refusal("--model", HASHED_NGRAMS_ID, "--adopt", "--pairs", str(path))
    finally:
        session.close_session()
        database.close()
    assert error.exit_code == ExitCode.FAILED
    assert "already has thresholds" in error.message


def test_r5_without_adopted_thresholds_the_shipped_ones_hold(database_url: str) -> None:
    database = Database(database_url)
    try:
        assert profile_of(database, HashedNgramEmbedder()) == PROFILES[HASHED_NGRAMS_ID]
    finally:
        database.close()
