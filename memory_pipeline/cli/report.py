"""The command that writes a memory as one page.

Belongs here: arguments, where the page goes, exit codes. Does not: reading (reading/report) and
what the page looks like (report).
"""

import os
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from memory_pipeline.cli import session
from memory_pipeline.cli.errors import CommandError, ExitCode
from memory_pipeline.cli.reading import known_failures, print_json
from memory_pipeline.domain.ids import TenantId

_STDOUT = "-"


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command()(report)


def report(
    tenant: Annotated[str, typer.Option("--tenant", help="Whose memory, e.g. acme/user_42.")],
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="FILE.html", help="The page; - for stdout."),
    ],
    valid_at: Annotated[
        datetime | None,
        typer.Option(formats=["%Y-%m-%d"], help="The day that counts as today; else now."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Say what was written as one JSON document.")
    ] = False,
) -> None:
    """One self-contained HTML page of a memory: facts over time, profiles, open points, ledger.

    It holds what people said: a new file is readable by its owner alone.

    Example: memory-pipeline report --tenant acme/user_42 -o ann.html
    """
    if as_json and output == _STDOUT:
        raise CommandError("--json and -o - both want stdout", ExitCode.WRONG_USAGE)
    path = None if output == _STDOUT else _writable(output)
    page = _page(TenantId(tenant), None if valid_at is None else valid_at.replace(tzinfo=UTC))
    if path is None:
        sys.stdout.buffer.write(page)
        return
    _write(path, page)
    if as_json:
        print_json({"tenant": tenant, "path": str(path), "bytes": len(page)})
    else:
        sys.stdout.write(f"{output}: {len(page) / 1000:,.0f} kB\n")


def _page(tenant_id: TenantId, valid_at: datetime | None) -> bytes:
    from memory_pipeline.reading.report import read_report
    from memory_pipeline.report.page import render_page

    with known_failures():
        found = read_report(session.memory_database(), tenant_id, valid_at=valid_at)
    return render_page(found).encode()


def _writable(output: str) -> Path:
    """Where the page will lie, links followed; refused before anything is read."""
    path = Path(output).resolve()
    if path.is_dir():
        raise CommandError(f"{output} is a folder: name a file in it", ExitCode.WRONG_USAGE)
    if path.exists() and not path.is_file():
        raise CommandError(
            f"{output} is no ordinary file: write to - and redirect", ExitCode.WRONG_USAGE
        )
    if not path.parent.is_dir():
        raise CommandError(f"there is no folder {path.parent}", ExitCode.WRONG_USAGE)
    return path


def _write(path: Path, page: bytes) -> None:
    """All of the page or nothing: a reader never sees half of it."""
    draft = None
    try:
        with tempfile.NamedTemporaryFile(
            dir=path.parent, prefix=f".{path.name[:40]}.", delete=False
        ) as file:
            draft = Path(file.name)
            file.write(page)
        if path.exists():
            draft.chmod(path.stat().st_mode & 0o777)
        os.replace(draft, path)
        draft = None
    except OSError as error:
        raise CommandError(f"can't write {path}: {error.strerror}") from error
    finally:
        if draft is not None:
            draft.unlink(missing_ok=True)
