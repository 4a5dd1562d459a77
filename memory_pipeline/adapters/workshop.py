"""Puts the parts of a walk together from environment, tenant row and run settings.

Belongs here: which extractor, judge and embedder are used, and the layers of settings.
Does not: the parts themselves.
"""

from collections.abc import Mapping
from functools import lru_cache

from memory_pipeline.adapters import environment
from memory_pipeline.adapters.generation_store import check_vector_width
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.adapters.tenant_settings import tenant_policy
from memory_pipeline.adapters.tenant_walk import Workshop
from memory_pipeline.domain.embedding import Embedder
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.domain.policy import Policy, make_policy
from memory_pipeline.domain.recipe import Recipe, sorted_settings
from memory_pipeline.stages.guard import GUARD_VERSION
from memory_pipeline.stages.judge import Judge, RulesJudge
from memory_pipeline.stages.ports import Extractor
from memory_pipeline.stages.resolve import RESOLVER_VERSION


@lru_cache(maxsize=1)
def _embedder(name: str) -> Embedder:
    from memory_pipeline.adapters.local_embedder import load_embedder

    return load_embedder(name)


@lru_cache(maxsize=1)
def _extractor() -> Extractor:
    # Imported here, so that commands that extract nothing do not load the rules.
    from memory_pipeline.stages.heuristics import load_heuristic_extractor

    return load_heuristic_extractor()


def make_recipe(policy: Policy, embedder: Embedder, extractor: str, judge: str) -> Recipe:
    """Everything that shapes memory with these parts."""
    return Recipe(
        extractor=extractor,
        judge=judge,
        guard=GUARD_VERSION,
        resolver=RESOLVER_VERSION,
        embedding_profile=embedder.profile_id,
        settings=sorted_settings(policy),
    )


def configured_recipe() -> Recipe:
    """The recipe of a tenant without settings of its own; loads no model and no parser."""
    from memory_pipeline.stages.heuristics import HeuristicExtractor

    policy = make_policy(environment.setting_overrides())
    return Recipe(
        extractor=HeuristicExtractor.version,
        judge=RulesJudge.version,
        guard=GUARD_VERSION,
        resolver=RESOLVER_VERSION,
        embedding_profile=environment.embedding_model(),
        settings=sorted_settings(policy),
    )


def open_workshop(
    database: Database, tenant_id: TenantId, run_settings: Mapping[str, object]
) -> Workshop:
    """The parts for one tenant's walk; fails before any work when vectors would not fit."""
    embedder = _embedder(environment.embedding_model())
    check_vector_width(database, embedder)
    policy = tenant_policy(database, tenant_id, run_settings)
    extractor = _extractor()
    judge: Judge = RulesJudge()
    return Workshop(
        database=database,
        extractor=extractor,
        judge=judge,
        embedder=embedder,
        recipe=make_recipe(policy, embedder, extractor.version, judge.version),
        policy=policy,
    )
