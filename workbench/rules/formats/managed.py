"""The part of a rule file that the workbench writes: rules from elsewhere, between two comments.

Each bullet at the margin is one rule exactly as it is worded, whatever an import would make of such a
sentence in prose. Headings say how binding rules are and where they come from; a line in words ("For
`src/**`:") says when they apply, in files whose format has no other way to say it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from workbench.records.dataclass import dataclass
from workbench.records.rules import Activation, Authority
from workbench.rules.formats.frontmatter import Reach
from workbench.rules.formats.markdown import BULLET_MARK, FENCE
from workbench.text.sanitize import visible, visible_line

BEGIN = "<!-- workbench:rules begin: written by `workbench rules export`, edits are found by `drift` -->"
END = "<!-- workbench:rules end -->"
TITLES = {Authority.ABSOLUTE: "## Rules that must hold", Authority.DEFAULT: "## Rules"}
GENERAL = "General"
_AUTHORITIES = {title: authority for authority, title in TITLES.items()}
_BEGIN = re.compile(r"^<!-- workbench:rules begin\b.*-->\s*$")
_END = re.compile(r"^<!-- workbench:rules end\b.*-->\s*$")
_OPENERS = {
    "For": Activation.PATHS,
    "When the task is about it": Activation.REQUESTED,
    "Only when asked for": Activation.MANUAL,
}
_BY_ACTIVATION = {activation: opener for opener, activation in _OPENERS.items()}
_GLOB = r"(?>`{2,3}(?:[^`\n]|`(?!`))*+`{2,3}(?!`)|`[^`\n]+`)"
_WORDS = re.compile(
    rf"^(?P<opener>{'|'.join(_OPENERS)})(?:(?:, for)? (?P<globs>(?:{_GLOB})(?:, (?:{_GLOB}))*))?"
    r"(?: \((?P<description>.+)\))?:$"
)
_MAX_PART = 120


@dataclass(frozen=True, slots=True)
class Stated:
    """What a managed part says about a rule beside its words; None where it says nothing."""

    authority: Authority | None = None
    reach: Reach | None = None


@dataclass(frozen=True, slots=True)
class ManagedEntry:
    """A rule of a managed part. Lines are 0-based, `end` exclusive; both 0 for one that is to be written."""

    text: str
    section: tuple[str, ...] = ()
    stated: Stated = Stated()
    start: int = 0
    end: int = 0


def managed_lines(lines: Sequence[str], start: int = 0) -> range | None:
    """Return the lines of a file, 0-based, that the workbench wrote, its two comments included, or None.

    Comments inside of fenced code don't count, nor does a beginning without an end.
    """
    first = None
    fence = ""
    for index in range(start, len(lines)) if any("workbench:rules" in line for line in lines) else ():
        line = lines[index]
        if first is None:
            match = FENCE.match(line.strip())
            if fence:
                fence = "" if line.strip().startswith(fence) and not line.strip().strip(fence[0]) else fence
            elif match and "`" not in match[2]:
                fence = match[1]
            elif _BEGIN.match(line):
                first = index
        elif _END.match(line):
            return range(first, index + 1)
    return None


def stray_marks(lines: Sequence[str]) -> list[int]:
    """Return the 0-based lines of the workbench's comments outside of the managed part."""
    part = managed_lines(lines) or range(0)
    return [i for i, line in enumerate(lines) if i not in part and (_BEGIN.match(line) or _END.match(line))]


def managed_text(text: str) -> str:
    """Return a rule's text as a managed part can hold it: control characters shown, no space at line ends."""
    lines = visible(text.replace("\r\n", "\n").replace("\r", "\n")).strip().split("\n")
    return "\n".join(line.rstrip() for line in lines)


def bullet_lines(text: str) -> list[str]:
    """Return the lines that state a rule: a bullet, its further lines indented, comment marks escaped."""
    first, *rest = _escape(managed_text(text)).split("\n")
    return [f"- {first}", *(f"  {line}" if line else "" for line in rest)]


def section_part(text: str) -> str:
    """Return a heading or introduction as a part of a managed heading: short, one line, no marks."""
    line = visible_line(text).replace("<!--", " ").replace("-->", " ")
    line = " ".join(line.replace(">", "›").split()).strip(" #:")
    return line[:_MAX_PART].rstrip(" #:")


