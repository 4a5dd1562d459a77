"""The keyless extraction tier: candidates from grammar and closed word lists, English only.

What belongs here: the entry point and what becomes of a window's drafts. What does not: the rules
(stages/heuristic_rules) and the guards that every tier's answer passes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from memory_pipeline.domain.conversation import Message, Role, Window
from memory_pipeline.domain.extraction import (
    EntityType,
    ExtractedEntity,
    ExtractedFact,
    ExtractedGraph,
    ExtractedInstruction,
    ExtractedUncertainty,
    KnownLists,
    NothingDurable,
    Tier,
)
from memory_pipeline.stages.heuristic_rules.answers import as_answer, opening_of
from memory_pipeline.stages.heuristic_rules.cast import USER, Cast
from memory_pipeline.stages.heuristic_rules.corrections import corrected, read_correction
from memory_pipeline.stages.heuristic_rules.drafts import SURE, Draft
from memory_pipeline.stages.heuristic_rules.gates import (
    Reason,
    gate_message,
    gate_sentence,
    own_words,
)
from memory_pipeline.stages.heuristic_rules.instructions import called, read_instruction
from memory_pipeline.stages.heuristic_rules.message_text import MessageText, read_text
from memory_pipeline.stages.heuristic_rules.parser import (
    ParserMissingError,
    SentenceParser,
    load_parser,
)
from memory_pipeline.stages.heuristic_rules.predicates import category_of
from memory_pipeline.stages.heuristic_rules.relations import is_animal
from memory_pipeline.stages.heuristic_rules.sentence_reading import read_sentence
from memory_pipeline.stages.heuristic_rules.sentences import (
    QUOTE_LIMIT,
    Sentence,
    split_sentences,
)
from memory_pipeline.stages.heuristic_rules.splitting import split_clauses

if TYPE_CHECKING:
    from spacy.tokens import Doc

__all__ = ["HeuristicExtractor", "ParserMissingError", "load_heuristic_extractor"]

_ABOUT_LIMIT = 80
_NO_ORDER = frozenset({Reason.WISH, Reason.JOKE, Reason.SARCASM, Reason.HYPOTHETICAL})


@dataclass(frozen=True)
class _Work:
    """A sentence and the rules that read it, or words of a message with the reason against them."""

    message: Message
    read: MessageText
    sentence: Sentence | None = None
    kind: Literal["statement", "instruction", "correction", "nothing"] = "nothing"
    reason: Reason = Reason.NO_PARSE
    quote: str = ""

    @property
    def statement(self) -> Sentence | None:
        """The sentence, when it is one for the parser."""
        return self.sentence if self.kind == "statement" else None


@dataclass
class _Findings:
    """What a window has given so far, and who is spoken of in it."""

    cast: Cast
    known: KnownLists
    drafts: list[Draft] = field(default_factory=list)
    instructions: list[ExtractedInstruction] = field(default_factory=list)
    uncertainties: list[ExtractedUncertainty] = field(default_factory=list)
    nothing: list[NothingDurable] = field(default_factory=list)

    def take_back(self, draft: Draft) -> None:
        """The user corrected it in the same window; its message keeps the reason."""
        self.drafts.remove(draft)
        if draft.seq >= 0:
            reason = NothingDurable(seq=draft.seq, reason=Reason.TAKEN_BACK, quote=draft.quote)
            self.nothing.append(reason)


class HeuristicExtractor:
    """Extracts without any model; equal windows and known lists give equal graphs."""

    version = "heuristics/1"
    tier = Tier.HEURISTICS

    def __init__(self, parser: SentenceParser) -> None:
        self._parser = parser

    def extract(self, window: Window, known: KnownLists) -> ExtractedGraph:
        """The graph of one window; every own message ends in it as evidence or with a reason."""
        return self.extract_many([(window, known)])[0]

    def extract_many(
        self, windows: Iterable[tuple[Window, KnownLists]]
    ) -> tuple[ExtractedGraph, ...]:
        """One graph per window, in order; sentences of all windows are parsed in one batch."""
        plans = [(_plan(window), known) for window, known in windows]
        texts = [item.statement.text for work, _ in plans for item in work if item.statement]
        docs = iter(self._parser.parse(texts))
        graphs = []
        for work, known in plans:
            parsed = [next(docs) if item.statement else None for item in work]
            graphs.append(_read_window(work, parsed, known))
        return tuple(graphs)


def load_heuristic_extractor() -> HeuristicExtractor:
    """The extractor with its parser; raises ParserMissingError without the `heuristics` extra."""
    return HeuristicExtractor(load_parser())


def _plan(window: Window) -> list[_Work]:
    asked, work = "", list[_Work]()
    for message in window.messages:
        if message.is_own:
            work += _plan_message(message, opening_of(asked))
        asked = message.text if message.role == Role.ASSISTANT else ""
    return work


def _plan_message(message: Message, opening: str) -> list[_Work]:
    """Gates come first: only sentences that may say something are parsed.

    `opening` is what an answer to the assistant's last question leaves out.
    """
    read = read_text(message.text)
    text, words = read.text, own_words(read.text)
    cut = [_Work(message, read, reason=Reason.TRUNCATED, quote=read.unread)] if read.is_cut else []
    reason = gate_message(text, words)
    is_number = bool(opening) and text.strip(" .!").isdigit()
    if reason is not None and not is_number:
        return [*cut, _Work(message, read, reason=reason, quote=_opening_words(read))]
    work = [_Work(message, read, reason=why, quote=quote) for why, quote in words.blanked]
    sentences = split_sentences(words.text, text)
    if opening and sentences and (answer := as_answer(sentences[0], opening)):
        sentences = (answer, *sentences[1:])
    work += [w for sentence in sentences for w in _plan_sentence(message, read, sentence)]
    return [*cut, *(work or [_Work(message, read, quote=_opening_words(read))])]


def _opening_words(read: MessageText) -> str:
    return read.text.strip()[:QUOTE_LIMIT]


def _plan_sentence(message: Message, read: MessageText, sentence: Sentence) -> list[_Work]:
    """A sentence that may say something is read in the parts that stand on their own."""
    whole = _plan_part(message, read, sentence)
    parts = split_clauses(sentence) if whole.kind == "statement" else (sentence,)
    return [whole] if len(parts) == 1 else [_plan_part(message, read, part) for part in parts]


def _plan_part(message: Message, read: MessageText, sentence: Sentence) -> _Work:
    quote = sentence.verbatim[:QUOTE_LIMIT]
    gate = gate_sentence(sentence.text, sentence.verbatim)
    if gate not in _NO_ORDER and read_instruction(sentence.text, sentence.verbatim):
        return _Work(message, read, sentence, "instruction", quote=quote)
    if gate is not None:
        return _Work(message, read, sentence, reason=gate, quote=quote)
    if read_correction(sentence.text, sentence.verbatim):
        return _Work(message, read, sentence, "correction", Reason.AMBIGUOUS, quote)
    return _Work(message, read, sentence, "statement", quote=quote)


def _read_window(
    work: Sequence[_Work], docs: Sequence[Doc | None], known: KnownLists
) -> ExtractedGraph:
    found = _Findings(Cast(known), known)
    for item, doc in zip(work, docs, strict=True):
        if item.sentence is None or item.kind == "nothing":
            _take_nothing(item, found)
        elif doc is not None:
            _take_sentence(item, doc, item.sentence, found)
        elif item.kind == "instruction":
            _take_instruction(item, item.sentence, found)
        else:
            _take_correction(item, item.sentence, found)
    found.drafts = [_renamed(d, found.cast.renamed) for d in found.drafts]
    return _graph(found, known)


def _renamed(draft: Draft, names: Mapping[str, str]) -> Draft:
    """What was said of `brother` before his name was told is said of him by name."""
    last = draft.object.split()[-1] if draft.object else ""
    if draft.predicate == "has" and draft.type is None and last in names and is_animal(last):
        return replace(
            draft, predicate=f"has {last}", object=names[last], type=EntityType.THING, is_link=True
        )
    subject = names.get(draft.subject, draft.subject)
    told = names.get(draft.object, draft.object) if draft.is_link else draft.object
    return replace(draft, subject=subject, object=told)


def _nothing(item: _Work, reason: Reason) -> NothingDurable:
    quote = item.read.as_written(item.quote)
    return NothingDurable(seq=item.message.seq, reason=reason, quote=quote)


def _take_nothing(item: _Work, found: _Findings) -> None:
    """The reason is kept; what was not even read is left open as well, whatever else was said."""
    found.nothing.append(_nothing(item, item.reason))
    if item.reason == Reason.TRUNCATED:
        found.uncertainties.append(
            ExtractedUncertainty(
                about=item.message.text[:_ABOUT_LIMIT],
                reason="the rest of the message was not read",
            )
        )


def _take_sentence(item: _Work, doc: Doc, sentence: Sentence, found: _Findings) -> None:
    outcome = read_sentence(doc, sentence, item.message.said_at, found.cast, found.known)
    name = called(sentence.text)
    drafts = [replace(d, object=sentence.as_said(d.object)) for d in outcome.drafts]
    if name is not None:
        drafts.append(Draft(USER, "has name", name, quote=sentence.quote(0, len(sentence.text))))
    for before in [d for d in found.drafts if _is_denied(d, drafts, sentence.text)]:
        found.take_back(before)
    found.drafts.extend(
        replace(d, seq=item.message.seq, quote=item.read.as_written(d.quote)) for d in drafts
    )
    if not drafts and outcome.reason is not None:
        found.nothing.append(_nothing(item, outcome.reason))


def _is_denied(before: Draft, drafts: Sequence[Draft], text: str) -> bool:
    """`My birthday is on 16 June, not 15 June` takes back what the window said before."""
    if not any((d.subject, d.predicate) == (before.subject, before.predicate) for d in drafts):
        return False
    denied = rf"\bnot (?:in |on |at |the |a |an )*{re.escape(before.object)}\b"
    return re.search(denied, text, re.IGNORECASE) is not None


def _take_instruction(item: _Work, sentence: Sentence, found: _Findings) -> None:
    instruction = read_instruction(sentence.text, sentence.verbatim)
    if instruction is not None:
        quote = item.read.as_written(instruction.source_quote)
        found.instructions.append(instruction.model_copy(update={"source_quote": quote}))
    if name := called(sentence.text):
        quote = item.read.as_written(sentence.verbatim[:QUOTE_LIMIT])
        found.drafts.append(Draft(USER, "has name", name, quote=quote))


def _take_correction(item: _Work, sentence: Sentence, found: _Findings) -> None:
    correction = read_correction(sentence.text, sentence.verbatim)
    if correction is None:
        return
    result = corrected(correction, found.drafts, found.known)
    if result is None:
        found.uncertainties.append(
            ExtractedUncertainty(
                about=item.read.as_written(sentence.verbatim[:QUOTE_LIMIT]),
                reason="a correction of something that is not known",
            )
        )
        found.nothing.append(_nothing(item, item.reason))
        return
    draft, replaced = result
    if replaced is not None:
        found.take_back(replaced)
    quote = item.read.as_written(sentence.quote(0, len(sentence.text)))
    found.drafts.append(replace(draft, quote=quote, seq=item.message.seq))


def _graph(found: _Findings, known: KnownLists) -> ExtractedGraph:
    drafts = _distinct([_as_known(d, known) for d in found.drafts])
    return ExtractedGraph(
        entities=_entities(drafts),
        relationships=tuple(_fact(d) for d in drafts if d.type is not None),
        literal_facts=tuple(_fact(d) for d in drafts if d.type is None),
        instructions=tuple(found.instructions),
        uncertainties=(
            *found.uncertainties,
            *(
                ExtractedUncertainty(
                    about=" ".join(d.triple),
                    reason="hedged or reported by somebody else",
                    subject=d.subject,
                    predicate=d.predicate,
                )
                for d in drafts
                if d.confidence < SURE
            ),
        ),
        nothing_durable=tuple(found.nothing),
    )


def _as_known(draft: Draft, known: KnownLists) -> Draft:
    """Known names are used exactly as memory writes them."""
    for entity in known.entities:
        names = {entity.name.lower(), *(a.lower() for a in entity.aliases)}
        if draft.type is not None and draft.object in names:
            draft = replace(draft, object=entity.name, type=entity.type)
        if draft.subject != USER and draft.subject in names:
            draft = replace(draft, subject=entity.name)
    return draft


def _distinct(drafts: Sequence[Draft]) -> list[Draft]:
    """One draft per triple and stay; the first stands, an ending wins over a plain statement."""
    kept: dict[tuple[tuple[str, str, str], str], Draft] = {}
    for draft in drafts:
        if not draft.object or draft.subject == draft.object:
            continue
        is_stay = draft.valid_from is not None and draft.valid_until is not None
        key = (draft.triple, str(draft.valid_from) if is_stay else "")
        before = kept.get(key)
        if before is None or (draft.valid_until and not before.valid_until):
            kept[key] = draft
    return list(kept.values())


def _entities(drafts: Sequence[Draft]) -> tuple[ExtractedEntity, ...]:
    kinds: dict[str, EntityType] = {}
    for draft in drafts:
        if draft.type is not None:
            kinds.setdefault(draft.object, draft.type)
    for draft in drafts:
        if draft.subject != USER:
            kinds.setdefault(draft.subject, EntityType.PERSON)
    return tuple(ExtractedEntity(name=n, type=k.value) for n, k in kinds.items())


def _fact(draft: Draft) -> ExtractedFact:
    return ExtractedFact(
        subject=draft.subject,
        predicate=draft.predicate,
        object=draft.object,
        confidence=draft.confidence,
        source_quote=draft.quote,
        valid_from=draft.valid_from.isoformat() if draft.valid_from else None,
        valid_until=draft.valid_until.isoformat() if draft.valid_until else None,
        memory_category=category_of(draft.predicate).value,
    )
