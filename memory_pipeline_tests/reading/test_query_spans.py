"""Spans of a query: whole words only, folded as names are, few enough to look up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_pipeline.reading.query_spans import MAX_SPANS, name_spans
from memory_pipeline.stages.fields import NAME_CHARS, normalise_name
from memory_pipeline.stages.name_folding import lookup_keys


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("Where does Ann live?", "ann"),
        ("ann", "ann"),
        ("Ann's boat", "ann"),
        ("the (Green House)!", "green house"),
        ("\u201cO\u2019Brien\u201d called", "o'brien"),
        ("I write C++ daily", "c++"),
        ("MÜLLER & Söhne", "muller sohne"),
        ("MÜLLER & Söhne", "müller & söhne"),
        ("Straße des 17. Juni in Malmö", "malmoe"),
        ("flying with r.e.m. records", "rem records"),
        ("Dr. Smith's office", "smith"),
        ("\uff30orto", "porto"),
        ("straße nach porto", "strasse"),
        ("Tell me about the city of new york times square", "new york times square"),
        ("我住在东京的公寓", "东京"),
    ],
)
def test_a_name_in_the_query_is_among_its_spans(query: str, name: str) -> None:
    assert name in name_spans(query)


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("annual report", "ann"),
        ("joann joined", "ann"),
        ("vitamin c", "c"),
        ("new old york", "new york"),
        ("", ""),
        ("   ", ""),
    ],
)
def test_part_of_a_word_and_single_letters_are_no_span(query: str, name: str) -> None:
    assert name not in name_spans(query)


@given(st.lists(st.sampled_from(["ann", "green", "x-ray", "müller's", "o'brien", "c++", "42"])))
def test_every_run_of_words_is_there_as_it_is_spelled_and_as_it_is_folded(words: list[str]) -> None:
    name = " ".join(words[:3])
    spans = name_spans(f"what of {' '.join(words)}?")
    for wanted in lookup_keys(normalise_name(name)):
        if len(wanted) > 1:
            assert wanted in spans


@given(st.text(max_size=300))
def test_any_text_gives_spans_that_can_be_stored_and_looked_up(query: str) -> None:
    spans = name_spans(query)
    assert len(spans) == len(set(spans)) <= MAX_SPANS
    assert all(2 <= len(span) <= NAME_CHARS for span in spans)


def test_a_page_gives_a_bounded_number_of_spans_every_single_word_among_them() -> None:
    words = [f"word{number}" for number in range(1_500)]
    spans = name_spans(" ".join(words))
    assert len(spans) == MAX_SPANS
    assert set(words) <= set(spans)
