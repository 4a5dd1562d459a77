"""WordPiece tokens as BERT's uncased models expect them, in pure Python.

Here: normalising text, splitting words, looking pieces up in the vendored vocabulary.
Not here: padding, batches, anything that runs a model.
"""

import string
import unicodedata
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Final

MAX_WORD_CHARACTERS: Final = 100
_WORD_CACHE_SIZE: Final = 16_384
_CONTINUATION: Final = "##"
# Unassigned code points stay: a newer Python knows more of them, and must give the same ids.
_DROPPED_CATEGORIES: Final = frozenset({"Cc", "Cf", "Co", "Cs", "Mn"})
_ASCII_PUNCTUATION: Final = frozenset(string.punctuation)
_CJK_IDEOGRAPHS: Final = (
    range(0x3400, 0x4DC0),
    range(0x4E00, 0xA000),
    range(0xF900, 0xFB00),
    range(0x20000, 0x2A6E0),
    range(0x2A700, 0x2B740),
    range(0x2B740, 0x2B820),
    range(0x2B820, 0x2CEB0),
    range(0x2F800, 0x2FA20),
)


class WordPieceTokenizer:
    """Encodes text as the ids of a BERT uncased vocabulary.

    Texts are untrusted: a literal "[SEP]" in one is punctuation and letters, never the marker.
    Safe to share between threads.
    """

    def __init__(self, vocabulary: Mapping[str, int], max_tokens: int) -> None:
        """`max_tokens` counts the two markers; longer texts lose their end.

        Raises ValueError below three tokens, KeyError if the vocabulary lacks a marker.
        """
        if max_tokens < 3:
            raise ValueError(f"max_tokens must leave room for two markers and a word: {max_tokens}")
        self._vocabulary = vocabulary
        self._max_tokens = max_tokens
        self._first = vocabulary["[CLS]"]
        self._last = vocabulary["[SEP]"]
        self._unknown = vocabulary["[UNK]"]
        self._longest_piece = max(map(len, vocabulary))
        self._characters = _NormalForms()
        self._find_pieces = lru_cache(maxsize=_WORD_CACHE_SIZE)(self._split_word)

    def encode(self, text: str) -> list[int]:
        """Ids of the text between the opening and the closing marker."""
        room = self._max_tokens - 2
        ids: list[int] = []
        for word in self._words(text):
            ids.extend(self._find_pieces(word))
            if len(ids) >= room:
                break
        return [self._first, *ids[:room], self._last]

    def _words(self, text: str) -> Iterator[str]:
        decomposed = unicodedata.normalize("NFD", text)
        yield from decomposed.translate(self._characters).split(" ")

    def _split_word(self, word: str) -> tuple[int, ...]:
        """The longest known piece from the left, again and again; one gap makes all unknown."""
        if len(word) > MAX_WORD_CHARACTERS:
            return (self._unknown,)
        ids: list[int] = []
        start = 0
        while start < len(word):
            prefix = _CONTINUATION if start else ""
            for end in range(min(len(word), start + self._longest_piece), start, -1):
                piece_id = self._vocabulary.get(prefix + word[start:end])
                if piece_id is not None:
                    ids.append(piece_id)
                    start = end
                    break
            else:
                return (self._unknown,)
        return tuple(ids)


class _NormalForms(dict[int, str | None]):
    """A table for str.translate that fills itself; it expects text decomposed to NFD."""

    def __missing__(self, code_point: int) -> str | None:
        normal_form = _normalise_character(chr(code_point))
        self[code_point] = normal_form
        return normal_form


def _normalise_character(character: str) -> str | None:
    category = unicodedata.category(character)
    if character in "\t\n\r" or category[0] == "Z":
        return " "
    if category in _DROPPED_CATEGORIES or character == "\N{REPLACEMENT CHARACTER}":
        return None
    if category[0] == "P" or character in _ASCII_PUNCTUATION or _is_cjk_ideograph(character):
        return f" {character} "
    # One by one, so that a final sigma is lowered like any other.
    return character.lower()


def _is_cjk_ideograph(character: str) -> bool:
    return any(ord(character) in block for block in _CJK_IDEOGRAPHS)


@lru_cache(maxsize=1)
def load_bert_uncased_vocabulary() -> Mapping[str, int]:
    """Pieces of the vendored vocabulary with their ids, 30,522 of them; ids are line numbers."""
    path = files("memory_pipeline.adapters") / "models" / "bert_uncased_vocab.txt"
    pieces = path.read_text(encoding="utf-8").split("\n")
    return {piece: index for index, piece in enumerate(pieces) if piece}
