"""MemoryBank's days of talk. The users here are made up."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from memory_pipeline.domain.conversation import Role
from memory_pipeline.importers.errors import UnknownUserError, UnreadableExportError
from memory_pipeline_tests.importers.imported import import_file, write_json


def _person(name: str, *days: tuple[str, list[object]]) -> dict[str, object]:
    return {name: {"name": name, "summary": {}, "history": dict(days)}}


def _pair(query: str, response: str = "Noted.") -> dict[str, object]:
    return {"query": query, "response": response}


INES = _person("Ines", ("2023-04-27", [_pair("I bake.")]), ("2023-04-28", [_pair("I row.")]))
OTTO = _person("Otto", ("2023-04-27", [_pair("I sold the van."), _pair("Bye.")]))


def test_each_day_of_the_user_is_a_thread_and_others_are_counted(tmp_path: Path) -> None:
    got = import_file(write_json(tmp_path, INES | OTTO), user="ines")
    assert [(t.source_id, t.started_at) for t in got.threads] == [
        ("Ines/2023-04-27", datetime(2023, 4, 27, tzinfo=UTC)),
        ("Ines/2023-04-28", datetime(2023, 4, 28, tzinfo=UTC)),
    ]
    first = got.threads[0].messages
    assert [(m.role, m.text, m.speaker, m.said_at) for m in first] == [
        (Role.USER, "I bake.", None, None),
        (Role.ASSISTANT, "Noted.", None, None),
    ]
    assert got.skipped == {"other_user": 4}


@pytest.mark.parametrize("user", [None, "Zoe"])
def test_of_several_users_one_must_be_named(tmp_path: Path, user: str | None) -> None:
    with pytest.raises(UnknownUserError, match="Ines, Otto: pass one of them with --user"):
        import_file(write_json(tmp_path, INES | OTTO), user=user)


def test_the_only_user_needs_no_name(tmp_path: Path) -> None:
    assert len(import_file(write_json(tmp_path, INES)).threads) == 2


def test_another_name_than_the_only_users_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownUserError, match="'Zoe' is not in it"):
        import_file(write_json(tmp_path, INES), user="Zoe")


def test_ids_are_unique_and_stay_when_the_day_grows(tmp_path: Path) -> None:
    pairs: list[object] = [_pair("yes"), _pair("yes"), _pair("no")]
    whole = import_file(write_json(tmp_path, _person("Ines", ("2023-04-27", pairs)))).ids
    start = import_file(write_json(tmp_path, _person("Ines", ("2023-04-27", pairs[:2])))).ids
    assert len(set(whole)) == 6
    assert whole[:4] == start


def test_odd_entries_are_counted_and_the_rest_stays(tmp_path: Path) -> None:
    pairs: list[object] = [
        _pair("I bake."),
        "x",
        {"memory": "y"},
        {"query": "I row."},
        {"query": 7},
    ]
    got = import_file(write_json(tmp_path, _person("Ines", ("2023-04-27", pairs))))
    assert got.texts == ["I bake.", "Noted.", "I row."]
    assert got.skipped == {"bad_message": 2, "empty": 3}


def test_a_user_without_a_day_and_a_day_without_words_are_counted(tmp_path: Path) -> None:
    days = import_file(write_json(tmp_path, _person("Ines", ("2023-04-27", []))), "memorybank")
    nobody = import_file(write_json(tmp_path, {"Ines": 7}), "memorybank")
    assert (days.skipped, nobody.skipped) == ({"empty_thread": 1}, {"empty_thread": 1})


def test_a_day_that_is_no_date_is_counted_and_stays(tmp_path: Path) -> None:
    got = import_file(write_json(tmp_path, _person("Ines", ("Monday", [_pair("I bake.")]))))
    assert (got.threads[0].started_at, got.skipped) == (None, {"bad_time": 1})


def test_a_list_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableExportError, match="holds no users"):
        import_file(write_json(tmp_path, [1]), "memorybank")


def test_text_is_clean(tmp_path: Path) -> None:
    person = _person("Ines\x00", ("2023-04-27", [_pair("a\x00\ud83d")]))
    got = import_file(write_json(tmp_path, person))
    assert got.texts[0] == "a\ufffd"
    assert got.threads[0].source_id == "Ines/2023-04-27"
