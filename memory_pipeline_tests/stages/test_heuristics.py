"""What the keyless tier reads out of first-person statements."""

import pytest

from memory_pipeline.domain.extraction import EntityType
from memory_pipeline_tests.stages.heuristics_support import (
    Triple,
    extract,
    facts_of,
    known,
    only_fact,
    triples,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I coach a youth football team on Saturdays.", ("user", "coaches", "youth football team")),
        ("I restore antique clocks.", ("user", "restores", "antique clocks")),
        ("I mentor two apprentices.", ("user", "mentors", "two apprentices")),
        ("I got hired by Initech last week.", ("user", "works at", "initech")),
        ("We moved to Lisbon in March.", ("user", "lives in", "lisbon")),
        ("I'm based in Antwerp.", ("user", "lives in", "antwerp")),
        ("I can't stand cilantro.", ("user", "dislikes", "cilantro")),
        ("I don't like horror movies.", ("user", "dislikes", "horror movies")),
        ("I'm allergic to peanuts.", ("user", "is allergic to", "peanuts")),
        ("My favourite author is Ann Leckie.", ("user", "has favourite author", "ann leckie")),
        ("Ramen is my favourite food.", ("user", "has favourite food", "ramen")),
        ("i work at google", ("user", "works at", "google")),
        ("Allergic to penicillin, by the way.", ("user", "is allergic to", "penicillin")),
    ],
)  # fmt: skip
def test_a_statement_becomes_subject_present_predicate_and_object_whatever_the_verb(
    text: str, expected: Triple
) -> None:
    assert expected in triples(extract(text))


def test_a_possessive_gives_the_link_and_what_is_said_of_the_linked_person() -> None:
    graph = extract("My sister Clara is a nurse at Charit\u00e9 and lives in Berlin.")
    assert triples(graph) == {
        ("user", "has sister", "clara"),
        ("clara", "works as", "nurse"),
        ("clara", "works at", "charit\u00e9"),
        ("clara", "lives in", "berlin"),
    }


def test_an_unnamed_relation_is_linked_so_that_its_facts_are_reachable() -> None:
    assert triples(extract("My son plays the violin.")) == {
        ("user", "has son", "son"),
        ("son", "plays", "violin"),
    }


def test_a_name_told_later_in_the_window_replaces_the_relation_word() -> None:
    graph = extract("My brother lives in Oslo.", "His name is Erik and he's an architect.")
    assert triples(graph) == {
        ("user", "has brother", "erik"),
        ("erik", "lives in", "oslo"),
        ("erik", "works as", "architect"),
    }


def test_memory_names_a_relation_that_the_message_leaves_unnamed() -> None:
    memory = known(("user", "has sister", "priya"), entity_types={"priya": EntityType.PERSON})
    graph = extract("My sister lives in Bangalore now.", memory=memory)
    assert ("priya", "lives in", "bangalore") in triples(graph)


def test_a_list_of_names_gives_one_link_each() -> None:
    graph = extract("We have two kids, Tom and Mia.")
    assert triples(graph) == {("user", "has child", "tom"), ("user", "has child", "mia")}


def test_reported_speech_belongs_to_who_said_it() -> None:
    graph = extract("My friend Jurre said he hates football.")
    assert triples(graph) == {("user", "has friend", "jurre"), ("jurre", "hates", "football")}


def test_an_unlinked_person_is_no_subject() -> None:
    assert facts_of(extract("Elena Vorkova runs Kite Motors.")) == ()


def test_pronouns_of_the_third_person_mean_the_last_linked_person_that_fits() -> None:
    graph = extract("My wife Ana met my brother Leo. She works at Siemens.")
    assert ("ana", "works at", "siemens") in triples(graph)


def test_names_are_entities_and_numbers_are_values() -> None:
    graph = extract("I work at Globex and I weigh 82 kg.")
    assert [(f.predicate, f.object) for f in graph.relationships] == [("works at", "globex")]
    assert [(f.predicate, f.object) for f in graph.literal_facts] == [("weighs", "82 kg")]
    assert [(e.name, e.type) for e in graph.entities] == [("globex", "ORG")]


def test_known_names_are_used_as_memory_writes_them() -> None:
    memory = known(entity_types={"acme robotics": EntityType.ORG})
    entity = memory.entities[0].model_copy(update={"aliases": ("Acme",)})
    memory = memory.model_copy(update={"entities": (entity,)})
    assert only_fact(extract("I work at Acme.", memory=memory)).object == "acme robotics"


def test_a_hedged_statement_is_shaky_and_leaves_an_uncertainty() -> None:
    graph = extract("I think I'm allergic to cats.")
    assert only_fact(graph).confidence == 0.4
    assert [u.predicate for u in graph.uncertainties] == ["is allergic to"]


def test_no_candidate_is_surer_than_the_tier_may_be() -> None:
    graph = extract("I live in Porto. I'm 34 years old. My cat Miso is 3.")
    assert {f.confidence for f in facts_of(graph)} == {0.5}


def test_the_quote_is_verbatim_and_short_even_in_a_long_sentence() -> None:
    text = "I live in Porto, " + "and there was nothing much to say about it " * 9 + "you see."
    fact = only_fact(extract(text))
    assert fact.source_quote in text
    assert "I live in Porto" in fact.source_quote
    assert len(fact.source_quote) <= 200


def test_the_quote_keeps_the_users_own_spelling() -> None:
    graph = extract("btw im allergic to nuts \U0001f60a and that\u2019s that")
    assert only_fact(graph).source_quote == "btw im allergic to nuts"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("I'm Emily.", "emily"),
        ("My name is Emily Stone.", "emily stone"),
        ("Call me Em.", "em"),
        ("hey, i'm jonas, 29, software dev from malm\u00f6", "jonas"),
    ],
)
def test_the_users_own_name_is_a_fact(text: str, name: str) -> None:
    assert ("user", "has name", name) in triples(extract(text))


@pytest.mark.parametrize(
    "text",
    [
        "I'm so tired today.",
        "I had pasta for lunch.",
        "Just got home.",
        "I love this song!",
        "I have a question about taxes.",
        "I need a recipe for dinner.",
        "I want to know how tyres are changed.",
    ],
)
def test_what_passes_in_a_day_is_fleeting(text: str) -> None:
    graph = extract(text)
    assert facts_of(graph) == ()
    assert [n.reason for n in graph.nothing_durable] == ["fleeting"]
