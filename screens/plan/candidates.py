"""A plan as the section shows it: one row for everything that is in and then everything that is out.

It is made in the background by `screens.plan.presentation`; drawing asks for one row or one candidate at a
time. Each state has a glyph of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from textual.content import Content

from screens.filter_matching import Record
from screens.plan.comparison import RankingComparison, comparison_in_short
from screens.plan.query import PlanQuery
from screens.safe_text import embolden, safe
from screens.widgets.bars import Portion
from screens.widgets.table import Column
from screens.widgets.table_rows import ListRows
from workbench.lists.filters import Field, FieldKind
from workbench.plan.response import confidence_words
from workbench.project.languages import describe_role
from workbench.records.project import CacheStatus
from workbench.text.counts import plural
from workbench.text.sanitize import visible_line

if TYPE_CHECKING:
    from workbench.plan.reasons import FileReasons
    from workbench.records.answers.plan import PlanResponse
    from workbench.records.plan import RankedFile
    from workbench.records.rules import Rule
    from workbench.records.segments import FoundSegment
    from workbench.rules.matching.match import RuleMatch
    from workbench.stash.selection import ChosenSegment

IN: Final = "in"
OUT: Final = "out"
FILES: Final = "files"
LEARNINGS: Final = "learnings"
RULES: Final = "rules"
SEGMENTS: Final = "segments"
FIELDS: Final = (
    Field("name", FieldKind.TEXT),
    Field("why", FieldKind.TEXT),
    Field("kind"),
    Field("state", choices=("in", "out")),
    Field("role"),
    Field("as"),
    Field("tokens", FieldKind.NUMBER),
    Field("score", FieldKind.NUMBER),
    Field("pinned", FieldKind.YES_NO),
    Field("excluded", FieldKind.YES_NO),
)
"""What a filter may name: `kind:rules`, `role:test`, `state:out`, `as:snippets`, `tokens:>500` and so on."""


@dataclass(frozen=True, slots=True)
class PackCandidate:
    """Something that is in the pack or could have been.

    `name` is what pins and exclusions call it: a path or an id. `title` is what it is shown as, `place` where
    it comes from. `form` is how it is in the pack; `text` what it says there, its line numbers in `numbers`.
    A row that stands for all passages of a kind names it in `folds`.
    """

    kind: str
    name: str
    title: str
    place: str = ""
    state: str = IN
    form: str = ""
    tokens: int | None = None
    score: float | None = None
    why: str = ""
    pinned: bool = False
    excluded: bool = False
    text: str = ""
    numbers: tuple[int, ...] = ()
    spans: tuple[tuple[int, int], ...] = ()
    folds: str = ""

    @property
    def named(self) -> bool:
        """Whether it can be pinned and excluded."""
        return bool(self.name)

    @property
    def role(self) -> str:
        """What a file is for, empty for anything else."""
        return describe_role(self.name) if self.kind == FILES and self.name else ""

    @property
    def key(self) -> str:
        """What identifies it among all candidates."""
        return f"fold:{self.folds}" if self.folds else f"{self.kind}:{self.name}"


@dataclass(frozen=True, slots=True)
class ShownPlan:
    """A plan to be shown: its candidates, the text of the pack, and what the lines around them say.

    `learnings` {id: text}, `rules` and `segments` are those in the pack, recorded once it is handed over;
    `stashed` are all segments that were looked at, by id.
    """

    task: str
    response: PlanResponse
    candidates: tuple[PackCandidate, ...]
    text: str
    style: str
    limit: int
    portions: tuple[Portion, ...]
    ranked: Mapping[str, RankedFile]
    reasons: FileReasons | None
    matches: Mapping[str, RuleMatch]
    chances: Mapping[str, float]
    learnings: Mapping[str, str]
    model: str = ""
    gone: tuple[str, ...] = ()
    heads: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    segments: tuple[ChosenSegment, ...] = ()
    stashed: Mapping[str, FoundSegment] = field(default_factory=dict)
    comparison: RankingComparison | None = None

    def reasons_of(self, path: str) -> tuple[str, ...]:
        """Return what speaks for a file, in sentences; none where no signal ranked it."""
        found = self.ranked.get(path)
        return () if found is None or self.reasons is None else self.reasons.of(found)

    @property
    def selected(self) -> int:
        """How many candidates are in the pack."""
        return sum(one.state == IN for one in self.candidates)


def record_of(candidate: PackCandidate) -> Record:
    """Return a candidate's fields as a filter sees them."""
    return {
        "name": (candidate.title, candidate.place, candidate.name),
        "why": candidate.why,
        "kind": candidate.kind,
        "role": candidate.role,
        "state": candidate.state,
        "as": candidate.form,
        "tokens": candidate.tokens,
        "score": candidate.score,
        "pinned": candidate.pinned,
        "excluded": candidate.excluded,
    }


