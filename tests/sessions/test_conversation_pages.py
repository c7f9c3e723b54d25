"""Transcripts are read from any prompt, a page at a time, whatever their size."""

from __future__ import annotations

import gzip
import io
import tracemalloc
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

import pytest

from tests.sessions.importers.made import NOON, codex, codex_said, edited, group, raw, user
from workbench.records.episodes import Episode, Outcome
from workbench.sessions.importers.lines import TranscriptSource, lines_from
from workbench.sessions.importers.readers import read_session
from workbench.sessions.transcript_pages import Prompts, first_turn, mark_of, names_file, read_page

SESSION = [
    user("fix the login of the shop", "u1", 0),
    *edited("a", "/p/a.py", 1),
    user("now change the logout as well", "u2", 10),
    *edited("b", "/p/b.py", 11),
    *edited("c", "/p/a.py", 12),
    user("and what about the tests?", "u3", 20),
]


def source(lines: Iterable[Any]) -> TranscriptSource:
    return TranscriptSource(io.BytesIO(raw(lines)))


def quiet(read: int, total: int) -> None:
    """Tell nobody."""


def episode(session: str, at: int = 0, number: int | None = None) -> Episode:
    return Episode(session, "p", "t", "f", "bugfix", at, at, Outcome.UNKNOWN, (), prompt_index=number)


def test_the_prompt_of_an_episode_is_found_without_reading_on() -> None:
    """The ids are those of the import; what follows is read only when it is asked for."""
    prompts = Prompts(source(SESSION * 1 + [user("x" * 90, f"v{n}", 30 + n) for n in range(500)]))
    found = prompts.until("claude_code:u2", quiet)
    assert found is not None
    assert (found.line, found.text) == (4, "now change the logout as well")
    assert len(prompts.marks) == 2
    assert [prompts.complete] == [False]
    assert prompts.after(found, quiet) > found.offset
    assert len(prompts.marks) == 3
    assert prompts.until("", quiet) is None
    assert prompts.complete
    assert len(prompts.marks) == 503


def test_the_prompts_are_those_an_import_makes_tasks_of() -> None:
    """Also where a log tells them twice, as Codex does."""
    lines = [codex("session_meta", 0, id="c", cwd="/p"), *codex_said("go", 1), *codex_said("on", 9)]
    prompts = Prompts(source(lines))
    prompts.until("", quiet)
    tasks = read_session(group(*lines)).story.tasks
    assert [task.id for task in tasks] == [mark.id for mark in prompts.marks]


@pytest.mark.parametrize(
    ("asked", "line"),
    [
        (episode("claude_code:u2"), 4),
        (episode("live", NOON + 12), 4),
        (episode("live", NOON + 9_000, 2), 9),
        (episode("live", NOON - 500, 0), 1),
        (episode("live", NOON + 9_000), 9),
    ],
)
def test_an_episode_leads_to_its_prompt(asked: Episode, line: int) -> None:
    """By its id, else by when it began, else by its number, else to the last prompt before it."""
    prompts = Prompts(source(SESSION))
    prompts.until("", quiet)
    mark = mark_of(prompts.marks, asked)
    assert mark is not None
    assert mark.line == line


def test_pages_follow_each_other_without_gap() -> None:
    """Page by page every turn comes once, forwards; the line before a page is known."""
    made = source(SESSION)
    offset, line, roles, pages = 0, 1, [], 0
    more = True
    while more:
        page = read_page(made, offset, line, turns=2)
        roles += [(turn.line, turn.role) for turn in page.turns]
        offset, line, more = page.end, page.end_line, page.more
        pages += 1
    assert pages > 2
    assert roles == [(turn.line, turn.role) for turn in read_page(made, 0, 1).turns]
    prompts = Prompts(made)
    prompts.until("", quiet)
    assert prompts.before(4, 2, 10_000) == (prompts.offsets[1], 2)
    assert prompts.before(4, 50, 1) == (prompts.offsets[2], 3)
    assert prompts.before(99, 2, 10_000) is None


def test_the_first_call_about_a_file_is_found_within_its_prompt() -> None:
    """Not the one of the prompt before or after."""
    made = source(SESSION)
    prompts = Prompts(made)
    mark = prompts.until("claude_code:u2", quiet)
    assert mark is not None
    end = prompts.after(mark, quiet)
    found = first_turn(made, mark.offset, mark.line, end, lambda turn: names_file(turn, "a.py"))
    assert found is not None
    assert found[1] == 7
    assert first_turn(made, mark.offset, mark.line, end, lambda turn: names_file(turn, "c.py")) is None


def test_a_copy_that_is_compressed_reads_the_same(tmp_path: Path) -> None:
    """It is unpacked once, into a file without a name."""
    path = tmp_path / "s.jsonl.gz"
    path.write_bytes(gzip.compress(raw(SESSION)))
    told: list[int] = []
    packed = TranscriptSource(gzip.GzipFile(path), told.append)
    assert told == [packed.size]
    assert read_page(packed, 0, 1) == read_page(source(SESSION), 0, 1)
    packed.close()


class Huge(io.RawIOBase):
    """A transcript of a line of so many bytes between two prompts, made while it is read."""

    def __init__(self, size: int) -> None:
        start = b'{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"'
        before, after = raw([SESSION[0]]) + start, b'"}]}}\n' + raw([SESSION[3]])
        self._parts: tuple[bytes | int, ...] = (before, size, after)
        self._ends = [0]
        for part in self._parts:
            self._ends.append(self._ends[-1] + (part if isinstance(part, int) else len(part)))
        self._at = 0

    def seekable(self) -> bool:
        """Say that any place can be read."""
        return True

    def readable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = offset if whence == 0 else self._ends[-1] + offset if whence == 2 else self._at + offset
        return self._at

    def readinto(self, buffer: Any) -> int:
        for part, start, end in zip(self._parts, self._ends, self._ends[1:], strict=False):
            if start <= self._at < end:
                count = min(len(buffer), end - self._at)
                inside = self._at - start
                some = b"x" * count if isinstance(part, int) else part[inside : inside + count]
                buffer[:count] = some
                self._at += count
                return count
        return 0


def test_a_line_of_fifty_megabytes_is_never_whole_in_memory() -> None:
    """It is cut while it is read, what was left out is told, and the prompt after it is found."""
    handle: IO[bytes] = io.BufferedReader(Huge(50 << 20), 1 << 16)
    made = TranscriptSource(handle)
    prompts = Prompts(made)
    tracemalloc.start()
    try:
        found = prompts.until("claude_code:u2", quiet)
        page = read_page(made, 0, 1)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found is not None
    assert found.line == 3
    assert found.offset > 50 << 20
    assert peak < 10 << 20
    assert [turn.line for turn in page.turns] == [1, 2]
    assert page.more
    assert page.turns[1].cut > 49 << 20


def test_lines_keep_their_places_whatever_is_in_them() -> None:
    """Empty lines, broken ones and a byte order mark count as lines."""
    made = TranscriptSource(io.BytesIO(b"\xef\xbb\xbf{}\n\n{broken\n" + raw([SESSION[0]])[:-1]))
    lines = list(lines_from(made, 0, 1))
    assert [line.number for line in lines] == [1, 2, 3, 4]
    assert lines[1].record is None
    assert lines[-1].end == made.size
    assert read_page(made, lines[2].offset, 3).turns[0].head == "not readable"
