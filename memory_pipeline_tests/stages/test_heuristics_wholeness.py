"""Whole words and whole meanings: what the keyless tier must not cut, add or take for another."""

import pytest

from memory_pipeline.stages.heuristic_rules.sentences import SENTENCE_LIMIT, split_sentences
from memory_pipeline_tests.stages.heuristics_support import (
    Triple,
    extract,
    only_fact,
    triples,
)


def test_a_message_over_the_limit_is_read_up_to_a_whole_sentence() -> None:
    graph = extract("I live in Utrecht. " * 2000)
    assert triples(graph) == {("user", "lives in", "utrecht")}


def test_a_message_without_sentence_ends_is_cut_between_words() -> None:
    graph = extract("I live in Utrecht. " + "nothing " * 900 + ". I own a boat.")
    (cut,) = [n for n in graph.nothing_durable if n.reason == "truncated"]
    assert set(cut.quote.split()) <= {"nothing", "nothin"}
    assert cut.quote.startswith("nothing ")


@pytest.mark.parametrize("opening", ["I live in Utrecht. ", "Just kidding! "])
def test_what_was_not_read_of_a_long_message_is_reported(opening: str) -> None:
    text = opening + "There is nothing else to say here. " * 300
    graph = extract(text)
    assert "truncated" in {n.reason for n in graph.nothing_durable}
    (left_open,) = graph.uncertainties
    assert left_open.about == text[:80]
    assert "not read" in left_open.reason


def test_a_message_within_the_limit_leaves_nothing_open() -> None:
    graph = extract("I live in Utrecht. " + "There is nothing else to say here. " * 100)
    assert graph.uncertainties == ()
    assert "truncated" not in {n.reason for n in graph.nothing_durable}


@pytest.mark.parametrize("pad", range(8))
def test_a_sentence_over_its_limit_is_cut_between_words(pad: int) -> None:
    text = "x" * pad + " bicycle" * 100
    (sentence,) = split_sentences(text)
    assert sentence.text.split()[-1] == "bicycle"
    assert len(sentence.text) <= SENTENCE_LIMIT


@pytest.mark.parametrize(
    "text",
    [
        "Running can really boost your mood.",
        "Playing guitar keeps me sane.",
        "Working from home makes me lonely.",
        "Learning Spanish is hard.",
        "Training for a marathon will take months.",
    ],
)
def test_a_gerund_that_is_the_subject_says_nothing_of_the_user(text: str) -> None:
    assert triples(extract(text)) == set()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Learning Spanish at the moment.", ("user", "learns", "spanish")),
        ("Living in Oslo and it is cold.", ("user", "lives in", "oslo")),
        ("Working on a project that is due soon.", ("user", "works on", "project")),
    ],
)
def test_a_gerund_that_leaves_out_the_user_still_speaks_of_the_user(
    text: str, expected: Triple
) -> None:
    assert expected in triples(extract(text))


@pytest.mark.parametrize(
    "texts",
    [
        ("My friends came by yesterday.", "They each have such cool designs."),
        ("My friend came by yesterday.", "They have three cats."),
        ("My dogs were at the vet.", "Their owner lives in Oslo."),
    ],
)
def test_they_is_nobody_whose_name_was_not_told(texts: tuple[str, ...]) -> None:
    assert triples(extract(*texts)) == set()


def test_a_death_keeps_the_link_that_it_ends() -> None:
    fact = only_fact(extract("My grandfather fought in Korea and passed away in 2011."))
    assert (fact.predicate, fact.valid_until) == ("has grandfather", "2011-01-01")


def test_they_can_be_somebody_named_or_a_plural_of_the_same_sentence() -> None:
    named = extract("My partner Alex is a nurse. They live in Oslo.")
    assert ("alex", "lives in", "oslo") in triples(named)
    same = extract("My parents said they moved to Spain.")
    assert ("parent", "lives in", "spain") in triples(same)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "I'm passionate about creating a safe, inviting place for people to grow.",
            "creating safe, inviting place",
        ),
        ("I'm passionate about helping people.", "helping people"),
        (
            "I'm passionate about building strong, lasting friendships.",
            "building strong, lasting friendships",
        ),
    ],
)
def test_an_activity_keeps_the_object_that_it_is_about(text: str, said: str) -> None:
    assert only_fact(extract(text)).object == said


@pytest.mark.parametrize(
    ("text", "quote", "expected"),
    [
        (
            "\u202eI am allergic to nuts.\u202c",
            "I am allergic to nuts.",
            ("user", "is allergic to", "nuts"),
        ),
        (
            "\ufeffI live in Ut\u200brecht.",
            "I live in Ut\u200brecht.",
            ("user", "lives in", "utrecht"),
        ),
        (
            "I am aller\u00adgic to soy.",
            "I am aller\u00adgic to soy.",
            ("user", "is allergic to", "soy"),
        ),
    ],
)
def test_invisible_characters_change_no_reading_and_stay_in_the_quote(
    text: str, quote: str, expected: Triple
) -> None:
    fact = only_fact(extract(text))
    assert (fact.subject, fact.predicate, fact.object) == expected
    assert fact.source_quote == quote


def test_an_order_with_invisible_characters_is_quoted_as_it_was_written() -> None:
    (order,) = extract("Always answer in met\u200bric units.").instructions
    assert order.source_quote == "Always answer in met\u200bric units."
    assert "\u200b" not in order.label
