"""Thresholds of an embedding model, measured on labelled pairs (spec R5).

Belongs here: reading labels, distributions, what to propose and how often it errs. Does not: the
lists (calibration), making vectors and printing (cli/calibrate).
"""

import csv
import io
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from memory_pipeline.domain.changes import AliasReason
from memory_pipeline.domain.claim import Claim, Mention, ResolvedClaim
from memory_pipeline.domain.embedding import NEVER, EmbeddingProfile, cosine
from memory_pipeline.domain.extraction import EntityType, MemoryCategory
from memory_pipeline.domain.ids import EntityId, TenantId, derive_id
from memory_pipeline.stages.alias_rules import alias_rule
from memory_pipeline.stages.likeness import differs_from_claim
from memory_pipeline.stages.name_folding import fold_name

Label = Literal["same", "different", "duplicate", "related", "unrelated"]
LABELS: Final[tuple[Label, ...]] = ("same", "different", "duplicate", "related", "unrelated")
KEPT_RELATED: Final = 0.95
"""Share of the related pairs that the lower end of the band must leave for the judge."""
KEPT_PARTS: Final = 0.90
_SEPARATOR: Final = "|"
_WORST: Final = 3


class Frozen(BaseModel):
    """Base of the values here."""

    model_config = ConfigDict(frozen=True)


class PairError(ValueError):
    """A list of pairs can't be read; the message names the line."""


class LabelledPair(Frozen):
    """Two names (same, different) or two statements, as plain text or `subject | verb | object`."""

    label: Label
    one: str = Field(min_length=1)
    other: str = Field(min_length=1)
    type: EntityType = EntityType.THING

    def texts(self) -> tuple[str, str]:
        """What is embedded, in the form the pipeline embeds it."""
        return _joined(self.one), _joined(self.other)


class Distribution(Frozen):
    """Cosines of all pairs of one label."""

    label: Label
    pairs: int
    lowest: float
    p5: float
    median: float
    p95: float
    highest: float


class Threshold(Frozen):
    """One number of a profile: as it is and as the pairs propose it, with what each does.

    `wrong` of `could_be_wrong` pairs pass and must not; `right` of `should_pass` pass and should.
    `worst` are the pairs that forced the proposal.
    """

    name: str
    current: float
    proposed: float
    wrong: int
    wrong_proposed: int
    could_be_wrong: int
    right: int
    right_proposed: int
    should_pass: int
    worst: tuple[tuple[float, str, str], ...]


class Calibration(Frozen):
    """What the pairs say of a model."""

    current: EmbeddingProfile
    proposed: EmbeddingProfile
    distributions: tuple[Distribution, ...]
    thresholds: tuple[Threshold, ...]

    def holds(self) -> bool:
        """Whether the current thresholds merge and swallow nothing wrongly, and miss little."""
        by_name = {t.name: t for t in self.thresholds}
        band = by_name["band_low"]
        return (
            by_name["entity_merge"].wrong == by_name["duplicate"].wrong == 0
            and band.right >= KEPT_RELATED * band.should_pass
        )


def read_pairs(text: str, *, is_json: bool = False) -> tuple[LabelledPair, ...]:
    """Pairs of a CSV text with a head line (label, one, other, type?) or of JSON lines.

    Raises `PairError`.
    """
    pairs: list[LabelledPair] = []
    rows: list[tuple[int, str | Mapping[str, str]]]
    if is_json:
        rows = [(n, line) for n, line in enumerate(text.splitlines(), start=1) if line.strip()]
    else:
        reader = csv.DictReader(io.StringIO(text), strict=True)
        try:
            rows = [(reader.line_num, {k: v for k, v in row.items() if k and v}) for row in reader]
        except csv.Error as error:
            raise PairError(f"line {reader.line_num + 1}: {error}") from error
    for number, row in rows:
        try:
            pairs.append(
                LabelledPair.model_validate_json(row)
                if isinstance(row, str)
                else LabelledPair.model_validate(row)
            )
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(map(str, first["loc"])) or "the line"
            raise PairError(f"line {number}: {field}: {first['msg']}") from error
    return tuple(pairs)


def calibrate(
    pairs: Sequence[LabelledPair],
    embed: Callable[[Sequence[str]], list[list[float]]],
    current: EmbeddingProfile,
) -> Calibration:
    """Cosines of all pairs and the thresholds they propose, beside the current ones.

    Each text is embedded once, all in one call. Only pairs that the rules leave to the vector
    count against a threshold: a veto holds at any cosine. What no pair speaks for stays as it is.
    """
    texts = list(dict.fromkeys(text for pair in pairs for text in pair.texts()))
    vectors = dict(zip(texts, embed(texts), strict=True)) if texts else {}
    scored = [(pair, cosine(*(vectors[text] for text in pair.texts()))) for pair in pairs]
    by_label = {label: [(p, s) for p, s in scored if p.label == label] for label in LABELS}
    same, different = (_left_to_vector(by_label[label]) for label in ("same", "different"))
    duplicate = _unguarded(by_label["duplicate"])
    distinct = _unguarded([*by_label["related"], *by_label["unrelated"]])
    related, unrelated = (_left_to_band(by_label[label]) for label in ("related", "unrelated"))
    parts = [(p, s) for p, s in by_label["same"] if _is_part(p)]
    swallow = _above(distinct, current.duplicate)
    proposed = current.model_copy(
        update={
            "entity_merge": _above(different, current.entity_merge),
            "duplicate": swallow,
            "band_low": min(_keeping(related, KEPT_RELATED, current.band_low), swallow),
            # Only ever lowered: no pair of names speaks for a higher one.
            "second_signal": min(
                _keeping(parts, KEPT_PARTS, current.second_signal), current.second_signal
            ),
        }
    )
    judged = ("entity_merge", different, same), ("duplicate", distinct, duplicate)
    return Calibration(
        current=current,
        proposed=proposed,
        distributions=tuple(_distribution(label, by_label[label]) for label in LABELS
                            if by_label[label]),
        thresholds=(
            *(_threshold(*one, current, proposed) for one in judged),
            _threshold("band_low", unrelated, related, current, proposed),
            _threshold("second_signal", [], parts, current, proposed),
        ),
    )  # fmt: skip


