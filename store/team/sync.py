"""Sending what this machine wrote for its team, and receiving what the others did.

Everything is the replication of byte streams that only grow: what the server has less is sent, what it has
more is fetched, and an answer that was lost costs nothing, because the streams themselves say how far they
are. A process that ends anywhere leaves files that the next one goes on with.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import field
from pathlib import Path
from typing import Final

from store import locks
from store.files import private_dir
from store.journal import FileJournal
from store.journal_files import stream_path
from store.team.ahead import AheadEntries
from store.team.former import last_common, lines_after
from store.team.outbox import OwnStreams
from store.team.record import (
    Outbox,
    ReplicaFile,
    ReplicaRecord,
    are_old,
    read_former,
    read_machines,
    read_record,
    record_stamp,
    write_former,
    write_machines,
    write_record,
)
from store.team.replica_files import check_file, extend_file, file_begins, put_file, read_file, read_lines
from store.team.replicas import (
    TEAM,
    former_root,
    is_shared,
    name_machine,
    own_machine,
    raise_floor,
    replica_root,
)
from store.team.server import MOST, MachineTaken, Mark, StreamHead, StreamKey, TeamServer, read_stream
from workbench.errors import ServerUnreachable, TeamError
from workbench.records.dataclass import dataclass
from workbench.records.ids import is_id

LOCK: Final = "team"
_SELDOM: Final = 10.0
"""Seconds between two times that a process writes down how far others' replicas are."""

Progress = Callable[[str, int, int], None]
"""Is given what is done, and how many bytes of how many are done."""


@dataclass(slots=True)
class Exchange:
    """What one look at the server did: entries sent and received, and what was odd, in sentences."""

    sent: int = 0
    received: int = 0
    notes: list[str] = field(default_factory=list)


def team_lock(state: Path, timeout: float) -> AbstractContextManager[None]:
    """Return the lock of who sends and receives. Entering it raises StoreBusy."""
    return locks.exclusive(state / "locks" / f"{LOCK}.lock", timeout=timeout)


