"""Turns what was chosen into text: for an agent (text, markdown, xml), and for a person the reasons under it.

Everything from files is data. It is inside a fence no content can close, an indented block or a CDATA
section, with control and hidden characters shown (`workbench.text.sanitize`); names and reasons are kept on
one line. BriefLine ranges are in the heading, `path:12-40,55-60`; inside, `⋮ 55` marks where the next begins.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from workbench.records.answers.plan import NamedPlace
from workbench.records.dataclass import dataclass
from workbench.records.plan import Representation
from workbench.text.sanitize import FRAME, QUOTED, visible, visible_line
from workbench.text.tokens import TokenCounter

Span = tuple[int, int]
GAP = "\u22ee"  # ⋮
_SHOWN_MASKS = 6
_NAMED_ALIKE = 2
RULES = "Rules"
LEARNINGS = "Learnings"
SEGMENTS = "Segments"
NOTES = {LEARNINGS: FRAME, SEGMENTS: QUOTED}
"""The note under a section's heading."""
HEADINGS = {RULES: "Must hold"}
ALSO = "May be needed, too"
TOGETHER = "Usually changes too"
USES = "Used by"
CALLS = "Calls, in its file"
MODELS = "The model to follow"
STATE = "State"
LOADED = "Must hold, and is loaded"
LISTS = {
    TOGETHER: "changes_too",
    ALSO: "also",
    USES: "used_by",
    CALLS: "calls",
    MODELS: "model",
    STATE: "state",
    LOADED: "loaded",
}
"""The headings that are followed by single lines, in their order, and their tags in XML."""


@dataclass(frozen=True, slots=True)
class Passage:
    """Text in a pack that is not a file: a rule, a learning, a stashed segment.

    `section` is the heading it is under, `origin` where it comes from (`CLAUDE.md:12`). `mandatory`
    passages are placed before anything else but `pinned` ones; `utility` is what the others compete with.
    The text of a `block` is under its label, on lines of its own.
    """

    id: str
    section: str
    text: str
    origin: str = ""
    authority: str = "default"
    why: str = ""
    score: float = 0.0
    utility: float = 0.0
    priority: int = 0
    mandatory: bool = False
    pinned: bool = False
    block: bool = False


@dataclass(frozen=True, slots=True)
class FileView:
    """One way to show a file. `spans` are 1-based inclusive line ranges, in order, without overlap.

    `lines` are safe to show (`safe_lines`) and hold the spans one after the other; an outline's lines are
    `(line number) signature` and its spans are empty. `marks` name the definition that each span begins
    inside of, empty where it begins one; `masked` are (line, kind) of the credentials that these lines are
    without. `places` are where to look in the file besides what is shown, the likeliest first. `together`
    says of a path why it changes with the files shown, and `alike` are files that are like it.
    """

    path: str
    representation: Representation
    spans: tuple[Span, ...] = ()
    lines: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    masked: tuple[tuple[int, str], ...] = ()
    places: tuple[NamedPlace, ...] = ()
    together: str = ""
    alike: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BriefLine:
    """A line of a pack that is neither a file nor a passage, such as where a definition is used.

    `section` is one of LISTS, `subject` what it is about: a definition, a past task or a file. `text` may
    hold anything and is kept on one line; what is `shorter` is there where it has no room.
    """

    section: str
    subject: str
    text: str
    shorter: str = ""


@dataclass(frozen=True, slots=True)
class Style:
    """How a pack is written. Each function returns text that ends with a line feed."""

    name: str
    section: Callable[[str, Sequence[Passage]], str]
    file: Callable[[FileView], str]
    head: Callable[[str], str]
    listed: Callable[[str, Sequence[str]], str]
    opening: str = ""
    closing: str = ""

    def cost(self, view: FileView, counter: TokenCounter) -> int:
        """Return the tokens of a view in the text, what it names of other places among them."""
        if view.representation is Representation.PATH:
            return counter.count(self.listed(ALSO, [name_line(view)])) - counter.count(self.listed(ALSO, []))
        return counter.count(self.file(view))


