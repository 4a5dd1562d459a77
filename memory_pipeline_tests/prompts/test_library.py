"""Prompt files: their form, what they promise and whether their examples keep their own rules.

Belongs here: all prompt files and the library. Does not: what stages fill in.
"""

import json
import re
from datetime import UTC, datetime
from uuid import UUID

import pytest

from memory_pipeline.domain.conversation import Message, Role, Window
from memory_pipeline.domain.extraction import Tier
from memory_pipeline.domain.ids import EpisodeId, MessageId, TenantId, ThreadId
from memory_pipeline.prompts.library import (
    CURRENT,
    EXTRACT_GRAPH,
    JUDGE_CONTRADICTIONS,
    REPAIR_ANSWER,
    SUMMARISE_EPISODE,
    PromptError,
    load_prompt,
    parse_prompt,
    recipe_prompts,
)
from memory_pipeline.stages.answer_models import ExtractionAnswer, JudgeAnswer, SummaryAnswer
from memory_pipeline.stages.answers import parse_extraction
from memory_pipeline.stages.guard import guard
from memory_pipeline.stages.windows import estimate_tokens
from memory_pipeline_tests.stages.model_doubles import known

CACHED_FROM_TOKENS = 1_024
"""Providers cache prefixes from this length on."""

GOOD = "---\npurpose: p\ninputs: a\nanswer: A\n---\n<!-- system -->\nRules.\n<!-- user -->\n{{a}}\n"
_EXAMPLE = re.compile(
    r"## (?P<name>Example \d+): [^\n]*\n(?:The user: [^\n]*\nKnown entities:\n(?:- [^\n]*\n)+)?"
    r"Known facts:\n(?P<facts>.*?)\nTranscript:\n(?P<lines>.*?)"
    r"\nAnswer:\n(?P<answer>\{[^\n]*\})\nWhy: ",
    re.DOTALL,
)
_LINE = re.compile(r"\[m(\d+)\] ([a-z ]+?)(?: \((\w+)\))? (\S+) (\w{3}) (\d\d:\d\d) \| (.*)")
EXAMPLES = list(_EXAMPLE.finditer(load_prompt(EXTRACT_GRAPH).system))


@pytest.mark.parametrize("label", CURRENT)
def test_every_prompt_loads_with_a_digest_and_a_citation(label: str) -> None:
    prompt = load_prompt(label)
    assert re.fullmatch(r"[0-9a-f]{64}", prompt.digest)
    assert prompt.citation == f"{label}:{prompt.digest}"
    assert prompt.purpose.endswith(".")


@pytest.mark.parametrize("label", [EXTRACT_GRAPH, JUDGE_CONTRADICTIONS, SUMMARISE_EPISODE])
def test_the_fixed_part_is_long_enough_to_be_cached(label: str) -> None:
    assert estimate_tokens(load_prompt(label).system) > CACHED_FROM_TOKENS


def test_the_repair_prompt_has_no_task_of_its_own() -> None:
    assert load_prompt(REPAIR_ANSWER).system.startswith("# Repair")


@pytest.mark.parametrize("label", [EXTRACT_GRAPH, SUMMARISE_EPISODE, JUDGE_CONTRADICTIONS])
def test_what_is_untrusted_stands_last_between_fences(label: str) -> None:
    assert re.search(r"<<<\{\{fence\}\}\n\{\{\w+\}\}\n\{\{fence\}\}>>>$", load_prompt(label).user)


def test_a_filled_value_that_looks_like_a_placeholder_stays() -> None:
    prompt = parse_prompt("x.v1", GOOD.replace("inputs: a", "inputs: a, b").encode() + b"{{b}}")
    assert prompt.fill({"a": "{{b}}", "b": "{{a}}"}) == "{{b}}\n{{a}}"


def test_a_prompt_is_filled_with_exactly_its_inputs() -> None:
    prompt = parse_prompt("x.v1", GOOD.encode())
    with pytest.raises(PromptError, match="b"):
        prompt.fill({"a": "1", "b": "2"})
    with pytest.raises(PromptError, match="a"):
        prompt.fill({})


@pytest.mark.parametrize(
    "content",
    [
        "",
        "Rules.",
        GOOD.replace("purpose: p\n", ""),
        GOOD.replace("answer: A", "answer:"),
        GOOD.replace("Rules.", "Rules of {{a}}."),
        GOOD.replace("{{a}}", "{{b}}"),
        GOOD.replace("<!-- user -->", ""),
    ],
)
def test_a_malformed_prompt_is_refused(content: str) -> None:
    with pytest.raises(PromptError):
        parse_prompt("x.v1", content.encode())


@pytest.mark.parametrize("label", ["extract_graph", "no_such.v1", "../secret.v1", "X.v1"])
def test_an_unknown_prompt_is_refused(label: str) -> None:
    with pytest.raises(PromptError):
        load_prompt(label)


