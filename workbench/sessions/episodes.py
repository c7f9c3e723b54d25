"""The service that records sessions [img 8.2]: started, followed, ended and judged, one write a call.

No index, model or table is needed to write, so that a hook can call it on every tool use. A call that is
repeated changes nothing, a clock that goes back does not reorder what happened, and a session that nobody
started is an error with the nearest one that is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from functools import partial
from itertools import chain, count, islice
from typing import Any

from workbench.errors import GitError, UsageError
from workbench.ports import Entry, Journal
from workbench.records.dataclass import dataclass
from workbench.records.episodes import Episode, EventType, FileChange, Outcome, Trace
from workbench.records.ids import new_id
from workbench.records.plan import Intent, QueryType
from workbench.sessions import episodes_checks as checks
from workbench.sessions.disk import WorkDisk, changes_since, delta_body, disk_body, disk_noted
from workbench.sessions.episodes_fold import (
    COMMITS,
    DISK,
    ENDED,
    EVENT,
    FEEDBACK,
    FORGOTTEN,
    IMPORTED,
    STARTED,
    STREAM,
    TIMEOUT,
    active_parts,
    events_of,
    follow,
    follow_all,
    names,
    timed_out,
)
from workbench.text.sanitize import visible_line

_NAMED = 2_000  # sessions that are looked through for the one that was meant

Draft = tuple[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class EpisodeStore:
    """Where episodes of a project go to and come from.

    `mentioning(text)` yields the entries of the stream whose line holds a text of ASCII, in order.
    `lock` is held while a call decides and writes; `timeout` is in seconds. `excluded` is whether nothing
    about a path of the project is to be kept. Without a `disk` nothing is known of what changed on it.
    """

    root: str
    project_id: str
    journal: Journal
    mentioning: Callable[[str], Iterable[Entry]]
    lock: Callable[[], AbstractContextManager[None]]
    understand: Callable[[str, QueryType | None], Intent]
    now: Callable[[], float]
    timeout: float
    excluded: Callable[[str], bool]
    disk: WorkDisk | None = None


@dataclass(frozen=True, slots=True)
class EpisodeService:
    """Records episodes. `by` is the face that acts: cli, hook, http, mcp."""

    store: EpisodeStore
    by: str

    def start(
        self,
        task: str | None,
        *,
        session_id: str = "",
        query_type: str = "",
        token_budget: int | None = None,
        source: str = "",
        parent_session: str = "",
        prompt_index: int | None = None,
    ) -> str:
        """Start an episode and return its session's id, a new one if none is given.

        Starting the same session with the same task again changes nothing. No task: nobody recorded it.
        Raises: UsageError for an empty task or a session that has another one; StoreError.
        """
        store, text = self.store, "" if task is None else checks.task_text(task)
        session = checks.session_id(session_id) if session_id else new_id()
        kind = checks.one_of(QueryType, query_type, "kind of task") if query_type else None
        intent = store.understand(text, kind)
        body: dict[str, Any] = {
            "session_id": session,
            "project_id": store.project_id,
            "task_text": text,
            "task_fingerprint": intent.task_fingerprint,
            "query_type": intent.predicted.value,
            "started_at": int(store.now()),
            "token_budget": checks.whole(token_budget, "the token budget"),
            "issue_refs": list(intent.entities.issue_refs),
            "source": checks.remark(source) or self.by,
            "parent_session": checks.session_id(parent_session) if parent_session else "",
            "prompt_index": checks.whole(prompt_index, "the prompt's index"),
        }
        with store.lock():
            known = follow_all(store.mentioning(f'"{session}"'), session) if session_id else None
            if known is None:
                store.journal.append(STREAM, STARTED, [body], by=self.by)
            elif known.task_text != text:
                raise UsageError(
                    f"session {session} has another task already",
                    hint="An episode is one task: end it, and begin the next one under another id.",
                )
        return session

    def note_disk(self, session: str) -> None:
        """Note, once, what differs from the last commit on disk as an episode begins; its end compares it.

        Raises: StoreError.
        """
        store, state = self.store, None
        with suppress(GitError):
            state = None if store.disk is None else store.disk.look()
        if state is None:
            return
        body = {"session_id": session, **disk_body(state, store.excluded)}
        with store.lock():
            entries = store.mentioning(f'"{session}"')
            if not any(entry.kind in (DISK, ENDED) and names(entry, session) for entry in entries):
                store.journal.append_all(STREAM, [(DISK, body)], by=self.by, sync=False)

    def free_name(self, task: str) -> str:
        """Return an id for a new session that people can type: words of its task, as `refund-stuck-orders`.

        Raises: StoreError.
        """
        name = checks.name_of(task)
        taken = {str(entry.body.get("session_id")) for entry in self.store.mentioning(f'"{name}')}
        numbered = (f"{name}-{number}" for number in count(2))
        return next(one for one in chain([name], numbered) if one not in taken)

    def event(
        self,
        session_id: str,
        event_type: str,
        *,
        files: Sequence[str] = (),
        symbol: str = "",
        payload: Mapping[str, Any] | None = None,
        kind: str = "",
        base: str = "",
        key: str = "",
    ) -> bool:
        """Record what a session did, once for each file; return whether anything was recorded.

        `kind` is what an edit did to the file (added, modified, removed); relative paths start at `base`.
        A `key` that the session used before makes the call a repetition, which changes nothing. What comes
        after the end is marked as late, and refused once the timeout has passed since.

        Raises: UsageError for an unknown session or value, a file that is excluded or outside of the project;
        StoreError.
        """
        store, what = self.store, checks.one_of(EventType, event_type, "type of event")
        if what is EventType.FEEDBACK:
            raise UsageError("feedback is given, not recorded", hint="Use `workbench feedback`.")
        if what in (EventType.READ, EventType.EDIT) and not files:
            raise UsageError(f"a {what.value} needs a file", hint="Give it with --file.")
        paths = [self._path(file, base) for file in files] or [""]
        carried = checks.payload(payload)
        if what is EventType.EDIT:
            carried = checks.edit_payload(carried, kind, partial(self._path, base=base))
        key = checks.remark(key)
        with store.lock():
            entries = self._entries(session_id)
            episode, session = self._live(entries, session_id)
            if key and any(entry.kind == EVENT and entry.body.get("key") == key for entry in entries):
                return False
            at = max(int(store.now()), episode.last_at)
            late = self._late(episode)
            shared: dict[str, Any] = {
                "session_id": session,
                "event_type": what.value,
                "timestamp": at,
                "symbol": checks.remark(symbol) or None,
                "payload": carried or None,
                "issue_refs": list(episode.issue_refs) if what is EventType.EDIT else [],
                "commit_sha": episode.commit_sha or None,
            }
            marks: dict[str, Any] = ({"late": True} if late else {}) | ({"key": key} if key else {})
            drafts: list[Draft] = [
                (EVENT, {**shared, "file_path": path or None, **marks}) for path in dict.fromkeys(paths)
            ]
            if episode.closed_by == TIMEOUT:
                drafts.append((ENDED, timed_out(session, at)))  # its end is its last event
            store.journal.append_all(STREAM, drafts, by=self.by, sync=False)
        return True

    def end(
        self,
        session_id: str,
        outcome: str = Outcome.UNKNOWN.value,
        *,
        commit: str = "",
        token_budget: int | None = None,
        token_used: int | None = None,
        latency_ms: int | None = None,
        evidence: str = "",
    ) -> Episode:
        """End an episode and return it. `latency_ms` is otherwise the time since its start.

        Ended again, it keeps what is not given again; the same values change nothing. An outcome that
        feedback decided stays: who judged saw the result.

        Raises: UsageError for an unknown session, outcome or commit; StoreError.
        """
        store = self.store
        verdict = checks.one_of(Outcome, outcome, "outcome")
        sha, proof = checks.commit_sha(commit), checks.remark(evidence)
        counts = {
            "token_budget": checks.whole(token_budget, "the token budget"),
            "token_used": checks.whole(token_used, "the number of tokens used"),
            "latency_ms": checks.whole(latency_ms, "the latency"),
        }
        with store.lock():
            entries = self._entries(session_id)
            episode, session = self._live(entries, session_id)
            is_over = episode.ended_at is not None and episode.closed_by != TIMEOUT
            at = episode.ended_at if is_over else max(int(store.now()), episode.last_at)
            assert at is not None
            if counts["latency_ms"] is None and episode.latency_ms is None:
                counts["latency_ms"] = (at - episode.started_at) * 1000
            changes: dict[str, Any] = {name: value for name, value in counts.items() if value is not None}
            if not episode.judged and (verdict is not Outcome.UNKNOWN or not is_over):
                changes["outcome"] = verdict.value
                proof = proof or ("" if episode.outcome is verdict else self.by)
            body = {
                "session_id": session,
                "ended_at": at,
                "closed_by": "",
                **changes,
                **({"commit_sha": sha} if sha else {}),
                **({"outcome_evidence": proof} if proof and not episode.judged else {}),
            }
            ended = self._append(entries, episode, ENDED, body)
        # Only then the disk is read: an end is recorded also where that takes longer than a hook may.
        return ended if is_over else self._record_delta(entries, ended)

    def _record_delta(self, entries: list[Entry], episode: Episode) -> Episode:
        """Record what differs on disk from an episode's start; return the episode afterwards."""
        store, noted = self.store, disk_noted(entries, episode.session_id)
        if store.disk is None or noted is None:
            return episode
        changes: tuple[FileChange, ...] = ()
        with suppress(GitError):
            changes = changes_since(noted, store.disk, episode.started_at)
        bodies = [delta_body(episode, change) for change in changes if not store.excluded(change.path)]
        if bodies:
            store.journal.append_all(STREAM, [(EVENT, body) for body in bodies], by=self.by, sync=False)
        for body in bodies:
            episode = follow(episode, Entry("", "", EVENT, self.by, body)) or episode
        return episode

    def feedback(self, session_id: str, outcome: str = "", rationale: str = "") -> Episode:
        """Judge an episode, live or imported, and return it. The last word on an outcome counts.

        Raises: UsageError for an unknown session or outcome, or for empty feedback; StoreError.
        """
        store = self.store
        verdict = checks.one_of(Outcome, outcome, "outcome") if outcome else None
        why = checks.remark(rationale)
        if verdict is None and not why:
            raise UsageError("the feedback is empty", hint="Give an outcome, a reason or both.")
        with store.lock():
            entries = self._entries(session_id)
            episode, session = self._find_episode(entries, session_id)
            body = {
                "session_id": session,
                "timestamp": max(int(store.now()), episode.last_at),
                "outcome": None if verdict is None else verdict.value,
                "rationale": why or None,
            }
            return self._append(entries, episode, FEEDBACK, body)

    def forget(self, session_ids: Sequence[str], reason: str = "") -> list[str]:
        """Take sessions out of everything that is learned from them; return their ids.

        Raises: UsageError for an unknown session or a commit, and then none is forgotten; StoreError.
        """
        with self.store.lock():
            found = [self._find_episode(self._entries(given), given) for given in session_ids]
            for episode, session in found:
                if episode.source == COMMITS:
                    raise UsageError(
                        f"{session} is a commit", hint="Commits are forgotten when no branch holds them."
                    )
            forgotten = list(dict.fromkeys(session for _, session in found))
            body = {"session_ids": forgotten, "reason": checks.remark(reason)}
            self.store.journal.append(STREAM, FORGOTTEN, [body], by=self.by)
        return forgotten

    def trace(self, session_id: str) -> Trace:
        """Return an episode with its events; of an agent's session by its own id, that of its last prompt.

        Raises: UsageError for an unknown session; StoreError.
        """
        entries = self._entries(session_id, last=True)
        episode, session = self._find_episode(entries, session_id)
        return Trace(episode, events_of(entries, session))

    def active(self, session_id: str) -> tuple[str, str]:
        """Return the scenario and the step that are active in a session [adr2], '' for none.

        Decisions say so, the last one counts, and nothing is active in a session that is not known or has
        ended. Raises: StoreError.
        """
        try:
            trace = self.trace(session_id)
        except UsageError:
            return "", ""
        return ("", "") if trace.episode.ended_at is not None else active_parts(trace.events)

    def _append(self, entries: list[Entry], episode: Episode, kind: str, body: dict[str, Any]) -> Episode:
        """Write an entry unless it changes nothing; return the episode afterwards."""
        session = episode.session_id
        after = follow_all([*entries, Entry("", "", kind, self.by, body)], session)
        assert after is not None  # it is there, and the body is our own
        if after != episode:
            self.store.journal.append(STREAM, kind, [body], by=self.by)
        return after

    def _late(self, episode: Episode) -> bool:
        """Return whether a session has been ended. Raises UsageError if that was too long ago."""
        if episode.ended_at is None or episode.closed_by == TIMEOUT:
            return False
        if self.store.now() - episode.ended_at > self.store.timeout:
            raise UsageError(
                f"session {episode.session_id} ended too long ago to take more events",
                hint='Begin another: `workbench episode start "…"`.',
            )
        return True

    def _live(self, entries: list[Entry], given: str) -> tuple[Episode, str]:
        episode, session = self._find_episode(entries, given)
        if any(entry.kind == IMPORTED and names(entry, session) for entry in entries):
            raise UsageError(
                f"session {session} was imported whole and takes no events",
                hint="`workbench feedback` judges it.",
            )
        return episode, session

    def _find_episode(self, entries: list[Entry], given: str) -> tuple[Episode, str]:
        for session in checks.named_sessions(entries, given):
            episode = follow_all(entries, session)
            if episode is not None:
                return episode, session
        raise checks.unknown_session(given, self._names())

    def _path(self, given: str, base: str) -> str:
        path = checks.project_path(self.store.root, given, base)
        if self.store.excluded(path):
            raise UsageError(
                f"{visible_line(path)} is excluded by `privacy.exclude`: nothing about it is kept",
                hint="Leave it out; `workbench config get privacy.exclude` lists the patterns.",
            )
        return path

    def _entries(self, given: str, *, last: bool = False) -> list[Entry]:
        """Return the entries about a session, which its full id or an unambiguous beginning names.

        `last`: where it is the id of a session with several prompts, those about the last of them.
        Raises: UsageError if the beginning is that of several.
        """
        checks.session_id(given)
        entries = list(self.store.mentioning(f'"{given}"'))
        if checks.named_sessions(entries, given) == [given]:
            return entries
        entries = list(self.store.mentioning(f'"{given}'))
        found = checks.named_sessions(entries, given)
        if last and (prompts := [one for one in found if one.startswith(f"{given}/")]):
            return [entry for entry in entries if entry.body.get("session_id") == prompts[-1]]
        if len(found) > 1:
            some = ", ".join(sorted(found)[:3])
            raise UsageError(
                f"{len(found)} sessions begin with {given}", hint=f"Give more of the id: {some}, …"
            )
        return entries

    def _names(self) -> list[str]:
        """Return ids of live sessions for a suggestion, the newest first."""
        started = [
            str(entry.body.get("session_id"))
            for entry in self.store.mentioning(STARTED)
            if entry.kind == STARTED
        ]
        return list(islice(reversed(started), _NAMED))
