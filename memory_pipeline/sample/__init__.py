"""The history that `demo` imports: two invented people talking to an assistant for ten months.

What belongs here: the conversations, as chat-message JSONL with one conversation a line, and
where they are. What does not: reading them (importers) and what memory they should give (tests).
"""

from pathlib import Path

_FILE_OF_TENANT = {"demo/ilse": "ilse.jsonl", "demo/theo": "theo.jsonl"}


def sample_files() -> dict[str, Path]:
    """Tenant -> its conversations: a UTF-8 file, one conversation a line, in time order."""
    folder = Path(__file__).parent
    return {tenant: folder / name for tenant, name in _FILE_OF_TENANT.items()}
