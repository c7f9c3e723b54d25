"""Journals on a server: byte for byte those of files, and of writers at once each adds its lines whole."""

from __future__ import annotations

import threading
from pathlib import Path
from zlib import crc32

from store.journal import FileJournal
from store.journal_files import stream_path
from store.postgres.connection import Connections
from store.postgres.journal import PostgresJournal
from store.postgres.server import PostgresServer
from tests.adapters import ManualClock
from tests.teams import Team
from workbench.ports import Verbatim

BODIES: list[dict[str, object]] = [{"text": "\0 \ud800 é\r\n\u2028"}, {}, {"big": "x" * 1_000_000}, {}]


def copied(team: Team, files: FileJournal) -> PostgresJournal:
    """Return a journal on the server with the bytes of one in files."""
    journal = team.journal(ManualClock())
    server = PostgresServer(team.owner, "of-tests", "postgres")
    server.register(journal.machine, "x")
    for stream in files.streams():
        server.append(stream, 0, stream_path(files.root, stream).read_bytes())
    return journal


def test_positions_checksums_and_revisions_are_those_of_files(team: Team, tmp_path: Path) -> None:
    """The same bytes are the same journal: at every end of a line, inside of lines, and beyond the end."""
    files = FileJournal(tmp_path, ManualClock())
    journal = copied(team, files)
    assert (journal.revision("rules"), journal.size("rules"), journal.streams()) == ("0", 0, [])
    for count in (1, 2, 4):
        for stream in ("rules", "learnings/main"):
            files.append(stream, "a.kind", BODIES[:count], by="cli")
        journal = copied(team, files)
        data = stream_path(files.root, "rules").read_bytes()
        assert journal.streams() == files.streams()
        assert journal.revision("rules") == files.revision("rules")
        ends = [end for end, _ in files.read("rules")]
        assert [*journal.read("rules")] == [*files.read("rules")]
        assert [*journal.read("rules", ends[-1])] == []
        for end in {0, 1, ends[0] - 1, *ends, len(data) - 1, len(data) + 1}:
            expected = crc32(data[:end]) if end <= len(data) else -1
            assert journal.checksum("rules", end) == files.checksum("rules", end) == expected


def test_secrets_are_masked_but_in_verbatim_texts(team: Team) -> None:
    """What is sent to a server holds no more secrets than what is written to a file."""
    journal = team.journal(ManualClock())
    secret = {"k": "password = hunter2hunter2"}
    masked, whole = journal.append("stash", "a.kind", [secret, Verbatim(secret)], by="cli")
    assert "hunter2" not in str(masked.body)
    assert whole.body == secret
    assert [entry for _, entry in journal.read("stash")] == [masked, whole]


def test_of_writers_at_once_none_is_lost(team: Team) -> None:
    """Threads with a journal of one machine each add all they append, every batch in one piece."""
    first = team.journal(ManualClock())
    connections = Connections(team.owner_url, most=3)
    writers = [PostgresJournal(connections, "of-tests", first.machine, ManualClock()) for _ in range(4)]

    def write(number: int) -> None:
        for turn in range(10):
            writers[number].append("rules", "k", [{"by": number, "turn": turn}] * 3, by="cli")

    threads = [threading.Thread(target=write, args=(number,)) for number in range(len(writers))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    connections.close()
    found = [(entry.body["by"], entry.body["turn"]) for _, entry in first.read("rules")]
    assert found[::3] == found[1::3] == found[2::3]
    assert sorted(found) == [(number, turn) for number in range(4) for turn in range(10) for _ in range(3)]
