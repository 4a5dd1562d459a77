"""Where quotes are found, where they must not be, and that spans select the original text.

Belongs here: folding, exact and near search. Does not: what guards make of a missing quote.
"""

import unicodedata
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from memory_pipeline.domain.claim import Evidence
from memory_pipeline.domain.conversation import Message, Role
from memory_pipeline.domain.ids import MessageId
from memory_pipeline.stages.evidence import FoldedMessages, find_evidence
from memory_pipeline.stages.fields import halves_grapheme
from memory_pipeline.stages.folding import fold

NOON = datetime(2025, 3, 1, 12, tzinfo=UTC)
FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"


def _message(text: str, seq: int = 0, *, is_own: bool = True) -> Message:
    return Message(
        message_id=MessageId(UUID(int=seq)),
        seq=seq,
        role=Role.USER if is_own else Role.ASSISTANT,
        text=text,
        said_at=NOON + timedelta(minutes=seq),
        is_own=is_own,
    )


def _found(quote: str, *texts: str) -> Evidence | None:
    return find_evidence(quote, [_message(text, seq) for seq, text in enumerate(texts)])


def _quoted(quote: str, *texts: str) -> str | None:
    evidence = _found(quote, *texts)
    return evidence.quote if evidence else None


@pytest.mark.parametrize(
    ("quote", "text", "said"),
    [
        ("i sing TENOR", "Well, I sing tenor.", "I sing tenor"),
        ("I sing tenor", "I\n  sing\ttenor", "I\n  sing\ttenor"),
        ("I moved to Porto", "So **I moved** to _Porto_!", "I moved** to _Porto"),
        ("run pytest daily", "I run `pytest` daily", "run `pytest` daily"),
        ("I read the docs", "I read [the docs](https://example.org/a) daily", "I read [the docs"),
        ("my plans sing more", "## My plans\n- sing more", "My plans\n- sing more"),
        ("milk eggs", "\u2022 milk\n\u2022 eggs", "milk\n\u2022 eggs"),
        ("it's \"fine\"", "It\u2019s \u201cfine\u201d", "It\u2019s \u201cfine\u201d"),
        ("I moved - finally", "I moved\u2014finally", "I moved\u2014finally"),
        ("wait... what", "Wait\u2026 what?", "Wait\u2026 what"),
        ("a cafe in porto", "A cafe\u0301 in Porto", "A cafe\u0301 in Porto"),
        ("i own a kayak", "I own\u200b a \u202ekayak", "I own\u200b a \u202ekayak"),
        ("\u6211\u4f4f\u5317\u4eac", "\u6211\u4f4f\u5317\u4eac\u5e02", "\u6211\u4f4f\u5317\u4eac"),
        ("\uff21\uff22\uff23 club", "the ABC club", "ABC club"),
        ("\u201cI sing tenor.\u201d", "I sing tenor in a choir", "I sing tenor"),
        ("I own a kayak", "My notes say \x00 that I own a kayak.", "I own a kayak"),
    ],
)  # fmt: skip
def test_case_space_markup_and_typography_are_folded(quote: str, text: str, said: str) -> None:
    assert _quoted(quote, text) == said


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("I work at Brightwel now", "I work at Brightwell now!"),
        ("we celebrate every friday", "we celebarte every friday"),
        ("I definitely moved to Porto", "I definately moved to Porto"),
    ],
)
def test_small_typos_are_tolerated(quote: str, text: str) -> None:
    assert _quoted(quote, text) == text.rstrip("!")


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("", "anything"),
        (" \n", "anything"),
        ("...", "well..."),
        ("**", "**bold**"),
        ("I sing tenor", "ok"),
        ("ok then I moved to Porto in May", "ok"),
        ("I sing tenr", "I sing tenor"),
        ("I weigh 8", "I weigh 80 kilos"),
        ("I weigh 8", "I weigh 8.5 kilos"),
        ("I own 23 boats", "I own 2*3 boats"),
        ("we have lived here since 2019", "we have lived here since 2018"),
        ("I paid 1.5 euros for the bread", "I paid 15 euros for the bread"),
        ("I have three cats at home", "I have thirteen cats at home"),
        ("I have sixteen cats at home", "I have six cats at home"),
        ("I like coffee a lot", "I don't like coffee a lot"),
        ("I don't like coffee a lot", "I do like coffee a lot"),
        ("i no longer work at acme corp", "I work at acme corp"),
        ("I never smoke big cigars", "I ever smoke big cigars"),
        ("yes I can", "yes I can't"),
        ("I am happy at my work", "I am unhappy at my work"),
        ("I really dislike the opera here", "I really like the opera here"),
        ("ich trinke gerne Kaffee am Morgen", "ich trinke nicht gerne Kaffee am Morgen"),
        ("a cat", "a catalogue"),
        ("\uac00", "\uac01"),
    ],
)
def test_what_was_not_said_is_not_found(quote: str, text: str) -> None:
    assert _found(quote, text) is None


