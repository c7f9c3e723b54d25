"""What a person wants gone is taken out of all that is kept: journals, copies, archives, tables, indexes.

One thing at a time: a session with what was learned and stashed of it, sessions before a moment, a text
wherever it stands, or all of a project. What is still found afterwards is named.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from workbench.entry.hooks.log import hook_log
from workbench.entry.project import (
    ProjectTeam,
    own_machine,
    place_file,
    remains,
    remove_projections,
    remove_runs,
    rewrite_files,
    rewrite_journals,
)
from workbench.errors import StoreError, UsageError
from workbench.places import fallback_root
from workbench.ports import Entry
from workbench.records.dataclass import dataclass

if TYPE_CHECKING:
    from workbench.entry.project import ArchivedCopy, OpenedProject

MASK: Final = "[secret:purged]"
SHORTEST: Final = 4
"""Characters of a text that is looked for: shorter ones are in everything."""

_TELLING: Final = 8
"""Characters of an id that nothing holds by chance; a shorter one is looked for in quotes."""

_COMMITS: Final = "import:git"
_EVENTS: Final = ("handovers", "rule-usage")
_PASSING: Final = frozenset({"iteration", "correction.said", "learning.hit"})
_PARTS: Final = ("id", "segment_id", "learning_id")


@dataclass(frozen=True, slots=True)
class PurgeReport:
    """What a purge took out, or would: lines of journals by name, transcripts, replays, files; bytes freed.

    `remaining` are files that still hold it; `notes` say what is not the workbench's to change.
    """

    what: str
    journals: Mapping[str, int]
    transcripts: int
    replays: int
    files: int
    freed: int = 0
    remaining: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether nothing was found."""
        return not (self.journals or self.transcripts or self.replays or self.files)


@dataclass(frozen=True, slots=True)
class _Purge:
    """What becomes of an entry, of a line or file of no entry, of a transcript's copy; what must be gone."""

    what: str
    entry: Callable[[str, Entry], Entry | None]
    other: Callable[[bytes], bytes | None]
    copy: Callable[[ArchivedCopy, bytes], bytes | None]
    file: Callable[[bytes], bytes | None] = lambda content: content
    needles: tuple[bytes, ...] = ()
    notes: tuple[str, ...] = ()


def purge_session(project: OpenedProject, identifier: str, *, dry: bool) -> PurgeReport:
    """Take out a session: its prompts, events, segments, learnings, iterations, transcript.

    `identifier` is a session's or one of its prompts' or the beginning of one. Raises: UsageError if there
    is none or several; StoreError, StoreBusy.
    """
    known = _sessions(project)
    fitting = {parent for name, (parent, _) in known.items() if name == identifier or parent == identifier}
    fitting = fitting or {one for name, (one, _) in known.items() if name.startswith(identifier)}
    fitting = fitting or {one for one, _ in known.values() if one.startswith(identifier)}
    if len(fitting) != 1:
        said = f"{len(fitting)} sessions begin with" if fitting else "there is no session"
        raise UsageError(f"{said} {identifier[:80]!r}", hint="`workbench episode list` shows them.")
    [parent] = fitting
    names = {name for name, (one, _) in known.items() if one == parent} | {parent}
    notes = ("the agent's own transcript is not touched; imports skip it as long as nothing is added to it",)
    what = f"session {parent}"
    purge = _of_sessions(project, frozenset(names), what, learnings=True, before="")
    looked_for = parent if len(parent) >= _TELLING else json.dumps(parent)
    return _run(project, replace(purge, notes=notes, needles=tuple(_encodings_of(looked_for))), dry=dry)


def purge_before(project: OpenedProject, moment: datetime, *, dry: bool) -> PurgeReport:
    """Take out sessions, iterations and events that ended before a moment; what was curated of them stays.

    Raises: StoreError, StoreBusy.
    """
    old = frozenset(
        name for name, (_, last) in _last_by_parent(_sessions(project)) if last < moment.timestamp()
    )
    before = moment.isoformat(timespec="seconds").replace("+00:00", "Z")
    what = f"what ended before {before}"
    return _run(project, _of_sessions(project, old, what, learnings=False, before=before), dry=dry)


