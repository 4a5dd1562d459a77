"""Why words that the user did say may not carry a fact: the doubts about a found quote.

Belongs here: acknowledgements, denials, another's words, names, pasted prompts (spec X3, X9).
Does not: finding quotes (stages/evidence), what a doubt leads to (stages/guard).
"""

from functools import cached_property

from memory_pipeline.domain.claim import USER, Evidence
from memory_pipeline.domain.conversation import Message, Window
from memory_pipeline.domain.extraction import ExtractedFact, KnownLists
from memory_pipeline.domain.ids import MessageId
from memory_pipeline.stages.candidates import NAMING_PREDICATES
from memory_pipeline.stages.evidence import FoldedMessages, count_words
from memory_pipeline.stages.fields import normalise_name
from memory_pipeline.stages.folding import fold
from memory_pipeline.stages.negation import is_denied
from memory_pipeline.stages.prompt_echo import (
    is_example_fact,
    is_example_quote,
    pasted_spans,
)
from memory_pipeline.stages.shared_words import (
    SaidWords,
    are_spellings,
    content_words,
    numbers,
)
from memory_pipeline.stages.small_talk import is_small_talk
from memory_pipeline.stages.temporal import parse_bound
from memory_pipeline.stages.whose_words import speaks_of_another

DENIED = "the clause around the quote denies it"
PASTED = "the quoted words stand in a pasted prompt"


class QuoteDoubts:
    """What speaks against the quotes of one window, folded once for all its candidates."""

    def __init__(self, window: Window, known: KnownLists, messages: FoldedMessages) -> None:
        self._messages = messages
        self._own = {message.message_id: message for message in window.own_messages()}
        self._others = tuple(m for m in window.messages if not m.is_own)
        self._known = known
        self._pasted: dict[MessageId, tuple[tuple[int, int], ...]] = {}

    def place(self, fact: ExtractedFact, quote: str) -> tuple[Evidence | None, str]:
        """The first place of the quote that carries a tidy fact, else the first with its doubt.

        None when there is no place. "I don't live in Rome" does not hide "I live in Rome now".
        """
        first: tuple[Evidence, str] | None = None
        for evidence in self._messages.places(quote):
            doubt = self.doubt(fact, evidence)
            if not doubt:
                return evidence, ""
            first = first or (evidence, doubt)
        return first or (None, "")

    def doubt(self, fact: ExtractedFact, evidence: Evidence) -> str:
        """Why the quoted words do not carry a tidy fact; empty when nothing speaks against it."""
        message = self._own[evidence.message_id]
        if is_small_talk(evidence.quote):
            return "an acknowledgement says nothing by itself"
        if self._is_pasted(message, evidence):
            return PASTED
        if fact.subject == USER and speaks_of_another(
            message.text, evidence, fact.predicate, fact.object
        ):
            return "the quoted words speak of somebody else"
        if parse_bound(fact.valid_until, evidence.said_at) is None and is_denied(
            message.text, evidence, fact.predicate, fact.object
        ):
            return DENIED
        return self._doubt_words(fact, evidence)

    def is_echo(self, fact: ExtractedFact) -> bool:
        """Whether a fact that nobody said comes out of the examples of the prompt."""
        is_example = is_example_quote(fact.source_quote) or is_example_fact(
            fact.predicate, fact.object
        )
        return is_example and not any(map(self._messages.words.has, content_words(fact.object)))

    @cached_property
    def _other_words(self) -> SaidWords:
        return SaidWords(fold(message.text).text for message in self._others)

    @cached_property
    def _known_words(self) -> frozenset[str]:
        names = [n for entity in self._known.entities for n in (entity.name, *entity.aliases)]
        values = [n for fact in self._known.facts for n in (fact.subject, fact.object)]
        return frozenset(map(normalise_name, (*names, *values, *self._known.user_names)))

    def _is_pasted(self, message: Message, evidence: Evidence) -> bool:
        if message.message_id not in self._pasted:
            self._pasted[message.message_id] = pasted_spans(message.text)
        return any(
            start < evidence.span_end and evidence.span_start < end
            for start, end in self._pasted[message.message_id]
        )

    def _names(self, fact: ExtractedFact, evidence: Evidence, quoted: tuple[str, ...]) -> bool:
        """`my name is`, cut short of the name that its message says."""
        said = SaidWords([fold(self._own[evidence.message_id].text).text])
        return _says_something_of(fact, evidence, quoted) and any(
            map(said.has, content_words(fact.object))
        )

    def _doubt_words(self, fact: ExtractedFact, evidence: Evidence) -> str:
        """Doubts of a fact whose object the user has never put into words."""
        words, quoted = content_words(fact.object), content_words(evidence.quote)
        is_said = any(are_spellings(word, said) for word in words for said in quoted)
        is_said = is_said or any(word in evidence.quote for word in words if not word.isascii())
        if fact.subject == USER and fact.predicate in NAMING_PREDICATES and not is_said:
            return "" if self._names(fact, evidence, quoted) else "the quote does not say the name"
        if is_said or not words or normalise_name(fact.object) in self._known_words:
            return ""
        if any(map(self._messages.words.has, words)) or _stands_for(words, self._messages.words):
            return ""
        if _says_something_of(fact, evidence, quoted):
            return ""
        if all(map(self._other_words.has, words)):
            return "only somebody else says it, and the quoted words do not"
        if is_example_fact(fact.predicate, fact.object):
            return "only an example of the prompt says it, and the quoted words do not"
        return ""


def _stands_for(words: tuple[str, ...], own: SaidWords) -> bool:
    """`NYC` and `UK` say `new york` and `united kingdom`."""
    initials = "".join(word[0] for word in words)
    return len(words) > 1 and (own.has(initials) or own.has(f"{initials}c"))


def _says_something_of(fact: ExtractedFact, evidence: Evidence, quoted: tuple[str, ...]) -> bool:
    """Whether the quote gives a part of the fact: its topic, its number, its date.

    "Since 2018" answers a question, and so does "I still work there".
    """
    dates = " ".join(filter(None, (fact.valid_from, fact.valid_until)))
    if numbers(evidence.quote) & numbers(f"{fact.object} {dates}"):
        return True
    if count_words(evidence.quote) and numbers(f"{fact.object} {dates}"):
        return True
    topic = content_words(fact.predicate)
    return any(are_spellings(word, said) for word in topic for said in quoted)
