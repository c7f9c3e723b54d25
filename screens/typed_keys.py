"""Keys and pastes reach the app one after the other, each where the one before it has led.

Textual hands a key to the widget that has the focus, from where it goes up to the app before it is a command,
and a command asks for the focus or pushes a screen that is mounted later. Whoever types `/refund` faster than
that would have the letters run as commands of the list. So while what a key leads to is on its way the next
ones are held: something is sent after the key through the same queues, from the widget up to the app, until
neither screen nor focus changed on the way. What a field takes as text leads nowhere and is not waited for.
Where a key starts work at whose end something opens, or a list has the rows that a filter lets through, keys
are held until then, for a moment: see `HELD`.
"""

from __future__ import annotations

from collections import deque
from typing import Final, Protocol, runtime_checkable

from textual import events
from textual.app import App
from textual.dom import DOMNode
from textual.screen import Screen
from textual.widget import Widget

PATIENCE: Final = 10.0
"""Seconds for which keys are held for what an earlier one leads to."""

HELD: Final = 2.0
"""Seconds for which keys are held for what opens at the end of work; later ones are for what shows."""


@runtime_checkable
class Question(Protocol):
    """A screen that is answered: by what was typed once it was on the terminal."""

    def was_seen(self, at: float) -> bool:
        """Whether it was drawn at a time (of the clock of events, seconds)."""
        ...


Where = tuple[Screen[object], Widget | None]
"""A screen and what has the focus there."""


class TypedKeys(App[int]):
    """An app whose keys wait for each other; until `release_keys` all are held."""

    def __init__(self, *, ansi_color: bool | None = None) -> None:
        super().__init__(ansi_color=ansi_color)
        self._opened = False
        self._typed: deque[events.Key | events.Paste] = deque()
        self._followed: float | None = None  # since when what a key leads to is waited for
        self._held: float | None = None  # since when keys are held for the end of work

    # What an app may override.

    def before_event(self, event: events.Event) -> None:
        """Take note of an event that is about to be handled."""

    @property
    def leading(self) -> bool:
        """Whether work goes on at whose end something opens, or rows come that keys are for."""
        return False

    def drop_keys(self, count: int, why: str) -> None:
        """Take note of keys that are given to nothing."""

    # How it works.

    async def on_event(self, event: events.Event) -> None:
        """Take keys and pastes in turn; everything else at once."""
        if not isinstance(event, (events.Key, events.Paste)) or event.is_forwarded:
            self.before_event(event)
            await super().on_event(event)
            return
        # Enter was a line feed as long as the terminal was the shell's.
        early = not self._opened and isinstance(event, events.Key) and event.key == "ctrl+j"
        if self._held is not None and isinstance(event, events.Key) and event.key == "ctrl+c":
            self._drop("what they were typed for is cancelled")
            await super().on_event(event)
            return
        self._typed.append(events.Key("enter", "\r") if early else event)
        if self._followed is not None and event.time - self._followed > PATIENCE:
            self._drop("what an earlier key led to did not end")
            self._followed = None
        if self._held is not None and event.time - self._held > HELD:
            self._typed.pop()
            self._drop("what they were typed for takes long")
            self._typed.append(event)
        await self._give()

    async def release_keys(self) -> None:
        """Give what was typed before there was a section to the one that shows."""
        self._opened = True
        await self._give()

    def go_on(self) -> None:
        """Give what was typed meanwhile to what opens now: work at whose end something opens is over."""
        self._held = None
        if self._followed is None:
            self._followed = events.Event().time
            self._follow(self.focused or self.screen, self._followed, None)

    def _drop(self, why: str) -> None:
        if self._typed:
            self.drop_keys(len(self._typed), why)
            self._typed.clear()

    async def _give(self) -> None:
        while self._typed and self._opened and self._followed is None:
            if self.leading:
                self._held = self._typed[0].time if self._held is None else self._held
                if self._typed[0].time - self._held <= HELD:
                    return
            event = self._typed.popleft()
            if isinstance(self.screen, Question) and not self.screen.was_seen(event.time):
                self.drop_keys(1, "typed before the question was on the screen")
                continue
            self.before_event(event)
            node = self.focused or self.screen
            leads = isinstance(event, events.Key) and not node.check_consume_key(event.key, event.character)
            if leads:
                self._followed = events.Event().time
            await super().on_event(event)
            if self._followed is not None:
                self._follow(node, self._followed, None)

    def _follow(self, node: DOMNode | None, since: float, before: Where | None) -> None:
        """Go up to the app behind all that was sent the same way; a widget that is gone is passed over."""
        while node is not None and node is not self:
            if node.call_later(self._follow, node.parent, since, before):
                return
            node = node.parent
        # Behind what the app is to call next (a mode, the answer of a dialog), and the focus that asks for.
        self.call_later(self.call_next, self.call_later, self._arrive, since, before)

    async def _arrive(self, since: float, before: Where | None) -> None:
        if since != self._followed:
            return
        now = self.screen, self.screen.focused
        if now != before:
            self._follow(now[1] or now[0], since, now)
            return
        self._followed = None
        await self._give()
