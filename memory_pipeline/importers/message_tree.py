"""Which messages of a branching conversation the user saw last.

What belongs here: walking a tree of message ids that may be broken. What does not: any format's
field names or message content.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class MessageTree:
    """`parents` maps each message to its parent (None: a root), in the export's order.

    A parent that is no key is a broken link. `times` holds the instants that are known.
    """

    parents: Mapping[str, str | None]
    times: Mapping[str, datetime]

    def visible_path(self, current: str | None) -> tuple[str, ...]:
        """The branch that ends in `current` (if unknown: in the latest leaf), oldest first.

        Where a link is broken, the path goes on with the latest leaf of a part that is not
        connected to it; a cycle ends it. Every message occurs at most once.
        """
        if not self.parents:
            return ()
        tip = self._latest_leaf(list(self.parents))
        if current is not None and current in self.parents:
            tip = current
        tops = self._tops()
        parts: dict[str, list[str]] = defaultdict(list)
        for node, top in tops.items():
            parts[top].append(node)
        # The branches that were left are in the part of the tip; they must not come back.
        own_top = tops[tip]
        others = [(top, self._latest_leaf(nodes)) for top, nodes in parts.items() if top != own_top]
        ranks = {node: rank for rank, node in enumerate(self._by_time(list(self.parents)))}
        others.sort(key=lambda part: ranks[part[1]], reverse=True)
        path: list[str] = []
        for top, leaf in [(own_top, tip), *others]:
            path.extend(self._upward(leaf))
            if top in self.parents:
                break
        return tuple(reversed(path))

    def _tops(self) -> dict[str, str]:
        """For each message the end of its way up: a root, a lost parent, or one of a cycle."""
        tops: dict[str, str] = {}
        for start in self.parents:
            trail: dict[str, None] = {}
            node = start
            while node in self.parents and node not in tops and node not in trail:
                trail[node] = None
                parent = self.parents[node]
                if parent is None:
                    break
                node = parent
            tops.update(dict.fromkeys(trail, tops.get(node, node)))
        return tops

    def _upward(self, tip: str) -> list[str]:
        """From `tip` to its root, or as far as the links hold."""
        up: dict[str, None] = {}
        node: str | None = tip
        while node is not None and node in self.parents and node not in up:
            up[node] = None
            node = self.parents[node]
        return list(up)

    def _latest_leaf(self, nodes: Sequence[str]) -> str:
        """The leaf with the latest time; among equal or unknown times the last in the export."""
        inner = set(map(self.parents.get, nodes))
        return self._by_time([n for n in nodes if n not in inner] or nodes)[-1]

    def _by_time(self, nodes: Sequence[str]) -> list[str]:
        return sorted(nodes, key=lambda node: self.times.get(node, _LONG_AGO))
