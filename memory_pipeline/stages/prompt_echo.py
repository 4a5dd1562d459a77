"""What the extraction prompt says itself: its examples must not come back as the user's memory.

Belongs here: the texts of the examples, and where a message quotes the prompt. Does not: wording
(prompts), what becomes of an echo (stages/guard, stages/remarks).
"""

import json
from dataclasses import dataclass
from functools import lru_cache

from memory_pipeline.prompts.library import EXTRACT_GRAPH, load_prompt
from memory_pipeline.stages.fields import normalise_name, normalise_predicate
from memory_pipeline.stages.folding import fold
from memory_pipeline.stages.shared_words import SaidWords, content_words

LINE_CHARS = 60
"""A line of the prompt shorter than this may stand in anybody's message."""

BACKED_SHARE = 3
"""A remark is no echo when one in so many of its words stands in the user's own messages."""
QUOTED_SHARE = 6
"""As `BACKED_SHARE`, of an order whose quote was found: there a word in common is enough."""


@dataclass(frozen=True, slots=True)
class PromptTexts:
    """The facts (predicate and object), quotes and remarks of the examples; all longer lines."""

    facts: frozenset[tuple[str, str]]
    quotes: frozenset[str]
    remarks: frozenset[str]
    lines: tuple[str, ...]


@lru_cache(maxsize=1)
def load_prompt_texts() -> PromptTexts:
    """The texts of the extraction prompt in use."""
    system = load_prompt(EXTRACT_GRAPH).system
    lines = [line.strip() for line in system.splitlines()]
    answers = [json.loads(line) for line in lines if line.startswith('{"entities":')]
    facts = [f for a in answers for f in (*a["relationships"], *a["literal_facts"])]
    orders = [order for answer in answers for order in answer["instructions"]]
    open_points = [point["about"] for answer in answers for point in answer["uncertainties"]]
    return PromptTexts(
        facts=frozenset(
            (normalise_predicate(f["predicate"]), normalise_name(f["object"])) for f in facts
        ),
        quotes=frozenset(fold(item["source_quote"]).text for item in (*facts, *orders)),
        remarks=frozenset(
            fold(text).text for text in (*open_points, *(o["description"] for o in orders))
        ),
        lines=tuple(dict.fromkeys(line for line in lines if len(line) >= LINE_CHARS)),
    )


def is_example_fact(predicate: str, value: str) -> bool:
    """Whether an example holds a fact of this tidy predicate and object."""
    return (predicate, normalise_name(value)) in load_prompt_texts().facts


def is_example_quote(quote: str) -> bool:
    """Whether an example quotes these words."""
    return fold(quote).text in load_prompt_texts().quotes


def is_example_remark(text: str) -> bool:
    """Whether an example holds an open point or an order of these words."""
    return fold(text).text in load_prompt_texts().remarks


def is_backed(remark: str, said: SaidWords, share: int = BACKED_SHARE) -> bool:
    """Whether one in `share` of the words of a remark was said."""
    words = content_words(remark)
    return share * sum(map(said.has, words)) >= len(words)


def pasted_spans(text: str) -> tuple[tuple[int, int], ...]:
    """The places where a message holds a whole line of the prompt, as start and end."""
    spans = []
    for line in load_prompt_texts().lines if len(text) >= LINE_CHARS else ():
        start = text.find(line)
        while start != -1:
            spans.append((start, start + len(line)))
            start = text.find(line, start + len(line))
    return tuple(sorted(spans))
