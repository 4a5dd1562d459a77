"""How often resolution takes two names for one, rightly and wrongly (spec R1-R4).

Run: python -m memory_pipeline_tests.bench.resolution_quality [--misses] [--half seen]. Rules were
mended with `seen` and, later, `fresh` in view, never with `unseen`; whoever tunes on that has to
write new pairs. `fresh` was written after the rules and first gave precision and recall of 0.935.
"""

import argparse
import csv
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict
from rich.console import Console
from rich.table import Table

from memory_pipeline.adapters.local_embedder import load_embedder
from memory_pipeline.domain.claim import USER
from memory_pipeline.domain.embedding import Embedder, find_profile
from memory_pipeline.domain.extraction import EntityType
from memory_pipeline.stages.fields import normalise_name
from memory_pipeline_tests.stages.name_memory import Named, NameMemory

PAIRS = Path(__file__).with_name("name_pairs.csv")

Half = Literal["seen", "unseen", "fresh"]


class NamePair(BaseModel):
    """Two names, their types, and whether they are one thing; `kind` says what is tried."""

    model_config = ConfigDict(frozen=True)

    half: Half
    label: Literal["same", "different"]
    kind: str
    type: EntityType
    other_type: EntityType
    one: str
    other: str

    def named(self) -> tuple[Named, Named]:
        """Both names as guards would hand them on."""
        return (normalise_name(self.one), self.type), (normalise_name(self.other), self.other_type)


def read_pairs(path: Path = PAIRS) -> tuple[NamePair, ...]:
    """The shipped pairs, in file order."""
    with path.open(encoding="utf-8", newline="") as file:
        return tuple(NamePair.model_validate(row) for row in csv.DictReader(file))


def settings_of(pair: NamePair) -> dict[str, list[list[Named]]]:
    """The ways in which one memory may meet both names, as episodes of mentions."""
    one, other = pair.named()
    ways = {"other later": [[one], [other]], "one later": [[other], [one]]}
    if one[0] != other[0]:  # an episode holds a name once
        ways["one episode"] = [[one, other]]
    return ways


def are_merged(episodes: Iterable[Sequence[Named]], embedder: Embedder) -> bool:
    """Whether a fresh memory that hears the episodes ends with one thing."""
    memory = NameMemory(find_profile(embedder.profile_id, embedder.dimensions), embedder.embed)
    for mentions in episodes:
        memory.hear(*mentions)
    return sum(entity.name != USER for entity in memory.entities) == 1


def _counts(outcomes: Sequence[tuple[NamePair, bool]]) -> tuple[int, int, int, int]:
    same = [merged for pair, merged in outcomes if pair.label == "same"]
    apart = [merged for pair, merged in outcomes if pair.label == "different"]
    return sum(same), len(same), sum(apart), len(apart)


def _row(table: Table, name: str, outcomes: Sequence[tuple[NamePair, bool]]) -> None:
    found, same, wrong, apart = _counts(outcomes)
    precision = f"{found / (found + wrong):.3f}" if found + wrong else "-"
    recall = f"{found / same:.3f}" if same else "-"
    table.add_row(name, f"{found} / {same}", f"{wrong} / {apart}", precision, recall)


def _measure(
    pairs: Sequence[NamePair], embedder: Embedder, on_wrong: Callable[[str], None]
) -> list[tuple[NamePair, bool]]:
    outcomes = []
    for pair in pairs:
        for way, episodes in settings_of(pair).items():
            merged = are_merged(episodes, embedder)
            outcomes.append((pair, merged))
            if merged != (pair.label == "same"):
                on_wrong(f"{pair.half} {pair.label} {pair.kind}: {pair.one} / {pair.other} ({way})")
    return outcomes


def main() -> None:
    """Prints one line per kind and half, and on request every pair that went wrong."""
    parser = argparse.ArgumentParser(description="Precision and recall of entity resolution.")
    parser.add_argument("--misses", action="store_true", help="print what went wrong")
    parser.add_argument("--half", choices=("seen", "unseen", "fresh"), help="only this half")
    parser.add_argument("--embedder", default="local", help="a local embedder's name")
    options = parser.parse_args()
    embedder = load_embedder(options.embedder)
    pairs = [pair for pair in read_pairs() if options.half in (None, pair.half)]
    wrong: list[str] = []
    outcomes = _measure(pairs, embedder, wrong.append)
    table = Table("half, kind", "merged of same", "merged of different", "precision", "recall")
    for half in dict.fromkeys(pair.half for pair in pairs):
        members = [item for item in outcomes if item[0].half == half]
        for kind in dict.fromkeys(pair.kind for pair, _ in members):
            _row(table, f"{half} {kind}", [item for item in members if item[0].kind == kind])
        _row(table, f"{half} all", members)
        table.add_section()
    console = Console(width=100)
    console.print(table)
    if options.misses:
        console.print("\n".join(wrong), markup=False)


if __name__ == "__main__":
    main()
