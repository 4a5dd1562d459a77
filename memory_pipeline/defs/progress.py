"""Who wants to know that an episode was folded or given up, in the process that folds it.

Belongs here: the hook between a run started by a command and its progress bar. Nothing else.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_Listener = Callable[[], None]


def _nobody() -> None:
    """Nobody wants to know."""


_on_folded: ContextVar[_Listener] = ContextVar("on_folded", default=_nobody)
_on_given_up: ContextVar[_Listener] = ContextVar("on_given_up", default=_nobody)


@contextmanager
def episodes_counted_by(on_folded: _Listener, on_given_up: _Listener = _nobody) -> Iterator[None]:
    """Call `on_folded` after each folded episode inside the block, given up or not.

    For one that was given up and folded empty `on_given_up` is called too.
    """
    folded, given_up = _on_folded.set(on_folded), _on_given_up.set(on_given_up)
    try:
        yield
    finally:
        _on_folded.reset(folded)
        _on_given_up.reset(given_up)


def episode_folded() -> None:
    """Tell whoever counts folded episodes."""
    _on_folded.get()()


def episode_given_up() -> None:
    """Tell whoever counts episodes given up."""
    _on_given_up.get()()
