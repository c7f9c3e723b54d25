"""What changed between two runs of a replay: by system, by session and by task, paired on the same tasks.

Only tasks that both runs replayed with the same right answers are compared. The tests resample and exchange
whole sessions, whose tasks are not independent; comparing B with A gives the same result as
comparing A with B, but for the sign.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from workbench.records.replay import (
    LESS_IS_BETTER,
    MEASURES,
    Gap,
    MeasureChange,
    ReplayRun,
    RunComparison,
    SessionChange,
    SystemRow,
    TaskMeasureChange,
    TaskRow,
)
from workbench.replay.run_report import SIGNIFICANT, table
from workbench.replay.statistics import clustered_means, clustered_p
from workbench.text.counts import plural
from workbench.text.sanitize import visible_line

COMPARED: Final = ("ndcg_at_10", "precision_at_10", "recall_at_10", "mrr", "packed_recall", "context_tokens")
TOP: Final = 10

_CLOSE = 1e-12  # differences that rounding alone makes

_SHOWN = 10
_HEAD_LENGTH = 60  # characters of a task


def compare_runs(
    before: ReplayRun, after: ReplayRun, *, system: str, measure: str = COMPARED[0]
) -> RunComparison:
    """Compare two runs; sessions and tasks are listed for one system and measure.

    Raises: ValueError for an unknown `measure`.
    """
    if measure not in MEASURES:
        raise ValueError(f"{measure} is not a measure of a replay")
    earlier, later = _replayed_rows(before), _replayed_rows(after)
    both = [identifier for identifier in earlier if identifier in later]
    pairs = [(earlier[one], later[one]) for one in both if earlier[one].truth == later[one].truth]
    listed = list(_pairs_of(pairs, system, measure))
    return RunComparison(
        before=before.id,
        after=after.id,
        system=system,
        measure=measure,
        settings=_differing(before.settings, after.settings),
        common=len(pairs),
        only_before=len(earlier) - len(both),
        only_after=len(later) - len(both),
        answers=len(both) - len(pairs),
        changes=tuple(_changes(pairs, before, after, measure)),
        sessions=tuple(_sessions(listed, measure)),
        tasks=tuple(_tasks(listed, measure)),
    )


def _replayed_rows(run: ReplayRun) -> dict[str, TaskRow]:
    return {row.id: row for row in run.rows if row.systems}


def _differing(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    names = sorted({*first, *second})
    return {
        name: (first.get(name), second.get(name)) for name in names if first.get(name) != second.get(name)
    }


_Pair = tuple[TaskRow, SystemRow, SystemRow]


def _pairs_of(pairs: Sequence[tuple[TaskRow, TaskRow]], system: str, measure: str) -> Iterator[_Pair]:
    """Yield (task, what the system did before, and after) where the measure is known of both."""
    for earlier, later in pairs:
        mine, theirs = earlier.systems.get(system), later.systems.get(system)
        if mine and theirs and measure in mine.measures and measure in theirs.measures:
            yield earlier, mine, theirs


def _changes(
    pairs: Sequence[tuple[TaskRow, TaskRow]], before: ReplayRun, after: ReplayRun, measure: str
) -> list[MeasureChange]:
    known = {score.system for score in before.systems}
    systems = [score.system for score in after.systems if score.system in known]
    wanted = [(system, name) for system in systems for name in dict.fromkeys((measure, *COMPARED))]
    old, new = (
        np.array([[_value(pair[side], *one) for one in wanted] for pair in pairs], np.float64)
        for side in (0, 1)
    )
    if not pairs or not wanted:
        return []
    gaps, clusters = new - old, [row.session for row, _ in pairs]
    spread, chance = clustered_means(gaps, clusters), clustered_p(gaps, clusters)
    found = []
    for column, (system, name) in enumerate(wanted):
        both = ~np.isnan(gaps[:, column])
        if both.any():
            parts = (spread.mean, spread.low, spread.high, chance)
            gap = Gap(*(float(part[column]) for part in parts))
            means = float(old[both, column].mean()), float(new[both, column].mean())
            found.append(MeasureChange(system, name, int(both.sum()), *means, gap, _verdict(name, gap)))
    return found


def _verdict(measure: str, gap: Gap) -> str:
    if gap.p >= SIGNIFICANT or not gap.value:
        return "no difference shown"
    return "better" if (gap.value > 0) != (measure in LESS_IS_BETTER) else "worse"


def _value(row: TaskRow, system: str, measure: str) -> float:
    did = row.systems.get(system)
    return float("nan") if did is None else did.measures.get(measure, float("nan"))


def _worst_first(measure: str, before: float, after: float) -> float:
    """Return a key that sorts the largest regression first."""
    return (before - after) if measure in LESS_IS_BETTER else (after - before)


def _sessions(listed: Sequence[_Pair], measure: str) -> list[SessionChange]:
    values: dict[str, list[tuple[float, float]]] = {}
    for row, mine, theirs in listed:
        values.setdefault(row.session, []).append((mine.measures[measure], theirs.measures[measure]))
    found = [
        SessionChange(
            session,
            len(both),
            sum(one for one, _ in both) / len(both),
            sum(one for _, one in both) / len(both),
        )
        for session, both in values.items()
    ]
    changed = [one for one in found if abs(one.after - one.before) > _CLOSE]
    return sorted(changed, key=lambda one: (_worst_first(measure, one.before, one.after), one.session))


def _tasks(listed: Sequence[_Pair], measure: str) -> list[TaskMeasureChange]:
    changed = []
    for row, mine, theirs in listed:
        before, after = mine.measures[measure], theirs.measures[measure]
        if abs(after - before) <= _CLOSE:
            continue
        old, new = set(mine.ranking[:TOP]), set(theirs.ranking[:TOP])
        changed.append(
            TaskMeasureChange(
                row.id,
                row.session,
                row.head,
                before,
                after,
                tuple(path for path in row.truth if path in old - new),
                tuple(path for path in row.truth if path in new - old),
            )
        )
    return sorted(changed, key=lambda one: (_worst_first(measure, one.before, one.after), one.id))


def comparison_text(found: RunComparison) -> str:
    """Return the comparison as text: figures by system, then the sessions and tasks that got worse most."""
    parts = [_head_text(found)]
    if found.changes:
        parts.append(_figures_text(found.changes))
    else:
        parts.append("No system was measured on a common task: there is nothing to compare.")
    worse = [session for session in found.sessions if _worse(found, session)]
    many = [one for one in worse if one.tasks > 1]
    if many:
        parts.append(_sessions_text(found, many))
    tasks = [task for task in found.tasks if _worse(found, task)]
    title = f"{found.system}, {found.measure}"
    if tasks:
        parts.append(_tasks_text(f"Tasks that got worse ({visible_line(title)})", tasks))
    elif found.changes:
        parts.append(f"No task got worse ({visible_line(title)}).")
    return "\n\n".join(parts)


def _worse(found: RunComparison, one: SessionChange | TaskMeasureChange) -> bool:
    return (one.after > one.before) == (found.measure in LESS_IS_BETTER)


def _head_text(found: RunComparison) -> str:
    lines = [f"{found.after} against {found.before}: {plural(found.common, 'task')} in both"]
    others = [
        f"{count:,} {what}"
        for count, what in (
            (found.only_before, f"only in {found.before}"),
            (found.only_after, f"only in {found.after}"),
            (found.answers, "with other right answers"),
        )
        if count
    ]
    if others:
        lines.append("left out: " + ", ".join(others))
    lines += [
        visible_line(f"set otherwise: {name} {old!r} -> {new!r}")
        for name, (old, new) in found.settings.items()
    ]
    return "\n".join(lines)


def _figures_text(changes: Sequence[MeasureChange]) -> str:
    rows = []
    for change in changes:
        digits = 0 if change.measure == "context_tokens" else 3
        rows.append(
            [
                visible_line(change.system),
                change.measure,
                f"{change.before:,.{digits}f}",
                f"{change.after:,.{digits}f}",
                f"{change.gap.value:+,.{digits}f}",
                f"[{change.gap.low:+,.{digits}f}, {change.gap.high:+,.{digits}f}]",
                f"{change.gap.p:.4f}",
                change.verdict,
            ]
        )
    return table(["", "measure", "before", "after", "change", "95 %", "p", ""], rows)


def _sessions_text(found: RunComparison, worse: Sequence[SessionChange]) -> str:
    rows = [
        [
            visible_line(one.session)[:_HEAD_LENGTH],
            str(one.tasks),
            f"{one.before:.3f}",
            f"{one.after:.3f}",
            f"{one.after - one.before:+.3f}",
        ]
        for one in worse[:_SHOWN]
    ]
    title = f"Sessions that got worse ({visible_line(found.system)}, {found.measure})"
    return "\n".join([title, table(["", "tasks", "before", "after", "change"], rows), *_more(len(worse))])


def _tasks_text(title: str, worse: Sequence[TaskMeasureChange]) -> str:
    lines = [title]
    for one in worse[:_SHOWN]:
        lines.append(
            f"  {one.before:.3f} -> {one.after:.3f}  {visible_line(one.id)[:12]}  "
            f"{visible_line(one.head)[:_HEAD_LENGTH]}".rstrip()
        )
        if one.lost:
            lines.append(f"      no longer among the first ten: {', '.join(map(visible_line, one.lost))}")
    return "\n".join([*lines, *_more(len(worse))])


def _more(count: int) -> list[str]:
    return [f"  and {count - _SHOWN:,} more; --json lists all"] if count > _SHOWN else []
