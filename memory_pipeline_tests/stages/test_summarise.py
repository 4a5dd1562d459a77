"""The summary of an episode (spec E4).

Belongs here: request, second try, failure. Does not: reading of malformed answers (bad_output).
"""

import json

import pytest

from memory_pipeline.domain.conversation import Role
from memory_pipeline.domain.model import Purpose
from memory_pipeline.stages.summarise import Summariser, SummaryError, is_worth_a_summary
from memory_pipeline_tests.stages.model_doubles import (
    SECRET,
    USAGE,
    ScriptedAsker,
    message,
    window,
)

GOOD = json.dumps({"summary": "The user plays the cello.", "key_learnings": ["It is a cello."]})


def test_a_summary_takes_one_call_over_the_raw_messages() -> None:
    asker = ScriptedAsker(GOOD)
    written = Summariser(asker, "fast-1", SECRET).summarise(window("I play cello"), ("anna",))
    assert written.summary.summary == "The user plays the cello."
    assert written.summary.key_learnings == ("It is a cello.",)
    assert written.usage == USAGE
    (request,) = asker.requests
    assert request.purpose is Purpose.SUMMARISE
    assert "| I play cello" in request.user
    assert "anna" in request.user


def test_a_bad_summary_is_asked_for_once_more() -> None:
    asker = ScriptedAsker("The user plays the cello.", GOOD)
    written = Summariser(asker, "fast-1", SECRET).summarise(window("I play cello"))
    assert len(written.request_digests) == 2


def test_two_bad_summaries_are_an_error() -> None:
    summariser = Summariser(ScriptedAsker("", '{"summary": ""}'), "fast-1", SECRET)
    with pytest.raises(SummaryError, match="fast-1 gave no summary: the summary is missing"):
        summariser.summarise(window("I play cello"))


def test_greetings_are_not_worth_a_summary() -> None:
    assert not is_worth_a_summary(window("hi", message(1, "Hello!", Role.ASSISTANT), "thanks"))
    assert is_worth_a_summary(window("hi", "I play cello"))
