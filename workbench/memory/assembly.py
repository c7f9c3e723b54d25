"""Events of an agent's run gathered into the raw output of its iterations, one line at a time, within bounds.

A run of `claude -p` is an iteration, from its first event to its result; in a transcript each prompt begins
one. Long outputs keep their beginning and their end, where errors stand. Whatever a line holds is no error:
what no reader knows is counted by its reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from workbench.memory.extraction.extract import TRUNCATED
from workbench.records.iterations import RawIterationOutput, ResultEvent, ToolUseEvent
from workbench.sessions.importers import claude_code
from workbench.sessions.importers.transcripts import (
    CallOutcome,
    Interrupted,
    Prompt,
    ToolResult,
    ToolUse,
    TranscriptRecord,
    Unreadable,
    Usage,
    mapping,
    text,
)

HEAD: Final = 16_384
"""Characters of a long output's beginning that are kept."""
TAIL: Final = 49_152
MOST: Final = 24 << 20
"""Characters of outputs held for one iteration; beyond it the oldest are forgotten, their calls not."""
MAX_EVENTS: Final = 50_000
_MAX_REASONS = 60
_REASON = 80

_SPENT = ("input_tokens", "cache_creation_input_tokens", "output_tokens")
_API_ERROR = ("API Error", "Claude AI usage limit", "Credit balance is too low")


@dataclass(slots=True)
class Seen:
    """What was seen of a stream: lines, known events, and what was not understood, by reason."""

    lines: int = 0
    events: int = 0
    unknown: Counter[str] | None = None

    def count(self, reason: str) -> None:
        """Count something that was not understood."""
        if self.unknown is None:
            self.unknown = Counter()
        if reason not in self.unknown and len(self.unknown) >= _MAX_REASONS:
            reason = "other reasons"
        self.unknown[reason[:_REASON]] += 1

    @property
    def reasons(self) -> dict[str, int]:
        """What was not understood, most often first."""
        found = self.unknown or Counter()
        return dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))


class Gathering:
    """One iteration as it goes on."""

    def __init__(self, source: str, session: str, place: int) -> None:
        self.raw = RawIterationOutput(source=source, session=session, place=place)
        self.texts: list[str] = []
        self.uses: dict[str, ToolUseEvent] = {}
        self.tokens: dict[str, int] = {}
        self.total: int | None = None
        self.held = 0
        self.omitted = 0
        self._results: list[str] = []
        self._open = False
        self._ended_at = ""

    @property
    def empty(self) -> bool:
        """Whether nothing was said or done yet."""
        return not (self.texts or self.uses or self.raw.result or self.raw.api_error)

    def tell(self, **known: Any) -> None:
        """Note what is known of the run: its model, directory, prompt, result."""
        for name, value in known.items():
            if getattr(self.raw, name) != value:
                self.raw = replace(self.raw, **known)
                return

    def at(self, when: str) -> None:
        """Note that something happened at a time (ISO 8601)."""
        if when:
            self._ended_at = when
            if not self.raw.started_at:
                self.tell(started_at=when)

    def say(self, words: str) -> None:
        """Take the agent's words."""
        if words.strip() and len(self.texts) < MAX_EVENTS:
            self.texts.append(self._shorten(words))
            self._open = False

    def take(self, moment: object) -> None:
        """Take a call, its answer, tokens or an interruption; other moments are passed over."""
        match moment:
            case ToolUse():
                self.use(moment)
            case ToolResult():
                self.answer(moment)
            case Usage():
                self.spend(moment)
            case Interrupted():
                self.tell(stopped="interrupted")

    def use(self, call: ToolUse) -> None:
        """Take a call of a tool; one of an id that is known is reported again."""
        identifier = call.id or f"call {len(self.uses)}"
        if identifier in self.uses or len(self.uses) >= MAX_EVENTS:
            return
        given = {key: self._shorten(one) if isinstance(one, str) else one for key, one in call.input.items()}
        self.uses[identifier] = ToolUseEvent(call.tool, given, identifier, subagent=call.subagent)
        self._open = True

    def answer(self, result: ToolResult) -> None:
        """Take what a tool answered."""
        call = self.uses.get(result.id)
        if call is None or call.result is not None:
            return
        output = self._shorten(result.output)
        self.uses[result.id] = replace(
            call,
            result=output,
            failed=result.outcome is CallOutcome.FAILED,
            rejected=result.outcome is CallOutcome.REJECTED,
            created=result.created,
        )
        self._results.append(result.id)
        self.held += len(output)
        self._open = True
        while self.held > MOST and len(self._results) > 1:
            self._forget(self._results.pop(0))

    def spend(self, usage: Usage) -> None:
        """Take the tokens of a message; of several reports the last counts."""
        if usage.total:
            self.total = usage.tokens
        else:
            self.tokens[usage.id] = usage.tokens

    def finish(self, stopped: str = "") -> RawIterationOutput:
        """Return the iteration. One without a result whose last call nobody followed up broke off."""
        if self.raw.result is None and not stopped and not self.raw.stopped and (self._open or self.empty):
            stopped = TRUNCATED
        spent = self.total if self.total is not None else sum(self.tokens.values()) or None
        return replace(
            self.raw,
            anchor=self.raw.anchor or next(iter(self.uses), ""),
            texts=tuple(self.texts),
            tool_uses=tuple(self.uses.values()),
            tokens=spent,
            ended_at=self._ended_at,
            stopped=stopped or self.raw.stopped,
            omitted=self.omitted,
        )

    def _forget(self, identifier: str) -> None:
        gone = self.uses[identifier]
        self.held -= len(gone.result or "")
        self.omitted += len(gone.result or "")
        self.uses[identifier] = replace(gone, result="")

    def _shorten(self, words: str) -> str:
        if len(words) <= HEAD + TAIL:
            return words
        self.omitted += len(words) - HEAD - TAIL
        return f"{words[:HEAD]}\n{words[-TAIL:]}"


