"""What an extraction is shown of a memory that holds more than fits (spec X2, G1)."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

import pytest

from memory_pipeline.adapters.hashed_embedder import HashedNgramEmbedder
from memory_pipeline.adapters.insight_store import derive_insights
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.domain.conversation import Window
from memory_pipeline.domain.extraction import (
    ExtractedEntity,
    ExtractedFact,
    ExtractedGraph,
    KnownLists,
)
from memory_pipeline.domain.policy import Policy
from memory_pipeline.stages.insight import InsightFinder
from memory_pipeline_tests.scripted import (
    TENANT,
    ScriptedExtractor,
    daily,
    fold_all,
    forget_memory,
    import_history,
    scripted_workshop,
)
from memory_pipeline_tests.stages.model_doubles import SECRET, ScriptedAsker

Shown = tuple[list[str], list[dict[str, Any]]]
"""Names and facts."""

_FEW = {"known_facts": 2, "known_entities": 2}
_THINGS = ("tea", "green tea", "jazz", "jazz clubs", "acme", "acme labs", "boats", "chess", "rex")
_ENDS = ("2023-12-20", "2024-01-04", "2024-01-12", "2024-01-20", "2024-03-01")


class EndingExtractor(ScriptedExtractor):
    """Reads `owns: rex until 2024-02-01` too."""

    def extract(self, window: Window, known: KnownLists) -> ExtractedGraph:
        """The facts that the user's messages spell out."""
        facts = tuple(map(_with_end, super().extract(window, known).relationships))
        return ExtractedGraph(
            entities=tuple(
                ExtractedEntity(name=name, type="ORG") for name in {f.object for f in facts}
            ),
            relationships=facts,
        )


def _with_end(fact: ExtractedFact) -> ExtractedFact:
    thing, _, until = fact.object.partition(" until ")
    return fact.model_copy(update={"object": thing, "valid_until": until or None})


def _shown(extractor: ScriptedExtractor) -> dict[int, Shown]:
    """What each ordinal was shown, which must be the same each time."""
    shown: dict[int, Shown] = {}
    for ordinal, known in extractor.seen:
        lists = ([e.name for e in known.entities], [f.model_dump() for f in known.facts])
        assert shown.setdefault(ordinal, lists) == lists
    return shown


def _in_runs(database: Database, ends: Sequence[int], stride: int) -> dict[int, Shown]:
    extractor = EndingExtractor()
    settings = {"context_stride": stride, **_FEW}
    first = 1
    for end in ends:
        workshop = scripted_workshop(database, extractor, settings=settings)
        assert fold_all(workshop, ordinals=range(first, end + 1)) == [*range(first, end + 1)]
        first = end + 1
    return _shown(extractor)


@pytest.mark.parametrize("stride", [1, 4])
def test_where_a_run_stops_changes_nothing_of_what_is_shown(
    database: Database, database_url: str, stride: int
) -> None:
    dice = random.Random(7)  # noqa: S311 - the same history each time
    told = [
        "; ".join(
            f"{dice.choice(('likes', 'owns', 'works at'))}: {dice.choice(_THINGS)}"
            + dice.choice(("", "", f" until {dice.choice(_ENDS)}"))
            for _ in range(dice.randint(1, 4))
        )
        for _ in range(20)
    ]
    import_history(database, daily(*told))
    undisturbed = _in_runs(database, (20,), stride)
    assert len({repr(lists) for lists in undisturbed.values()}) > 4
    for ends in ((1, 2, 3, 5, 10, 11, 14, 19, 20), range(1, 21)):
        forget_memory(database_url)
        assert _in_runs(database, tuple(ends), stride) == undisturbed


_FILLERS = "likes: tea; likes: boats; likes: chess; likes: golf"


@pytest.mark.parametrize(
    ("first", "closing", "asking", "shown"),
    [
        ("works at: jazz band", "works at: acme", "works at: jazz bandit", "jazz band"),
        ("owns: rex until 2024-02-01", "owns: rex until 2023-12-30", "owns: rexy", "rex"),
        (
            "works at: acme",
            "works at: globex",
            "likes: teatime; likes: boatsman; likes: chessmen; likes: golfer; likes: acme",
            "acme",
        ),
    ],
    ids=["near", "near, with an end ahead", "named"],
)
def test_what_was_closed_inside_a_stride_is_still_shown_to_all_of_it(
    database: Database, database_url: str, first: str, closing: str, asking: str, shown: str
) -> None:
    told = (first, _FILLERS, "plays: cello", closing, "plays: flute", asking)
    import_history(database, daily(*told))
    undisturbed = _in_runs(database, (6,), 3)
    forget_memory(database_url)
    assert _in_runs(database, (5, 6), 3) == undisturbed
    _, facts = undisturbed[6]
    assert shown in {fact["object"] for fact in facts}


def _find_insights(database: Database, *statements: str) -> None:
    items = [{"facts": ["f1", "f2"], "statement": s, "significance": 0.9} for s in statements]
    finder = InsightFinder(ScriptedAsker(json.dumps({"insights": items})), "m", SECRET, Policy())
    report = derive_insights(database, TENANT, finder, HashedNgramEmbedder(), Policy())
    assert [outcome["outcome"] for outcome in report.outcomes] == ["inserted"] * len(statements)


@pytest.mark.parametrize("ends", [(5,), (3, 4, 5)])
def test_insights_take_no_place_of_what_is_shown(database: Database, ends: Sequence[int]) -> None:
    import_history(database, daily("likes: tea", "owns: rex", *3 * ("plays: chess on sundays",)))
    extractor, three = ScriptedExtractor(), {"known_facts": 3, "known_entities": 3}
    workshop = scripted_workshop(database, extractor, settings=three)
    fold_all(workshop, ordinals=(1, 2))
    _find_insights(
        database, "Plays chess on sundays.", "Sundays are for chess.", "Chess it is, on sundays.",
        "On sundays chess is played.", "Who plays chess plays on sundays.",
    )  # fmt: skip
    first = 3
    for end in ends:
        fold_all(
            scripted_workshop(database, extractor, settings=three), ordinals=range(first, end + 1)
        )
        first = end + 1
    shown = {ordinal: {fact.object for fact in known.facts} for ordinal, known in extractor.seen}
    assert shown[3] == {"tea", "rex"}
    assert shown[5] == {"tea", "rex", "chess on sundays"}
    assert "graph observations" not in {
        e.name for _, known in extractor.seen for e in known.entities
    }
