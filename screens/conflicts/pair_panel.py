"""The pair that is decided: its headline, both texts with the differing words marked, the evidence below."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from screens.commands import key_of, pane_title
from screens.conflicts.pair import PairType, RecordPair
from screens.conflicts.queue import PairState, QueuedPair
from screens.safe_text import safe, shown_lines
from screens.widgets.diff import ReadingPane, WordDiff
from workbench.records.conflicts import Action, ConflictKind

KINDS: Final[dict[ConflictKind, tuple[str, str]]] = {
    ConflictKind.CONCURRENT: ("⇄", "bold $text-error"),
    ConflictKind.CONTRADICTORY: ("≠", "bold $text-error"),
    ConflictKind.SUBSUMED: ("⊂", "$text-warning"),
    ConflictKind.NEAR: ("≈", "$text-warning"),
    ConflictKind.EXACT: ("=", "$text-success"),
}
"""The glyph of each kind and its style."""

STATES: Final[Mapping[PairState, tuple[str, str]]] = {
    PairState.OPEN: (" ", ""),
    PairState.LATER: ("»", "$text-muted"),
    PairState.CHANGED: ("!", "bold $text-warning"),
    PairState.ELSEWHERE: ("✓", "$text-success"),
    PairState.GONE: ("–", "$text-muted"),
}
"""The glyph of each state and its style."""

_TESTS: Final[Mapping[str, str]] = {
    "text": "same text",
    "words": "shared words",
    "meaning": "same meaning",
    "negation": "one denies",
    "choice": "other choice",
    "antonym": "opposites",
    "alternative": "alternatives",
    "number": "numbers",
    "path": "paths",
    "order": "order",
}

_KEYS: Final[Mapping[Action, str]] = {
    Action.KEEP_LEFT: key_of("conflicts.keep-left"),
    Action.KEEP_RIGHT: key_of("conflicts.keep-right"),
    Action.KEEP_BOTH: key_of("conflicts.keep-both"),
    Action.MERGE: key_of("merge"),
    Action.NARROW_SCOPE: key_of("conflicts.narrow"),
    Action.SUPERSEDE: key_of("conflicts.supersede"),
}

_LABEL: Final = 13
_FACT: Final = 300  # characters of a value


def pair_headline(item: QueuedPair, progress: tuple[int, int], place: tuple[int, int]) -> Content:
    """Return what a pair is, where in the list, and how much is settled, on one line."""
    pair = item.pair
    glyph, style = KINDS[pair.kind]
    done, total = progress
    parts = [
        Content.assemble((f"{glyph} {pair.kind.value}", style), (f" {pair.score:.2f}", "bold")),
        Content(f"{pair.of.value} pair {place[0]:,} of {place[1]:,}"),
        Content.styled(f"{done:,} of {total:,} settled", "$text-muted"),
    ]
    return Content("  ").join(parts)


def pair_evidence(item: QueuedPair) -> Content:
    """Return why two sides are a pair, what is suggested, and what else speaks for each."""
    pair = item.pair
    concurrent = pair.kind is ConflictKind.CONCURRENT
    lines = [*_state(item), safe(pair.why, "bold")]
    lines += [
        Content.assemble(
            safe(f"{_TESTS.get(one.test, one.test):<{_LABEL}}", "$text-accent", limit=_LABEL),
            Content("" if concurrent else f"{one.score:4.2f}  "),
            safe("" if one.detail in pair.why else one.detail, limit=_FACT),
        )
        for one in pair.evidence
    ]
    lines += [Content(""), _advice(pair)]
    lines += [_other_ways(pair)] if pair.of_versions else [Content(""), *_facts(pair)]
    return Content("\n").join(lines)


def _other_ways(pair: RecordPair) -> Content:
    """Return what else can be done with two versions of one record."""
    left, right, merge = (_KEYS[one] for one in (Action.KEEP_LEFT, Action.KEEP_RIGHT, Action.MERGE))
    ways = f"{right} takes the right version, {merge} writes a third; one record cannot be both."
    if pair.of is PairType.SEGMENT:
        both = f", {merge} what both changed" if Action.MERGE in pair.actions else ""
        ways = f"{left} keeps the version in force, {right} the other one{both}."
    return Content.assemble(safe(f"{'or':<{_LABEL}}", "$text-accent"), safe(ways))


def _state(item: QueuedPair) -> list[Content]:
    if not item.reason:
        return []
    glyph, style = STATES[item.state]
    sign = "!" if item.state is PairState.OPEN else glyph
    return [safe(f"{sign} {item.reason}", style or "bold $text-error")]


def _advice(pair: RecordPair) -> Content:
    suggestion = pair.suggestion
    key = _KEYS[suggestion.action]
    return Content.assemble(
        safe(f"{'suggested':<{_LABEL}}", "$text-accent"),
        Content.styled(f"{suggestion.action.value.replace('_', ' ')} ", "bold"),
        Content.styled(f"(a or {key})  ", "$text-muted"),
        safe(suggestion.why, limit=_FACT),
    )


def _facts(pair: RecordPair) -> list[Content]:
    """Return the facts that differ with both values, and those that are the same in one line."""
    left, right = dict(pair.left.facts), dict(pair.right.facts)
    names = list(dict.fromkeys([*left, *right]))
    different = [name for name in names if left.get(name) != right.get(name)]
    lines = [_origin(pair)]
    lines += [
        Content.assemble(
            safe(f"{name:<{_LABEL}}", "$text-muted", limit=_LABEL),
            safe(left.get(name, "–"), "bold", limit=_FACT),
            Content.styled(" │ ", "$text-muted"),
            safe(right.get(name, "–"), "bold", limit=_FACT),
        )
        for name in different
    ]
    same = " · ".join(f"{name} {left[name]}" for name in names if name not in different)
    if same:
        lines.append(safe(f"{'both':<{_LABEL}}{same}", "$text-muted", limit=2 * _FACT))
    return lines


def _origin(pair: RecordPair) -> Content:
    return Content.assemble(
        safe(f"{'from':<{_LABEL}}", "$text-muted"),
        safe(pair.left.where, "bold", limit=_FACT),
        Content.styled(" │ ", "$text-muted"),
        safe(pair.right.where, "bold", limit=_FACT),
        Content.styled("  (<, > open it)", "$text-muted"),
    )


def empty_queue(count: int, settled: int) -> Content:
    """Return what an empty queue says: what it would show, and what to press."""
    done = f" {settled:,} settled in this sitting; u takes the last one back." if settled else ""
    found = [
        ("contradictory", "both cannot be followed: denials, numbers, tools"),
        ("subsumed", "one says all that the other one says, and more"),
        ("near", "the same in other words"),
        ("exact", "the same text twice, such as in two agents' files"),
    ]
    among = f"No conflicts among {count:,} {'rule' if count == 1 else 'rules'}.{done}"
    none = "There are no rules yet: 2 goes to Rules, which says where they come from."
    lines = [safe(among if count else none, "bold")]
    lines += [
        Content(""),
        safe("What would be listed here, each pair with a suggested resolution:", "$text-muted"),
    ]
    for name, meaning in found:
        glyph, style = KINDS[ConflictKind(name)]
        lines.append(
            Content.assemble(Content.styled(f"  {glyph} {name:<14}", style), safe(meaning, "$text-muted"))
        )
    lines += [
        Content(""),
        safe(f"{key_of('conflicts.scan')} searches again, also after files were edited. ? lists the keys."),
    ]
    return Content("\n").join(lines)


def describe_unsearched(busy: str) -> Content:
    """Return what the queue says before its first search is over: what is going on, or which key searches."""
    meaning = f"⟳ {busy}" if busy else "Nothing was compared yet."
    teach = (
        f"{key_of('conflicts.scan')} searches the rules for pairs that repeat or contradict each other. "
        "In a large store this takes a while, beside the app; ctrl+c cancels it."
    )
    return shown_lines(f"{meaning}\n\n{teach}")


_BESIDE = 84


class PairPanel(Vertical):
    """One pair, or a text where there is none."""

    DEFAULT_CSS = """
    PairPanel {
        height: 1fr;
        width: 1fr;
        & > .pair--head { height: 1; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis; }
        & > WordDiff { height: 1fr; min-height: 6; max-height: 20; }
        & > .pair--evidence { height: 1fr; min-height: 5; padding: 0 1; border-top: solid $panel; }
        & > .pair--evidence { scrollbar-size-vertical: 1; }
        & > .pair--evidence { border-title-color: $text-muted; }
        & > .pair--evidence:focus { border-top: heavy $primary; }
        & > .pair--evidence Static { height: auto; }
        & > .pair--nothing { height: 1fr; padding: 1 2; display: none; }
        &.-empty > .pair--nothing { display: block; }
        &.-empty > .pair--head, &.-empty > WordDiff, &.-empty > .pair--evidence { display: none; }
    }
    """

    def compose(self) -> ComposeResult:
        """Lay out the headline, the texts and the evidence."""
        yield Static(classes="pair--head")
        yield WordDiff(beside=_BESIDE)
        with ReadingPane(classes="pair--evidence", id="evidence") as evidence:
            evidence.border_title = pane_title("Evidence", "next-pane")
            yield Static()
        yield Static(classes="pair--nothing")

    def show(self, item: QueuedPair) -> None:
        """Show a pair from its beginning."""
        self.remove_class("-empty")
        left, right = item.pair.sides
        self.query_one(WordDiff).show(
            left.text, right.text, left_title=f"L left · {left.where}", right_title=f"R right · {right.where}"
        )
        pane = self.query_one("#evidence", ReadingPane)
        pane.query_one(Static).update(pair_evidence(item))
        pane.scroll_home(animate=False)

    def show_pair(self, item: QueuedPair, progress: tuple[int, int], place: tuple[int, int]) -> None:
        """Show where in the queue the pair is."""
        self.query_one(".pair--head", Static).update(pair_headline(item, progress, place))

    def show_nothing(self, content: Content) -> None:
        """Say why there is no pair."""
        self.add_class("-empty")
        self.query_one(".pair--nothing", Static).update(content)
