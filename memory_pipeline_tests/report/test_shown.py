"""Which facts a page shows, in which order, and the count of those it has no room for."""

from collections import Counter

from memory_pipeline.domain.fact import FactStatus
from memory_pipeline.report.shown import select_facts
from memory_pipeline_tests.report.memories import EVERY_STATUS, at, fact


def test_versions_become_one_fact_whose_last_version_tells_its_status() -> None:
    (user, _) = select_facts(EVERY_STATUS).subjects
    berlin = next(fact for fact in user.facts if fact.last.object == "berlin")
    assert [row.known_until for row in berlin.versions] == [at("2024-06-01"), None]
    assert berlin.last.status is FactStatus.SUPERSEDED


def test_the_user_comes_first_then_those_with_most_facts() -> None:
    rows = [fact(n, "has", "x", subject=name) for n, name in enumerate(["b", "a", "a", "user"])]
    assert [subject.name for subject in select_facts(rows).subjects] == ["user", "a", "b"]


def test_facts_of_one_predicate_follow_each_other_in_time() -> None:
    rows = [
        fact(1, "lives in", "porto", valid_from=at("2024-06-01")),
        fact(2, "has cat", "pixel"),
        fact(3, "lives in", "berlin", valid_from=at("2020-01-01")),
    ]
    (user,) = select_facts(rows).subjects
    assert [fact.last.object for fact in user.facts] == ["pixel", "berlin", "porto"]


def test_insights_stand_apart() -> None:
    selection = select_facts(EVERY_STATUS)
    assert [fact.last.object for fact in selection.insights] == [
        "The user moves when work changes."
    ]
    assert "graph observations" not in {subject.name for subject in selection.subjects}


def test_where_room_is_short_what_holds_comes_before_newer_history() -> None:
    rows = [
        fact(1, "a", "old but live", known_from=at("2020-01-01")),
        fact(2, "b", "planned", known_from=at("2020-01-02"), status=FactStatus.FUTURE),
        fact(3, "c", "newer history", known_from=at("2024-02-01"), status=FactStatus.ENDED),
        fact(4, "d", "older history", known_from=at("2023-02-01"), status=FactStatus.ENDED),
    ]
    selection = select_facts(rows, max_facts=3)
    (user,) = selection.subjects
    assert [f.last.object for f in user.facts] == ["old but live", "planned", "newer history"]
    assert user.left_out == 1
    assert selection.left_out == Counter({FactStatus.ENDED: 1})
    assert selection.total.total() == 4


def test_what_is_shown_does_not_depend_on_the_order_of_rows() -> None:
    rows = [*EVERY_STATUS]
    assert select_facts(rows, 5) == select_facts(rows[::-1], 5)


def test_a_long_list_is_grouped_by_predicate_with_rare_ones_at_the_end() -> None:
    rows = [fact(n, f"does {n % 4}", f"thing {n}") for n in range(90)]
    (user,) = select_facts([fact(100, "apart", "x"), *rows]).subjects
    assert [(group.title, len(group.facts)) for group in user.groups] == [
        *(("does 0", 23), ("does 1", 23), ("does 2", 22), ("does 3", 22), ("all else", 1)),
    ]


def test_a_short_list_is_one_group() -> None:
    (user, _) = select_facts(EVERY_STATUS).subjects
    assert [group.facts for group in user.groups] == [user.facts]
