"""Extraction by a language model: the request of a window, and the graph its answer holds.

Belongs here: one model, asked at most twice (spec X1, X2, X11). Does not: choosing the model
(stages/escalate), wording (prompts), guards (stages/guard).
"""

from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from memory_pipeline.domain.conversation import Window
from memory_pipeline.domain.extraction import (
    ExtractedFact,
    ExtractedGraph,
    ExtractedUncertainty,
    KnownLists,
    NothingDurable,
    Tier,
)
from memory_pipeline.domain.model import ModelRequest, Purpose, Usage
from memory_pipeline.prompts.library import EXTRACT_GRAPH, REPAIR_ANSWER, load_prompt
from memory_pipeline.stages.answer_models import ExtractionAnswer, strict_schema
from memory_pipeline.stages.answers import Asker, BadAnswerError, parse_extraction
from memory_pipeline.stages.asking import ask_twice
from memory_pipeline.stages.injection import INJECTION_VERSION
from memory_pipeline.stages.length_limit import TooLongError
from memory_pipeline.stages.ports import ExtractionError, Extractor
from memory_pipeline.stages.transcript import (
    Transcript,
    flatten,
    list_known_entities,
    list_known_facts,
    list_user_names,
    unflatten_quote,
    write_transcript,
)
from memory_pipeline.stages.windows import estimate_tokens

EXTRACTION_VERSION = "extract/2"
"""Part of the recipe: changes when equal answers give other graphs."""

SCHEMA_NAME = "extracted_graph"
NO_MODEL = "no model is configured"
"""Why the heuristics answered alone."""
_ABOUT_CHARS = 200


class UnusableAnswerError(ExtractionError):
    """Two answers of a model in a row could not be read."""


class TooLongForModelError(UnusableAnswerError):
    """The window is too long for the model, so it was not asked a second time."""


@dataclass(frozen=True, slots=True)
class TieredGraph:
    """A graph with the tier that gave it and why the tiers below were left (spec X10).

    `request_digests` name the requests made, that of the graph last; none for `heuristics`.
    """

    graph: ExtractedGraph
    tier: Tier
    reason: str = ""
    usage: Usage = field(default_factory=Usage)
    request_digests: tuple[str, ...] = ()


@runtime_checkable
class TieredExtractor(Protocol):
    """An extractor that says for each window which tier answered."""

    def extract_tiered(self, window: Window, known: KnownLists, attempt: int = 1) -> TieredGraph:
        """As `Extractor.extract`, with tier, reason and cost; `attempt` counts the tries."""
        ...


def extract_with_tier(
    extractor: Extractor, window: Window, known: KnownLists, attempt: int = 1
) -> TieredGraph:
    """The graph of any extractor with the tier that gave it; raises as the extractor does.

    `attempt` is the number of the episode's try, from 1 (spec E5).
    """
    if isinstance(extractor, TieredExtractor):
        return extractor.extract_tiered(window, known, attempt)
    reason = NO_MODEL if extractor.tier is Tier.HEURISTICS else ""
    return TieredGraph(extractor.extract(window, known), extractor.tier, reason)


