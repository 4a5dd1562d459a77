"""What a graph holds beside facts: instructions, open points, messages that say nothing durable.

Belongs here: their tidying, deduplication and evidence. Does not: candidates (stages/guard).
"""

from collections.abc import Collection, Iterable, Iterator

from memory_pipeline.domain.claim import Evidence, Instruction, NothingSaid, Uncertainty
from memory_pipeline.domain.conversation import Window
from memory_pipeline.domain.extraction import ExtractedGraph
from memory_pipeline.domain.ids import MessageId
from memory_pipeline.stages.candidates import TEXT_CHARS, Account
from memory_pipeline.stages.evidence import FoldedMessages
from memory_pipeline.stages.fields import clean_text, cut, normalise_predicate
from memory_pipeline.stages.folding import fold
from memory_pipeline.stages.name_book import USER_SUBJECTS, NameBook
from memory_pipeline.stages.prompt_echo import QUOTED_SHARE, is_backed, is_example_remark
from memory_pipeline.stages.shared_words import SaidWords

LABEL_CHARS = 80
NOTHING_DURABLE = "nothing_durable"
"""The reason of a message about which the extractor said nothing."""


def guard_instructions(
    graph: ExtractedGraph,
    messages: FoldedMessages,
    account: Account,
    *,
    requires_evidence: bool,
) -> tuple[Instruction, ...]:
    """Standing orders, each once, the last action winning; a quote nobody said is doubted.

    One of the prompt's examples is left out unless the user said it.
    """
    kept: dict[tuple[str, str], Instruction] = {}
    for raw in graph.instructions:
        description = clean_text(raw.description, TEXT_CHARS) or clean_text(raw.label, TEXT_CHARS)
        label = clean_text(raw.label, LABEL_CHARS) or cut(description, LABEL_CHARS)
        evidence = messages.find(raw.source_quote)
        if not label or _is_echo_order(description, evidence, messages):
            continue
        if raw.source_quote.strip() and evidence is None and requires_evidence:
            account.uncertainties.append(
                Uncertainty(
                    about=clean_text(f"{label}: {description}", TEXT_CHARS),
                    reason="no message of the user says the quote of this instruction",
                )
            )
            continue
        kept[label.casefold(), description.casefold()] = Instruction(
            label=label,
            description=description,
            is_active=raw.action == "set",
            message_id=evidence.message_id if evidence else None,
        )
    return tuple(kept.values())


def _is_echo_order(description: str, evidence: Evidence | None, messages: FoldedMessages) -> bool:
    """Whether an order comes out of the prompt: neither its quote nor a message is about it."""
    if not is_example_remark(description):
        return False
    if evidence is None:
        return not is_backed(description, messages.words)
    return not is_backed(description, SaidWords([fold(evidence.quote).text]), QUOTED_SHARE)


def guard_uncertainties(
    graph: ExtractedGraph, names: NameBook, messages: FoldedMessages
) -> Iterator[Uncertainty]:
    """The extractor's own open points, tidy; empty ones and the prompt's examples left out."""
    for raw in graph.uncertainties:
        about = clean_text(raw.about, TEXT_CHARS)
        reason = clean_text(raw.reason, TEXT_CHARS)
        if not about and not reason:
            continue
        if not is_example_remark(about) or is_backed(about, messages.words):
            yield Uncertainty(
                about=about or reason,
                reason=reason,
                subject=names.canonical(raw.subject or "", USER_SUBJECTS) or None,
                predicate=normalise_predicate(raw.predicate or "") or None,
            )


def distinct_uncertainties(uncertainties: Iterable[Uncertainty]) -> tuple[Uncertainty, ...]:
    """Each open point once; equal words about equal subjects count as one, the first stays."""
    distinct: dict[tuple[str | None, ...], Uncertainty] = {}
    for item in uncertainties:
        key = (item.about.casefold(), item.subject, item.predicate, item.candidate)
        distinct.setdefault(key, item)
    return tuple(distinct.values())


def account_for_silence(
    graph: ExtractedGraph, window: Window, heard: Collection[MessageId | None]
) -> tuple[NothingSaid, ...]:
    """A line for every own message that nothing cites, with the extractor's first reason."""
    reasons: dict[int, str] = {}
    for item in graph.nothing_durable:
        reasons.setdefault(item.seq, clean_text(item.reason, LABEL_CHARS) or NOTHING_DURABLE)
    return tuple(
        NothingSaid(message_id=message.message_id, reason=reasons.get(message.seq, NOTHING_DURABLE))
        for message in window.own_messages()
        if message.message_id not in heard
    )
