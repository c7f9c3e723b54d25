"""What is shown before a project was ever indexed: what would be read, counted, and one key to start."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from screens.safe_text import safe
from screens.themes import style_of
from workbench.text.sanitize import visible_line

if TYPE_CHECKING:
    from screens.jobs import Job
    from workbench.entry.services.index import FirstLook

_NAMES = 6
_FEW_NAMES = 1
_FRAME = 6  # cells of the box around its lines, at the sides as well as above and below
_LABEL = 12
_COUNT = 7
_WIDTH = 70
_BARS = 3  # the sections above, the status and the footer below
_BAR = 40
_LOCAL = "Nothing leaves this machine."
_SHARED = "What is read stays on this machine."
_TEAM = "Rules, learnings and the stash are shared with the project's team."
_STATE = "This project cannot hold its state, which goes to "


class FirstRun(VerticalScroll, can_focus=True):
    """A panel in the middle. It asks nothing itself: the keys are the section's commands."""

    DEFAULT_CSS = style_of("FirstRun")

    def __init__(self) -> None:
        super().__init__()
        self._found: tuple[str, FirstLook] | None = None
        self._progress: Content | None = None

    def compose(self) -> ComposeResult:
        """Make the box."""
        yield Static(id="first-box", markup=False)

    def on_mount(self) -> None:
        """Say what is going on until there are counts."""
        self._box.border_title = safe("Welcome to the context workbench")
        self._box.update(safe("Looking at the project …", "$text-muted"))

    def show(self, project: str, found: FirstLook) -> None:
        """Take the counts and show them."""
        self._found = (project, found)
        self.show_counts()

    def show_counts(self) -> None:
        """Show the counts again."""
        if self._found is not None:
            self._progress = None
            project, found = self._found
            room = self.size or self.screen.size - (0, _BARS)  # it has no size before it is shown
            width = min(room.width - _FRAME, _WIDTH)
            text = counts(project, found, width)
            if text.plain.count("\n") + _FRAME > room.height:
                text = counts(project, found, width, brief=True)
            self._box.update(text)

    def on_resize(self) -> None:
        """Wrap the counts again."""
        if self._progress is None:
            self.show_counts()

    @property
    def counted(self) -> bool:
        """Whether what would be read was shown."""
        return self._found is not None

    @property
    def transcripts(self) -> bool:
        """Whether there are sessions to learn from."""
        return self._found is not None and bool(self._found[1].transcripts)

    def show_progress(self, job: Job) -> None:
        """Show how far the reading is."""
        self._progress = progress_text(job.stage or job.name, job.done, job.total)
        self._box.update(Content.assemble(self._progress, "\n\n", safe(_WAIT, "$text-muted")))

    @property
    def _box(self) -> Static:
        return self.query_one("#first-box", Static)


_WAIT = "The plan opens when it is done. ctrl+c cancels; what was read is kept."


def progress_text(stage: str, done: int, total: int) -> Content:
    """Return a stage of the work with a bar where its end is known."""
    head = safe(f"{stage} …", "bold")
    if not total:
        return Content.assemble(head, f"  {done:,}" if done else "")
    filled = min(done * _BAR // total, _BAR)
    return Content.assemble(
        head,
        "\n",
        ("█" * filled, "$text-success"),
        ("·" * (_BAR - filled), "$text-muted"),
        f"  {done:,} of {total:,}",
    )


def counts(project: str, found: FirstLook, width: int = _WIDTH, *, brief: bool = False) -> Content:
    """Return what a first index would read, and the keys, on lines of a width; a brief one is that alone."""
    gap = [] if brief else [Content("")]
    names = _FEW_NAMES if brief else _NAMES
    purpose = f"It decides what a coding agent should read for a task in {project}."
    lines = [
        *([] if brief else _wrap_lines(purpose, width)),
        *gap,
        safe("To know this project it reads:", "$text-muted"),
        *(_row(label, count, note, width) for label, count, note in facts(found, names)),
        *gap,
        Content.assemble(
            ("● ", "$text-success"),
            safe(_SHARED if found.shared else _LOCAL),
            safe("" if found.state else " State: .workbench/", "$text-muted"),
        ),
        *(
            safe(line, "$text-muted")
            for text in (_TEAM if found.shared else "", _STATE + found.state if found.state else "")
            for line in wrap(visible_line(text), max(width, 12))
        ),
        *gap,
        _key("enter", "index this project and go"),
    ]
    if found.transcripts:
        lines.append(_key("f7", "index, and learn from the sessions too"))
    lines.append(_key("ctrl+g", "then a digit: a screen; ctrl+p commands"))
    return Content("\n").join(lines)


def facts(found: FirstLook, names: int = _NAMES) -> list[tuple[str, str, str]]:
    """Return what there is as (what, how much, more about it)."""
    rules = ", ".join(found.rule_files[:names])
    if len(found.rule_files) > names:
        rules += f" and {len(found.rule_files) - names} more"
    older = f"; {found.older:,} older left out" if found.older else ""
    rows = [
        ("files", f"{found.files:,}", f"{found.skipped:,} left out" if found.skipped else ""),
        ("rule files", f"{len(found.rule_files):,}", rules or "none yet"),
        (
            "commits",
            "–" if found.commits is None else f"{found.commits:,}",
            "not a git repository" if found.commits is None else f"past tasks that plans learn from{older}",
        ),
    ]
    for agent, count, certain in found.transcripts:
        rows.append((agent, f"{count:,}", "sessions here" if certain else "sessions of all projects"))
    if not found.transcripts:
        rows.append(("sessions", "0", "no transcripts of coding agents found"))
    return rows


def _row(label: str, count: str, note: str, width: int) -> Content:
    """Return a count; what it says more is wrapped beside it."""
    left = 2 + _LABEL + _COUNT + 2
    first, *rest = wrap(visible_line(note), max(width - left, 12)) or [""]
    head = Content.assemble(
        "  ",
        (f"{label:<{_LABEL}}", "$text-muted"),
        (f"{count:>{_COUNT}}", "bold"),
        "  ",
        safe(first, "$text-muted"),
    )
    return Content("\n").join(
        [head, *(Content.assemble(" " * left, safe(one, "$text-muted")) for one in rest)]
    )


def _wrap_lines(text: str, width: int) -> list[Content]:
    return [safe(line) for line in wrap(visible_line(text), max(width, 12))]


def _key(key: str, what: str) -> Content:
    return Content.assemble("  ", (f"{key:<7}", "bold $text-accent"), safe(what))
