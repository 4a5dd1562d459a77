"""The house rules, applied to every source of the package, and shown to be able to fail.

Belongs here: applying the checkers of architecture_rules. Does not: behaviour of the package.
"""

import ast
import re
import subprocess
from pathlib import Path

import pytest

from memory_pipeline.adapters.queries import all_queries
from memory_pipeline_tests import architecture_rules as rules

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "memory_pipeline"
TESTS = ROOT / "memory_pipeline_tests"
SOURCES = {
    path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8")
    for path in sorted(PACKAGE.rglob("*.py"))
}
KNOWN_NAMES = set(rules.environment_names(SOURCES[rules.ENVIRONMENT]))


@pytest.mark.parametrize("module", SOURCES)
def test_a_module_keeps_the_rules_of_the_house(module: str) -> None:
    source = SOURCES[module]
    found = [
        *rules.import_violations(module, source),
        *rules.prompt_violations(module, source),
        *rules.charter_violations(module, source),
        *rules.size_violations(module, source),
        *rules.broad_except_violations(module, source),
        *rules.environment_violations(module, source, KNOWN_NAMES),
    ]
    if module not in rules.MAY_HOLD_SQL:
        found += rules.sql_violations(module, source)
    assert not found, "\n".join(found)


def test_the_modules_of_the_tests_have_charters_too() -> None:
    found = [
        line
        for path in sorted(TESTS.rglob("*.py"))
        for line in rules.charter_violations(
            path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
        )
    ]
    assert not found, "\n".join(found)


def test_every_named_query_is_used_and_every_used_one_exists() -> None:
    found = rules.query_violations(set(all_queries()), SOURCES)
    assert not found, "\n".join(found)


def test_every_statement_says_what_it_is_for_and_names_its_columns() -> None:
    found = [
        line
        for path in sorted((ROOT / "sql" / "queries").glob("*.sql"))
        for line in rules.statement_violations(path.name, path.read_text(encoding="utf-8"))
    ]
    assert not found, "\n".join(found)


def test_every_prompt_is_versioned_and_its_newest_version_is_used() -> None:
    files = {path.name for path in (PACKAGE / "prompts").glob("*.md")}
    found = rules.prompt_file_violations(files, SOURCES)
    assert not found, "\n".join(found)


def test_every_exception_from_a_rule_is_still_needed() -> None:
    holds_sql = {name for name in SOURCES if rules.sql_violations(name, SOURCES[name])}
    assert set(rules.MAY_HOLD_SQL) <= holds_sql
    is_long = {
        name for name, text in SOURCES.items() if len(text.splitlines()) > rules.MAX_MODULE_LINES
    }
    assert set(rules.MAY_BE_LONG) <= is_long
    takes_more = {
        f"{module} {node.name}"
        for module, text in SOURCES.items()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef) and rules.parameter_count(node) > rules.MAX_PARAMETERS
    }
    assert set(rules.MAY_TAKE_MORE) <= takes_more
    for module, root in rules.IMPORT_EXCEPTIONS:
        assert root in rules.imported_roots(SOURCES[module]), module


def test_the_repository_holds_nothing_unexpected_at_its_top() -> None:
    # Files of a developer's own do not count, so only git can tell.
    listing = subprocess.run(
        ["git", "-c", "safe.directory=*", "-C", str(ROOT), "ls-files", "-z"],
        capture_output=True,
        text=True,
        check=False,
    )
    if listing.returncode != 0:
        pytest.skip("not a git checkout")
    top = {name.partition("/")[0] for name in listing.stdout.split("\0") if name}
    assert top - rules.TOP_LEVEL == set()


def test_the_readme_tells_only_of_make_targets_that_exist_and_of_every_variable() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    if not readme:
        pytest.skip("the README is not written yet")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    assert set(re.findall(r"(?:^|`)make ([a-z-]+)", readme, re.MULTILINE)) <= targets
    assert {name for name in KNOWN_NAMES if name not in readme} == set()


def test_the_lock_names_no_place_to_fetch_from() -> None:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert "://" not in lock
    assert not re.search(r"^\s*--(?!hash=)", lock, re.MULTILINE)


# --- the checkers can fail ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("domain/fact.py", "from memory_pipeline.stages.judge import judge"),
        ("domain/fact.py", "from memory_pipeline import stages"),
        ("domain/fact.py", "import numpy"),
        ("domain/fact.py", "def load():\n    import psycopg"),
        ("domain/fact.py", "from . import ids"),
        ("domain/fact.py", "from .ids import FactId"),
        ("stages/judge.py", "import memory_pipeline.adapters.postgres"),
        ("stages/judge.py", "from psycopg.types import json"),
        ("stages/judge.py", "import importlib\nimportlib.import_module('openai')"),
        ("importers/claude.py", "from memory_pipeline.adapters import postgres"),
        ("importers/claude.py", "import polars"),
        ("reading/recall.py", "from memory_pipeline.importers import claude"),
        ("reading/recall.py", "import dagster as dg"),
        ("adapters/postgres.py", "from sqlalchemy import select"),
        ("adapters/postgres.py", "from memory_pipeline.reading import recall"),
        ("defs/jobs.py", "from memory_pipeline.cli import main"),
        ("cli/ingest.py", "from memory_pipeline.defs import runs"),
        ("cli/ingest.py", "from memory_pipeline import definitions"),
    ],
)
def test_an_import_against_the_layers_is_found(module: str, source: str) -> None:
    assert rules.import_violations(module, source)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("domain/fact.py", "import re\nfrom pydantic import BaseModel"),
        ("domain/fact.py", "from memory_pipeline.domain import ids"),
        ("stages/judge.py", "import rapidfuzz\nfrom memory_pipeline.domain.fact import Fact"),
        ("adapters/database_urls.py", "from sqlalchemy.engine import URL"),
        ("cli/ingest.py", "def run():\n    from memory_pipeline.defs import runs"),
        ("cli/ingest.py", "if TYPE_CHECKING:\n    from memory_pipeline.defs import runs"),
        ("definitions.py", "from memory_pipeline.defs import jobs"),
    ],
)
def test_an_import_with_the_layers_is_let_through(module: str, source: str) -> None:
    assert rules.import_violations(module, source) == []


