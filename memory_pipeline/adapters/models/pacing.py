"""How fast one endpoint is asked: open requests at most, and pauses that hold for all threads.

Belongs here: the pace of an endpoint, shared by chat and embeddings. Does not: when to retry.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final


class Pace:
    """Slots for open requests and the instant before which no new one starts."""

    def __init__(self, concurrency: int) -> None:
        self._slots = threading.BoundedSemaphore(concurrency)
        self._changed = threading.Condition()
        self._resume_at = 0.0

    def hold(self, seconds: float) -> None:
        """Let no request start for so long; a longer pause that holds already stays."""
        with self._changed:
            self._resume_at = max(self._resume_at, time.monotonic() + seconds)
            self._changed.notify_all()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """A slot, once the pause is over."""
        with self._slots:
            with self._changed:
                while (remaining := self._resume_at - time.monotonic()) > 0:
                    self._changed.wait(remaining)
            yield


_paces: Final[dict[str, Pace]] = {}
_lock: Final = threading.Lock()


def pace_of(base_url: str, concurrency: int) -> Pace:
    """The one pace of an endpoint in this process; the first caller's concurrency holds."""
    with _lock:
        return _paces.setdefault(base_url, Pace(concurrency))