class ModelExtractor:
    """Extracts with one language model; equal windows and known lists give equal requests."""

    def __init__(
        self, asker: Asker, model: str, tenant_secret: bytes, tier: Tier = Tier.FAST
    ) -> None:
        self._asker = asker
        self._model = model
        self._secret = tenant_secret
        self._tier = tier

    @property
    def version(self) -> str:
        """Names the model and both prompts by their content."""
        prompts = "+".join(load_prompt(p).citation for p in (EXTRACT_GRAPH, REPAIR_ANSWER))
        return f"{EXTRACTION_VERSION} {INJECTION_VERSION} {self._model} {prompts}"

    @property
    def model(self) -> str:
        """The model's name at its endpoint."""
        return self._model

    @property
    def tier(self) -> Tier:
        """The tier this model stands for."""
        return self._tier

    def extract(self, window: Window, known: KnownLists) -> ExtractedGraph:
        """The graph of `extract_tiered`."""
        return self.extract_tiered(window, known).graph

    def extract_tiered(self, window: Window, known: KnownLists, attempt: int = 1) -> TieredGraph:
        """The graph of the model's answer, or of its second one after a bad first.

        Raises `UnusableAnswerError` when both are bad, `TooLongForModelError` when the first is
        for its length; lets through what the model raises.
        """
        transcript = write_transcript(window, self._secret)
        if all(message.seq in transcript.withheld for message in window.own_messages()):
            withheld = _with_remarks(ExtractedGraph(), window, transcript)
            return TieredGraph(withheld, Tier.NONE, "nothing of the user's may enter a prompt")
        request = build_request(transcript, known, self._model)
        try:
            asked = ask_twice(self._asker, request, parse_extraction, self._secret, attempt)
        except BadAnswerError as error:
            is_too_long = isinstance(error, TooLongError)
            kind = TooLongForModelError if is_too_long else UnusableAnswerError
            raise kind(f"{self._model} gave no usable answer: {error}") from error
        return TieredGraph(
            graph=_with_remarks(_as_said(asked.value, window), window, transcript),
            tier=self._tier,
            usage=asked.usage,
            request_digests=asked.request_digests,
        )

    def request(self, window: Window, known: KnownLists) -> ModelRequest:
        """The request of a window as it is sent first."""
        return build_request(write_transcript(window, self._secret), known, self._model)


def build_request(transcript: Transcript, known: KnownLists, model: str) -> ModelRequest:
    """The extraction request of one transcript against what memory holds."""
    prompt = load_prompt(EXTRACT_GRAPH)
    return ModelRequest(
        purpose=Purpose.EXTRACT,
        model=model,
        system=prompt.system,
        user=prompt.fill(
            {
                "user_names": list_user_names(known),
                "known_entities": list_known_entities(known),
                "known_facts": list_known_facts(known),
                "fence": transcript.fence,
                "transcript": transcript.text,
            }
        ),
        schema_name=SCHEMA_NAME,
        json_schema=strict_schema(ExtractionAnswer),
        prompt_digest=prompt.citation,
    )


def render_request(request: ModelRequest) -> str:
    """A request as a person reads it: a head, then both parts as the model gets them."""
    label, _, digest = request.prompt_digest.partition(":")
    system, user = estimate_tokens(request.system), estimate_tokens(request.user)
    return "\n".join(
        (
            f"request {request.digest()[:16]}: {request.purpose.value} with {request.model}",
            f"prompt {label} ({digest[:16]}), answer {request.schema_name}",
            f"about {system} tokens of rules (equal in every request) and {user} of this episode",
            "",
            "===== system =====",
            request.system,
            "",
            "===== user =====",
            request.user,
        )
    )


def _as_said(graph: ExtractedGraph, window: Window) -> ExtractedGraph:
    """The graph with its quotes as the messages say them, not as the prompt showed them."""
    texts = [message.text for message in window.own_messages()]

    def said(fact: ExtractedFact) -> ExtractedFact:
        return fact.model_copy(update={"source_quote": unflatten_quote(fact.source_quote, texts)})

    return graph.model_copy(
        update={
            "relationships": tuple(map(said, graph.relationships)),
            "literal_facts": tuple(map(said, graph.literal_facts)),
            "instructions": tuple(
                item.model_copy(update={"source_quote": unflatten_quote(item.source_quote, texts)})
                for item in graph.instructions
            ),
        }
    )


def _with_remarks(graph: ExtractedGraph, window: Window, transcript: Transcript) -> ExtractedGraph:
    """The graph with what became of messages that were withheld, doubted or shown in part."""
    texts = {message.seq: message.text for message in window.messages}
    withheld = (NothingDurable(seq=seq, reason="refused") for seq in transcript.withheld)
    truncated = (NothingDurable(seq=seq, reason="truncated") for seq in transcript.truncated)
    doubted = (
        ExtractedUncertainty(
            about=flatten(texts[seq], _ABOUT_CHARS),
            reason="suspected injection: the message may give orders to whoever reads it",
        )
        for seq in transcript.doubted
    )
    return graph.model_copy(
        update={
            "nothing_durable": (*graph.nothing_durable, *withheld, *truncated),
            "uncertainties": (*graph.uncertainties, *doubted),
        }
    )
