"""A recipe: everything that shapes memory, with a digest that names it (spec G2).

Belongs here: what counts as shaping. Does not: storing recipes and planning rebuilds.
"""

import hashlib
import json

from pydantic import BaseModel, ConfigDict

from memory_pipeline.domain.ids import RecipeId
from memory_pipeline.domain.policy import Policy


class Recipe(BaseModel):
    """Versions of all parts that shape memory. Equal content gives an equal id."""

    model_config = ConfigDict(frozen=True)

    extractor: str
    judge: str
    guard: str
    resolver: str
    embedding_profile: str
    prompts: tuple[tuple[str, str], ...] = ()
    settings: tuple[tuple[str, float | int], ...] = ()

    def recipe_id(self) -> RecipeId:
        """First 16 hex digits of the sha256 over the canonical JSON of the content."""
        content = json.dumps(self.model_dump(mode="json"), sort_keys=True).encode()
        return RecipeId(hashlib.sha256(content).hexdigest()[:16])

    def stage_digest(self, stage: str) -> str:
        """Eight hex digits that change when something that shapes this stage changes."""
        parts = {
            "extracted_graphs": (self.extractor, self.guard, self.prompts, self.settings),
            "resolved_entities": (self.resolver, self.embedding_profile),
            "distinct_claims": (self.embedding_profile, self.settings),
            "judged_claims": (self.judge, self.prompts),
            "facts": (self.settings,),
        }[stage]
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:8]


def sorted_settings(policy: Policy) -> tuple[tuple[str, float | int], ...]:
    """Write-side settings as sorted pairs, the form a recipe holds."""
    return tuple(sorted(policy.write_side().items()))
