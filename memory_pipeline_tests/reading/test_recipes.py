"""Which recipes shaped a tenant's memory, and how they differ."""

import pytest

from memory_pipeline.adapters.postgres import Database
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.prompts.library import recipe_prompts
from memory_pipeline.reading.recipes import read_recipes
from memory_pipeline.reading.scope import NotFoundError
from memory_pipeline_tests.scripted import (
    TENANT,
    ScriptedExtractor,
    daily,
    fold_all,
    import_history,
    scripted_workshop,
)

OTHER = TenantId("acme/user_2")


def remember(
    database: Database,
    *texts: str,
    version: str = "scripted/1",
    stride: int = 1,
    tenant_id: TenantId = TENANT,
) -> None:
    import_history(database, daily(*texts, name=version.replace("/", "-")), tenant_id)
    extractor = ScriptedExtractor(version)
    fold_all(
        scripted_workshop(database, extractor, tenant_id, {"context_stride": stride}), tenant_id
    )


def test_a_recipe_tells_its_parts_and_how_many_episodes_it_built(database: Database) -> None:
    remember(database, "likes: tea", "likes: rowing")
    (row,) = read_recipes(database, TENANT)
    assert (row.tenant, row.is_live, row.folds, row.changes) == (TENANT, True, 2, ())
    assert (row.extractor, row.judge) == ("scripted/1", "rules/1")
    assert row.settings["context_stride"] == 1


def test_prompts_are_named_with_their_digests(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORY_FAST_MODEL", "scripted-fast")
    remember(database, "likes: tea")
    (row,) = read_recipes(database, TENANT)
    assert tuple((prompt.label, prompt.digest) for prompt in row.prompts) == recipe_prompts()


def test_a_changed_recipe_is_live_and_names_what_changed(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(database, "likes: tea")
    monkeypatch.setenv("MEMORY_FAST_MODEL", "scripted-fast")
    later = daily("likes: tea", "likes: rowing", "likes: chess")
    import_history(database, later)
    fold_all(
        scripted_workshop(database, ScriptedExtractor("scripted/2"), settings={"context_stride": 3})
    )
    old, new = read_recipes(database, TENANT)
    assert (old.is_live, new.is_live) == (False, True)
    assert {"extractor", "context_stride", "prompt extract_graph.v1"} <= set(new.changes)
    assert not {"judge", "guard", "known_facts"} & set(new.changes)
    assert old.folds == 1


def test_the_recipes_of_all_tenants_come_in_the_order_of_the_tenants(database: Database) -> None:
    remember(database, "likes: tea", tenant_id=OTHER)
    remember(database, "likes: tea")
    rows = read_recipes(database)
    assert [row.tenant for row in rows] == [TENANT, OTHER]
    assert len({row.recipe_id for row in rows}) == 1


def test_a_tenant_never_processed_has_no_recipe_and_an_unknown_one_is_an_error(
    database: Database,
) -> None:
    import_history(database, daily("likes: tea"))
    assert read_recipes(database, TENANT) == []
    with pytest.raises(NotFoundError, match="no tenant"):
        read_recipes(database, OTHER)
