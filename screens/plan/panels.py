"""Beside the list: why a candidate is in or out, as words and bars, and the text of it that is packed.

A file's score is a sum over signals, shown first in words and then signal by signal. A rule's is what it has
in common with the task, its priority and its scope, a segment's its similarity, its age and how long ago it
was put aside. What scores nothing has no bars, and a reason instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from screens.commands import pane_title, widget_bindings
from screens.plan.candidates import FILES, IN, HeaderPart, PackCandidate, ShownPlan, state
from screens.plan.comparison import explain_move
from screens.safe_text import safe
from screens.themes import style_of
from screens.widgets.bars import Contribution, bar_lines, order_rows
from screens.widgets.code import CodeView
from screens.widgets.table_rows import line_strip
from workbench.plan.reasons import by_phrase
from workbench.plan.response import likelihood
from workbench.text.counts import plural

if TYPE_CHECKING:
    from workbench.records.segments import FoundSegment
    from workbench.rules.matching.match import RuleMatch

SPECIFIED: Final = {
    "f_structural_relevance": "structure",
    "f_semantic_score": "meaning",
    "f_affinity_score": "affinity",
    "f_recency_score": "recency",
    "f_risk_score": "risk",
    "f_test_proximity": "tests",
}
"""Features of the specification that are shares of the best candidate's, and what they are called here."""

_TOKENS: Final = "f_token_cost"
_TEXT: Final = 2_000


@dataclass(frozen=True, slots=True)
class BarSection:
    """Bars under a heading; `total` is their sum where they have one, `note` a line under the heading."""

    title: str
    bars: tuple[Contribution, ...] = ()
    total: float | None = None
    note: str = ""


def sections_of(candidate: PackCandidate, plan: ShownPlan) -> tuple[BarSection, ...]:
    """Return the bars of a candidate, the ones in words first."""
    if candidate.folds:
        return ()
    if candidate.kind == FILES:
        return _of_file(candidate, plan)
    if candidate.name in plan.stashed:
        return _of_segment(plan.stashed[candidate.name])
    match = plan.matches.get(candidate.name)
    if match is None:
        return ()  # it applies by its fields: nothing was compared
    return _of_rule(match)


def headline(candidate: PackCandidate, plan: ShownPlan) -> str:
    """Return in a line whether a candidate is in, how, how likely it is needed and what it is for."""
    if candidate.folds:
        return ""
    parts = [candidate.form, plural(candidate.tokens or 0, "token")] if candidate.state == IN else ["out"]
    chance = (
        plan.chances.get(candidate.name) if candidate.kind == FILES and plan.model != "baseline" else None
    )
    if candidate.pinned and candidate.state == IN:
        parts.append("counts as needed")
    elif chance is not None:
        parts.append(likelihood(chance))
    return " · ".join(part for part in (*parts, candidate.role) if part)


def why_lines(candidate: PackCandidate, plan: ShownPlan, width: int) -> list[Content]:
    """Return a candidate, how it is in or out, why, and its bars, as lines of at most `width` cells."""
    title = candidate.name if candidate.kind == FILES else candidate.title
    head = [
        Content.assemble(state(candidate), " ", safe(title, "bold", limit=_TEXT)),
        safe(headline(candidate, plan), "$text-muted"),
    ]
    if plan.comparison is not None and candidate.kind == FILES:
        head += [safe(line, limit=_TEXT) for line in explain_move(plan.comparison, candidate.name)]
    if candidate.kind != FILES and candidate.place:
        head.append(safe(f"from {candidate.place}", "$text-muted", limit=_TEXT))
    if candidate.why:
        head.append(safe(candidate.why, limit=_TEXT))
    if candidate.kind == FILES and (reasons := plan.reasons_of(candidate.name)):
        head += [safe(f"- {reason}", limit=_TEXT) for reason in reasons]
    if candidate.folds:
        head += [safe(line, limit=_TEXT) for line in candidate.text.splitlines()]
    lines = [line for one in head for line in one.wrap(width)]
    for section in sections_of(candidate, plan):
        lines += [Content(""), safe(section.title, "bold $text-muted")]
        if section.note:
            lines += safe(section.note, "$text-muted").wrap(width)
        lines += bar_lines(section.bars, width, total=section.total)
    return lines


def _of_file(candidate: PackCandidate, plan: ShownPlan) -> tuple[BarSection, ...]:
    found = plan.ranked.get(candidate.name)
    if found is None:
        return (BarSection("Score", note="No source proposed it: nothing of the task points here."),)
    sums = by_phrase(found.contributions)
    sections = [
        BarSection("What moved it", tuple(Contribution(*one) for one in sums.items()), found.score)
        if sums
        else BarSection("What moved it", note=f"Its place alone: score {found.score:.3f}.")
    ]
    specified = tuple(
        Contribution(name, found.features[feature])
        for feature, name in SPECIFIED.items()
        if feature in found.features
    )
    if specified:
        cost = found.features.get(_TOKENS)
        note = f"shares of the best; as a whole about {cost:,.0f} tokens" if cost else ""
        sections.append(BarSection("Features of the specification", specified, note=note))
    if found.contributions:
        signals = order_rows([Contribution(*one) for one in found.contributions.items()], "magnitude")
        sections.append(BarSection("Every signal", tuple(signals)))
    if found.sources:
        sections.append(BarSection("Proposed by", note=", ".join(found.sources)))
    return tuple(sections)


