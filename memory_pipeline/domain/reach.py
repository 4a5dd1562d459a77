"""How long each entity is linked to the user, over the believed edges of a memory.

Belongs here: the search over links. Does not: what follows from a lost link (domain/plan).
"""

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime

from memory_pipeline.domain.fact import FIRST_INSTANT, LAST_INSTANT, FactVersion, end_of
from memory_pipeline.domain.ids import EntityId


def linked_ever(user_id: EntityId, links: Iterable[FactVersion]) -> frozenset[EntityId]:
    """The entities that believed links lead to from the user, whenever these hold."""
    return frozenset(_reach(user_id, ((link, LAST_INSTANT) for link in links)))


def linked_until(user_id: EntityId, links: Iterable[FactVersion]) -> dict[EntityId, datetime]:
    """Until when each entity is linked to the user; an entity without any path is left out.

    The best of its paths counts, each as long as its shortest link (widest-path search). Links
    lead from subject to object, and from the user to the subject of a fact about the user.
    """
    return _reach(user_id, ((link, end_of(link.valid_until)) for link in links))


def _reach(
    user_id: EntityId, links: Iterable[tuple[FactVersion, datetime]]
) -> dict[EntityId, datetime]:
    outgoing: dict[EntityId, list[tuple[EntityId, datetime]]] = defaultdict(list)
    for link, until in links:
        if link.object_id is None:
            continue
        outgoing[link.subject_id].append((link.object_id, until))
        if link.object_id == user_id:
            outgoing[user_id].append((link.subject_id, until))
    reach = {user_id: LAST_INSTANT}
    queue = [user_id]
    while queue:
        source = queue.pop()
        for target, link_end in outgoing[source]:
            until = min(reach[source], link_end)
            if until > reach.get(target, FIRST_INSTANT):
                reach[target] = until
                queue.append(target)
    return reach
