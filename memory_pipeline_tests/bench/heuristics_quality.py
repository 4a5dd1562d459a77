"""Recall and precision of the keyless extractor on annotated messages.

What belongs here: the scorer and its matching rules, stated in `matches`. What does not: gold data.
Run: `python -m memory_pipeline_tests.bench.heuristics_quality FILE.jsonl [--quiet]`.
"""

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from uuid import UUID, uuid5

from pydantic import BaseModel, ConfigDict

from memory_pipeline.domain.conversation import Message, Role, Window
from memory_pipeline.domain.extraction import (
    EntityType,
    ExtractedGraph,
    KnownEntity,
    KnownFact,
    KnownLists,
)
from memory_pipeline.domain.ids import EntityId, EpisodeId, FactId, MessageId, TenantId, ThreadId
from memory_pipeline.stages.heuristics import load_heuristic_extractor

_SPACE = UUID("0f6f4f1c-58f4-5b58-8f5e-6d1d3a1f2b11")
Triple = tuple[str, str, str]


class GoldMessage(BaseModel):
    """A message of a case; `user` messages are the user's own unless a `speaker` is named."""

    model_config = ConfigDict(frozen=True)

    role: Role = Role.USER
    text: str
    said_at: datetime


class GoldCase(BaseModel):
    """A line of the file: messages, what memory should hold, what they end, what it knew."""

    model_config = ConfigDict(frozen=True)

    messages: tuple[GoldMessage, ...]
    facts: tuple[Triple, ...] = ()
    endings: tuple[Triple, ...] = ()
    known: tuple[Triple, ...] = ()
    tags: tuple[str, ...] = ()

    def window(self) -> Window:
        """The case as a window of one thread."""
        return Window(
            tenant_id=TenantId("bench"),
            episode_id=EpisodeId(uuid5(_SPACE, "episode")),
            thread_id=ThreadId("thread"),
            ordinal=1,
            started_at=self.messages[0].said_at,
            ended_at=self.messages[-1].said_at,
            messages=tuple(
                Message(
                    message_id=MessageId(uuid5(_SPACE, str(seq))),
                    seq=seq,
                    role=m.role,
                    text=m.text,
                    said_at=m.said_at,
                    is_own=m.role == Role.USER,
                )
                for seq, m in enumerate(self.messages)
            ),
        )

    def known_lists(self) -> KnownLists:
        """The case's `known` triples as memory would show them, objects as entities."""
        return KnownLists(
            entities=tuple(
                KnownEntity(entity_id=EntityId(uuid5(_SPACE, o)), name=o, type=EntityType.THING)
                for _, _, o in self.known
                if not any(c.isdigit() for c in o)
            ),
            facts=tuple(
                KnownFact(
                    fact_id=FactId(uuid5(_SPACE, " ".join(t))),
                    subject=t[0],
                    predicate=t[1],
                    object=t[2],
                    object_is_entity=not any(c.isdigit() for c in t[2]),
                )
                for t in self.known
            ),
        )


@dataclass(frozen=True)
class Said:
    """A triple that the extractor gave, and whether it says that this is over."""

    triple: Triple
    is_over: bool


