"""Recipes of a tenant: everything that shaped its memory, since when and how much (spec G2).

Belongs here: reading stored recipes and what changed between them. Does not: making a recipe
(adapters/workshop) and rebuilding with another.
"""

from itertools import pairwise

from memory_pipeline.adapters.conversation_store import ConversationStore
from memory_pipeline.adapters.postgres import Database, Row
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.domain.recipe import Recipe
from memory_pipeline.reading.scope import Instant, Reading, read


class RecipePrompt(Reading):
    """A prompt file of a recipe: its label and the sha256 of its content in hex."""

    label: str
    digest: str


class RecipeRow(Reading):
    """One recipe of one tenant.

    `is_live`: new episodes are built with it. `folds` counts the episodes of the live memory that
    were; `changes` names the parts in which it differs from the tenant's recipe before it.
    """

    tenant: str
    recipe_id: str
    is_live: bool
    since: Instant
    folds: int
    changes: tuple[str, ...]
    extractor: str
    judge: str
    guard: str
    resolver: str
    embedding_profile: str
    prompts: tuple[RecipePrompt, ...]
    settings: dict[str, float | int]


def read_recipes(database: Database, tenant_id: TenantId | None = None) -> list[RecipeRow]:
    """Recipes of one tenant, or of all tenants in their order, each tenant's oldest first.

    Raises `NotFoundError` for an unknown tenant.
    """
    tenants = [tenant_id] if tenant_id is not None else ConversationStore(database).tenants()
    return [line for tenant in tenants for line in _of_tenant(database, tenant)]


def _of_tenant(database: Database, tenant_id: TenantId) -> list[RecipeRow]:
    (rows,) = read(database, tenant_id, ("read_recipes", {}))
    recipes = [Recipe.model_validate(row["content"]) for row in rows]
    changes = [(), *(_changes(old, new) for old, new in pairwise(recipes))]
    return [
        _line(tenant_id, row, recipe, changed)
        for row, recipe, changed in zip(rows, recipes, changes, strict=False)
    ]


def _line(tenant_id: TenantId, row: Row, recipe: Recipe, changes: tuple[str, ...]) -> RecipeRow:
    return RecipeRow(
        tenant=tenant_id,
        recipe_id=row["recipe_id"],
        is_live=row["is_live"],
        since=row["since"],
        folds=row["folds"],
        changes=changes,
        extractor=recipe.extractor,
        judge=recipe.judge,
        guard=recipe.guard,
        resolver=recipe.resolver,
        embedding_profile=recipe.embedding_profile,
        prompts=tuple(RecipePrompt(label=label, digest=value) for label, value in recipe.prompts),
        settings=dict(recipe.settings),
    )


def _changes(old: Recipe, new: Recipe) -> tuple[str, ...]:
    before, after = _parts(old), _parts(new)
    names = dict.fromkeys((*before, *after))
    return tuple(name for name in names if before.get(name) != after.get(name))


def _parts(recipe: Recipe) -> dict[str, object]:
    """Every part of a recipe by the name a person knows it by."""
    whole = {"extractor", "judge", "guard", "resolver", "embedding_profile"}
    return {
        **{name: value for name, value in recipe if name in whole},
        **{f"prompt {label}": digest for label, digest in recipe.prompts},
        **dict(recipe.settings),
    }
