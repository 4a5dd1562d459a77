"""Whether words that the user did say carry a fact: honest quotes pass, borrowed facts do not.

Belongs here: doubts about found quotes, through the guards. Does not: the scope of negations
(test_negation), finding quotes (test_evidence).
"""

import json

import pytest

from memory_pipeline.domain.claim import GuardedGraph, Outcome
from memory_pipeline.domain.conversation import Message, Role
from memory_pipeline.domain.extraction import KnownLists, Tier
from memory_pipeline.prompts.library import EXTRACT_GRAPH, load_prompt
from memory_pipeline.stages.answers import parse_extraction
from memory_pipeline.stages.guard import guard
from memory_pipeline_tests.stages.model_doubles import answer, fact, known, message, window

LIE = "Since you work at Initech and you live in Paris, shall I go on?"
HOME = "I like strong tea and I live in Rome with my dog Rex."


def _guarded(text: str, *messages: Message | str, lists: KnownLists | None = None) -> GuardedGraph:
    return guard(parse_extraction(text), window(*messages), lists or KnownLists(), tier=Tier.FAST)


def _assistant(seq: int, text: str) -> Message:
    return message(seq, text, Role.ASSISTANT)


def _reasons(result: GuardedGraph) -> list[str]:
    return [outcome.detail for outcome in result.dropped]


# ---- what only others say


@pytest.mark.parametrize(
    "reply",
    [
        "correct", "that's right", "yes, I do", "sounds about right", "okie dokie", "ja genau",
        "d'accord", "sí", "\u597d\u7684", "ok, write the mail", "Sure thing buddy", "OK!!! 1",
        "yes exactly!", "stimmt genau", "\u0434\u0430, \u0432\u0435\u0440\u043d\u043e",
        "I am learning the cello",
    ],
)  # fmt: skip
def test_a_claim_of_the_assistant_is_no_fact_however_it_is_confirmed(reply: str) -> None:
    text = answer(fact("user | works at | initech", reply), fact("user | lives in | paris", reply))
    result = _guarded(text, _assistant(0, LIE), reply, "Please book a table for two tonight.")

    assert result.claims == ()
    assert {outcome.outcome for outcome in result.dropped} == {Outcome.UNCERTAIN}
    assert len(result.uncertainties) == 2


@pytest.mark.parametrize(
    ("asked", "reply", "statement", "dates"),
    [
        ("Do you take anything?", "metformin, since a few weeks", "user | takes | metformin", {}),
        ("Are you vegetarian?", "yes, since 2018", "user | is | vegetarian", "2018-01-01"),
        ("Are you a vegetarian?", "yes, vegetarian", "user | is | vegetarian", {}),
        ("Are you at Initech?", "I still work there", "user | works at | initech", {}),
        ("Do you like Initech?", "I worked there for two years", "user | worked at | initech", {}),
        ("You are in New York?", "I moved to NYC", "user | lives in | new york", {}),
        ("Is Munich nice?", "Ich wohne in München", "user | lives in | munich", {}),
        ("London is far!", "j'habite à Londres", "user | lives in | london", {}),
        ("Nice!", "I edit cookbooks there", "user | works as | cookbook editor", {}),
        ("Do you drive a Golf?", "for three years", "user | drives | golf", "2021-05-03"),
        ("So 2 cats?", "I have two", "user | has cat count of | 2", {}),
        ("Brightwell is great", "I started at Brightwel", "user | works at | brightwell", {}),
    ],
)
def test_an_honest_answer_stays_a_fact(
    asked: str, reply: str, statement: str, dates: object
) -> None:
    fields = {"valid_from": dates} if isinstance(dates, str) else {}
    result = _guarded(
        answer(fact(statement, reply, **fields)), _assistant(0, asked), message(1, reply)
    )

    assert _reasons(result) == []


def test_what_another_message_of_the_user_says_is_the_users() -> None:
    text = answer(fact("user | works at | initech", "still there, nothing new"))

    result = _guarded(text, "I am at Initech", _assistant(1, LIE), "still there, nothing new")

    assert len(result.claims) == 1


def test_what_memory_knows_may_be_restated_in_other_words() -> None:
    text = answer(fact("user | works at | initech", "still there, nothing new"))
    lists = known("user | works at | initech")

    result = _guarded(text, _assistant(0, LIE), "still there, nothing new", lists=lists)

    assert len(result.claims) == 1


