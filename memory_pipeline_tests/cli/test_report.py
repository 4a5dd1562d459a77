"""The command that writes the page: where it goes, what is refused, nothing half written."""

import json
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from memory_pipeline.adapters.postgres import Database
from memory_pipeline.cli import report, session
from memory_pipeline.cli.errors import CommandError
from memory_pipeline_tests.reading.histories import ANN, HISTORY, remember


@pytest.fixture
def database(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    """The database that the command works with."""
    monkeypatch.setenv("MEMORY_DATABASE_URL", database_url)
    database = Database(database_url, max_connections=2)
    yield database
    database.close()
    session.close_session()


def run(*arguments: str) -> Result:
    """Run the command."""
    app = typer.Typer()
    report.register(app)
    return CliRunner().invoke(app, [*arguments])


def failure_of(*arguments: str) -> CommandError:
    """How the command fails."""
    result = run(*arguments)
    assert isinstance(result.exception, CommandError), result.output
    assert result.stdout == ""
    return result.exception


def test_the_page_is_written_and_its_size_is_told(database: Database, tmp_path: Path) -> None:
    remember(database, ANN, *HISTORY)
    page = tmp_path / "ann.html"
    result = run("--tenant", ANN, "-o", str(page))
    assert result.exit_code == 0, result.output
    assert result.stdout == f"{page}: {page.stat().st_size / 1000:,.0f} kB\n"
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [page]


def test_what_was_written_can_be_told_as_json(database: Database, tmp_path: Path) -> None:
    remember(database, ANN, HISTORY[0])
    page = tmp_path / "ann.html"
    told = json.loads(run("--tenant", ANN, "-o", str(page), "--json").stdout)
    assert told == {"tenant": ANN, "path": str(page), "bytes": page.stat().st_size}


def test_a_dash_writes_the_page_to_stdout(database: Database, tmp_path: Path) -> None:
    remember(database, ANN, *HISTORY)
    page = tmp_path / "ann.html"
    day = ("--valid-at", "2025-01-01")
    run("--tenant", ANN, "-o", str(page), *day)
    assert run("--tenant", ANN, "-o", "-", *day).stdout_bytes == page.read_bytes()


def test_the_day_that_counts_as_today_can_be_chosen(database: Database) -> None:
    remember(database, ANN, *HISTORY)
    page = run("--tenant", ANN, "-o", "-", "--valid-at", "2024-02-02").stdout
    assert 'Seen as of <time id="seen" datetime="2024-02-02T00:00:00+00:00">' in page
    assert "from 1 Jun 2024" in page


def test_an_older_page_is_replaced_and_keeps_its_rights(database: Database, tmp_path: Path) -> None:
    remember(database, ANN, *HISTORY)
    target, page = tmp_path / "real.html", tmp_path / "link.html"
    target.write_text("old")
    target.chmod(0o644)
    page.symlink_to(target)
    assert run("--tenant", ANN, "-o", str(page)).exit_code == 0
    assert page.is_symlink()
    assert target.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert stat.S_IMODE(target.stat().st_mode) == 0o644


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (".", "is a folder"),
        ("missing/ann.html", "there is no folder"),
        ("/dev/null", "is no ordinary file"),
    ],
)
def test_a_place_that_can_hold_no_page_is_wrong_usage(
    tmp_path: Path, output: str, message: str
) -> None:
    error = failure_of("--tenant", ANN, "-o", str(tmp_path / output))
    assert error.exit_code == 2
    assert message in error.message


def test_json_and_the_page_can_not_share_stdout() -> None:
    assert failure_of("--tenant", ANN, "-o", "-", "--json").exit_code == 2


def test_a_day_that_is_none_is_wrong_usage() -> None:
    assert run("--tenant", ANN, "-o", "-", "--valid-at", "yesterday").exit_code == 2


def test_an_unknown_tenant_fails_and_leaves_the_old_page(
    database: Database, tmp_path: Path
) -> None:
    page = tmp_path / "ann.html"
    page.write_text("old")
    error = failure_of("--tenant", "nobody", "-o", str(page))
    assert error.exit_code == 1
    assert error.message.startswith("there is no tenant 'nobody'")
    assert page.read_text() == "old"
    assert list(tmp_path.iterdir()) == [page]
