"""Which extractor answers a window: heuristics, the fast model, the stronger one (spec X10).

Belongs here: windows that need no model, the four reasons for the stronger one. Does not: the
extractors themselves (stages/heuristics, stages/extract).
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from enum import StrEnum
from itertools import combinations

from memory_pipeline.domain.conversation import Message, Window
from memory_pipeline.domain.extraction import (
    ExtractedFact,
    ExtractedGraph,
    KnownFact,
    KnownLists,
    NothingDurable,
    Tier,
)
from memory_pipeline.domain.policy import is_single_valued
from memory_pipeline.stages.asking import add_usage
from memory_pipeline.stages.extract import (
    ModelExtractor,
    TieredGraph,
    TooLongForModelError,
    UnusableAnswerError,
)
from memory_pipeline.stages.fields import (
    clamp_confidence,
    normalise_name,
    normalise_predicate,
)
from memory_pipeline.stages.heuristic_rules.corrections import Correction, read_correction
from memory_pipeline.stages.heuristic_rules.gates import (
    Reason,
    gate_message,
    gate_sentence,
    own_words,
)
from memory_pipeline.stages.heuristic_rules.instructions import read_instruction
from memory_pipeline.stages.heuristic_rules.message_text import read_text
from memory_pipeline.stages.heuristic_rules.sentences import Sentence, split_sentences
from memory_pipeline.stages.injection import DOUBTFUL_SCORE, score_injection
from memory_pipeline.stages.plain_orders import is_plain_order
from memory_pipeline.stages.ports import ExtractionError, Extractor
from memory_pipeline.stages.small_talk import is_small_talk

ESCALATION_VERSION = "escalate/3"
"""Part of the recipe: changes when another tier would answer."""

LOW_CONFIDENCE = 0.5
"""Below this mean confidence the stronger model is asked."""

_LEFT = "more than small talk, simple corrections and instructions"
"""Why the heuristics were left."""
_SIMPLE_CHARS = 200
_MISSING_CONFIDENCE = 0.49
# The labels that the extraction prompt prefers, so that any tier can lift another's order.
_TOPICS = {
    topic: re.compile(rf"\b(?:{words})\b", re.IGNORECASE)
    for topic, words in {
        "units": "metric|imperial|units?|celsius|fahrenheit|kilomet(?:er|re)s|miles",
        "emojis": "emojis?",
        "answer format": "bullets?|bullet points?|markdown|tables?|headings?|headers|code blocks?",
        "answer length": "short|shorter|brief|concise|long|longer|detailed|length",
        "language": "language|english|german|french|spanish|dutch|italian|portuguese|spelling",
        "tone": "tone|formal|informal|casual|sarcas\\w+|polite",
        "form of address": "call me|address me|refer to me",
    }.items()
}
_NOT_AN_ORDER = frozenset({Reason.WISH, Reason.JOKE, Reason.SARCASM, Reason.HYPOTHETICAL})
_AMBIGUOUS = re.compile(r"^\W*ambiguous\b", re.IGNORECASE)
_CONTRADICTS = re.compile(r"^\W*contradict", re.IGNORECASE)


class Escalation(StrEnum):
    """Why the fast model's answer is not enough."""

    BAD_OUTPUT = "the output failed validation twice"
    TOO_LONG = "too long for the fast model"
    CONTRADICTION = "contradiction inside the window"
    AMBIGUITY = "ambiguous reference"
    LOW_CONFIDENCE = "mean confidence under 0.5"


class EscalatingExtractor:
    """Heuristics, then the fast model, then the stronger one, each only where it is needed.

    Without `heuristics` every window goes to a model; without `strong` the fast one's answer
    stands, and an episode that it can't answer fails.
    """

    def __init__(
        self,
        fast: ModelExtractor,
        strong: ModelExtractor | None = None,
        heuristics: Extractor | None = None,
    ) -> None:
        self._fast = fast
        self._strong = strong
        self._heuristics = heuristics

    @property
    def version(self) -> str:
        """Names all tiers."""
        tiers = (self._heuristics, self._fast, self._strong)
        return "; ".join((ESCALATION_VERSION, *(t.version if t else "none" for t in tiers)))

    @property
    def tier(self) -> Tier:
        """The tier that most windows get; `extract_tiered` says it for each."""
        return Tier.FAST

    def extract(self, window: Window, known: KnownLists) -> ExtractedGraph:
        """The graph of `extract_tiered`."""
        return self.extract_tiered(window, known).graph

    def extract_tiered(self, window: Window, known: KnownLists, attempt: int = 1) -> TieredGraph:
        """The graph with its tier and the reasons why the lower ones were left.

        Raises `ExtractionError` when no tier gave a usable answer, and lets through what the
        models raise, so that what is remembered never depends on an outage.
        """
        without = extract_without_model(window, known, self._heuristics)
        if without is not None:
            return without
        try:
            fast = self._fast.extract_tiered(window, known, attempt)
        except UnusableAnswerError as error:
            return self._rescue(window, known, error, attempt)
        why = None if fast.tier is Tier.NONE else why_escalate(fast.graph)
        if why is None:
            return _explained(fast, fast.reason or _LEFT)
        if self._strong is None:
            return _explained(fast, f"{_LEFT}; {why.value}, but no stronger model is configured")
        try:
            strong = self._strong.extract_tiered(window, known, attempt)
        except UnusableAnswerError:
            return _explained(fast, f"{_LEFT}; {why.value}, but the stronger model's output is bad")
        return _explained(_after(fast, strong), f"{_LEFT}; {why.value}")

    def _rescue(
        self, window: Window, known: KnownLists, error: UnusableAnswerError, attempt: int
    ) -> TieredGraph:
        is_too_long = isinstance(error, TooLongForModelError)
        if self._strong is None or (is_too_long and self._strong.model == self._fast.model):
            raise error
        try:
            strong = self._strong.extract_tiered(window, known, attempt)
        except UnusableAnswerError as second:
            raise ExtractionError(f"{error}; {second}") from second
        why = Escalation.TOO_LONG if is_too_long else Escalation.BAD_OUTPUT
        return _explained(strong, f"{_LEFT}; {why.value}")


