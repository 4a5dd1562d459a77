"""Commands: the console script `memory-pipeline`, typer and rich only.

Belongs here: arguments, output, exit codes. Does not: rules, SQL, and what a command does (below).
"""

import logging
import sys

import typer

from memory_pipeline.cli import errors, session

app = typer.Typer(
    name="memory-pipeline",
    help="Build and rebuild the long-term memory of AI agents from conversation history.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode="rich",
)


def _register() -> None:
    from memory_pipeline.cli import (
        calibrate,
        demo,
        ingest,
        insights,
        local_model,
        profiles,
        reading,
        recalling,
        report,
        server,
        upkeep,
    )

    for module in (
        calibrate,
        demo,
        ingest,
        insights,
        local_model,
        profiles,
        reading,
        recalling,
        report,
        server,
        upkeep,
    ):
        module.register(app)


def _known_errors() -> tuple[type[Exception], ...]:
    """Errors that say by themselves what to do; anything else is a bug and shows its traceback."""
    from memory_pipeline.adapters.conversation_store import AmbiguousSpeakerError
    from memory_pipeline.adapters.generation_store import VectorWidthError
    from memory_pipeline.adapters.local_embedder import EmbedderError
    from memory_pipeline.adapters.migrations import MigrationError
    from memory_pipeline.adapters.models.endpoint import ModelConfigurationError
    from memory_pipeline.adapters.postgres import DatabaseUnavailableError
    from memory_pipeline.adapters.postgres_errors import EmbeddedPostgresError
    from memory_pipeline.adapters.tenant_settings import UnknownTenantError
    from memory_pipeline.domain.model import ModelUnavailableError
    from memory_pipeline.importers.errors import ExportError
    from memory_pipeline.stages.heuristic_rules.parser import ParserMissingError

    return (
        AmbiguousSpeakerError,
        DatabaseUnavailableError,
        EmbeddedPostgresError,
        EmbedderError,
        ExportError,
        MigrationError,
        ModelConfigurationError,
        ModelUnavailableError,
        ParserMissingError,
        UnknownTenantError,
        VectorWidthError,
    )


def _wrong_settings() -> tuple[type[Exception], ...]:
    """Errors of the environment: nothing was begun, and nothing will be until it is changed."""
    from memory_pipeline.adapters.environment import EnvironmentValueError
    from memory_pipeline.adapters.workshop import NoModelError
    from memory_pipeline.domain.policy import PolicyError

    return (EnvironmentValueError, NoModelError, PolicyError)


def main() -> None:
    """Run the command line; known failures print one line and set the exit code."""
    logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
    # What went wrong reaches the user as one line of ours; the driver's remarks do not help.
    logging.getLogger("psycopg").setLevel(logging.CRITICAL)
    _register()
    try:
        app()
    except SystemExit:
        raise  # before the clauses below are looked at, which load what they name
    except errors.CommandError as error:
        _say(error.message)
        raise SystemExit(error.exit_code) from None
    except _wrong_settings() as error:
        _say(" ".join(str(error).split()))
        raise SystemExit(int(errors.ExitCode.WRONG_USAGE)) from None
    except _known_errors() as error:
        _say(" ".join(str(error).split()))
        raise SystemExit(int(errors.ExitCode.FAILED)) from None
    finally:
        session.close_session()


def _say(message: str) -> None:
    sys.stderr.write(f"memory-pipeline: {message}\n")
