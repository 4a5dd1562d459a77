"""Loads prompt files, checks them and fills their placeholders.

Belongs here: the file form (head, system part, user part), digests, filling.
Does not: wording (the `.md` files) and how a placeholder's text is made (stages).
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

EXTRACT_GRAPH = "extract_graph.v1"
JUDGE_CONTRADICTIONS = "judge_contradictions.v1"
SUMMARISE_EPISODE = "summarise_episode.v1"
REPAIR_ANSWER = "repair_answer.v1"
BUILD_PROFILE = "build_profile.v1"
DERIVE_INSIGHTS = "derive_insights.v1"

CURRENT = (EXTRACT_GRAPH, JUDGE_CONTRADICTIONS, SUMMARISE_EPISODE, REPAIR_ANSWER)
"""The versions that new requests are made with."""

_LABEL = re.compile(r"[a-z]+(?:_[a-z]+)*\.v[1-9]\d*")
_PLACEHOLDER = re.compile(r"\{\{([a-z_]+)\}\}")
_FILE = re.compile(
    r"---\n(?P<head>.*?)\n---\n<!-- system -->\n(?P<system>.*?)\n<!-- user -->\n(?P<user>.*)\Z",
    re.DOTALL,
)
_HEAD_KEYS = ("purpose", "inputs", "answer")


class PromptError(ValueError):
    """A prompt file is missing or malformed, or was filled with other inputs than it names."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One version of one prompt. `digest` is the sha256 of the file, in hex.

    `system` holds no placeholder, so it is byte-identical in every request; `user` holds exactly
    `inputs`. `answer` names the answer model.
    """

    label: str
    purpose: str
    inputs: tuple[str, ...]
    answer: str
    system: str
    user: str
    digest: str

    @property
    def citation(self) -> str:
        """Label and digest in one word, as a request and a fact cite it."""
        return f"{self.label}:{self.digest}"

    def fill(self, values: Mapping[str, str]) -> str:
        """The user part with its placeholders filled, each in one pass.

        A value that looks like a placeholder stays as it is. Raises `PromptError` unless `values`
        has exactly the inputs that the head names.
        """
        if set(values) != set(self.inputs):
            wrong = sorted(set(values) ^ set(self.inputs))
            raise PromptError(f"{self.label}: inputs missing or unknown: {', '.join(wrong)}")
        return _PLACEHOLDER.sub(lambda match: values[match[1]], self.user)


@lru_cache(maxsize=32)
def load_prompt(label: str) -> Prompt:
    """The prompt `name.vN`; raises `PromptError` when there is none or its file is malformed."""
    if not _LABEL.fullmatch(label):
        raise PromptError(f"{label!r} is no prompt label of the form name.vN")
    file = files(__package__).joinpath(f"{label}.md")
    if not file.is_file():
        raise PromptError(f"there is no prompt {label}")
    return parse_prompt(label, file.read_bytes())


def recipe_prompts() -> tuple[tuple[str, str], ...]:
    """Label and digest of every current prompt, sorted: the form a recipe holds."""
    return tuple(sorted((label, load_prompt(label).digest) for label in CURRENT))


def parse_prompt(label: str, content: bytes) -> Prompt:
    """A prompt from the bytes of its file; raises `PromptError` with what is wrong."""
    match = _FILE.match(content.decode("utf-8"))
    if match is None:
        raise PromptError(f"{label}: wants a head, a system part and a user part")
    head = _read_head(label, match["head"])
    inputs = tuple(name.strip() for name in head["inputs"].split(",") if name.strip())
    if _PLACEHOLDER.search(match["system"]):
        raise PromptError(f"{label}: the system part holds a placeholder")
    used = set(_PLACEHOLDER.findall(match["user"]))
    if used != set(inputs):
        wrong = sorted(used ^ set(inputs))
        raise PromptError(f"{label}: head and user part differ in {', '.join(wrong)}")
    return Prompt(
        label=label,
        purpose=head["purpose"],
        inputs=inputs,
        answer=head["answer"],
        system=match["system"].strip(),
        user=match["user"].strip(),
        digest=hashlib.sha256(content).hexdigest(),
    )


def _read_head(label: str, text: str) -> dict[str, str]:
    pairs = (line.partition(":") for line in text.splitlines())
    head = {key.strip(): value.strip() for key, _, value in pairs}
    if tuple(head) != _HEAD_KEYS or not all(head.values()):
        raise PromptError(f"{label}: the head wants {', '.join(_HEAD_KEYS)}, in this order")
    return head
