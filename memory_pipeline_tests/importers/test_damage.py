"""Whatever single value of an export is damaged, the rest of it is read."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory_pipeline.importers.errors import UnknownUserError
from memory_pipeline.importers.text_border import clean_text
from memory_pipeline_tests.importers.imported import DATA, Imported, import_file

JUNK: list[object] = [None, True, -1, 1e300, "\ud83d\x00", "", [], [[None]], {}, {"type": {}}]
LOCOMO = [
    {
        "sample_id": f"conv-{n}",
        "conversation": {
            "speaker_a": "Ines",
            "speaker_b": "Otto",
            "session_1_date_time": "1:05 pm on 1 October, 2023",
            "session_1": [
                {"speaker": "Ines", "dia_id": "D1:1", "text": "a", "img_url": ["u"]},
                {"speaker": "Otto", "dia_id": "D1:2", "text": "b", "blip_caption": "c"},
            ],
        },
    }
    for n in (1, 2)
]
MEMORYBANK = {
    name: {"name": name, "history": {"2023-04-27": [{"query": "a", "response": "b"}] * 2}}
    for name in ("Ines", "Otto")
}
EXPORTS = {
    "chatgpt": json.loads((DATA / "chatgpt_conversations.json").read_text()),
    "claude": json.loads((DATA / "claude_conversations.json").read_text()),
    "openai": [
        json.loads(line) for line in (DATA / "openai_messages.jsonl").read_text().splitlines()
    ],
    "locomo": LOCOMO,
    "memorybank": MEMORYBANK,
}

# The others do not name their speakers.
USERS = {"locomo": "Otto", "memorybank": "Otto"}

Step = str | int


def _places(value: object, at: tuple[Step, ...] = ()) -> Iterator[tuple[Step, ...]]:
    """Where the values inside a document stand."""
    items: list[tuple[Step, object]] = []
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    for step, inner in items:
        yield (*at, step)
        yield from _places(inner, (*at, step))


PLACES = [(name, place) for name, export in EXPORTS.items() for place in _places(export)]


def _damaged(name: str, place: tuple[Step, ...], junk: object) -> object:
    document = copy.deepcopy(EXPORTS[name])
    holder = document
    for step in place[:-1]:
        holder = holder[step]
    holder[place[-1]] = junk
    return document


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("damage") / "export.json"


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.sampled_from(PLACES), st.sampled_from(JUNK))
def test_a_damaged_value_never_loses_the_other_conversation(
    export: Path, damage: tuple[str, tuple[Step, ...]], junk: object
) -> None:
    name, place = damage
    user = USERS.get(name)
    try:
        got = _import(export, name, _damaged(name, place, junk), user)
    except UnknownUserError:
        # Damaged names may leave it open who the user is; that is said, never guessed.
        return
    if isinstance(place[0], int):
        other = 1 - place[0]
        assert _import(export, name, EXPORTS[name], user).threads[other] in got.threads
    said = "".join(got.texts)
    assert said == clean_text(said)


def _import(export: Path, name: str, document: object, user: str | None) -> Imported:
    export.write_text(json.dumps(document))
    return import_file(export, name, user)
