"""Faults reported of other systems: reading them, where their file is at hand.

Belongs here: finding one report by its id. Does not: what a report means to a part of the
package, which its test there knows.
"""

import json
from pathlib import Path
from typing import Any

import pytest

REPORTS = Path(__file__).parents[2] / "shared" / "cases" / "field_reports.jsonl"

needs_reports = pytest.mark.skipif(not REPORTS.is_file(), reason="the reports are not at hand")


def report(report_id: str) -> dict[str, Any]:
    """One report: `input` and `expected`."""
    found = [json.loads(line) for line in REPORTS.read_text(encoding="utf-8").splitlines()]
    (one,) = [item for item in found if item["id"] == report_id]
    return dict(one)
