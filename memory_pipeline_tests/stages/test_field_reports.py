"""Faults reported of other systems, by their ids, where they concern extraction.

Belongs here: reports whose input is enough for a stage. Does not: those of the write path, of
importers and of Dagster, which stand with what they concern.
"""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from memory_pipeline.stages.answers import parse_extraction
from memory_pipeline.stages.small_talk import is_small_talk
from memory_pipeline.stages.temporal import find_bounds

REPORTS = Path(__file__).parents[3] / "shared" / "cases" / "field_reports.jsonl"

pytestmark = pytest.mark.skipif(not REPORTS.is_file(), reason="the reports are not at hand")


def report(report_id: str) -> dict[str, Any]:
    """One report: `input` and `expected`."""
    found = [json.loads(line) for line in REPORTS.read_text(encoding="utf-8").splitlines()]
    (one,) = [item for item in found if item["id"] == report_id]
    return dict(one)


def test_b07_a_relative_date_counts_from_the_message_that_says_it() -> None:
    case = report("B07")
    message = case["input"]["messages"][0]
    said_at = datetime.fromisoformat(message["created_at"])
    (bound,) = find_bounds(message["content"], said_at, is_past=True)
    assert str(bound.valid_from) == case["expected"]["valid_from"]


def test_b11_a_window_of_acknowledgements_needs_no_extraction() -> None:
    messages = report("B11")["input"]["messages"]
    assert all(is_small_talk(m["content"]) for m in messages if m["role"] == "user")


def test_b13a_prose_and_a_code_fence_around_an_answer_lose_no_fact() -> None:
    case = report("B13a")
    graph = parse_extraction(case["input"]["model_returns"])
    assert len((*graph.relationships, *graph.literal_facts)) == case["expected"]["facts"]
