"""The page in a real browser: nothing is refused or thrown, nothing sticks out or collides.

A harness page loads the report into frames of several widths and writes down what it measures.
"""

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from memory_pipeline.report.page import render_page
from memory_pipeline_tests.report.memories import (
    fact,
    head,
    hostile_report,
    report,
    whole_report,
)

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
PROBE = Path(__file__).with_name("probe.html")


def browser() -> str:
    """The browser of this machine, or a reason to skip."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"none of {', '.join(BROWSERS)} is installed")
    return found


def visit(folder: Path, pages: dict[str, str]) -> tuple[dict[str, list[dict[str, Any]]], list[str]]:
    """What the probe measured of each page, and what the browser had to say on its console."""
    probe = folder / "probe.html"
    data = json.dumps(pages).replace("<", "\\u003c")
    probe.write_text(PROBE.read_text(encoding="utf-8").replace("/*PAGES*/[]", data), "utf-8")
    done = subprocess.run(
        [
            browser(),
            *("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
            *("--no-first-run", "--disable-component-update", "--disable-sync"),
            *("--enable-logging=stderr", "--v=0", f"--user-data-dir={folder / 'profile'}"),
            *("--virtual-time-budget=60000", "--dump-dom", probe.as_uri()),
        ],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    (result,) = re.findall(r'<pre id="result">(.*?)</pre>', done.stdout, re.DOTALL)
    said = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return json.loads(html.unescape(result)), said


def test_the_page_works_in_a_browser(tmp_path: Path) -> None:
    many = [fact(n, f"relates to {n % 9}", f"thing number {n} " * 3) for n in range(300)]
    long_words = [fact(1, "a" * 80, "b" * 200, subject="c" * 90, source_quote="d" * 400)]
    pages = {
        "whole": render_page(whole_report()),
        "hostile": render_page(hostile_report()),
        "empty": render_page(report(head=head(folded=0, episodes=0))),
        "many": render_page(report(many)),
        "long words": render_page(report(long_words)),
    }
    measured, said = visit(tmp_path, pages)
    assert said == []
    assert measured.keys() == pages.keys()
    for name, frames in measured.items():
        for seen in frames:
            place = (name, seen["width"])
            assert seen["closed"] <= seen["width"], place
            assert seen["open"] <= seen["width"], place
            assert (place, seen["collisions"]) == (place, [])
            assert seen["title"].startswith("Memory of "), place
    whole = measured["whole"][0]
    assert whole["hasTools"]
    assert (whole["rows"], whole["found"], whole["current"]) == (12, 1, 6)


def test_the_browsers_complaints_would_be_noticed(tmp_path: Path) -> None:
    broken = render_page(report()).replace('"use strict";', '"use strict"; fail();')
    _, said = visit(tmp_path, {"broken": broken})
    assert any("Refused" in line or "violates" in line for line in said)
