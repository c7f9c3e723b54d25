"""What hooks record of a session: its prompts as episodes, what its tools touch, how it ends.

A session of an agent is a row of episodes, one a prompt, `SESSION/1`, `SESSION/2` …, whose parent is the
session; it is read back from the journal, so that a hook needs no memory. An import of the session's
transcript knows more of the same prompts and takes the place of these.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from workbench.entry.hooks.payloads import HookEvent
from workbench.errors import StoreError, UnknownRecord, UsageError
from workbench.records.dataclass import dataclass
from workbench.records.episodes import Outcome
from workbench.records.plan import QueryType
from workbench.sessions.episodes_fold import ENDED, EVENT, HOOK, STARTED, STREAM

if TYPE_CHECKING:
    from workbench.config import Config
    from workbench.entry.hooks.payloads import HookCall
    from workbench.entry.project import OpenedProject
    from workbench.sessions.episodes import EpisodeService

MAX_TRANSCRIPT: Final = 512 << 20  # bytes


@dataclass(frozen=True, slots=True)
class SessionState:
    """What is recorded of an agent's session: how many prompts, and the last one's episode and task.

    `touched` are (path, when as ISO 8601) of what its tools read and edited; `idle` says that nothing was
    recorded since the last prompt.
    """

    prompts: int = 0
    episode: str = ""
    task: str = ""
    ended: bool = False
    idle: bool = True
    touched: tuple[tuple[str, str], ...] = ()


def session_state(project: OpenedProject, session: str) -> SessionState:
    """Return what is recorded of a session. Raises: JournalError."""
    found = SessionState()
    if not session:
        return found
    touched: list[tuple[str, str]] = []
    prompts, episode, task, ended, idle = 0, "", "", False, True
    for entry in project.mentioning(STREAM, f'"{session}'):
        body = entry.body
        if entry.kind == STARTED and body.get("parent_session") == session:
            prompts, ended, idle = prompts + 1, False, True
            episode, task = str(body.get("session_id", "")), str(body.get("task_text", ""))
        elif episode and body.get("session_id") == episode:
            ended = ended or entry.kind == ENDED
            idle = idle and entry.kind != EVENT
        if entry.kind == EVENT and body.get("file_path") and _is_part(body.get("session_id"), session):
            touched.append((str(body["file_path"]), entry.at))
    return SessionState(prompts, episode, task, ended, idle, tuple(touched))


def _is_part(episode: object, session: str) -> bool:
    return isinstance(episode, str) and (episode == session or episode.startswith(f"{session}/"))


def recorder(project: OpenedProject, config: Config) -> EpisodeService:
    """Return where the episodes of a project's sessions are recorded. Raises: StoreError."""
    from workbench.entry.services.episodes import episode_service  # only where a session is recorded

    return episode_service(project.root, config, HOOK, project.environment)


def own_task(prompt: str) -> str:
    """Return what of a prompt its user wrote, empty if that says nothing by itself: `continue`, a command."""
    from workbench.sessions.importers.prompts import is_bare, user_text

    own = user_text(prompt).text
    says_nothing = not own.strip() or is_bare(own.strip()) or prompt.lstrip().startswith("/")
    return "" if says_nothing else own


def start_prompt(project: OpenedProject, config: Config, call: HookCall, state: SessionState) -> str:
    """Record that a prompt begins an episode, and that the one before is over; bare ones begin none.

    Returns the id of the episode that began, '' for none. Raises: WorkbenchError.
    """
    if not (call.session and own_task(call.prompt)):
        return ""
    from workbench.sessions.episodes_checks import task_text

    episodes = recorder(project, config)
    if state.episode and not state.ended:
        if state.idle and state.task == task_text(call.prompt):
            return ""  # the same hook is installed twice, or a server has recorded it
        episodes.end(state.episode)
    number = state.prompts + 1
    return episodes.start(
        call.prompt,
        session_id=f"{call.session}/{number}",
        parent_session=call.session,
        prompt_index=state.prompts,
    )


def _start_unseen(episodes: EpisodeService, session: str) -> str:
    """Start the first episode of a session whose prompts were recorded by no hook. Raises: StoreError."""
    kind = QueryType.GENERAL.value
    return episodes.start(
        None, session_id=f"{session}/1", query_type=kind, parent_session=session, prompt_index=0
    )


