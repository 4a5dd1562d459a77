"""Puts the parts of a walk together from environment, tenant row and run settings.

Belongs here: which extractor, judge, summariser and embedder are used. Does not: the parts
themselves and the layers of settings (tenant_settings).
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from memory_pipeline.adapters import environment
from memory_pipeline.adapters.answer_store import AnswerStore
from memory_pipeline.adapters.conversation_store import ConversationStore
from memory_pipeline.adapters.generation_store import check_vector_width
from memory_pipeline.adapters.models.endpoint import LOCAL_EMBEDDERS
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.adapters.stored_models import StoredChatModel, StoredEmbedder
from memory_pipeline.adapters.summary_writer import SummaryWriter
from memory_pipeline.adapters.tenant_settings import UnknownTenantError, tenant_policy
from memory_pipeline.adapters.tenant_walk import Workshop
from memory_pipeline.adapters.verdict_store import PairVerdictStore
from memory_pipeline.domain.embedding import Embedder
from memory_pipeline.domain.extraction import Tier
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.domain.policy import Policy, make_policy
from memory_pipeline.domain.recipe import Recipe, sorted_settings
from memory_pipeline.prompts.library import recipe_prompts
from memory_pipeline.stages.guard import GUARD_VERSION
from memory_pipeline.stages.judge import Judge, RulesJudge
from memory_pipeline.stages.ports import Extractor
from memory_pipeline.stages.resolve import RESOLVER_VERSION

if TYPE_CHECKING:
    from memory_pipeline.adapters.models.budget import Budget
    from memory_pipeline.adapters.models.endpoint import Endpoint
    from memory_pipeline.adapters.openai_models import OpenAiChatModel
    from memory_pipeline.stages.insight import InsightFinder


class NoModelError(RuntimeError):
    """What was asked for needs a language model, and none is configured."""


@lru_cache(maxsize=1)
def _local_embedder(name: str) -> Embedder:
    from memory_pipeline.adapters.local_embedder import load_embedder

    return load_embedder(name)


@lru_cache(maxsize=1)
def _heuristics() -> Extractor:
    # Imported here, so that commands that extract nothing do not load the rules.
    from memory_pipeline.stages.heuristics import load_heuristic_extractor

    return load_heuristic_extractor()


def _heuristics_if_there() -> Extractor | None:
    """The heuristics, where the parser is installed: with a model they only save calls."""
    from memory_pipeline.stages.heuristic_rules.parser import ParserMissingError

    try:
        return _heuristics()
    except ParserMissingError:
        return None


@lru_cache(maxsize=1)
def run_budget() -> "Budget":
    """The budget that all calls of this process share."""
    from memory_pipeline.adapters.models.budget import configured_budget

    return configured_budget()


@lru_cache(maxsize=1)
def _chat_model() -> "OpenAiChatModel":
    # Imported here: the client takes seconds, which keyless runs need not spend.
    from memory_pipeline.adapters.openai_models import OpenAiChatModel

    return OpenAiChatModel(_endpoint(), budget=run_budget())


def _endpoint() -> "Endpoint":
    from memory_pipeline.adapters.models.endpoint import configured_endpoint

    endpoint = configured_endpoint()
    if endpoint is None:
        raise NoModelError(
            f"a model is named, but no endpoint: set {environment.API_KEY} or "
            f"{environment.BASE_URL}"
        )
    return endpoint


def tenant_asker(database: Database, tenant_id: TenantId) -> StoredChatModel:
    """The chat model behind the tenant's answer store: an unchanged request makes no call."""
    return StoredChatModel(_chat_model(), AnswerStore(database, tenant_id))


def tenant_secret(database: Database, tenant_id: TenantId) -> bytes:
    """What the fences around the tenant's transcripts are derived from."""
    row = ConversationStore(database).tenant(tenant_id)
    if row is None:
        raise UnknownTenantError(f"there is no tenant {tenant_id!r}")
    return bytes(row["secret"].bytes)


