"""Stored text in events (spec X12): a cell of a table, never a link, a picture or another row.

Belongs here: what a cell does to text. Does not: which text is shown (test_upkeep, test_profiles).
"""

from __future__ import annotations

import pytest

from memory_pipeline.defs.event_text import markdown_cell


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a | b\n| c |", "a \\| b \\| c \\|"),
        ("![x](y)", "\\!\\[x\\]\\(y\\)"),
        ("<img src=x>", "\\<img src=x\\>"),
        ("**now** `x` a_b", "\\*\\*now\\*\\* \\`x\\` a\\_b"),
        ("plain, words. 3-4", "plain, words. 3-4"),
    ],
)
def test_marks_of_stored_text_are_shown_as_they_are(text: str, shown: str) -> None:
    assert markdown_cell(text) == shown


def test_a_bare_address_is_no_link() -> None:
    assert "https://" not in markdown_cell("see https://example.org/x")
