"""The closed list of small talk: what is on it, and above all what is not."""

import pytest

from memory_pipeline.stages.small_talk import is_small_talk


@pytest.mark.parametrize(
    "text",
    [
        "hi",
        "Hello there!",
        "thanks",
        "THANK YOU SO MUCH!!!",
        "ok",
        "Ok, thanks. Bye!",
        "thanks \U0001f64f\U0001f64f",
        "Yes please",
        "You\u2019re welcome :)",
        "got it, makes sense",
        "\U0001f44d",
    ],
)
def test_greetings_and_acknowledgements_are_small_talk_however_they_are_written(text: str) -> None:
    assert is_small_talk(text)


@pytest.mark.parametrize(
    "text",
    [
        "hi, I'm Emily",
        "thanks, I moved to Lisbon",
        "no, Porto",
        "yes, 34",
        "ok google",
        "great dane",
        "hola",
        "danke",
        "merci beaucoup",
        "\u3042\u308a\u304c\u3068\u3046",
        "\u0441\u043f\u0430\u0441\u0438\u0431\u043e",
        "",
        "   ",
        "right now I live here",
    ],
)
def test_whatever_says_more_or_speaks_another_language_is_not_small_talk(text: str) -> None:
    assert not is_small_talk(text)


def test_a_long_run_of_thanks_is_looked_at_rather_than_skipped() -> None:
    assert not is_small_talk("thanks " * 60)
