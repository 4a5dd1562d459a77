"""The command `upkeep` when something goes wrong: what was done is told, one tenant stops no other.

Belongs here: failures and exit codes. Does not: what the passes do (test_upkeep).
"""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
import typer
from typer.testing import CliRunner, Result

from memory_pipeline.adapters import environment
from memory_pipeline.adapters import upkeep as passes
from memory_pipeline.adapters.insight_store import InsightReport
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.cli import session, upkeep
from memory_pipeline.cli.errors import CommandError, ExitCode
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.domain.model import BudgetExhaustedError, ModelUnavailableError
from memory_pipeline.stages.answers import BadAnswerError
from memory_pipeline_tests.scripted import remember

ANN, BOB = TenantId("ann"), TenantId("bob")


@pytest.fixture
def database(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    monkeypatch.setenv(environment.DATABASE_URL, database_url)
    monkeypatch.setenv(environment.EMBEDDING_MODEL, "hashed-ngrams/384/1")
    database = session.memory_database()
    for tenant_id in (ANN, BOB):
        remember(database, "works at: acme; likes: tea", tenant_id=tenant_id)
    yield database
    session.close_session()


def run(*arguments: str) -> Result:
    app = typer.Typer()
    upkeep.register(app)
    return CliRunner().invoke(app, list(arguments))


@pytest.mark.usefixtures("database")
def test_a_tenant_with_a_broken_setting_stops_no_other(database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "update memory.tenants set settings = '{\"decay_floor\": 7}' where tenant_id = 'ann'"
        )
        connection.execute(
            "update memory.fact_access set first_recorded_at = now() - interval '181 days'"
        )
    result = run("decay")
    assert "decay_floor" in result.output
    assert "archived 2" in result.output
    assert isinstance(result.exception, CommandError)


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize(
    ("trouble", "code"),
    [
        (BudgetExhaustedError("spent"), ExitCode.BUDGET_EXHAUSTED),
        (ModelUnavailableError("out of reach"), ExitCode.FAILED),
        (BadAnswerError("no JSON", "start", ""), ExitCode.FAILED),
    ],
)
def test_trouble_with_a_model_tells_what_was_done_and_exits_with_its_code(
    monkeypatch: pytest.MonkeyPatch, trouble: Exception, code: ExitCode
) -> None:
    def search(_database: Database, tenant_id: TenantId) -> InsightReport:
        if tenant_id == BOB:
            raise trouble
        return InsightReport(7)

    monkeypatch.setenv(environment.FAST_MODEL, "model")
    monkeypatch.setattr(passes, "insights", search)
    result = run("insights")
    assert "facts shown 7" in result.output
    assert isinstance(result.exception, CommandError)
    assert result.exception.exit_code == code
