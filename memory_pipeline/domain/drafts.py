"""Drafts: what the facts of one episode's plan become, before any of it is written.

Belongs here: closing, superseding, dropping, re-dating and the cascade, each on one fact.
Does not: which claim or verdict asks for it (domain/plan).
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from memory_pipeline.domain.changes import VersionClosure
from memory_pipeline.domain.fact import (
    FIRST_INSTANT,
    EndedReason,
    FactVersion,
    end_of,
    start_of,
)
from memory_pipeline.domain.ids import EntityId, EpisodeId, FactId
from memory_pipeline.domain.reach import linked_ever, linked_until


@dataclass
class Draft:
    """What a fact becomes: `before` is the believed version, None for a new fact."""

    before: FactVersion | None
    now: FactVersion
    is_dropped: bool = False

    @property
    def is_told_to_hold(self) -> bool:
        """Whether the episode says that the fact holds at times at which it was not known to."""
        before, now = self.before, self.now
        if before is None:
            return True
        is_longer = end_of(now.valid_until) > end_of(before.valid_until)
        return is_longer or start_of(now.valid_from) < start_of(before.valid_from)


@dataclass
class FactDrafts:
    """The believed facts a plan knows and the new ones it makes; nothing given is changed."""

    facts: Iterable[FactVersion]
    episode_id: EpisodeId
    known_at: datetime
    by_id: dict[FactId, Draft] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.by_id = {f.fact_id: Draft(before=f, now=f) for f in self.facts}

    def add(self, fact: FactVersion) -> None:
        """A new fact."""
        self.by_id[fact.fact_id] = Draft(before=None, now=fact)

    def close(self, fact_id: FactId, until: datetime, reason: EndedReason) -> None:
        """End a fact at `until`; a start that was only a message's time gives way to it.

        A stated start behind `until` does not: the ending speaks of an earlier stay and changes
        nothing, but a cascade leaves the fact no period at all.
        """
        draft = self.by_id[fact_id]
        now = draft.now
        if draft.is_dropped or (now.valid_until, now.ended_reason) == (until, reason):
            return
        if now.valid_from is not None and now.valid_from >= until:
            if now.has_stated_start:
                if reason is EndedReason.CASCADE:
                    self.drop(fact_id, reason, None)
                return
            now = now.model_copy(update={"valid_from": None})
        self._revise(now, valid_until=until, ended_reason=reason, ended_by=self.episode_id)

    def supersede(self, fact_id: FactId, heir: FactId) -> None:
        """End a fact where its heir begins; the first of several heirs is the successor."""
        draft = self.by_id[fact_id]
        now, start = draft.now, start_of(self.by_id[heir].now.valid_from)
        if draft.is_dropped or start <= start_of(now.valid_from):
            return
        if now.ended_reason is EndedReason.ENDED and now.valid_until is not None:
            # An end the user stated beats a derived one.
            if now.successor_id is None:
                self._revise(now, successor_id=heir)
            return
        if start < end_of(now.valid_until):
            self._revise(
                now,
                valid_until=start,
                ended_reason=EndedReason.SUPERSEDED,
                ended_by=self.episode_id,
                successor_id=heir,
            )

    def reopen(self, fact_id: FactId) -> None:
        """Take a fact's end away, unless a later stay of the same triple follows it."""
        draft = self.by_id[fact_id]
        until = draft.now.valid_until
        if draft.is_dropped or until is None or self._has_stay_between(draft.now, until, None):
            return
        self._revise(
            draft.now, valid_until=None, ended_reason=None, ended_by=None, successor_id=None
        )

    def redate(self, fact_id: FactId, start: datetime | None) -> None:
        """Move a fact's start to a stated one, unless another stay lies there."""
        draft = self.by_id[fact_id]
        now = draft.now
        if draft.is_dropped or start is None or start >= end_of(now.valid_until):
            return
        if start < start_of(now.valid_from) and self._has_stay_between(now, start, now.valid_from):
            return
        self._revise(now, valid_from=start, has_stated_start=True)

    def _has_stay_between(self, fact: FactVersion, start: datetime, end: datetime | None) -> bool:
        """Whether another believed fact of the triple holds somewhere in `[start, end)`."""
        return any(
            is_same_triple(d.now, fact)
            and d.now.fact_id != fact.fact_id
            and not d.is_dropped
            and start_of(d.now.valid_from) < end_of(end)
            and start < end_of(d.now.valid_until)
            for d in self.by_id.values()
        )

    def withdraw_unlinked(
        self, user_id: EntityId, never_true: Collection[FactId] = ()
    ) -> list[FactId]:
        """Take back new facts about what no believed link, of whatever time, leads to (X3).

        Facts that the episode corrects link nothing, though they are not dropped yet.
        """
        withdrawn: list[FactId] = []
        while True:
            linked = linked_ever(
                user_id,
                [
                    d.now
                    for fact_id, d in self.by_id.items()
                    if not d.is_dropped and fact_id not in never_true
                ],
            )
            lost = [
                fact_id
                for fact_id, draft in self.by_id.items()
                if draft.before is None and draft.now.subject_id not in linked
            ]
            if not lost:
                return withdrawn
            for fact_id in lost:
                del self.by_id[fact_id]
            withdrawn += lost

    def drop(self, fact_id: FactId, reason: EndedReason, heir: FactId | None) -> None:
        """Believe a fact no more: its known time ends, no version follows."""
        draft = self.by_id[fact_id]
        if draft.is_dropped:
            return
        draft.is_dropped = True
        self._revise(draft.now, ended_reason=reason, ended_by=self.episode_id, successor_id=heir)

    def _revise(self, fact: FactVersion, **changes: object) -> None:
        self.by_id[fact.fact_id].now = fact.model_copy(update=changes)

    def cascade(self, user_id: EntityId) -> None:
        """Facts about what is no longer reachable from the user end with the last link (W3)."""
        before = linked_until(user_id, [d.before for d in self.by_id.values() if d.before])
        while self._end_with_links(user_id, before):
            pass  # what was dropped, a link maybe, takes along what hung on it

    def _end_with_links(self, user_id: EntityId, before: Mapping[EntityId, datetime]) -> bool:
        """End what its links do not hold as long as it lasts; whether a fact was dropped."""
        after = linked_until(user_id, [d.now for d in self.by_id.values() if not d.is_dropped])
        lasting = [d for d in self.by_id.values() if not d.is_dropped]
        for draft in lasting:
            fact = draft.now
            reach = after.get(fact.subject_id, FIRST_INSTANT)
            # What is told behind a link that is over stays; behind one that will end, it ends.
            is_told_behind = draft.is_told_to_hold and start_of(fact.valid_from) < reach
            is_left = draft.before is not None and reach < before.get(
                fact.subject_id, FIRST_INSTANT
            )
            if fact.subject_id == user_id or not (is_told_behind or is_left):
                continue
            # A link that was never true leaves no instant of its own.
            until = reach if reach > FIRST_INSTANT else self.known_at
            if until >= end_of(fact.valid_until):
                continue
            if draft.before is not None and draft.before.valid_until == until:
                self._keep_end(draft.before, fact)
            else:
                self.close(fact.fact_id, until, EndedReason.CASCADE)
        return any(draft.is_dropped for draft in lasting)

    def _keep_end(self, before: FactVersion, now: FactVersion) -> None:
        """Leave a fact the end it had, and why."""
        kept = ("valid_until", "ended_reason", "ended_by", "successor_id")
        self._revise(now, **{name: getattr(before, name) for name in kept})

    def changed(self) -> list[Draft]:
        """What is not as it was."""
        return [d for d in self.by_id.values() if d.is_dropped or d.now != d.before]

    def closures(self) -> tuple[VersionClosure, ...]:
        """The end of every believed version that changed."""
        found = [_closure_of(d, d.before) for d in self.changed() if d.before is not None]
        return tuple(sorted(found, key=lambda c: str(c.fact_id)))

    def versions(self) -> tuple[FactVersion, ...]:
        """One version for each changed fact, however many changes met in the episode."""
        found = [self._version_of(d) for d in self.changed() if not d.is_dropped]
        return tuple(sorted(found, key=lambda v: str(v.fact_id)))

    def _version_of(self, draft: Draft) -> FactVersion:
        if draft.before is None:
            return draft.now
        update = {"version": draft.before.version + 1, "known_from": self.known_at}
        return draft.now.model_copy(update=update)


def _closure_of(draft: Draft, before: FactVersion) -> VersionClosure:
    return VersionClosure(
        fact_id=before.fact_id,
        version=before.version,
        dropped_reason=draft.now.ended_reason if draft.is_dropped else None,
        dropped_for=draft.now.successor_id if draft.is_dropped else None,
    )


def is_same_triple(one: FactVersion, other: FactVersion) -> bool:
    """Whether two facts say the same, whenever they hold."""
    # The predicate first: of many facts compared most differ in it.
    return (
        one.predicate == other.predicate
        and one.subject_id == other.subject_id
        and one.object_key() == other.object_key()
    )
