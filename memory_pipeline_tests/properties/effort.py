"""How many examples a property gets: few in everyday runs, many where new ones are looked for."""

from hypothesis import settings

_LONG = 25


def examples(everyday: int) -> settings:
    """So many examples with the default profile, the same ones each time; 25 times in `explore`."""
    is_everyday = settings().derandomize
    return settings(max_examples=everyday if is_everyday else _LONG * everyday)