COLUMNS: Final = (
    Column(
        "state",
        "",
        "✓ in the pack, ◆ pinned, ! pinned without room, ✗ excluded, · out, ▸ folded.",
        1,
        priority=9,
    ),
    Column(
        "name",
        "Candidate",
        "A file with its folder, or a rule §, a learning ¶ or a segment ».",
        share=5,
        least=26,
        priority=10,
    ),
    Column(
        "form",
        "Shown as",
        "What of it is in the pack: full text, snippets, an outline or its path.",
        8,
        priority=7,
    ),
    Column("tokens", "Tokens", "What it takes of the budget.", 6, align="right", priority=8),
    Column(
        "score",
        "Score",
        "How likely it is to be needed, where that was worked out.",
        6,
        align="right",
        priority=0,
    ),
    Column("why", "Why", "What speaks most for it.", share=3, least=22, priority=1),
)
_MOST_TITLE: Final = 300
_FEWEST_FOLDED: Final = 2
_CLOSED: Final = "enter opens"
_KINDS: Final = {RULES: "§", LEARNINGS: "¶", SEGMENTS: "»", FILES: ""}


def list_rows(
    candidates: Sequence[PackCandidate], order: Sequence[int] | None = None
) -> ListRows[PackCandidate]:
    """Return candidates as rows, all of them or those at some places."""
    return ListRows(candidates, key=lambda one: one.key, cells=cells, order=order)


def _group(one: PackCandidate) -> int:
    """Return where a candidate is listed: packed files, passages, files only named, what is out."""
    if one.kind != FILES:
        return 1
    return 3 if one.state == OUT else 2 if one.form == "path" else 0


def listing_order(candidates: Sequence[PackCandidate], places: Iterable[int]) -> list[int]:
    """Return places of candidates in the order of the whole list, files first, without anything folded."""
    return sorted(places, key=lambda place: (_group(candidates[place]), place))


def fold_passages(plan: ShownPlan, opened: Collection[str]) -> list[PackCandidate]:
    """Return the rows of a plan: files first, and the passages of a kind in one row unless it is opened.

    What is pinned or excluded has a row of its own always. Files that are only named come after the passages,
    what is out last.
    """
    tokens = {portion.kind: portion.tokens for portion in plan.portions}
    files = [one for one in plan.candidates if one.kind == FILES]
    kinds = dict.fromkeys(one.kind for one in plan.candidates if one.kind != FILES)
    rows = [one for one in files if _group(one) == 0]
    for kind in kinds:
        of_kind = [one for one in plan.candidates if one.kind == kind]
        plain = [one for one in of_kind if not (one.pinned or one.excluded)]
        rows += [one for one in of_kind if one.pinned or one.excluded]
        if len(plain) < _FEWEST_FOLDED:
            rows += plain
            continue
        rows.append(_fold(kind, plain, tokens.get(kind, 0), opened=kind in opened))
        rows += plain if kind in opened else []
    return [*rows, *(one for one in files if _group(one) == 2), *(one for one in files if _group(one) == 3)]


def _fold(kind: str, folded: Sequence[PackCandidate], tokens: int, *, opened: bool) -> PackCandidate:
    inside = [one for one in folded if one.state == IN]
    out = len(folded) - len(inside)
    return PackCandidate(
        kind=kind,
        name="",
        title=" · ".join(
            part
            for part in (
                plural(len(inside), kind.removesuffix("s")) if inside else f"no {kind.removesuffix('s')}",
                plural(tokens, "token") if inside else "",
                f"{out:,} left out" if out else "",
            )
            if part
        ),
        tokens=tokens if inside else None,
        why="enter closes" if opened else _CLOSED,
        text="\n".join(f"{'✓' if one.state == IN else '·'} {one.title}" for one in folded),
        folds=kind,
    )


def cells(one: PackCandidate) -> tuple[Content, ...]:
    """Return state, name, form, tokens, score and reason."""
    inside = one.state == IN
    tone = "" if inside else "$text-muted"
    form = one.form if inside else "out"  # a row that folds has neither form nor score
    return (
        state(one),
        name(one),
        safe(form, tone),
        safe("" if one.tokens is None else f"{one.tokens:,}", tone),
        safe("" if one.score is None else f"{one.score:.2f}", "$text-muted"),
        safe(one.why, "$text-muted", limit=_MOST_TITLE),
    )


