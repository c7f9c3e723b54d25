"""A comparison of two runs as lines of text: what is shown and what is not, then where it got worse."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.replay.compare import Comparison, MeasureChange, SessionChange, TaskChange
from workbench.replay.report import table
from workbench.text.sanitize import visible_line

_SHOWN = 10
_HEAD = 60  # characters of a task


def comparison_text(found: Comparison) -> str:
    """Return the comparison as text: figures by system, then the sessions and tasks that got worse most."""
    parts = [_head(found)]
    if found.changes:
        parts.append(_figures(found.changes))
    else:
        parts.append("No system was measured on a common task: there is nothing to compare.")
    worse = [one for one in found.sessions if _worse(found, one)]
    many = [one for one in worse if one.tasks > 1]
    if many:
        parts.append(_sessions(found, many))
    tasks = [one for one in found.tasks if _worse(found, one)]
    title = f"{found.system}, {found.measure}"
    if tasks:
        parts.append(_tasks(f"Tasks that got worse ({visible_line(title)})", tasks))
    elif found.changes:
        parts.append(f"No task got worse ({visible_line(title)}).")
    return "\n\n".join(parts)


def _worse(found: Comparison, one: SessionChange | TaskChange) -> bool:
    from workbench.records.replay import LESS_IS_BETTER

    return (one.after > one.before) == (found.measure in LESS_IS_BETTER)


def _head(found: Comparison) -> str:
    lines = [f"{found.after} against {found.before}: {found.common:,} tasks in both"]
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


def _figures(changes: Sequence[MeasureChange]) -> str:
    rows = []
    for one in changes:
        digits = 0 if one.measure == "context_tokens" else 3
        rows.append(
            [
                visible_line(one.system),
                one.measure,
                f"{one.before:,.{digits}f}",
                f"{one.after:,.{digits}f}",
                f"{one.gap.value:+,.{digits}f}",
                f"[{one.gap.low:+,.{digits}f}, {one.gap.high:+,.{digits}f}]",
                f"{one.gap.p:.4f}",
                one.verdict,
            ]
        )
    return table(["", "measure", "before", "after", "change", "95 %", "p", ""], rows)


def _sessions(found: Comparison, worse: Sequence[SessionChange]) -> str:
    rows = [
        [
            visible_line(one.session)[:_HEAD],
            str(one.tasks),
            f"{one.before:.3f}",
            f"{one.after:.3f}",
            f"{one.after - one.before:+.3f}",
        ]
        for one in worse[:_SHOWN]
    ]
    title = f"Sessions that got worse ({visible_line(found.system)}, {found.measure})"
    return "\n".join([title, table(["", "tasks", "before", "after", "change"], rows), *_more(len(worse))])


def _tasks(title: str, worse: Sequence[TaskChange]) -> str:
    lines = [title]
    for one in worse[:_SHOWN]:
        lines.append(
            f"  {one.before:.3f} -> {one.after:.3f}  {visible_line(one.id)[:12]}  "
            f"{visible_line(one.head)[:_HEAD]}".rstrip()
        )
        if one.lost:
            lines.append(f"      no longer among the first ten: {', '.join(map(visible_line, one.lost))}")
    return "\n".join([*lines, *_more(len(worse))])


def _more(count: int) -> list[str]:
    return [f"  and {count - _SHOWN:,} more; --json lists all"] if count > _SHOWN else []
