"""LoCoMo's conversations of two people. The ones used here are made up."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from memory_pipeline.domain.conversation import Role, SourceMessage
from memory_pipeline.importers.errors import UnknownUserError, UnreadableExportError
from memory_pipeline_tests.importers.imported import import_file, write_json


def _turn(speaker: str, dia_id: str, text: str, **more: object) -> dict[str, object]:
    return {"speaker": speaker, "dia_id": dia_id, "text": text, **more}


def _sample(sample_id: str = "conv-1", a: str = "Ines", b: str = "Otto") -> dict[str, object]:
    return {
        "qa": [{"question": "Who bakes?", "answer": "Ines"}],
        "conversation": {
            "speaker_a": a,
            "speaker_b": b,
            "session_2_date_time": "12:09 am on 13 September, 2023",
            "session_2": [_turn(b, "D2:1", "I sold the van.")],
            "session_10_date_time": "1:05 pm on 1 October, 2023",
            "session_10": [_turn(a, "D10:1", "I bake on Fridays.")],
        },
        "sample_id": sample_id,
    }


def _session(*turns: object) -> dict[str, object]:
    conversation = {"speaker_a": "Ines", "speaker_b": "Otto", "session_1": turns}
    return {"sample_id": "s", "conversation": conversation}


def test_each_session_is_a_thread_with_the_time_of_the_session(tmp_path: Path) -> None:
    threads = import_file(write_json(tmp_path, _sample()), user="Ines").threads
    assert [(t.source_id, t.started_at) for t in threads] == [
        ("conv-1/session_2", datetime(2023, 9, 13, 0, 9, tzinfo=UTC)),
        ("conv-1/session_10", datetime(2023, 10, 1, 13, 5, tzinfo=UTC)),
    ]
    assert threads[0].messages == (
        SourceMessage(source_id="D2:1", role=Role.USER, text="I sold the van.", speaker="Otto"),
    )


def test_either_speaker_can_be_the_user_in_any_case_and_ids_stay(tmp_path: Path) -> None:
    path = write_json(tmp_path, _sample())
    assert import_file(path, user="OTTO") == import_file(path, user=" ines ")


@pytest.mark.parametrize("user", [None, "Zoe", ""])
def test_without_a_speaker_who_is_the_user_nothing_is_guessed(
    tmp_path: Path, user: str | None
) -> None:
    path = write_json(tmp_path, _sample())
    with pytest.raises(UnknownUserError, match=r"names Ines, Otto: pass one .* --user") as caught:
        import_file(path, user=user)
    assert caught.value.speakers == ("Ines", "Otto")


def test_of_a_list_of_samples_those_with_the_user_are_read(tmp_path: Path) -> None:
    samples = [_sample("conv-1"), _sample("conv-2", "Ada", "Bo"), _sample("conv-3", "Bo", "Otto")]
    got = import_file(write_json(tmp_path, samples), user="otto")
    assert [t.source_id for t in got.threads] == [
        "conv-1/session_2",
        "conv-1/session_10",
        "conv-3/session_2",
        "conv-3/session_10",
    ]
    assert got.skipped == {"other_user": 2}


def test_samples_without_an_id_are_named_after_the_file(tmp_path: Path) -> None:
    one, other = _sample(), _sample()
    del one["sample_id"], other["sample_id"]
    single = import_file(write_json(tmp_path, one, "talks.json"), user="Ines")
    several = import_file(write_json(tmp_path, [one, other], "talks.json"), user="Ines")
    assert {t.source_id.split("/")[0] for t in single.threads} == {"talks"}
    assert {t.source_id.split("/")[0] for t in several.threads} == {"talks-1", "talks-2"}


def test_a_pictures_caption_is_an_attachment_after_the_turn(tmp_path: Path) -> None:
    turn = _turn("Ines", "D1:1", "Look!", img_url=["u"], blip_caption="a photo of a cake")
    got = import_file(write_json(tmp_path, _session(turn)), user="Ines")
    assert [(m.source_id, m.role, m.text) for m in got.messages] == [
        ("D1:1", Role.USER, "Look!"),
        ("D1:1/image", Role.ATTACHMENT, "a photo of a cake"),
    ]
    assert got.skipped == {}


def test_a_turn_of_a_picture_alone_is_its_attachment_alone(tmp_path: Path) -> None:
    turn = _turn("Ines", "D1:1", "", blip_caption="a photo of a cake")
    got = import_file(write_json(tmp_path, _session(turn)), user="Ines")
    assert (got.roles, got.skipped) == ([Role.ATTACHMENT], {})


def test_a_picture_without_a_caption_is_counted(tmp_path: Path) -> None:
    turns = [_turn("Ines", "D1:1", "Look!", img_url=["u", "v"]), _turn("Ines", "D1:2", "")]
    got = import_file(write_json(tmp_path, _session(*turns)), user="Ines")
    assert (got.texts, got.skipped) == (["Look!"], {"image": 2, "empty": 1})


def test_a_turn_that_nobody_says_is_counted(tmp_path: Path) -> None:
    turns = [_turn("Ines", "D1:1", "Hi"), {"text": "x", "dia_id": "D1:2"}, "x"]
    got = import_file(write_json(tmp_path, _session(*turns)), user="Ines")
    assert (got.texts, got.skipped) == (["Hi"], {"unknown_speaker": 2})


def test_a_turn_without_an_id_gets_one_of_its_content(tmp_path: Path) -> None:
    turn = {"speaker": "Ines", "text": "Hi", "blip_caption": "a wave"}
    got = import_file(write_json(tmp_path, _session(turn, turn)), user="Ines")
    assert len(set(got.ids)) == 4


def test_a_session_that_is_dated_but_empty_is_counted(tmp_path: Path) -> None:
    sample = _session(_turn("Ines", "D1:1", "Hi"))
    conversation = sample["conversation"]
    assert isinstance(conversation, dict)
    conversation["session_2_date_time"] = "1:05 pm on 1 October, 2023"
    assert import_file(write_json(tmp_path, sample), user="Ines").skipped == {"empty_thread": 1}


def test_a_bad_session_time_is_counted_and_the_session_stays(tmp_path: Path) -> None:
    sample = _session(_turn("Ines", "D1:1", "Hi"))
    conversation = sample["conversation"]
    assert isinstance(conversation, dict)
    conversation["session_1_date_time"] = "after lunch"
    got = import_file(write_json(tmp_path, sample), user="Ines")
    assert (got.texts, got.threads[0].started_at, got.skipped) == (["Hi"], None, {"bad_time": 1})


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableExportError, match="holds no session"):
        import_file(write_json(tmp_path, [{"role": "user"}]), "locomo", "Ines")


def test_text_is_clean(tmp_path: Path) -> None:
    turn = _turn("Ines\x00", "D1:1\x00", "a\x00\ud83d", blip_caption="b\udc00")
    got = import_file(write_json(tmp_path, _session(turn)), user="Ines")
    assert got.texts == ["a\ufffd", "b\ufffd"]
    assert (got.messages[0].speaker, got.messages[0].source_id) == ("Ines", "D1:1")
