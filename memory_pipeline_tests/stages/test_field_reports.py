"""Faults reported of other systems, by their ids, where they concern extraction and judging.

Belongs here: reports whose input is enough for a stage, and other faults of their kind. Does not:
those of the write path (cases), of importers and of Dagster, which stand with what they concern.
"""

import json
import logging
from datetime import UTC, date, datetime

import pytest

from memory_pipeline.domain.changes import Pair, PairReason, Verdict
from memory_pipeline.domain.claim import GuardedGraph, Outcome
from memory_pipeline.domain.conversation import Message, Role, Window
from memory_pipeline.domain.extraction import KnownLists, Tier
from memory_pipeline.domain.ids import EpisodeId, MessageId, TenantId, ThreadId, derive_id
from memory_pipeline.stages.answers import BadAnswerError, parse_extraction
from memory_pipeline.stages.escalate import EscalatingExtractor
from memory_pipeline.stages.extract import ModelExtractor
from memory_pipeline.stages.guard import guard
from memory_pipeline.stages.judge import Question, read_verdicts
from memory_pipeline.stages.temporal import find_bounds
from memory_pipeline_tests.domain.memory_builders import claim
from memory_pipeline_tests.domain.memory_builders import fact as stored
from memory_pipeline_tests.field_reports import needs_reports, report
from memory_pipeline_tests.stages.heuristics_support import extractor, triples
from memory_pipeline_tests.stages.model_doubles import (
    SECRET,
    ScriptedAsker,
    answer,
    fact,
    known,
    message,
    window,
)

TENANT = TenantId("acme/user_42")
THURSDAY = datetime(2023, 11, 2, 18, tzinfo=UTC)
MEMORY = known(
    "user | lives in | porto", "user | has cat | miso", entities={"porto": "PLACE", "miso": "THING"}
)


def reported_window(report_id: str) -> Window:
    """The messages of a report as a window, each at its own time where it has one."""
    messages = report(report_id)["input"]["messages"]
    read = [_message(seq, item) for seq, item in enumerate(messages)]
    return Window(
        tenant_id=TENANT,
        episode_id=EpisodeId(derive_id("episode", TENANT, report_id)),
        thread_id=ThreadId("thread"),
        ordinal=1,
        started_at=read[0].said_at,
        ended_at=read[-1].said_at,
        messages=tuple(read),
    )


def _message(seq: int, item: dict[str, str]) -> Message:
    role = Role(item["role"])
    said_at = datetime.fromisoformat(item["created_at"]) if "created_at" in item else THURSDAY
    return Message(
        message_id=MessageId(derive_id("message", TENANT, str(seq))),
        seq=seq,
        role=role,
        text=item["content"],
        said_at=said_at,
        is_own=role is Role.USER,
    )


def guarded(text: str, said: Window, memory: KnownLists | None = None) -> GuardedGraph:
    """What the guards leave of a model's answer."""
    return guard(parse_extraction(text), said, memory or KnownLists(), tier=Tier.FAST)


def claimed(graph: GuardedGraph) -> set[tuple[str, str, str]]:
    return {(c.subject, c.predicate, c.object) for c in graph.claims}


# --- B07: times count from what was said ------------------------------------------------------


@needs_reports
def test_b07_a_relative_date_counts_from_the_message_that_says_it() -> None:
    case = report("B07")
    said = reported_window("B07").messages[0]
    (bound,) = find_bounds(said.text, said.said_at, is_past=True)
    assert str(bound.valid_from) == case["expected"]["valid_from"]


@needs_reports
def test_b07_the_keyless_tier_dates_a_backfilled_session_by_its_own_clock() -> None:
    said = reported_window("B07")
    graph = guard(extractor().extract(said, KnownLists()), said, KnownLists(), tier=Tier.HEURISTICS)
    starts = [c.valid_from.date() for c in graph.claims if c.valid_from is not None]
    assert starts == [date.fromisoformat(report("B07")["expected"]["valid_from"])]


@pytest.mark.parametrize(
    ("phrase", "day"),
    [
        ("yesterday", "2023-11-01"),
        ("the day before yesterday", "2023-10-31"),
        ("on Monday", "2023-10-30"),
        ("last Thursday", "2023-10-26"),
        ("last Friday", "2023-10-27"),
        ("three weeks ago", "2023-10-12"),
        ("last month", "2023-10-01"),
        ("in March", "2023-03-01"),
        ("last year", "2022-01-01"),
        ("this Monday", "2023-10-30"),
    ],
)
def test_b07_what_has_begun_begins_before_it_is_said(phrase: str, day: str) -> None:
    (bound,) = find_bounds(f"I started at the clinic {phrase}.", THURSDAY, is_past=True)
    assert str(bound.valid_from) == day


