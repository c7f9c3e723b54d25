"""Where the tables of a project are: in a file, or on the server of its team if the settings say so."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from store.journal import FileJournal
from store.table_files import SERVER_MARK
from workbench.errors import ConfigError, TeamError
from workbench.ports import Clock

if TYPE_CHECKING:
    from store.postgres.tables import ServerTables
    from store.table_queries import TableQueries

ON_SERVER: Final = "postgres"
"""The value of `store.tables` that is not a file."""


def open_tables(setting: str, state: Path, journals: Mapping[str, FileJournal], clock: Clock) -> TableQueries:
    """Return the tables of a state directory where a setting has them; `degraded` if they cannot be there."""
    from store.table_queries import TableQueries

    if setting != ON_SERVER:
        return TableQueries(state, journals, clock)
    missing = "the project has no team: `workbench store use URL`"
    try:
        if (tables := server_tables(state, journals, clock)) is not None:
            return tables
    except (ConfigError, TeamError) as error:
        missing = error.message
    tables_of_file = TableQueries(state, journals, clock)
    tables_of_file.degraded = missing
    return tables_of_file


def server_tables(state: Path, journals: Mapping[str, FileJournal], clock: Clock) -> ServerTables | None:
    """Return the tables of a state directory on its team's server, None where it has no team.

    Raises: ConfigError, TeamError if there is no saying which server that is, or nothing to ask it by.
    """
    from store.team.replicas import own_machine
    from store.team.settings import read_settings

    settings, machine = read_settings(state), own_machine(state)
    if settings is None or not machine:
        return None
    from store.postgres.tables import ServerTables

    return ServerTables(settings.url, machine, state, journals, clock)


def remove_server_tables(state: Path, clock: Clock) -> str:
    """Drop what a state directory's team has of its tables; return what kept that from being done, or "".

    Nothing is asked where there is nothing of them.
    """
    if not (state / SERVER_MARK).exists():
        return ""
    try:
        tables = server_tables(state, {}, clock)
        if tables is not None:
            tables.remove()
            tables.close()
    except (ConfigError, TeamError) as error:
        return error.message
    return ""
