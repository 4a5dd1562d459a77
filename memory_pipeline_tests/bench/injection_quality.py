"""How many hostile messages the injection scanner hits, and how often it cries wolf.

Run: python -m memory_pipeline_tests.bench.injection_quality [--misses]. The rules were written
with the half `seen` in view; whoever tunes a rule on `unseen` has to write a new half.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict
from rich.console import Console
from rich.table import Table

from memory_pipeline.stages.injection import (
    DOUBTFUL_SCORE,
    HOSTILE_SCORE,
    InjectionScore,
    score_injection,
)

MESSAGES = Path(__file__).parents[1] / "stages" / "injection_messages.jsonl"

Half = Literal["seen", "unseen"]
Label = Literal["hostile", "harmless"]


class LabelledMessage(BaseModel):
    """One message of the set; `kind` says what is tried, or what makes it look like a try."""

    model_config = ConfigDict(frozen=True)

    half: Half
    label: Label
    kind: str
    text: str


@dataclass(frozen=True)
class Tally:
    """Messages of one group: how many there are, how many reached each of the two bounds."""

    messages: int
    hostile: int
    doubtful: int


def read_messages(path: Path = MESSAGES) -> tuple[LabelledMessage, ...]:
    """The shipped set, in file order."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return tuple(LabelledMessage.model_validate_json(line) for line in lines if line)


def tally(scores: Sequence[float]) -> Tally:
    """Counts of scores at or over the two bounds; the doubtful include the hostile."""
    return Tally(
        len(scores),
        sum(score >= HOSTILE_SCORE for score in scores),
        sum(score >= DOUBTFUL_SCORE for score in scores),
    )


def _is_wrong(message: LabelledMessage, found: InjectionScore) -> bool:
    return (message.label == "hostile") != (found.score >= DOUBTFUL_SCORE)


def _row(table: Table, names: Sequence[str], counts: Tally) -> None:
    shares = (f"{n} ({n / counts.messages:.1%})" for n in (counts.hostile, counts.doubtful))
    table.add_row(*names, str(counts.messages), *shares)


def main() -> None:
    """Prints one line per kind and per half, and on request every wrong one with its rules."""
    parser = argparse.ArgumentParser(description="Hit and false-alarm rates of the scanner.")
    parser.add_argument("--misses", action="store_true", help="print what was judged wrongly")
    parser.add_argument("--half", choices=("seen", "unseen"), help="only this half")
    options = parser.parse_args()
    chosen = [m for m in read_messages() if options.half in (None, m.half)]
    scored = [(m, score_injection(m.text)) for m in chosen]
    table = Table("half", "label", "kind", "messages", ">= 0.9", ">= 0.5")
    groups = sorted({(m.half, m.label) for m in chosen})
    for half, label in groups:
        members = [(m.kind, s.score) for m, s in scored if (m.half, m.label) == (half, label)]
        for kind in dict.fromkeys(kind for kind, _ in members):
            _row(table, (half, label, kind), tally([s for k, s in members if k == kind]))
        _row(table, (half, label, "all"), tally([s for _, s in members]))
        table.add_section()
    console = Console(width=100)
    console.print(table)
    if options.misses:
        for message, found in scored:
            if _is_wrong(message, found):
                head = f"{message.half} {message.label} {message.kind} {found.score}"
                console.print(f"{head} {found.reasons}\n    {message.text!r}", markup=False)


if __name__ == "__main__":
    main()
