"""The decisions that need more than a key: merging, narrowing, superseding, and many pairs at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from screens.conflicts.narrow import NarrowForm, Narrowing
from screens.conflicts.pair import Choice, Pair, advised
from screens.widgets import choose
from screens.widgets.confirm import Confirm
from screens.widgets.merge import MergeEditor
from workbench.records.conflicts import Action, ConflictKind

if TYPE_CHECKING:
    from screens.app import WorkbenchApp


@dataclass(frozen=True, slots=True)
class Asking:
    """Asks what a decision about a pair needs and hands it to `decide`; nothing happens where it is left."""

    bench: WorkbenchApp
    pair: Pair
    decide: Callable[[Choice], None]

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
            validate=lambda text: "" if text.strip() else "the text must not be empty",
        )

        def then(text: str | None) -> None:
            if text is not None:
                self.decide(Choice(pair, Action.MERGE, text=text.strip()))

        self.bench.push_screen(editor, then)

    def narrow(self) -> None:
        """Ask for a side and a scope."""

        def then(found: Narrowing | None) -> None:
            if found is not None:
                choice = Choice(self.pair, Action.NARROW_SCOPE, keep=found.keep, scope=found.scope)
                self.decide(choice)

        self.bench.push_screen(NarrowForm(self.pair), then)

    def supersede(self) -> None:
        """Ask which side gives way."""
        left, right = self.pair.sides
        first = 1 if self.pair.suggestion.keep == left.id else 0
        options = [
            choose.Choice(right.id, "the left one gives way", f"{right.where} is its next version"),
            choose.Choice(left.id, "the right one gives way", f"{left.where} is its next version"),
        ]

        def then(keep: str | None) -> None:
            if keep is not None:
                self.decide(Choice(self.pair, Action.SUPERSEDE, keep=keep))

        chooser: choose.Choose[str] = choose.Choose("Which one gives way?", options, selected=first)
        self.bench.push_screen(chooser, then)

    @staticmethod
    def all_of(
        bench: WorkbenchApp,
        pairs: Sequence[Pair],
        marked: bool,
        decide: Callable[[Sequence[Choice]], None],
    ) -> None:
        """Ask whether pairs shall all be settled as suggested, listing how many of what."""
        choices = [choice for pair in pairs if (choice := advised(pair)) is not None]
        if not choices:
            told = "Nothing here can be settled by itself" if pairs else "There are no exact duplicates here"
            bench.tell(f"{told}: mark pairs with space, then A settles them as suggested.")
            return

        def then(answer: bool | None) -> None:
            if answer:
                bench.call_later(decide, choices)  # thousands of them, not in one go with closing the dialog

        what = "marked pair" if marked else "exact duplicate"
        title = f"Settle {len(choices):,} {what}{'s' * (len(choices) != 1)} as suggested?"
        bench.push_screen(Confirm(title, counted(choices, len(pairs)), yes="Settle"), then)


def counted(choices: Sequence[Choice], pairs: int) -> str:
    """Return what will be done, by kind and action, and what will not."""
    counts = Counter((choice.pair.of, choice.pair.kind, choice.action) for choice in choices)
    lines = [
        f"{count:>6,}  {of.value}s, {kind.value}: {action.value.replace('_', ' ')}"
        for (of, kind, action), count in sorted(counts.items())
    ]
    if pairs > len(choices):
        lines.append(f"{pairs - len(choices):>6,}  left alone: each needs a scope that you name")
    steps = len({choice.pair.of for choice in choices})
    lines += ["", "One step: u takes all of it back." if steps == 1 else "Two steps: u takes each back."]
    return "\n".join(lines)


def merge_start(pair: Pair) -> str | None:
    """Return the text a merge begins with, None for the left one."""
    from workbench.rules.conflicts.suggest import merge_text

    if pair.suggestion.text:
        return pair.suggestion.text
    if pair.kind is ConflictKind.CONTRADICTORY:
        return None
    return merge_text(pair.left.text, pair.right.text)
