"""A replay as one HTML file that needs nothing else: figures, gates, sessions, and every task to look into.

No network, no framework, readable without JavaScript; its content security policy lets nothing run or load
but its own style and script. Bounded in size: of many tasks less is shown each, and the page notes it.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from workbench.records.replay import LESS_IS_BETTER, ReplayRun, SystemScore, TaskRow
from workbench.replay.gates import Gate, GateState
from workbench.replay.html_tasks import DETAILS, TaskDetail, escape_text, task_body, task_line, value_of
from workbench.replay.run_report import SIGNIFICANT, counterpart
from workbench.text.counts import plural

MAX_BYTES: Final = 5_000_000
"""Of a page, whatever is in it."""

_MARGIN = 10_000  # bytes for what frames the tasks
_SESSIONS = 500
_NOTES = 50
_HERE = Path(__file__)

_COLUMNS = (
    ("P@10", "precision_at_10", 3),
    ("R@1", "recall_at_1", 3),
    ("R@3", "recall_at_3", 3),
    ("R@5", "recall_at_5", 3),
    ("R@10", "recall_at_10", 3),
    ("MRR", "mrr", 3),
    ("nDCG@10", "ndcg_at_10", 3),
    ("packed recall", "packed_recall", 3),
    ("lines", "line_coverage", 3),
    ("first pass", "first_pass_success", 3),
    ("tokens", "context_tokens_median", 0),
    ("affinity hits", "affinity_hit_rate", 2),
    ("reranked", "rerank_invocation_rate", 2),
    ("fell back", "fallback_rate", 2),
    ("cached", "cache_hit_ratio", 2),
    ("p50 ms", "latency_p50_ms", 1),
    ("p95 ms", "latency_p95_ms", 1),
)

_FORM = """<form id="filter" hidden>
<input type="search" name="words" placeholder="words of a task, path or reason" aria-label="Search">
<select name="marks" aria-label="Which tasks"><option value="">all tasks</option>
<option value="lost">ranked worse than the left</option><option value="won">ranked better</option>
<option value="missed">something was missed</option><option value="fault">not replayed</option></select>
<select name="order" aria-label="Order"><option value="replayed">as replayed</option>
<option value="loss">largest loss first</option><option value="gain">largest gain first</option>
<option value="low">worst first</option><option value="high">best first</option>
<option value="newest">newest first</option></select>
<select name="session" aria-label="Session"><option value="">all sessions</option></select>
<button type="reset">Reset</button></form>
"""


def report_html(run: ReplayRun, gates: Sequence[Gate] = ()) -> bytes:
    """Return the page, in UTF-8."""
    style = _HERE.with_name("report.css").read_text(encoding="utf-8")
    script = _HERE.with_name("report.js").read_text(encoding="utf-8")
    policy = (
        f"default-src 'none'; style-src '{_fingerprint(style)}'; script-src '{_fingerprint(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    systems = [
        name for name in (run.baseline, counterpart(run)) if any(one.system == name for one in run.systems)
    ]
    numbers = {name: place for place, name in enumerate(dict.fromkeys(row.session for row in run.rows))}
    before = [
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>Replay of {escape_text(run.project, 80)}</title>\n<style>{style}</style></head>\n<body>\n",
        _header(run),
        "<main>\n",
        _scores(run),
        _gates(gates),
        _sessions(run, systems, numbers),
    ]
    after = f"</main>\n<script>{script}</script></body></html>\n"
    room = MAX_BYTES - _MARGIN - sum(map(_size, (*before, after)))
    return "".join([*before, _tasks(run, systems, numbers, room), after]).encode("utf-8")


def _fingerprint(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def _header(run: ReplayRun) -> str:
    settings = " · ".join(
        f"{escape_text(name, 40)} {escape_text(str(value))}" for name, value in run.settings.items()
    )
    lines = [
        f"<h1>Replay of {escape_text(run.project, 80)}</h1>",
        '<button id="theme" type="button" hidden>Dark or light</button>',
        f'<p class="soft">run {escape_text(run.id, 64)} · {escape_text(run.at, 40)} · '
        f"{escape_text(run.version, 60)}</p>",
        f'<p class="soft">{settings}</p>' if settings else "",
        "" if run.complete else '<p class="bad">Interrupted: not every task was replayed.</p>',
        f"<p>Without: {escape_text(', '.join(run.degraded))}</p>" if run.degraded else "",
        *(f"<p>{escape_text(note, 1000)}</p>" for note in run.notes[:_NOTES]),
    ]
    return f"<header>\n{chr(10).join(filter(None, lines))}\n</header>\n"


def _table(identifier: str, head: Sequence[str], rows: Sequence[str]) -> str:
    """Return a table of ready rows; heads are escaped here."""
    cells = "".join(f'<th scope="col">{escape_text(one, 60)}</th>' for one in head)
    return (
        f'<div class="wide"><table id="{identifier}"><thead><tr>{cells}</tr></thead>'
        f"<tbody>\n{''.join(rows)}</tbody></table></div>\n"
    )


def _scores(run: ReplayRun) -> str:
    if not run.systems:
        return "<h2>Systems</h2><p>None was run.</p>\n"
    columns = [one for one in _COLUMNS if any(getattr(score, one[1]) is not None for score in run.systems)]
    rows = [
        f'<tr><th scope="row">{escape_text(score.system, 60)}</th><td>{score.tasks:,}</td>'
        + "".join(_score(score, measure, digits) for _, measure, digits in columns)
        + "</tr>\n"
        for score in run.systems
    ]
    return (
        "<h2>Systems</h2>\n"
        + _table("systems", ["", "tasks", *(column[0] for column in columns)], rows)
        + '<p class="soft">Under a figure: its 95 % interval, then how far it lies above the baseline with '
        "the p of a paired test over sessions; where it has no colour, no difference is shown.</p>\n"
    )


def _score(score: SystemScore, measure: str, digits: int) -> str:
    value = getattr(score, measure)
    if value is None:
        return "<td>-</td>"
    name = measure.removesuffix("_median")
    lines = [f"{value:,.{digits}f}"]
    if name in score.intervals:
        low, high = score.intervals[name]
        lines.append(f"<small>[{low:,.{digits}f}, {high:,.{digits}f}]</small>")
    if gap := score.gaps.get(name):
        better = (gap.value > 0) != (name in LESS_IS_BETTER)
        shown = gap.p < SIGNIFICANT and gap.value
        tone = f' class="{"good" if better else "bad"}"' if shown else ""
        lines.append(f"<small{tone}>{gap.value:+,.{digits}f}, p {gap.p:.4f}</small>")
    return f"<td>{'<br>'.join(lines)}</td>"


def _gates(gates: Sequence[Gate]) -> str:
    if not gates:
        return ""
    tones = {GateState.PASSED: "good", GateState.FAILED: "bad", GateState.MISSING: "bad"}
    rows = [
        f'<tr><th scope="row">{escape_text(gate.id, 8)} {escape_text(gate.name, 40)}</th>'
        f'<td class="text">{escape_text(gate.measured)}</td><td class="text">{escape_text(gate.wanted)}</td>'
        f'<td class="{tones[gate.state]}">{escape_text(str(gate.state))}</td>'
        f'<td class="text">{escape_text(gate.reason)}</td></tr>\n'
        for gate in gates
    ]
    return "<h2>Gates</h2>\n" + _table("gates", ["", "measured", "wanted", "", "why"], rows)


def _sessions(run: ReplayRun, systems: Sequence[str], numbers: Mapping[str, int]) -> str:
    """Return a table of sessions with more than one task, empty where there is none."""
    of: dict[str, list[tuple[int, TaskRow]]] = {}
    for number, row in enumerate(run.rows):
        of.setdefault(row.session, []).append((number, row))
    several = [(name, rows) for name, rows in of.items() if len(rows) > 1]
    if not several:
        return ""
    lines = []
    for name, rows in several[:_SESSIONS]:
        cells = []
        for system in systems:
            values = [value for _, row in rows if (value := value_of(row, system)) is not None]
            cells.append(f"<td>{sum(values) / len(values):.3f}</td>" if values else "<td>-</td>")
        lines.append(
            f'<tr data-s="{numbers[name]}"><td><a href="#t{rows[0][0]}">{escape_text(name, 80)}</a></td>'
            f"<td>{len(rows):,}</td>{''.join(cells)}</tr>\n"
        )
    more = len(several) - _SESSIONS
    note = f"<p>and {more:,} more sessions</p>\n" if more > 0 else ""
    head = ["session", "tasks", *(f"{name} nDCG@10" for name in systems)]
    return f"<h2>Sessions</h2>\n{_table('sessions', head, lines)}{note}"


def _tasks(run: ReplayRun, systems: Sequence[str], numbers: Mapping[str, int], room: int) -> str:
    lines, note = _fitting(run.rows, systems, numbers, room)
    sides = " and ".join(escape_text(name, 60) for name in systems) or "nothing"
    return (
        "<h2>Tasks</h2>\n"
        f'<p class="soft">nDCG@10 of {sides}, and the difference. Right files are bold; behind a file is '
        f"how it is in the pack, under it why it is there and what adds to its score. {note}</p>\n{_FORM}"
        f'<p id="count">{plural(len(lines), "task")}</p>\n<div id="tasks">\n{"".join(lines)}</div>\n'
    )


def _fitting(
    rows: Sequence[TaskRow], systems: Sequence[str], numbers: Mapping[str, int], room: int
) -> tuple[list[str], str]:
    """Return the tasks in as much detail as `room` bytes hold, and a sentence on what is left out."""
    for place, detail in enumerate(DETAILS):
        found, left = [], room
        for number, row in enumerate(rows):
            body = task_body(row, systems, detail)
            found.append(task_line(row, number, numbers[row.session], systems, body))
            left -= _size(found[-1])
            if left < 0:
                break
        else:
            return found, _detail_note(detail) if place else ""
    return _largest_losses(rows, systems, numbers, room)


def _detail_note(detail: TaskDetail) -> str:
    return (
        f"To keep the page small, the first {detail.files} files of each task are shown"
        + (
            f", with reasons and {plural(detail.features, 'feature')} of {detail.weighed} of them"
            if detail.weighed
            else ""
        )
        + "; <code>--rows</code> and <code>--json</code> have all."
    )


def _largest_losses(
    rows: Sequence[TaskRow], systems: Sequence[str], numbers: Mapping[str, int], room: int
) -> tuple[list[str], str]:
    """Return lines in at most half the room, and rankings while there is any, the largest losses first."""
    lines: list[str] = []
    half = room // 2
    for number, row in enumerate(rows):
        line = task_line(row, number, numbers[row.session], systems, "")
        half -= _size(line)
        if half < 0:
            break
        lines.append(line)
    room -= sum(map(_size, lines))
    for number in sorted(range(len(lines)), key=lambda one: (_gain(rows[one], systems), one)):
        body = task_body(rows[number], systems, DETAILS[-1])
        room -= _size(body)
        if room < 0:
            break
        lines[number] = task_line(rows[number], number, numbers[rows[number].session], systems, body)
    note = "To keep the page small, only the tasks that lost most can be opened"
    if len(lines) < len(rows):
        note += f"; left out at the end: {plural(len(rows) - len(lines), 'task')}"
    return lines, f"{note}; <code>--rows</code> and <code>--json</code> have all."


def _gain(row: TaskRow, systems: Sequence[str]) -> float:
    values = [value_of(row, system) or 0.0 for system in systems]
    if len(values) < 2:
        return values[0] if values else 0.0
    return values[1] - values[0]


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8"))
