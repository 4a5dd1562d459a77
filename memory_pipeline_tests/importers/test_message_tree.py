"""The branch that was seen last, in whole and in broken trees."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_pipeline.importers.message_tree import MessageTree

BRANCHED: dict[str, str | None] = {"r": None, "u1": "r", "a1": "u1", "a2": "u1"}


def _path(
    parents: dict[str, str | None], current: str | None, hours: dict[str, int] | None = None
) -> str:
    times = {key: datetime(2025, 1, 1, h, tzinfo=UTC) for key, h in (hours or {}).items()}
    return " ".join(MessageTree(parents, times).visible_path(current))


@pytest.mark.parametrize(
    ("current", "path"), [("a1", "r u1 a1"), ("a2", "r u1 a2"), ("u1", "r u1")]
)
def test_the_path_leads_from_the_root_to_the_current_message(current: str, path: str) -> None:
    assert _path(BRANCHED, current) == path


@pytest.mark.parametrize("current", [None, "gone"])
def test_without_a_current_message_the_last_leaf_of_the_export_is_taken(
    current: str | None,
) -> None:
    assert _path(BRANCHED, current) == "r u1 a2"


def test_without_a_current_message_the_latest_leaf_is_taken() -> None:
    assert _path(BRANCHED, None, {"a1": 9, "a2": 8}) == "r u1 a1"


@pytest.mark.parametrize(
    "parents",
    [{"a": "b", "b": "a"}, {"a": "a"}, {"a": "b", "b": "c", "c": "b"}],
)
def test_a_cycle_ends_the_path_without_a_repeat(parents: dict[str, str | None]) -> None:
    assert sorted(_path(parents, "a").split()) == sorted(parents)


def test_what_lies_before_a_lost_link_is_found_again() -> None:
    parents = {"r": None, "u1": "r", "a1": "u1", "u2": "lost", "a2": "u2"}
    assert _path(parents, "a2") == "r u1 a1 u2 a2"


def test_several_lost_links_are_bridged_in_the_order_of_time() -> None:
    parents: dict[str, str | None] = {"c": "lost3", "b": "lost2", "a": "lost1"}
    assert _path(parents, "c", {"a": 1, "b": 2, "c": 3}) == "a b c"


def test_a_branch_that_was_left_stays_out_when_the_root_is_lost() -> None:
    assert _path({"u1": "lost", "a1": "u1", "u1b": "lost", "a1b": "u1b"}, "a1b") == "u1b a1b"


def test_another_root_is_another_branch() -> None:
    assert _path({"u1": None, "a1": "u1", "u1b": None, "a1b": "u1b"}, "a1b") == "u1b a1b"


def test_no_message_gives_no_path() -> None:
    assert _path({}, "x") == ""


NODES = st.sampled_from("abcdef")


@given(st.dictionaries(NODES, st.none() | NODES), st.none() | NODES)
def test_any_tree_gives_a_path_without_repeats_that_ends_in_the_current_message(
    parents: dict[str, str | None], current: str | None
) -> None:
    path = MessageTree(parents, {}).visible_path(current)
    assert len(set(path)) == len(path)
    assert set(path) <= parents.keys()
    assert bool(path) == bool(parents)
    if current is not None and current in parents:
        assert path[-1] == current
