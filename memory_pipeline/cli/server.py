"""Commands about the servers: up, down, status, migrate, dev.

Belongs here: starting and stopping what people ask for. Does not: how a server is supervised.
"""

import json
import os
import signal
import socket
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer
from rich.console import Console

from memory_pipeline.adapters import environment
from memory_pipeline.adapters.migrations import migrate as apply_migrations
from memory_pipeline.adapters.migrations import pending
from memory_pipeline.adapters.postgres import without_password
from memory_pipeline.adapters.queries import migrations_folder, project_folder
from memory_pipeline.cli import session
from memory_pipeline.cli.errors import CommandError

_console = Console()
_STOP_SECONDS = 30

JsonFlag = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    for command in (up, down, status, migrate, dev):
        app.command()(command)


def _refuse_with_url(what: str) -> None:
    if environment.database_url():
        raise CommandError(
            f"{environment.DATABASE_URL} is set: the embedded server is not used, so there is "
            f"nothing to {what}"
        )


def up() -> None:
    """Start the embedded server and leave it running until `down`.

    Example: memory-pipeline up
    """
    from memory_pipeline.adapters.server_lease import keep_up

    _refuse_with_url("start")
    session.open_database()
    keep_up(environment.memory_home())
    _console.print(f"up: {os.environ[environment.DATABASE_URL]}", soft_wrap=True)


def down(
    force: Annotated[bool, typer.Option("--force", help="Also while others use it.")] = False,
) -> None:
    """Stop the embedded server; refuses while another command uses it.

    Example: memory-pipeline down
    """
    from memory_pipeline.adapters.server_lease import is_in_use, let_go

    _refuse_with_url("stop")
    if is_in_use(environment.memory_home()) and not force:
        raise CommandError(
            "another command uses the server: wait for it to end, or stop it under its feet with "
            "`memory-pipeline down --force`"
        )
    stopped = let_go(environment.memory_home())
    _console.print("stopped" if stopped else "it was not running")


def status(as_json: JsonFlag = False) -> None:
    """Say which database is used, whether it answers and how far its schema is.

    Example: memory-pipeline status --json
    """
    facts = _status()
    if as_json:
        sys.stdout.write(json.dumps(facts) + "\n")
        return
    for name, value in facts.items():
        _console.print(f"{name:>18}  {value}", soft_wrap=True)


def _status() -> dict[str, Any]:
    url = environment.database_url()
    facts: dict[str, Any] = {"database": without_password(url) if url else "embedded"}
    if url is None:
        from memory_pipeline.adapters.embedded_postgres import EmbeddedPostgres

        found = EmbeddedPostgres(environment.memory_home()).status()
        facts |= {
            "running": found.server is not None,
            "data": str(found.data_dir),
            "log": str(found.log_file),
            "server_version": found.version,
        }
        if found.server is None:
            return facts
    url = session.point_at_databases()
    missing = pending(url, migrations_folder())
    return facts | {"running": True, "url": without_password(url), "pending_migrations": missing}


def migrate() -> None:
    """Bring the schema of the memory database up to this version.

    Example: memory-pipeline migrate
    """
    applied = apply_migrations(session.point_at_databases(), migrations_folder())
    for name in applied:
        _console.print(f"applied {name}")
    _console.print("the schema is up to date")


def dev(
    port: Annotated[int, typer.Option(help="Port of the Dagster UI, on 127.0.0.1.")] = 3000,
) -> None:
    """Run database, Dagster UI and daemon until Ctrl-C; what this command started it stops.

    Example: memory-pipeline dev --port 3000
    """
    _check_port(port)
    instance = session.dagster_instance()
    _end_zombies(instance)
    _console.print(f"Dagster UI: http://127.0.0.1:{port}   (Ctrl-C stops everything)")
    arguments = [
        sys.executable, "-m", "dagster", "dev", "--host", "127.0.0.1", "--port", str(port),
        "--workspace", str(project_folder() / "workspace.yaml"),
    ]  # fmt: skip
    # A process of its own session: Ctrl-C reaches this parent only, which then stops it in order.
    child = subprocess.Popen(  # noqa: S603 - our own interpreter with fixed arguments
        arguments, start_new_session=True, preexec_fn=_default_signals
    )
    stop = _Stop()
    try:
        code = child.wait()
    except KeyboardInterrupt:
        code = 0
    finally:
        stop.restore()
        _stop_group(child)
    if code not in (0, -signal.SIGTERM, -signal.SIGINT):
        raise CommandError(f"dagster dev ended by itself with exit code {code}")


class _Stop:
    """SIGTERM means the same as Ctrl-C while `dev` runs."""

    def __init__(self) -> None:
        self._before = signal.signal(signal.SIGTERM, self._interrupt)

    @staticmethod
    def _interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    def restore(self) -> None:
        """Give the signal its former meaning back."""
        signal.signal(signal.SIGTERM, self._before)


def _default_signals() -> None:
    # A shell that starts us in the background makes us ignore SIGINT, and children inherit that.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _stop_group(child: "subprocess.Popen[bytes]") -> None:
    if child.poll() is None:
        child.send_signal(signal.SIGTERM)
        try:
            child.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()


def _check_port(port: int) -> None:
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", port)) == 0:
            raise CommandError(f"port {port} is taken: choose another with --port")


def _end_zombies(instance: Any) -> None:
    from memory_pipeline.defs.zombies import fail_zombie_runs

    url = os.environ[environment.DATABASE_URL]
    for run_id in fail_zombie_runs(instance, url, timedelta(0), datetime.now(UTC)):
        _console.print(f"ended run {run_id}, whose process is gone")