def record_touches(project: OpenedProject, config: Config, call: HookCall) -> None:
    """Record the files that a tool read or edited; those outside of the project or excluded are left out.

    Raises: StoreError.
    """
    from workbench.sessions.importers.touches import touches
    from workbench.sessions.importers.transcripts import ToolUse

    found = touches(ToolUse(call.key, call.tool, call.given, "", call.session, call.cwd, call.agent))
    if not found:
        return
    state = session_state(project, call.session)
    episodes = recorder(project, config)
    for number, touch in enumerate(found):
        record = partial(
            episodes.event,
            state.episode or f"{call.session}/1",
            "read" if touch.kind is None else "edit",
            files=[touch.path],
            kind="" if touch.kind is None else touch.kind.value,
            key=f"{call.key}:{number}" if call.key else "",
        )
        with suppress(UsageError):
            try:
                record()
            except UnknownRecord:
                _start_unseen(episodes, call.session)
                record()


def record_stop(project: OpenedProject, config: Config, call: HookCall) -> None:
    """Record that an agent's turn is over: the episode of its prompt ends. Raises: WorkbenchError."""
    state, episodes = session_state(project, call.session), recorder(project, config)
    episode = state.episode
    if not episode and call.event is HookEvent.STOP:  # a session that only begins and ends had no turn
        episode = _start_unseen(episodes, call.session)
    if episode and not state.ended:
        episodes.end(episode, Outcome.UNKNOWN.value)


def record_subagent(project: OpenedProject, config: Config, call: HookCall) -> None:
    """Record that a sub-agent of the prompt's episode is done. Raises: WorkbenchError."""
    state = session_state(project, call.session)
    if state.episode:
        recorder(project, config).event(state.episode, "decision", payload={"hook": call.name})


def record_breach(
    project: OpenedProject, config: Config, call: HookCall, decision: str, rules: list[str]
) -> None:
    """Record that rules kept a tool from running, or had a person asked. Raises: WorkbenchError."""
    from workbench.entry.services import handovers

    handovers.record_breach(project, call.session, rules, call=call.key, decision=decision)
    state = session_state(project, call.session)
    if state.episode:
        payload = {"hook": call.name, "tool": call.tool[:100], "decision": decision, "rules": rules}
        key = f"{call.key}:check" if call.key else ""
        recorder(project, config).event(state.episode, "decision", payload=payload, key=key)


def transcript_files(call: HookCall, environment: Mapping[str, str] = os.environ) -> list[Path]:
    """Return the transcript that a session's end names and its sub-agents', none if it is no transcript.

    What is named must be a plain file of the user's own below the agent's own directory of transcripts,
    reached without a link, and named after the session: a payload decides nothing else to be copied.
    """
    home = Path(environment.get("HOME") or Path.home())
    base = {
        "claude": Path(environment.get("CLAUDE_CONFIG_DIR") or home / ".claude") / "projects",
        "codex": Path(environment.get("CODEX_HOME") or home / ".codex") / "sessions",
    }.get(call.agent)
    path = Path(call.transcript)
    if base is None or path.suffix != ".jsonl" or not path.is_absolute() or not call.session:
        return []
    if not path.name.removesuffix(".jsonl").endswith(call.session):
        return []
    found = [path, *sorted((path.with_suffix("") / "subagents").glob("agent-*.jsonl"))]
    return [one for one in found if _is_plain(one, base)]


def _is_plain(path: Path, base: Path) -> bool:
    try:
        status = path.lstat()
        inside = path.resolve(strict=True).is_relative_to(base.resolve(strict=True))
    except (OSError, RuntimeError, ValueError):
        return False
    own = not hasattr(os, "geteuid") or status.st_uid == os.geteuid()
    return inside and own and path.is_file() and not path.is_symlink() and status.st_size <= MAX_TRANSCRIPT


def archive_session(project: OpenedProject, config: Config, call: HookCall) -> None:
    """Copy a session's transcript into the archive before its agent deletes it. Raises: StoreError."""
    files = transcript_files(call, project.environment) if config.sessions.archive else []
    if files:
        from workbench.entry.services.transcripts import archive_transcripts

        archive_transcripts(project, config, files)


def stash_session(project: OpenedProject, config: Config, call: HookCall) -> None:
    """Put aside what a session's transcript holds before its context is compacted. Raises: StoreError."""
    files = transcript_files(call, project.environment)[:1] if config.hooks.stash else []
    if files:
        from workbench.entry.services.stash import stash_service
        from workbench.entry.services.stash_import import StashImportRequest, import_files

        request = StashImportRequest(reason="before a compaction")
        for found in import_files(stash_service(project, HOOK), files, request):
            if found.fault:
                raise StoreError(f"{found.path} was read in part: {found.fault}")
