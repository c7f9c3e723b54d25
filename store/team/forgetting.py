"""What is made of others' journals goes where they wrote these again, as a purge does.

A stream that was written again has another generation. The tables, the indexes of rules, learnings and
segments, answers of models and copies from when the team was joined are removed then, and made again of what
the journals have now by whoever asks next. What is made of the repository alone stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from store.files import read_state, translate_errors, write_atomic
from store.journal_files import stream_path
from store.project_state import PROJECT_INDEX
from store.table_places import remove_server_tables
from store.team.replicas import TEAM, replica_root
from workbench.ports import Clock
from workbench.records.conversion import decode_json

EXPORTS: Final = "exports"
"""Where copies are that were made before a team was joined."""
_FILE: Final = "followed.json"
_OF_REPOSITORY: Final = frozenset({PROJECT_INDEX, "seen", "edits", "history"})
"""Indexes of files, commits and own sessions (`workbench.project.upkeep`, `workbench.sessions`)."""

Generations = Mapping[str, Mapping[str, int]]
"""By machine and stream."""


def forget_rewritten(state: Path, received: Generations, clock: Clock) -> bool:
    """Remove what is made of streams that were written again since the last time; return whether any was.

    A process that is killed leaves it to the next one. Raises: StoreError, StoreBusy.
    """
    known = _read_followed(state)
    if received == known:
        return False
    rewritten = [
        (machine, stream)
        for machine, streams in received.items()
        for stream, generation in streams.items()
        if generation != known.get(machine, {}).get(stream, 0)
    ]
    if rewritten:
        from store.purge import remove_projections  # seldom: commands exchange after each answer

        with translate_errors("removing what others took out of their journals"):
            for export in (state / TEAM / EXPORTS).glob("*"):
                for machine, stream in rewritten:
                    copied = export / replica_root(state, machine).relative_to(state / TEAM)
                    stream_path(copied, stream).unlink(missing_ok=True)
        remove_projections(state, _OF_REPOSITORY)
        remove_server_tables(state, clock)
    write_atomic(state / TEAM / _FILE, msgspec.json.encode(received))
    return bool(rewritten)


def forget_others(state: Path) -> None:
    """Remove what is made of others' journals, which are gone. Raises: StoreError, StoreBusy."""
    from store.purge import remove_projections

    remove_projections(state, _OF_REPOSITORY)
    (state / TEAM / _FILE).unlink(missing_ok=True)


def _read_followed(state: Path) -> dict[str, dict[str, int]]:
    with suppress(OSError, msgspec.MsgspecError, ValueError):
        return decode_json(read_state(state / TEAM / _FILE), dict[str, dict[str, int]])
    return {}
