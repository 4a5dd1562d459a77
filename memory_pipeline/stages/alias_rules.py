"""Whether two names can be one thing: alias rules, and what forbids a merge (spec R3, R4).

Belongs here: two names at a time. Does not: choosing among several (stages/resolve) and reading
one name (stages/name_folding).
"""

from functools import lru_cache
from typing import Final

from nicknames import NickNamer

from memory_pipeline.domain.changes import AliasReason
from memory_pipeline.domain.claim import Mention
from memory_pipeline.domain.embedding import EmbeddingProfile
from memory_pipeline.domain.extraction import EntityType
from memory_pipeline.domain.fact import Entity
from memory_pipeline.stages.name_folding import (
    contrasts,
    distinguishers,
    fold_name,
    initials_of,
    lookup_keys,
    scripts,
    squeezed,
    titles,
    without_marks,
)
from memory_pipeline.stages.name_words import (
    FUNCTION_WORDS,
    GENDERED_TITLES,
    GENERIC,
    GIVEN_NAMES,
    KIN,
    MAKERS,
    NO_NICKNAMES,
    NO_PLURALS,
    PRODUCT_NOUNS,
)

_NAMED_THINGS: Final = frozenset(
    {
        EntityType.ORG,
        EntityType.PRODUCT,
        EntityType.SKILL,
        EntityType.TOPIC,
        EntityType.EVENT,
        EntityType.ROLE,
        EntityType.CONCEPT,
    }
)
_COUNTABLE: Final = frozenset({EntityType.FOOD, EntityType.TOPIC, EntityType.CONCEPT})
_LEAST_SQUEEZED: Final = 4
_CODE_LETTERS: Final = 4
Named = Mention | Entity
"""Whatever has a name and a type."""


def family_of(entity_type: EntityType) -> str:
    """Entities of different families never are one, whatever their names (spec R2)."""
    return "NAMED" if entity_type in _NAMED_THINGS else entity_type.value


def fits(one: EntityType, other: EntityType) -> bool:
    """Whether two types can be one entity: THING fits any."""
    return EntityType.THING in (one, other) or family_of(one) == family_of(other)


def alias_rule(
    one: Named, other: Named, similarity: float, profile: EmbeddingProfile
) -> AliasReason | None:
    """Which rule makes two names one, cheapest first (R4); the vector's is the last (R1).

    Digits, model letters and model words that differ veto every rule (R3).
    """
    if not may_be_one(one, other):
        return None
    if _has_same_spelling(one, other):
        return AliasReason.FOLDED
    if scripts(one.name) != scripts(other.name):
        return None
    if one.type is other.type is EntityType.PERSON:
        return _person_rule(_folded(one), _folded(other), similarity >= profile.second_signal)
    if _is_acronym(one, other) or _is_acronym(other, one):
        return AliasReason.ACRONYM
    if one.type is not other.type:
        return None
    if _is_part(one, other):
        is_near = similarity >= profile.second_signal
        return AliasReason.TOKEN_SUBSET if _has_second_signal(one, other, is_near) else None
    if similarity >= profile.entity_merge and _may_merge_by_vector(one, other):
        return AliasReason.VECTOR
    return None


def may_be_one(one: Named, other: Named) -> bool:
    """Whether nothing forbids the merge: family, number, model, title."""
    if not fits(one.type, other.type):
        return False
    if distinguishers(one.name, one.type) != distinguishers(other.name, other.type):
        return False
    if one.type is other.type is EntityType.PERSON:
        sexes = {GENDERED_TITLES.get(t) for n in (one, other) for t in titles(n.name)} - {None}
        return len(sexes) < 2
    return True


def is_first_name(named: Named) -> bool:
    """Whether a person is named by one word only."""
    return named.type is EntityType.PERSON and len(_folded(named)) == 1


def are_two_persons(one: Named, other: Named) -> bool:
    """Whether two full names of persons exclude each other."""
    if not one.type is other.type is EntityType.PERSON:
        return False
    a, b = _folded(one), _folded(other)
    if min(len(a), len(b)) < 2 or _has_same_spelling(one, other):
        return False
    return _person_rule(a, b, is_near=True) is None


def _folded(named: Named) -> list[str]:
    return fold_name(named.name, named.type).split()


def _has_same_spelling(one: Named, other: Named) -> bool:
    a, b = (set(lookup_keys(n.name, n.type)) for n in (one, other))
    if a & b:
        return True
    first, second = squeezed(one.name, one.type), squeezed(other.name, other.type)
    if first == second and len(first) >= _LEAST_SQUEEZED:
        return True
    return one.type in _COUNTABLE and one.type is other.type and _differ_in_plural(one, other)


