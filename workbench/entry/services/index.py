"""The index of a project: what a first one would read, counted before it is built, its vectors, its tables.

For the former files and rule files are listed, commits counted, transcripts of coding agents found by their
places. Nothing is opened but what git itself reads, and nothing is recorded.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.entry.project import OpenedProject, ProjectTeam, embedding_settings, prepare_embedder
from workbench.entry.services.transcripts import project_places
from workbench.errors import GitError, StoreError, TeamError
from workbench.places import user_cache
from workbench.plan.matching import LEARNINGS, RULES
from workbench.plan.semantics import TASKS, head_texts, known_past
from workbench.plan.workspace import Progress, Synced, Workspace
from workbench.project.scan import ScanLimits, scan
from workbench.records.answers.project import DoctorFinding, IndexReport, State
from workbench.rules.matching.relevance import rule_texts
from workbench.rules.rulestate import find_sources
from workbench.sessions.importers.git import unreadable_sentence
from workbench.sessions.importers.places import agent_directory_session, project_transcripts
from workbench.text.counts import plural
from workbench.text.tokens import write_token_table

if TYPE_CHECKING:
    from workbench.entry.project import CatchUp, VectorStore
    from workbench.entry.services.metrics import Measured
    from workbench.project.layers import LayerView
    from workbench.records.plan import Detail, QueryType


@dataclass(frozen=True, slots=True)
class FirstLook:
    """Counts of what is there. `commits` are those that would be read, None outside of a repository, and
    `older` the ones before them.

    `transcripts` are (agent, files, whether all of them are this project's): Codex keeps those of all
    projects together, and which are this one's is in the files. `notes` say what could not be counted.
    `state` is where what is read will be kept if it cannot be in the project. `shared` says
    whether there is a team, with which rules, learnings and the stash are.
    """

    files: int
    skipped: int
    rule_files: tuple[str, ...]
    commits: int | None
    transcripts: tuple[tuple[str, int, bool], ...]
    notes: tuple[str, ...] = ()
    state: str = ""
    shared: bool = False
    older: int = 0


def first_look(
    project: OpenedProject,
    *,
    environment: Mapping[str, str] = os.environ,
    progress: Progress | None = None,
) -> FirstLook:
    """Return what a first index would read. Raises: ProjectError; Cancelled where `progress` raises it."""
    workspace = project.workspace
    adapters, limits = workspace.adapters, workspace.limits
    tell = None if progress is None else partial(progress, "listing files")
    found = scan(
        project.root,
        adapters.lister,
        ScanLimits(max_files=limits.max_files, max_bytes=limits.max_bytes),
        tell,
    )
    sources = find_sources(workspace.rule_store(), workspace.rule_files())
    notes = list(found.notes)
    try:
        shared = ProjectTeam(project).settings is not None
    except TeamError as error:
        notes.append(error.message)
        shared = True
    commits: int | None = None
    older = 0
    if adapters.control is not None:
        try:
            count = adapters.control.commits.count(None) if adapters.head() is not None else 0
            commits = min(count, limits.history_commits)
            older = count - commits
        except GitError as error:
            notes.append(error.message)
    return FirstLook(
        files=len(found.files),
        skipped=sum(found.skipped_counts.values()),  # the list of them is cut
        rule_files=tuple(source.path for source in sources),
        commits=commits,
        transcripts=_transcripts(project, environment, notes),
        notes=tuple(notes),
        state=str(project.state) if project.location.fallback_reason else "",
        shared=shared,
        older=older,
    )


def _transcripts(
    project: OpenedProject, environment: Mapping[str, str], notes: list[str]
) -> tuple[tuple[str, int, bool], ...]:
    """Return how many sessions' files each agent left, those of sub-agents not counted."""
    home = Path(environment.get("HOME") or Path.home())
    codex = Path(environment.get("CODEX_HOME") or home / ".codex")
    roots = project_places(project.root, project.repository).roots
    try:
        paths = project_transcripts(roots, home, environment)
    except OSError as error:
        notes.append(f"transcripts cannot be listed: {error.strerror}")
        return ()
    agents = Counter(
        "Codex" if path.is_relative_to(codex) else "Claude Code"
        for path in paths
        if not agent_directory_session(path)
    )
    return tuple((agent, count, agent != "Codex") for agent, count in sorted(agents.items()))


def rebuild_tables(project: OpenedProject) -> tuple[dict[str, str], dict[str, str], CatchUp]:
    """Rebuild the tables from the journals; return their content hashes before and after.

    Raises: StoreError, StoreBusy.
    """
    if project.config.store.tables == "duckdb":
        project.remove_server_tables()  # of former settings, if there are any
    tables = project.open_tables()
    try:
        before = tables.digest()
        report = tables.rebuild()
        return before, tables.digest(), report
    finally:
        tables.close()


def follow_index(project: OpenedProject) -> None:
    """Bring the tables of the project index up to date with the index of the last plan. Raises: StoreError.

    Whatever reads tables does so; this is for those who read them with other programs.
    """
    with project.tables():
        pass


def vector_texts(workspace: Workspace) -> dict[str, Sequence[str]]:
    """Return the texts whose vectors are stored, by kind; past tasks last, whose model serves."""
    kept = workspace.learnings()
    return {
        RULES: rule_texts(workspace.rulebook.rules).texts,
        LEARNINGS: () if kept is None else rule_texts(kept.rules).texts,
        TASKS: head_texts(workspace.task_heads),
    }


def prepare_vectors(project: OpenedProject, vectors: VectorStore, progress: Progress) -> dict[str, int]:
    """Embed all texts by a model and write their generations; return how many were new, by kind.

    Raises: ModelError, StoreError.
    """
    fresh = {}
    for kind, texts in vector_texts(project.workspace).items():
        fresh[kind] = vectors.missing(kind, texts)
        vectors.complete(kind, texts, progress=partial(progress, f"embedding {kind}"))
        vectors.keep(kind, texts)
    return fresh


def embed_texts(project: OpenedProject, progress: Progress) -> tuple[str, ...]:
    """Embed what plans compare by meaning, where the settings want it and a model is here; return notes.

    A packaged model that no project used yet is built first, which takes seconds, once on a machine.
    Raises: ModelError, StoreError; StoreBusy while another process does the same.
    """
    if not project.config.index.embed:
        return ()
    vectors, missing = project.text_vectors
    if vectors is None and not missing:
        return ()
    with project.lock("prepare", 0):
        if vectors is None:
            progress("preparing the embedding model", 0, 1)
            embedder, _ = prepare_embedder(project.config)
            if embedder is None:
                return (missing,)
            vectors = project.vectors_by(embedder, embedding_settings(project.config).model)
        embedded = {
            kind: count for kind, count in prepare_vectors(project, vectors, progress).items() if count
        }
    names = {TASKS: ("past task",), RULES: ("text of rules", "texts of rules"), LEARNINGS: ("learning",)}
    return tuple(f"embedded: {plural(count, *names[kind])}" for kind, count in embedded.items())


def meaning_findings(project: OpenedProject) -> Iterator[DoctorFinding]:
    """Yield whether plans compare past tasks by meaning; that there is a model is asked apart."""
    stored, (embedder, _) = project.workspace.look().past, project.text_vectors
    if embedder is None or stored is None or not stored.heads:
        return
    count = plural(len(stored.heads), "past task")
    if known_past(embedder, stored.heads).missing:
        text = f"{count} not compared by meaning: they are not embedded yet"
        yield DoctorFinding("meaning", State.NOTE, text, "Run `workbench index`.")
    else:
        yield DoctorFinding("meaning", State.OK, f"{count} compared by meaning")


def history_findings(project: OpenedProject) -> Iterator[DoctorFinding]:
    """Yield how many commits the history of the last sync lacks, where git could not read some."""
    if unreadable := project.workspace.unreadable_commits:
        yield DoctorFinding("history", State.NOTE, unreadable_sentence(unreadable), "")


def keep_vectors(project: OpenedProject, *, renew: bool = False) -> list[str]:
    """Write the generations that are behind, or `renew` all, from what is embedded; return their kinds.

    Raises: ModelError, StoreError.
    """
    vectors, _ = project.text_vectors
    if vectors is None:
        return []
    texts = vector_texts(project.workspace)
    return [kind for kind in texts if vectors.keep(kind, texts[kind], renew=renew)]


def project_tables(opened: OpenedProject) -> tuple[str, ...]:
    """Put the index into the tables; return why that failed, as plans do without them."""
    try:
        follow_index(opened)
        if opened.has_stash:
            from workbench.entry.services.stash import refold_stash

            refold_stash(opened)
    except StoreError as error:
        return (f"the tables do not hold the index: {error.message}",)
    return ()


def refresh_index(
    project: OpenedProject, measurement: Measured, progress: Progress | None = None
) -> tuple[Synced, float]:
    """Bring the index up to date, and the tables with it; return what was read and the seconds it took.

    Raises: ProjectError, StoreError, GitError.
    """
    started = time.perf_counter()
    synced = project.workspace.sync(progress=progress, settle=True)
    keep_token_table()
    measurement.note_sync(synced)
    synced = replace(synced, notes=(*synced.notes, *project_tables(project)))
    return synced, time.perf_counter() - started


def keep_token_table() -> None:
    """Write the table by which plans count tokens; a full or read-only cache costs each a little time."""
    with suppress(OSError):
        write_token_table(user_cache())


def index_report(workspace: Workspace, synced: Synced, seconds: float) -> IndexReport:
    """Return what an update of the index is published as."""
    return IndexReport(
        was=synced.freshness,
        cache_status=synced.cache,
        files=int(workspace.index.alive.sum()),
        changed=synced.changed,
        added=synced.added,
        removed=synced.removed,
        episodes=workspace.history.size,
        imported=synced.episodes,
        forgotten=synced.forgotten,
        rules=len(workspace.rulebook.rules),
        notes=(*workspace.adapters.notes, *synced.notes),
        timing={**synced.stages, "total": round(seconds * 1000, 3)},
    )


def explore_project(
    project: OpenedProject,
    measurement: Measured,
    query_type: QueryType,
    detail: Detail,
    progress: Progress | None = None,
) -> tuple[LayerView, tuple[str, ...]]:
    """Return the layers of a kind of task, and what is odd about the project. Raises: as `refresh_index`."""
    from workbench.plan.baseline import layer_view
    from workbench.project.sections import explore

    notes: list[str] = []
    synced = project.workspace.sync(progress=progress)
    measurement.note_sync(synced)
    view = explore(layer_view(project.workspace, notes=notes), query_type, detail)
    measurement.candidates = len(view.paths)
    return view, (*synced.notes, *notes)