def purge_text(project: OpenedProject, text: str, *, dry: bool) -> PurgeReport:
    """Put `MASK` in the place of a text wherever it is kept. Raises: UsageError, StoreError, StoreBusy."""
    if len(text.strip()) < SHORTEST:
        raise UsageError(
            f"a text of fewer than {SHORTEST} characters is in everything", hint="Give all of the secret."
        )
    forms = tuple(dict.fromkeys(_encodings_of(text)))

    def entry(stream: str, found: Entry) -> Entry | None:
        del stream
        body = _without(found.body, text)
        return found if body == found.body else replace(found, body=body)

    def other(content: bytes) -> bytes:
        for form in forms:
            content = content.replace(form, MASK.encode())
        return content

    notes = tuple(
        f"{path} holds it: that file is yours to change"
        for path, content in _rule_files(project)
        if any(form in content for form in forms)
    )
    purge = _Purge("a text", entry, other, lambda copy, content: other(content), other, forms, notes)
    return _run(project, purge, dry=dry)


def purge_project(project: OpenedProject, *, dry: bool) -> PurgeReport:
    """Take out all that is kept of a project, here and in the user's home. Raises: StoreError, StoreBusy."""

    def entry(stream: str, found: Entry) -> Entry | None:
        del stream
        return None if found.body.get("project_id") == project.project_id else found

    sends = project.config.vectors.store != "local"
    purge = _Purge(f"project {project.project_id}", entry, lambda line: line, lambda copy, content: content)
    home = rewrite_journals(project.home, purge.entry, purge.other, dry=dry)
    size = sum(1 for path in project.state.rglob("*") if path.is_file())
    kept = "" if dry else project.remove_server_tables()
    if not dry:
        try:
            for path in (path for place in state_places(project) for path in place.iterdir()):
                if path.name not in ("config.toml", ".gitignore"):
                    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
            with suppress(FileNotFoundError):
                place_file(project.root, project.environment).unlink()
        except OSError as error:
            raise StoreError(
                f"removing {project.state} failed: {error}", hint="Run it again when that is mended."
            ) from error
    left = "the server of vectors has what it was sent: remove it there" if sends else ""
    return PurgeReport(purge.what, home, 0, 0, size, notes=tuple(filter(None, (kept, left))))


def _run(project: OpenedProject, purge: _Purge, *, dry: bool) -> PurgeReport:
    journals: dict[str, int] = {}
    roots = tuple(dict.fromkeys((*state_places(project), project.home)))
    for root in roots:
        found = rewrite_journals(root, purge.entry, purge.other, dry=dry)
        journals |= {
            name if root == project.state else f"home: {name}": count for name, count in found.items()
        }
    transcripts = project.archive().rewrite(purge.copy, dry=dry)
    replays = sum(remove_runs(place, purge.other, dry=dry) for place in state_places(project))
    log = hook_log(project.environment)
    homes = (place_file(project.root, project.environment), log, *log.parent.glob(f"{log.name}.*"))
    files = rewrite_files(homes, purge.file, dry=dry)
    notes = (*purge.notes, *_peers_with(project, purge.needles))
    if project.config.vectors.store != "local":
        notes += ("the server of vectors has what it was sent until `workbench vectors sync` is run",)
    report = PurgeReport(purge.what, journals, transcripts, replays, files, notes=notes)
    if dry or report.empty:
        return report
    for root in roots:
        remove_projections(root)
    if own_machine(project.state):
        ProjectTeam(project).forget_copies()
    kept = project.remove_server_tables()
    left = remains(roots, purge.needles) if purge.needles else []
    return replace(report, remaining=tuple(map(str, left)), notes=(*report.notes, *([kept] if kept else [])))


def _peers_with(project: OpenedProject, needles: tuple[bytes, ...]) -> Iterator[str]:
    """Yield a sentence for each machine of the team that wrote one of some texts: there it is taken out."""
    for machine, journal in project.peer_journals.items() if needles else ():
        if remains([journal.root], needles):
            names = {machine.id: machine.name for machine in ProjectTeam(project).machines}
            yield f"{names.get(machine, machine)} of the team wrote it, too: run the same there"


def state_places(project: OpenedProject) -> tuple[Path, ...]:
    """Return where state of a project is: also in the user's home, from when it could not be written."""
    elsewhere = fallback_root(project.root, project.home)
    return (
        (project.state, elsewhere) if elsewhere.is_dir() and elsewhere != project.state else (project.state,)
    )


