"""The grid of partitions: tenants by packed ordinals, and their spelling as Dagster keys.

Belongs here: definitions, keys, packing, range tags and the size of the grid. What an episode or
an ordinal is, and which episodes exist, is not known here.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from dagster import (
    AssetExecutionContext,
    DagsterInstance,
    DynamicPartitionsDefinition,
    MultiPartitionsDefinition,
)

from memory_pipeline.domain.ids import TenantId

__all__ = [
    "EPISODE_GRID",
    "EPISODE_PARTITIONS",
    "MAX_CELLS",
    "MAX_PARTITION_NUMBER",
    "TENANT_PARTITIONS",
    "TENANT_TAG",
    "Cell",
    "GridSize",
    "chosen_tenants",
    "grid_size",
    "ordinals_by_tenant",
    "ordinals_of",
    "parse_partition_key",
    "partition_key",
    "partition_number_of",
    "range_tags",
    "register_partitions",
    "tenant_key",
    "tenant_of",
]

TENANT_AXIS: Final = "tenant"
EPISODE_AXIS: Final = "episode"

TENANT_PARTITIONS = DynamicPartitionsDefinition(name=TENANT_AXIS)
EPISODE_PARTITIONS = DynamicPartitionsDefinition(name=EPISODE_AXIS)
EPISODE_GRID = MultiPartitionsDefinition(
    {TENANT_AXIS: TENANT_PARTITIONS, EPISODE_AXIS: EPISODE_PARTITIONS}
)

TENANT_TAG: Final = "tenant"
# Spelled out, as Dagster names them in a private module only; a contract test compares.
RANGE_START_TAG: Final = "dagster/asset_partition_range_start"
RANGE_END_TAG: Final = "dagster/asset_partition_range_end"

MAX_CELLS: Final = 100_000
"""Above this many cells Dagster's status queries and launches take seconds."""

_DIGITS: Final = 6
MAX_PARTITION_NUMBER: Final = 10**_DIGITS - 1
# A key stands in a B-tree index of Dagster's, which takes at most 2,700 bytes.
_MAX_TENANT_KEY: Final = 500

_PLAIN = re.compile(rb"[a-z0-9-]")
_ESCAPE = re.compile(r"_(_|[0-9a-f]{2})")


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of the grid: a tenant and a partition number, counted from 1."""

    tenant: str
    partition_number: int


@dataclass(frozen=True, slots=True)
class GridSize:
    """How many keys stand on each axis."""

    tenants: int
    partitions: int

    @property
    def cells(self) -> int:
        """Tenants times the longest tenant: the number of partitions that Dagster sees."""
        return self.tenants * self.partitions


def tenant_key(tenant: str) -> str:
    """A tenant's name in `[a-z0-9_-]`, one key for one name: `acme/user_1` is `acme_2fuser__1`.

    `_` stands as `__`, any other byte of the UTF-8 name as `_` and two hexadecimal digits.
    Raises `ValueError` for an empty name, one that is no valid Unicode, or a key over 500 long.
    """
    key = "".join(_escaped(bytes([byte])) for byte in tenant.encode())
    if not 0 < len(key) <= _MAX_TENANT_KEY:
        raise ValueError(f"a tenant key has 1 to {_MAX_TENANT_KEY} characters, not {len(key)}")
    return key


def tenant_of(key: str) -> str:
    """The tenant behind a key. Raises `ValueError` for what `tenant_key` cannot have given."""
    tenant = _ESCAPE.sub(_unescaped, key).encode("latin-1").decode()
    if tenant_key(tenant) != key:
        raise ValueError(f"not a tenant key: {key!r}")
    return tenant


def partition_key(tenant: str, partition_number: int) -> str:
    """The grid key of a cell in Dagster's own order, axes sorted by name: `000001|acme`."""
    return f"{_episode_key(partition_number)}|{tenant_key(tenant)}"


def parse_partition_key(key: str) -> Cell:
    """The cell of a grid key. Raises `ValueError` for what `partition_key` cannot have given."""
    number, separator, tenant = key.partition("|")
    if not (separator and len(number) == _DIGITS and number.isascii() and number.isdigit()):
        raise ValueError(f"not a partition key: {key!r}")
    cell = Cell(tenant=tenant_of(tenant), partition_number=int(number))
    _episode_key(cell.partition_number)
    return cell


