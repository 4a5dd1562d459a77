"""The summary of one episode, a side branch that extraction never reads (spec E4).

Belongs here: the request over the raw messages and its answer. Does not: embedding and storing
(adapters), retries of a failed summary (spec E5, the ledger).
"""

from dataclasses import dataclass, field

from memory_pipeline.domain.conversation import Window
from memory_pipeline.domain.extraction import KnownLists
from memory_pipeline.domain.model import ModelRequest, Purpose, Usage
from memory_pipeline.prompts.library import REPAIR_ANSWER, SUMMARISE_EPISODE, load_prompt
from memory_pipeline.stages.answer_models import SummaryAnswer, strict_schema
from memory_pipeline.stages.answers import (
    Asker,
    BadAnswerError,
    EpisodeSummary,
    parse_summary,
)
from memory_pipeline.stages.asking import ask_twice
from memory_pipeline.stages.injection import INJECTION_VERSION
from memory_pipeline.stages.small_talk import is_small_talk
from memory_pipeline.stages.transcript import list_user_names, write_transcript

SUMMARY_VERSION = "summarise/1"
SCHEMA_NAME = "episode_summary"


class SummaryError(RuntimeError):
    """Two answers in a row held no summary; the episode's summary counts an attempt."""


@dataclass(frozen=True, slots=True)
class WrittenSummary:
    """A summary with what it cost; `request_digests` name the requests made."""

    summary: EpisodeSummary
    usage: Usage = field(default_factory=Usage)
    request_digests: tuple[str, ...] = ()


class Summariser:
    """Summarises episodes with one language model."""

    def __init__(self, asker: Asker, model: str, tenant_secret: bytes) -> None:
        self._asker = asker
        self._model = model
        self._secret = tenant_secret

    @property
    def version(self) -> str:
        """Names the model and both prompts by their content."""
        prompts = "+".join(load_prompt(p).citation for p in (SUMMARISE_EPISODE, REPAIR_ANSWER))
        return f"{SUMMARY_VERSION} {INJECTION_VERSION} {self._model} {prompts}"

    def summarise(
        self, window: Window, user_names: tuple[str, ...] = (), attempt: int = 1
    ) -> WrittenSummary:
        """The summary of a window, from its raw messages.

        Raises `SummaryError` when two answers in a row are bad, and what the model raises.
        """
        try:
            request = self.request(window, user_names)
            asked = ask_twice(self._asker, request, parse_summary, self._secret, attempt)
        except BadAnswerError as error:
            message = f"{self._model} gave no summary: {error}"
            raise SummaryError(message) from error
        return WrittenSummary(asked.value, asked.usage, asked.request_digests)

    def request(self, window: Window, user_names: tuple[str, ...] = ()) -> ModelRequest:
        """The request of a window as it is sent first."""
        prompt = load_prompt(SUMMARISE_EPISODE)
        transcript = write_transcript(window, self._secret)
        return ModelRequest(
            purpose=Purpose.SUMMARISE,
            model=self._model,
            system=prompt.system,
            user=prompt.fill(
                {
                    "user_names": list_user_names(KnownLists(user_names=user_names)),
                    "fence": transcript.fence,
                    "transcript": transcript.text,
                }
            ),
            schema_name=SCHEMA_NAME,
            json_schema=strict_schema(SummaryAnswer),
            prompt_digest=prompt.citation,
        )


def is_worth_a_summary(window: Window) -> bool:
    """Whether the user says more than greetings and acknowledgements (spec X10)."""
    return not all(is_small_talk(message.text) for message in window.own_messages())
