"""The turns of a transcript: who spoke, which tool was called and what it returned, a page at a time.

Everything comes without secrets and cut to what can be read; records without content give no turn. Prompts
are found by the readers that imported them, so that an episode leads to the very line it came from, in the
original and in the copy of it.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from workbench.records.episodes import Episode
from workbench.sessions.importers import codex
from workbench.sessions.importers.fold import Fold
from workbench.sessions.importers.lines import BLOCK, TranscriptLine, TranscriptSource, lines_from
from workbench.sessions.importers.prompts import user_text
from workbench.sessions.importers.readers import format_of
from workbench.sessions.importers.touches import touches
from workbench.sessions.importers.transcripts import (
    CallOutcome,
    ToolResult,
    ToolUse,
    TranscriptRecord,
    Unreadable,
    joined_text,
    mapping,
    text,
)
from workbench.text.redact import redact

USER: Final = "user"
AGENT: Final = "agent"
THOUGHT: Final = "thought"
CALL: Final = "call"
RESULT: Final = "result"
NOTE: Final = "note"

MOST_TEXT: Final = 20_000  # characters of a turn
_NAMES: Final = (
    "file_path",
    "path",
    "notebook_path",
    "command",
    "cmd",
    "pattern",
    "query",
    "url",
    "description",
)
_HEAD: Final = 300
_CALLS: Final = frozenset(
    "function_call custom_tool_call local_shell_call function_call_output custom_tool_call_output".split()
)

MOST_TURNS: Final = 200
MOST_BYTES: Final = 1 << 20
_CLOSE: Final = 5  # seconds between the agent's clock and whoever recorded the session


@dataclass(frozen=True, slots=True)
class Turn:
    """One message or action. `role` is one of the constants above, `at` ISO 8601 or empty.

    `head` is a call's tool and object, or a note's kind; `text` its content; `offset` and `line` (from 1)
    where its line begins; `failed` marks results of calls that did not do what they should; `prompt` what
    the user asked for.
    """

    role: str
    text: str
    offset: int
    line: int
    head: str = ""
    at: str = ""
    failed: bool = False
    prompt: bool = False
    cut: int = 0
    paths: tuple[str, ...] = ()


def turns_of(line: TranscriptLine) -> list[Turn]:
    """Return the turns of a line, without secrets."""
    record = line.record
    if record is None:
        return []
    if isinstance(record, Unreadable):
        return [Turn(NOTE, record.reason, line.offset, line.number, "not readable", cut=line.cut)]
    value = record.value
    made = _codex(value) if codex.belongs(value) else _claude(value)
    return [_safe(turn, line) for turn in made]


def _safe(turn: Turn, line: TranscriptLine) -> Turn:
    left = max(len(turn.text) - MOST_TEXT, 0)
    return replace(
        turn,
        offset=line.offset,
        line=line.number,
        text=redact(turn.text[:MOST_TEXT]).text,
        head=redact(turn.head[:_HEAD]).text,
        cut=line.cut + left,
    )


def _turn(role: str, words: str, at: str = "", **more: Any) -> Turn:
    return Turn(role, words, 0, 0, at=at, **more)


def _claude(value: Mapping[str, Any]) -> Iterator[Turn]:
    """Yield the turns of a record of Claude Code, of a transcript or of stream-json."""
    at = text(value.get("timestamp"))
    kind = text(value.get("type"))
    if kind not in ("user", "assistant"):
        yield from _aside(value, kind, at)
        return
    content = mapping(value.get("message")).get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    helper = value.get("isSidechain") is True or bool(value.get("parent_tool_use_id"))
    for block in blocks if isinstance(blocks, list) else ():
        part = {"type": "text", "text": block} if isinstance(block, str) else mapping(block)
        yield from _block(part, value, kind, at, helper=helper)


def _block(
    block: Mapping[str, Any], value: Mapping[str, Any], kind: str, at: str, *, helper: bool
) -> Iterator[Turn]:
    match block.get("type"):
        case "text" if kind == "assistant":
            yield _turn(AGENT, text(block.get("text")), at, head="sub-agent" if helper else "")
        case "text":
            yield _user_turn(text(block.get("text")), at, own=not helper and value.get("isMeta") is not True)
        case "thinking":
            yield _turn(THOUGHT, text(block.get("thinking")), at)
        case "tool_use":
            given = block.get("input")
            yield _call_turn(
                text(block.get("name")), given if isinstance(given, dict) else {"input": given}, at
            )
        case "tool_result":
            yield _turn(RESULT, joined_text(block.get("content")), at, failed=block.get("is_error") is True)
        case other:
            yield _turn(NOTE, "", at, head=text(other) or "a part of unknown form")


def _aside(value: Mapping[str, Any], kind: str, at: str) -> Iterator[Turn]:
    if kind == "summary":
        yield _turn(NOTE, text(value.get("summary")), at, head="summary")
    elif kind == "system" and text(value.get("content")):
        yield _turn(NOTE, text(value.get("content")), at, head="system")
    elif kind == "result":
        yield _turn(NOTE, text(value.get("result")), at, head="result", failed=value.get("is_error") is True)


def _codex(value: Mapping[str, Any]) -> Iterator[Turn]:
    """Yield the turns of a record of Codex: of what the model sees, so that nothing comes twice."""
    at = text(value.get("timestamp"))
    item = mapping(value.get("payload")) if "payload" in value else value
    kind = value.get("type")
    if kind == "compacted":
        yield _turn(NOTE, text(item.get("message")), at, head="summary")
    if kind in ("session_meta", "turn_context", "event_msg", "compacted"):
        return
    match item.get("type"):
        case "message":
            words = joined_text(item.get("content"))
            if item.get("role") == "assistant":
                yield _turn(AGENT, words, at)
            elif item.get("role") == "user":
                yield _user_turn(words, at, own=True)
            else:
                yield _turn(NOTE, words, at, head=text(item.get("role")) or "message")
        case "reasoning":
            words = joined_text(item.get("summary"))
            if words:
                yield _turn(THOUGHT, words, at)
        case str(name) if name in _CALLS:
            for moment in codex.moments([TranscriptRecord(0, {"type": "response_item", "payload": item})]):
                if isinstance(moment, ToolUse):
                    yield _call_turn(moment.tool, moment.input, at)
                elif isinstance(moment, ToolResult):
                    yield _turn(RESULT, moment.output, at, failed=moment.outcome is not CallOutcome.RAN)
        case _:
            return


def _user_turn(words: str, at: str, *, own: bool) -> Turn:
    prompt = user_text(words) if own else None
    if prompt is not None and prompt.text:
        return _turn(USER, prompt.text, at, prompt=True)
    return _turn(NOTE, words, at, head="put in for the agent")


def _call_turn(tool: str, given: Mapping[str, Any], at: str) -> Turn:
    use = ToolUse("", tool, given, at, "", "", "")
    paths = tuple(touch.path for touch in touches(use))
    named = next((given[name] for name in _NAMES if given.get(name)), "")
    what = " ".join(map(str, named)) if isinstance(named, list) else str(named)
    return _turn(CALL, _arguments(given), at, head=f"{tool} {what}".strip(), paths=paths)


def _arguments(given: Mapping[str, Any]) -> str:
    """Return a call's arguments to read: each with its name, texts of several lines as they are."""
    words = []
    for name, value in given.items():
        shown = value if isinstance(value, str) else _write_json(value)
        words.append(f"{name}:\n{shown}" if "\n" in shown else f"{name}: {shown}")
    return "\n".join(words)


