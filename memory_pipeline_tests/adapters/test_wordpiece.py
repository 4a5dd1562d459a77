"""Token ids against those of the reference tokenizer, and what holds for any text."""

import json
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_pipeline.adapters.wordpiece import WordPieceTokenizer, load_bert_uncased_vocabulary

VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
CLS, SEP, UNK = 101, 102, 100
TOKENIZER = WordPieceTokenizer(load_bert_uncased_vocabulary(), max_tokens=256)


def _reference_cases() -> list[tuple[str, list[int]]]:
    path = Path(__file__).with_name("data") / "bert_uncased_ids.json"
    return [(case["text"], case["ids"]) for case in json.loads(path.read_text("utf-8"))]


@pytest.mark.parametrize(("text", "ids"), _reference_cases())
def test_ids_are_those_of_the_reference_tokenizer(text: str, ids: list[int]) -> None:
    assert TOKENIZER.encode(text) == ids


def test_the_vendored_vocabulary_is_the_published_one() -> None:
    path = files("memory_pipeline.adapters") / "models" / "bert_uncased_vocab.txt"
    assert sha256(path.read_bytes()).hexdigest() == VOCABULARY_SHA256


def test_every_line_of_the_vocabulary_is_a_piece_of_its_own() -> None:
    assert sorted(load_bert_uncased_vocabulary().values()) == list(range(30_522))


@pytest.mark.parametrize("marker", ["[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]"])
def test_a_marker_written_in_a_text_is_not_a_marker(marker: str) -> None:
    inner = TOKENIZER.encode(f"before {marker} after")[1:-1]
    assert load_bert_uncased_vocabulary()[marker] not in inner


def test_a_long_text_loses_its_end_and_keeps_its_closing_marker() -> None:
    short = WordPieceTokenizer(load_bert_uncased_vocabulary(), max_tokens=5)
    assert short.encode("one two three four five") == [*TOKENIZER.encode("one two three")[:-1], SEP]


def test_a_word_that_is_cut_by_the_limit_keeps_its_first_pieces() -> None:
    short = WordPieceTokenizer(load_bert_uncased_vocabulary(), max_tokens=4)
    assert short.encode("unaffable") == [*TOKENIZER.encode("unaffable")[:3], SEP]


def test_a_word_with_one_unknown_part_is_unknown_as_a_whole() -> None:
    assert TOKENIZER.encode("walk\u1300ing") == [CLS, UNK, SEP]


def test_a_limit_without_room_for_a_word_is_refused() -> None:
    with pytest.raises(ValueError, match="max_tokens"):
        WordPieceTokenizer(load_bert_uncased_vocabulary(), max_tokens=2)


def test_a_vocabulary_without_markers_is_refused() -> None:
    with pytest.raises(KeyError):
        WordPieceTokenizer({"word": 0}, max_tokens=8)


@given(st.text(st.characters(codec=None)))
def test_any_text_gives_valid_ids_between_two_markers(text: str) -> None:
    ids = TOKENIZER.encode(text)
    assert (ids[0], ids[-1]) == (CLS, SEP)
    assert {CLS, SEP}.isdisjoint(ids[1:-1])
    assert len(ids) <= 256


@given(st.text(), st.text())
def test_texts_joined_by_a_space_give_the_ids_of_both(left: str, right: str) -> None:
    roomy = WordPieceTokenizer(load_bert_uncased_vocabulary(), max_tokens=100_000)
    both = [*roomy.encode(left)[1:-1], *roomy.encode(right)[1:-1]]
    assert roomy.encode(f"{left} {right}") == [CLS, *both, SEP]
