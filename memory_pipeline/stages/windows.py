"""How a thread is cut into windows, the units that become episodes (spec E1).

Belongs here: the cut and the token estimate it counts with. Does not: ordinals, positions and the
storing of episodes (adapters), or when a live thread is closed (the four triggers of spec E3).
"""

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

MAX_MESSAGES = 100
MAX_TOKENS = 8_000
IDLE = timedelta(minutes=30)
CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class TimedMessage:
    """What the cut needs to know of a message: its place, its time, its size in tokens."""

    seq: int
    said_at: datetime
    token_count: int


@dataclass(frozen=True, slots=True)
class WindowBounds:
    """One window: messages `first_seq` to `last_seq`, both included.

    `started_at` and `ended_at` are the least and greatest time inside, since clocks jump back.
    """

    first_seq: int
    last_seq: int
    started_at: datetime
    ended_at: datetime
    message_count: int
    token_count: int


def cut_windows(
    messages: Sequence[TimedMessage],
    *,
    max_messages: int = MAX_MESSAGES,
    max_tokens: int = MAX_TOKENS,
    idle: timedelta = IDLE,
) -> list[WindowBounds]:
    """Windows of one thread's messages (in `seq` order) that cover each message once, in order.

    A silence of more than `idle` between neighbours, in either direction of the clock, and a full
    window (`max_messages`, `max_tokens`) close it; a message above `max_tokens` is alone in its
    window. The cut looks back only, so going on from the end of a window changes nothing.
    Raises ValueError for a cap below one or messages out of order.
    """
    if max_messages < 1 or max_tokens < 1:
        raise ValueError("max_messages and max_tokens must be at least 1")
    windows: list[WindowBounds] = []
    pending: list[TimedMessage] = []
    tokens = 0
    for message in messages:
        if pending and message.seq <= pending[-1].seq:
            raise ValueError(f"message {message.seq} does not come after {pending[-1].seq}")
        is_full = len(pending) >= max_messages or tokens + message.token_count > max_tokens
        if pending and (is_full or abs(message.said_at - pending[-1].said_at) > idle):
            windows.append(_bounds(pending))
            pending, tokens = [], 0
        pending.append(message)
        tokens += message.token_count
    return [*windows, _bounds(pending)] if pending else windows


def _bounds(messages: Sequence[TimedMessage]) -> WindowBounds:
    times = [message.said_at for message in messages]
    return WindowBounds(
        first_seq=messages[0].seq,
        last_seq=messages[-1].seq,
        started_at=min(times),
        ended_at=max(times),
        message_count=len(messages),
        token_count=sum(message.token_count for message in messages),
    )


def estimate_tokens(text: str) -> int:
    """Tokens `text` costs a model, at least 1: four characters each, one where CJK is written.

    An estimate that needs no tokenizer and never changes, because windows depend on it.
    """
    if text.isascii():
        return max(1, math.ceil(len(text) / CHARACTERS_PER_TOKEN))
    wide = sum(1 for char in text if _is_cjk(char))
    return max(1, wide + math.ceil((len(text) - wide) / CHARACTERS_PER_TOKEN))


def _is_cjk(char: str) -> bool:
    # Emoji are wide too, but tokenizers split them otherwise: letters alone count here.
    return unicodedata.east_asian_width(char) in "WF" and unicodedata.category(char)[0] == "L"
