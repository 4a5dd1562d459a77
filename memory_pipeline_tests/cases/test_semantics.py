"""The behaviour cases, each through the real stages and a real PostgreSQL.

Belongs here: which case files run under pytest. Does not: how (running) and what counts
(comparing).
"""

from pathlib import Path

import pytest

from memory_pipeline_tests.cases.case_file import read_case, read_lines
from memory_pipeline_tests.cases.comparing import differences
from memory_pipeline_tests.cases.running import run_case

OWN = ("write_path.jsonl", "combinations.jsonl")
SEMANTICS = Path(__file__).parents[3] / "shared" / "cases" / "semantics.jsonl"


def _cases(path: Path) -> list[object]:
    if not path.is_file():
        absent = pytest.mark.skip(reason=f"there is no {path.name} beside the checkout")
        return [pytest.param("", marks=absent, id="absent")]
    return [pytest.param(line, id=read_case(line).id) for line in read_lines(path)]


@pytest.mark.parametrize(
    "line",
    [
        *_cases(SEMANTICS),
        *(case for name in OWN for case in _cases(Path(__file__).with_name(name))),
    ],
)
def test_an_episode_writes_what_the_case_expects(line: str, database_url: str) -> None:
    case = read_case(line)
    assert differences(case, run_case(case, database_url, "test")) == [], case.says