def open_embedder(database: Database, tenant_id: TenantId) -> Embedder:
    """The configured embedder; one behind an endpoint remembers in the tenant's store."""
    name = environment.embedding_model()
    if name in LOCAL_EMBEDDERS:
        return _local_embedder(name)
    from memory_pipeline.adapters.openai_embedder import OpenAiEmbedder

    embedder = OpenAiEmbedder(_endpoint(), name, budget=run_budget())
    return StoredEmbedder(embedder, AnswerStore(database, tenant_id))


def _models(
    asker: StoredChatModel, secret: bytes, verdicts: PairVerdictStore
) -> tuple[Extractor, Judge]:
    """Extractor and judge of the configured models."""
    from memory_pipeline.stages.escalate import EscalatingExtractor
    from memory_pipeline.stages.extract import ModelExtractor
    from memory_pipeline.stages.model_judge import ModelJudge

    fast, strong = environment.fast_model() or "", environment.strong_model()
    extractor = EscalatingExtractor(
        ModelExtractor(asker, fast, secret),
        ModelExtractor(asker, strong, secret, Tier.STRONG) if strong else None,
        _heuristics_if_there(),
    )
    return extractor, ModelJudge(asker, fast, secret, verdicts)


def open_summary_writer(database: Database, tenant_id: TenantId) -> SummaryWriter | None:
    """Writes the tenant's summaries; None without a model, which alone can write them."""
    from memory_pipeline.stages.summarise import Summariser

    model = environment.fast_model()
    if model is None:
        return None
    asker, secret = tenant_asker(database, tenant_id), tenant_secret(database, tenant_id)
    return SummaryWriter(
        database,
        tenant_id,
        Summariser(asker, model, secret),
        open_embedder(database, tenant_id),
        environment.model_concurrency(),
    )


def make_recipe(policy: Policy, embedding_profile: str, extractor: str, judge: str) -> Recipe:
    """Everything that shapes memory with these parts."""
    return Recipe(
        extractor=extractor,
        judge=judge,
        guard=GUARD_VERSION,
        resolver=RESOLVER_VERSION,
        embedding_profile=embedding_profile,
        prompts=recipe_prompts() if environment.fast_model() else (),
        settings=sorted_settings(policy),
    )


def configured_recipe() -> Recipe:
    """The recipe of a tenant without settings of its own; asks nobody and loads no parser."""
    from memory_pipeline.stages.heuristics import HeuristicExtractor

    policy = make_policy(environment.setting_overrides())
    extractor, judge = HeuristicExtractor.version, RulesJudge.version
    if environment.fast_model():
        models = ", ".join(filter(None, (environment.fast_model(), environment.strong_model())))
        extractor, judge = f"{extractor}; {models}", f"{judge}; {models}"
    return make_recipe(policy, environment.embedding_model(), extractor, judge)


def open_workshop(
    database: Database, tenant_id: TenantId, run_settings: Mapping[str, object]
) -> Workshop:
    """The parts for one tenant's walk; fails before any work when vectors would not fit.

    Without a configured model the heuristics extract alone and rules judge (spec X10, J8).
    """
    policy = tenant_policy(database, tenant_id, run_settings)
    embedder = open_embedder(database, tenant_id)
    check_vector_width(database, embedder)
    asker: StoredChatModel | None = None
    if environment.fast_model():
        asker = tenant_asker(database, tenant_id)
        verdicts = PairVerdictStore(database, tenant_id, asker.count_hits)
        extractor, judge = _models(asker, tenant_secret(database, tenant_id), verdicts)
    else:
        extractor, judge = _heuristics(), RulesJudge()
    return Workshop(
        database=database,
        extractor=extractor,
        judge=judge,
        embedder=embedder,
        recipe=make_recipe(policy, embedder.profile_id, extractor.version, judge.version),
        policy=policy,
        extraction_threads=environment.model_concurrency() if asker else 4,
        calls=asker,
    )


def open_insight_finder(
    database: Database, tenant_id: TenantId, policy: Policy
) -> "InsightFinder | None":
    """Finds insights for the tenant; None without a model."""
    from memory_pipeline.stages.insight import InsightFinder

    model = environment.strong_model() or environment.fast_model()
    if model is None:
        return None
    asker, secret = tenant_asker(database, tenant_id), tenant_secret(database, tenant_id)
    return InsightFinder(asker, model, secret, policy)
