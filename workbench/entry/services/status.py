"""What is known of a project: looked at, and not changed."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from typing import Any, Final

from workbench.entry.project import OpenedProject
from workbench.entry.services.project_health import index_sentence
from workbench.entry.services.sessions import session_figures
from workbench.entry.services.transcripts import count_imports
from workbench.plan.planner import missing_parts
from workbench.plan.ranking import DEFAULT_MODEL, load_model
from workbench.plan.semantics import known_past
from workbench.records.answers.project import IndexPart, ProjectStatus, StoredIndex, TableFigures

_EXAMPLES: Final = 20  # skipped files that are named

SHALLOW: Final = "this is a shallow clone without most of its history: `git fetch --unshallow` brings it"


def project_status(project: OpenedProject) -> ProjectStatus:
    """Return where the state is, what is indexed and how fresh, and which models are used.

    Nothing is indexed or recorded. Raises: StoreError, ModelError.
    """
    workspace, config, repository = project.workspace, project.config, project.repository
    stored = workspace.look()
    report, planner, tables = stored.report, project.planner, project.table_file()
    scanned: Mapping[str, Any] = workspace.scan_report
    past = known_past(planner.embedder, stored.past.heads if stored.past else ())
    segments, segment_models = _stash(project)
    not_on_server = _why_not_on_server(project)
    return ProjectStatus(
        root=str(project.root),
        repository=repository is not None,
        head=None if repository is None else repository.head,
        branch=None if repository is None else repository.branch,
        state_directory=str(project.location.root),
        fallback_reason=project.location.fallback_reason,
        indexed=report is not None,
        files=0 if report is None else int(workspace.index.alive.sum()),
        max_files=config.index.max_files,
        capped=bool(scanned.get("capped", False)),
        skipped=dict(scanned.get("skipped", {})),
        skipped_examples=tuple((path, why) for path, why in scanned.get("examples", ())[:_EXAMPLES]),
        freshness=None if report is None else report.state,
        reason="" if report is None else report.reason,
        changed=0 if report is None else len(report.changed) + len(report.added) + len(report.removed),
        episodes=0 if stored.past is None else stored.past.history.size,
        sessions=session_figures(workspace.session_stories()[0]),
        imported=count_imports(project),
        tables=None if tables is None else TableFigures(bytes=tables.bytes, behind=tables.behind),
        indexes=_indexes(project),
        rules=0 if stored.rules is None else len(stored.rules.rules),
        rule_files=() if stored.rules is None else tuple(stored.rules.files),
        segments=segments,
        segment_models=segment_models,
        ranking_model=used_ranking(project),
        embedding_model=None if planner.embedder is None else planner.embedder.model,
        tokenizer=planner.counter.name,
        degraded=(*missing_parts(workspace, planner, past), *(["tables"] if not_on_server else [])),
        notes=(
            *workspace.adapters.notes,
            *([SHALLOW] if repository is not None and repository.shallow else []),
            *([planner.embedder_note] if planner.embedder_note else []),
            *([f"past tasks are not compared by meaning: {past.missing}"] if past.missing else []),
            *([f"lists are read from a file: {not_on_server}"] if not_on_server else []),
            *scanned.get("notes", ()),
            *stored.notes,
        ),
    )


def _why_not_on_server(project: OpenedProject) -> str:
    """Return why the tables are in a file where the settings have them on a server, empty if they are not."""
    if project.config.store.tables == "duckdb":
        return ""
    with closing(project.open_tables()) as tables:
        tables.file()
        return tables.degraded


def used_ranking(project: OpenedProject) -> str:
    """Return the ranking model with those of the project that change it: `files-v4+own-linear-…`."""
    name = project.config.models.ranking or DEFAULT_MODEL
    if not project.has_models:
        return name
    return project.own_models.apply(load_model(name), canary=False)[0].model_id


def _stash(project: OpenedProject) -> tuple[int, dict[str, str]]:
    if not project.has_stash:
        return 0, {}
    from workbench.entry.services.stash import stash_figures

    return stash_figures(project)


def _indexes(project: OpenedProject) -> tuple[StoredIndex, ...]:
    return tuple(
        StoredIndex(
            name=f"{state.kind}-{state.number}",
            bytes=state.bytes,
            created_at=state.created_at,
            parts=tuple(IndexPart(one.records, one.count, one.method, one.model) for one in state.parts),
            faults=state.faults,
            text=state.faults[0] if state.faults else index_sentence(state, project.clock.now()),
        )
        for state in project.index_states(deep=False)
    )
