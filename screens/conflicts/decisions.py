"""The decisions that need more than a key: merging, narrowing, superseding, and many pairs at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import Input, OptionList, Select, Static
from textual.widgets.option_list import Option

from screens.commands import widget_bindings
from screens.conflicts.pair import PairChoice, PairSide, PairType, RecordPair, suggested_choice
from screens.curation.dialog import Dialog
from screens.safe_text import safe
from screens.widgets import dialogs
from screens.widgets.dialogs import DIALOG_CSS, ChoiceList, Confirm
from screens.widgets.form import FieldForm, FormField
from screens.widgets.merge import MergeEditor
from workbench.curation.concurrency import REMOVED
from workbench.records.conflicts import Action, ConflictKind
from workbench.records.rules import PATH_SCOPE, Rule, path_globs

if TYPE_CHECKING:
    from screens.app import WorkbenchApp


_SIDES = ("left", "right")


@dataclass(frozen=True, slots=True)
class Narrowing:
    """The side that keeps what it holds for, and what the other one is narrowed to."""

    keep: str
    scope: tuple[str, ...]


def scopes_for(pair: RecordPair, narrowed: str) -> tuple[str, ...]:
    """Return what a side could be narrowed to, likeliest first: all but the other's files, its own place.

    What it holds for now is no narrowing.
    """
    side = pair.left if narrowed == "left" else pair.right
    offered = dict.fromkeys((*_without_other(pair, narrowed), *side.scopes))
    return tuple(scope for scope in offered if scope not in side.scope)


def likeliest(pair: RecordPair, narrowed: str) -> tuple[str, ...]:
    """Return the scope that the form begins with."""
    return _without_other(pair, narrowed) or scopes_for(pair, narrowed)[:1]


def _without_other(pair: RecordPair, narrowed: str) -> tuple[str, ...]:
    side, other = pair.sides if narrowed == "left" else (pair.right, pair.left)
    if pair.of is not PairType.RULE or side.scope:
        return ()
    return tuple(f"{PATH_SCOPE}!{glob}" for glob in path_globs(other.scope) if not glob.startswith("!"))


def wider_side(pair: RecordPair) -> str:
    """Return which side is to be narrowed first of all: as suggested, else the one that holds everywhere."""
    if pair.suggestion.action is Action.NARROW_SCOPE and pair.suggestion.keep:
        return "right" if pair.suggestion.keep == pair.left.id else "left"
    return "right" if pair.left.scope and not pair.right.scope else "left"


class NarrowForm(Dialog[Narrowing | None]):
    """Asks for a side and a scope; enter or ctrl+s accepts, escape leaves both as they are."""

    DEFAULT_CSS = f"""NarrowForm {{
        {DIALOG_CSS}
        & FieldForm {{ height: auto; max-height: 1fr; }}
        & ChoiceList {{ height: auto; max-height: 6; border: none; padding: 0; background: $surface; }}
    }}"""
    BINDINGS: ClassVar[list[BindingType]] = widget_bindings("narrow")

    def __init__(self, pair: RecordPair) -> None:
        super().__init__()
        self._pair = pair
        self._start = wider_side(pair)

    def compose(self) -> ComposeResult:
        """Lay out the fields above the scopes that offer themselves."""
        with self.box("Narrow one of the two"):
            yield FieldForm(
                (
                    FormField("side", "Narrow", self._start, "choice", _SIDES, required=True),
                    FormField(
                        "scope",
                        "to",
                        likeliest(self._pair, self._start),
                        "tags",
                        required=True,
                        help="Globs as path:src/**, or names of contexts such as git; commas between them.",
                    ),
                ),
                validate=self._wrong,
            )
            yield Static(classes="dialog-hint", id="narrow-offered")
            yield ChoiceList(compact=True)
            yield Static(safe("ctrl+s narrows, escape leaves both as they are"), classes="dialog-hint")

    def on_mount(self) -> None:
        """Begin at the scope."""
        self._offer(self._start)
        self.query_one(FieldForm).focus_field("scope")

    @on(FieldForm.Changed)
    def _handle_change(self, event: FieldForm.Changed) -> None:
        event.stop()
        if event.name == "side":
            self._turn(str(self.query_one("#field-0", Select).value))

    @on(Input.Submitted)
    def _handle_submit(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_save()

    @on(OptionList.OptionSelected)
    def _handle_choice(self, event: OptionList.OptionSelected) -> None:
        """Put a scope that offers itself into the field."""
        event.stop()
        field = self.query_one("#field-1", Input)
        scopes = [part.strip() for part in field.value.split(",") if part.strip()]
        chosen = self._offered[event.option_index]
        field.value = ", ".join(dict.fromkeys([*scopes, chosen]))
        field.focus()

    def action_save(self) -> None:
        """Close with the narrowing, or say what is wrong with it."""
        form = self.query_one(FieldForm)
        if not form.validate_all():
            values = form.values()
            kept = self._pair.right if values["side"] == "left" else self._pair.left
            self.dismiss(Narrowing(kept.id, tuple(values["scope"])))

    def action_cancel(self) -> None:
        """Close without a narrowing."""
        self.dismiss(None)

    def _turn(self, narrowed: str) -> None:
        """Offer the scopes of the other side; what was written stays, what was offered is replaced."""
        field = self.query_one("#field-1", Input)
        other = "left" if narrowed == "right" else "right"
        if field.value == ", ".join(likeliest(self._pair, other)):
            field.value = ", ".join(likeliest(self._pair, narrowed))
        self._offer(narrowed)

    def _offer(self, narrowed: str) -> None:
        self._offered = scopes_for(self._pair, narrowed)
        side = self._side(narrowed)
        notice = "enter takes over what is suggested:" if self._offered else "no other scope is suggested"
        line = f"{narrowed}: {side.where}, {', '.join(side.scope) or 'everywhere'} now; {notice}"
        self.query_one("#narrow-offered", Static).update(safe(line))
        options = self.query_one(ChoiceList)
        options.clear_options()
        options.add_options([Option(safe(scope)) for scope in self._offered])
        options.display = bool(self._offered)

    def _side(self, name: str) -> PairSide:
        return self._pair.left if name == "left" else self._pair.right

    def _wrong(self, values: Mapping[str, Any]) -> Mapping[str, str]:
        side = self._side(str(values["side"]))
        scope = tuple(values["scope"])
        if scope == side.scope:
            return {"scope": "that is what it holds for already"}
        bare = [entry for entry in scope if "/" in entry or "*" in entry]
        bare = [entry for entry in bare if not entry.startswith(PATH_SCOPE)]
        if bare and isinstance(side.seen, Rule):
            return {"scope": f"a glob begins with {PATH_SCOPE} here: {PATH_SCOPE}{bare[0]}"}
        return {}


@dataclass(frozen=True, slots=True)
class PairDialogs:
    """Asks what a decision about a pair needs and hands it to `decide`; nothing happens where it is left."""

    bench: WorkbenchApp
    pair: RecordPair
    decide: Callable[[PairChoice], None]

    def merge(self, draft: str | None = None) -> None:
        """Merge in three panes; the result begins with a draft, or as suggested where the two repeat."""
        pair = self.pair
        editor = MergeEditor(
            pair.left.text,
            pair.right.text,
            title="Merge",
            left_title=f"left · {pair.left.where}",
            right_title=f"right · {pair.right.where}",
            result=merge_start(pair) if draft is None else draft,
            validate=lambda text: "" if text.strip() not in ("", REMOVED) else "write what holds",
        )

        def then(text: str | None) -> None:
            if text is not None:
                self.decide(PairChoice(pair, Action.MERGE, text=text.strip()))

        self.bench.push_screen(editor, then)

    def narrow(self) -> None:
        """Ask for a side and a scope."""

        def then(found: Narrowing | None) -> None:
            if found is not None:
                choice = PairChoice(self.pair, Action.NARROW_SCOPE, keep=found.keep, scope=found.scope)
                self.decide(choice)

        self.bench.push_screen(NarrowForm(self.pair), then)

    def supersede(self) -> None:
        """Ask which side is superseded."""
        left, right = self.pair.sides
        first = 1 if self.pair.suggestion.keep == left.id else 0
        options = [
            dialogs.DialogChoice(
                right.id, "the left one is superseded", f"{right.where} is its next version"
            ),
            dialogs.DialogChoice(left.id, "the right one is superseded", f"{left.where} is its next version"),
        ]

        def then(keep: str | None) -> None:
            if keep is not None:
                self.decide(PairChoice(self.pair, Action.SUPERSEDE, keep=keep))

        chooser: dialogs.Choose[str] = dialogs.Choose("Which one is superseded?", options, selected=first)
        self.bench.push_screen(chooser, then)

    @staticmethod
    def all_of(
        bench: WorkbenchApp,
        pairs: Sequence[RecordPair],
        marked: bool,
        decide: Callable[[Sequence[PairChoice]], None],
    ) -> None:
        """Ask whether pairs shall all be settled as suggested, listing how many of what."""
        choices = [choice for pair in pairs if (choice := suggested_choice(pair)) is not None]
        if not choices:
            notice = (
                "Nothing here can be settled automatically" if pairs else "There are no exact duplicates here"
            )
            bench.report(f"{notice}: mark pairs with space, then A settles them as suggested.")
            return

        def then(answer: bool | None) -> None:
            if answer:
                bench.call_later(decide, choices)  # thousands of them, not in one go with closing the dialog

        what = "marked pair" if marked else "exact duplicate"
        title = f"Settle {len(choices):,} {what}{'s' * (len(choices) != 1)} as suggested?"
        bench.push_screen(Confirm(title, summarize_choices(choices, len(pairs)), yes="Settle"), then)


def summarize_choices(choices: Sequence[PairChoice], pairs: int) -> str:
    """Return what will be done, by kind and action, and what will not."""
    counts = Counter((choice.pair.of, choice.pair.kind, choice.action) for choice in choices)
    lines = [
        f"{count:>6,}  {of.value}s, {kind.value}: {action.value.replace('_', ' ')}"
        for (of, kind, action), count in sorted(counts.items())
    ]
    if pairs > len(choices):
        lines.append(f"{pairs - len(choices):>6,}  left alone: each needs a scope that you name")
    steps = len({choice.pair.of for choice in choices})
    lines += ["", "One step: u takes all of it back." if steps == 1 else f"{steps} steps: u takes each back."]
    return "\n".join(lines)


def merge_start(pair: RecordPair) -> str | None:
    """Return the text a merge begins with, None for the left one."""
    from workbench.rules.conflicts.suggestions import merge_text

    if pair.suggestion.text:
        return pair.suggestion.text
    if pair.of_versions:
        return pair.right.text if pair.left.text == REMOVED else None
    if pair.kind is ConflictKind.CONTRADICTORY:
        return None
    return merge_text(pair.left.text, pair.right.text)
