"""Another worker commits between plan and write: the plan is remade on what it left (spec W2).

Belongs here: every way in which a commit meets a plan, through the production fold. Does not:
what a plan makes of a state in general (domain, cases).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

from memory_pipeline.adapters.conversation_store import ConversationStore
from memory_pipeline.adapters.memory_writer import OutOfOrderError, StalePlanError
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.adapters.tenant_walk import TenantWalk, WalkedEpisode, Workshop
from memory_pipeline.defs.io_managers import FoldedEpisode, fold_episode
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.stages.walk import FoldPlan
from memory_pipeline_tests.crashes.histories import import_episodes, rich_workshop
from memory_pipeline_tests.crashes.workers import broken_rules
from memory_pipeline_tests.scripted import (
    DAY,
    START,
    fold_all,
    import_history,
    memory_content,
    scalar,
    thread,
)

TENANT = TenantId("ann")
KNOWN = (
    "works at: halden; owns: rex; halden / has office in: leeds; speaks: danish until 2023-06-01",
)


@dataclass(frozen=True)
class Interrupted(WalkedEpisode):
    """An episode after each of whose plans something happens."""

    after_plan: Callable[[], None] = lambda: None

    def plan(self, earlier_survivors: frozenset[str] = frozenset()) -> FoldPlan:
        made = super().plan(earlier_survivors)
        self.after_plan()
        return made


@dataclass
class OtherWorker:
    """Imports and folds, after each plan of ours, one episode that lies before ours."""

    database: Database
    says: Sequence[str]
    commits: int = 0

    def __call__(self) -> None:
        if self.commits < len(self.says):
            said = self.says[self.commits]
            self.commits += 1
            at = START + DAY * (1 + 0.1 * self.commits)
            import_history(self.database, [thread(f"early-{self.commits}", (said, at))], TENANT)
            ordinal = 2 + self.commits
            assert fold_all(self.workshop(), TENANT, [ordinal]) == [ordinal]

    def workshop(self) -> Workshop:
        return rich_workshop(self.database, TENANT)


def fold_after_commits(
    database: Database, said: str, *committed: str
) -> tuple[FoldedEpisode | None, OtherWorker]:
    """Fold an episode after each of whose first plans another worker folds another before it."""
    import_episodes(database, TENANT, (KNOWN, (said,)))
    workshop = rich_workshop(database, TENANT)
    assert fold_all(workshop, TENANT, [1]) == [1]
    other = OtherWorker(database, committed)
    for walked in TenantWalk(workshop, TENANT).walk(frozenset({2})):
        folded = fold_episode(database, Interrupted(**vars(walked), after_plan=other))
    assert broken_rules(database, TENANT) == []
    return folded, other


def outcomes(folded: FoldedEpisode | None) -> dict[str, str]:
    assert folded is not None
    return {f.outcome.object: f.outcome.outcome.value for f in folded.plan.changes.outcomes}


def believed(url: str) -> list[tuple[Any, ...]]:
    """Statement, reason of its end and successor's statement of every fact believed now."""
    with psycopg.connect(url) as connection:
        return connection.execute(
            "select f.statement, f.ended_reason, (select s.statement from memory.facts s"
            "  where s.fact_id = f.successor_id and s.version = 1),"
            "  (select e.ordinal from memory.episodes e where e.episode_id = f.opened_by)"
            " from memory.facts f where upper_inf(f.known_time) order by f.statement, f.known_time"
        ).fetchall()


def test_a_survivor_that_another_worker_committed_ends_as_race_and_is_not_doubled(
    database: Database,
) -> None:
    folded, other = fold_after_commits(database, "likes: tea", "likes: tea")
    assert outcomes(folded) == {"tea": "race"}
    assert other.commits == 1
    (tea,) = [row for row in believed(database.url) if row[0] == "user likes tea"]
    assert tea[3] == 3  # opened by the other worker's episode
    cited = "select array_agg(kind order by kind) from memory.fact_evidence where quote like %s"
    assert scalar(database.url, cited, ["likes%"]) == ["asserted", "reinforced"]


def test_the_old_verdicts_of_a_race_apply_with_the_committed_fact_as_successor(
    database: Database,
) -> None:
    # Too unsure to end anything by itself.
    folded, _ = fold_after_commits(
        database, "works at: brightwell", "works at: brightwell sure 0.3"
    )
    assert outcomes(folded) == {"brightwell": "race"}
    work = {row[0]: row[1:] for row in believed(database.url) if "works at" in row[0]}
    assert work == {
        "user works at halden": ("superseded", "user works at brightwell", 1),
        "user works at brightwell": (None, None, 3),
    }


