"""Holds what stands in the tables against what a case expects.

Belongs here: one sentence for each difference. Does not: reading rows (observing).
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from memory_pipeline_tests.cases.case_file import (
    Case,
    Expected,
    ExpectedRow,
    is_close,
    read_instant,
)
from memory_pipeline_tests.cases.observing import Observed, ObservedFact

_ENDS = {
    "subject": {"not_linked"},
    "exact_duplicate": {"reinforced"},
    "closure": {"closed"},
}
_BORN = {"inserted", "renewed"}
_STATUS = {
    "completed": {"done"},
    "complete": {"done"},
    "success": {"done"},
    "extracted": {"done"},
    "failed": {"failed", "given_up"},
}
_STATUS_WORDS = ("status", "extraction_status", "extractionStatus")
_ATTEMPT_WORDS = ("attempts", "extraction_attempts", "extractionAttempts")
_CALL_WORDS = ("calls", "extract_calls", "model_calls")


def differences(case: Case, observed: Observed) -> list[str]:
    """Every way in which the rows are not what the case expects; empty when it passes."""
    expected = case.expected
    found = {
        "rows": _rows(case, observed),
        "dropped": _dropped(expected, observed),
        "entities": _entities(expected, observed),
        "max_lengths": _lengths(expected, observed),
        "count": _counts(case, observed),
        "judge_pairs": _judge_pairs(expected, observed),
        "episode": _episode(expected, observed),
    }
    return [line for word, lines in found.items() if word not in case.not_scored for line in lines]


def _rows(case: Case, observed: Observed) -> Iterator[str]:
    if case.expected.rows is None:
        return
    named = {row.id for row in case.expected.rows}
    for row in case.expected.rows:
        fact = observed.facts.get(row.id)
        if row.id in case.not_scored:
            continue
        if fact is None:
            yield f"{row.id}: no row{_where(row.id, observed)}"
            continue
        for field in sorted(row.model_fields_set - {"id"}):
            wanted, is_so = _field(row, field, fact, case.given.now)
            if not is_so and f"{row.id}.{field}" not in case.not_scored:
                yield f"{row.id}.{field}: expected {wanted!r}, is {_shown(field, fact, case)!r}"
    for name in observed.facts:
        if name not in named | case.not_scored:
            yield f"{name}: a row that must not exist"


def _where(name: str, observed: Observed) -> str:
    outcome = observed.outcomes.get(name)
    return f" (the candidate ended as {outcome.outcome})" if outcome else ""


def _field(row: ExpectedRow, field: str, fact: ObservedFact, now: datetime) -> tuple[object, bool]:
    """What the row must be, and whether it is."""
    wanted = getattr(row, field)
    match field:
        case "valid_from" | "valid_until":
            return wanted, _is_same_time(wanted, getattr(fact, field))
        case "confidence":
            return wanted, is_close(wanted, fact.confidence)
        case _:
            return wanted, wanted == _value(field, fact, now)


def _value(field: str, fact: ObservedFact, now: datetime) -> object:
    match field:
        case "live":
            return fact.is_live(now)
        case "superseded":
            return fact.successor_id is not None
        case "kind":
            return "edge" if fact.is_edge else "literal"
        case _:
            return getattr(fact, field)


def _shown(field: str, fact: ObservedFact, case: Case) -> object:
    value = _value(field, fact, case.given.now)
    return value.isoformat() if isinstance(value, datetime) else value


def _is_same_time(wanted: str | None, stored: datetime | None) -> bool:
    """A day matches every instant of it, an instant itself, None an open bound."""
    if wanted is None or stored is None:
        return wanted is None and stored is None
    stored = stored.astimezone(UTC)
    if len(wanted) == len("2025-01-01"):
        return stored.date().isoformat() == wanted
    return stored == read_instant(wanted)


def _judge_pairs(expected: Expected, observed: Observed) -> Iterator[str]:
    if expected.judge_pairs is None:
        return
    wanted, asked = set(expected.judge_pairs), set(observed.judge_pairs)
    for one, other in sorted(wanted - asked):
        yield f"judge: {one}~{other} was not asked"
    for one, other in sorted(asked - wanted):
        yield f"judge: {one}~{other} was asked"


def _dropped(expected: Expected, observed: Observed) -> Iterator[str]:
    for drop in expected.dropped:
        outcome = observed.outcomes.get(drop.ref)
        ends = _ENDS.get(drop.why, {drop.why})
        if outcome is None:
            yield f"{drop.ref}: expected {drop.why}, the ledger does not hold it"
        elif outcome.outcome not in ends:
            yield f"{drop.ref}: expected {drop.why}, ended as {outcome.outcome}"


def _entities(expected: Expected, observed: Observed) -> Iterator[str]:
    names = Counter(name for name, _ in observed.entities)
    for name in expected.entities_present:
        if name not in names:
            yield f"entity {name}: missing"
    for name in expected.entities_absent:
        if name in names:
            yield f"entity {name}: must not exist"
    for name, count in expected.entity_count.items():
        if names[name] != count:
            yield f"entity {name}: expected {count}, there are {names[name]}"
    for name, wanted in expected.entity_types.items():
        types = sorted(kind for other, kind in observed.entities if other == name)
        if types != sorted([wanted] if isinstance(wanted, str) else wanted):
            yield f"entity {name}: expected type {wanted}, is {', '.join(types) or 'missing'}"


def _lengths(expected: Expected, observed: Observed) -> Iterator[str]:
    for place, most in expected.max_lengths.items():
        name, _, field = place.partition(".")
        length = _length(name, field, observed)
        if length is None:
            yield f"{place}: nothing to measure"
        elif length > most:
            yield f"{place}: {length} characters, expected at most {most}"


def _length(name: str, field: str, observed: Observed) -> int | None:
    fact, outcome = observed.facts.get(name), observed.outcomes.get(name)
    if field in ("source_quote", "sourceQuote", "quote"):
        lengths = [item.quote_length for item in (fact, outcome) if item is not None]
        return max(lengths, default=None)
    value = getattr(fact or outcome, field, None)
    return len(value) if isinstance(value, str) else None


def _counts(case: Case, observed: Observed) -> Iterator[str]:
    given = {f.id for f in case.given.facts}
    given |= {f.id for f in case.given.committed_by_other_job_after_snapshot}
    new = [name for name in observed.own_facts if name not in given]
    most = case.expected.max_new_rows
    if most is not None and len(new) > most:
        yield f"{len(new)} new rows, expected at most {most}"
    count = case.expected.count
    if count is None:
        return
    counted = _counted(case, observed, new)
    for word, number in (count if isinstance(count, Mapping) else {"rows": count}).items():
        if counted[word.replace("|", " ")] != number:
            yield f"count of {word}: expected {number}, is {counted[word]}"


def _counted(case: Case, observed: Observed, new: list[str]) -> Counter[str]:
    """How many there are of everything a case may count: rows, live ones, a statement, a row's."""
    facts = [observed.facts[name] for name in observed.own_facts]
    live = [fact for fact in facts if fact.is_live(case.given.now)]
    counted = Counter(fact.statement() for fact in facts)
    counted.update({name: counted[observed.facts[name].statement()] for name in observed.own_facts})
    counted["rows"] = counted["facts"] = len(facts)
    counted["live"] = len(live)
    counted["new"] = len(new)
    counted["entities"] = len(observed.entities)
    counted["judge_pairs"] = len(observed.judge_pairs)
    return counted


def _episode(expected: Expected, observed: Observed) -> Iterator[str]:
    wanted = expected.episode
    if wanted is None:
        return
    for word, value in ({"status": wanted} if isinstance(wanted, str) else wanted).items():
        if word in _STATUS_WORDS:
            if observed.episode_status not in _STATUS.get(str(value), {value}):
                yield f"episode: expected {value}, is {observed.episode_status}"
        elif word in _ATTEMPT_WORDS:
            if observed.episode_attempts != value:
                yield f"episode: expected {value} attempts, had {observed.episode_attempts}"
        elif word in _CALL_WORDS:
            if observed.extract_calls != value:
                yield f"episode: expected {value} calls, had {observed.extract_calls}"
        else:
            yield f"episode: this runner can't tell {word!r}"
