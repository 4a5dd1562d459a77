"""Dates, endings, history and corrections in the keyless tier. Everything is said on 2024-05-03."""

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


def test_a_stated_start_is_the_start_of_valid_time() -> None:
    fact = only_fact(extract("I've worked at Globex since 2019."))
    assert (fact.valid_from, fact.valid_until) == ("2019-01-01", None)


def test_a_duration_up_to_now_gives_the_start() -> None:
    fact = only_fact(extract("I've been living in Utrecht for three years."))
    assert fact.valid_from == "2021-05-03"


def test_a_future_job_starts_in_the_future() -> None:
    fact = only_fact(extract("I'm starting at Initech next month."))
    assert (fact.predicate, fact.valid_from) == ("works at", "2024-06-01")


def test_a_past_event_dates_the_state_it_left() -> None:
    fact = only_fact(extract("I bought a Honda Civic in 2022."))
    assert (fact.predicate, fact.valid_from) == ("owns", "2022-01-01")


@pytest.mark.parametrize(
    ("text", "triple", "until"),
    [
        ("I no longer work at Google.", ("user", "works at", "google"), "2024-05-03"),
        ("I quit Globex last month.", ("user", "works at", "globex"), "2024-04-01"),
        ("Sold my old Honda.", ("user", "owns", "honda"), "2024-05-03"),
        ("I stopped eating meat.", ("user", "eats", "meat"), "2024-05-03"),
        ("I don't drink coffee any more.", ("user", "drinks", "coffee"), "2024-05-03"),
        ("I used to work at Globex until 2019.", ("user", "works at", "globex"), "2019-01-01"),
        ("I used to play the piano.", ("user", "plays", "piano"), "2024-05-03"),
        ("I cancelled my Netflix subscription.", ("user", "subscribes to", "netflix subscription"),
         "2024-05-03"),
        ("Our dog Pepper passed away.", ("user", "has dog", "pepper"), "2024-05-03"),
    ],
)  # fmt: skip
def test_an_ending_is_the_triple_that_memory_holds_with_its_end(
    text: str, triple: Triple, until: str
) -> None:
    fact = only_fact(extract(text))
    assert (fact.subject, fact.predicate, fact.object) == triple
    assert fact.valid_until == until


def test_an_ending_takes_the_words_of_the_known_fact_that_it_ends() -> None:
    memory = known(
        ("user", "drives", "honda civic"), entity_types={"honda civic": EntityType.PRODUCT}
    )
    fact = only_fact(extract("Sold the Civic yesterday.", memory=memory))
    assert (fact.predicate, fact.object) == ("drives", "honda civic")
    assert fact.valid_until == "2024-05-02"


def test_breaking_up_ends_the_link_that_memory_holds() -> None:
    memory = known(("user", "has boyfriend", "daniel"), entity_types={"daniel": EntityType.PERSON})
    graph = extract("I broke up with Daniel in February.", memory=memory)
    fact = only_fact(graph)
    assert (fact.predicate, fact.object, fact.valid_until) == (
        "has boyfriend",
        "daniel",
        "2024-02-01",
    )


def test_a_move_ends_the_old_place_and_starts_the_new_one() -> None:
    facts = facts_of(extract("I moved from Madrid to Valencia in 2021."))
    assert {(f.object, f.valid_from, f.valid_until) for f in facts} == {
        ("madrid", None, "2021-01-01"),
        ("valencia", "2021-01-01", None),
    }


def test_the_end_of_one_job_does_not_end_the_next() -> None:
    facts = facts_of(extract("I left Google in April and joined Anthropic."))
    assert {f.object: f.valid_until is not None for f in facts} == {
        "google": True,
        "anthropic": False,
    }


def test_a_correction_restates_the_known_fact_with_the_new_value_and_quotes_its_cue() -> None:
    memory = known(("user", "lives in", "porto"), entity_types={"porto": EntityType.PLACE})
    fact = only_fact(extract("Actually, it's Lisbon, not Porto.", memory=memory))
    assert (fact.predicate, fact.object) == ("lives in", "lisbon")
    assert fact.source_quote.startswith("Actually")


def test_a_correction_in_the_same_window_leaves_only_the_final_state() -> None:
    graph = extract("I live in Porto.", "Sorry, I meant Lisbon.")
    assert triples(graph) == {("user", "lives in", "lisbon")}


def test_a_number_corrects_the_one_known_number() -> None:
    memory = known(("user", "has rent", "2000 euros"), ("user", "lives in", "porto"))
    fact = only_fact(extract("Sorry, I meant 2500 euros.", memory=memory))
    assert (fact.predicate, fact.object) == ("has rent", "2500 euros")


def test_a_cue_in_a_sentence_of_its_own_belongs_to_the_quote() -> None:
    graph = extract("Oops, sorry. I live in Lisbon.")
    assert only_fact(graph).source_quote == "Oops, sorry. I live in Lisbon."


def test_a_correction_of_nothing_known_is_an_uncertainty() -> None:
    graph = extract("Oops, I meant Thursday.")
    assert facts_of(graph) == ()
    assert len(graph.uncertainties) == 1