def test_a_claim_that_repeated_a_fact_before_the_commit_is_no_race(database: Database) -> None:
    folded, _ = fold_after_commits(database, "owns: rex; likes: tea", "likes: milk")
    assert outcomes(folded) == {"rex": "reinforced", "tea": "inserted"}


def test_a_new_stay_that_another_worker_committed_is_not_begun_twice(database: Database) -> None:
    folded, _ = fold_after_commits(database, "speaks: danish", "speaks: danish")
    assert outcomes(folded) == {"danish": "race"}
    stays = [row[1] for row in believed(database.url) if row[0] == "user speaks danish"]
    assert stays == ["ended", None]


def test_a_fact_that_a_commit_brought_is_replaced_by_the_remade_plan(database: Database) -> None:
    folded, _ = fold_after_commits(database, "works at: kestrel", "works at: brightwell")
    assert outcomes(folded) == {"kestrel": "inserted"}
    work = {row[0]: row[1:3] for row in believed(database.url) if "works at" in row[0]}
    assert work == {
        "user works at halden": ("superseded", "user works at brightwell"),
        "user works at brightwell": ("superseded", "user works at kestrel"),
        "user works at kestrel": (None, None),
    }


def test_a_fact_that_a_commit_ended_is_not_ended_twice(database: Database) -> None:
    said = "owns: rex until 2024-01-02"
    folded, _ = fold_after_commits(database, said, said)
    assert outcomes(folded) == {"rex": "reinforced"}
    versions = "select count(*) from memory.facts where statement = 'user owns rex'"
    assert scalar(database.url, versions) == 2


def test_what_hangs_on_a_link_that_a_commit_saved_does_not_end(database: Database) -> None:
    folded, _ = fold_after_commits(database, "works at: brightwell", "is customer of: halden")
    assert outcomes(folded) == {"brightwell": "inserted"}
    (office,) = [row for row in believed(database.url) if "office" in row[0]]
    assert office[1] is None


def test_an_entity_that_a_commit_made_is_used_and_not_made_again(database: Database) -> None:
    folded, _ = fold_after_commits(
        database, "is friend of: bob smith", "is friend of: robert smith"
    )
    assert outcomes(folded) == {"robert smith": "race"}
    smiths = "select array_agg(name) from memory.entities where name like %s"
    assert scalar(database.url, smiths, ["%smith"]) == ["robert smith"]


def test_a_plan_that_three_commits_made_stale_is_written_at_the_third_remake(
    database: Database,
) -> None:
    folded, other = fold_after_commits(
        database, "likes: tea", "plays: cello", "speaks: dutch", "likes: tea"
    )
    assert outcomes(folded) == {"tea": "race"}
    assert other.commits == 3


def test_a_plan_stale_for_the_fourth_time_is_an_error_and_writes_nothing(
    database: Database,
) -> None:
    committed = ("plays: cello", "speaks: dutch", "likes: milk", "likes: tea", "likes: soup")
    with pytest.raises(StalePlanError, match="memory moved under 4 plans of episode"):
        fold_after_commits(database, "works at: brightwell", *committed)
    opened = "select count(*) from memory.{} where {} = %s"
    ours = scalar(database.url, "select episode_id from memory.episodes where ordinal = 2")
    for table, column in (
        ("facts", "opened_by"), ("facts", "ended_by"), ("entities", "opened_by"),
        ("folds", "episode_id"), ("claim_outcomes", "episode_id"), ("fact_evidence", "episode_id"),
    ):  # fmt: skip
        assert scalar(database.url, opened.format(table, column), [ours]) == 0
    assert ConversationStore(database).statuses(TENANT, [2]) == {2: "pending"}
    assert fold_all(rich_workshop(database, TENANT), TENANT) == [2]
    assert broken_rules(database, TENANT) == []


def test_an_episode_that_came_before_ours_and_is_still_open_is_not_overtaken(
    database: Database,
) -> None:
    import_episodes(database, TENANT, (KNOWN, ("works at: brightwell",)))
    workshop = rich_workshop(database, TENANT)
    fold_all(workshop, TENANT, [1])
    early = thread("early", ("likes: milk", START + DAY * 1.5))
    for walked in TenantWalk(workshop, TENANT).walk(frozenset({2})):
        walked.plan()  # which keeps the extraction, whatever comes of the write
        before = memory_content(database.url, TENANT)
        late = Interrupted(**vars(walked), after_plan=lambda: _import(database, early))
        with pytest.raises(OutOfOrderError, match="before 2 is still open"):
            fold_episode(database, late)
        break
    assert memory_content(database.url, TENANT) == before


def _import(database: Database, early: Any) -> None:
    import_history(database, [early], TENANT)
