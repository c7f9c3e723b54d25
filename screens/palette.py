"""The command palette: every command of this screen and of the app, found by what it is called and does."""

from __future__ import annotations

from functools import partial

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from screens.commands.model import Command
from screens.commands.registry import commands_of
from screens.keys import shown_key


class CommandProvider(Provider):
    """Offers the commands that can be given now, with their keys and help."""

    @property
    def section(self) -> str:
        """The section the palette was opened on."""
        return self.screen.id or ""

    async def discover(self) -> Hits:
        """Offer everything before anything is typed."""
        for command in self._offered():
            yield DiscoveryHit(_line(command), partial(self._run, command), command.title, _help(command))

    async def search(self, query: str) -> Hits:
        """Offer what matches, by title and by what it does."""
        matcher = self.matcher(query)
        for command in self._offered():
            text = f"{command.title}: {command.help}"
            score = max(matcher.match(command.title), matcher.match(text) * 0.8)
            if score > 0:
                yield Hit(score, _line(command), partial(self._run, command), command.title, _help(command))

    def _offered(self) -> list[Command]:
        active = {one.binding.id for one in self.screen.active_bindings.values()}
        return [one for one in commands_of(self.section) if not one.keys or one.id in active]

    async def _run(self, command: Command) -> None:
        await self.screen.run_action(command.action)


def _line(command: Command) -> Content:
    keys = f"  {shown_key(command.keys[0])}" if command.keys else ""
    return Content.assemble(command.title, (keys, "$text-accent"))


def _help(command: Command) -> str:
    return (
        f"{command.help} [{command.cli}]".replace("[", "(").replace("]", ")") if command.cli else command.help
    )
