"""The runner itself: it notices what is wrong, and says so in one line for each case."""

import json
from pathlib import Path
from typing import Any

import pytest

from memory_pipeline_tests.cases.__main__ import main
from memory_pipeline_tests.cases.case_file import CaseError, read_case
from memory_pipeline_tests.cases.comparing import differences
from memory_pipeline_tests.cases.running import run_case

NOW = "2025-09-15T12:00:00Z"
CELLO: dict[str, Any] = {
    "ref": "c1",
    "array": "literalFacts",
    "subject": "user",
    "predicate": "plays",
    "object": "cello",
    "confidence": 0.9,
    "sourceQuote": "",
    "validFrom": "2025-03-01",
}


def _line(expected: dict[str, Any], given: dict[str, Any] | None = None, **more: Any) -> str:
    content = {"now": NOW, "candidates": [CELLO]} | (given or {})
    return json.dumps({"id": "T1", "given": content, "expected": expected} | more)


@pytest.mark.parametrize(
    ("expected", "difference"),
    [
        ({"rows": []}, "c1: a row that must not exist"),
        ({"rows": [{"id": "c2"}, {"id": "c1"}]}, "c2: no row"),
        ({"rows": [{"id": "c1", "live": False}]}, "c1.live: expected False, is True"),
        ({"rows": [{"id": "c1", "kind": "edge"}]}, "c1.kind: expected 'edge', is 'literal'"),
        ({"rows": [{"id": "c1", "superseded": True}]}, "c1.superseded: expected True, is False"),
        (
            {"rows": [{"id": "c1", "valid_from": "2025-03-02"}]},
            "c1.valid_from: expected '2025-03-02', is '2025-03-01T00:00:00+00:00'",
        ),
        (
            {"rows": [{"id": "c1", "valid_until": "2026-01-01"}]},
            "c1.valid_until: expected '2026-01-01', is None",
        ),
        ({"judge_pairs": [["c1", "f1"]]}, "judge: c1~f1 was not asked"),
        ({"dropped": [{"ref": "c1", "why": "closure"}]}, "c1: expected closure, ended as inserted"),
        ({"entities_present": ["cello"]}, "entity cello: missing"),
        ({"entities_absent": ["user"]}, "entity user: must not exist"),
        ({"entity_count": {"user": 2}}, "entity user: expected 2, there are 1"),
        ({"entity_types": {"user": "ORG"}}, "entity user: expected type ORG, is PERSON"),
        ({"count": 2}, "count of rows: expected 2, is 1"),
        ({"max_new_rows": 0}, "1 new rows, expected at most 0"),
        ({"max_lengths": {"c1.object": 3}}, "c1.object: 5 characters, expected at most 3"),
        ({"episode": "failed"}, "episode: expected failed, is done"),
    ],
)
def test_every_difference_is_named(
    expected: dict[str, Any], difference: str, database_url: str
) -> None:
    case = read_case(_line(expected))
    assert differences(case, run_case(case, database_url, "test")) == [difference]


def test_a_field_that_is_not_scored_is_left_alone(database_url: str) -> None:
    case = read_case(
        _line(
            {"rows": [{"id": "c1", "live": False}], "judge_pairs": [["c1", "f1"]]},
            not_scored=["c1.live", "judge_pairs"],
        )
    )
    assert differences(case, run_case(case, database_url, "test")) == []


def test_a_word_that_nobody_knows_makes_a_case_fail() -> None:
    with pytest.raises(CaseError, match=r"T1: given\.weather"):
        read_case(_line({}, {"weather": "fine"}))


def test_the_command_counts_failed_cases_and_goes_on_after_a_broken_one(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    database_url: str,
) -> None:
    monkeypatch.setenv("MEMORY_DATABASE_URL", database_url)
    file = tmp_path / "cases.jsonl"
    lines = ["{", _line({"rows": []}), _line({"rows": [{"id": "c1", "live": True}]})]
    file.write_text("\n".join(lines), encoding="utf-8")
    assert main([str(file)]) == 1
    broken, failed, counts = capsys.readouterr().out.splitlines()
    assert broken.startswith("no JSON")
    assert failed == "T1 : c1: a row that must not exist"
    assert counts == "1 passed, 2 failed"


def test_the_command_ends_with_zero_when_all_pass(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    database_url: str,
) -> None:
    monkeypatch.setenv("MEMORY_DATABASE_URL", database_url)
    file = tmp_path / "cases.jsonl"
    file.write_text(_line({"rows": [{"id": "c1", "live": True}]}), encoding="utf-8")
    assert main([str(file)]) == 0
    assert capsys.readouterr().out == "1 passed, 0 failed\n"
