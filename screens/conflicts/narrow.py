"""Which of the two is narrowed, and to what: a form with the scopes that offer themselves below it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Select, Static
from textual.widgets.option_list import Option

from screens.conflicts.pair import Of, Pair, Side
from screens.safe_text import shown
from screens.widgets.choose import ChoiceList
from screens.widgets.confirm import DIALOG_CSS
from screens.widgets.form import FieldForm
from screens.widgets.record_fields import Field
from workbench.records.conflicts import Action
from workbench.records.rules import PATH_SCOPE, Rule, path_globs

_SIDES = ("left", "right")


@dataclass(frozen=True, slots=True)
class Narrowing:
    """The side that keeps what it holds for, and what the other one is narrowed to."""

    keep: str
    scope: tuple[str, ...]


def scopes_for(pair: Pair, narrowed: str) -> tuple[str, ...]:
    """Return what a side could be narrowed to, likeliest first: all but the other's files, its own place.

    What it holds for now is no narrowing.
    """
    side = pair.left if narrowed == "left" else pair.right
    offered = dict.fromkeys((*_without_other(pair, narrowed), *side.scopes))
    return tuple(scope for scope in offered if scope not in side.scope)


def likeliest(pair: Pair, narrowed: str) -> tuple[str, ...]:
    """Return the scope that the form begins with."""
    return _without_other(pair, narrowed) or scopes_for(pair, narrowed)[:1]


def _without_other(pair: Pair, narrowed: str) -> tuple[str, ...]:
    side, other = pair.sides if narrowed == "left" else (pair.right, pair.left)
    if pair.of is not Of.RULE or side.scope:
        return ()
    return tuple(f"{PATH_SCOPE}!{glob}" for glob in path_globs(other.scope) if not glob.startswith("!"))


def wider_side(pair: Pair) -> str:
    """Return which side is to be narrowed first of all: as suggested, else the one that holds everywhere."""
    if pair.suggestion.action is Action.NARROW_SCOPE and pair.suggestion.keep:
        return "right" if pair.suggestion.keep == pair.left.id else "left"
    return "right" if pair.left.scope and not pair.right.scope else "left"


class NarrowForm(ModalScreen[Narrowing | None]):
    """Asks for a side and a scope; enter or f2 accepts, escape leaves both as they are."""

    DEFAULT_CSS = f"""NarrowForm {{
        {DIALOG_CSS}
        & FieldForm {{ height: auto; max-height: 1fr; }}
        & ChoiceList {{ height: auto; max-height: 6; border: none; padding: 0; background: $surface; }}
    }}"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f2", "save", "Narrow", id="narrow.save", tooltip="Narrow that side to this scope"),
        Binding("escape", "cancel", "Cancel", id="narrow.cancel", tooltip="Leave both as they are"),
    ]

    def __init__(self, pair: Pair) -> None:
        super().__init__()
        self._pair = pair
        self._start = wider_side(pair)

    def compose(self) -> ComposeResult:
        """Lay out the fields above the scopes that offer themselves."""
        dialog = Vertical(classes="dialog")
        dialog.border_title = shown("Narrow one of the two")
        with dialog:
            yield FieldForm(
                (
                    Field("side", "Narrow", self._start, "choice", _SIDES, required=True),
                    Field(
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
            yield Static(shown("f2 or enter narrows, escape leaves both as they are"), classes="dialog-hint")

    def on_mount(self) -> None:
        """Begin at the scope."""
        self._offer(self._start)
        self.query_one(FieldForm).focus_field("scope")

    @on(FieldForm.Changed)
    def _changed(self, event: FieldForm.Changed) -> None:
        event.stop()
        if event.name == "side":
            self._turn(str(self.query_one("#field-0", Select).value))

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_save()

    @on(OptionList.OptionSelected)
    def _taken(self, event: OptionList.OptionSelected) -> None:
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
        """Offer the scopes of the other side; what was written stays, what was offered gives way."""
        field = self.query_one("#field-1", Input)
        other = "left" if narrowed == "right" else "right"
        if field.value == ", ".join(likeliest(self._pair, other)):
            field.value = ", ".join(likeliest(self._pair, narrowed))
        self._offer(narrowed)

    def _offer(self, narrowed: str) -> None:
        self._offered = scopes_for(self._pair, narrowed)
        side = self._side(narrowed)
        told = "offers itself (enter takes it over):" if self._offered else "nothing offers itself"
        line = f"{narrowed}: {side.where}, {', '.join(side.scope) or 'everywhere'} now; {told}"
        self.query_one("#narrow-offered", Static).update(shown(line))
        options = self.query_one(ChoiceList)
        options.clear_options()
        options.add_options([Option(shown(scope)) for scope in self._offered])
        options.display = bool(self._offered)

    def _side(self, name: str) -> Side:
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