@pytest.mark.parametrize(
    ("hours", "day"), [(0, "2023-10-31"), (23, "2023-10-31"), (24, "2023-11-01")]
)
def test_b07_each_message_of_a_window_has_a_clock_of_its_own(hours: int, day: str) -> None:
    said_at = datetime(2023, 11, 1 + hours // 24, hours % 24, 30, tzinfo=UTC)
    (bound,) = find_bounds("I started at the clinic yesterday.", said_at, is_past=True)
    assert str(bound.valid_from) == day


# --- B11: nothing said gives nothing ----------------------------------------------------------


@needs_reports
def test_b11_a_window_of_acknowledgements_asks_no_model_and_gives_nothing() -> None:
    asker = ScriptedAsker()
    tiers = EscalatingExtractor(ModelExtractor(asker, "fast-1", SECRET))
    found = tiers.extract_tiered(reported_window("B11"), MEMORY)
    assert (asker.requests, found.tier) == ([], Tier.NONE)
    assert (found.graph.relationships, found.graph.literal_facts) == ((), ())


@needs_reports
@pytest.mark.parametrize(
    "quote",
    [
        "",
        ".",
        "user lives in porto",
        "- user lives in porto",
        "I live in Porto",
        "Anything else?",
        "ok no thanks",
        "no thanks. I live in Porto",
        "[m0] user",
    ],
)
def test_b11_a_sentence_of_the_known_list_without_words_of_the_user_is_no_fact(quote: str) -> None:
    echo = answer(
        fact("user | lives in | porto", quote),
        fact("user | has cat | miso", quote),
        fact("user | works at | halden", quote),
    )
    graph = guarded(echo, reported_window("B11"), MEMORY)
    assert len(graph.claims) == report("B11")["expected"]["facts"]
    assert [o.outcome for o in graph.dropped] == [Outcome.UNCERTAIN] * 3


@needs_reports
@pytest.mark.parametrize("quote", ["ok", "no thanks", "No thanks.", "thanks", "\x00ok"])
def test_b11_an_acknowledgement_is_evidence_of_no_made_up_fact(quote: str) -> None:
    made_up = answer(fact("user | works at | halden", quote))
    assert guarded(made_up, reported_window("B11"), MEMORY).claims == ()


def test_b11_what_the_assistant_repeats_from_memory_is_not_said_by_the_user() -> None:
    said = window("What do you know of me?", message(1, "You live in Porto.", Role.ASSISTANT))
    echo = answer(fact("user | lives in | porto", "You live in Porto."))
    assert guarded(echo, said, MEMORY).claims == ()


# --- B13a: what stands around an answer -------------------------------------------------------

CELLO = (
    '{"subject": "user", "predicate": "plays", "object": "cello", "confidence": 0.9, '
    '"sourceQuote": "I play cello"}'
)
CELLO_GRAPH = f'{{"relationships": [], "literalFacts": [{CELLO}]}}'


@needs_reports
def test_b13a_prose_and_a_code_fence_around_an_answer_lose_no_fact() -> None:
    case = report("B13a")
    graph = guarded(case["input"]["model_returns"], window("I play cello"))
    assert len(graph.claims) == case["expected"]["facts"]


@pytest.mark.parametrize(
    "text",
    [
        f'<think>perhaps {{"entities": []}}, or so</think>\n{CELLO_GRAPH}',
        f"{{}}\n{CELLO_GRAPH}",
        f"~~~\n{CELLO_GRAPH.replace(chr(34), chr(39))}\n~~~",
        f'{{"result": {CELLO_GRAPH}}}',
        f'{{"facts": [{CELLO}]}}',
        f'{{"literalFacts": {CELLO}}}',
        f"[{CELLO}]",
        CELLO,
        CELLO_GRAPH[:-2],
        f"\ufeff{CELLO_GRAPH}\x00",
        f"```json\n{CELLO_GRAPH}",
    ],
)
def test_b13a_other_wrappings_lose_no_fact(text: str) -> None:
    assert claimed(guarded(text, window("I play cello"))) == {("user", "plays", "cello")}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "No facts found.",
        "null",
        "{}",
        "```json\n```",
        '{"error": "overloaded"}',
        '{"literalFacts": ["user plays cello"]}',
        f'```json\n{CELLO_GRAPH}\n```\n```json\n{{"literalFacts": []}}\n```',
    ],
)
def test_b13a_an_answer_that_can_not_be_read_is_never_an_empty_one(text: str) -> None:
    with pytest.raises(BadAnswerError):
        parse_extraction(text)


# --- B14: verdicts on pairs that nobody asked about -------------------------------------------


def _questions(count: int) -> list[Question]:
    """Questions on pairs of a claim and a fact."""
    return [
        Question(
            pair=Pair(
                ref=f"c{number}",
                fact_id=stored(f"f{number}", "works at", "halden").fact_id,
                reason=PairReason.SLOT,
            ),
            claim=claim(f"c{number}", "works at", "brightwell").claim,
            fact=stored(f"f{number}", "works at", "halden"),
        )
        for number in range(1, count + 1)
    ]


