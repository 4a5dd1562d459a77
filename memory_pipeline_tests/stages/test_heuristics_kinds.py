"""Ways of saying things that chat has and a textbook has not: clipped, run on, answered, aside."""

import pytest

from memory_pipeline.domain.conversation import Role, Window
from memory_pipeline.domain.extraction import EntityType, KnownLists
from memory_pipeline_tests.stages.heuristics_support import (
    Triple,
    extract,
    extractor,
    facts_of,
    known,
    triples,
    window,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We have a rent budget of 1,600 euros a month.", ("has rent budget of", "1,600 euros")),
        ("I have a car budget of 8,500 pounds.", ("has car budget of", "8,500 pounds")),
        ("budget for the new car is about 15k, maybe 16", ("has car budget of", "about 15k")),
        ("I'm a member of Ironworks Gym", ("is member of", "ironworks gym")),
        ("im lactose intolerant so no cream pls", ("is", "lactose intolerant")),
        ("I'm left handed and every pair of scissors hates me", ("is", "left handed")),
        ("I'm team lead for the payments squad", ("works as", "team lead")),
        ("i have a Fujifilm X-T4 and two lenses", ("has", "fujifilm x-t4")),
        ("My background is in graphic design.", ("has background in", "graphic design")),
    ],
)
def test_a_predicate_carries_its_topic_and_a_compound_stays_whole(
    text: str, expected: tuple[str, str]
) -> None:
    assert ("user", *expected) in triples(extract(text))


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("My birthday is on 15 June.", "15 june"),
        ("Actually my birthday is on 16 June, not 15 June.", "16 june"),
        ("btw my birthday is on 3 May so I've had ten of them", "3 may"),
    ],
)
def test_a_birthday_is_the_day_alone_and_starts_nothing(text: str, day: str) -> None:
    (fact,) = facts_of(extract(text))
    assert (fact.predicate, fact.object, fact.valid_from) == ("has birthday", day, None)
    assert fact.source_quote.lower() in text.lower()


def test_the_quote_of_a_corrected_birthday_keeps_the_cue() -> None:
    (fact,) = facts_of(extract("Actually my birthday is on 16 June, not 15 June."))
    assert fact.source_quote.startswith("Actually")
    assert "not 15 June" in fact.source_quote


def test_the_subject_of_a_second_statement_is_no_object_of_the_first() -> None:
    graph = extract("I drive a Skoda Fabia and the gearbox has just died outside school.")
    assert triples(graph) == {("user", "drives", "skoda fabia")}


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (
            ("My new manager is Priyanka Raman. Everybody calls her Pri.",),
            ("priyanka raman", "is also called", "pri"),
        ),
        (
            ("My line manager is Margaret Osei, known as Mags.",),
            ("margaret osei", "is also called", "mags"),
        ),
        (
            ("My friend Robert is here.", "Everyone calls him Bob."),
            ("robert", "is also called", "bob"),
        ),
    ],
)
def test_another_name_of_somebody_is_a_value(texts: tuple[str, ...], expected: Triple) -> None:
    graph = extract(*texts)
    assert expected in {(f.subject, f.predicate, f.object) for f in graph.literal_facts}


def test_what_is_said_under_the_other_name_is_said_of_the_person() -> None:
    graph = extract("My friend Robert moved here.", "Everyone calls him Bob.", "Bob lives in Hull.")
    assert ("robert", "lives in", "hull") in triples(graph)


@pytest.mark.parametrize(
    ("order", "revocation"),
    [
        ("From now on, always answer in metric units please.", "forget the metric thing"),
        ("Always use metric units.", "You no longer have to answer in metric units."),
        ("Please don't use emojis.", "You can use emojis again."),
        ("From now on answer in bullet points.", "You can stop using bullet points now."),
    ],
)
def test_an_order_and_what_takes_it_back_have_one_label(order: str, revocation: str) -> None:
    (given,) = extract(order).instructions
    (taken,) = extract(revocation).instructions
    assert (given.action, taken.action) == ("set", "revoke")
    assert given.label == taken.label


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("I bought a Toyota Yaris last Tuesday.", "toyota yaris"),
        ("I drive a Skoda Fabia.", "skoda fabia"),
        ("I sold the Skoda Fabia to a cousin for 300 quid.", "skoda fabia"),
    ],
)
def test_what_is_driven_is_a_product(text: str, name: str) -> None:
    kinds = {e.name: e.type for e in extract(text).entities}
    assert kinds[name] == EntityType.PRODUCT


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Quit my job at Vodafone last friday. no regrets", ("user", "works at", "vodafone")),
        ("Cancelled Netflix, too expensive now", ("user", "subscribes to", "netflix")),
        ("gave up alcohol in january, it was for charity", ("user", "drinks", "alcohol")),
        ("no longer have the Vespa btw, it got stolen", ("user", "owns", "vespa")),
        ("i stopped going to crossfit bc of my knee", ("user", "goes to", "crossfit")),
        ("left Bristol for good yesterday", ("user", "lives in", "bristol")),
        ("I quit smoking two years ago", ("user", "smokes", "cigarettes")),
        ("I cancelled my membership at Ironworks Gym", ("user", "is member of", "ironworks gym")),
    ],
)
def test_a_clipped_ending_ends_what_it_names(text: str, expected: Triple) -> None:
    memory = known(("user", "owns", "vespa"), entity_types={"vespa": EntityType.PRODUCT})
    over = {
        (f.subject, f.predicate, f.object)
        for f in facts_of(extract(text, memory=memory))
        if f.valid_until
    }
    assert expected in over


