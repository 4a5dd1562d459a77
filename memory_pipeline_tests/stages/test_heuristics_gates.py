"""What gives nothing in the keyless tier, why, and standing orders."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory_pipeline.domain.conversation import Role
from memory_pipeline.domain.extraction import KnownLists
from memory_pipeline.stages.heuristic_rules.parser import ParserMissingError, load_parser
from memory_pipeline_tests.stages.heuristics_support import (
    extract,
    extractor,
    facts_of,
    triples,
    window,
)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Do you think my sister Clara works at Siemens?", "question"),
        ("If I lived in Tokyo I would eat ramen every day.", "conditional"),
        ("I wish I owned a boat.", "wish"),
        ("I hope you have a lovely weekend!", "wish"),
        ("Hypothetically I live on Mars.", "hypothetical"),
        ("I own a helicopter, just kidding.", "joke"),
        ("Yeah right, I love spreadsheets.", "sarcasm"),
        ("I just LOVE three-hour meetings.", "sarcasm"),
        ("Ich wohne seit zwei Jahren in Hamburg.", "other_language"),
        ("Vivo en Madrid con mi hermana.", "other_language"),
        ("\u79c1\u306f\u6771\u4eac\u306b\u4f4f\u3093\u3067\u3044\u307e\u3059", "other_language"),
        ("Thanks so much!", "small_talk"),
        ("```\nI = 'work at Acme'\n```", "pasted"),
        ("> I work at Oracle", "pasted"),
    ],
)
def test_what_is_no_statement_of_the_user_gives_nothing_and_says_why(
    text: str, reason: str
) -> None:
    graph = extract(text)
    assert facts_of(graph) == ()
    assert reason in {n.reason for n in graph.nothing_durable}


@pytest.mark.parametrize(
    "text",
    [
        "My boss told me 'I quit smoking and moved to Austin'.",
        'Here is the email I got: "Hi, I live in Boston and work at Fidelity."',
        "Translate this to French: I live in London and I work for the BBC.",
        "Forwarded:\nFrom: Bob\nSubject: news\n\nI moved to Denver and bought a Tesla.",
        "She said \u201calways answer in French\u201d in the movie.",
    ],
)
def test_quoted_and_pasted_words_are_not_the_users(text: str) -> None:
    graph = extract(text)
    assert all(f.predicate == "has boss" for f in facts_of(graph))
    assert graph.instructions == ()


def test_a_statement_before_a_question_still_counts() -> None:
    graph = extract("I'm allergic to nuts, what can I bake?")
    assert triples(graph) == {("user", "is allergic to", "nuts")}
    assert [n.reason for n in graph.nothing_durable] == ["question"]


def test_nobody_but_the_user_is_heard() -> None:
    said = window("I live in Paris.", role=Role.ASSISTANT, is_own=False)
    graph = extractor().extract(said, KnownLists())
    assert graph.nothing_durable == ()
    assert facts_of(graph) == ()


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("From now on, answer in British English.", "set"),
        ("Never use bullet points, please.", "set"),
        ("Please don't use emojis.", "set"),
        ("When you give me recipes, always use grams.", "set"),
        ("You can use emojis again.", "revoke"),
        ("You don't have to answer in French any more.", "revoke"),
    ],
)
def test_a_standing_order_to_the_assistant_is_an_instruction(text: str, action: str) -> None:
    graph = extract(text)
    (instruction,) = graph.instructions
    assert instruction.action == action
    assert len(instruction.label) <= 40
    assert instruction.description == text
    assert facts_of(graph) == ()


@pytest.mark.parametrize(
    "text", ["Please write me an email.", "Never give up!", "I always eat breakfast at nine."]
)
def test_a_request_a_pep_talk_or_a_habit_is_no_instruction(text: str) -> None:
    assert extract(text).instructions == ()


def test_every_own_message_ends_as_evidence_or_with_a_reason() -> None:
    texts = ("I live in Porto.", "hm", "Can you help?", "", "\U0001f600", "Nice weather.")
    graph = extract(*texts)
    silent = {n.seq for n in graph.nothing_durable}
    assert silent | {0} == set(range(len(texts)))


_ODD = st.one_of(
    st.text(max_size=120),
    st.lists(
        st.sampled_from(
            ["I", "my", "sister", "live in", "Porto", ",", "not", "\u0301\u0334", "```", '"', "?",
             "http://x.y/z", "{};", "2019", "until", "\U0001f600", "actually", "\n", "and", "'s"]
        ),
        max_size=25,
    ).map(" ".join),
)  # fmt: skip


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_ODD)
def test_odd_text_never_crashes_and_quotes_stay_verbatim(text: str) -> None:
    graph = extract(text)
    assert all(f.source_quote in text and f.source_quote for f in facts_of(graph))
    assert facts_of(graph) or graph.instructions or graph.nothing_durable


def test_a_message_of_ten_thousand_characters_is_read_up_to_a_limit() -> None:
    text = "I live in Porto. " + "There is nothing else to say here. " * 300
    assert ("user", "lives in", "porto") in triples(extract(text))


def test_many_windows_give_what_each_gives_alone() -> None:
    windows = [window(t) for t in ("I live in Porto.", "ok", "My cat Miso is 3.", "Sold my Honda.")]
    alone = tuple(extractor().extract(w, KnownLists()) for w in windows)
    assert extractor().extract_many((w, KnownLists()) for w in windows) == alone


def test_a_missing_parser_says_which_extra_to_install() -> None:
    with pytest.raises(ParserMissingError, match="heuristics"):
        load_parser("no_such_model_package")
