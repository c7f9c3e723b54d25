"""What an import of sessions would read, and what it did, as texts to read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from screens.sessions.listing import local
from workbench.text.counts import plural
from workbench.text.sanitize import visible_line

if TYPE_CHECKING:
    from workbench.entry.services.transcripts import FoundTranscripts

ARGUMENTS: Final = ("import", "sessions")
_MOST: Final = 12


def question(found: Sequence[FoundTranscripts]) -> str:
    """Return what there is, counted and dated without reading it, and what will be done."""
    lines = []
    for one in found:
        known = f", {one.known:,} read before" if one.known else ""
        lines.append(f"{one.agent}: {one.files:,} transcripts, {_size(one.bytes)}{known}")
        lines.append(f"  {_day(one.oldest)} to {_day(one.newest)}")
        if not one.certain:
            lines.append("  of all projects: those of this one are found by their content")
    lines += [
        "",
        "Each prompt becomes a task with the files read and changed for it and how it ended.",
        "Only what is new is read. Secrets are masked before anything is kept; paths of other",
        "projects stay out; nothing leaves this machine. ctrl+c cancels, what was read is kept.",
    ]
    return "\n".join(lines)


NO_TRANSCRIPTS: Final = (
    "No transcripts of this project were found where Claude Code and Codex keep them "
    "(CLAUDE_CONFIG_DIR, CODEX_HOME). Give a file or a directory that holds some: transcripts, output of "
    "`claude -p --output-format stream-json`, or what `workbench export sessions` wrote.\n\n"
    "A running agent records its sessions with `workbench episode start`; they show up here."
)
FROM: Final = (
    "A file or a directory of transcripts: of Claude Code, Codex, output of "
    "`claude -p --output-format stream-json`, or what `workbench export sessions` wrote."
)


def check_path(root: Path, text: str) -> str:
    """Return what is wrong with a path that was typed, "" if nothing is."""
    if not text.strip():
        return "a file or a directory, such as ~/old-laptop/.claude/projects"
    return "" if resolve_path(root, text).exists() else "there is no such file or directory"


def resolve_path(root: Path, text: str) -> Path:
    """Return the path that was typed; relative ones start at the project."""
    return root / Path(text.strip()).expanduser()


def headline(done: Mapping[str, Any]) -> str:
    """Return what an import did, in one line."""
    tasks, understood = done["tasks"], done["understood"]
    return (
        f"{tasks['new']:,} new, {tasks['updated']:,} updated, {tasks['unchanged']:,} known before; "
        f"{understood['share_of_lines']:.2%} of {understood['lines']:,} lines understood"
    )


def summary(done: Mapping[str, Any]) -> str:
    """Return what an import did: tasks, lines understood, what was skipped and why, one fact a line."""
    tasks, understood = done["tasks"], done["understood"]
    ends = ", ".join(f"{count:,} {name}" for name, count in done["outcomes"].items()) or "none"
    lines = [
        f"tasks        {tasks['new']:,} new, {tasks['updated']:,} brought up to date",
        f"duplicates   {tasks['unchanged']:,} known before",
        f"outcomes     {ends}",
        f"files        {done['read']:,} of {done['files']:,} read, {_size(done['bytes'])}",
        f"touched      {plural(done['edits'], 'edit')}, {plural(done['reads'], 'read')}",
        f"understood   {understood['share_of_lines']:.2%} of {understood['lines']:,} lines, "
        f"{understood['share_of_events']:.2%} of {understood['events']:,} events",
        f"masked       {_count_masked(done['masked'])}",
        f"archived     {plural(done['archive']['files'], 'file')}",
    ]
    lines += _section("skipped", done["skipped"])
    lines += _section("not understood", understood["reasons"])
    lines += _section("of other projects", done["other_projects"])
    lines += ["", *(visible_line(note) for note in done["notes"][:_MOST])] if done["notes"] else []
    return "\n".join(lines)


def _count_masked(counts: Mapping[str, int]) -> str:
    if not counts:
        return "no secrets in prompts"
    kinds = ", ".join(f"{count:,} {visible_line(kind)}" for kind, count in counts.items())
    return f"{sum(counts.values()):,} secrets in prompts: {kinds}"


def _section(title: str, counts: Mapping[str, int]) -> list[str]:
    if not counts:
        return []
    rows = [f"  {count:>6,}  {visible_line(what)}" for what, count in list(counts.items())[:_MOST]]
    rest = len(counts) - len(rows)
    return ["", title, *rows, *([f"          and {rest:,} more"] if rest else [])]


def _day(at: float) -> str:
    moment = local(at)
    return "?" if moment is None else moment.strftime("%Y-%m-%d")


def _size(count: int) -> str:
    return f"{count / 1e6:,.1f} MB" if count >= 100_000 else f"{count / 1e3:,.1f} kB"