@pytest.mark.parametrize(
    "text",
    [
        "select fact_id from memory.facts",
        "SELECT 1",
        "  insert into memory.facts (fact_id) values (1)",
        "update memory.facts set status = 'ended'",
        "delete from memory.facts",
        "with live as (select 1) select 2",
        "create temporary table staged (a int)",
        "copy staged (a) from stdin",
    ],
)
def test_a_statement_in_python_is_found(text: str) -> None:
    assert rules.sql_violations("adapters/x.py", f"TEXT = {text!r}")
    assert rules.sql_violations("adapters/x.py", f"def f(a):\n    return f'''{text} {{a}}'''")


@pytest.mark.parametrize(
    "text",
    ["select the tenant to show", "update the schema first", "with a key", "create it, or name it"],
)
def test_a_sentence_is_not_taken_for_a_statement(text: str) -> None:
    assert rules.sql_violations("cli/x.py", f"TEXT = {text!r}") == []


def test_a_statement_in_a_docstring_is_documentation() -> None:
    assert rules.sql_violations("cli/x.py", '"""select a from b"""') == []


@pytest.mark.parametrize(
    "text", ["You are an assistant that extracts facts.", "Answer only with valid JSON: {}"]
)
def test_a_prompt_in_python_is_found(text: str) -> None:
    assert rules.prompt_violations("stages/x.py", f"TEXT = {text!r}")


@pytest.mark.parametrize("source", ["x = 1", '"""' + "line\n" * 6 + '"""'])
def test_a_missing_or_long_charter_is_found(source: str) -> None:
    assert rules.charter_violations("stages/x.py", source)


@pytest.mark.parametrize(
    "source",
    [
        "x = 1\n" * 401,
        "def f():\n" + "    x = 1\n" * 40,
        "class A:\n    def f(self, a, b, c, *, d, e, g): ...",
    ],
)
def test_what_is_too_large_is_found(source: str) -> None:
    assert rules.size_violations("stages/x.py", source)


def test_five_parameters_beside_self_are_let_through() -> None:
    source = "class A:\n    def f(self, a, b, c, *, d, e): ..."
    assert rules.size_violations("stages/x.py", source) == []


@pytest.mark.parametrize(
    "source",
    [
        "try: ...\nexcept Exception: ...",
        "try: ...\nexcept (ValueError, Exception) as error: ...",
        "try: ...\nexcept: ...",
        "with contextlib.suppress(Exception): ...",
    ],
)
def test_a_handler_of_everything_is_found(source: str) -> None:
    assert rules.broad_except_violations("stages/x.py", source)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("cli/x.py", "os.environ['MEMORY_HOME']"),
        ("cli/x.py", "raise Error('set MEMORY_HOUSE first')"),
        (rules.ENVIRONMENT, "A = 'MEMORY_HOME'\nB = 'MEMORY_HOME'"),
    ],
)
def test_a_variable_spelled_twice_or_unknown_is_found(module: str, source: str) -> None:
    assert rules.environment_violations(module, source, {"MEMORY_HOME"})


def test_a_message_may_name_a_variable_that_is_read() -> None:
    source = "raise Error('set MEMORY_HOME first')"
    assert rules.environment_violations("cli/x.py", source, {"MEMORY_HOME"}) == []


def test_an_unused_and_a_missing_query_are_found() -> None:
    sources = {"adapters/x.py": "execute(connection, 'read_fact')"}
    assert len(rules.query_violations({"read_facts"}, sources)) == 2
    assert rules.query_violations({"read_fact"}, sources) == []


@pytest.mark.parametrize(
    "text", ["-- name: a\nselect 1;", "-- name: a\n-- What it is for.\nselect * from b;"]
)
def test_a_statement_without_a_sentence_or_columns_is_found(text: str) -> None:
    assert rules.statement_violations("x.sql", text)


@pytest.mark.parametrize("files", [{"judge.md"}, {"judge.v1.md", "judge.v2.md"}])
def test_a_prompt_without_a_version_or_a_user_is_found(files: set[str]) -> None:
    assert rules.prompt_file_violations(files, {"stages/judge.py": "load('judge.v1')"})


def test_an_old_version_of_a_prompt_may_stay() -> None:
    files = {"judge.v1.md", "judge.v2.md"}
    assert rules.prompt_file_violations(files, {"stages/judge.py": "load('judge.v2')"}) == []