# Words that mean the same kind of statement; a predicate belongs to each topic it has a word of.
_TOPIC_WORDS = {
    "work": "work works worked job employed employer hired join joins start starts started role",
    "home": "live lives lived home resides based moves moved hometown residence",
    "origin": "from born raised grew origin",
    "like": "like likes love loves enjoys enjoy fan favourite prefers into supports interested",
    "dislike": "dislike dislikes hate hates detests",
    "own": "own owns has have possesses bought got drives rides uses",
    "study": "study studies studied major degree attends learns learning graduated student phd "
    "enrolled",
    "pass": "passed passes completed finished",
    "speak": "speak speaks fluent language",
    "love": "married marries dating partner girlfriend boyfriend wife husband engaged fiance",
    "age": "age old turns",
    "name": "name named called",
    "health": "allergic allergy intolerant diagnosed condition suffers",
    "plan": "plan plans wants want goal intends planning hopes",
    "travel": "visit visits visited been travelled travels trip",
    "do": "does do goes practises practices plays play",
    "consume": "eat eats drink drinks consumes smokes takes take",
    "fear": "afraid scared fears fear",
    "weigh": "weighs weight",
    "member": "member enrolled signed subscribes subscribed subscription",
}
_TOPICS = {word: topic for topic, text in _TOPIC_WORDS.items() for word in text.split()}
_STOP_TEXT = "a an the my his her their our user user's is has of to in at for as on with"
_STOP = frozenset(_STOP_TEXT.split())
_NEGATIVE = frozenset({"not", "no", "never", "cannot", "can't", "doesn't", "avoids"})
_NUMBER_TEXT = "one two three four five six seven eight nine ten eleven twelve"
_SAME_WORD = {
    **{word: str(n) for n, word in enumerate(_NUMBER_TEXT.split(), start=1)},
    **{"mom": "mother", "mum": "mother", "dad": "father", "kid": "child", "kids": "child"},
    **{"children": "child", "favorite": "favourite", "flatmate": "roommate"},
}
# A gold fact worded in the past ("studied", "used to") may be given as a fact that is over.
_PAST = re.compile(r"^(?:used to|was|were|had|grew|taught|went|\w+ed)\b")


def _words(text: str) -> list[str]:
    found = re.findall(r"[\w'+.-]+", text.lower().replace("\u2019", "'"))
    return [_SAME_WORD.get(word, word) for word in found]


def _stem(word: str) -> str:
    for ending, instead in (("ies", "y"), ("ing", ""), ("es", ""), ("ed", ""), ("s", "")):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: len(word) - len(ending)] + instead
    return word.rstrip("e") if len(word) > 3 else word


def _content(text: str) -> set[str]:
    words = [w.removesuffix("'s") for w in _words(text)]
    return {_stem(w) for w in words if w not in _STOP} or set(words)


def _same_subject(one: str, other: str) -> bool:
    first, second = (s.lower().removeprefix("user's ").removeprefix("my ") for s in (one, other))
    return (
        first == second
        or _content(first) <= _content(second)
        or _content(second) <= _content(first)
    )


def _same_object(gold: str, said: str) -> bool:
    """Half of the gold object's content words are said, and they are a third of what is said.

    An object that is only shorter than the gold one needs a third of its words.
    """
    first, second = _content(gold), _content(said)
    shared = len(first & second)
    needed = 0.33 if second <= first else 0.5
    return shared >= needed * len(first) and shared >= 0.34 * len(second)


def _topics(predicate: str) -> set[str]:
    return {_TOPICS[w] for w in _words(predicate) if w in _TOPICS}


def _same_predicate(gold: str, said: str) -> bool:
    """Equal polarity, and a shared topic of the table or a shared content stem."""
    if bool(set(_words(gold)) & _NEGATIVE) != bool(set(_words(said)) & _NEGATIVE):
        return False
    if _words(gold) == _words(said):
        return True
    if {gold, said} <= {"is", "is a", "is an", "works as"}:  # what somebody is by occupation
        return True
    gold_words, said_words = _content(gold), _content(said)
    return bool(_topics(gold) & _topics(said)) or bool(gold_words & said_words - _STOP)


def matches(gold: Triple, is_ending: bool, said: Said) -> bool:
    """Subject equal but for articles and possessives; object by shared content words; predicate by
    topic or stem with equal polarity; an ending matches only what the extractor says is over, a
    fact only what it does not, unless the gold predicate itself is in the past tense.
    """
    return (
        (is_ending == said.is_over or (said.is_over and bool(_PAST.match(gold[1]))))
        and _same_subject(gold[0], said.triple[0])
        and _same_object(gold[2], said.triple[2])
        and _same_predicate(gold[1], said.triple[1])
    )