def test_the_digest_covers_every_byte_of_the_file() -> None:
    changed = GOOD.replace("purpose: p", "purpose: q")
    one, other = (parse_prompt("x.v1", text.encode()).digest for text in (GOOD, changed))
    assert one != other


def test_a_recipe_names_all_current_prompts() -> None:
    assert [label for label, _ in recipe_prompts()] == sorted(CURRENT)


def test_at_least_six_worked_examples_teach_extraction() -> None:
    assert len(EXAMPLES) >= 6
    answers = re.findall(r"^Answer:$", load_prompt(EXTRACT_GRAPH).system, re.MULTILINE)
    assert len(answers) == len(EXAMPLES)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example["name"])
def test_an_example_has_the_shape_that_is_asked_for(example: re.Match[str]) -> None:
    ExtractionAnswer.model_validate_json(example["answer"])


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example["name"])
def test_an_example_passes_the_guards_without_a_loss(example: re.Match[str]) -> None:
    answer = json.loads(example["answer"])
    types = {entity["name"]: entity["type"] for entity in answer["entities"]}
    lines = [line[2:] for line in example["facts"].splitlines() if line.startswith("- ")]
    guarded = guard(
        parse_extraction(example["answer"]),
        _window(example["lines"]),
        known(*(_split_statement(line) for line in lines), entities=_known_types(lines, types)),
        tier=Tier.FAST,
    )
    assert not guarded.dropped
    facts = answer["relationships"] + answer["literal_facts"]
    assert len(guarded.claims) == len(facts)
    assert len(guarded.instructions) == len(answer["instructions"])
    assert len(guarded.uncertainties) == len(answer["uncertainties"])
    edges = {claim.object for claim in guarded.claims if claim.object_is_entity}
    assert edges == {fact["object"] for fact in answer["relationships"]}
    listed = {name for claim in guarded.claims for name in (claim.subject, claim.object)}
    assert set(types) <= listed


@pytest.mark.parametrize("label", [EXTRACT_GRAPH, SUMMARISE_EPISODE])
def test_the_weekdays_of_the_examples_are_right(label: str) -> None:
    lines = _LINE.findall(load_prompt(label).system)
    assert len(lines) > 5
    for _, _, _, day, weekday, _, _ in lines:
        assert datetime.fromisoformat(day).strftime("%a") == weekday


def test_the_judge_examples_have_a_verdict_for_each_pair() -> None:
    system = load_prompt(JUDGE_CONTRADICTIONS).system
    pairs = re.findall(r"^pair (\d+)$", system.partition("# Examples")[2], re.MULTILINE)
    answer = JudgeAnswer.model_validate_json(system[system.rindex('{"verdicts"') :])
    assert [str(verdict.pair) for verdict in answer.verdicts] == pairs
    assert {verdict.verdict for verdict in answer.verdicts} == {"old", "new", "neither"}
    assert {verdict.is_correction for verdict in answer.verdicts} == {True, False}


def test_the_summary_examples_have_the_shape_that_is_asked_for() -> None:
    answers = re.findall(r'^\{"summary".*$', load_prompt(SUMMARISE_EPISODE).system, re.MULTILINE)
    assert len(answers) >= 3
    for answer in answers:
        SummaryAnswer.model_validate_json(answer)


def _split_statement(line: str) -> str:
    """`nora lives in bergen` as subject, predicate and object; names of one or two words."""
    places = re.match(r"(\w+) (.*?) (bergen|nora|latex|vespa primavera|oskar|.*)$", line)
    assert places is not None
    subject, predicate, value = places.groups()
    for phrase in ("works at", "lives in", "is allergic to", "drives", "has cat", "has name"):
        if line.startswith(f"{subject} {phrase} "):
            predicate, value = phrase, line.removeprefix(f"{subject} {phrase} ")
    if predicate == "has":
        relation, _, value = value.partition(" ")
        predicate = f"has {relation}"
    return " | ".join((subject, predicate, value))


def _known_types(lines: list[str], types: dict[str, str]) -> dict[str, str]:
    values = [_split_statement(line).split(" | ") for line in lines]
    return {value: types.get(value, "THING") for _, predicate, value in values}


def _window(lines: str) -> Window:
    messages = []
    for line in lines.splitlines():
        match = _LINE.fullmatch(line)
        assert match is not None, line
        seq, who, _, day, _, clock, text = match.groups()
        role = Role.USER if who in ("user", "other speaker") else Role(who)
        messages.append(
            Message(
                message_id=MessageId(UUID(int=int(seq) + 1)),
                seq=int(seq),
                role=role,
                text=text,
                said_at=datetime.fromisoformat(f"{day}T{clock}").replace(tzinfo=UTC),
                is_own=who == "user",
            )
        )
    return Window(
        tenant_id=TenantId("example"),
        episode_id=EpisodeId(UUID(int=1)),
        thread_id=ThreadId("thread"),
        ordinal=1,
        started_at=messages[0].said_at,
        ended_at=messages[-1].said_at,
        messages=tuple(messages),
    )
