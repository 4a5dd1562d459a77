"""Token counts of the scripted server, with the prefix cache of the large providers imitated.

A prompt's cached tokens are its longest prefix seen before, from 1,024 tokens, in steps of 128.
"""

import hashlib
import threading

_STEP_TOKENS = 128
_LEAST_TOKENS = 1_024
_CHARS_PER_TOKEN = 4


def count_tokens(text: str) -> int:
    """Four characters to a token, at least one."""
    return max(1, -(-len(text) // _CHARS_PER_TOKEN))


class PrefixCache:
    """Remembers prompts by the digests of their prefixes; safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: set[tuple[str, bytes]] = set()

    def cached_tokens(self, model: str, prompt: str) -> int:
        """Tokens of the prompt that a request before has paid for; remembers this one."""
        prefixes = []
        digest = hashlib.sha256()
        step = _STEP_TOKENS * _CHARS_PER_TOKEN
        for end in range(step, len(prompt) + 1, step):
            digest.update(prompt[end - step : end].encode("utf-8", "surrogatepass"))
            prefixes.append((end // _CHARS_PER_TOKEN, (model, digest.digest())))
        with self._lock:
            known = [tokens for tokens, key in prefixes if key in self._seen]
            self._seen.update(key for tokens, key in prefixes if tokens >= _LEAST_TOKENS)
        return max(known, default=0)
