"""Where the journals of a team's machines are on this disk, and which machine this one is.

`<state>/team/machines/<machine>/` is a directory of journals for each machine, byte for byte what is on the
server. The own machine has one, too: what of its journals is for the team.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from store.files import read_state
from store.journal import FileJournal
from workbench.ports import Clock
from workbench.records.ids import is_id

TEAM: Final = "team"
_MACHINES: Final = "machines"
_OWN: Final = "machine"


def replica_root(state: Path, machine: str) -> Path:
    """Return the directory of a machine's journals."""
    return state / TEAM / _MACHINES / machine


def own_machine(state: Path) -> str:
    """Return the id of the machine that a state directory is, empty where no team was ever used."""
    try:
        found = read_state(state / TEAM / _OWN).decode(errors="replace").strip()
    except OSError:
        return ""
    return found if is_id(found) else ""


class PeerJournals:
    """The journals of a team's other machines, as far as they were received: each the same object always."""

    def __init__(self, state: Path, clock: Clock) -> None:
        self._state = state
        self._clock = clock
        self._known: dict[str, FileJournal] = {}

    def journals(self) -> Mapping[str, FileJournal]:
        """Return them by the machines' ids, in the order of these."""
        own = own_machine(self._state)
        names = sorted(path.name for path in (self._state / TEAM / _MACHINES).iterdir())
        found = {name: self._journal(name) for name in names if is_id(name) and name != own}
        self._known = found
        return dict(found)

    def _journal(self, name: str) -> FileJournal:
        return self._known.get(name) or FileJournal(replica_root(self._state, name), self._clock)
