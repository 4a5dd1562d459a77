"""How commands fail: one clear line on stderr and an exit code, never a traceback.

Belongs here: the error of the commands and which errors below become one. Nothing else.
"""

from enum import IntEnum


class ExitCode(IntEnum):
    """What a command's exit says (design.md section 8)."""

    OK = 0
    FAILED = 1
    WRONG_USAGE = 2
    BUDGET_EXHAUSTED = 3


class CommandError(Exception):
    """Ends the command with a message for people and an exit code.

    `is_lasting` says that the same command ends the same way until something is changed.
    """

    def __init__(
        self, message: str, exit_code: int = ExitCode.FAILED, *, is_lasting: bool = False
    ) -> None:
        super().__init__(message)
        self.message = message
        self.exit_code = int(exit_code)
        self.is_lasting = is_lasting
