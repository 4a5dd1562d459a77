"""The walk's resource with a scripted extractor, for real runs without a model or a parser.

Belongs here: what takes the place of `WalkResource` in runs of tests. Does not: the script.
"""

from typing import ClassVar

from memory_pipeline.adapters.tenant_walk import Workshop
from memory_pipeline.defs.resources import WalkResource
from memory_pipeline.domain.ids import TenantId
from memory_pipeline_tests.scripted import ScriptedExtractor, scripted_workshop


class ScriptedWalks(WalkResource):
    """Opens walks with the extractor of this class: Dagster makes instances of its own."""

    extractor: ClassVar[ScriptedExtractor] = ScriptedExtractor()

    def workshop(self, tenant_id: TenantId) -> Workshop:
        """Scripted parts in place of the configured ones."""
        settings = {} if self.context_stride is None else {"context_stride": self.context_stride}
        return scripted_workshop(
            self.database(), type(self).extractor, tenant_id, settings=settings
        )
