"""Follows a chain of verbs to the one that carries the fact (`used to work`, `plan to visit`).

What belongs here: what each link of the chain does to the fact. What does not: its objects.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memory_pipeline.stages.heuristic_rules.clauses import Clause, Tense, auxiliaries
from memory_pipeline.stages.heuristic_rules.predicates import third_person
from memory_pipeline.stages.heuristic_rules.words import words

if TYPE_CHECKING:
    from spacy.tokens import Token


@dataclass(frozen=True)
class Chain:
    """The verb that carries the fact, and what the verbs above it say about it.

    `wants` is a predicate put before the verb (`plans to`); `likes` one whose object is what the
    verb does (`loves` + `playing chess`).
    """

    verb: Token
    top: Token
    tense: Tense
    negated: bool
    modal: str = ""
    wants: str = ""
    likes: str = ""
    is_ended: bool = False
    is_history: bool = False
    is_started: bool = False


_MEANS = frozenset(
    {"use", "take", "run", "drive", "ride", "play", "wear", "learn", "study", "save", "buy", "get"}
)
_STOPS = frozenset(["stop", "quit", "cease", "discontinue"])
_STARTS = frozenset(["start", "begin", "resume"])
_KEEPS = frozenset(["keep", "continue"])
_WANTS = words("verbs", "wants")
_LIKES = words("verbs", "likes")
_LEARNS = frozenset(["learn"])
_DEAD_ENDS = words("verbs", "dead_ends")


def lemma_of(verb: Token) -> str:
    """The base form; the tagger's slips on common third persons are put right."""
    slips = {
        "hat": "hate",
        "life": "live",
        "lives": "live",
        "work": "work",
        "hating": "hate",
        "hop": "hope",
    }
    lemma = verb.lemma_.lower()
    if verb.lower_ == "got" and any(
        c.lower_ in {"'ve", "have", "has", "'s"} for c in verb.children
    ):
        return "have"
    if lemma in {"'s", "'m", "'re", "is", "am", "are", "was"}:
        return "be"
    if verb.lower_ in {"hates", "hated"}:
        return "hate"
    if verb.lower_ in {"lives", "lived", "living"}:
        return "live"
    if verb.lower_ in {"works", "plays", "loves", "drives", "runs", "likes"}:
        return verb.lower_[:-1]
    if verb.lower_ in {"studies", "teaches"}:
        return {"studies": "study", "teaches": "teach"}[verb.lower_]
    if verb.lower_ == "found" and any(c.dep_ == "dobj" for c in verb.children):
        return "find"
    if (
        lemma == verb.lower_
        and lemma.endswith("ed")
        and not lemma.endswith("eed")
        and len(lemma) > 4
    ):
        return lemma[:-2]
    return slips.get(lemma, lemma)


def _next_verb(verb: Token) -> Token | None:
    for child in verb.children:
        if child.dep_ in {"xcomp", "ccomp"} and child.pos_ in {"VERB", "AUX"} and child.i > verb.i:
            own = any(c.dep_ in {"nsubj", "nsubjpass"} for c in child.children)
            if child.dep_ == "xcomp" and not own:
                return child
            if child.dep_ == "ccomp" and child.tag_ in {"VBG", "VB"} and not own:
                return child
    return None


def _is_purpose(verb: Token, below: Token) -> bool:
    """`I use Notion to plan my week`: the second verb is only what for."""
    return lemma_of(verb) in _MEANS and any(
        c.dep_ == "dobj" and c.i < below.i for c in verb.children
    )


def follow(clause: Clause) -> Chain | None:
    """The chain of a clause; None when it ends where nothing durable can be said."""
    chain = Chain(clause.head, clause.head, clause.tense, clause.negated, clause.modal)
    if clause.head.lower_ == "got" and clause.tense == Tense.PERFECT:
        chain = replace(chain, tense=Tense.PRESENT)
    for _ in range(4):
        below = _next_verb(chain.verb)
        if below is not None and (lemma_of(chain.verb) == "be" or _is_purpose(chain.verb, below)):
            return chain
        if below is None:
            return _stopped_thing(chain)
        step = _step(chain, below)
        if step is None:
            return None
        chain = step
    return chain


