"""The command that measures an embedding model's thresholds: calibrate (spec R5).

Belongs here: arguments, tables, exit codes. Does not: what is measured and proposed
(stages/thresholds) and the shipped pairs (calibration).
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from memory_pipeline.adapters import environment
from memory_pipeline.cli import session
from memory_pipeline.cli.cells import make_table, page
from memory_pipeline.cli.errors import CommandError, ExitCode
from memory_pipeline.domain.embedding import PROFILES, Embedder, EmbeddingProfile, find_profile

if TYPE_CHECKING:
    from memory_pipeline.stages.thresholds import Calibration, LabelledPair

_SHIPPED = "memory_pipeline.calibration"
_LISTS = ("names.csv", "statements.csv")
_MEANING = {
    "entity_merge": "different names merged",
    "duplicate": "facts swallowed",
    "band_low": "unrelated pairs judged",
    "second_signal": "",
}


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command()(calibrate)


def calibrate(
    model: Annotated[
        str | None,
        typer.Option(help="`local`, a profile id, or a model of the configured endpoint."),
    ] = None,
    pairs: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Your own pairs, .csv or .jsonl: label, one, other."),
    ] = None,
    adopt: Annotated[
        bool, typer.Option("--adopt", help="Keep what is proposed, before the first run.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """Measure at which similarities an embedding model means something, on labelled pairs.

    Without options: the configured model on the shipped pairs. Names are labelled `same` or
    `different` (with a `type`), statements (`subject | verb | object`) `duplicate`, `related` or
    `unrelated`. Proposed is what merges no different names, swallows no fact and still has 95 %
    of the related pairs judged. Pairs that a rule decides whatever their similarity count
    as the rule has it.

    Thresholds are part of what memory is built with and never change under it: `--adopt` stores
    them for this database before the model's first use there, and refuses afterwards.

    Example: memory-pipeline calibrate --model text-embedding-3-small --adopt
    """
    chosen = _read(pairs)
    with _embedder(model or environment.embedding_model()) as embedder:
        found = _measured(chosen, embedder)
    if adopt:
        _adopt(found.proposed)
    if as_json:
        sys.stdout.write(_document(found, is_adopted=adopt) + "\n")
    else:
        _print(found, is_adopted=adopt)


def _read(path: Path | None) -> "tuple[LabelledPair, ...]":
    """The pairs of a file, or the shipped ones; exits with wrong usage when it can't be read."""
    # Here and below: what measuring needs is loaded by this command alone.
    from memory_pipeline.stages.thresholds import PairError, read_pairs

    if path is None:
        texts = (files(_SHIPPED).joinpath(name).read_text(encoding="utf-8") for name in _LISTS)
        return tuple(pair for text in texts for pair in read_pairs(text))
    if path.suffix not in (".csv", ".jsonl"):
        raise CommandError(f"{path} is neither .csv nor .jsonl", ExitCode.WRONG_USAGE)
    try:
        found = read_pairs(path.read_text(encoding="utf-8-sig"), is_json=path.suffix == ".jsonl")
    except OSError as error:
        raise CommandError(
            f"can't read {path}: {error.strerror or error}", ExitCode.WRONG_USAGE
        ) from error
    except UnicodeDecodeError as error:
        raise CommandError(f"{path} is not UTF-8: {error}", ExitCode.WRONG_USAGE) from error
    except PairError as error:
        raise CommandError(f"{path}, {error}", ExitCode.WRONG_USAGE) from error
    if not found:
        raise CommandError(f"{path} holds no pairs", ExitCode.WRONG_USAGE)
    return found


