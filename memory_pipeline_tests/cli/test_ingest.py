"""What `import` and `run` refuse before any work, and what they count.

Belongs here: the commands' functions on a real database, in this process. Does not: whole
processes (test_run_killed).
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_pipeline.adapters import environment
from memory_pipeline.adapters.conversation_store import ConversationStore
from memory_pipeline.adapters.queries import project_folder
from memory_pipeline.adapters.tenant_settings import UnknownTenantError
from memory_pipeline.cli import ingest, session
from memory_pipeline.cli.errors import CommandError, ExitCode
from memory_pipeline.defs import resources
from memory_pipeline.domain.ids import TenantId
from memory_pipeline_tests.defs.scripted_walks import ScriptedWalks
from memory_pipeline_tests.scripted import START, ScriptedExtractor

ANN = TenantId("ann")


@pytest.fixture
def store(
    database_url: str, empty_database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ConversationStore]:
    """The commands' session on databases of this test, with a scripted extractor."""
    shutil.copy(project_folder() / "dagster.yaml", tmp_path)
    monkeypatch.setenv(environment.DATABASE_URL, database_url)
    monkeypatch.setenv(environment.DAGSTER_URL, empty_database_url)
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    monkeypatch.setenv("DAGSTER_EVENT_BATCH_SIZE", "500")
    monkeypatch.setattr(resources.WalkResource, "workshop", ScriptedWalks.workshop)
    monkeypatch.setattr(resources.WalkResource, "extractor", ScriptedExtractor(), raising=False)
    yield ConversationStore(session.memory_database())
    resources.memory_database().close()
    session.close_session()


def export(folder: Path, *texts: str) -> Path:
    """A file of one conversation for each text."""
    lines = [
        {
            "id": f"chat-{n}",
            "messages": [
                {"role": "user", "content": text, "timestamp": START.timestamp() + n * 86_400}
            ],
        }
        for n, text in enumerate(texts, start=1)
    ]
    path = folder / "history.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in lines))
    return path


def test_an_import_and_a_run_count_what_they_did(store: ConversationStore, tmp_path: Path) -> None:
    path = export(tmp_path, "likes: tea", "likes: milk")
    report = ingest.import_files(session.memory_database(), ANN, [path])
    assert (report.threads, report.messages, report.episodes) == (2, 2, 2)
    again = ingest.import_files(session.memory_database(), ANN, [path])
    assert (again.threads, again.messages, again.episodes) == (0, 0, 0)
    assert session.dagster_instance().get_dynamic_partitions("episode") == ["000001", "000002"]
    assert ingest.run_tenant(store, ANN, last=1) == 1
    assert ingest.run_tenant(store, ANN) == 1
    assert ingest.run_tenant(store, ANN) == 0


def test_a_run_that_fails_says_what_is_kept_and_what_to_do(
    store: ConversationStore, tmp_path: Path
) -> None:
    path = export(tmp_path, "likes: tea", "boom")
    ingest.import_files(session.memory_database(), ANN, [path])
    with pytest.raises(
        CommandError, match=r"no answer for episode 2 \(1 of 2 episodes are done .* run again"
    ):
        ingest.run_tenant(store, ANN)


def test_an_unknown_stage_is_wrong_usage_and_names_the_stages(store: ConversationStore) -> None:
    with pytest.raises(CommandError, match=r"no stage 'fact'.*judged_claims, facts") as refusal:
        ingest.run_tenant(store, ANN, stage="fact")
    assert refusal.value.exit_code == ExitCode.WRONG_USAGE


@pytest.mark.parametrize("name", ["", "  ", "é" * 120, "a\udc80"])
def test_a_name_that_can_not_be_a_partition_is_wrong_usage(name: str) -> None:
    with pytest.raises(CommandError, match="no name for a tenant") as refusal:
        ingest.run(tenant=name)
    assert refusal.value.exit_code == ExitCode.WRONG_USAGE


def test_one_tenants_failure_does_not_keep_the_others_from_their_turn(
    store: ConversationStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for tenant_id, text in ((ANN, "boom"), (TenantId("bob"), "likes: tea")):
        ingest.import_files(session.memory_database(), tenant_id, [export(tmp_path, text)])
    with pytest.raises(CommandError, match="ann: no answer for episode 1"):
        ingest.run()
    assert "bob: 1 episodes processed" in capsys.readouterr().out
    assert store.statuses(TenantId("bob"), [1]) == {1: "done"}


def test_a_run_of_a_tenant_without_history_is_refused(store: ConversationStore) -> None:
    with pytest.raises(UnknownTenantError, match="import its history first"):
        ingest.run(tenant="nobody")