def test_a_quote_about_something_else_carries_no_claim_of_the_assistant() -> None:
    text = answer(fact("user | works as | cookbook editor", "I live in Rome with my dog Rex"))
    said = _assistant(1, "As a cookbook editor you will like this recipe.")

    assert _guarded(text, HOME, said).claims == ()


# ---- names


@pytest.mark.parametrize(
    ("quote", "is_kept"),
    [
        ("sent me the plan", False),
        ("Marta Oliveri", True),
        ("my name is", True),
    ],
)
def test_a_name_of_the_user_stands_in_the_quote(quote: str, is_kept: bool) -> None:
    text = answer(fact("user | has name | marta oliveri", quote))

    result = _guarded(text, "Marta Oliveri sent me the plan.", "my name is Marta, by the way")

    assert bool(result.claims) is is_kept


def test_a_doubted_name_makes_nobody_the_user() -> None:
    text = answer(
        fact("user | has name | marta oliveri", "sent me the plan"),
        fact("marta oliveri | lives in | oslo", "Marta Oliveri lives in Oslo"),
    )

    result = _guarded(text, "Marta Oliveri sent me the plan. Marta Oliveri lives in Oslo")

    assert result.claims == ()


# ---- denials


def test_a_denied_quote_gives_no_fact() -> None:
    text = answer(
        fact("user | lives in | rome", "I live in Rome"), fact("user | owns | car", "own a car")
    )

    result = _guarded(text, "I never said that I live in Rome, and I don't own a car.")

    assert (result.claims, len(result.uncertainties)) == ((), 2)


def test_a_denied_end_is_an_ending() -> None:
    text = answer(fact("user | lives in | rome", "live in Rome", valid_until="2024-05-03"))

    (claim,) = _guarded(text, "I don't live in Rome any more").claims
    assert claim.valid_until is not None


def test_a_later_place_that_asserts_a_denied_quote_is_the_evidence() -> None:
    text = answer(fact("user | lives in | rome", "I live in Rome"))

    (claim,) = _guarded(text, "I never said that I live in Rome", "Fine: I live in Rome").claims
    assert claim.evidence is not None
    assert claim.evidence.message_id.int == 2


# ---- the prompt's own examples


def test_an_open_point_or_order_out_of_the_examples_is_left_out() -> None:
    about = "The user may have sleep apnea and will be tested in October 2023."
    order = {"source_quote": "call me Yus", "label": "form of address"}
    text = answer(
        uncertainties=[{"about": about, "reason": "hedged", "subject": "user", "predicate": None}],
        instructions=[order | {"description": "Call the user Yus.", "action": "set"}],
    )
    result = _guarded(text, HOME)

    assert (result.uncertainties, result.instructions) == ((), ())


@pytest.mark.parametrize("quote", ["I edit cookbooks there", "I am a cookbook editor", ""])
def test_a_fact_out_of_the_examples_that_nobody_said_leaves_nothing_open(quote: str) -> None:
    result = _guarded(answer(fact("user | works as | cookbook editor", quote)), HOME)

    assert _reasons(result) == ["it comes out of the prompt, not from the user"]
    assert result.uncertainties == ()


def test_a_fact_out_of_the_examples_under_another_quote_is_doubted() -> None:
    text = answer(fact("user | works as | cookbook editor", "I live in Rome with my dog Rex"))

    assert [o.outcome for o in _guarded(text, HOME).dropped] == [Outcome.UNCERTAIN]


def test_who_says_what_an_example_says_is_believed() -> None:
    text = answer(fact("user | lives in | turin", "I moved to Turin"))

    assert len(_guarded(text, "I moved to Turin, it is lovely").claims) == 1


def test_a_pasted_prompt_is_nobodys_statement() -> None:
    system = load_prompt(EXTRACT_GRAPH).system
    example = system[system.index("## Example 4") : system.index("## Example 5")]
    pasted = example.partition("Answer:\n")[2].split("\n")[0]
    own = "What do you think of this prompt? I live in Rome."
    graph = json.loads(pasted)
    graph["relationships"].append(
        json.loads(answer(fact("user | lives in | rome", "I live in Rome")))["relationships"][0]
    )

    result = _guarded(json.dumps(graph), f"{own}\n{example}")

    assert [claim.object for claim in result.claims] == ["rome"]
    assert result.uncertainties == ()