def test_a_number_with_a_thousands_comma_is_the_same_number() -> None:
    assert _quoted("I have saved 25000 euros so far", "I have saved 25,000 euros so far")


def test_a_negation_in_another_clause_does_not_forbid_a_typo() -> None:
    text = "I don't smoke. I liek coffee a lot"

    assert _quoted("I like coffee a lot", text) == "I liek coffee a lot"


def test_only_own_messages_are_evidence() -> None:
    messages = [_message("I sing tenor", 1, is_own=False), _message("nice", 2)]

    assert find_evidence("I sing tenor", messages) is None


def test_the_first_message_that_says_it_wins() -> None:
    evidence = _found("I sing tenor", "hello", "I sing tenor", "I sing tenor")

    assert evidence is not None
    assert (evidence.message_id, evidence.said_at) == (UUID(int=1), NOON + timedelta(minutes=1))


def test_an_exact_match_in_a_later_message_beats_a_typo_in_an_earlier_one() -> None:
    assert _quoted("I sing tenor here", "I sing tenro here", "I sing tenor here") == (
        "I sing tenor here"
    )


def test_the_full_quote_in_a_later_message_beats_its_stripped_form_in_an_earlier_one() -> None:
    evidence = _found("I sing.", "I sing tenor", "I sing.")

    assert evidence is not None
    assert evidence.quote == "I sing."


@pytest.mark.parametrize(
    ("quote", "text", "said"),
    [
        ("\U0001f468", f"we: {FAMILY}!", FAMILY),
        ("thumbs \U0001f44d", "thumbs \U0001f44d\U0001f3fd up", "thumbs \U0001f44d\U0001f3fd"),
        ("flag \U0001f1f5", "flag \U0001f1f5\U0001f1f9", "flag \U0001f1f5\U0001f1f9"),
        ("porto cafe", "porto cafe\u0301", "porto cafe\u0301"),
    ],
)
def test_a_span_halves_no_grapheme(quote: str, text: str, said: str) -> None:
    assert _quoted(quote, text) == said


def test_a_long_quote_is_stored_up_to_two_hundred_characters() -> None:
    text = "I sing " + FAMILY * 100

    evidence = _found(text, text)

    assert evidence is not None
    assert len(evidence.quote) == 7 + 38 * len(FAMILY)
    assert not halves_grapheme(text, evidence.span_end)


def test_thousands_of_invented_quotes_are_all_refused() -> None:
    prepared = FoldedMessages([_message("I moved to Porto and I work at a school in Porto")])

    quotes = [f"I moved to a school and I work at porto {'x' * (i % 7)}{i}" for i in range(2_000)]

    assert all(find_evidence(quote, prepared) is None for quote in quotes)


TEXTS = st.text(
    st.one_of(
        st.characters(exclude_categories=["Cs"]),
        st.sampled_from(
            "ab 12.,*_`#-[]()\n\u0301\u200d\u202e\u2019\u2026\U0001f468\U0001f3fd\u00df"
        ),
    ),
    max_size=60,
)


PROSE = st.lists(st.text(st.sampled_from("abcdefg\u00e9\u0301\U0001f3fd"), min_size=1), min_size=1)


@given(PROSE, st.sampled_from([" ", "\n", " \u200b ", "  "]), st.data())
def test_any_run_of_whole_words_is_found_whatever_the_space_between(
    words: list[str], space: str, data: st.DataObject
) -> None:
    first = data.draw(st.integers(0, len(words) - 1))
    last = data.draw(st.integers(first, len(words) - 1))
    quote = " ".join(words[first : last + 1])
    assume(any(char.isalnum() for char in fold(quote).text))

    assert _found(quote.upper(), space.join(words)) is not None


@given(TEXTS, TEXTS)
def test_a_found_span_is_exact_short_and_whole(quote: str, text: str) -> None:
    evidence = _found(quote, text, quote)

    if evidence is not None:
        said = (text, quote)[evidence.message_id.int]
        assert said[evidence.span_start : evidence.span_end] == evidence.quote
        assert 0 < len(evidence.quote) <= 200
        assert not halves_grapheme(said, evidence.span_start)


@given(TEXTS)
def test_a_message_is_evidence_of_itself(text: str) -> None:
    assume(any(char.isalnum() for char in fold(text).text))

    assert _found(text, text) is not None


@given(TEXTS)
def test_the_folded_text_maps_back_in_order(text: str) -> None:
    folded = fold(text)

    assert len(folded.text) == len(folded.starts) == len(folded.ends)
    assert list(folded.starts) == sorted(folded.starts)
    assert all(0 <= a < b <= len(text) for a, b in zip(folded.starts, folded.ends, strict=True))
    assert not any(unicodedata.category(char) in {"Mn", "Cf", "Cc"} for char in folded.text)
