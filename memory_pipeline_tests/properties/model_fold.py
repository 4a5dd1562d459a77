"""What an episode's claims do to the facts, rule by rule, without a thought for speed.

Belongs here: spec D1-D5, J1-J6, W2, W3. Does not: storage. Where no rule decides, the model
follows the product, and the comment says so.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from memory_pipeline.domain.changes import Verdict
from memory_pipeline_tests.properties.histories import (
    THRESHOLDS,
    Answer,
    Episode,
    History,
)
from memory_pipeline_tests.properties.model import FIRST, LAST, Belief, Fact, Memory, Version
from memory_pipeline_tests.properties.model_claims import Said, differ, guarded, merged

_DUPLICATE, _BAND_LOW = THRESHOLDS
_TICK = timedelta(microseconds=1)


def told(history: History) -> Memory:
    """The memory after all episodes."""
    memory = Memory()
    for number, episode in enumerate(history.episodes):
        _Fold(history, memory, number, episode).run()
    return memory


@dataclass(frozen=True)
class _Judged:
    """A pair with its answer; `kind` says which rule sent it to the judge."""

    said: Said
    fact: Fact
    kind: str
    answer: Answer


@dataclass
class _Fold:
    """One episode on its way into memory; `beliefs` is what each fact becomes."""

    history: History
    memory: Memory
    number: int
    episode: Episode
    beliefs: dict[Fact, Belief | None] = field(default_factory=dict)
    judged: list[_Judged] = field(default_factory=list)
    survivors: list[Said] = field(default_factory=list)
    closures: list[tuple[Fact, datetime]] = field(default_factory=list)
    born: dict[int, Fact] = field(default_factory=dict)

    def run(self) -> None:
        claims = merged(guarded(self.episode, self.memory))
        self.known_at = self.memory.next_known(self.episode.ended_at)
        self.beliefs = {fact: fact.now for fact in self.memory.believed()}
        before = self._linked_until({fact: fact.now for fact in self.beliefs})
        self.ends: dict[Fact, datetime] = {}
        self.ending: dict[int, Fact] = {}
        for said in sorted((s for s in claims if s.has_end and s.is_sure), key=lambda s: s.end):
            self._read_ending(said)
        for said in claims:
            self._place(said)
        refuted = {j.said.place for j in self.judged if j.answer.verdict is Verdict.NEW}  # J4
        old = [j for j in self.judged if j.answer.verdict is Verdict.OLD]
        for said in self.survivors:
            if said.place not in refuted and not self._insert(
                said, [j for j in old if j.said is said]
            ):
                refuted.add(said.place)
        never_true = {
            j.fact
            for j in old
            if j.said.place not in refuted
            and j.answer.is_correction
            and j.kind not in ("restated", "redated")
        }
        refuted |= self._withdraw_unlinked(never_true)
        for fact, until in self.closures:
            self._close(fact, until)
        for judged in sorted(old, key=lambda j: (j.said.start, j.said.place)):
            if judged.said.place not in refuted:
                self._replace(judged)
        self._cascade(before)
        self._remember()

    # -------------------------------------------------------------- one claim (D1-D5)

    def _read_ending(self, said: Said) -> None:
        """What begins behind an end of the same breath is another stay (D4)."""
        same = [f for f in self.beliefs if f.triple == said.triple and self._is_about(said, f)]
        if same:
            fact = min(same, key=lambda fact: _distance(said, fact))
            if said.end != self._end(fact):
                self.ending[said.place], self.ends[fact] = fact, said.end

    def _end(self, fact: Fact) -> datetime:
        return self.ends.get(fact, fact.now.end)

    def _place(self, said: Said) -> None:
        if said.place in self.ending:
            self._repeat(said, self.ending[said.place])
            return
        same = [f for f in self.beliefs if f.triple == said.triple and self._is_about(said, f)]
        if same:
            self._repeat(said, min(same, key=lambda fact: _distance(said, fact)))
        elif said.has_end or not self._is_near_duplicate(said):
            self.survivors.append(said)
            if said.is_sure:  # J5
                for fact in self.memory.live(said.said_at):
                    kind = self._pair_kind(said, fact)
                    if kind is not None:
                        self._ask(said, fact, kind)

    def _is_about(self, said: Said, fact: Fact) -> bool:
        """Whether the claim speaks of this stay of its triple (D1, D4)."""
        start, end = fact.now.start, self._end(fact)
        if end <= said.said_at:
            # No rule says who repeats what is over: only who knows that it is over.
            return said.has_end and said.start < end and start < said.end
        if said.has_stated_start and said.start >= end:
            return False
        if said.end > start:
            return True
        # Both starts are only when it was said: the end is of the one stay there is.
        return not (said.has_stated_start or fact.now.has_stated_start)

    def _repeat(self, said: Said, fact: Fact) -> None:
        is_redated = said.has_stated_start and said.start != fact.now.start
        kind = "redated" if is_redated else None
        if said.has_end and said.end != fact.now.end:
            if not said.is_sure:
                return  # D2
            self.closures.append((fact, said.end))
        elif not said.has_end and fact.now.end != LAST:
            kind = "restated"
        if kind is not None and said.is_sure:
            self._ask(said, fact, kind)

    def _is_near_duplicate(self, said: Said) -> bool:
        held = [
            (fact.triple, fact.statement)
            for fact in self.memory.live(said.said_at)
            if self._end(fact) > said.said_at
            and not (
                said.has_stated_start
                and (
                    said.start >= self._end(fact)
                    or (fact.now.has_stated_start and said.start != fact.now.start)
                )
            )  # two stays (D4), another date (D3)
        ]
        held += [
            (other.triple, other.candidate.statement)
            for other in self.survivors
            if not other.has_end
            and not (said.has_stated_start and other.has_stated_start and said.start != other.start)
        ]
        return any(
            triple[0] == said.candidate.subject
            and self.history.cosine(said.candidate.statement, statement) >= _DUPLICATE
            and not differ(said.triple, triple)
            for triple, statement in held
        )

    # -------------------------------------------------------------- judging (J1, J3)

    def _pair_kind(self, said: Said, fact: Fact) -> str | None:
        subject, predicate, target = said.triple
        if fact.subject != subject:
            return None
        if fact.predicate == predicate and fact.object == target:
            return None  # two stays (D4)
        if fact.object == target and said.has_end:
            return "ending"
        if said.is_history:
            return None  # J5
        if fact.predicate == predicate:
            return "slot"
        cosine = self.history.cosine(said.candidate.statement, fact.statement)
        if cosine >= _DUPLICATE:
            return "differing"  # D3
        return "band" if cosine >= _BAND_LOW and fact.object != target else None

    def _ask(self, said: Said, fact: Fact, kind: str) -> None:
        start = None if fact.now.start == FIRST else fact.now.start
        answer = self.history.answer(said.said_at, said.candidate.statement, fact.statement, start)
        self.judged.append(_Judged(said, fact, kind, answer))

    # -------------------------------------------------------------- what follows (J6, W2)

    def _insert(self, said: Said, old: list[_Judged]) -> bool:
        """A new fact; it ends where the first fact begins that it changes but does not follow.

        False where no time is left for it. No rule says where such a claim goes: it changes as
        little as a refuted one.
        """
        later = [
            judged.fact
            for judged in old
            if judged.kind != "ending"
            and not judged.answer.is_correction
            and said.start <= judged.fact.now.start
        ]
        belief = Belief(
            said.start,
            said.end,
            said.has_stated_start,
            "stated" if said.has_end else None,
            self.number if said.has_end else None,
        )
        first = min(later, key=lambda fact: (fact.now.start, fact.statement), default=None)
        if first is not None and first.now.start < said.end:
            belief = replace(
                belief,
                end=first.now.start,
                ending="superseded",
                ended_by=self.number,
                heir=first,
            )
        if belief.start >= belief.end:
            return False
        fact = Fact(*said.triple, said.candidate.is_edge, said.confidence)
        fact.versions.append(Version(belief, self.known_at))
        self.born[said.place] = fact
        self.beliefs[fact] = belief
        return True

    def _replace(self, judged: _Judged) -> None:
        fact, said = judged.fact, judged.said
        if judged.kind == "restated":
            self._reopen(fact)
        elif judged.kind == "redated":
            self._redate(fact, said.start)
        elif judged.kind == "ending" and not judged.answer.is_correction:
            self._close(fact, said.end)
        elif said.place in self.born:
            heir = self.born[said.place]
            if judged.answer.is_correction:
                self.beliefs[fact] = None
            else:
                self._supersede(fact, heir)

    def _close(self, fact: Fact, until: datetime) -> None:
        now = self.beliefs[fact]
        if now is None or (now.end, now.ending) == (until, "stated"):
            return
        if now.start >= until:
            if now.has_stated_start:
                return  # no rule says what an end before a stated start means
            now = replace(now, start=FIRST)
        self.beliefs[fact] = replace(now, end=until, ending="stated", ended_by=self.number)

    def _supersede(self, fact: Fact, heir: Fact) -> None:
        now, begins = self.beliefs[fact], self._now(heir).start
        if now is None or begins <= now.start:
            return
        if now.ending == "stated":
            # A stated end beats a derived one.
            if now.heir is None:
                self.beliefs[fact] = replace(now, heir=heir)
        elif begins < now.end:
            self.beliefs[fact] = replace(
                now, end=begins, ending="superseded", ended_by=self.number, heir=heir
            )

    def _reopen(self, fact: Fact) -> None:
        now = self.beliefs[fact]
        if now is not None and now.end != LAST and not self._has_stay(fact, now.end, LAST):
            self.beliefs[fact] = replace(now, end=LAST, ending=None, ended_by=None, heir=None)

    def _redate(self, fact: Fact, start: datetime) -> None:
        now = self.beliefs[fact]
        if now is None or start >= now.end:
            return
        if start < now.start and self._has_stay(fact, start, now.start):
            return
        self.beliefs[fact] = replace(now, start=start, has_stated_start=True)

    def _has_stay(self, fact: Fact, start: datetime, end: datetime) -> bool:
        """Whether the triple holds by another fact somewhere between (D4: stays keep apart)."""
        return any(
            other is not fact
            and other.triple == fact.triple
            and belief is not None
            and belief.start < end
            and start < belief.end
            for other, belief in self.beliefs.items()
        )

    def _now(self, fact: Fact) -> Belief:
        belief = self.beliefs[fact]
        assert belief is not None
        return belief

    # -------------------------------------------------------------- lost links (X3, W3)

    def _withdraw_unlinked(self, never_true: set[Fact]) -> set[int]:
        """Places of new facts about what no believed link, of whatever time, leads to."""
        withdrawn: set[int] = set()
        while True:
            ever = {
                f: None if b is None or f in never_true else replace(b, end=LAST)
                for f, b in self.beliefs.items()
            }
            linked = self._linked_until(ever)
            lost = {p: fact for p, fact in self.born.items() if fact.subject not in linked}
            if not lost:
                return withdrawn
            for place, fact in lost.items():
                del self.born[place], self.beliefs[fact]
            withdrawn |= set(lost)

    def _cascade(self, before: dict[str, datetime]) -> None:
        while self._end_lost(before):
            pass  # what hung on a link that is dropped is lost as well

    def _end_lost(self, before: dict[str, datetime]) -> bool:
        after, is_any_dropped = self._linked_until(self.beliefs), False
        for fact, now in list(self.beliefs.items()):
            if now is None or fact.subject == "user":
                continue
            until, is_new = after.get(fact.subject, FIRST), fact in self.born.values()
            is_told = is_new or now.end > fact.now.end or now.start < fact.now.start
            # No rule says of what is told behind a link: it lasts no longer than the link.
            is_told_behind = is_told and now.start < until
            if not is_told_behind and (is_new or until >= before.get(fact.subject, FIRST)):
                continue
            if until == FIRST:
                until = self.known_at  # the link was never true: no instant of its own
            if until >= now.end:
                continue
            if until == fact.now.end and not is_new:
                self.beliefs[fact] = replace(
                    fact.now, start=now.start, has_stated_start=now.has_stated_start
                )
            else:
                self._end_with_link(fact, now, until)
                is_any_dropped |= self.beliefs[fact] is None
        return is_any_dropped

    def _end_with_link(self, fact: Fact, now: Belief, until: datetime) -> None:
        if now.start >= until:
            if now.has_stated_start:
                self.beliefs[fact] = None
                return
            now = replace(now, start=FIRST)
        self.beliefs[fact] = replace(now, end=until, ending="cascade", ended_by=self.number)

    def _linked_until(
        self, beliefs: dict[Fact, Belief] | dict[Fact, Belief | None]
    ) -> dict[str, datetime]:
        until = {"user": LAST}
        is_moving = True
        while is_moving:
            is_moving = False
            for source, target, end in _links(beliefs):
                found = min(until.get(source, FIRST), end)
                if found > until.get(target, FIRST):
                    until[target] = found
                    is_moving = True
        return until

    def _remember(self) -> None:
        for fact, belief in self.beliefs.items():
            if fact in self.born.values():
                if belief is not None:
                    fact.versions[-1] = Version(belief, self.known_at)
                    self.memory.facts.append(fact)
            else:
                self.memory.revise(fact, belief, self.known_at)


def _links(
    beliefs: dict[Fact, Belief] | dict[Fact, Belief | None],
) -> Iterator[tuple[str, str, datetime]]:
    for fact, belief in beliefs.items():
        if fact.is_edge and belief is not None:
            yield fact.subject, fact.object, belief.end
            if fact.object == "user":
                yield "user", fact.subject, belief.end


def _distance(said: Said, fact: Fact) -> tuple[bool, bool, datetime]:
    """The stay that holds when the claim speaks of comes first, then live ones."""
    if said.has_end:
        spoken_of = said.end - _TICK
    else:
        spoken_of = said.start if said.has_stated_start else said.said_at
    return (not fact.now.holds_at(spoken_of), fact.now.end <= said.said_at, fact.now.start)