@needs_reports
def test_b14_a_made_up_index_supersedes_nothing_and_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    case = report("B14")["input"]
    questions = _questions(len(case["pairs"]))
    with caplog.at_level(logging.WARNING):
        (judged,) = read_verdicts(json.dumps(case["judge_returns"]), questions, judge="model")
    assert judged.verdict is Verdict.NEITHER
    assert "12" in caplog.text


@pytest.mark.parametrize(
    "index",
    ["-1", "1", 1, -1, 0.5, "0.5", True, None, "c1", "f1", "", [0], {"index": 0}, 10**30, "¹"],
)
def test_b14_no_made_up_index_meets_a_pair_by_chance(index: object) -> None:
    raw = json.dumps({"verdicts": [{"index": index, "verdict": "old"}]})
    assert [j.verdict for j in read_verdicts(raw, _questions(1), judge="m")] == [Verdict.NEITHER]


def test_b14_a_made_up_index_takes_no_verdict_from_its_neighbours() -> None:
    items = [{"index": "12", "invalidate": "old"}, {"index": 1, "invalidate": "old"}]
    judged = read_verdicts(json.dumps({"verdicts": items}), _questions(2), judge="model")
    assert [j.verdict for j in judged] == [Verdict.NEITHER, Verdict.OLD]


# --- B16: what others say of themselves -------------------------------------------------------

OTHERS_WORDS = [
    "My sister told me she hates sushi.",
    "My mum keeps saying she lives in Porto.",
    "My colleague Piet claims he is allergic to nuts.",
    "Jurre says he loves chess.",
    "I asked my friend Jurre whether he plays football.",
    "My friend Jurre said that I should try football.",
    'My friend Jurre texted: "I live in Lisbon"',
    "“I hate football,” said my friend Jurre.",
    "My friend goes “I'm vegan now”.",
    "Jurre was like 'I hate football'.",
    "My dad: 'I work at Halden.'",
    "> I hate football",
    "Imagine someone says I hate football.",
    "He said I hate football, but that's not true.",
]
UNMARKED_WORDS = [
    "My friend Jurre said: I hate football.",
    "Jurre wrote to me: I moved to Lisbon.",
    "In Jurre's words: I love football.",
]


def _of_the_user(graph_triples: set[tuple[str, str, str]]) -> set[tuple[str, str, str]]:
    """What is claimed of the user, but for who belongs to the user."""
    return {t for t in graph_triples if t[0] == "user" and not t[1].startswith("has ")}


@needs_reports
def test_b16_the_keyless_tier_leaves_a_friends_dislike_with_the_friend() -> None:
    case = report("B16")
    found = triples(extractor().extract(reported_window("B16"), KnownLists()))
    forbidden = {(subject, value) for subject, _, value in case["expected"]["must_not"]}
    assert not forbidden & {(subject, value) for subject, _, value in found}
    assert ("user", "has friend", "jurre") in found


@pytest.mark.parametrize("text", [*OTHERS_WORDS, *UNMARKED_WORDS])
def test_b16_nothing_that_others_say_of_themselves_is_claimed_of_the_user(text: str) -> None:
    assert _of_the_user(triples(extractor().extract(window(text), KnownLists()))) == set()


@needs_reports
@pytest.mark.parametrize("quote", ["he hates football", "my friend Jurre said he hates football"])
def test_b16_the_guards_refuse_a_models_claim_that_the_user_hates_it(quote: str) -> None:
    answered = answer(fact("user | dislikes | football", quote))
    assert claimed(guarded(answered, reported_window("B16"))) == set()


@needs_reports
def test_b16_the_guards_let_through_what_is_true_of_the_friend() -> None:
    answered = answer(
        fact("user | has friend | jurre", "my friend Jurre"),
        fact("jurre | dislikes | football", "he hates football"),
        entities=[{"name": "jurre", "type": "PERSON", "memory_category": "context"}],
    )
    assert claimed(guarded(answered, reported_window("B16"))) == {
        tuple(triple) for triple in report("B16")["expected"]["may"]
    }


@needs_reports
def test_b16_words_that_nobody_said_in_the_first_person_are_no_evidence() -> None:
    answered = answer(fact("user | dislikes | football", "I dislike football"))
    assert guarded(answered, reported_window("B16")).claims == ()


# --- B21: the user's name ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "Jurre",
        "Wojciech",
        "Okonkwo",
        "Tjalling",
        "Sterling",
    ],
)
@pytest.mark.parametrize("opening", ["My name is", "my name is", "Hi! My name is"])
def test_b21_the_keyless_tier_reads_a_name_as_a_name(opening: str, name: str) -> None:
    found = triples(extractor().extract(window(f"{opening} {name}."), KnownLists()))
    assert found == {("user", "has name", name.lower())}
