"""Names of one window: which mean the user, which are entities, how memory already spells them.

Belongs here: exact look-ups among the extracted and the known names. Does not: the merging of
different names (stages/resolve).
"""

from collections.abc import Iterable

from memory_pipeline.domain.claim import USER, Mention
from memory_pipeline.domain.extraction import (
    EntityType,
    ExtractedGraph,
    KnownLists,
    MemoryCategory,
)
from memory_pipeline.stages.fields import normalise_name, read_category, read_type

USER_SUBJECTS = frozenset({USER, "the user", "i", "me", "myself"})
USER_OBJECTS = USER_SUBJECTS - {"i"}
"""Words that mean the user; as an object `i` may be a grade or a numeral."""


class NameBook:
    """Which names mean the user, which are entities, and how memory already spells them.

    Built from one graph and the known lists; `learn` is its only change.
    """

    def __init__(self, graph: ExtractedGraph, known: KnownLists) -> None:
        self._user = frozenset(filter(None, map(normalise_name, known.user_names)))
        self._spelled: dict[str, str] = {}
        self._alias_of: dict[str, str] = {}
        self._known_types: dict[str, set[EntityType]] = {}
        self.mentions: dict[str, Mention] = {}
        for fact in known.facts:
            for name in (fact.subject, *([fact.object] if fact.object_is_entity else [])):
                self._spelled.setdefault(normalise_name(name), name)
        for entity in known.entities:
            key = normalise_name(entity.name)
            self._spelled[key] = entity.name
            for name in (entity.name, *entity.aliases):
                self._known_types.setdefault(normalise_name(name), set()).add(entity.type)
                self._alias_of.setdefault(normalise_name(name), key)
        for mention in graph.entities:
            name = self.canonical(mention.name)
            if name:
                category = read_category(mention.memory_category)
                read = Mention(name=name, type=read_type(mention.type), memory_category=category)
                self.mentions.setdefault(name, read)

    def canonical(self, name: str, user_words: frozenset[str] = USER_OBJECTS) -> str:
        """`user` for the user, a known name as memory spells it, else the tidy name."""
        tidy = normalise_name(name)
        if tidy in user_words or tidy in self._user:
            return USER
        return self._spelled.get(tidy, tidy)

    def learn(self, stated: Iterable[str]) -> None:
        """Takes names that the user states as their own.

        Not one that memory holds as something else: a namesake would become the user.
        """
        own = {normalise_name(name) for name in stated}
        self._user |= {name for name in own if name and name not in self._alias_of}

    def is_entity(self, name: str) -> bool:
        tidy = normalise_name(name)
        return (
            name in self.mentions or name == USER or tidy in self._spelled or tidy in self._alias_of
        )

    def key(self, name: str) -> str:
        """One word for one known entity, whichever of its names is used."""
        if name == USER:
            return USER
        tidy = normalise_name(name)
        return self._alias_of.get(tidy, tidy)

    def mention(self, name: str) -> Mention:
        if name == USER:
            return Mention(
                name=USER, type=EntityType.PERSON, memory_category=MemoryCategory.IDENTITY
            )
        if name in self.mentions:
            return self.mentions[name]
        # Homonyms of several types: THING fits any, resolution chooses.
        types = self._known_types.get(normalise_name(name), set())
        return Mention(name=name, type=next(iter(types)) if len(types) == 1 else EntityType.THING)
