"""What stands in a tenant's tables, and what must hold of it whatever was folded.

Belongs here: reading rows as they are, checks that need no model. Does not: the model's reads.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from memory_pipeline.adapters.postgres import Row
from memory_pipeline_tests.properties.model import FIRST, LAST
from memory_pipeline_tests.properties.running import Tenant

Rows = Mapping[tuple[str, str], Mapping[str, Any]]
"""Content of rows by table and key."""

_MAY_CHANGE = {
    "facts": {"known_time", "known_until", "dropped_reason", "dropped_by", "dropped_for"},
    "entities": {"last_linked_at"},
    "uncertainties": {"resolved_by", "resolved_at"},
}
"""Columns that a later episode may set; nothing else of a stored row ever changes (W4)."""


@lru_cache(maxsize=1)
def _statements() -> dict[str, str]:
    text = Path(__file__).with_name("rows.sql").read_text(encoding="utf-8")
    parts = re.split(r"^-- name: (\w+)\s*$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def _read(tenant: Tenant, name: str) -> list[Row]:
    with tenant.database.tenant(tenant.tenant_id) as connection:
        statement = _statements()[name].encode()
        return connection.execute(statement, {"tenant_id": tenant.tenant_id}).fetchall()


def stored_rows(tenant: Tenant) -> Rows:
    """Every row that folds write, vectors apart."""
    rows = _read(tenant, "stored_rows")
    found = {(row["place"], row["key"]): row["content"] for row in rows}
    assert len(found) == len(rows)
    return found


def checksums(tenant: Tenant) -> list[tuple[str, int, str | None]]:
    """Row count and checksum of each of the tenant's tables."""
    rows = _read(tenant, "tenant_checksums")
    return [(row["place"], row["row_count"], row["checksum"]) for row in rows]


def assert_only_grew(before: Rows, after: Rows) -> None:
    """No row is gone, and what was written only got the marks that a later episode may set."""
    for (place, key), old in before.items():
        assert (place, key) in after, f"{place} {key} was deleted"
        new = after[place, key]
        changed = {column for column in old if old[column] != new[column]}
        assert changed <= _MAY_CHANGE.get(place, set()), f"{place} {key}: {changed} changed"
        if place == "facts" and changed:
            assert _is_open(old["known_time"]), f"{key} was closed already"
            assert not _is_open(new["known_time"]), f"{key} changed and is believed still"
            assert _lower(old["known_time"]) == _lower(new["known_time"])


def _is_open(period: str) -> bool:
    return period.endswith(",)")


def _lower(period: str) -> str:
    return period.partition(",")[0]


def versions(tenant: Tenant) -> list[Row]:
    """All versions with their bounds, oldest first within a fact."""
    return _read(tenant, "fact_versions")


def assert_sound(tenant: Tenant, rows: Sequence[Row]) -> None:
    """What must hold of the versions and instants of every tenant (W2, W4, design's words)."""
    open_ended = Counter(
        row["triple_key"]
        for row in rows
        if row["known_until"] is None and row["valid_until"] is None
    )
    assert all(count == 1 for count in open_ended.values()), "two open-ended facts of a triple"
    by_fact: defaultdict[object, list[Row]] = defaultdict(list)
    for row in rows:
        assert not row["is_empty"], f"an empty period: {row}"
        assert (row["valid_from"] or FIRST) < (row["valid_until"] or LAST)
        assert row["known_from"] < (row["known_until"] or LAST)
        by_fact[row["fact_id"]].append(row)
    for fact in by_fact.values():
        assert [row["version"] for row in fact] == list(range(1, len(fact) + 1))
        for earlier, later in pairwise(fact):
            assert earlier["known_until"] == later["known_from"], "a gap or two beliefs at once"
    instants = [row["known_at"] for row in _read(tenant, "known_instants")]
    assert all(one < other for one, other in pairwise(instants)), "known instants must increase"


def unlinked(rows: Sequence[Row]) -> list[Row]:
    """Versions still to hold after the last known instant, longer than their subject is linked."""
    latest = max((row["known_from"] for row in rows), default=FIRST)
    believed = [row for row in rows if row["known_until"] is None]
    users = {row["subject_id"] for row in believed if row["subject"] == "user"}
    links = [
        (row["subject_id"], row["object_id"], row["valid_until"] or LAST)
        for row in believed
        if row["is_edge"]
    ]
    links += [(user, s, end) for s, target, end in links for user in users if target == user]
    reach = {user: LAST for user in users}
    for _ in believed:
        for source, target, end in links:
            found = min(reach.get(source, FIRST), end)
            reach[target] = max(reach.get(target, FIRST), found)
    return [
        row
        for row in believed
        if row["subject"] != "user"
        and (row["valid_until"] or LAST) > max(latest, reach.get(row["subject_id"], FIRST))
    ]
