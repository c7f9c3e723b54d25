"""Where the journals of a team's machines are on this disk, and which machine this one is.

`<state>/team/machines/<machine>/` is a directory of journals for each machine, byte for byte what is on the
server. The own machine has one, too: what of its journals is for the team. Where this directory went by
another machine's id before, `former/<machine>/` holds what that one wrote since, because all before is in
the own journals.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from store.files import read_state, write_atomic
from workbench.ports import Entry
from workbench.records.ids import is_id, new_id

TEAM: Final = "team"
FLOOR: Final = "floor"
"""The file with the highest id that was received: own entries get higher ones."""
MACHINES: Final = "machines"
FORMER: Final = "former"
_OWN: Final = "machine"
USES: Final = "rule-usage"
"""The stream of what rules were used for. It has most entries and nobody waits for them: nothing announces
them, a long-lived face sends them with all else or after a while."""

_STREAMS: Final = frozenset({"rules", USES, "stash"})
_MEMORY: Final = "memory/"
"""How the streams of features begin (`workbench.memory.learnings.kinds.STREAMS`)."""
_LEARNED: Final = "learning."
"""How the kinds of entries about learnings begin; iterations and corrections beside them are a member's."""
_OF_FILES: Final = "import:rule-files"
"""Who writes what rule files say (`workbench.rules.curation.ledger.AUTOMATIC`): git carries it."""
_OF_MACHINE: Final = frozenset({"segment.embedded", "segment.collected", "segment.pruned"})
"""By which model this machine's index was written, when its retention ran, steps without a change."""
_COLLECTING: Final = "collect "
"""How the titles of retention's steps begin: each machine keeps segments as its own settings say."""
ADOPTED: Final = "auto:team:"
"""How `by` begins of what is in the own journals and came from others (`store.team.adoption`)."""


def replica_root(state: Path, machine: str) -> Path:
    """Return the directory of a machine's journals."""
    return state / TEAM / MACHINES / machine


def former_root(state: Path, machine: str) -> Path:
    """Return the directory of what was written by others under an id that this machine had."""
    return state / TEAM / FORMER / machine


def own_machine(state: Path) -> str:
    """Return the id of the machine that a state directory is, empty where no team was ever used."""
    try:
        found = read_state(state / TEAM / _OWN).decode(errors="replace").strip()
    except OSError:
        return ""
    return found if is_id(found) else ""


def name_machine(state: Path) -> str:
    """Give the machine a new id and return it. Raises: StoreError."""
    identifier = new_id()
    write_atomic(state / TEAM / _OWN, identifier.encode())
    return identifier


def raise_floor(state: Path, identifier: str) -> None:
    """Let own entries have ids above one that was received. Raises: StoreError."""
    path = state / TEAM / FLOOR
    try:
        known = read_state(path).decode(errors="replace")
    except OSError:
        known = ""
    if is_id(identifier) and identifier > known:
        write_atomic(path, identifier.encode(), sync=False)


def is_shared(stream: str) -> bool:
    """Whether a stream of the project's journals is for the team."""
    return stream in _STREAMS or stream.startswith(_MEMORY)


def is_for_team(stream: str, entry: Entry) -> bool:
    """Whether an entry of a shared stream is: not what follows this machine's checkout, index or sessions."""
    if not is_id(entry.id):
        return False  # no order of several machines has a place for it
    if stream.startswith(_MEMORY):
        return entry.kind.startswith(_LEARNED)
    if stream == "rules":
        return not (entry.kind.startswith("file.") or entry.by == _OF_FILES)
    marks = entry.body.get("curation")
    title = marks.get("title") if isinstance(marks, Mapping) else ""
    collected = entry.kind == "segment.removed" and str(title).startswith(_COLLECTING)
    return not (collected or entry.kind in _OF_MACHINE or entry.by.startswith(ADOPTED))
