"""What a machine remembers of its replicas between two looks: how far each is, and what the server has.

It is only a memory: what it says is compared with the files before it is believed, and without it the files
and the server say the same, in more time.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from store.files import file_stamp, read_state, write_atomic
from store.team.replicas import TEAM
from store.team.server import Mark, TeamMachine
from workbench.errors import TeamError
from workbench.records.conversion import decode_json
from workbench.records.ids import is_id

_FILE: Final = "replicas.json"
_FORMER: Final = "former.json"
_MACHINES: Final = "machines.json"
_OLD: Final = 60.0  # seconds


class ReplicaFile(msgspec.Struct, frozen=True):
    """A replica's file: how far its stream is in it, and how the file was when that was written down."""

    generation: int = 0
    size: int = 0
    crc: int = 0
    last: str = ""
    written: int = 0
    inode: int = 0

    @property
    def mark(self) -> Mark:
        """What identifies the bytes."""
        return self.generation, self.size, self.crc


class Source(msgspec.Struct, frozen=True):
    """How far a journal was read: its file, where its last entry begins, that one's id, the end."""

    inode: int = 0
    at: int = 0
    last: str = ""
    end: int = 0


class Outbox(msgspec.Struct, frozen=True):
    """A stream of the own replica: where it comes from, its file, and what the server has of it.

    `sent` is what the server was known to have, `pending` what it has if an answer was lost. `follows` says
    whether the replica begins with what was sent.
    """

    source: Source = Source()
    kept: ReplicaFile = ReplicaFile()
    sent: Mark = (0, 0, 0)
    pending: Mark = (0, 0, 0)
    follows: bool = True


class ReplicaRecord(msgspec.Struct):
    """All replicas of a machine: its own, and the others' by machine and stream."""

    machine: str = ""
    own: dict[str, Outbox] = {}
    peers: dict[str, dict[str, ReplicaFile]] = {}


def read_record(state: Path, machine: str) -> ReplicaRecord:
    """Return what is remembered of a machine's replicas; nothing of what is damaged or another machine's."""
    with suppress(OSError, msgspec.MsgspecError, ValueError):
        found = decode_json(read_state(state / TEAM / _FILE), ReplicaRecord)
        if found.machine == machine:
            return found
        return ReplicaRecord(machine, peers=found.peers)
    return ReplicaRecord(machine)


def write_record(state: Path, record: ReplicaRecord) -> None:
    """Write down what is known; what a power cut takes of it, files and server say. Raises: StoreError."""
    write_atomic(state / TEAM / _FILE, msgspec.json.encode(record), sync=False)


def record_stamp(state: Path) -> tuple[int, ...]:
    """Return what differs once somebody wrote down more; empty before anybody did."""
    return file_stamp(state / TEAM / _FILE)


def read_machines(root: Path) -> list[TeamMachine]:
    """Return the machines that a directory of replicas names; none if that cannot be read."""
    with suppress(OSError, msgspec.MsgspecError, ValueError):
        rows = decode_json(read_state(root / _MACHINES), list[tuple[str, str, str, str]])
        return [TeamMachine(*row) for row in rows if is_id(row[0])]
    return []


def machine_label(machine: TeamMachine) -> str:
    """Return what people call a machine: the name that it gives itself, then its member.

    The member is whom the server let in, and alone in parentheses: no name looks like another machine's.
    """
    name = machine.name.replace("(", "[").replace(")", "]")
    return f"{name} ({machine.member})" if machine.member else name


def machines_stamp(root: Path) -> tuple[int, ...]:
    """Return what differs once a directory of replicas names other machines; empty where it names none."""
    return file_stamp(root / _MACHINES)


def are_old(root: Path) -> bool:
    """Whether the machines that a directory of replicas names were not asked for within a minute."""
    with suppress(OSError):
        return not 0 <= time.time() - (root / _MACHINES).stat().st_mtime < _OLD
    return True


def write_machines(root: Path, machines: Iterable[TeamMachine]) -> None:
    """Keep who the machines of a directory of replicas are. Raises: StoreError."""
    rows = sorted((machine.id, machine.member, machine.name, machine.seen_at) for machine in machines)
    write_atomic(root / _MACHINES, msgspec.json.encode(rows))


def read_former(state: Path) -> dict[str, dict[str, str]]:
    """Return the ids that this machine had, oldest first, with the last own entry of each by stream.

    Raises: TeamError if that cannot be read: without it others' entries would count as this machine's.
    """
    path = state / TEAM / _FORMER
    try:
        return decode_json(read_state(path), dict[str, dict[str, str]])
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.MsgspecError, ValueError) as error:
        raise TeamError(
            f"{path} cannot be read: {error}", hint="Bring it back from a backup, or `workbench store leave`."
        ) from error


def write_former(state: Path, former: Mapping[str, Mapping[str, str]]) -> None:
    """Write down the ids that this machine had. Raises: StoreError."""
    write_atomic(state / TEAM / _FORMER, msgspec.json.encode(former))