def _step(chain: Chain, below: Token) -> Chain | None:
    lemma = lemma_of(chain.verb)
    has_to = any(c.lower_ == "to" and c.dep_ == "aux" for c in below.children)
    if any(c.dep_ == "neg" for c in below.children):
        chain = replace(chain, negated=not chain.negated)
    is_used_to = chain.verb.lower_ in {"used", "use"} and below.i <= chain.verb.i + 3
    if lemma == "use" and has_to and is_used_to:
        return replace(chain, verb=below, is_history=True, tense=Tense.PRESENT)
    if lemma in _STOPS:
        return None if has_to else replace(chain, verb=below, is_ended=True, tense=Tense.PRESENT)
    if lemma in _STARTS:
        return replace(chain, verb=below, is_started=True, tense=Tense.PRESENT)
    if lemma in _KEEPS:
        return replace(chain, verb=below, tense=Tense.PRESENT)
    if lemma == "go" and has_to and chain.verb.tag_ == "VBG":
        return replace(chain, verb=below, tense=Tense.FUTURE)
    return _attitude(chain, below, lemma, has_to)


def _attitude(chain: Chain, below: Token, lemma: str, has_to: bool) -> Chain | None:
    would = chain.modal in {"would", "'d"}
    has_decided = lemma == "decide" and chain.tense in {Tense.PAST, Tense.PERFECT}
    if has_decided and chain.negated:
        return replace(chain, verb=below, wants="does not want", tense=Tense.PRESENT, negated=False)
    is_over = chain.tense == Tense.PAST and not has_decided
    if lemma in _WANTS and (is_over or _is_unlasting(lemma, below)):
        return None
    if lemma in _WANTS or (would and lemma in {"like", "love"}):
        verb = "want" if would else lemma
        return replace(
            chain,
            verb=below,
            wants=_joined(chain, verb),
            modal="",
            tense=Tense.PRESENT,
            negated=False,
        )
    if lemma == "try" and chain.tense == Tense.PROGRESSIVE and lemma_of(below) in _RESOLUTIONS:
        return replace(chain, verb=below, wants="tries", tense=Tense.PRESENT, negated=False)
    if lemma in _LEARNS and chain.negated:
        return None
    if lemma in _LIKES or lemma in _LEARNS:
        return replace(chain, verb=below, likes=_joined(chain, lemma))
    if lemma in {"go", "practise", "practice"} and below.tag_ == "VBG":
        lasts = chain.tense in {Tense.PRESENT, Tense.PERFECT} or chain.is_history
        return replace(chain, verb=below, likes="does") if lasts else None
    return None


def _is_unlasting(lemma: str, below: Token) -> bool:
    """`want to ask`, `want to find`: what is wanted from the listener, now."""
    return lemma in {"want", "look", "decide"} and lemma_of(below) in _UNLASTING_WANTS


def _joined(chain: Chain, lemma: str) -> str:
    if lemma in {"like", "enjoy", "love", "stand", "mind", "fancy"} and (
        chain.negated or lemma == "stand"
    ):
        return "dislikes"
    prefix = "does not " if chain.negated else ""
    return prefix + (lemma if prefix else third_person(lemma))


def _stopped_thing(chain: Chain) -> Chain:
    """`quit coffee`, `stopped smoking` with the gerund taken for a noun."""
    if lemma_of(chain.verb) in _STOPS and chain.verb is chain.top:
        return replace(chain, is_ended=True)
    return chain


def is_passive(verb: Token) -> bool:
    """Whether something is done to the subject."""
    return any(c.dep_ == "auxpass" for c in verb.children) or any(
        a.dep_ == "auxpass" for a in auxiliaries(verb)
    )


_UNLASTING_WANTS = words("verbs", "unlasting_wants")
_RESOLUTIONS = frozenset({"lose", "quit", "learn", "save", "reduce", "conceive", "adopt"})
_DOUBLED = words("verbs", "doubled")


def gerund(verb: Token) -> str:
    """The -ing form of a verb."""
    if verb.tag_ == "VBG":
        return verb.lower_
    lemma = lemma_of(verb)
    if lemma.endswith("ie"):
        return lemma[:-2] + "ying"
    if lemma.endswith("e") and not lemma.endswith(("ee", "ye", "oe")) and lemma != "be":
        return lemma[:-1] + "ing"
    return lemma + (lemma[-1] if lemma in _DOUBLED else "") + "ing"
