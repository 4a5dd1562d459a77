"""Who wants to know that an episode was folded, in the process that folds it.

Belongs here: the hook between a run started by a command and its progress bar. Nothing else.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_listener: ContextVar[Callable[[], None] | None] = ContextVar("listener", default=None)


@contextmanager
def episodes_counted_by(listener: Callable[[], None]) -> Iterator[None]:
    """Call `listener` after each folded episode inside the block."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def episode_folded() -> None:
    """Tell the listener, if there is one."""
    listener = _listener.get()
    if listener is not None:
        listener()