def _of_sessions(
    project: OpenedProject, names: frozenset[str], what: str, *, learnings: bool, before: str
) -> _Purge:
    """Return the purge of sessions, and of events before a moment (ISO 8601), if one is given."""
    gone: set[str] = set()
    tasks: set[str] = set()
    for journal in (project.journal, project.home_journal):
        for stream in journal.streams():
            for _, entry in journal.read(stream):
                if _is_of(entry.body, names):
                    tasks |= _first_lines(entry.body.get("task_text"))
                    if learnings or not entry.kind.startswith("learning."):
                        gone |= {str(entry.body[key]) for key in _PARTS[:2] if entry.body.get(key)}

    def change(stream: str, entry: Entry) -> Entry | None:
        body = entry.body
        if entry.kind.startswith(("learning.", "rule.")) and not learnings and entry.kind != "learning.hit":
            return entry
        if _is_of(body, names) or any(body.get(key) in gone for key in _PARTS[:2]):
            return None
        if entry.kind == "iteration" and _title(body) in tasks:
            return None
        if before and entry.at < before and (stream in _EVENTS or entry.kind in _PASSING):
            return None
        kept = (
            [one for one in body.get("ids", ()) if one not in gone]
            if isinstance(body.get("ids"), list)
            else None
        )
        if kept is None or len(kept) == len(body["ids"]):
            return entry
        return replace(entry, body={**body, "ids": kept}) if kept else None

    spelled = tuple(form for name in names for form in _encodings_of(name))

    def other(content: bytes) -> bytes | None:
        return None if any(form in content for form in spelled) else content

    def copy(found: ArchivedCopy, content: bytes) -> bytes | None:
        return None if any(len(name) >= SHORTEST and name in found.path for name in names) else content

    return _Purge(what, change, other, copy)


def _sessions(project: OpenedProject) -> dict[str, tuple[str, float]]:
    """Return (session that it is a prompt of, or itself; last moment in seconds) by session."""
    found: dict[str, tuple[str, float]] = {}
    for journal in (project.journal, project.home_journal):
        for stream in journal.streams():
            for _, entry in journal.read(stream):
                name = entry.body.get("session_id")
                if not isinstance(name, str) or not name or entry.by == _COMMITS:
                    continue  # commits are the repository's own past
                parent, last = found.get(name, (name, 0.0))
                parent = entry.body.get("parent_session") or parent
                found[name] = (str(parent), max(last, _moment(entry)))
    return found


def _last_by_parent(known: Mapping[str, tuple[str, float]]) -> Iterator[tuple[str, tuple[str, float]]]:
    """Yield sessions with the last moment of all prompts of their session."""
    last: dict[str, float] = {}
    for parent, moment in known.values():
        last[parent] = max(moment, last.get(parent, 0.0))
    for name, (parent, _) in known.items():
        yield name, (parent, last[parent])


def _moment(entry: Entry) -> float:
    """Return when what an entry tells happened: imports are written later."""
    for key in ("ended_at", "started_at"):
        if isinstance(said := entry.body.get(key), int | float) and said:
            return float(said)
    return datetime.fromisoformat(entry.at).timestamp()


def _is_of(body: Mapping[str, Any], names: frozenset[str]) -> bool:
    return body.get("session_id") in names or body.get("parent_session") in names


def _title(body: Mapping[str, Any]) -> str:
    record = body.get("record")
    return str(record.get("task_title", "")) if isinstance(record, dict) else ""


def _first_lines(task: object) -> set[str]:
    """Return what an iteration's title may be of a prompt: one of its lines."""
    lines = task.splitlines() if isinstance(task, str) else []
    return {line.strip().lstrip("#").strip() for line in lines} - {""}


def _without(value: Any, text: str) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, str):
        return value.replace(text, MASK)
    if isinstance(value, Mapping):
        return {_without(key, text): _without(one, text) for key, one in value.items()}
    return [_without(one, text) for one in value] if isinstance(value, Sequence) else value


def _encodings_of(text: str) -> Iterator[bytes]:
    """Yield a text as files hold it: as it is, and as JSON writes it."""
    for form in (text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]):
        yield form.encode("utf-8", "surrogatepass")


def _rule_files(project: OpenedProject) -> Iterator[tuple[Path, bytes]]:
    for path in (project.root / name for name in project.workspace.rule_files()):
        with suppress(OSError):
            if path.is_file():
                yield path, path.read_bytes()
