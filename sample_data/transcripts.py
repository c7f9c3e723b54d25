"""Writes played sessions as the files that the agents leave behind.

`claude_code` as in `~/.claude/projects`, with sub-agents in files of their own, `codex` as in
`~/.codex/sessions`, `stream_json` as `claude -p --output-format stream-json` prints it. Ids follow from the
session's name, so that the same session gives the same bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from sample_data.sessions import Session, Step

ROOT = "/home/dev/roastery"
_EDITED = "The file {} has been updated."
_INTERRUPTED = "[Request interrupted by user]"
_CONTINUED = (
    "This session is being continued from a previous conversation that ran out of context. "
    "The conversation is summarized below:\n"
)
_NEW_MODEL = datetime.fromisoformat("2025-08-07T00:00:00+00:00")


def transcripts_of(session: Session, root: str = ROOT) -> dict[str, str]:
    """Return the files of a session, {path: text}, as an agent that worked in `root` would write them."""
    writers = {"claude_code": _claude_code, "codex": _codex, "stream_json": _stream_json}
    return {
        f"{session.format}/{path}": "".join(_line(record) for record in records)
        for path, records in writers[session.format](session, root)
    }


def _line(record: dict[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"


def _stamp(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.second * 13 % 1000:03d}Z"


@dataclass(slots=True)
class _Ids:
    """Ids that follow from a name: the same in every run, of the form each format has."""

    name: str
    count: int = 0

    def hex(self, length: int = 32) -> str:
        self.count += 1
        return hashlib.sha256(f"{self.name}:{self.count}".encode()).hexdigest()[:length]

    def uuid(self) -> str:
        raw = self.hex()
        return f"{raw[:8]}-{raw[8:12]}-4{raw[13:16]}-a{raw[17:20]}-{raw[20:32]}"


def _tool(step: Step, root: str) -> tuple[str, dict[str, Any], str, object]:
    """Return Claude's tool for a step: name, input, what the model sees, what the transcript keeps."""
    path = f"{root}/{step.path}"
    given: dict[str, Any]
    kept: dict[str, Any]
    match step.kind:
        case "read":
            kept = {
                "type": "text",
                "file": {"filePath": path, "startLine": 1, "numLines": step.result.count("\n") + 1},
            }
            return "Read", {"file_path": path}, step.result, kept
        case "grep":
            places = {"path": f"{root}/{step.path.split()[0]}"} if step.path else {}
            given = {"pattern": step.text, "output_mode": "content", "-n": True, **places}
            return (
                "Grep",
                given,
                step.result or "No matches found",
                {"mode": "content", "numLines": step.result.count("\n") + 1},
            )
        case "list":
            names = [f"{root}/{name}" for name in step.result.splitlines()]
            return "Glob", {"pattern": f"{step.path}/*"}, "\n".join(names), {"filenames": names}
        case "edit":
            given = {"file_path": path, "old_string": step.old, "new_string": step.text}
            kept = {"filePath": path, "oldString": step.old, "newString": step.text, "userModified": False}
            return "Edit", given, _EDITED.format(path), kept
        case "write":
            kept = {"type": "create", "filePath": path, "structuredPatch": []}
            return (
                "Write",
                {"file_path": path, "content": step.text},
                f"File created successfully at: {path}",
                kept,
            )
        case _:
            kept = {"stdout": step.result, "stderr": "", "interrupted": False, "isImage": False}
            if not step.ok:
                return "Bash", {"command": step.text}, f"Exit code 1\n{step.result}", f"Error: {step.result}"
            return "Bash", {"command": step.text}, step.result, kept


