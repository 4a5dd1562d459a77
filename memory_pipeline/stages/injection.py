"""How much a message looks like an attempt to give orders to whoever reads it.

Belongs here: matching the rules of injection_patterns.toml and weighing what matches.
Does not: undoing disguises (stages/injection_text), deciding what follows from a score.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from memory_pipeline.stages.injection_rules import Phrase, Word, load_rules
from memory_pipeline.stages.injection_text import (
    Reading,
    fold_line,
    read_in_every_way,
    reversed_reading,
    rotated_reading,
    split_words,
    without_quotes,
)

INJECTION_VERSION = "injection/1"
"""Part of the recipe: whatever change of rules or reading can change a score is a new version."""

HOSTILE_SCORE = 0.9
"""From here on a message is kept out of prompts."""
DOUBTFUL_SCORE = 0.5
"""From here on a message is doubted and becomes an uncertainty."""

_HIGHEST = 0.99
_DISGUISE_WEIGHT = 0.75
_HIDDEN_FROM = 0.3
_DISGUISED_FROM = 0.5
"""A hit weaker than this says nothing, however it is hidden."""
_MIN_WORDS_AROUND = 3
"""Words outside the quotes that make them quotes, not a whole message in quotation marks."""
_DISCUSSED_HIGHEST = 0.85
_QUOTED_HIGHEST = 0.4
_ALWAYS_ODD = frozenset({"hidden text"})
"""Disguises that count even where the plain reading shows the same words."""
_ODD_WORDS = 3
_WORDS_BEFORE = 2


@dataclass(frozen=True)
class InjectionScore:
    """A score in [0, 1] and the names of the rules that made it; never text of the message."""

    score: float
    reasons: tuple[str, ...]


def score_injection(text: str) -> InjectionScore:
    """How hostile `text` is, in time linear in its length; equal text gives an equal score.

    What is only quoted, and messages that speak about injections, are at most doubted; what such a
    message only quotes is let pass.
    """
    found = _weigh(text)
    if found.score < DOUBTFUL_SCORE:
        return found
    outside = without_quotes(text)
    is_quoted_only = len(outside.split()) >= _MIN_WORDS_AROUND and (
        _weigh(outside).score < DOUBTFUL_SCORE
    )
    around = text if is_quoted_only else outside
    is_discussed = load_rules().topic.search(fold_line(around)) is not None
    if is_quoted_only and is_discussed:
        return InjectionScore(min(found.score, _QUOTED_HIGHEST), (*found.reasons, "discussed"))
    if is_quoted_only or is_discussed:
        reason = "discussed" if is_discussed else "quoted"
        return InjectionScore(min(found.score, _DISCUSSED_HIGHEST), (*found.reasons, reason))
    return found


def _weigh(text: str) -> InjectionScore:
    weights: dict[str, float] = {}
    for reading in _readings(text):
        more = _weigh_reading(reading)
        if reading.disguise in _ALWAYS_ODD or _combine(more) > _combine(weights):
            _merge(weights, more)
    return InjectionScore(_combine(weights), tuple(sorted(weights)))


def _readings(text: str) -> Iterator[Reading]:
    yield from read_in_every_way(text)
    line = fold_line(text)
    words = set(split_words(line))
    for turned in (reversed_reading(line), rotated_reading(line)):
        if _makes_sense(words, turned):
            yield turned


def _makes_sense(words: set[str], turned: Reading) -> bool:
    """Whether at least three longer words are known once turned, so that a full look pays."""
    rules = load_rules()
    known = {w for w in split_words(turned.text) if len(w) > 3 and rules.classes_of(w)[0]}
    return len(known - words) >= _ODD_WORDS


def _merge(weights: dict[str, float], more: dict[str, float]) -> None:
    for name, weight in more.items():
        weights[name] = max(weight, weights.get(name, 0.0))


def _combine(weights: dict[str, float]) -> float:
    doubt = 1.0
    for name in sorted(weights):
        doubt *= 1.0 - weights[name]
    return min(round(1.0 - doubt, 3), _HIGHEST)


def _weigh_reading(reading: Reading) -> dict[str, float]:
    rules = load_rules()
    line = fold_line(reading.text)
    words = rules.words(split_words(line))
    weights: dict[str, float] = {}
    is_disguised = False
    for index, word in enumerate(words):
        for phrase in rules.phrases_from(word.classes):
            end = _end_of(phrase, words, index)
            if end is None:
                continue
            _merge(weights, {phrase.name: phrase.weight})
            is_disguised = is_disguised or any(w.is_disguised for w in words[index:end])
    for mark in rules.marks:
        if mark.pattern.search(line):
            _merge(weights, {mark.name: mark.weight})
    lowest = _HIDDEN_FROM if reading.disguise in _ALWAYS_ODD else _DISGUISED_FROM
    if _combine(weights) >= lowest:
        if reading.disguise:
            weights[f"disguise: {reading.disguise}"] = _DISGUISE_WEIGHT
        if is_disguised:
            weights["disguise: altered letters"] = _DISGUISE_WEIGHT
    return weights


def _end_of(phrase: Phrase, words: list[Word], start: int) -> int | None:
    """The index after the shortest match of `phrase` that begins at `start`, None without one."""
    ends = {start + 1}
    for step in phrase.steps:
        if step.is_forbidden:
            ends = {e for e in ends if e >= len(words) or step.classes.isdisjoint(words[e].classes)}
        else:
            ends = {
                index + 1
                for end in ends
                for index in _within(words, end, step.gap)
                if not step.classes.isdisjoint(words[index].classes)
            }
        if not ends:
            return None
    end = min(ends)
    return None if phrase.unless and _holds(phrase.unless, words, start, end) else end


def _within(words: list[Word], start: int, gap: int) -> range:
    """The places of the next word after a gap of at most `gap`, inside the sentence."""
    last = min(start + gap + 1, len(words))
    for index in range(start, last):
        if words[index].text == ".":
            return range(start, index)
    return range(start, last)


def _holds(classes: frozenset[str], words: list[Word], start: int, end: int) -> bool:
    first = start
    while first > max(start - _WORDS_BEFORE, 0) and words[first - 1].text != ".":
        first -= 1
    return any(not classes.isdisjoint(word.classes) for word in words[first:end])
