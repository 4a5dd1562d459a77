"""The demo command: the shipped history from import to an as-of question.

Belongs here: what a newcomer is shown. Does not: anything another command could not do.
"""

import typer


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command()(demo)


def demo() -> None:
    """Import the shipped sample history, process it, show what memory holds.

    Example: memory-pipeline demo
    """
