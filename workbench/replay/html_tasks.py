"""One task of a report as HTML: both rankings side by side, what features contributed, what was missed.

Everything a task holds was written by somebody else: it passes through `escape_text`, the only way text gets
into a page. How much is shown is a matter of `TaskDetail`, so that a page of many tasks stays readable.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from workbench.plan.reasons import by_phrase
from workbench.records.replay import SystemRow, TaskRow
from workbench.text.sanitize import visible_line

MOST_CHARACTERS: Final = 200
SHOWN_MEASURE: Final = "ndcg_at_10"
_RELEVANT = 20  # relevant files listed, where a commit touched hundreds
_LATEST = 253_402_300_799  # the last second of the year 9999

_MEASURES = (
    ("nDCG@10", "ndcg_at_10", 3),
    ("P@10", "precision_at_10", 2),
    ("R@10", "recall_at_10", 2),
    ("MRR", "mrr", 2),
    ("packed recall", "packed_recall", 2),
    ("lines", "line_coverage", 2),
    ("tokens", "context_tokens", 0),
    ("ms", "latency_ms", 1),
)


@dataclass(frozen=True, slots=True)
class TaskDetail:
    """How much of a task is shown: so many ranked files; reasons and so many features of `weighed`."""

    files: int
    weighed: int
    features: int


DETAILS: Final = (TaskDetail(20, 20, 4), TaskDetail(10, 10, 2), TaskDetail(10, 5, 1), TaskDetail(10, 0, 0))
"""From all there is to the least that still shows both rankings."""


def escape_text(text: str, most: int = MOST_CHARACTERS) -> str:
    """Return text that is text anywhere in HTML, on one line, its middle left out if it is long."""
    if len(text) > most:
        text = f"{text[: most // 2]} … {text[-most // 2 :]}"
    return html.escape(visible_line(text))


def day(second: int) -> str:
    """Return a second since the epoch as a date in UTC."""
    return f"{datetime.fromtimestamp(min(max(second, 0), _LATEST), UTC):%Y-%m-%d}"


def value_of(row: TaskRow, system: str, measure: str = SHOWN_MEASURE) -> float | None:
    """Return a measure of a system on a task, None where it was not measured."""
    did = row.systems.get(system)
    return None if did is None else did.measures.get(measure)


def task_line(row: TaskRow, number: int, session: int, systems: Sequence[str], body: str) -> str:
    """Return a task as a line that opens onto its body. `systems` are the left and the right one."""
    values = [value_of(row, system) for system in systems]
    figures = "".join(f"<b>{'-' if value is None else f'{value:.2f}'}</b>" for value in values)
    change = ""
    if len(values) == 2 and values[0] is not None and values[1] is not None:
        gap = values[1] - values[0]
        change = f"<i{_tone(gap)}>{gap:+.2f}</i>"
    data = "".join(
        f' data-{name}="{value:.4f}"' for name, value in zip("lr", values, strict=False) if value is not None
    )
    about = " · ".join([escape_text(row.session, 40), escape_text(row.query_type, 20), day(row.at)])
    head = escape_text(row.head) or "(no text)"
    where = f'id="t{number}" data-s="{session}" data-t="{int(row.at)}" data-k="{_marks(row, systems)}"'
    summary = f"<summary>{figures}{change} {head} <small>{about}</small></summary>"
    return f"<details {where}{data}>{summary}{body}</details>\n"


def task_body(row: TaskRow, systems: Sequence[str], detail: TaskDetail) -> str:
    """Return what a task opens onto."""
    parts = [f'<p class="soft">{_origin(row)}</p>']
    if row.fault:
        parts.append(f'<p class="bad">Not replayed: {escape_text(row.fault)}</p>')
    parts.append(f"<p>Right: {_paths(row.truth)}</p>")
    if row.missing:
        parts.append(f"<p>Not in the tree at its start, so not counted: {_paths(row.missing)}</p>")
    columns = [_column(row, name, row.systems[name], detail) for name in systems if name in row.systems]
    if columns:
        parts.append(f'<div class="two">{"".join(columns)}</div>')
    return f"<div>{''.join(parts)}</div>"


def _marks(row: TaskRow, systems: Sequence[str]) -> str:
    """Return what a reader may filter by: lost, won, missed, fault."""
    values = [value_of(row, system) for system in systems]
    found = []
    if len(values) == 2 and values[0] is not None and values[1] is not None and values[0] != values[1]:
        found.append("lost" if values[1] < values[0] else "won")
    last = row.systems.get(systems[-1]) if systems else None
    if last is not None and last.missed:
        found.append("missed")
    if row.fault:
        found.append("fault")
    return " ".join(found)


def _origin(row: TaskRow) -> str:
    parts = [f"task {escape_text(row.id, 60)}"]
    if row.commit:
        parts.append(f"answered by {escape_text(row.commit, 60)}")
    tree = f"on the tree of {escape_text(row.revision, 60)}"
    parts.append(tree if row.revision else "without its repository")
    return ", ".join(parts)


def _paths(paths: Sequence[str]) -> str:
    shown = ", ".join(escape_text(path) for path in paths[:_RELEVANT]) or "nothing"
    more = len(paths) - _RELEVANT
    return shown + (f" and {more:,} more" if more > 0 else "")


def _column(row: TaskRow, name: str, did: SystemRow, detail: TaskDetail) -> str:
    truth = set(row.truth)
    items = "".join(_ranked_item(path, rank, path in truth, did, detail) for rank, path in _top(did, detail))
    missed = "".join(
        f"<li>{escape_text(path)}: {escape_text(why)}{_reasons(did, path, detail)}</li>"
        for path, why in list(did.missed.items())[:_RELEVANT]
    )
    more = len(did.missed) - _RELEVANT
    missed += f"<li>and {more:,} more</li>" if more > 0 else ""
    parts = [
        f"<h3>{escape_text(name, 60)}</h3>",
        f'<p class="soft">{_measures(did)}</p>',
        f"<ol>{items}</ol>" if items else "<p>Ranked nothing.</p>",
        f"<h3>Missed</h3><ul>{missed}</ul>" if missed else "",
    ]
    return f"<section>{''.join(parts)}</section>"


def _top(did: SystemRow, detail: TaskDetail) -> Iterator[tuple[int, str]]:
    return enumerate(did.ranking[: detail.files], start=1)


def _ranked_item(path: str, rank: int, right: bool, did: SystemRow, detail: TaskDetail) -> str:
    shown = f"<b>{escape_text(path)}</b>" if right else escape_text(path)
    packed = f" <small>{escape_text(did.packed[path], 20)}</small>" if path in did.packed else ""
    return f"<li>{shown}{packed}{_reasons(did, path, detail) if rank <= detail.weighed else ''}</li>"


def _reasons(did: SystemRow, path: str, detail: TaskDetail) -> str:
    """Return why a file is where it is, and the largest parts of its score, each with a signed number."""
    sentences = "; ".join(did.reasons.get(path, ())) if detail.features else ""
    parts = by_phrase(did.contributions.get(path, {}))
    largest = list(parts.items())[: detail.features]
    shown = "".join(f"<i>{escape_text(name, 60)} {value:+.2f}</i>" for name, value in largest)
    why = f"<small>{escape_text(sentences, 400)}</small> " if sentences else ""
    return f'<span class="f">{why}{shown}</span>' if why or shown else ""


def _measures(did: SystemRow) -> str:
    return " · ".join(
        f"{label} {did.measures[name]:,.{digits}f}"
        for label, name, digits in _MEASURES
        if name in did.measures
    )


def _tone(gap: float) -> str:
    if abs(gap) < 0.005:
        return ""
    return ' class="good"' if gap > 0 else ' class="bad"'
