"""Whether two names can be one thing (spec R3, R4).

Belongs here: pairs of names, without memory. Does not: choosing among several (test_grouping).
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_pipeline.domain.changes import AliasReason
from memory_pipeline.domain.claim import Mention
from memory_pipeline.domain.embedding import EmbeddingProfile
from memory_pipeline.domain.extraction import EntityType
from memory_pipeline.stages.alias_rules import alias_rule
from memory_pipeline.stages.fields import normalise_name
from memory_pipeline.stages.name_folding import fold_name, lookup_keys

PROFILE = EmbeddingProfile(
    profile_id="test",
    dimensions=2,
    entity_merge=0.88,
    duplicate=0.95,
    band_low=0.80,
    second_signal=0.6,
)
ORG, PERSON, PRODUCT, SKILL = (
    EntityType.ORG,
    EntityType.PERSON,
    EntityType.PRODUCT,
    EntityType.SKILL,
)
FOOD, PLACE, THING, TOPIC = EntityType.FOOD, EntityType.PLACE, EntityType.THING, EntityType.TOPIC
FOLDED, ACRONYM, NICKNAME = AliasReason.FOLDED, AliasReason.ACRONYM, AliasReason.NICKNAME
TOKEN_SUBSET, VECTOR = AliasReason.TOKEN_SUBSET, AliasReason.VECTOR


def _rule(
    one: str,
    other: str,
    kind: EntityType,
    cosine: float = 0.7,
    other_kind: EntityType | None = None,
) -> AliasReason | None:
    a, b = Mention(name=one, type=kind), Mention(name=other, type=other_kind or kind)
    forwards, backwards = (alias_rule(*pair, cosine, PROFILE) for pair in ((a, b), (b, a)))
    assert forwards is backwards
    return forwards


@pytest.mark.parametrize(
    ("one", "other", "kind", "reason"),
    [
        ("café müller", "cafe muller", PLACE, FOLDED),
        ("jürgen müller", "juergen mueller", PERSON, FOLDED),
        ("straße", "strasse", PLACE, FOLDED),
        ("\uff43anon", "canon", ORG, FOLDED),
        ("ﬁrefox", "firefox", PRODUCT, FOLDED),
        ("søren kierkegaard", "soren kierkegaard", PERSON, FOLDED),
        ("the halden group", "halden group", ORG, FOLDED),
        ("halden ltd", "halden", ORG, FOLDED),
        ("halden b.v.", "halden", ORG, FOLDED),
        ("halden s.a.", "halden", ORG, FOLDED),
        ("halden gmbh & co. kg", "halden", ORG, FOLDED),
        ("dr. vorkova", "vorkova", PERSON, FOLDED),
        ("prof. dr. vorkova", "mrs. vorkova", PERSON, FOLDED),
        ("conor o'brien", "conor obrien", PERSON, FOLDED),
        ("johnson & johnson", "johnson and johnson", ORG, FOLDED),
        ("node.js", "nodejs", SKILL, FOLDED),
        ("j. r. r. tolkien", "j.r.r. tolkien", PERSON, FOLDED),
        ("iphone14", "iphone 14", PRODUCT, FOLDED),
        ("kestrel v2", "kestrel version 2", PRODUCT, FOLDED),
        ("rocky ii", "rocky 2", PRODUCT, FOLDED),
        ("peanut", "peanuts", FOOD, FOLDED),
        ("university of leiden", "uol", ORG, ACRONYM),
        ("bank of new england", "bne", ORG, ACRONYM),
        ("world health organization", "who", ORG, ACRONYM),
        ("bob lind", "robert lind", PERSON, NICKNAME),
        ("dr. tom lind", "thomas lind", PERSON, NICKNAME),
        ("marta lind", "marta", PERSON, TOKEN_SUBSET),
        ("anna s.", "anna schmidt", PERSON, TOKEN_SUBSET),
        ("john f. kennedy", "john kennedy", PERSON, TOKEN_SUBSET),
        ("new york", "new york city", PLACE, TOKEN_SUBSET),
        ("honda civic", "civic", PRODUCT, TOKEN_SUBSET),
        ("halden", "halden group", ORG, TOKEN_SUBSET),
    ],
)
def test_r4_a_rule_finds_another_spelling_of_the_same_name(
    one: str, other: str, kind: EntityType, reason: AliasReason
) -> None:
    assert _rule(one, other, kind) is reason


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        ("bob lind", "robert berg", PERSON),
        ("emma lind", "emily lind", PERSON),
        ("ian lind", "john lind", PERSON),
        ("a/b testing", "b testing", SKILL),
        ("bill lind", "robert lind", PERSON),
        ("mr. lind", "mrs. lind", PERSON),
        ("anna's sister", "anna", PERSON),
        ("brother", "brother in law", PERSON),
        ("bs", "bob smith", PERSON),
        ("dr pepper", "pepper", FOOD),
        ("denver co", "denver", PLACE),
        ("the who", "who", ORG),
        ("c++", "c#", SKILL),
        ("c", "c++", SKILL),
        ("disney+", "disney", ORG),
        ("google", "google maps", PRODUCT),
        ("york", "new york", PLACE),
        ("milk", "oat milk", FOOD),
        ("apple watch", "watch", PRODUCT),
        ("windows", "window", PRODUCT),
        ("halden", "brightwell", ORG),
    ],
)
def test_r4_names_that_look_related_stay_two_things(one: str, other: str, kind: EntityType) -> None:
    assert _rule(one, other, kind, cosine=0.85) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("\u0430pple", "apple"),
        ("\u03b1nna", "anna"),
        ("パン", "ハン"),
        ("เสือ", "เสื่อ"),
        ("ばら", "はら"),
    ],
)
def test_r4_letters_of_another_script_and_marks_that_make_letters_are_not_folded_away(
    one: str, other: str
) -> None:
    assert _rule(one, other, ORG, cosine=1.0) is None


@pytest.mark.parametrize(
    ("short", "kind", "long", "other"),
    [
        ("it", THING, "independent television", ORG),
        ("us", THING, "urban sports", ORG),
        ("am", ORG, "annual meeting", EntityType.EVENT),
        ("sf", ORG, "san francisco", PLACE),
    ],
)
def test_r4_an_everyday_word_or_another_family_is_no_acronym(
    short: str, kind: EntityType, long: str, other: EntityType
) -> None:
    assert _rule(short, long, kind, other_kind=other) is None


def test_r4_a_part_of_a_persons_name_needs_a_second_signal() -> None:
    assert _rule("marta lind", "marta", PERSON, cosine=0.59) is None


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        ("iphone 14", "iphone 15", PRODUCT),
        ("iphone 14", "iphone 14 pro", PRODUCT),
        ("canon r6", "canon r8", PRODUCT),
        ("canon r6", "canon m6", PRODUCT),
        ("novablast 5", "novablast", PRODUCT),
        ("model s", "model x", PRODUCT),
        ("python 2.0", "python 2", PRODUCT),
        ("kestrel v1", "kestrel v2", PRODUCT),
        ("henry iv", "henry v", PERSON),
        ("phase one", "phase two", TOPIC),
        ("golf gti", "golf gtd", PRODUCT),
        ("robert lind jr.", "robert lind sr.", PERSON),
    ],
)
def test_r3_a_number_or_model_letter_that_differs_vetoes_every_rule(
    one: str, other: str, kind: EntityType
) -> None:
    assert _rule(one, other, kind, cosine=1.0) is None


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        ("north korea", "south korea", PLACE),
        ("monday", "tuesday", EntityType.DATE),
        ("red wine", "white wine", FOOD),
        ("maria garcia", "mario garcia", PERSON),
        ("brother", "sister", PERSON),
        ("google", "google maps", PRODUCT),
        ("bnd", "bne", ORG),
    ],
)
def test_r1_a_word_that_vectors_overlook_keeps_two_things_apart(
    one: str, other: str, kind: EntityType
) -> None:
    assert _rule(one, other, kind, cosine=0.99) is None


def test_r1_near_vectors_of_one_type_are_one_thing_from_the_profiles_threshold_on() -> None:
    assert _rule("bright labs", "brightwell", ORG, cosine=0.88) is VECTOR
    assert _rule("bright labs", "brightwell", ORG, cosine=0.879) is None


def test_r4_only_persons_shed_titles_and_only_organisations_doubtful_suffixes() -> None:
    assert [fold_name("dr vorkova", kind) for kind in (PERSON, FOOD)] == ["vorkova", "dr vorkova"]
    assert [fold_name("day co", kind) for kind in (ORG, THING)] == ["day", "day co"]


def test_r4_keys_without_a_kind_hold_those_of_every_kind() -> None:
    for kind in EntityType:
        for name in ("dr. müller", "halden gmbh", "the kestrel", "denver co"):
            assert set(lookup_keys(name, kind)) <= set(lookup_keys(name))


WORDS = st.sampled_from(
    ["the", "dr.", "mr.", "mrs.", "anna", "a.", "b.v.", "gmbh", "&", "14", "iv", "v2", "c++", "'s",
     "pro", "one", "über", "\u0430pple", "パン", "-", "jr.", "who", "ltd", "2.0", ".", "+", "ß"]
)  # fmt: skip
ANY_NAME = st.one_of(st.text(max_size=12), st.lists(WORDS, max_size=5).map(" ".join))


@given(
    one=ANY_NAME.map(normalise_name).filter(bool),
    other=ANY_NAME.map(normalise_name).filter(bool),
    kind=st.sampled_from(EntityType),
    other_kind=st.sampled_from(EntityType),
    cosine=st.floats(-1, 1),
)
def test_r4_any_two_names_get_the_same_answer_from_either_side(
    one: str, other: str, kind: EntityType, other_kind: EntityType, cosine: float
) -> None:
    reason = _rule(one, other, kind, cosine, other_kind)
    assert one != other or kind is not other_kind or reason is FOLDED
    for name in (one, other):
        assert all(lookup_keys(name, kind))


@given(name=ANY_NAME.map(normalise_name).filter(bool), kind=st.sampled_from(EntityType))
def test_r4_folding_a_folded_name_changes_nothing(name: str, kind: EntityType) -> None:
    folded = fold_name(name, kind)
    assert fold_name(folded, kind) == folded