def partition_number_of(ordinal: int, episodes_per_partition: int = 1) -> int:
    """The partition that holds an episode's ordinal; both count from 1."""
    if ordinal < 1 or episodes_per_partition < 1:
        raise ValueError("ordinals and packing count from 1")
    return (ordinal - 1) // episodes_per_partition + 1


def ordinals_of(partition_number: int, episodes_per_partition: int = 1) -> range:
    """The ordinals that a partition holds, whether or not they exist yet."""
    if partition_number < 1 or episodes_per_partition < 1:
        raise ValueError("partition numbers and packing count from 1")
    first = (partition_number - 1) * episodes_per_partition + 1
    return range(first, first + episodes_per_partition)


def ordinals_by_tenant(keys: Iterable[str]) -> dict[str, frozenset[int]]:
    """Which ordinals of which tenant the partition keys stand for, tenants sorted."""
    wanted: dict[str, set[int]] = defaultdict(set)
    for key in keys:
        cell = parse_partition_key(key)
        wanted[cell.tenant].update(ordinals_of(cell.partition_number))
    return {tenant: frozenset(wanted[tenant]) for tenant in sorted(wanted)}


def chosen_tenants(context: AssetExecutionContext) -> list[TenantId] | None:
    """The tenants of a run's tenant partitions, sorted; None for a run that chose none."""
    if not (context.has_partition_key or context.has_partition_key_range):
        return None
    return sorted(TenantId(tenant_of(key)) for key in context.partition_keys)


def range_tags(tenant: str, first: int, last: int) -> dict[str, str]:
    """Tags of a run over one tenant's partitions `first` to `last`, both included.

    The tenant tag holds the tenant's key, as `dagster/partition/tenant` does; Dagster sets none on
    a range, and the run queue's limit needs it. Raises `ValueError` if the range is empty.
    """
    if first > last:
        raise ValueError(f"empty range of partitions: {first} to {last}")
    return {
        RANGE_START_TAG: partition_key(tenant, first),
        RANGE_END_TAG: partition_key(tenant, last),
        TENANT_TAG: tenant_key(tenant),
    }


def register_partitions(instance: DagsterInstance, tenant: str, last_partition: int) -> None:
    """Add the keys that are missing for a tenant of `last_partition` partitions, in order.

    Ranges follow the order of insertion, so the episode axis always grows at its end. Calling it
    again, or from several processes, adds nothing twice.
    """
    _episode_key(last_partition)
    if not instance.has_dynamic_partition(TENANT_AXIS, tenant_key(tenant)):
        instance.add_dynamic_partitions(TENANT_AXIS, [tenant_key(tenant)])
    # The last key alone tells: the axis has no gaps. A tenant no longer than the others, the
    # usual case, costs one look-up and not the whole axis.
    if instance.has_dynamic_partition(EPISODE_AXIS, _episode_key(last_partition)):
        return
    known = frozenset(instance.get_dynamic_partitions(EPISODE_AXIS))
    wanted = (_episode_key(number) for number in range(1, last_partition + 1))
    instance.add_dynamic_partitions(EPISODE_AXIS, [key for key in wanted if key not in known])


def grid_size(instance: DagsterInstance) -> GridSize:
    """How many tenants are registered, and how many partitions the longest of them has."""
    return GridSize(
        tenants=len(instance.get_dynamic_partitions(TENANT_AXIS)),
        partitions=len(instance.get_dynamic_partitions(EPISODE_AXIS)),
    )


def _episode_key(partition_number: int) -> str:
    if not 1 <= partition_number <= MAX_PARTITION_NUMBER:
        raise ValueError(f"partition numbers run from 1 to {MAX_PARTITION_NUMBER}")
    return f"{partition_number:0{_DIGITS}d}"


def _escaped(byte: bytes) -> str:
    if byte == b"_":
        return "__"
    return byte.decode() if _PLAIN.fullmatch(byte) else f"_{byte[0]:02x}"


def _unescaped(match: re.Match[str]) -> str:
    escape = match.group(1)
    return escape if escape == "_" else chr(int(escape, 16))