def _differ_in_plural(one: Named, other: Named) -> bool:
    a, b = _folded(one), _folded(other)
    return a[:-1] == b[:-1] and a != b and bool(_singulars(a[-1]) & _singulars(b[-1]))


def _singulars(word: str) -> set[str]:
    """What a word may be the plural of, and itself."""
    found = {word}
    if len(word) < 4 or word in NO_PLURALS or word.endswith(("ss", "us", "is", "ics")):
        return found
    if word.endswith("ies"):
        found.add(word[:-3] + "y")
    if word.endswith("es"):
        found.add(word[:-2])
    if word.endswith("s"):
        found.add(word[:-1])
    return found


def _is_acronym(short: Named, long: Named) -> bool:
    """Whether `short` is made of the initials of `long`; an everyday word only as the same kind."""
    if EntityType.PERSON in (short.type, long.type):
        return False
    letters, words = _folded(short), _folded(long)
    if len(letters) != 1 or len(words) < 2 or not 2 <= len(letters[0]) <= 6:
        return False
    is_risky = len(letters[0]) == 2 or letters[0] in FUNCTION_WORDS
    if is_risky and (short.type is not long.type or short.type is EntityType.THING):
        return False
    return letters[0] in initials_of(" ".join(words))


def _person_rule(one: list[str], other: list[str], is_near: bool) -> AliasReason | None:
    """Two names of a person: nickname or initial with the surname, or one part of the other.

    A part needs the vector as its second signal; that it is the only one, resolution checks.
    """
    if not KIN.isdisjoint({*one, *other}):
        return None
    short, long = sorted((one, other), key=len)
    if len(short) == 1:
        is_part = short[0] in (long[0], long[-1]) and len(long) > 1
        return AliasReason.TOKEN_SUBSET if is_part and is_near and len(short[0]) > 1 else None
    firsts, lasts = (one[0], other[0]), (one[-1], other[-1])
    if not _middles_agree(one[1:-1], other[1:-1]):
        return None
    if lasts[0] == lasts[1] and _is_nickname(*firsts):
        return AliasReason.NICKNAME
    if _agree(*firsts) and _agree(*lasts) and (firsts[0] == firsts[1] or lasts[0] == lasts[1]):
        return AliasReason.TOKEN_SUBSET
    return None


def _middles_agree(one: list[str], other: list[str]) -> bool:
    if not one or not other:
        return True
    return len(one) == len(other) and all(map(_agree, one, other))


def _agree(one: str, other: str) -> bool:
    """Equal, or one is the initial of the other."""
    short, long = sorted((one, other), key=len)
    return short == long or (len(short) == 1 and long.startswith(short))


@lru_cache(maxsize=1)
def _nick_namer() -> NickNamer:
    return NickNamer()


@lru_cache(maxsize=4_096)
def _is_nickname(one: str, other: str) -> bool:
    short = min(len(one), len(other))
    is_own = any(name in GIVEN_NAMES for name in (one, other) if len(name) == short)
    if one == other or is_own or {one, other} in NO_NICKNAMES:
        return False
    namer = _nick_namer()
    return other in namer.nicknames_of(one) or one in namer.nicknames_of(other)


def _is_part(one: Named, other: Named) -> bool:
    a, b = set(_folded(one)), set(_folded(other))
    return a < b or b < a


def _has_second_signal(one: Named, other: Named, is_near: bool) -> bool:
    """Whether what the longer name adds is a word that names of its kind may go without.

    That is a general word behind it, or, with vectors near enough, the maker before a product.
    """
    short, long = sorted((_folded(one), _folded(other)), key=len)
    if long[: len(short)] == short:
        return set(long[len(short) :]) <= GENERIC.get(one.type, frozenset())
    is_without_maker = long[1:] == short and long[0] in MAKERS and short[0] not in PRODUCT_NOUNS
    return is_near and is_without_maker and one.type is EntityType.PRODUCT


def _has_code(one: Named, other: Named) -> bool:
    """Whether one of two single words is as short as a code, of which a letter makes another."""
    return min(len(named.name) for named in (one, other)) <= _CODE_LETTERS


def _may_merge_by_vector(one: Named, other: Named) -> bool:
    """Same kind, same contrasts; a person's name that differs in a word is another person's."""
    if one.type is EntityType.PERSON:
        return sorted(_folded(one)) == sorted(_folded(other))
    if max(len(_folded(one)), len(_folded(other))) == 1 and _has_code(one, other):
        return False
    if contrasts(one.name, one.type) != contrasts(other.name, other.type):
        return False
    if without_marks(one.name) == without_marks(other.name):
        return False  # models that do not see marks take the two for one
    return not _differ_in_plural(one, other)