@contextmanager
def _embedder(name: str) -> Iterator[Embedder]:
    from memory_pipeline.adapters.local_embedder import load_embedder
    from memory_pipeline.adapters.models.endpoint import LOCAL_EMBEDDERS, configured_endpoint

    if name in LOCAL_EMBEDDERS:
        yield load_embedder(name)
        return
    endpoint = configured_endpoint()
    if endpoint is None:
        raise CommandError(
            f"{name} is no local model, and no endpoint is configured: set {environment.API_KEY} "
            f"or {environment.BASE_URL}"
        )
    from memory_pipeline.adapters.models.budget import configured_budget
    from memory_pipeline.adapters.openai_embedder import OpenAiEmbedder

    embedder = OpenAiEmbedder(endpoint, name, budget=configured_budget())
    try:
        yield embedder
    finally:
        embedder.close()


def _measured(pairs: "tuple[LabelledPair, ...]", embedder: Embedder) -> "Calibration":
    from memory_pipeline.domain.model import BudgetExhaustedError
    from memory_pipeline.stages.thresholds import calibrate as measure

    current = find_profile(embedder.profile_id, embedder.dimensions)
    waiting = Console(stderr=True).status(f"embedding {len(pairs)} pairs")
    try:
        with waiting:
            return measure(pairs, embedder.embed, current)
    except BudgetExhaustedError as error:
        raise CommandError(str(error), ExitCode.BUDGET_EXHAUSTED) from error


def _adopt(profile: EmbeddingProfile) -> None:
    from memory_pipeline.adapters.embedding_profiles import ProfileAdoptedError, adopt_profile

    try:
        adopt_profile(session.memory_database(), profile)
    except ProfileAdoptedError as error:
        raise CommandError(str(error)) from error


def _document(found: "Calibration", *, is_adopted: bool) -> str:
    import json

    return json.dumps(
        found.model_dump(mode="json")
        | {
            "is_shipped_profile": found.current.profile_id in PROFILES,
            "current_holds": found.holds(),
            "is_adopted": is_adopted,
        },
        ensure_ascii=False,
    )


def _print(found: "Calibration", *, is_adopted: bool) -> None:
    console = page()
    kind = "shipped" if found.current.profile_id in PROFILES else "general"
    console.print(f"{found.current.profile_id}, {kind} thresholds\n", highlight=False)
    shares = make_table("Label", "Pairs", "Lowest", "5 %", "Median", "95 %", "Highest")
    for d in found.distributions:
        numbers = (d.lowest, d.p5, d.median, d.p95, d.highest)
        shares.add_row(d.label, str(d.pairs), *(f"{number:.2f}" for number in numbers))
    console.print(shares)
    table = make_table(
        "Threshold", "Now", "Wrong", "Found", "Proposed", "Wrong", "Found", "Wrong ="
    )
    for t in found.thresholds:
        table.add_row(
            t.name,
            _number(t.current), f"{t.wrong}/{t.could_be_wrong}", f"{t.right}/{t.should_pass}",
            _number(t.proposed), f"{t.wrong_proposed}/{t.could_be_wrong}",
            f"{t.right_proposed}/{t.should_pass}", _MEANING[t.name],
        )  # fmt: skip
    console.print(table)
    for t in found.thresholds[:2]:
        for cosine, one, other in t.worst[:1]:
            console.print(f"nearest for {t.name}: {cosine:.2f}  {one}  /  {other}", markup=False)
    # Not through the console, which would break the profile's line.
    sys.stdout.write(_verdict(found, is_adopted=is_adopted) + "\n")


def _verdict(found: "Calibration", *, is_adopted: bool) -> str:
    lines = [
        "\nThe current thresholds hold on these pairs: nothing merged or swallowed wrongly, and at "
        "least 95 % of the related pairs are judged."
        if found.holds()
        else "\nThe current thresholds do not hold on these pairs."
    ]
    line = found.proposed.model_dump_json()
    if is_adopted:
        lines.append(f"Adopted for this database: {line}")
    else:
        lines.append(f"Proposed profile: {line}")
        lines.append("To keep it, before the model's first use in a database: --adopt")
    return "\n".join(lines)


def _number(threshold: float) -> str:
    return f"{threshold:.2f}" if threshold <= 1 else "never"
