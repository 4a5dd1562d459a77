"""Ids and counts of a thread that is being read."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from memory_pipeline.domain.conversation import Role, Skipped, SourceMessage, SourceThread
from memory_pipeline.importers.thread_draft import ThreadDraft


def _message(text: str, source_id: str = "", role: Role = Role.USER) -> SourceMessage:
    return SourceMessage(source_id=source_id, role=role, text=text)


def _ids(*messages: SourceMessage) -> list[str]:
    draft = ThreadDraft()
    for message in messages:
        draft.add(message)
    thread = next(draft.finish("t"))
    assert isinstance(thread, SourceThread)
    return [message.source_id for message in thread.messages]


@given(st.lists(st.sampled_from(["yes", "no", "ok"]), min_size=2), st.data())
def test_ids_made_of_content_are_unique_and_stay_when_the_thread_grows(
    texts: list[str], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(min_value=1, max_value=len(texts)))
    whole = _ids(*map(_message, texts))
    assert len(set(whole)) == len(texts)
    assert _ids(*map(_message, texts[:cut])) == whole[:cut]


def test_ids_made_of_content_do_not_depend_on_other_messages_before() -> None:
    assert _ids(_message("hello"), _message("I ski"))[1] == _ids(_message("I ski"))[0]


def test_role_and_time_tell_equal_texts_apart() -> None:
    timed = _message("ok").model_copy(update={"said_at": datetime(2025, 1, 1, tzinfo=UTC)})
    ids = {_ids(m)[0] for m in (_message("ok"), _message("ok", role=Role.ASSISTANT), timed)}
    assert len(ids) == 3


def test_a_message_given_twice_is_counted_once() -> None:
    draft = ThreadDraft()
    for text in ("a", "a", "b", "b"):
        draft.add(_message(text, "m1"))
    thread, skipped = draft.finish("t")
    assert isinstance(thread, SourceThread)
    assert [m.text for m in thread.messages] == ["a", "b"]
    assert len({m.source_id for m in thread.messages}) == 2
    assert skipped == Skipped(reason="duplicate_message", count=2, where="t")


def test_ids_too_long_for_an_index_are_cut_and_stay_apart() -> None:
    ids = _ids(_message("a", "x" * 5000 + "a"), _message("b", "x" * 5000 + "b"))
    assert [len(source_id) for source_id in ids] == [200, 200]
    assert ids[0] != ids[1]


def test_a_thread_without_a_message_is_counted_and_not_given() -> None:
    draft = ThreadDraft()
    draft.add(_message(" \x00\n"))
    assert list(draft.finish("t")) == [
        Skipped(reason="empty", where="t"),
        Skipped(reason="empty_thread", where="t"),
    ]


def test_junk_for_a_time_is_counted_and_an_absent_time_is_not() -> None:
    draft = ThreadDraft()
    draft.add(_message("a"))
    assert [draft.instant(value) for value in (None, "", "soon")] == [None, None, None]
    assert list(draft.finish("t"))[1:] == [Skipped(reason="bad_time", where="t")]


def test_threads_that_share_a_system_prompt_open_differently() -> None:
    openings = set()
    for text in ("I ski", "I swim"):
        draft = ThreadDraft()
        draft.add(_message("You are helpful.", role=Role.SYSTEM))
        draft.add(_message(text))
        openings.add(draft.opening(None))
    assert len(openings) == 2
