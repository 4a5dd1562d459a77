"""Named SQL statements from sql/queries/<family>.sql, and where the project's files lie.

Belongs here: finding and parsing the files. Does not: running statements.
A statement starts at `-- name: <name>`; the line after says what it is for.
"""

import re
from functools import lru_cache
from pathlib import Path

_NAME = re.compile(r"^-- name: (\w+)\s*$", re.MULTILINE)


def project_folder() -> Path:
    """The folder with `sql`, `dagster.yaml` and `workspace.yaml`: the checkout or the wheel's copy.

    Raises FileNotFoundError when neither holds them, i.e. the installation is broken.
    """
    package = Path(__file__).resolve().parent.parent
    for folder in (package.parent, package / "_project"):
        if (folder / "sql" / "queries").is_dir():
            return folder
    raise FileNotFoundError(f"no sql folder beside or inside {package}: reinstall memory-pipeline")


def migrations_folder() -> Path:
    """Where the numbered migrations lie."""
    return project_folder() / "sql" / "migrations"


@lru_cache(maxsize=1)
def all_queries() -> dict[str, str]:
    """Every named statement. Raises ValueError when two files use one name."""
    found: dict[str, str] = {}
    for path in sorted((project_folder() / "sql" / "queries").glob("*.sql")):
        parts = _NAME.split(path.read_text(encoding="utf-8"))
        for name, body in zip(parts[1::2], parts[2::2], strict=True):
            if name in found:
                raise ValueError(f"query {name} is defined twice, again in {path.name}")
            found[name] = body.strip()
    return found


def query(name: str) -> str:
    """The text of one named statement; KeyError when there is none of this name."""
    return all_queries()[name]
