"""What the scripted model says: functions from a question to a text.

Belongs here: the question as a value, answers that need no script. Does not: HTTP.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Asked:
    """One chat request. `schema_name` is empty when no schema was sent with the request."""

    model: str
    system: str
    user: str
    schema_name: str
    body: dict[str, Any]

    @property
    def is_judging(self) -> bool:
        """Whether verdicts are wanted, by the schema or, without one, by the wording."""
        return self._is_about("judge", "verdict")

    @property
    def is_summary(self) -> bool:
        """Whether a summary is wanted."""
        return self._is_about("summar", "summar")

    @property
    def is_profile(self) -> bool:
        """Whether the profile of an entity is wanted."""
        return self._is_about("profile", "sentences")

    def wants(self, name: str) -> bool:
        """Whether the shape of the answer, or its wording, has a field whose name starts so."""
        if self.schema_name:
            shape = json.dumps(self.body["response_format"]["json_schema"]["schema"])
        else:
            shape = self.system.rpartition("JSON Schema")[2]
        return f'"{name}' in shape.lower()

    def _is_about(self, in_name: str, field: str) -> bool:
        return in_name in self.schema_name.lower() or self.wants(field)


Scripted = Callable[[Asked], str]
"""An answer function; it may be called from several threads at once."""

_SHOWN_FACT = re.compile(r"^\[(f\d+)\] ([^|\n]+?)(?: \||$)", re.MULTILINE)

EMPTY_GRAPH: dict[str, object] = {
    "entities": [],
    "relationships": [],
    "literal_facts": [],
    "instructions": [],
    "uncertainties": [],
}


def nothing_found(asked: Asked) -> str:
    """The valid answer of a model that finds nothing worth remembering."""
    if asked.is_judging:
        return json.dumps({"verdicts": []})
    if asked.is_summary:
        return json.dumps({"summary": "Small talk.", "key_learnings": []})
    if asked.is_profile:
        return told_facts(asked)
    return json.dumps(EMPTY_GRAPH)


def told_facts(asked: Asked) -> str:
    """The valid profile that says each shown fact in a sentence of its own."""
    shown = _SHOWN_FACT.findall(asked.user.partition("<<<")[2])
    sentences = [
        {"facts": [label], "text": f"{fact[:1].upper()}{fact[1:]}."} for label, fact in shown
    ]
    return json.dumps({"sentences": sentences})


def fixed(text: str) -> Scripted:
    """The same text to every question."""
    return lambda _asked: text