def _explained(graph: TieredGraph, reason: str) -> TieredGraph:
    return TieredGraph(graph.graph, graph.tier, reason, graph.usage, graph.request_digests)


def _after(fast: TieredGraph, strong: TieredGraph) -> TieredGraph:
    return TieredGraph(
        strong.graph,
        strong.tier,
        strong.reason,
        add_usage(fast.usage, strong.usage),
        (*fast.request_digests, *strong.request_digests),
    )


def why_escalate(graph: ExtractedGraph) -> Escalation | None:
    """The first reason to ask the stronger model about this window, or None."""
    facts = (*graph.relationships, *graph.literal_facts)
    reasons = [item.reason for item in graph.uncertainties]
    if _contradicts(facts) or any(_CONTRADICTS.search(reason) for reason in reasons):
        return Escalation.CONTRADICTION
    if any(_AMBIGUOUS.search(reason) for reason in reasons):
        return Escalation.AMBIGUITY
    confidences = [clamp_confidence(fact.confidence, _MISSING_CONFIDENCE) for fact in facts]
    if confidences and sum(confidences) / len(confidences) < LOW_CONFIDENCE:
        return Escalation.LOW_CONFIDENCE
    return None


def _contradicts(facts: Sequence[ExtractedFact]) -> bool:
    """Two values of a slot that holds one, from the same day on and without an end."""
    open_slots = [
        (
            (normalise_name(fact.subject), normalise_predicate(fact.predicate), fact.valid_from),
            normalise_name(fact.object),
        )
        for fact in facts
        if fact.valid_until is None
    ]
    return any(
        slot == other_slot and value != other_value and is_single_valued(slot[1])
        for (slot, value), (other_slot, other_value) in combinations(open_slots, 2)
    )


def extract_without_model(
    window: Window, known: KnownLists, heuristics: Extractor | None
) -> TieredGraph | None:
    """The graph of a window that the heuristics fully understand, or None.

    That is one in which the user only greets, acknowledges, gives plain standing orders and
    corrects known facts. Such a window needs no model and no summary.
    """
    own = window.own_messages()
    talk = [message for message in own if is_small_talk(message.text)]
    if len(talk) == len(own):
        silence = tuple(NothingDurable(seq=m.seq, reason="small_talk") for m in own)
        return TieredGraph(ExtractedGraph(nothing_durable=silence), Tier.NONE, "small talk only")
    if heuristics is None or not all(_is_simple(message, known) for message in own):
        return None
    graph = heuristics.extract(window, known)
    if graph.uncertainties or not (graph.instructions or graph.relationships + graph.literal_facts):
        return None
    labelled = tuple(
        item.model_copy(update={"label": topic_of(item.description)}) for item in graph.instructions
    )
    return TieredGraph(
        graph.model_copy(update={"instructions": labelled}),
        Tier.HEURISTICS,
        "simple corrections and instructions only",
    )


def topic_of(order: str) -> str:
    """The topic of a standing order as the models label it, "" when it is not plainly one."""
    topics = [topic for topic, words in _TOPICS.items() if words.search(order)]
    return topics[0] if len(topics) == 1 else ""


def _is_simple(message: Message, known: KnownLists) -> bool:
    if is_small_talk(message.text):
        return True
    # As the heuristics will read it: what can't be seen must not split or hide a word here.
    text = read_text(message.text).text
    words = own_words(text)
    if len(message.text) > _SIMPLE_CHARS or words.blanked or not _is_plain_latin(text):
        return False
    if gate_message(text, words) is not None:
        return False
    if score_injection(message.text).score >= DOUBTFUL_SCORE:
        return False
    sentences = split_sentences(words.text, text)
    return bool(sentences) and all(_is_simple_sentence(s, known) for s in sentences)


def _is_plain_latin(text: str) -> bool:
    """Whether no letter is of another script or width, where it may pass for a Latin one."""
    return text.isascii() or all(
        unicodedata.name(char, "").startswith("LATIN ") for char in text if char.isalpha()
    )


def _is_simple_sentence(sentence: Sentence, known: KnownLists) -> bool:
    if is_small_talk(sentence.verbatim):
        return True
    gate = gate_sentence(sentence.text, sentence.verbatim)
    if gate not in _NOT_AN_ORDER and read_instruction(sentence.text, sentence.verbatim):
        return topic_of(sentence.verbatim) != "" and is_plain_order(sentence.verbatim)
    correction = read_correction(sentence.text, sentence.verbatim)
    if correction is None or gate is not None:
        return False
    return len(list(_corrected_facts(correction, known))) == 1


def _corrected_facts(correction: Correction, known: KnownLists) -> Iterator[KnownFact]:
    """The known facts that a correction can mean; only when there is one is it simple."""
    old = set(correction.old.split())
    for fact in known.facts:
        value = set(fact.object.split())
        has_digits = any(char.isdigit() for char in fact.object)
        is_alike = has_digits == any(char.isdigit() for char in correction.new)
        if (old <= value or value <= old) if old else is_alike:
            yield fact