@dataclass(slots=True)
class _Claude:
    """A transcript of Claude Code that grows; `agent` is the id of a sub-agent, empty in the main file."""

    ids: _Ids
    session: str
    root: str
    agent: str = ""
    parent: str | None = None
    records: list[dict[str, Any]] = field(default_factory=list)

    def add(self, kind: str, at: datetime, **more: Any) -> str:
        uuid = self.ids.uuid()
        self.records.append(
            {
                "parentUuid": self.parent,
                "isSidechain": bool(self.agent),
                **({"agentId": self.agent} if self.agent else {}),
                "userType": "external",
                "cwd": self.root,
                "sessionId": self.session,
                "version": "1.0.128" if at >= _NEW_MODEL else "1.0.35",
                "gitBranch": "main",
                "type": kind,
                **more,
                "uuid": uuid,
                "timestamp": _stamp(at),
            }
        )
        self.parent = uuid
        return uuid

    def user(self, at: datetime, content: object, **more: Any) -> None:
        self.add("user", at, message={"role": "user", "content": content}, **more)

    def assistant(self, at: datetime, blocks: list[dict[str, Any]]) -> None:
        message = {
            "id": "msg_" + self.ids.hex(24),
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-4-20250514",
            "content": blocks,
            "stop_reason": None,
            "stop_sequence": None,
            "usage": _usage(len(self.records)),
        }
        request = "req_" + self.ids.hex(24)
        for block in blocks:  # each block has a line; the message and its usage are told with each of them
            self.add("assistant", at, message={**message, "content": [block]}, requestId=request)

    def call(self, step: Step, say: str = "") -> None:
        name, given, seen, kept = _tool(step, self.root)
        call = "toolu_" + self.ids.hex(24)
        words = [{"type": "text", "text": say}] if say else []
        self.assistant(step.at, [*words, {"type": "tool_use", "id": call, "name": name, "input": given}])
        self.result(step.at, call, seen, kept, step.ok)

    def result(self, at: datetime, call: str, seen: str, kept: object, ok: bool = True) -> None:
        block = {
            "tool_use_id": call,
            "type": "tool_result",
            "content": seen,
            **({} if ok else {"is_error": True}),
        }
        self.user(at + timedelta(seconds=2), [block], toolUseResult=kept)


def _usage(number: int) -> dict[str, Any]:
    return {
        "input_tokens": 4,
        "cache_creation_input_tokens": 300 + 17 * number,
        "cache_read_input_tokens": 14_000 + 400 * number,
        "output_tokens": 40 + 29 * number % 300,
        "service_tier": "standard",
    }


