"""What can be asked of a recall beside its query.

Belongs here: the options, light to import. Does not: their defaults and ranges (reading/recall).
"""

from datetime import datetime
from typing import TypedDict


class Wanted(TypedDict, total=False):
    """Options of `recall`: how many, how sure, at which instants, whether it counts as read.

    `rrf_k` of the fusion and `anchor_similarity` of what a query nearly names shape the ranking.
    """

    limit: int
    min_confidence: float
    valid_at: datetime | None
    known_at: datetime | None
    is_counted: bool
    rrf_k: int
    anchor_similarity: float
