"""What a run of one tenant's episodes came to, in numbers and in words.

Belongs here: how many episodes are done and how many were given up, told truthfully. Nothing else.
"""

from dataclasses import dataclass

from memory_pipeline.domain.ids import TenantId


@dataclass(frozen=True, slots=True)
class Walked:
    """Episodes that a run took in; those given up are among them, folded empty (spec E5)."""

    folded: int = 0
    given_up: int = 0

    def __str__(self) -> str:
        if not self.given_up:
            return f"{self.folded} episodes processed"
        return f"{self.folded - self.given_up} episodes processed, {self.given_up} given up"

    def kept_of(self, total: int) -> str:
        """What a run that stopped leaves behind of `total` episodes."""
        given_up = f", {self.given_up} given up" if self.given_up else ""
        return f"{self.folded - self.given_up} of {total} episodes are done and kept{given_up}"

    def warning(self, tenant_id: TenantId) -> str:
        """What to know about the episodes given up, empty when there are none."""
        if not self.given_up:
            return ""
        return (
            f"warning: {self.given_up} of tenant {tenant_id}'s episodes gave no usable answer in "
            "any attempt and were given up: memory holds nothing of them, their messages are kept "
            f"(memory-pipeline episodes --tenant {tenant_id} --given-up)"
        )
