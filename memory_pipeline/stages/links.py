"""Who belongs to the user's world: links between names, and which claims fit under the limit.

Belongs here: reachability from `user` over edges of names. Does not: where edges come from
(stages/guard), and the cascade of lost links (domain/plan).
"""

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from memory_pipeline.domain.claim import USER


@dataclass(frozen=True, slots=True)
class Edge:
    """A link from one name to another, as keys; a value leads nowhere and has no `target`."""

    source: str
    target: str | None

    def ways(self) -> Iterator[tuple[str, str]]:
        """The steps this edge allows: forward, and backward where it ends at the user.

        Not backward elsewhere: that user and a stranger both point at one town links nobody.
        """
        if self.target is not None:
            yield self.source, self.target
            if self.target == USER:
                yield USER, self.source


@dataclass(frozen=True, slots=True)
class Ranked:
    """A claim that asks for a place: by `confidence`, then `order`; `is_exempt` needs none."""

    order: int
    edge: Edge
    confidence: float
    is_exempt: bool


class _Walk:
    """The names reached from `user` while edges are still being added."""

    def __init__(self) -> None:
        self.reached = {USER}
        self._ways: defaultdict[str, list[str]] = defaultdict(list)

    def add(self, edge: Edge) -> list[str]:
        """Takes in one edge and gives the names that it newly reaches."""
        new: list[str] = []
        for source, target in edge.ways():
            self._ways[source].append(target)
            waiting = [target] if source in self.reached else []
            while waiting:
                name = waiting.pop()
                if name not in self.reached:
                    self.reached.add(name)
                    new.append(name)
                    waiting.extend(self._ways[name])
        return new


def linked_names(edges: Iterable[Edge]) -> frozenset[str]:
    """`user` and every name that a chain of edges links to it."""
    walk = _Walk()
    for edge in edges:
        walk.add(edge)
    return frozenset(walk.reached)


def choose_within(
    limit: int, claims: Iterable[Ranked], known: Iterable[Edge] = ()
) -> frozenset[int]:
    """The `order` of the claims that stay: at most `limit`, exempt ones not counted.

    The best come first, but none before a claim that links its subject to the user has been
    chosen, so that what stays is linked without what goes.
    """
    walk = _Walk()
    for edge in known:
        walk.add(edge)
    waiting: defaultdict[str, list[tuple[bool, float, int, Ranked]]] = defaultdict(list)
    queue: list[tuple[bool, float, int, Ranked]] = []
    for claim in claims:
        place = (not claim.is_exempt, -claim.confidence, claim.order, claim)
        is_linked = claim.edge.source in walk.reached or claim.edge.target == USER
        (queue if is_linked else waiting[claim.edge.source]).append(place)
    heapq.heapify(queue)
    chosen: set[int] = set()
    places = limit
    while queue:
        *_, claim = heapq.heappop(queue)
        if not claim.is_exempt:
            if places == 0:
                break  # Exempt claims come first, so none is left in the queue.
            places -= 1
        chosen.add(claim.order)
        for name in walk.add(claim.edge):
            for place in waiting.pop(name, ()):
                heapq.heappush(queue, place)
    return frozenset(chosen)
