"""What a pack says beside the places it shows, a line each: what changes too, who uses them, models, state.

Everything is computed from what is known at the time of the plan, for the files that the pack turned out to
show, in milliseconds; the pack takes what its budget has room for.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from workbench.expand.sources import Sources
from workbench.plan.brief_lines import Around, ShownFile, Surroundings
from workbench.plan.companions import find_companions, named_companions
from workbench.plan.compose import FileCandidate
from workbench.plan.cuts import FileCut
from workbench.plan.planner import Planner, Ranking
from workbench.plan.precedents import find_sibling, list_precedents
from workbench.plan.render import ALSO, BriefLine, Style, family_text
from workbench.plan.representations import digests_of, name_offer
from workbench.plan.state import list_state
from workbench.plan.usages import Known, changes_names, list_callees, list_usages
from workbench.plan.workspace import Workspace
from workbench.project.admission import is_generated
from workbench.records.answers.plan import NamedPlace
from workbench.records.project import Skipped
from workbench.text.sanitize import visible_line

_MOST_TASK: Final = 4_000  # characters of a task in which names are looked for
_MOST_EDITED: Final = 20  # files with uncommitted changes that are read for conflicts and errors


def describe_surroundings(
    workspace: Workspace,
    planner: Planner,
    ranking: Ranking,
    candidates: Sequence[FileCandidate],
    style: Style,
    loaded: Sequence[BriefLine] = (),
) -> Around:
    """Return what says what is around the files a pack shows; the same files are looked at once."""
    by_path = {one.path: one for one in candidates}
    following = {one.path: one.chance for one in candidates if one.follows and not one.excluded}
    scores = {one.path: one.score for one in ranking.files}
    control = workspace.adapters.control
    operation = "" if control is None else control.operation()
    known: dict[tuple[object, ...], Surroundings] = {}
    uses: Known = {}
    sources = Sources(
        workspace.adapters.root, workspace.index, workspace.snapshot, workspace.limits.max_bytes
    )
    read = partial(planner.contents.read, index=workspace.index, digests=digests_of(workspace.snapshot))

    def cut_of(path: str) -> FileCut | None:
        content = read(path)
        return None if isinstance(content, Skipped) else content.cut

    def offer(path: str, places: Sequence[NamedPlace], why: str) -> ShownFile:
        candidate = by_path.get(path) or FileCandidate(path, scores.get(path, 0.0), ())
        return candidate, name_offer(path, style, planner.counter, places, why)

    def around(shown: Sequence[ShownFile]) -> Surroundings:
        task = ranking.intent.task.text[:_MOST_TASK]
        if not shown:  # nothing to say of; who renames a definition has to know its uses all the same
            lines = list_usages(sources, task, (), uses) if changes_names(task) else ()
            return Surroundings((), tuple(lines))
        key = tuple((candidate.path, view.view.spans) for candidate, view in shown)
        if key not in known:
            paths = [candidate.path for candidate, _ in shown if candidate.path in workspace.index.positions]
            excluded = {*ranking.overrides.excluded}
            companions = [
                one
                for one in find_companions(workspace.history, workspace.index, paths, following)
                if one.path not in excluded and not _is_generated(sources.data(one.path))
            ]
            cuts = [(one, cut) for one in shown if (cut := cut_of(one[0].path)) is not None]
            held = {
                one[0].path: data for one in shown if isinstance(data := sources.data(one[0].path), bytes)
            }
            lines = [
                *_list_families(shown),
                *list_usages(sources, task, cuts, uses),
                *list_callees(sources, cuts),
                *find_sibling(sources, ranking.intent, shown),
                *list_state(
                    workspace.history, workspace.task_heads, held, _read_edited(workspace, sources), operation
                ),
                *loaded,
                *list_precedents(
                    workspace.history, workspace.task_heads, workspace.index, ranking.intent, paths
                ),
            ]
            known[key] = Surroundings(named_companions(companions, by_path, cut_of, offer), tuple(lines))
        return known[key]

    return around


def _read_edited(workspace: Workspace, sources: Sources) -> dict[str, bytes]:
    """Return the contents of the first files with uncommitted changes, by path."""
    found = {path: sources.data(path) for path in workspace.uncommitted[:_MOST_EDITED]}
    return {path: data for path, data in found.items() if isinstance(data, bytes)}


def _list_families(shown: Sequence[ShownFile]) -> list[BriefLine]:
    """Return which files are like those shown, a line each; one that is only named says so itself."""
    return [
        BriefLine(ALSO, candidate.path, f"{visible_line(candidate.path)}: {family_text(candidate.alike)}")
        for candidate, _ in shown
        if candidate.alike
    ]


def _is_generated(data: bytes | Skipped) -> bool:
    return isinstance(data, bytes) and is_generated(data)
