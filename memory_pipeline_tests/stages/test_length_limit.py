"""Answers that a limit in length ended: what is usable is used, the rest says why it is not."""

import pytest

from memory_pipeline.domain.changes import Verdict
from memory_pipeline.stages.answers import (
    BadAnswerError,
    parse_extraction,
    parse_verdicts,
    read_verdicts,
)
from memory_pipeline.stages.length_limit import TooLongError, mark_length
from memory_pipeline_tests.stages.model_doubles import answer, fact

WHOLE = answer(fact("user | plays | cello", "I play cello"), fact("user | likes | tea", "tea"))


def test_what_a_cut_answer_says_is_used_and_its_mark_is_no_part_of_it() -> None:
    graph = parse_extraction(mark_length(WHOLE[: WHOLE.index("tea")], "cut"))
    assert [item.object for item in graph.relationships] == ["cello"]
    assert parse_extraction(mark_length(WHOLE, "cut")) == parse_extraction(WHOLE)


@pytest.mark.parametrize("text", ["", "Let me think about {this} first", '{"entities": [{"na'])
def test_a_cut_answer_without_anything_usable_is_too_long_and_says_which_limit(text: str) -> None:
    with pytest.raises(TooLongError, match=r"^4,096 tokens are too few$"):
        parse_extraction(mark_length(text, "4,096 tokens\n are  too few"))


@pytest.mark.parametrize(
    "text", ["", "no JSON", "a [length limit] of my own\n{", "\n[length limit] a\nb"]
)
def test_a_bad_answer_without_the_mark_in_its_last_line_is_bad_for_other_reasons(text: str) -> None:
    with pytest.raises(BadAnswerError) as raised:
        parse_extraction(text)
    assert not isinstance(raised.value, TooLongError)


def test_a_judge_without_room_to_answer_leaves_every_pair_undecided() -> None:
    text = mark_length("", "the context is full")
    with pytest.raises(TooLongError):
        read_verdicts(text, 1)
    (verdict,) = parse_verdicts(text, 1)
    assert (verdict.verdict, verdict.is_given) == (Verdict.NEITHER, False)
    assert "the context is full" in verdict.reason