class TeamReplicas:
    """The replicas of a state directory, by one process at a time: the caller holds the lock.

    `name` is what others call this machine. It may be kept while nobody else writes anything down
    (`is_current`). Raises: StoreError in all of its methods.
    """

    def __init__(
        self, state: Path, journal: FileJournal, name: str, progress: Progress | None = None
    ) -> None:
        self._state = state
        self._journal = journal
        self._name = name
        self._progress = progress or (lambda label, done, total: None)
        self._former = read_former(state)
        self.machine = own_machine(state) or name_machine(state)
        self.record = read_record(state, self.machine)
        self._ahead = AheadEntries(state)
        self._checked = set[StreamKey]()  # whose files were seen to be as remembered
        self._saved = copy(self.record)
        self._saved_at = -_SELDOM
        self._stamp = record_stamp(state)
        self.machines = read_machines(state / TEAM)

    def fill_outbox(self) -> None:
        """Bring the own replica up to what is in the journals. Raises: StoreError."""
        own = self._own_streams()
        names = {*own.names(), *self.record.own}
        self.record.own = {name: own.catch_up(name, self._outbox(name)) for name in sorted(names)}

    def unsent(self) -> int:
        """Return how many records of the own replica the server was not known to have. Raises: StoreError."""
        own, count = self._own_streams(), 0
        for stream, outbox in self.record.own.items():
            start = outbox.sent[1] if outbox.follows else 0
            if outbox.kept.size > start:
                count += read_file(own.path(stream), start, -1).count(b"\n")
        return count

    def unreceived_bytes(self, heads: Mapping[StreamKey, StreamHead]) -> int:
        """Return how many bytes a server has that were not received."""
        theirs = _streams_of_others(heads, self.machine)
        return sum(max(0, head.size - self._replica_file(key).size) for key, head in theirs.items())

    def exchange(self, server: TeamServer, machines: Collection[str] = ()) -> Exchange:
        """Send what the server has not, and receive what is not here: of these machines, or of all."""
        done = Exchange()
        self.fill_outbox()
        self._register(server, done)
        heads = server.heads({*machines, self.machine} if machines else ())
        if self._is_written_by_another(heads):
            done.notes.append(
                "the server has entries of this machine that are not here: its directory was copied, or came "
                "from a backup. It goes by a new id from now on, and they are received as another machine's"
            )
            self._take_new_id(server, heads)
            self._register(server, done)
            heads = server.heads()
        refused: TeamError | None = None
        try:
            self._send(server, heads, done)
        except ServerUnreachable:
            raise
        except TeamError as error:
            refused = error  # what others wrote is received all the same
        self._know(server, heads)
        self._ahead.begin(server.time)
        try:
            self._receive(server, heads, done, brief=bool(machines))
        finally:
            self._save_received()
        if refused is not None:
            raise refused
        return done

    def _know(self, server: TeamServer, heads: Mapping[StreamKey, StreamHead]) -> None:
        """Keep who the machines are: asked where one has joined, and now and then for when they were seen."""
        known = {machine.id for machine in self.machines}
        if known.issuperset(machine for machine, _ in heads) and not are_old(self._state / TEAM):
            return
        self.machines = list(server.machines())
        write_machines(self._state / TEAM, self.machines)

    def _own_streams(self) -> OwnStreams:
        after: dict[str, str] = {}
        for streams in self._former.values():
            after |= streams
        return OwnStreams(self._state, self.machine, self._journal, after)

    def _outbox(self, stream: str) -> Outbox:
        return self.record.own.get(stream) or Outbox()

    def is_current(self, name: str) -> bool:
        """Whether nobody else wrote down anything since, and others call this machine by that name still."""
        return (name, record_stamp(self._state)) == (self._name, self._stamp)

    def save(self) -> None:
        """Write down what is known, if it is not what was written last."""
        known = copy(self.record)
        if known != self._saved:
            write_record(self._state, known)
            self._saved, self._stamp = known, record_stamp(self._state)

    def _save_received(self) -> None:
        """Write down how much was received, seldom: replicas that have grown besides are looked at then."""
        now = time.monotonic()
        if now - self._saved_at >= _SELDOM:
            self._saved_at = now
            self.save()

    def _register(self, server: TeamServer, done: Exchange) -> None:
        try:
            server.register(self.machine, self._name)
        except MachineTaken:
            done.notes.append("this machine was another member's: it goes by a new id from now on")
            self._take_new_id(server, server.heads())
            server.register(self.machine, self._name)

    def _is_written_by_another(self, heads: Mapping[StreamKey, StreamHead]) -> bool:
        """Whether the server has something of this machine that is neither here nor was sent from here."""
        own = self._own_streams()
        for (machine, stream), head in heads.items():
            if machine == self.machine and is_shared(stream):
                outbox = self._outbox(stream)
                known = head.mark in (outbox.sent, outbox.pending)
                if not known and not file_begins(own.path(stream), head.size, head.crc):
                    return True
        return False

    def _take_new_id(self, server: TeamServer, heads: Mapping[StreamKey, StreamHead]) -> None:
        """Be another machine from now on, whose streams begin after what the old one's have of this one's.

        The new id counts once all that follows from it is written down.
        """
        own, old = self._own_streams(), self.machine
        common: dict[str, str] = {}
        for (machine, stream), head in heads.items():
            if machine == old and is_shared(stream):
                theirs = read_stream(server, machine, stream, 0, head.size)
                last = last_common(theirs, own.path(stream))
                if last:
                    common[stream] = last
        self._former = {**self._former, old: common}
        private_dir(former_root(self._state, old))
        write_former(self._state, self._former)
        shutil.rmtree(replica_root(self._state, old), ignore_errors=True)
        self.machine = name_machine(self._state)
        self.record = ReplicaRecord(self.machine, peers=self.record.peers)
        self.save()
        self.fill_outbox()

    def _send(self, server: TeamServer, heads: Mapping[StreamKey, StreamHead], done: Exchange) -> None:
        total = sum(outbox.kept.size for outbox in self.record.own.values())
        before = 0
        for stream, outbox in tuple(self.record.own.items()):
            for sent in self._send_stream(
                server, stream, heads.get((self.machine, stream), StreamHead()), done
            ):
                self._progress("Sending", before + sent, total)
            before += outbox.kept.size

    def _send_stream(
        self, server: TeamServer, stream: str, head: StreamHead, done: Exchange
    ) -> Iterator[int]:
        """Send the rest of a stream, or all of it if it was written again; yield how many bytes are sent."""
        outbox, path = self.record.own[stream], self._own_streams().path(stream)
        follows = outbox.follows if head.mark == outbox.sent else file_begins(path, head.size, head.crc)
        while head.size != outbox.kept.size or not follows:
            start = head.size if follows else 0
            lines = read_lines(path, start, MOST)
            generation = head.generation if follows else head.generation + 1
            pending = StreamHead(generation, start, head.crc if follows else 0).after(lines, "")
            self._remember(stream, sent=head, pending=pending, follows=follows)
            head = server.append(stream, start, lines) if follows else server.replace(stream, lines)
            if head.mark[1:] != pending.mark[1:]:
                raise TeamError(
                    f"the server has other bytes of the journal {stream} than were sent",
                    hint="`workbench store verify` says where; what is here stays as it is.",
                )
            follows = True
            done.sent += lines.count(b"\n")
            yield head.size
        self._remember(stream, sent=head, pending=head, follows=True)

    def _remember(self, stream: str, *, sent: StreamHead, pending: StreamHead, follows: bool) -> None:
        known = self.record.own[stream]
        new = Outbox(known.source, known.kept, sent.mark, pending.mark, follows)
        if new != known:
            self.record.own = {**self.record.own, stream: new}
            self.save()

    def _receive(
        self, server: TeamServer, heads: Mapping[StreamKey, StreamHead], done: Exchange, *, brief: bool
    ) -> None:
        """Receive what is not here; when `brief`, without a look at files that were seen to be whole."""
        theirs = _streams_of_others(heads, self.machine)
        if brief:
            theirs = {key: head for key, head in theirs.items() if not self._is_received(key, head)}
        missing = self.unreceived_bytes(heads)
        # Above the own ones, too: a clock that goes back leaves the order of what one machine wrote.
        raise_floor(self._state, max((head.last for head in heads.values()), default=""))
        before = 0
        for key, head in theirs.items():
            behind = max(0, head.size - self._replica_file(key).size)
            try:
                for received in self._receive_stream(server, key, head, done):
                    self._progress("Receiving", before + received, missing)
            except ServerUnreachable:
                raise
            except TeamError as refusal:  # one stream that is not as it should be holds up no other
                done.notes.append(f"{refusal.message}: {refusal.hint}")
            before += behind

    def received_marks(self, stream: str) -> dict[str, Mark]:
        """Return how far a stream of each other machine was received."""
        found = {one: streams.get(stream) for one, streams in self.record.peers.items()}
        return {one: kept.mark for one, kept in found.items() if kept is not None and kept.mark[1:] != (0, 0)}

    def generations(self) -> dict[str, dict[str, int]]:
        """Return how often each stream of another machine was written again, as far as it was received."""
        return {
            machine: {stream: kept.generation for stream, kept in streams.items()}
            for machine, streams in self.record.peers.items()
        }

    def _is_received(self, key: StreamKey, head: StreamHead) -> bool:
        return key in self._checked and self._replica_file(key).mark == head.mark

    def _replica_file(self, key: StreamKey) -> ReplicaFile:
        return self.record.peers.get(key[0], {}).get(key[1], ReplicaFile())

    def _receive_stream(
        self, server: TeamServer, key: StreamKey, head: StreamHead, done: Exchange
    ) -> Iterator[int]:
        """Receive the rest of a stream, or all of it where the replica cannot be gone on with."""
        machine, stream = key
        known, path = self._replica_file(key), stream_path(replica_root(self._state, machine), stream)
        kept = check_file(path, known, received=True)
        if kept is not None and kept.mark == head.mark:
            if kept is not known:
                self._keep(key, kept)
            self._checked.add(key)
            return
        if kept is not None and not kept.size:
            kept = ReplicaFile(head.generation)
        if kept is None:
            done.notes.append(f"{self._about(key)} was damaged: it is fetched again")
        elif kept.generation == head.generation:
            if kept.size > head.size and file_begins(path, head.size, head.crc):
                done.notes.append(f"the server has less of {self._about(key, replica=False)} than is here")
                return
            start = kept.size
            while kept.size < head.size:
                lines = server.read(machine, stream, kept.size, MOST)[: head.size - kept.size]
                if not lines.endswith(b"\n"):
                    break
                self._hold(key, kept.size, lines, done)
                kept = extend_file(path, kept, lines, sync=False)
                self._split_former(key, path)
                self._keep(key, kept)
                if kept.size < head.size:
                    self.save()  # of a long one the next process goes on from here
                done.received += lines.count(b"\n")
                yield kept.size - start
            if kept.mark == head.mark:
                self._checked.add(key)
                return
            done.notes.append(f"{self._about(key)} was not what the server has: it is fetched again")
        self._fetch(server, key, path, done)

    def _fetch(self, server: TeamServer, key: StreamKey, path: Path, done: Exchange) -> None:
        """Fetch a stream whole, again if it is replaced meanwhile. Raises: TeamError."""
        for _ in range(3):
            head = server.heads((key[0],)).get(key, StreamHead())
            blocks = list(read_stream(server, *key, 0, head.size))
            self._hold(key, 0, b"".join(blocks), done)
            kept = put_file(path, head.generation, blocks)
            self._split_former(key, path)
            self._keep(key, kept)
            self.save()  # with another generation's mark its file would seem damaged
            if kept.mark == head.mark:
                done.received += sum(block.count(b"\n") for block in blocks)
                return
        raise TeamError(
            f"{self._about(key, replica=False)} is not what the server's checksum says",
            hint="`workbench store verify` says where they differ; its machine can send it again.",
        )

    def _hold(self, key: StreamKey, start: int, lines: bytes, done: Exchange) -> None:
        """Let readers wait at an entry of the future, before they can see it."""
        if held := self._ahead.receive(key, start, lines):
            done.notes.append(f"{self._about(key, replica=False)} waits: {held.reason}")

    def _keep(self, key: StreamKey, kept: ReplicaFile) -> None:
        self.record.peers = {
            **self.record.peers,
            key[0]: {**self.record.peers.get(key[0], {}), key[1]: kept},
        }

    def _split_former(self, key: StreamKey, path: Path) -> None:
        """Write what others wrote under an id that this machine had, without what is in its own journals."""
        machine, stream = key
        if machine not in self._former:
            return
        rest = lines_after(read_file(path, 0, -1), self._former[machine].get(stream, ""))
        put_file(stream_path(former_root(self._state, machine), stream), 0, (rest,))

    def _about(self, key: StreamKey, *, replica: bool = True) -> str:
        machine, stream = key
        name = next((one.name for one in self.machines if one.id == machine), machine)
        return f"{'the replica of ' if replica else ''}the journal {stream} of {name}"


def _streams_of_others(heads: Mapping[StreamKey, StreamHead], own: str) -> dict[StreamKey, StreamHead]:
    """Return the heads of the streams that are received, sorted: of no name that could lead elsewhere."""
    return {
        (machine, stream): head
        for (machine, stream), head in sorted(heads.items())
        if machine != own and is_id(machine) and is_shared(stream)
    }
