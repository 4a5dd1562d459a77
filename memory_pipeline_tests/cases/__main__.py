"""The command `python -m memory_pipeline_tests.cases FILE.jsonl`.

Belongs here: arguments, the printed lines, the exit code. Does not: running a case (running).
"""

import argparse
import signal
import sys
import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path

import psycopg

from memory_pipeline_tests.cases.case_file import CaseError, read_case, read_lines
from memory_pipeline_tests.cases.comparing import differences
from memory_pipeline_tests.cases.running import run_case
from memory_pipeline_tests.cases.server import throw_away_database

_CRASHES = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
    psycopg.Error,
)
"""What a bug in the code under test may raise: that case fails, the others run."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run every case of a file; 0 when all pass, 1 when one fails, 2 for wrong usage."""
    parser = argparse.ArgumentParser(
        prog="python -m memory_pipeline_tests.cases",
        description="Run behaviour cases through the real stages and PostgreSQL.",
        epilog="example: python -m memory_pipeline_tests.cases semantics.jsonl --only S08",
    )
    parser.add_argument("file", type=Path, help="cases, one JSON object a line")
    parser.add_argument("--only", action="append", metavar="ID", help="run only this case")
    parsed = parser.parse_args(arguments)
    if not parsed.file.is_file():
        parser.error(f"there is no file {parsed.file}")
    with throw_away_database() as url:
        return _report(read_lines(parsed.file), parsed.only, url)


def _report(lines: Iterable[str], only: Sequence[str] | None, url: str) -> int:
    passed = failed = 0
    run = uuid.uuid4().hex[:12]
    for place, line in enumerate(lines, start=1):
        problem = _problem(line, only, url, f"{run}/{place}")
        if problem is None:
            continue
        if problem:
            failed += 1
            print(problem, flush=True)
        else:
            passed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def _problem(line: str, only: Sequence[str] | None, url: str, run: str) -> str | None:
    """What is wrong with one case: nothing (""), or None when it was not asked for."""
    try:
        case = read_case(line)
    except CaseError as error:
        return f"{error}"
    if only and case.id not in only:
        return None
    try:
        found = differences(case, run_case(case, url, run))
    except _CRASHES as error:
        found = [f"{type(error).__name__}: {error}".replace("\n", " ")]
    return f"{case.id} {case.title}: {'; '.join(found)}" if found else ""


if __name__ == "__main__":
    # Asked to end, the command takes its server along.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main())