def _of_segment(found: FoundSegment) -> tuple[BarSection, ...]:
    ordered = (
        Contribution("similarity", found.similarity),
        Contribution("how recent", found.temporal),
        Contribution("put aside lately", found.recency),
    )
    parts = tuple(Contribution(name, value) for name, value in found.parts.items())
    note = f"{found.score:.2f}, a weighted sum; below an even similarity nothing is shown"
    sections = [BarSection("Score", ordered, note=note)]
    return (*sections, BarSection("What its similarity is made of", parts)) if parts else tuple(sections)


def _of_rule(match: RuleMatch) -> tuple[BarSection, ...]:
    shared = match.final - match.priority - match.scope
    made = (
        Contribution("in common with the task", shared),
        Contribution("its priority", match.priority),
        Contribution("its scope", match.scope),
    )
    parts = tuple(
        Contribution(name, value)
        for name, value in (("meaning", match.vector), ("words", match.bm25), ("relevance", match.relevance))
        if value is not None
    )
    terms = f"shares {', '.join(match.terms)}" if match.terms else ""
    return (BarSection("What moved it", made, match.final), BarSection("Evidence", parts, note=terms))


_MOST_TITLE = 200
_FILE_NAMES: Final = {"markdown": "pack.md", "xml": "pack.xml"}
_BETWEEN: Final = " · "


class PlanHeader(Widget):
    """One line over the list: tokens, confidence in words, what was left out, as much as fits."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: Sequence[HeaderPart] = ()

    def show(self, parts: Sequence[HeaderPart]) -> None:
        """Show other parts."""
        self._parts = parts
        self.refresh()

    def render(self) -> Content:
        """Return the parts that fit, in their order."""
        parts, width = list(self._parts), self.content_size.width
        while len(parts) > 1 and _width(parts) > width:
            parts.remove(max(reversed(parts), key=lambda one: one.rank))
        return Content(_BETWEEN).join(one.text for one in parts).truncate(width, ellipsis=True)


def _width(parts: Sequence[HeaderPart]) -> int:
    return sum(one.text.cell_length for one in parts) + len(_BETWEEN) * (len(parts) - 1)


class WhyPanel(ScrollView, can_focus=True):
    """What a candidate is, its state and reason, and its bars.

    Its lines are drawn as they come into view: other ones take no new layout of the screen, so that the
    cursor moves through candidates without a pause.
    """

    DEFAULT_CSS = style_of("WhyPanel")
    BINDINGS: ClassVar[list[BindingType]] = widget_bindings("why")

    def __init__(self) -> None:
        super().__init__()
        self._given: tuple[PackCandidate, ShownPlan] | None = None
        self._lines: list[Content] = []

    def on_mount(self) -> None:
        """Show that there is nothing yet."""
        self.border_title = pane_title("Why", "plan.why")
        self.show_none()

    def show_none(self) -> None:
        """Show no candidate."""
        self._given = None
        self._draw()

    def show(self, candidate: PackCandidate, plan: ShownPlan) -> None:
        """Explain a candidate."""
        self._given = (candidate, plan)
        self._draw()
        self.scroll_home(animate=False)

    @property
    def lines(self) -> tuple[str, ...]:
        """What is written, line for line."""
        return tuple(line.plain for line in self._lines)

    def on_resize(self) -> None:
        """Lay the lines out for another width."""
        self._draw()

    def render_line(self, y: int) -> Strip:
        """Return one line of the view."""
        width = self.scrollable_content_region.width
        place = y + self.scroll_offset.y
        content = self._lines[place] if place < len(self._lines) else Content("")
        return line_strip(content, width, self.visual_style, self.app.stylesheet.parse_style)

    def _draw(self) -> None:
        width = max(self.scrollable_content_region.width, 1)
        nothing = safe("The candidate under the cursor is explained here.", "$text-muted italic")
        self._lines = why_lines(*self._given, width) if self._given is not None else nothing.wrap(width)
        self.virtual_size = Size(width, len(self._lines))
        self.refresh()


class PreviewPanel(Vertical):
    """A text with line numbers under a title: the candidate as it is packed, its file, or the whole pack."""

    DEFAULT_CSS = style_of("PreviewPanel")

    def compose(self) -> ComposeResult:
        """Show a text."""
        yield CodeView(empty="The text that would be packed is shown here.")

    @property
    def code(self) -> CodeView:
        """The text."""
        return self.query_one(CodeView)

    def show_title(self, title: str, command: str = "plan.file") -> None:
        """Say what is shown, and the key of the command that shows something else here."""
        self.border_title = pane_title(title[:_MOST_TITLE], command)

    def show_none(self) -> None:
        """Show nothing."""
        self.show_title("Text")
        self.code.show("")

    def show_pack(self, plan: ShownPlan) -> None:
        """Show the whole pack as it is handed over."""
        used = plan.response.budget_report.estimated_used
        self.show_title(f"The whole pack · {used:,} tokens · {plan.style}", "plan.pack")
        self.code.show(plan.text, path=_FILE_NAMES.get(plan.style, ""))

    def show_packed(self, one: PackCandidate, *, as_file: bool) -> bool:
        """Show a candidate as it is packed; return whether its file is to be read and shown instead."""
        if one.kind != FILES:
            self.show_title(" · ".join(filter(None, (one.kind.capitalize(), one.place))))
            self.code.show(one.text)
            return False
        if as_file or one.state != IN or not one.text:
            self.show_title(f"File · {one.name}")
            return True
        self.show_title(f"Packed · {one.form} · {one.name}")
        self.code.show(one.text, path=one.name, numbers=one.numbers)
        return False

    def show_file(self, one: PackCandidate, text: bytes | str) -> None:
        """Show a candidate's file at the first lines that are packed."""
        self.code.show(text, path=one.name, marks=one.spans)
        if one.spans and one.form != "full":
            self.code.goto(one.spans[0][0])
