"""From the moments of a session to its tasks: each prompt with what was read and changed until the next.

A fold takes the moments of a session's file in order, then those of its sub-agents, whose work belongs to the
prompt that started them. What is recorded twice counts once: prompts by their id, calls by theirs.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import field
from datetime import datetime
from itertools import pairwise

from workbench.records.dataclass import dataclass
from workbench.records.episodes import ChangeKind
from workbench.sessions.importers.evidence import commit_of, says_wrong, suite_result
from workbench.sessions.importers.touches import Touch, shell_commands, staged_paths, touches
from workbench.sessions.importers.transcripts import (
    Aside,
    CallOutcome,
    Interrupted,
    Moment,
    Prompt,
    Setting,
    Started,
    ToolResult,
    ToolUse,
    Usage,
)

_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,79}")
_LATEST = 1 << 53
_TOLD = 4_000  # characters of an early result that are held


@dataclass(slots=True)
class PromptTask:
    """A prompt and what followed. `reads` and `edits` are absolute paths, times in seconds, -1 unknown.

    `tests` is whether the last test run passed, None without one; `commit` the sha of the last commit,
    empty if not shown, None without one; `later` marks a commit that a later prompt asked for. `text` is
    as written.
    """

    id: str
    text: str
    session: str
    cwd: str
    started: int
    ended: int
    index: int
    guessed: bool = False
    reads: dict[str, None] = field(default_factory=dict)
    edits: dict[str, Touch] = field(default_factory=dict)
    calls: int = 0
    tokens: int = 0
    commit: str | None = None
    later: bool = False
    tests: bool | None = None
    tested: int = -1
    interrupted: bool = False
    corrected: bool = False


@dataclass(slots=True)
class SessionStory:
    """What a fold made of a session: its tasks in order, and what belongs to none.

    `repeated` counts repeated records, `orphans` calls before the first prompt; `roots` are the work
    tree's as the session records them, `parent` is the session that a sub-agent's file belongs to.
    """

    session: str = ""
    root_session: str = ""
    parent: str = ""
    repository: str = ""
    roots: dict[str, None] = field(default_factory=dict)
    directories: dict[str, None] = field(default_factory=dict)
    tasks: list[PromptTask] = field(default_factory=list)
    repeated: int = 0
    orphans: int = 0
    failed: int = 0


class Fold:
    """Takes moments and keeps the tasks they make. `source` begins the ids of the tasks."""

    def __init__(self, source: str) -> None:
        self.story = SessionStory()
        self._source = source
        self._now = -1
        self._task: PromptTask | None = None
        self._waiting: dict[str, tuple[ToolUse, PromptTask]] = {}
        self._early: dict[str, ToolResult] = {}
        self._calls: dict[str, PromptTask | None] = {}
        self._agents: dict[str, str] = {}  # sub-agent → the call that started it
        self._prompts: set[object] = set()
        self._said: dict[str, Counter[str]] = {}
        self._made: Counter[str] = Counter()
        self._usage: dict[str, tuple[PromptTask, int]] = {}
        self._total = 0
        self._staged: dict[str, None] = {}

    def take(self, moments: Iterable[Moment]) -> None:
        """Take the moments of the session's own file."""
        for moment in moments:
            self._take(moment)

    def take_agent(self, agent: str, moments: Iterable[Moment]) -> None:
        """Take the moments of a sub-agent's file: they belong to the prompt that started it."""
        task: PromptTask | None = None
        found = False
        for moment in moments:
            if not found and isinstance(moment, (ToolUse, Aside)) and moment.at:
                task, found = self._started_by(agent, seconds(moment.at)), True
            if isinstance(moment, ToolUse):
                owner = task if found else self._started_by(agent, -1)
                self._use(moment, owner)
            elif isinstance(moment, ToolResult):
                self._result(moment)
            elif isinstance(moment, Usage) and (task or self._task) is not None:
                self._count_usage(moment, task)
            elif isinstance(moment, Started):
                self._agents.setdefault(moment.agent_id, moment.call_id)

    def finish(self) -> SessionStory:
        """Return the tasks with what follows from their neighbours."""
        tasks = self.story.tasks
        for task, following in pairwise(tasks):
            task.corrected = following.session == task.session and says_wrong(following.text)
        waiting: list[PromptTask] = []
        for task in tasks:
            if task.commit is None:
                waiting += [task] if task.edits else []
                continue
            for earlier in waiting:
                if earlier.session == task.session:
                    earlier.commit, earlier.later = task.commit, True
            waiting = []
        return self.story

    def _take(self, moment: Moment) -> None:
        match moment:
            case Prompt():
                self._prompt(moment)
            case ToolUse():
                self._hear(moment.at)
                self._use(moment, self._task)
            case ToolResult():
                self._hear(moment.at)
                self._result(moment)
            case Usage():
                self._count_usage(moment, self._task)
            case Setting():
                self._set(moment)
            case Interrupted():
                self._hear(moment.at)
                if self._task is not None:
                    self._task.interrupted = True
            case Started():
                self._agents.setdefault(moment.agent_id, moment.call_id)
            case Aside():
                self._hear(moment.at)
            case _:
                pass

    def _hear(self, at: str) -> None:
        now = seconds(at)
        if now >= 0:
            self._now = now
            if self._task is not None:
                self._task.ended = max(self._task.ended, now)

    def _set(self, moment: Setting) -> None:
        story = self.story
        story.session = story.session or moment.session
        story.root_session = moment.root_session or story.root_session
        story.parent = moment.parent or story.parent
        story.repository = moment.repository or story.repository
        story.roots.update(dict.fromkeys(filter(None, moment.roots)))
        if self._task is not None and moment.session and self._task.session != moment.session:
            self._task = None  # another run in the same file

    def _prompt(self, moment: Prompt) -> None:
        story = self.story
        words = " ".join(moment.text.split())
        key: object = moment.id or (moment.channel, moment.at, words, None if moment.at else moment.line)
        if key in self._prompts or not self._is_new(moment.channel, words):
            story.repeated += key in self._prompts
            self._prompts.add(key)
            return
        self._prompts.add(key)
        story.session = story.session or moment.session
        session = moment.session or story.session
        began = seconds(moment.at)
        self._now = self._now if began < 0 else began
        if moment.cwd:
            story.directories[moment.cwd] = None
        index = len(story.tasks)
        self._task = PromptTask(
            id=self._identify(moment, words, index),
            text=moment.text,
            session=session,
            cwd=moment.cwd,
            started=self._now,
            ended=self._now,
            index=index,
            guessed=moment.guessed,
        )
        story.tasks.append(self._task)

    def _is_new(self, channel: str, words: str) -> bool:
        """Whether a prompt was not yet in another log of the same file."""
        if not channel:
            return True
        heard = self._said.setdefault(channel, Counter())
        heard[words] += 1
        if heard[words] <= self._made[words]:
            return False
        self._made[words] += 1
        return True

    def _identify(self, moment: Prompt, words: str, index: int) -> str:
        if _ID.fullmatch(moment.id):
            return f"{self._source}:{moment.id}"
        if moment.channel:  # a forked session repeats the prompts of the one it comes from, in their places
            parts: tuple[object, ...] = (self.story.root_session or moment.session, index, words)
        else:
            parts = (moment.id, moment.session, moment.at, index, words)
        digest = hashlib.sha256("\0".join(map(str, parts)).encode("utf-8", "surrogatepass")).hexdigest()
        return f"{self._source}:{digest[:32]}"

    def _use(self, use: ToolUse, task: PromptTask | None) -> None:
        if use.id and use.id in self._calls:
            self.story.repeated += 1
            return
        if use.id:
            self._calls[use.id] = task
        if use.cwd:
            self.story.directories[use.cwd] = None
        if task is None:
            self.story.orphans += 1
            return
        task.calls += 1
        task.interrupted = False  # what was interrupted goes on
        task.ended = max(task.ended, seconds(use.at))
        early = self._early.pop(use.id, None)
        if early is not None:
            self._apply(use, task, early)
        elif use.id:
            self._waiting[use.id] = (use, task)

    def _result(self, result: ToolResult) -> None:
        if result.agent_id:
            self._agents.setdefault(result.agent_id, result.id)
        waiting = self._waiting.pop(result.id, None)
        if waiting is not None:
            self._apply(*waiting, result)
        elif result.id and result.id not in self._calls:
            output = result.output[:_TOLD]
            self._early[result.id] = ToolResult(
                result.id, result.outcome, result.line, output, result.created, result.at
            )

    def _apply(self, use: ToolUse, task: PromptTask, result: ToolResult) -> None:
        at = seconds(result.at)
        task.ended = max(task.ended, at)
        commands, start = shell_commands(use)
        if commands:
            if result.outcome is CallOutcome.RAN:
                self._staged.update((path, None) for path in staged_paths(commands, start))
            commit = commit_of(commands, result.outcome, result.output)
            if commit is not None:
                task.commit = commit.sha or task.commit or ""
                self._commit(task)
            passed = suite_result(commands, result.outcome, result.output)
            if passed is not None and max(at, 0) >= task.tested:
                task.tests, task.tested = passed, max(at, 0)
        if result.outcome is not CallOutcome.RAN:
            self.story.failed += 1
            return
        for touch in touches(use):
            if touch.kind is None:
                task.reads[touch.path] = None
                continue
            if result.created:
                touch = Touch(touch.path, ChangeKind.ADDED, touch.added, touch.removed)
            task.edits[touch.path] = merge_touches(task.edits.get(touch.path), touch)

    def _commit(self, task: PromptTask) -> None:
        """Count files staged by name and changed by nobody seen, such as the user, as the task's."""
        changed = {path for each in self.story.tasks for path in each.edits}
        for path in self._staged:
            if path not in changed:
                task.edits[path] = Touch(path, ChangeKind.MODIFIED)
        self._staged.clear()

    def _count_usage(self, usage: Usage, task: PromptTask | None) -> None:
        task = task or self._task
        if task is None:
            return
        if usage.total:
            task.tokens += max(usage.tokens - self._total, 0)
            self._total = max(usage.tokens, self._total)
            return
        owner, before = self._usage.get(usage.id, (task, 0))
        if usage.id:
            self._usage[usage.id] = (owner, max(usage.tokens, before))
        owner.tokens += max(usage.tokens - before, 0)

    def _started_by(self, agent: str, at: int) -> PromptTask | None:
        """Return the prompt that started a sub-agent: by the call that did, else by the time."""
        call = self._agents.get(agent)
        for _ in range(8):  # a sub-agent may have been started by another one
            if call is None:
                break
            if call in self._calls:
                return self._calls[call]
            call = self._agents.get(call)
        tasks = self.story.tasks
        before = [task for task in tasks if task.started <= at] if at >= 0 else tasks
        return before[-1] if before else tasks[0] if tasks else None


def merge_touches(before: Touch | None, touch: Touch) -> Touch:
    """Return two changes of one file as one."""
    if before is None:
        return touch
    kind = touch.kind
    if before.kind is ChangeKind.ADDED and kind is ChangeKind.MODIFIED:
        kind = ChangeKind.ADDED
    if before.kind is ChangeKind.REMOVED and kind is ChangeKind.ADDED:
        kind = ChangeKind.MODIFIED
    old = before.old_path or touch.old_path
    return Touch(touch.path, kind, before.added + touch.added, before.removed + touch.removed, old)


def seconds(at: str) -> int:
    """Return a time as seconds since the epoch, -1 if it is invalid."""
    if not at:
        return -1
    try:
        moment = datetime.fromisoformat(at)
        whole = int(moment.timestamp())
    except (ValueError, OverflowError, OSError):
        return -1
    return whole if 0 <= whole < _LATEST else -1