def _is_bare_link(triple: Triple) -> bool:
    """(user, has sister, sister): only makes another fact reachable; says nothing to be scored."""
    relation = triple[1].removeprefix("has ")
    return triple[1].startswith("has ") and triple[2] in {relation, f"{triple[0]}'s {relation}"}


def said_by(graph: ExtractedGraph, case: GoldCase) -> list[Said]:
    """What the extractor said, bare links left out."""
    last = max(m.said_at for m in case.messages).date().isoformat()
    facts = (*graph.relationships, *graph.literal_facts)
    found = [
        Said(
            (f.subject, f.predicate, f.object),
            f.valid_until is not None and f.valid_until[:10] <= last,
        )
        for f in facts
    ]
    return [s for s in found if not _is_bare_link(s.triple)]


@dataclass(frozen=True)
class CaseScore:
    """What one case adds to the totals. A second match of one gold fact counts for nothing."""

    found: int
    gold: int
    right: int
    said: int
    missed: tuple[str, ...]
    wrong: tuple[str, ...]


def score_case(case: GoldCase, graph: ExtractedGraph) -> CaseScore:
    """Compares one case with what the extractor gave for it."""
    golds = [(t, False) for t in case.facts if not _is_bare_link(t)]
    golds += [(t, True) for t in case.endings]
    said = said_by(graph, case)
    free = set(range(len(golds)))
    right, wrong, repeated = 0, [], 0
    for item in said:
        hits = [n for n, (t, over) in enumerate(golds) if matches(t, over, item)]
        taken = next((n for n in hits if n in free), None)
        if taken is not None:
            free.discard(taken)
            right += 1
        elif hits:
            repeated += 1
        else:
            wrong.append(f"{item.triple}{' (over)' if item.is_over else ''}")
    missed = tuple(f"{golds[n][0]}{' (over)' if golds[n][1] else ''}" for n in sorted(free))
    return CaseScore(
        len(golds) - len(free), len(golds), right, len(said) - repeated, missed, tuple(wrong)
    )


def read_cases(path: Path) -> list[GoldCase]:
    """The cases of a JSON lines file."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [GoldCase.model_validate_json(line) for line in lines if line.strip()]


def score(cases: Sequence[GoldCase]) -> list[CaseScore]:
    """One score per case, all of them parsed in one batch."""
    graphs = load_heuristic_extractor().extract_many((c.window(), c.known_lists()) for c in cases)
    return [score_case(c, g) for c, g in zip(cases, graphs, strict=True)]


def totals(scores: Sequence[CaseScore]) -> tuple[float, float]:
    """Recall and precision over all cases; 1.0 where there is nothing to divide by."""
    gold, said = sum(s.gold for s in scores), sum(s.said for s in scores)
    found, right = sum(s.found for s in scores), sum(s.right for s in scores)
    return (found / gold if gold else 1.0, right / said if said else 1.0)


def main() -> None:
    """Prints every miss and the two figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--quiet", action="store_true", help="only the figures")
    options = parser.parse_args()
    cases = read_cases(options.file)
    scores = score(cases)
    for case, one in zip(cases, scores, strict=True):
        if not options.quiet and (one.missed or one.wrong):
            print("»", " / ".join(m.text for m in case.messages)[:160])
            for missed in one.missed:
                print("    missed", missed)
            for wrong in one.wrong:
                print("    wrong ", wrong)
    recall, precision = totals(scores)
    silent = [s for s in scores if not s.gold]
    print(
        f"{len(cases)} cases, {sum(s.gold for s in scores)} facts: recall {recall:.2f}, "
        f"precision {precision:.2f}; nothing said in {sum(not s.said for s in silent)} "
        f"of {len(silent)} cases that hold nothing"
    )


if __name__ == "__main__":
    main()