class Assembler:
    """Takes the records of a stream-json output or of a Claude Code transcript and gives iterations.

    `seen` counts what was taken. Records of helpers count as their agent's. Feeding never raises.
    """

    def __init__(self) -> None:
        self.seen = Seen()
        self._now: Gathering | None = None
        self._places: Counter[str] = Counter()
        self._known: dict[str, Any] = {}

    def take(self, record: TranscriptRecord | Unreadable) -> RawIterationOutput | None:
        """Take a line; return the iteration that it ended, if any."""
        self.seen.lines += 1
        if isinstance(record, Unreadable):
            self.seen.count(record.reason)
            return None
        value = record.value
        kind = value.get("type")
        match kind:
            case "system":
                return self._system(value)
            case "user" | "assistant":
                return self._message(kind, value, record.line)
            case "result":
                return self._result(value)
            case "rate_limit_event":
                info = mapping(value.get("rate_limit_info"))
                if info.get("status") == "rejected":
                    self._gathering(value).tell(limited=True)
            case str() if kind in claude_code.STREAM_TYPES or kind in claude_code.TYPES:
                pass
            case _:
                self.seen.count(f"events of type {text(kind) or type(kind).__name__}")
                return None
        self.seen.events += 1
        return None

    def finish(self, stopped: str = "") -> RawIterationOutput | None:
        """Return the iteration that was going on, None where nothing was.

        A run that died before its first word is one; a prompt that waits for an answer is not one yet.
        """
        now, self._now = self._now, None
        if now is None or (now.empty and not _is_run(now)):
            return None
        # A transcript has no result: that it ends says nothing.
        return now.finish("" if stopped == TRUNCATED and not _is_run(now) else stopped)

    def _system(self, value: Mapping[str, Any]) -> RawIterationOutput | None:
        self.seen.events += 1
        if value.get("subtype") != "init":
            return None
        if self._now is not None and self._now.empty:
            self._now = None  # a run can announce itself more than once
        ended = self.finish()
        self._known = {}
        now = self._gathering(value)
        now.tell(model=text(value.get("model")))
        return ended

    def _result(self, value: Mapping[str, Any]) -> RawIterationOutput | None:
        self.seen.events += 1
        now = self._gathering(value)
        now.tell(result=result_event(value))
        now.at(text(value.get("timestamp")))
        return self.finish()

    def _message(self, role: str, value: Mapping[str, Any], line: int) -> RawIterationOutput | None:
        self.seen.events += 1
        message = mapping(value.get("message"))
        helper = bool(value.get("parent_tool_use_id")) or value.get("isSidechain") is True
        ended = None
        moments = list(claude_code.record_moments(value, line, value, subagent=helper))
        prompt = next((moment for moment in moments if isinstance(moment, Prompt)), None)
        going = self._now
        # Of a run of `claude -p` the result is the end, whatever is put in the user's mouth on the way.
        if prompt is not None and going is not None and not going.empty and not _is_run(going):
            ended = self.finish()
        now = self._gathering(value)
        if prompt is not None:
            now.tell(prompt=now.raw.prompt or prompt.text[:HEAD])
        now.at(text(value.get("timestamp")))
        if role == "assistant":
            self._words(now, value, message, helper=helper)
        for moment in moments:
            now.take(moment)
        return ended

    def _words(
        self, now: Gathering, value: Mapping[str, Any], message: Mapping[str, Any], *, helper: bool
    ) -> None:
        model = text(message.get("model"))
        if model and model != "<synthetic>" and not helper:
            now.tell(model=now.raw.model or model)
        anchor = text(message.get("id"))
        if anchor and not now.raw.anchor and model != "<synthetic>":
            now.tell(anchor=anchor)
        words = list(_texts(message.get("content")))
        if value.get("isApiErrorMessage") is True or value.get("error") or model == "<synthetic>":
            failure = "\n".join(words)
            limited = value.get("error") == "rate_limit"
            if limited or value.get("error") or failure.startswith(_API_ERROR):
                now.tell(api_error=failure or text(value.get("error")), limited=limited or now.raw.limited)
            return
        if not helper:
            now.tell(api_error="")
            for word in words:
                now.say(word)

    def _gathering(self, value: Mapping[str, Any]) -> Gathering:
        session = text(value.get("session_id")) or text(value.get("sessionId"))
        if self._now is None:
            source = claude_code.STREAM_SOURCE if "session_id" in value else claude_code.SOURCE
            self._now = Gathering(source, session, self._places[session])
            self._now.tell(**self._known)
            self._places[session] += 1
        now = self._now
        cwd, branch = text(value.get("cwd")), text(value.get("gitBranch"))
        if cwd and not now.raw.cwd:
            now.tell(cwd=cwd)
        if branch and not now.raw.branch:
            now.tell(branch=branch)
        self._known = {"cwd": now.raw.cwd, "branch": now.raw.branch}
        return now


def _is_run(going: Gathering) -> bool:
    return going.raw.source == claude_code.STREAM_SOURCE


def result_event(value: Mapping[str, Any]) -> ResultEvent:
    """Return a run's own word about its end; what has another form than it should is left out."""
    usage = mapping(value.get("usage"))
    tokens = sum(_count(usage.get(name)) or 0 for name in _SPENT)
    errors = value.get("errors")
    outcome = text(value.get("result")) or "; ".join(map(text, errors if isinstance(errors, list) else ()))
    return ResultEvent(
        subtype=text(value.get("subtype")) or ("error" if value.get("is_error") is True else "success"),
        is_error=value.get("is_error") is True,
        text=outcome,
        duration_ms=_count(value.get("duration_ms")),
        tokens=tokens or None,
        turns=_count(value.get("num_turns")),
    )


def _texts(content: object) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for block in content:
            part = mapping(block)
            if part.get("type") == "text":
                yield text(part.get("text"))


def _count(value: object) -> int | None:
    if type(value) is float and 0 <= value < 1 << 40:
        value = int(value)
    return value if type(value) is int and 0 <= value < 1 << 40 else None