def section_of(parts: Iterable[str]) -> tuple[str, ...]:
    """Return the parts of a managed heading for headings of another file."""
    kept = tuple(part for part in map(section_part, parts) if part)
    return () if kept == (GENERAL,) else kept


def words_for(reach: Reach) -> str:
    """Return the line that says when rules apply, '' if always."""
    if reach.activation is Activation.ALWAYS:
        return ""
    globs = ", ".join(f"``{glob}``" if "`" in glob else f"`{glob}`" for glob in reach.globs)
    opener = _BY_ACTIVATION[reach.activation]
    line = f"{opener}, for {globs}" if globs and opener != "For" else f"{opener} {globs}".rstrip()
    description = " ".join(_escape(visible_line(reach.description)).split())
    return f"{line} ({description}):" if description else f"{line}:"


def reach_in(line: str) -> Reach | None:
    """Return what a line in words says about when rules apply, or None if it is no such line."""
    match = _WORDS.match(line.rstrip())
    if match is None:
        return None
    globs = tuple(found.strip("`") for found in re.findall(_GLOB, match["globs"] or ""))
    return Reach(_OPENERS[match["opener"]], globs, _unescape(match["description"] or ""))


def read_entries(lines: Sequence[str], part: range) -> tuple[list[ManagedEntry], list[int]]:
    """Return the rules of a managed part and the lines in it that are neither rules nor the workbench's."""
    entries: list[ManagedEntry] = []
    others: list[int] = []
    authority: Authority | None = None
    section: tuple[str, ...] = ()
    reach: Reach | None = None
    index = part.start + 1
    while index < part.stop - 1:
        line = lines[index]
        mark = BULLET_MARK.match(line)
        words = reach_in(line)
        if mark:
            end = _bullet_end(lines, index, part.stop - 1)
            text = _text_of(lines[index:end], mark.end())
            entries.append(ManagedEntry(text, section, Stated(authority, reach), index, end))
            index = end
            continue
        if line.startswith("#"):
            title = line.rstrip()
            if title in _AUTHORITIES:
                authority, section = _AUTHORITIES[title], ()
            else:
                section = section_of(title.lstrip("#").split(" > "))
            reach = None
        elif words is not None:
            reach = words
        elif line.strip():
            others.append(index)
        index += 1
    return entries, others


def _bullet_end(lines: Sequence[str], start: int, stop: int) -> int:
    """Return the line after a bullet: its further lines are indented, or are right below unmarked."""
    end = index = start + 1
    while index < stop:
        line = lines[index]
        indented = line[:1] in (" ", "\t")
        if line.strip():
            lazy = index == end and not line.startswith(("#", "<!--")) and not BULLET_MARK.match(line)
            if not indented and not (lazy and reach_in(line) is None):
                break
            end = index + 1
        index += 1
    return end


def _text_of(lines: Sequence[str], margin: int) -> str:
    rest = [line[min(margin, len(line) - len(line.lstrip())) :].rstrip() for line in lines[1:]]
    return _unescape("\n".join([lines[0][margin:].rstrip(), *rest]).strip())


def render_part(entries: Iterable[ManagedEntry]) -> list[str]:
    """Return the lines of a managed part with these rules, in this order: binding ones, sections, words.

    Neighbours of one section and one reach share its heading and its line in words.
    """
    lines = [BEGIN]
    title: str | None = None
    section: tuple[str, ...] = ()
    words = ""
    bullets = False
    for entry in entries:
        heading = TITLES[entry.stated.authority or Authority.DEFAULT]
        said = words_for(entry.stated.reach) if entry.stated.reach else ""
        if heading != title:
            lines += ["", heading] if bullets else [heading]
            title, section, words, bullets = heading, (), "", False
        if entry.section != section or (words and not said):
            lines += ["", "### " + (" > ".join(entry.section) or GENERAL)]
            section, words, bullets = entry.section, "", False
        if said != words:
            lines += ["", said]
            words, bullets = said, False
        if not bullets:
            lines.append("")
        lines += bullet_lines(entry.text)
        bullets = True
    return [*lines, END]


def _escape(text: str) -> str:
    text = re.sub(r"<(\\*)!--", r"<\\\1!--", text)
    return re.sub(r"--(\\*)>", r"--\\\1>", text)


def _unescape(text: str) -> str:
    text = re.sub(r"--\\(\\*)>", r"--\1>", text)
    return re.sub(r"<\\(\\*)!--", r"<\1!--", text)
