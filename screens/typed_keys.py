"""Keys and pastes reach the app one after the other, each where the one before it has led.

Textual hands a key to the widget that has the focus, from where it goes up to the app before it is a command,
and a command asks for the focus or pushes a screen that is mounted later. Whoever types `/refund` faster than
that would have the letters run as commands of the list. So while what a key leads to is on its way the next
ones are held: something is sent after the key through the same queues, from the widget up to the app, until
neither screen nor focus changed on the way. What a field takes as text leads nowhere and is not waited for.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from textual import events
from textual.app import App
from textual.dom import DOMNode
from textual.screen import Screen
from textual.widget import Widget

from screens.widgets.dialogs import Confirm

PATIENCE: Final = 10.0
"""Seconds for which keys are held for what an earlier one leads to."""

Where = tuple[Screen[object], Widget | None]
"""A screen and what has the focus there."""


class TypedKeys(App[int]):
    """An app whose keys wait for each other; until `release_keys` all are held."""

    def __init__(self, *, ansi_color: bool | None = None) -> None:
        super().__init__(ansi_color=ansi_color)
        self._opened = False
        self._typed: deque[events.Key | events.Paste] = deque()
        self._followed: float | None = None  # since when what a key leads to is waited for

    # What an app may override.

    def before_event(self, event: events.Event) -> None:
        """Take note of an event that is about to be handled."""

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
        self._typed.append(events.Key("enter", "\r") if early else event)
        if self._followed is not None and event.time - self._followed > PATIENCE:
            self.drop_keys(len(self._typed), "what an earlier key led to did not end")
            self._typed.clear()
            self._followed = None
        await self._give()

    async def release_keys(self) -> None:
        """Give what was typed before there was a section to the one that shows."""
        self._opened = True
        await self._give()

    async def _give(self) -> None:
        while self._typed and self._opened and self._followed is None:
            event = self._typed.popleft()
            if isinstance(self.screen, Confirm) and not self.screen.was_seen(event.time):
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