def _claude_code(session: Session, root: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the files of a session; one that was resumed is a second file that repeats the first."""
    ids = _Ids(f"claude_code/{session.name}")
    folder = root.replace("/", "-").replace("_", "-").replace(".", "-")
    log = _Claude(ids, ids.uuid(), root)
    say = ""
    for step in session.steps:
        if say and step.kind not in ("read", "grep", "list", "edit", "write", "run"):
            log.assistant(step.at, [{"type": "text", "text": say}])
            say = ""
        match step.kind:
            case "prompt":
                log.records.append(
                    {
                        "type": "file-history-snapshot",
                        "messageId": ids.uuid(),
                        "snapshot": {"trackedFileBackups": {}, "timestamp": _stamp(step.at)},
                        "isSnapshotUpdate": False,
                    }
                )
                log.user(step.at, step.text)
            case "say":
                say = step.text
            case "agent":
                yield from _sub_agent(log, step, f"{folder}/{log.session}")
            case "compact":
                about = {"trigger": "auto", "preTokens": 155_000}
                log.parent = None
                log.add(
                    "system",
                    step.at,
                    subtype="compact_boundary",
                    content="Conversation compacted",
                    isMeta=False,
                    level="info",
                    compactMetadata=about,
                )
                log.user(
                    step.at, _CONTINUED + step.text, isVisibleInTranscriptOnly=True, isCompactSummary=True
                )
            case "interrupt":
                log.user(step.at, [{"type": "text", "text": _INTERRUPTED}])
            case "resume":
                yield f"{folder}/{log.session}.jsonl", list(log.records)
                log.session = ids.uuid()
                log.records = [
                    {**record, "sessionId": log.session} if "sessionId" in record else record
                    for record in log.records
                ]
            case _:
                log.call(step, say)
                say = ""
    if say:
        log.assistant(session.steps[-1].at, [{"type": "text", "text": say}])
    yield f"{folder}/{log.session}.jsonl", log.records


def _sub_agent(log: _Claude, step: Step, folder: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Write the call of a sub-agent, and yield the file of what it did."""
    agent, call = log.ids.hex(7), "toolu_" + log.ids.hex(24)
    given = {"description": step.path, "prompt": step.text, "subagent_type": "Explore"}
    log.assistant(step.at, [{"type": "tool_use", "id": call, "name": "Task", "input": given}])
    inner = _Claude(log.ids, log.session, log.root, agent=agent)
    inner.user(step.at, step.text)
    for one in step.inner:
        inner.call(one)
    done = step.inner[-1].at + timedelta(seconds=4)
    inner.assistant(done, [{"type": "text", "text": step.result}])
    answer = [{"type": "text", "text": step.result}]
    kept = {
        "status": "completed",
        "prompt": step.text,
        "agentId": agent,
        "content": answer,
        "totalToolUseCount": len(step.inner),
    }
    block = {"tool_use_id": call, "type": "tool_result", "content": answer}
    log.user(done, [block], toolUseResult=kept)
    yield f"{folder}/subagents/agent-{agent}.jsonl", inner.records


def _codex(session: Session, root: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the rollout of a session: what the model saw, and what the screen showed."""
    ids = _Ids(f"codex/{session.name}")
    begun, identifier = session.steps[0].at, ids.uuid()
    records: list[dict[str, Any]] = []

    def add(at: datetime, kind: str, /, **payload: Any) -> None:
        records.append({"timestamp": _stamp(at), "type": kind, "payload": payload})

    add(
        begun,
        "session_meta",
        id=identifier,
        timestamp=_stamp(begun),
        cwd=root,
        originator="codex_cli_rs",
        cli_version="0.19.0" if begun >= _NEW_MODEL else "0.2.0",
        instructions=None,
        git={"commit_hash": session.head, "branch": "main"},
    )
    spent = 0
    for number, step in enumerate(session.steps):
        spent += 900 + 37 * number
        match step.kind:
            case "prompt":
                model = "gpt-5" if step.at >= _NEW_MODEL else "o4-mini"
                add(
                    step.at,
                    "turn_context",
                    cwd=root,
                    approval_policy="on-request",
                    model=model,
                    summary="auto",
                )
                add(step.at, "response_item", **_codex_message("user", step.text))
                add(step.at, "event_msg", type="user_message", message=step.text, kind="plain")
            case "say":
                add(step.at, "response_item", **_codex_message("assistant", step.text))
                add(step.at, "event_msg", type="agent_message", message=step.text)
            case "compact":
                add(step.at, "compacted", message=step.text)
            case "interrupt":
                add(step.at, "event_msg", type="turn_aborted", reason="interrupted")
            case _:
                call = "call_" + ids.hex(24)
                payload, output = _codex_call(step, root)
                add(step.at, "response_item", **payload, call_id=call)
                answer = payload["type"] + "_output"
                add(step.at + timedelta(seconds=1), "response_item", type=answer, call_id=call, output=output)
                usage = {
                    "input_tokens": 12_000 + spent,
                    "output_tokens": spent // 9,
                    "total_tokens": 12_000 + spent,
                }
                add(
                    step.at + timedelta(seconds=1),
                    "event_msg",
                    type="token_count",
                    info={"total_token_usage": usage},
                )
    day = begun.strftime("%Y/%m/%d")
    yield f"{day}/rollout-{begun:%Y-%m-%dT%H-%M-%S}-{identifier}.jsonl", records


def _codex_message(role: str, text: str) -> dict[str, Any]:
    kind = "input_text" if role == "user" else "output_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def _codex_call(step: Step, root: str) -> tuple[dict[str, Any], str]:
    """Return the item of a call, without its id, and its output."""
    if step.kind in ("edit", "write"):
        sign = "A" if step.kind == "write" else "M"
        output = {
            "output": f"Success. Updated the following files:\n{sign} {step.path}\n",
            "metadata": {"exit_code": 0, "duration_seconds": 0.1},
        }
        call = {
            "type": "custom_tool_call",
            "status": "completed",
            "name": "apply_patch",
            "input": _patch(step),
        }
        return call, json.dumps(output)
    commands = {
        "read": f"sed -n '1,{len(step.result.splitlines())}p' {step.path}",
        "grep": f"rg -n -F '{step.text}' {step.path}",
        "list": f"ls {step.path}",
    }
    shown = step.result
    if step.kind == "read":
        shown = "\n".join(line.partition("\t")[2] for line in shown.splitlines())
    code = 0 if step.ok else 1
    output = {"output": shown + "\n", "metadata": {"exit_code": code, "duration_seconds": 0.4}}
    command = ["bash", "-lc", commands.get(step.kind, step.text)]
    arguments = json.dumps({"command": command, "workdir": root})
    return {"type": "function_call", "name": "shell", "arguments": arguments}, json.dumps(output)


def _patch(step: Step) -> str:
    if step.kind == "write":
        body = [f"*** Add File: {step.path}", *("+" + line for line in step.text.splitlines())]
    else:
        old, new = step.old.splitlines(), step.text.splitlines()
        same = 0
        while same < min(len(old), len(new)) and old[same] == new[same]:
            same += 1
        body = [
            f"*** Update File: {step.path}",
            "@@",
            *(" " + line for line in old[:same]),
            *("-" + line for line in old[same:]),
            *("+" + line for line in new[same:]),
        ]
    return "\n".join(["*** Begin Patch", *body, "*** End Patch"]) + "\n"


def _stream_json(session: Session, root: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield what a run printed. A silent one was not asked to repeat the prompts it was given."""
    ids = _Ids(f"stream_json/{session.name}")
    identifier = ids.uuid()
    records: list[dict[str, Any]] = [
        {
            "type": "system",
            "subtype": "init",
            "cwd": root,
            "session_id": identifier,
            "tools": ["Task", "Bash", "Glob", "Grep", "Read", "Edit", "Write"],
            "mcp_servers": [],
            "model": "claude-sonnet-4-20250514",
            "permissionMode": "acceptEdits",
            "apiKeySource": "none",
            "uuid": ids.uuid(),
        }
    ]

    def add(role: str, content: list[dict[str, Any]], parent: str | None = None) -> None:
        message: dict[str, Any] = {"role": role, "content": content}
        if role == "assistant":
            about = {"id": "msg_" + ids.hex(24), "type": "message", "model": "claude-sonnet-4-20250514"}
            message = {**about, **message, "usage": _usage(len(records))}
        records.append(
            {
                "type": role,
                "message": message,
                "parent_tool_use_id": parent,
                "session_id": identifier,
                "uuid": ids.uuid(),
            }
        )

    def call(step: Step, parent: str | None = None) -> None:
        name, given, seen, _ = _tool(step, root)
        use = "toolu_" + ids.hex(24)
        add("assistant", [{"type": "tool_use", "id": use, "name": name, "input": given}], parent)
        failed = {} if step.ok else {"is_error": True}
        add("user", [{"tool_use_id": use, "type": "tool_result", "content": seen, **failed}], parent)

    last, ended = "", False
    for step in session.steps:
        match step.kind:
            case "prompt":
                if not session.silent:
                    add("user", [{"type": "text", "text": step.text}])
            case "say":
                last = step.text
                add("assistant", [{"type": "text", "text": last}])
            case "interrupt":
                ended = True
                add("user", [{"type": "text", "text": _INTERRUPTED}])
            case "agent":
                use = "toolu_" + ids.hex(24)
                given = {"description": step.path, "prompt": step.text, "subagent_type": "Explore"}
                add("assistant", [{"type": "tool_use", "id": use, "name": "Task", "input": given}])
                for inner in step.inner:
                    call(inner, use)
                answer = [{"type": "text", "text": step.result}]
                add("user", [{"tool_use_id": use, "type": "tool_result", "content": answer}])
            case _:
                call(step)
    begun, done = session.steps[0].at, session.steps[-1].at
    records.append(
        {
            "type": "result",
            "subtype": "error_during_execution" if ended else "success",
            "is_error": ended,
            "duration_ms": int((done - begun).total_seconds() * 1000),
            "num_turns": len(records) - 1,
            **({} if ended else {"result": last}),
            "session_id": identifier,
            "total_cost_usd": round(0.01 * len(records), 2),
            "uuid": ids.uuid(),
        }
    )
    yield f"{begun:%Y-%m-%d}-{session.name}.jsonl", records