def _write_json(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "(nested too deeply)"


@dataclass(frozen=True, slots=True)
class TranscriptPage:
    """Turns of the lines from `start` up to `end` (byte offsets); `line` is the number of the first line.

    At the file's end `more` is False.
    """

    turns: tuple[Turn, ...]
    start: int
    end: int
    line: int
    end_line: int
    more: bool


@dataclass(frozen=True, slots=True)
class PromptMark:
    """A prompt of a transcript: the id its episode has, its place, its text without secrets, and when."""

    id: str
    offset: int
    line: int
    text: str
    at: int


class Prompts:
    """Finds the prompts of a transcript, reading it once and no further than it is asked to."""

    def __init__(self, source: TranscriptSource) -> None:
        self.marks: list[PromptMark] = []
        self.offsets = array("Q")
        self.read = 0
        self.complete = False
        self.conversation = True
        self._source = source
        self._steps = self._walk()

    def until(self, session_id: str, tell: Callable[[int, int], None]) -> PromptMark | None:
        """Read up to the prompt of an episode and return it; to the end if it is not there or "".

        Raises: OSError.
        """
        return self._further(tell, lambda found: found.id == session_id)

    def _further(
        self, tell: Callable[[int, int], None], enough: Callable[[PromptMark], bool]
    ) -> PromptMark | None:
        for step in self._steps:
            if step is None:
                tell(self.read, self._source.size)
                continue
            self.marks.append(step)
            if enough(step):
                return step
        self.complete = True
        return None

    def after(self, mark: PromptMark, tell: Callable[[int, int], None]) -> int:
        """Return the offset at which the prompt after this one begins, the file's end if none does.

        Reads on as far as it has to. Raises: OSError.
        """
        while not self.complete and not any(one.offset > mark.offset for one in self.marks):
            self._further(tell, lambda found: True)
        later = (one.offset for one in self.marks if one.offset > mark.offset)
        return min(later, default=self._source.size)

    def before(self, line: int, lines: int, size: int) -> tuple[int, int] | None:
        """Return (offset, number) of a line so many lines or bytes before a line, None if not read so far."""
        if line > len(self.offsets):
            return None
        first = max(line - 1 - lines, 0)
        while first < line - 2 and self.offsets[line - 1] - self.offsets[first] > size:
            first += 1
        return self.offsets[first], first + 1

    def _walk(self) -> Iterator[PromptMark | None]:
        found, records = format_of(self._records())
        self.conversation = found is not None and found.moments is not None
        if found is None or found.moments is None:
            return
        fold, heard = Fold(found.source), 0
        for moment in found.moments(records):
            known = len(fold.story.tasks)
            fold.take((moment,))
            if len(fold.story.tasks) > known:
                task = fold.story.tasks[-1]
                head = redact(task.text[:MOST_TEXT]).text
                yield PromptMark(task.id, self.offsets[moment.line - 1], moment.line, head, task.started)
            if self.read - heard >= BLOCK:
                heard = self.read
                yield None

    def _records(self) -> Iterator[TranscriptRecord | Unreadable]:
        for line in lines_from(self._source, 0, 1):
            self.offsets.append(line.offset)
            self.read = line.end
            if line.record is not None:
                yield line.record


def mark_of(marks: Sequence[PromptMark], episode: Episode) -> PromptMark | None:
    """Return the prompt that an episode began with: by its id, else by when it began, else its number."""
    for mark in marks:
        if mark.id == episode.session_id:
            return mark
    earlier = [mark for mark in marks if 0 <= mark.at <= episode.started_at + _CLOSE]
    if earlier and episode.started_at - earlier[-1].at <= _CLOSE:
        return earlier[-1]
    place = episode.prompt_index
    if place is not None and 0 <= place < len(marks):
        return marks[place]
    return earlier[-1] if earlier else marks[0] if marks else None


def first_turn(
    source: TranscriptSource, start: int, number: int, end: int, wanted: Callable[[Turn], bool]
) -> tuple[int, int] | None:
    """Return (offset, number) of the first line from `start` up to `end` with a turn that is wanted.

    Raises: OSError.
    """
    for line in lines_from(source, start, number):
        if line.offset >= end:
            break
        if any(map(wanted, turns_of(line))):
            return line.offset, line.number
    return None


def names_file(turn: Turn, path: str) -> bool:
    """Whether a call names a file of the project."""
    return any(one == path or one.endswith(f"/{path}") for one in turn.paths)


def read_page(
    source: TranscriptSource,
    offset: int,
    number: int,
    *,
    turns: int = MOST_TURNS,
    size: int = MOST_BYTES,
    until: int | None = None,
) -> TranscriptPage:
    """Return the turns from an offset on, at most so many or of so many bytes, or up to a line's offset.

    Raises: OSError.
    """
    found: list[Turn] = []
    end, line, more = offset, number, False
    for each in lines_from(source, offset, number):
        full = len(found) >= turns or end - offset >= size
        if each.offset == until or (full and found and until is None):
            more = True
            break
        found += turns_of(each)
        end, line = each.end, each.number + 1
    return TranscriptPage(tuple(found), offset, end, number, line, more)
