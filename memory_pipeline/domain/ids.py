"""Ids of the vocabulary and how deterministic ones are made.

Every id is made by the client from content, so that a replay makes the same ids.
"""

from typing import NewType
from uuid import UUID, uuid5

TenantId = NewType("TenantId", str)
ThreadId = NewType("ThreadId", str)
MessageId = NewType("MessageId", UUID)
EpisodeId = NewType("EpisodeId", UUID)
EntityId = NewType("EntityId", UUID)
FactId = NewType("FactId", UUID)
GenerationId = NewType("GenerationId", UUID)
RecipeId = NewType("RecipeId", str)

_NAMESPACE = UUID("6f1a2c1e-6d0f-5c58-9a55-1d9a3c0a6b1d")
_SEPARATOR = "\x1f"


def derive_id(kind: str, tenant: TenantId, *parts: str) -> UUID:
    """A uuid5 over kind, tenant and parts; equal input gives an equal id in every process."""
    return uuid5(_NAMESPACE, _SEPARATOR.join((kind, tenant, *parts)))
