"""The learnings that a prompt for a feature and a task would contain, as it is typed; and its copy."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.widgets import Input, Static

from screens.commands import widget_bindings
from screens.curation.dialog import Dialog
from screens.learnings.learning_form import prompt_command
from screens.learnings.learning_service import LearningWriter
from screens.safe_text import safe
from screens.widgets.code import CodeView
from screens.widgets.dialogs import DIALOG_CSS
from screens.widgets.fields import SafeInput
from workbench.text.counts import plural
from workbench.text.sanitize import visible_line

if TYPE_CHECKING:
    from screens.learnings.screen import LearningsScreen
    from workbench.memory.learnings.prompt import MemoryPrompt

BUDGET: Final = 800
_TYPING: Final = 0.2  # seconds without typing after which it is made again
_MOST: Final = 1_000_000


class PromptPreview(Dialog[None]):
    """Feature, task and tokens above the text they make. Nothing counts as given until it is copied."""

    DEFAULT_CSS = f"""PromptPreview {{
        {DIALOG_CSS}
        & > .dialog {{ width: 112; height: 90%; }}
        & #preview-asked {{ height: 1; }}
        & .preview-label {{ width: auto; padding: 0 1 0 0; color: $text-muted; }}
        & #preview-feature {{ width: 2fr; }}
        & #preview-task {{ width: 1fr; }}
        & #preview-budget {{ width: 8; }}
        & #preview-outcome {{ height: 1; text-wrap: nowrap; text-overflow: ellipsis; }}
        & CodeView {{ height: 1fr; }}
    }}"""
    BINDINGS: ClassVar[list[BindingType]] = widget_bindings("prompt-preview")

    def __init__(self, section: LearningsScreen, feature: str, task: str) -> None:
        super().__init__()
        self._section = section
        self._asked = (feature, task, BUDGET)
        self.made: MemoryPrompt | None = None

    def compose(self) -> ComposeResult:
        """Lay out what is asked above the prompt."""
        feature, task, budget = self._asked
        with self.box("What a prompt would contain"):
            with Horizontal(id="preview-asked"):
                yield Static(safe("feature"), classes="preview-label")
                yield SafeInput(
                    visible_line(feature), compact=True, select_on_focus=False, id="preview-feature"
                )
                yield Static(safe("task"), classes="preview-label")
                yield SafeInput(visible_line(task), compact=True, select_on_focus=False, id="preview-task")
                yield Static(safe("tokens"), classes="preview-label")
                yield SafeInput(str(budget), compact=True, select_on_focus=False, id="preview-budget")
            yield Static(id="preview-outcome")
            yield CodeView(path="prompt.md", empty="No learning would be in it.")
            yield Static(safe("tab moves · y copies · escape closes"), classes="dialog-hint")

    def on_mount(self) -> None:
        """Make the text; the focus is on it, so that y copies."""
        self.query_one(CodeView).focus()
        self._make()

    @on(Input.Changed)
    def _handle_typing(self, event: Input.Changed) -> None:
        event.stop()
        self._section.bench.jobs.later("learnings/preview", _TYPING, self._make)

    @on(Input.Submitted)
    def _handle_submit(self, event: Input.Submitted) -> None:
        event.stop()
        self.query_one(CodeView).focus()

    def _make(self) -> None:
        if not self.is_attached:
            return
        feature, task = (
            self.query_one(f"#preview-{name}", Input).value.strip() for name in ("feature", "task")
        )
        tokens = self.query_one("#preview-budget", Input).value.strip()
        if not tokens.isdecimal() or not 0 < int(tokens) <= _MOST:
            self._tell(f"✗ tokens: a number from 1 to {_MOST:,}", wrong=True)
            return
        self._asked = (feature, task, int(tokens))
        work = partial(LearningWriter(self._section.engine).preview, feature, task, int(tokens))
        self._section.ask("Prompt", work, self._show, group="preview", quiet=True)

    def _show(self, made: MemoryPrompt) -> None:
        self.made = made
        if self.is_attached:
            self.query_one(CodeView).show(made.text, path="prompt.md")
            self._tell(describe_prompt(made, self._asked[2]))

    def _tell(self, text: str, *, wrong: bool = False) -> None:
        self.query_one("#preview-outcome", Static).update(safe(text, "bold $text-error" if wrong else "bold"))

    def action_copy(self) -> None:
        """Copy the text and note that it was given, as the command does."""
        made = self.made
        if made is None or not made.text:
            self._tell("✗ there is nothing to copy", wrong=True)
            return
        section, asked = self._section, self._asked

        def then(new: bool) -> None:
            section.bench.copy(made.text, "the prompt")
            section.bench.log_action(prompt_command(*asked), describe_prompt(made, asked[2]))

        section.ask("Noting", partial(LearningWriter(section.engine).note_given, made), then)

    def action_leave(self) -> None:
        """Go back to the learnings."""
        self.dismiss(None)


def describe_prompt(made: MemoryPrompt, budget: int) -> str:
    """Return how much a prompt contains, and why the rest was left out."""
    count = len(made.given)
    text = f"{plural(count, 'learning')} · {made.tokens:,} of {budget:,} tokens"
    reasons = Counter(reason for _, reason in made.left_out)
    left = [
        f"{number:,} {reason}"
        for reason, number in sorted(reasons.items(), key=lambda one: (-one[1], one[0]))
    ]
    return f"{text} · left out: {'; '.join(left)}" if left else text