def render_pack(
    style: Style,
    passages: Sequence[Passage],
    views: Sequence[FileView],
    head: str = "",
    lines: Sequence[BriefLine] = (),
) -> str:
    """Return the pack as text: what it is, files, those only named, single lines, passages by section."""
    named = [view for view in views if view.representation is Representation.PATH]
    shown = [view for view in views if view.representation is not Representation.PATH]
    listed: dict[str, list[str]] = {title: [] for title in LISTS}
    for view in named:
        listed[TOGETHER if view.together else ALSO].append(name_line(view))
    for line in lines:
        listed[line.section].append(visible_line(line.text))
    parts = [style.file(view) for view in shown]
    parts.extend(style.listed(title, found) for title, found in listed.items() if found)
    parts.extend(
        style.section(section, list(group)) for section, group in groupby(passages, lambda one: one.section)
    )
    body = "".join(parts)
    return style.opening + (style.head(head) if head else "") + body + style.closing if body or head else ""


def span_text(spans: Sequence[Span]) -> str:
    """Return line ranges as text: `12-40,55`."""
    return ",".join(str(start) if start == end else f"{start}-{end}" for start, end in spans)


def heading(view: FileView) -> str:
    """Return the one-line name of a view: `src/auth.rs:12-40,55-60`, `src/auth.rs (outline)`.

    It says which lines are not as the file has them, for whoever edits by what a pack shows.
    """
    path = visible_line(view.path)
    if view.representation is Representation.OUTLINE:
        path = f"{path} (outline)"
    if view.representation is Representation.SNIPPETS:
        path = f"{path}:{span_text(view.spans)}"
    return f"{path} (credentials masked: {masked_text(view.masked)})" if view.masked else path


def masked_text(masked: Sequence[tuple[int, str]]) -> str:
    """Return which lines a credential is masked in: `line 14 github-token, line 20 password, and 3 more`."""
    shown = [f"line {line} {kind}" for line, kind in masked[:_SHOWN_MASKS]]
    rest = len(masked) - len(shown)
    return ", ".join([*shown, f"and {rest} more"] if rest else shown)


def content(view: FileView) -> list[str]:
    """Return the lines of a view with the marks between its ranges, and where else to look below them."""
    lines = _marked_lines(view)
    return [*lines, f"{GAP} also {places_text(view.places)}"] if view.places else lines


def places_text(places: Sequence[NamedPlace]) -> str:
    """Return places as text, those of one definition together: `Table.data 840-879,564-590, Row 62-71`."""
    ranges: dict[str, list[Span]] = {}
    for place in places:
        ranges.setdefault(place.name, []).append((place.start, place.end))
    return ", ".join(f"{visible_line(name)} {span_text(spans)}" for name, spans in ranges.items())


def _marked_lines(view: FileView) -> list[str]:
    marks = view.marks or ("",) * len(view.spans)
    if len(view.spans) < 2 and not any(marks):
        return list(view.lines)
    lines: list[str] = []
    position = 0
    for number, ((start, end), mark) in enumerate(zip(view.spans, marks, strict=True)):
        if number or mark:
            lines.append(f"{GAP} {start} in {mark}" if mark else f"{GAP} {start}")
        size = end - start + 1
        lines.extend(view.lines[position : position + size])
        position += size
    return lines


_TICKS = re.compile("`{3,}")


def fence_for(lines: Iterable[str]) -> str:
    """Return a fence of backticks longer than any run in the lines."""
    longest = max((len(run) for line in lines if "```" in line for run in _TICKS.findall(line)), default=2)
    return "`" * (longest + 1)


def _passage_lines(passage: Passage) -> tuple[str, list[str]]:
    """Return (label, lines) of a passage: its authority and origin, its text."""
    label = ", ".join(
        part
        for part in ("absolute" if passage.authority == "absolute" else "", visible_line(passage.origin))
        if part
    )
    return label, visible(passage.text.strip("\n")).split("\n")


def _item_list(passages: Sequence[Passage], bullet: str, *, fenced: bool = False) -> str:
    """Return passages as list items, blocks in a fence where there are any.

    Every line after the first is indented, so none can leave its item.
    """
    out = []
    for passage in passages:
        label, (first, *rest) = _passage_lines(passage)
        if passage.block:
            fence = [fence_for([first, *rest])] if fenced else []
            out.append(f"{bullet} ({label})")
            rest = [*fence, first, *rest, *fence]
        else:
            out.append(f"{bullet} {first}" if not label else f"{bullet} ({label}) {first}")
        out.extend(f"{' ' * (len(bullet) + 1)}{line}" if line.strip() else "" for line in rest)
    return "\n".join(out) + "\n"


