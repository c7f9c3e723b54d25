"""Turns the events of a transcript into segments: what was said, read, printed, written, decided and planned.

The readers of `sessions` say what the records of each agent mean; here is decided which of it is worth a
segment, of which type, and what refers to what. Ids follow from the place and the text, so that reading a
transcript again, or a longer version of it, gives the same segments and the rest. What is left out is
counted by its reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from workbench.memory.extraction.errors import errors_of
from workbench.records.iterations import ToolUseEvent
from workbench.records.segments import ContextSegment, SegmentType
from workbench.sessions.importers.transcripts import (
    AGENT_MESSAGE,
    AGENT_TEXT,
    SUBAGENT_TASK,
    SUMMARY,
    Aside,
    CallOutcome,
    Moment,
    Prompt,
    Setting,
    ToolResult,
    ToolUse,
    Unknown,
    Unreadable,
    mapping,
    text,
)
from workbench.stash import outputs
from workbench.stash.answers import REPORT, USER, AnsweredCall, AnswerSegmenter
from workbench.stash.blocks import split_code, stated_decisions
from workbench.stash.calls import Purpose, is_plan_file, purpose_of, read_path, todo_items, written_code
from workbench.stash.drafts import SegmentDraft, SegmentMaker
from workbench.stash.outputs import FORMS
from workbench.stash.times import utc_time

AGENT: Final = "agent"
TASK: Final = "task"  # what a sub-agent was asked to do

_WAITING: Final = 2_000  # calls whose answers are not known yet
_SHORT_TURN: Final = 240  # characters up to which a turn can be an announcement
_SHORTEST: Final = 3
_PROVIDER: Final = ("API Error", "Claude AI usage limit", "Credit balance is too low", "Prompt is too long")


@dataclass(frozen=True, slots=True)
class _TaskList:
    items: tuple[str, ...]
    text: str
    tool: str
    anchor: str
    at: str


@dataclass(slots=True)
class Segmenter:
    """Takes the events of one transcript in order and gives segments, which `make` makes.

    `session` replaces the transcript's own, `fallback` is that of one that names none. `agent` is the
    sub-agent that wrote the file, empty if none did.
    """

    make: SegmentMaker
    session: str = ""
    fallback: str = ""
    agent: str = ""
    answers: AnswerSegmenter = field(init=False)
    _turn: str = ""
    _calls: dict[str, AnsweredCall] = field(default_factory=dict)
    _background: dict[str, ToolUse] = field(default_factory=dict)
    _tasks: _TaskList | None = None

    def __post_init__(self) -> None:
        self.answers = AnswerSegmenter(self.make)

    @property
    def _left_out(self) -> Counter[str]:
        return self.make.left_out

    def take(self, moment: Moment, record: Mapping[str, Any]) -> Iterator[ContextSegment]:
        """Take an event and the record it is in; yield the segments that are complete with it."""
        self._locate(moment, record)
        match moment:
            case Prompt(channel="screen") | Prompt(guessed=True):
                return
            case Prompt():
                yield from self._segment_words(moment.text, USER)
            case Aside(what=what, text=words) if words and what in (AGENT_TEXT, AGENT_MESSAGE):
                if self._is_provider_error(words, record):
                    self._left_out["errors of the provider"] += 1
                elif self.make.here.agent.startswith("acompact"):
                    self._left_out["work of a compaction"] += 1
                else:
                    yield from self._segment_words(words, AGENT)
            case Aside(what=what, text=words) if words and what == SUMMARY:
                yield from self._state(words, self.make.here.anchor, kind="summary")
            case Aside(what=what, text=words) if words and what == SUBAGENT_TASK:
                if record.get("type") != "event_msg" and not self.make.here.agent.startswith("acompact"):
                    yield from self._segment_words(words, TASK)
            case Aside(what=what):
                self._pass_over(what)
            case ToolUse():
                yield from self._segment_call(moment)
            case ToolResult():
                yield from self._segment_answer(moment)
            case Unreadable() | Unknown():
                self._left_out["lines that are not understood"] += 1

    def finish(self) -> Iterator[ContextSegment]:
        """Yield what waited for the end: the last state of the list of tasks."""
        yield from self._flush_tasks()
        if self._calls:
            self._left_out["calls without an answer"] += len(self._calls)

    def _locate(self, moment: Moment, record: Mapping[str, Any]) -> None:
        here = self.make.here
        inner = (
            mapping(mapping(record.get("data")).get("message")) if record.get("type") == "progress" else {}
        )
        here.line = moment.line
        session = text(record.get("sessionId")) or text(record.get("session_id"))
        if isinstance(moment, Setting):
            session = moment.session
            here.cwd = moment.cwd or here.cwd
            here.agent = moment.parent and moment.session
        here.session = self.session or session or here.session or self.fallback
        here.branch = text(record.get("gitBranch")) or here.branch
        if record.get("type") == "session_meta":
            here.branch = text(mapping(mapping(record.get("payload")).get("git")).get("branch"))
        here.cwd = text(record.get("cwd")) or here.cwd
        if record.get("type") in ("user", "assistant", "progress"):
            named = text(record.get("agentId")) or text(mapping(record.get("data")).get("agentId"))
            helper = bool(record.get("parent_tool_use_id") or record.get("isSidechain") is True or inner)
            here.agent = named or self.agent or ("sub-agent" if helper else "")
        here.at = utc_time(getattr(moment, "at", "")) or utc_time(record.get("timestamp")) or here.at
        here.anchor = text(inner.get("uuid")) or text(record.get("uuid"))

    def _pass_over(self, what: str) -> None:
        if what.startswith("thinking") or what == "reasoning":
            self._left_out["thoughts"] += 1
        elif what.startswith(("image", "picture", "document")):
            self._left_out["pictures and documents"] += 1
        elif what.startswith("put in by"):
            self._left_out["texts put in by the agent or a hook"] += 1

    def _is_provider_error(self, words: str, record: Mapping[str, Any]) -> bool:
        synthetic = mapping(record.get("message")).get("model") == "<synthetic>"
        return synthetic or record.get("isApiErrorMessage") is True or words.startswith(_PROVIDER)

    def _segment_words(self, words: str, role: str) -> Iterator[ContextSegment]:
        """Yield a turn behind its code, and what it decides."""
        words = FORMS["reminder"].sub("\n", words).strip()
        short = len(words) <= _SHORT_TURN and "\n\n" not in words
        decisions = list(stated_decisions(words, by_user=role == USER)) if role != TASK else []
        if short and role == AGENT and not decisions and FORMS["announcement"].match(words):
            self._left_out["announcements of a call"] += 1
            return
        if short and FORMS["acknowledgement"].match(words):
            self._left_out["bare acknowledgements"] += 1
            return
        if role == AGENT and self.make.here.agent and self.make.is_repeated(words, REPORT):
            self._left_out[outputs.REPEATED] += 1
            return
        folded, blocks = split_code(words)
        code: list[str] = []
        for block in blocks:
            facts = {"language": block.language, "line": str(block.line), "role": role}
            for one in self.make.one(SegmentDraft(SegmentType.CODE_BLOCK, block.text, facts=facts)):
                code.append(one.segment_id)
                yield one
        turn = SegmentDraft(SegmentType.MESSAGE, folded, references=tuple(code), facts={"role": role})
        parts = list(self.make.parts(turn))
        yield from parts
        if not parts:
            return
        self._turn = parts[0].segment_id
        if role == USER:
            yield from self._pasted_errors(words)
        for decision in decisions:
            yield from self.answers.decision(decision.text, self._turn, role=role, reason=decision.reason)

    def _pasted_errors(self, words: str) -> Iterator[ContextSegment]:
        use = ToolUseEvent("Bash", {"command": "pasted"}, result=words)
        found = [error for error in errors_of(use) if error.end - error.start > _SHORTEST]
        if found and "\n" in words:
            yield from self.answers.error_blocks(words, found, {"role": USER}, (self._turn,), "")

    def _state(self, words: str, anchor: str, **facts: str) -> Iterator[ContextSegment]:
        """Yield a plan or the summary of a compaction, and the decisions that it lists."""
        draft = SegmentDraft(SegmentType.TASK_STATE, words.strip(), anchor=anchor, facts=facts)
        parts = list(self.make.parts(draft))
        yield from parts
        if not parts:
            return
        if facts["kind"] == "summary":
            self._turn = parts[0].segment_id
        for decision in stated_decisions(words):
            yield from self.answers.decision(
                decision.text, parts[0].segment_id, role=AGENT, reason=decision.reason
            )

    def _segment_call(self, use: ToolUse) -> Iterator[ContextSegment]:
        """Yield what a call writes, plans or asks of a sub-agent; remember it until its answer comes."""
        written: list[str] = []
        purpose = purpose_of(use)
        if use.id in self._calls:
            return
        if purpose in (Purpose.WRITE, Purpose.EDIT, Purpose.PATCH):
            for one in self._segment_code(use):
                written.append(one.segment_id)
                yield one
        elif purpose is Purpose.TASKS:
            yield from self._segment_todos(use)
        elif purpose is Purpose.PLAN and text(use.input.get("plan")):
            yield from self._state(text(use.input["plan"]), use.id, kind="plan")
        elif purpose is Purpose.HELPER and text(use.input.get("prompt")):
            turn = self._turn
            yield from self._segment_words(text(use.input["prompt"]), TASK)
            self._turn = turn or self._turn
        while len(self._calls) >= _WAITING:
            del self._calls[next(iter(self._calls))]
            self._left_out["calls without an answer"] += 1
        self._calls[use.id] = AnsweredCall(use, self._turn, tuple(written))

    def _segment_code(self, use: ToolUse) -> Iterator[ContextSegment]:
        for code in written_code(use):
            path = self.make.relative(code.path)
            if not code.text.strip() or outputs.is_binary(code.text):
                self._left_out[outputs.EMPTY if not code.text.strip() else outputs.BINARY] += 1
            elif code.whole and is_plan_file(code.path):
                yield from self._state(code.text, use.id, kind="plan", path=path)
            else:
                kind = SegmentType.FILE_CONTENT if code.whole else SegmentType.CODE_BLOCK
                facts = {"tool": use.tool, "action": "written" if code.whole else "changed"}
                words = outputs.clean_lines(code.text)
                yield from self.make.parts(SegmentDraft(kind, words, use.id, path, (self._turn,), facts))

    def _segment_todos(self, use: ToolUse) -> Iterator[ContextSegment]:
        """Note the state of a list of tasks; the one before is complete when the list changes."""
        items = todo_items(use)
        if not items:
            return
        names = tuple(name for name, _ in items)
        if self._tasks is not None and self._tasks.items != names:
            yield from self._flush_tasks()
        shown = "\n".join(f"- [{mark}] {name}" for name, mark in items)
        self._tasks = _TaskList(names, shown, use.tool, use.id, self.make.here.at)

    def _flush_tasks(self) -> Iterator[ContextSegment]:
        tasks, self._tasks = self._tasks, None
        if tasks is not None:
            facts = {"kind": "tasks", "tool": tasks.tool}
            draft = SegmentDraft(SegmentType.TASK_STATE, tasks.text, tasks.anchor, facts=facts, at=tasks.at)
            yield from self.make.one(draft)

    def _segment_answer(self, result: ToolResult) -> Iterator[ContextSegment]:
        """Yield what an answer is worth."""
        call = self._calls.pop(result.id, None)
        if call is None:  # it is recorded twice, or its call was before the beginning
            return
        purpose = purpose_of(call.use)
        if (started := FORMS["background"].search(result.output[:_SHORT_TURN])) is not None:
            self._background[started[1]] = call.use
        elif (begun := text(call.use.input.get("task_id")) or text(call.use.input.get("bash_id"))) != "":
            call = replace(call, use=self._background.get(begun, call.use))
        if result.outcome is CallOutcome.REJECTED:
            yield from self._segment_rejection(result)
            return
        out = outputs.read_output(result.output)
        if purpose is Purpose.QUESTION:
            yield from self.answers.segment_choices(result.output, call)
        elif purpose is Purpose.PLAN and (plan := FORMS["plan"].search(result.output)) is not None:
            yield from self._state(plan[1], call.use.id, kind="plan")
        elif out.reason:
            self._left_out[out.reason] += 1
        elif result.outcome is CallOutcome.FAILED:
            yield from self.answers.segment_failure(out, call)
        elif purpose in _CONFIRMED or FORMS["confirmation"].match(out.text):
            self._left_out[outputs.CONFIRMATION] += 1
        elif path := read_path(call.use):
            yield from self.answers.file(out, call, path)
        elif purpose in (Purpose.RESEARCH, Purpose.HELPER):
            yield from self.answers.research(out, call)
        else:
            yield from self.answers.segment_output(out, call)

    def _segment_rejection(self, result: ToolResult) -> Iterator[ContextSegment]:
        feedback = FORMS["feedback"].search(result.output)
        if feedback is None:
            self._left_out["rejected calls"] += 1
            return
        yield from self._segment_words(feedback[1], USER)


_CONFIRMED: Final = frozenset(
    {Purpose.WRITE, Purpose.EDIT, Purpose.PATCH, Purpose.TASKS, Purpose.SILENT, Purpose.PLAN}
)
