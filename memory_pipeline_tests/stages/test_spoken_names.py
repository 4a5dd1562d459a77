"""Which stretches of a text are looked up as names."""

import pytest

from memory_pipeline.stages.spoken_names import spoken_names


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("I met Anna Lee today", "anna lee"),
        ("we wrote it in C++, mostly", "c++"),
        ("O'Reilly's books", "o'reilly"),
        ("my dogs slept", "dog"),
        ("the Leeds\n  Docks", "leeds docks"),
        ("我住在东京", "东京"),
        ("the university of applied sciences", "university of applied sciences"),
    ],
)
def test_a_name_in_the_text_is_among_them(text: str, name: str) -> None:
    assert name in spoken_names(text)


def test_part_of_a_word_is_no_name() -> None:
    assert "ann" not in spoken_names("our annual meeting")


def test_each_is_named_once_and_none_is_empty() -> None:
    names = spoken_names("s's - as is, as is")
    assert sorted(set(names)) == names
    assert "" not in names
    assert spoken_names(" -- ") == []