def state(one: PackCandidate) -> Content:
    """Return the glyph of a candidate's state: in, pinned, pinned without room, excluded, out, folded."""
    if one.folds:
        return Content.styled("▸" if one.why == _CLOSED else "▾", "bold $text-primary")
    if one.excluded:
        return Content.styled("✗", "bold $text-error")
    if one.pinned:
        return Content.styled("◆" if one.state == IN else "!", "bold $text-warning")
    return Content.styled("✓", "$text-success") if one.state == IN else Content.styled("·", "$text-muted")


def name(one: PackCandidate) -> Content:
    """Return what a candidate is called, a file by its name first and its folder after."""
    tone = "" if one.state == IN else "$text-muted"
    title = safe(one.title, tone, limit=_MOST_TITLE)
    title = title if one.kind == FILES else embolden(title)
    mark = _KINDS.get(one.kind, "¶")
    head = Content.styled(f"{mark} ", "bold $text-primary") if mark else Content("")
    if one.kind != FILES or not one.place:
        return Content.assemble(head, title)
    return Content.assemble(title, "  ", safe(one.place, "$text-muted", limit=_MOST_TITLE))


_CACHE: Final = {
    CacheStatus.HIT: "index up to date",
    CacheStatus.PARTIAL: "brought up to date",
    CacheStatus.MISS: "indexed again",
}
_MOST_NAMES: Final = 3


def plan_status(plan: ShownPlan) -> str:
    """Return what the status line says of a plan: what it holds, its age, its time, what was missing."""
    response = plan.response
    count = f"{plan.selected:,} in, {len(plan.candidates) - plan.selected:,} out"
    without = [f"! without {', '.join(response.degraded)}"] if response.degraded else []
    parts = [count, *without, *state_of(response), f"{milliseconds(response):,.0f} ms"]
    if plan.gone:
        names = ", ".join(map(visible_line, plan.gone[:_MOST_NAMES]))
        more = f" and {len(plan.gone) - _MOST_NAMES}" if len(plan.gone) > _MOST_NAMES else ""
        parts.append(f"! overrides of what is gone were dropped: {names}{more}")
    return " · ".join(parts)


def state_of(response: PlanResponse) -> list[str]:
    """Return freshness and cache in words."""
    return [response.freshness, _CACHE[response.cache_status]]


def milliseconds(response: PlanResponse) -> float:
    """Return how long a plan took."""
    return response.timing.get("total", 0.0)


@dataclass(frozen=True, slots=True)
class HeaderPart:
    """A part of the line over the list. Where not all fit, those of the highest `rank` are left out."""

    text: Content
    rank: int


def header_parts(asked: PlanQuery, plan: ShownPlan | None, limit: int, *, strict: bool) -> list[HeaderPart]:
    """Return tokens, what was chosen for this plan, its confidence, what it leaves out, the kind of task."""
    used = 0 if plan is None else plan.response.budget_report.estimated_used
    over = plan is not None and used > plan.limit
    numbers = f"{used:,} of {limit if plan is None else plan.limit:,} tokens"
    chosen = [
        (asked.baseline, "baseline"),
        (strict, "strict"),
        (bool(asked.query_type), asked.query_type),
        (bool(asked.pinned), f"◆ {len(asked.pinned)} pinned"),
        (bool(asked.excluded), f"✗ {len(asked.excluded)} excluded"),
    ]
    parts = [HeaderPart(safe(numbers, "bold reverse $text-error" if over else "bold"), 0)]
    parts += [HeaderPart(safe(text, "bold $text-warning"), 1) for is_so, text in chosen if is_so]
    if plan is None:
        return parts
    if plan.comparison is not None:
        parts.append(HeaderPart(safe(comparison_in_short(plan.comparison), "bold"), 0))
    if words := confidence_in_short(plan.response):
        parts.append(HeaderPart(safe(words), 2))
    if out := len(plan.candidates) - plan.selected:
        parts.append(HeaderPart(safe(f"{out:,} left out", "$text-muted"), 3))
    intent = plan.response.intent
    if not asked.query_type and intent.confidence:
        kind = safe(f"{intent.predicted} {intent.confidence:.0%}", "$text-muted")
        parts.append(HeaderPart(kind, 4))
    return parts


def confidence_in_short(response: PlanResponse) -> str:
    """Return how sure a plan is, in a few words, "" where that is not known."""
    if not response.known:
        return "nothing here matches"
    if response.low_confidence:
        return "! unsure: say more, or search further"
    found = response.confidence
    if found is None or found.pack is None:
        return ""
    return confidence_words(found.pack)
