"""Asking a model for an answer of a given shape, once more with the fault shown if it is bad.

Belongs here: the second try (spec X11). Does not: reading answers (stages/answers), storing them
and HTTP (adapters), asking another model (stages/escalate).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from memory_pipeline.domain.model import ModelRequest, Purpose, Usage
from memory_pipeline.prompts.library import REPAIR_ANSWER, load_prompt
from memory_pipeline.stages.answers import Asker, BadAnswerError
from memory_pipeline.stages.length_limit import TooLongError
from memory_pipeline.stages.sanitise import sanitise_line
from memory_pipeline.stages.transcript import derive_fence

Value = TypeVar("Value")

BAD_ANSWER_CHARS = 24_000
_FAULT_CHARS = 300


@dataclass(frozen=True, slots=True)
class Asked(Generic[Value]):
    """A value with the digests of the requests made for it, the one that gave it last.

    `usage` counts the answer that could be read.
    """

    value: Value
    request_digests: tuple[str, ...]
    usage: Usage = field(default_factory=Usage)


def ask_twice(
    asker: Asker,
    request: ModelRequest,
    parse: Callable[[str], Value],
    tenant_secret: bytes,
    attempt: int = 1,
) -> Asked[Value]:
    """The answer to `request`, after a bad one that to its repair.

    `attempt` counts the tries of the episode, so that a bad answer of this one is not paid for
    again. Raises `BadAnswerError` when both answers are bad, `TooLongError` at once when a limit
    in length spoils the first, and what the asker raises.
    """
    try:
        value, answer = asker.ask(request, parse, attempt=attempt)
    except TooLongError:
        raise  # the repair is longer still
    except BadAnswerError as error:
        repair = repair_request(request, error, tenant_secret)
        value, answer = asker.ask(repair, parse, attempt=attempt)
        return Asked(value, (request.digest(), repair.digest()), answer.usage)
    return Asked(value, (request.digest(),), answer.usage)


def add_usage(one: Usage, other: Usage) -> Usage:
    """Both together; unpriced as soon as one of them is."""
    prices = (one.price_usd, other.price_usd)
    return Usage(
        prompt_tokens=one.prompt_tokens + other.prompt_tokens,
        cached_tokens=one.cached_tokens + other.cached_tokens,
        completion_tokens=one.completion_tokens + other.completion_tokens,
        price_usd=None if None in prices else sum(price or 0.0 for price in prices),
    )


def repair_request(
    request: ModelRequest, error: BadAnswerError, tenant_secret: bytes
) -> ModelRequest:
    """The request that shows a bad answer and its fault and asks for the same shape again.

    Its system part begins with that of `request`, so that the rules hold and stay cached.
    """
    prompt = load_prompt(REPAIR_ANSWER)
    bad_answer = _printable(error.text)[:BAD_ANSWER_CHARS]
    return request.model_copy(
        update={
            "purpose": Purpose.REPAIR,
            "system": f"{request.system}\n\n{prompt.system}",
            "user": prompt.fill(
                {
                    "task": request.user,
                    "fault": sanitise_line(str(error), _FAULT_CHARS),
                    "fence": derive_fence(tenant_secret, request.user + bad_answer),
                    "bad_answer": bad_answer or "(nothing)",
                }
            ),
            "prompt_digest": f"{request.prompt_digest}+{prompt.citation}",
        }
    )


def _printable(text: str) -> str:
    """The text without what no request can carry; line breaks may be the fault, so they stay."""
    kept = (char for char in text if char in "\n\t" or char.isprintable())
    return "".join(kept)