def _markdown_section(section: str, passages: Sequence[Passage]) -> str:
    note = f"{NOTES[section]}\n\n" if section in NOTES else ""
    title = visible_line(HEADINGS.get(section, section))
    return f"## {title}\n{note}{_item_list(passages, '-', fenced=True)}"


def _markdown_file(view: FileView) -> str:
    lines = content(view)
    fence = fence_for(lines)
    return "\n".join([f"### {heading(view)}", fence, *lines, fence]) + "\n"


def name_line(view: FileView) -> str:
    """Return a file that is only named, where in it to look, why it changes with others, what is like it."""
    path = visible_line(view.path)
    where = f"{path}: {places_text(view.places)}" if view.places else path
    why = f" ({visible_line(view.together)})" if view.together else ""
    return f"{where}{why}; {family_text(view.alike)}" if view.alike else f"{where}{why}"


def family_text(paths: Sequence[str]) -> str:
    """Return the files that are like one, as `and 7 like it: examples/aliases/setup.py, …`; '' for none."""
    if not paths:
        return ""
    rest = f", {len(paths) - _NAMED_ALIKE} more" if len(paths) > _NAMED_ALIKE else ""
    return f"and {len(paths)} like it: {', '.join(map(visible_line, paths[:_NAMED_ALIKE]))}{rest}"


def _markdown_list(title: str, lines: Sequence[str]) -> str:
    return f"### {title}\n" + "".join(f"- {line}\n" for line in lines)


def _text_section(section: str, passages: Sequence[Passage]) -> str:
    note = f"  {NOTES[section]}\n" if section in NOTES else ""
    return f"{visible_line(HEADINGS.get(section, section))}:\n{note}" + "".join(
        f"  {line}\n" if line else "\n" for line in _item_list(passages, "*").removesuffix("\n").split("\n")
    )


def _text_file(view: FileView) -> str:
    return f"{heading(view)}\n" + "".join(f"  {line}\n" if line else "\n" for line in content(view))


def _text_list(title: str, lines: Sequence[str]) -> str:
    return f"{title}:\n" + "".join(f"  {line}\n" for line in lines)


def _xml_section(section: str, passages: Sequence[Passage]) -> str:
    from xml.sax.saxutils import escape, quoteattr  # it imports a web client

    tag = re.sub(r"[^a-z]+", "_", section.lower()).strip("_") or "passages"
    note = f" note={quoteattr(NOTES[section])}" if section in NOTES else ""
    out = [f"<{tag}{note}>\n"]
    for passage in passages:
        attributes = f" from={quoteattr(visible_line(passage.origin))}" if passage.origin else ""
        if passage.authority == "absolute":
            attributes += ' authority="absolute"'
        out.append(f"<item{attributes}>{escape(visible(passage.text.strip()))}</item>\n")
    return "".join(out) + f"</{tag}>\n"


def _xml_file(view: FileView) -> str:
    from xml.sax.saxutils import quoteattr

    tag = "outline" if view.representation is Representation.OUTLINE else "file"
    lines = (
        f" lines={quoteattr(span_text(view.spans))}" if view.representation is Representation.SNIPPETS else ""
    )
    lines += f" masked={quoteattr(masked_text(view.masked))}" if view.masked else ""
    body = "\n".join(content(view)).replace("]]>", "]]]]><![CDATA[>")
    return f"<{tag} path={quoteattr(visible_line(view.path))}{lines}><![CDATA[\n{body}\n]]></{tag}>\n"


def _xml_list(title: str, lines: Sequence[str]) -> str:
    from xml.sax.saxutils import escape

    tag = LISTS[title]
    return f"<{tag}>\n" + "".join(f"{escape(line)}\n" for line in lines) + f"</{tag}>\n"


def _xml_head(head: str) -> str:
    from xml.sax.saxutils import escape

    return f"<about>{escape(visible_line(head))}</about>\n"


MARKDOWN = Style(
    "markdown", _markdown_section, _markdown_file, lambda head: f"{visible_line(head)}\n\n", _markdown_list
)
TEXT = Style("text", _text_section, _text_file, lambda head: f"{visible_line(head)}\n", _text_list)
XML = Style("xml", _xml_section, _xml_file, _xml_head, _xml_list, "<context>\n", "</context>\n")
STYLES = {style.name: style for style in (TEXT, MARKDOWN, XML)}
DEFAULT_STYLE = "text"
"""The style of a plan that names none, of replays, and of the setting `plan.format` as it comes."""
