"""Random damage to a good extraction answer, from a seed.

Belongs here: how a text is damaged. Does not: what must hold afterwards (test_bad_output).
"""

import json
import random
from dataclasses import dataclass

from memory_pipeline_tests.stages.bad_output.corpus import FACT_ARRAYS, GOOD, TEXT

_BITS = (
    "{", "}", "[", "]", '"', "'", ",", ":", "\\", "\\u", "\\ud83d", "null", "None", "...", "```",
    "\n", "\x00", "\u202e", "\ufeff", "<think>", "0.9", "1e999", "NaN", "//", "/*", "\U0001f382",
    "I'm sorry", '{"relationships": [', "}]", "}, {", '"subject": "x", ',
)  # fmt: skip


@dataclass(frozen=True)
class Mutation:
    """A damaged answer; `hit` names the only item that was touched, None for anywhere."""

    text: str
    hit: tuple[str, int] | None


def mutate(seed: int) -> Mutation:
    """The damage of one seed: in one item for even seeds, anywhere for odd ones."""
    chance = random.Random(seed)  # noqa: S311 - damage, not a secret
    if seed % 2:
        text = TEXT
        for _ in range(chance.randint(1, 6)):
            text = _damage(text, 0, len(text), chance)
        return Mutation(text, None)
    array = chance.choice(FACT_ARRAYS)
    number = chance.randrange(len(GOOD[array]))
    item = json.dumps(GOOD[array][number], ensure_ascii=False)
    start = TEXT.index(item)
    return Mutation(_damage(TEXT, start, start + len(item), chance), (array, number))


def _damage(text: str, start: int, end: int, chance: random.Random) -> str:
    first = chance.randrange(start, max(end, start + 1))
    last = min(first + chance.randint(1, 12), end)
    way = chance.randrange(5)
    if way == 0:
        return text[:first] + text[last:]
    if way == 1:
        return text[:first] + chance.choice(_BITS) + text[first:]
    if way == 2:
        return text[:first] + chance.choice(_BITS) + text[last:]
    if way == 3:
        return text[:first] + text[first:last][::-1] + text[last:]
    return text[:first] + text[first:last] * 2 + text[last:]
