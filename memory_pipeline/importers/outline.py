"""The keys of an export's beginning: what formats are recognised by.

What belongs here: finding nested key names in JSON that may be cut off. What does not: which keys
mean which format, and values.
"""

import re
from collections.abc import Iterator

KeyPath = tuple[str, ...]
"""Key names from the outermost object inwards; arrays leave no trace."""

_TOKEN = re.compile(r'"(?P<text>(?:[^"\\]|\\.)*+)(?P<end>"\s*:|"|\Z)|[{}\[\]]', re.DOTALL)
_DEEPEST = 4


def key_paths(head: str) -> frozenset[KeyPath]:
    """All key paths of at most four names in a piece of JSON text, or in several of them."""
    return frozenset(_walk(head))


def _walk(head: str) -> Iterator[KeyPath]:
    open_keys: list[str | None] = []
    for token in _TOKEN.finditer(head):
        if token[0] in "{[":
            open_keys.append(None)
        elif token[0] in "}]":
            del open_keys[-1:]
        elif token["end"] == "":
            # The head ends inside a string.
            return
        elif token["end"].endswith(":") and open_keys:
            open_keys[-1] = token["text"]
            path = tuple(key for key in open_keys if key is not None)
            if len(path) <= _DEEPEST:
                yield path