def test_what_will_end_holds_until_then() -> None:
    facts = {f.object: f for f in facts_of(extract("we're moving from Leeds to York in August"))}
    assert facts["leeds"].valid_until == facts["york"].valid_from == "2024-08-01"


def test_a_plan_that_is_off_ends_the_plan() -> None:
    memory = known(("user", "plans", "trip to lisbon"))
    graph = extract("We are not going to Lisbon anymore.", memory=memory)
    (fact,) = facts_of(graph)
    assert (fact.predicate, fact.object, bool(fact.valid_until)) == (
        "plans",
        "trip to lisbon",
        True,
    )


@pytest.mark.parametrize(
    ("question", "answer", "expected"),
    [
        ("Happy to. Where are you based?", "Tbilisi these days", ("user", "lives in", "tbilisi")),
        ("Do you have any allergies?", "yeah, latex", ("user", "is allergic to", "latex")),
        ("How old are you?", "27", ("user", "has age", "27")),
        ("What do you do for work?", "electrician", ("user", "works as", "electrician")),
        ("You're based in Berlin, right?", "no, Munich", ("user", "lives in", "munich")),
    ],
)
def test_a_short_answer_fills_the_slot_that_was_asked_for(
    question: str, answer: str, expected: Triple
) -> None:
    graph = extractor().extract(_asked(question, answer), KnownLists())
    assert triples(graph) == {expected}
    assert {f.source_quote for f in facts_of(graph)} <= {answer, answer.removeprefix("no, ")}


@pytest.mark.parametrize("answer", ["nope", "why do you ask", "rather not say", "it depends"])
def test_a_refusal_answers_nothing(answer: str) -> None:
    assert facts_of(extractor().extract(_asked("Where are you based?", answer), KnownLists())) == ()


def _asked(question: str, answer: str) -> Window:
    asked, told = window(question, answer).messages
    asked = asked.model_copy(update={"role": Role.ASSISTANT, "is_own": False})
    return window(answer).model_copy(update={"messages": (asked, told)})


def test_a_telegram_introduction_is_taken_apart() -> None:
    text = "I'm Renske, 34, product designer at a fintech in Rotterdam (Bunqer), mum of one"
    assert {
        ("user", "has name", "renske"),
        ("user", "has age", "34"),
        ("user", "works as", "product designer"),
        ("user", "works at", "bunqer"),
    } <= triples(extract(text))
    assert {
        ("user", "has age", "43"),
        ("user", "is", "divorced"),
        ("user", "has", "two boys"),
    } == triples(extract("im 43, divorced, two boys"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Barista at Coffee Collective, 4 days a week", ("user", "works at", "coffee collective")),
        ("Born and bred in Hull, never lived anywhere else", ("user", "was born in", "hull")),
        ("live w two flatmates, Priya and Joss", ("user", "has flatmate", "priya")),
        ("I'm allergic to latex and also, weirdly, to kiwi", ("user", "is allergic to", "kiwi")),
        ("I don't eat pork or shellfish", ("user", "does not eat", "shellfish")),
        ("got diagnosed w type 2 diabetes in march", ("user", "has", "type 2 diabetes")),
        ("my native language is Hungarian so please be kind",
         ("user", "has native language", "hungarian")),
        ("I keep bees, three hives in the garden", ("user", "keeps", "bees")),
        ("My migraines come back every time I skip lunch", ("user", "has", "migraines")),
        ("I did my undergrad in Physics at Durham", ("user", "studies", "physics")),
        ("My sister-in-law works for the BBC", ("sister-in-law", "works at", "bbc")),
        ("now at Figma doing design systems", ("user", "works at", "figma")),
    ],
)  # fmt: skip
def test_what_chat_leaves_out_is_read_back_in(text: str, expected: Triple) -> None:
    assert expected in triples(extract(text))


@pytest.mark.parametrize(
    "text",
    [
        "Say I moved to Norway, would my licence still be valid",
        "write a short poem in which the narrator says I am a sailor and I live by the sea",
        "My friend claims she works for MI5, I don't believe a word of it",
        "oh sure, I'll just buy a Ferrari then",
        "my back is 60",
        "I mix those two up my whole life",
        "my stomach is a mess every time we eat pasta with cream",
        "Pixel lives behind the fridge for the moment",
        "I bought some milk",
    ],
)
def test_fiction_disbelief_and_what_passes_leave_no_fact(text: str) -> None:
    assert facts_of(extract(text)) == ()


def test_a_model_year_is_no_start() -> None:
    (fact,) = facts_of(extract("I own a Honda Civic from 2009."))
    assert (fact.object, fact.valid_from) == ("honda civic", None)


@pytest.mark.parametrize(
    "text",
    ["", "()", "I", "my", "no,", "'s", "to to to", "My sister's", "I'm , , ,", "a" * 7000, "not",
     "my my my works", "known as Bob", "I'm 34,", "\u00df" * 300, "he calls her", "I\u2019m\u00a0"],
)  # fmt: skip
def test_no_message_breaks_the_extractor(text: str) -> None:
    question = _asked("Where are you based? What is your favourite food?", text or " ")
    assert extractor().extract(question, KnownLists()) == extractor().extract(
        question, KnownLists()
    )
