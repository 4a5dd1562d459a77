"""The profile of one entity: asked of a model, or put together from its facts (spec P1, P2).

Belongs here: the request over a grounding, reading the answer, dropping what does not stand. Does
not: how facts are shown (profile_lines), the check of a sentence (profile_support), queue and
storing (adapters).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from memory_pipeline.domain.model import ModelRequest, Purpose, Usage
from memory_pipeline.domain.profile import (
    DroppedSentence,
    GroundFact,
    Grounding,
    Profile,
    Sentence,
)
from memory_pipeline.prompts.library import BUILD_PROFILE, REPAIR_ANSWER, load_prompt
from memory_pipeline.stages.answer_items import (
    BadAnswerError,
    ItemReader,
    fields_of,
    read_object,
    read_text,
    required_text,
    snake_case,
)
from memory_pipeline.stages.answer_models import ProfileAnswer, strict_schema
from memory_pipeline.stages.answers import Asker, listed, read_document, unwrapped
from memory_pipeline.stages.asking import ask_twice
from memory_pipeline.stages.extractive_profile import cut_sentences, extractive_profile
from memory_pipeline.stages.fields import NAME_CHARS
from memory_pipeline.stages.injection import DOUBTFUL_SCORE, score_injection
from memory_pipeline.stages.length_limit import read_within_length
from memory_pipeline.stages.profile_lines import fact_lines
from memory_pipeline.stages.profile_support import Evidence, why_unsupported
from memory_pipeline.stages.sanitise import sanitise_line
from memory_pipeline.stages.transcript import derive_fence

PROFILE_VERSION = "profile/1"
SCHEMA_NAME = "entity_profile"
EXTRACTIVE = "extractive/1"
"""Stands for model and prompt where the facts speak for themselves."""

_SENTENCE_CHARS = 1_000
_SENTENCE_ARRAYS = ("sentences", "profile", "paragraph", "statements")
_LABEL = re.compile(r"\[?\s*f?(\d{1,4})\s*\]?", re.IGNORECASE)
_MARKUP = re.compile(r"\w+://|\]\(|<[/!a-z]", re.IGNORECASE)
"""A profile is prose that goes into prompts and pages: what it links to nobody has checked."""
_LABEL_IN_TEXT = re.compile(r"\s*[\[(]\s*f\d+(?:\s*[,;]\s*f\d+)*\s*[\])]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class WrittenProfile:
    """A profile with what it cost; no request was made for an extractive one."""

    profile: Profile
    usage: Usage = field(default_factory=Usage)
    request_digests: tuple[str, ...] = ()


class ProfileWriter:
    """Writes profiles with one language model, or, without one, from the facts themselves."""

    def __init__(
        self, asker: Asker | None, model: str | None, tenant_secret: bytes, limit: int
    ) -> None:
        self._asker = asker
        self._model = model
        self._secret = tenant_secret
        self._limit = limit

    @property
    def model(self) -> str | None:
        """The model that is asked, None where the facts speak for themselves."""
        return self._model if self._asker is not None else None

    @property
    def prompt_digest(self) -> str | None:
        """The prompt that is asked with, None without a model."""
        return load_prompt(BUILD_PROFILE).citation if self.model is not None else None

    @property
    def method(self) -> str:
        """Names everything beside the facts that shapes a profile."""
        if self.model is None:
            return f"{PROFILE_VERSION} {EXTRACTIVE} {self._limit}"
        prompts = "+".join(load_prompt(p).citation for p in (BUILD_PROFILE, REPAIR_ANSWER))
        return f"{PROFILE_VERSION} {self.model} {self._limit} {prompts}"

    def write(self, grounding: Grounding, attempt: int = 1) -> WrittenProfile:
        """The profile of an entity with at least one fact.

        An answer that says there is nothing to write leaves the facts to speak for themselves.
        Raises `BadAnswerError` when two answers in a row are bad, and what the model raises.
        """
        if self._asker is None:
            return WrittenProfile(extractive_profile(grounding, self._limit))
        request = self.request(grounding)

        def parse(text: str) -> Profile:
            return parse_profile(text, grounding, self._limit)

        asked = ask_twice(self._asker, request, parse, self._secret, attempt)
        profile = asked.value
        if not profile.sentences:
            plain = extractive_profile(grounding, self._limit)
            profile = replace(plain, dropped=(*profile.dropped, *plain.dropped))
        return WrittenProfile(profile, asked.usage, asked.request_digests)

    def request(self, grounding: Grounding) -> ModelRequest:
        """The request over a grounding; as long as nothing shown changes, it is the same one."""
        prompt = load_prompt(BUILD_PROFILE)
        lines = "\n".join(fact_lines(grounding))
        return ModelRequest(
            purpose=Purpose.PROFILE,
            model=self._model or "",
            system=prompt.system,
            user=prompt.fill(
                {
                    "name": sanitise_line(grounding.name, NAME_CHARS),
                    "type": grounding.type.value,
                    "today": f"{grounding.as_of():%Y-%m-%d}",
                    "limit": str(self._limit),
                    "fence": derive_fence(self._secret, lines),
                    "facts": lines,
                }
            ),
            schema_name=SCHEMA_NAME,
            json_schema=_answer_schema(),
            prompt_digest=prompt.citation,
        )


@lru_cache(maxsize=1)
def _answer_schema() -> dict[str, Any]:
    return strict_schema(ProfileAnswer)


# Reading an answer.


def parse_profile(text: str, grounding: Grounding, limit: int) -> Profile:
    """The sentences of an answer that stand, within `limit` characters; the others are dropped.

    Empty when the answer says that there is nothing to write. Raises `BadAnswerError` when there
    are sentences and none stands.
    """
    return read_within_length(text, lambda said: _read_profile(said, grounding, limit))


def _read_profile(text: str, grounding: Grounding, limit: int) -> Profile:
    document, _, is_cut = read_document(text, _as_profile)
    items = ItemReader(text)
    kept: list[Sentence] = []
    dropped: list[DroppedSentence] = []
    for written, labels in items.read(document, "sentences", _read_sentence):
        sentence, reason = _checked(written, labels, grounding)
        if sentence is None:
            dropped.append(DroppedSentence(written, reason))
        elif all(sentence.text != other.text for other in kept):
            kept.append(sentence)
    dropped += [
        DroppedSentence(sanitise_line(item.content, _SENTENCE_CHARS), item.reason)
        for item in items.dropped
    ]
    fitting, beyond = cut_sentences(kept, limit)
    if not fitting and (beyond or dropped):
        reasons = "; ".join(f"{d.text[:60]!r}: {d.reason}" for d in (*dropped, *beyond))
        raise BadAnswerError(f"no sentence stands: {reasons[:600]}", "sentences", text)
    if not fitting and is_cut:
        raise BadAnswerError("the answer is cut off before any sentence", "end", text)
    return Profile(tuple(fitting), (*dropped, *beyond))


def _as_profile(value: object) -> dict[str, Any] | None:
    for inner in unwrapped(value):
        if isinstance(inner, dict):
            fields = {snake_case(key): held for key, held in inner.items()}
            for name in _SENTENCE_ARRAYS:
                if isinstance(fields.get(name), list):
                    return {"sentences": fields[name]}
            if {"facts", "text"} <= set(fields):
                return {"sentences": [inner]}
        if isinstance(inner, list) and any(
            isinstance(item, dict) and "text" in fields_of(item) for item in inner
        ):
            return {"sentences": inner}
    return None


def _read_sentence(item: object) -> Iterator[tuple[str, tuple[str, ...]]]:
    fields = read_object(item)
    named: Mapping[str, Any] = {"text": fields.get("sentence"), **fields}
    text = sanitise_line(_LABEL_IN_TEXT.sub("", required_text(named, "text")), _SENTENCE_CHARS)
    given = next((fields[key] for key in ("facts", "fact_ids", "citations") if key in fields), ())
    if isinstance(given, str):
        given = re.split(r"[,;\s]+", given.strip())
    labels = tuple(read_text(label) or "" for label in listed(given))
    if text:
        yield text, labels


def _checked(text: str, labels: Sequence[str], grounding: Grounding) -> tuple[Sentence | None, str]:
    """The sentence, or None and why it does not stand."""
    if not labels:
        return None, "it cites no fact"
    if score_injection(text).score >= DOUBTFUL_SCORE:
        return None, "it gives orders"
    if _MARKUP.search(text):
        return None, "it holds a link or markup"
    facts: list[GroundFact] = []
    for label in labels:
        match = _LABEL.fullmatch(label.strip())
        number = int(match[1]) if match else 0
        if not 1 <= number <= len(grounding.facts):
            return None, f"there is no fact {label[:20]}"
        facts.append(grounding.facts[number - 1])
    names = (grounding.name, *grounding.aliases, *grounding.user_names)
    reason = why_unsupported(text, Evidence(facts, grounding.at, names))
    if reason is not None:
        return None, reason
    return Sentence(text, tuple(dict.fromkeys(fact.fact_id for fact in facts))), ""
