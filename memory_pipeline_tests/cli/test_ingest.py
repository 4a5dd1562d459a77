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
from memory_pipeline.adapters.models.endpoint import ModelConfigurationError
from memory_pipeline.adapters.queries import project_folder
from memory_pipeline.adapters.tenant_settings import UnknownTenantError
from memory_pipeline.cli import ingest, main, session
from memory_pipeline.cli.errors import CommandError, ExitCode
from memory_pipeline.cli.walked import Walked
from memory_pipeline.defs import partitions, resources
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
    assert ingest.walk_tenant(store, ANN, last=1) == Walked(folded=1)
    assert ingest.run_tenant(store, ANN) == 1
    assert ingest.walk_tenant(store, ANN) == Walked()


def test_a_run_that_fails_says_what_is_kept_and_what_to_do(
    store: ConversationStore, tmp_path: Path
) -> None:
    path = export(tmp_path, "likes: tea", "boom")
    ingest.import_files(session.memory_database(), ANN, [path])
    with pytest.raises(
        CommandError,
        match=r"no answer for episode 2 \(attempt 1 of 3\) "
        r"\(1 of 2 episodes are done and kept; run again to go on\)$",
    ):
        ingest.run_tenant(store, ANN)


def test_a_run_whose_last_episode_is_given_up_ends_well_and_says_so(
    store: ConversationStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = export(tmp_path, "likes: tea", "boom")
    ingest.import_files(session.memory_database(), ANN, [path])
    for _ in range(2):
        with pytest.raises(CommandError):
            ingest.run()
    capsys.readouterr()
    ingest.run()
    told = capsys.readouterr()
    assert told.out == "ann: 0 episodes processed, 1 given up\n"
    assert "warning: 1 of tenant ann's episodes gave no usable answer" in told.err
    assert "memory-pipeline episodes --tenant ann --given-up" in told.err
    assert store.statuses(ANN, [1, 2]) == {1: "done", 2: "given_up"}
    ingest.run()
    assert capsys.readouterr().out == "nothing to do\n"


def test_a_run_that_fails_counts_what_was_given_up_apart(
    store: ConversationStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = export(tmp_path, "boom", "likes: tea", "boom again")
    ingest.import_files(session.memory_database(), ANN, [path])
    for _ in range(2):
        with pytest.raises(CommandError, match=r"\(0 of 3 episodes are done and kept;"):
            ingest.run_tenant(store, ANN)
    with pytest.raises(
        CommandError,
        match=r"for episode 3 \(attempt 1 of 3\) "
        r"\(1 of 3 episodes are done and kept, 1 given up; run again",
    ) as failure:
        ingest.run_tenant(store, ANN)
    assert failure.value.exit_code == ExitCode.FAILED
    assert "warning: 1 of tenant ann's episodes" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({environment.MODEL_CONCURRENCY: "2.7"}, r"_CONCURRENCY must be a whole .*2\.7"),
        ({environment.BUDGET_TOKENS: "0.5"}, "MEMORY_BUDGET_TOKENS must be a whole number"),
        ({environment.FAST_MODEL: "m"}, "names m, but no endpoint is set: set OPENAI_API_KEY .* or "
         "OPENAI_BASE_URL"),
        ({environment.EMBEDDING_MODEL: "m"}, "MEMORY_EMBEDDING_MODEL names m, but no endpoint"),
        *(
            ({environment.FAST_MODEL: "m", environment.BASE_URL: url}, r"BASE_URL .* http\(s\)")
            for url in ("localhost:11434/v1", "htp://host/v1", "http:///v1", "https://", "http://:80",
                        "http://[::1/v1", "http://host:99999/v1", "http://ho st/v1", "http://h:x/v1")
        ),
        (
            {environment.FAST_MODEL: "m", environment.BASE_URL: "http://me:secret@host/v1"},
            "carries a name, password",
        ),
    ],
)  # fmt: skip
def test_model_settings_that_can_not_work_are_wrong_usage_before_any_work(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], words: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(session, "memory_database", lambda: pytest.fail("work was begun"))
    with pytest.raises(CommandError, match=words) as refusal:
        ingest.run()
    assert refusal.value.exit_code == ExitCode.WRONG_USAGE
    assert "secret" not in refusal.value.message


def test_an_address_of_other_programs_is_no_concern_of_a_run_without_a_model(
    store: ConversationStore, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(environment.BASE_URL, "not an address")
    ingest.run()
    assert capsys.readouterr().out == "nothing to do\n"


def test_an_unknown_stage_is_wrong_usage_and_names_the_stages(store: ConversationStore) -> None:
    with pytest.raises(CommandError, match=r"no stage 'fact'.*judged_claims, facts") as refusal:
        ingest.walk_tenant(store, ANN, stage="fact")
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


def test_an_import_that_makes_too_many_partitions_warns_and_goes_on(
    store: ConversationStore,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(partitions, "MAX_CELLS", 2)
    path = export(tmp_path, "likes: tea", "likes: milk")
    ingest.import_files(session.memory_database(), ANN, [path])
    assert "partitions" not in capsys.readouterr().err
    other = TenantId("bob")
    assert ingest.import_files(session.memory_database(), other, [path]).episodes == 2
    assert "2 tenants, the longest of 2 episodes, make 4 partitions" in capsys.readouterr().err


def test_a_dagster_home_without_our_settings_is_refused_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    with pytest.raises(
        CommandError, match=r"holds no dagster\.yaml: copy .*dagster\.yaml"
    ) as raised:
        ingest.run()
    assert raised.value.exit_code == ExitCode.WRONG_USAGE
    with pytest.raises(CommandError, match="DAGSTER_HOME"):
        session.dagster_instance()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("CONTEXT_STRID", "20", "no such setting; did you mean MEMORY_SETTING_CONTEXT_STRIDE?"),
        ("ZZZZ", "20", "MEMORY_SETTING_ZZZZ: no such setting"),
        ("CONTEXT_STRIDE", "0", "MEMORY_SETTING_CONTEXT_STRIDE: "),
        ("CONTEXT_STRIDE", "many", "got 'many'"),
    ],
)
def test_a_wrong_setting_is_named_by_its_variable_and_is_wrong_usage(
    name: str,
    value: str,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(f"{environment.SETTING_PREFIX}{name}", value)
    monkeypatch.setattr("sys.argv", ["memory-pipeline", "run"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == ExitCode.WRONG_USAGE
    assert said in capsys.readouterr().err


def test_a_failure_that_another_run_can_not_mend_does_not_advise_one(
    store: ConversationStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest.import_files(session.memory_database(), ANN, [export(tmp_path, "likes: tea")])

    def refuse(*_arguments: object, **_named: object) -> None:
        raise ModelConfigurationError("the key is wrong")

    monkeypatch.setattr(ScriptedExtractor, "extract", refuse)
    with pytest.raises(CommandError, match=r"^the key is wrong \(0 of 1 episodes are .* kept\)$"):
        ingest.run_tenant(store, ANN)
