"""Who speaks as the user in an export in OpenAI's form that names people.

What belongs here: the names and user ids an export holds, and the choice by `--user`. What does
not: reading messages.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from memory_pipeline.importers.errors import UnknownUserError
from memory_pipeline.importers.export_values import id_of, list_of, mapping_of, text_of


@dataclass(frozen=True)
class Speakers:
    """`user_id` is set when only that account's lines are meant.

    `has_names` says that names tell people apart: then they are kept as speakers.
    """

    user_id: str | None
    has_names: bool

    def is_of_user(self, value: Mapping[str, object]) -> bool:
        """Whether a line belongs to the account that is meant."""
        return self.user_id is None or id_of(value.get("user_id")) in {None, self.user_id}

    def speaker_of(self, message: Mapping[str, object]) -> str | None:
        """The name of the participant, or None for the user of an export with one person."""
        return text_of(message.get("name")).strip() or None if self.has_names else None


def find_speakers(path: Path, values: Iterable[tuple[str, object]], user: str | None) -> Speakers:
    """Who is who in a whole export.

    One name alone is the user's, unless `user` says otherwise. Where user messages without a
    name stand beside it, those are the user's and the names are other people's.
    Raises UnknownUserError when several accounts or names are left to choose from.
    """
    names: dict[str, None] = {}
    accounts: dict[str, None] = {}
    has_unnamed = False
    for _, value in values:
        account = id_of(mapping_of(value).get("user_id"))
        if account is not None:
            accounts[account] = None
        for message in _user_messages(value):
            name = text_of(message.get("name")).strip()
            has_unnamed = has_unnamed or not name
            if name:
                names[name] = None
    wanted = None if user is None else user.strip().casefold()
    is_named = wanted in {name.casefold() for name in names}
    user_id = next((a for a in accounts if a.casefold() == wanted), None)
    if len(accounts) > 1 and user_id is None and not is_named:
        raise UnknownUserError(path, user, accounts)
    is_choice = len(names) > 1 or user is not None
    if names and is_choice and not (has_unnamed or is_named or user_id):
        raise UnknownUserError(path, user, names)
    is_several = len(names) + has_unnamed > 1
    return Speakers(user_id if len(accounts) > 1 else None, has_names=is_named or is_several)


def _user_messages(value: object) -> Iterator[Mapping[str, object]]:
    fields = mapping_of(value)
    for item in (fields, *list_of(fields.get("messages")), *list_of(value)):
        message = mapping_of(item)
        if text_of(message.get("role")).strip().lower() == "user":
            yield message