_Scored = tuple[LabelledPair, float]


def _above(pairs: Sequence[_Scored], default: float) -> float:
    """The lowest number of two digits that none of the pairs reaches."""
    if not pairs:
        return default
    highest = max(similarity for _, similarity in pairs)
    number = (math.floor(round(highest * 100, 4)) + 1) / 100
    return number if number <= 1 else NEVER


def _keeping(pairs: Sequence[_Scored], share: float, default: float) -> float:
    """The highest number of two digits that at least this share of the pairs reaches."""
    if not pairs:
        return default
    lost = math.floor((1 - share) * len(pairs) + 1e-9)
    lowest_kept = sorted(similarity for _, similarity in pairs)[lost]
    return max(math.floor(lowest_kept * 100) / 100, 0.0)


def _threshold(
    name: str,
    must_not: Sequence[_Scored],
    should: Sequence[_Scored],
    current: EmbeddingProfile,
    proposed: EmbeddingProfile,
) -> Threshold:
    now, then = (float(getattr(profile, name)) for profile in (current, proposed))
    worst = sorted(must_not, key=lambda pair: -pair[1])[:_WORST]
    return Threshold(
        name=name,
        current=now,
        proposed=then,
        wrong=_passing(must_not, now),
        wrong_proposed=_passing(must_not, then),
        could_be_wrong=len(must_not),
        right=_passing(should, now),
        right_proposed=_passing(should, then),
        should_pass=len(should),
        worst=tuple((round(s, 4), p.texts()[0], p.texts()[1]) for p, s in worst),
    )


def _passing(pairs: Sequence[_Scored], threshold: float) -> int:
    return sum(similarity >= threshold for _, similarity in pairs)


def _distribution(label: Label, pairs: Sequence[_Scored]) -> Distribution:
    ordered = sorted(similarity for _, similarity in pairs)

    def at(share: float) -> float:
        return round(ordered[round(share * (len(ordered) - 1))], 4)

    return Distribution(
        label=label, pairs=len(ordered), lowest=at(0), p5=at(0.05), median=at(0.5), p95=at(0.95),
        highest=at(1),
    )  # fmt: skip


def _left_to_vector(pairs: Sequence[_Scored]) -> list[_Scored]:
    """Names that no rule merges and no veto keeps apart."""
    eager = EmbeddingProfile(
        profile_id="any", dimensions=1, entity_merge=0, duplicate=0, band_low=0, second_signal=NEVER
    )
    return [
        (pair, similarity)
        for pair, similarity in pairs
        if alias_rule(*_mentions(pair), 1.0, eager) is AliasReason.VECTOR
    ]


def _mentions(pair: LabelledPair) -> tuple[Mention, Mention]:
    return Mention(name=pair.one, type=pair.type), Mention(name=pair.other, type=pair.type)


def _is_part(pair: LabelledPair) -> bool:
    a, b = (set(fold_name(name, pair.type).split()) for name in (pair.one, pair.other))
    return a < b or b < a


def _unguarded(pairs: Sequence[_Scored]) -> list[_Scored]:
    """Statements of one subject that differ in nothing a likeness does not show (spec D3)."""
    return [
        (pair, similarity)
        for pair, similarity in pairs
        if _claim(pair.one).subject_id == _claim(pair.other).subject_id
        and not differs_from_claim(_claim(pair.one), _claim(pair.other))
    ]


def _left_to_band(pairs: Sequence[_Scored]) -> list[_Scored]:
    """Statements that the judge may see, those of one slot as if they were near (spec J1).

    The same object under another verb never gets there by the band.
    """
    found = []
    for pair, similarity in pairs:
        one, other = _claim(pair.one).claim, _claim(pair.other).claim
        is_plain = not one.object
        if is_plain or one.object != other.object:
            is_slot = not is_plain and one.predicate == other.predicate
            found.append((pair, 1.0 if is_slot else similarity))
    return found


def _claim(statement: str) -> ResolvedClaim:
    parts = [part.strip() for part in statement.split(_SEPARATOR)]
    subject, predicate, target = parts if len(parts) == 3 else ("", _joined(statement), "")
    said_at = datetime(2025, 1, 1, tzinfo=UTC)
    return ResolvedClaim(
        claim=Claim(
            ref="c1",
            order=1,
            subject=subject,
            predicate=predicate,
            object=target,
            object_is_entity=False,
            confidence=1,
            memory_category=MemoryCategory.CONTEXT,
            said_at=said_at,
            valid_from=said_at,
            valid_until=None,
        ),
        subject_id=EntityId(derive_id("entity", TenantId("-"), subject)),
        object_id=None,
    )


def _joined(text: str) -> str:
    return " ".join(part for piece in text.split(_SEPARATOR) for part in piece.split())
