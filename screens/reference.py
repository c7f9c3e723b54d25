"""The page of keys, written from the registry: `python -m screens.reference docs/keys.md`."""

from __future__ import annotations

import sys
from pathlib import Path

from screens.commands import BY_SECTION, GROUPS, SECTIONS, AppCommand, shown_key

_HEAD = """# Keys and commands of the app

This page is written by `make docs` from the registry that the app itself reads; `?` shows the same on each
screen. A command gets other keys by its id, in the user's `config.toml`:

```toml
[app]
keys = ["rules.edit=f4", "app.undo=ctrl+z,u"]
```

The column *Without the app* is the command line that does the same.
"""


def page() -> str:
    """Return the page as Markdown."""
    parts = [_HEAD, _section("Everywhere", BY_SECTION["app"])]
    parts += [
        _section(f"{section.title} ({section.key})", BY_SECTION[section.id], section.summary)
        for section in SECTIONS
    ]
    return "\n".join(parts)


def _section(title: str, commands: tuple[AppCommand, ...], summary: str = "") -> str:
    lines = [f"## {title}", ""]
    if summary:
        lines += [summary[0].upper() + summary[1:], ""]
    lines += ["| keys | command | id | without the app |", "|---|---|---|---|"]
    for group in GROUPS:
        lines += [_row(command) for command in commands if command.group == group]
    return "\n".join(lines) + "\n"


def _row(command: AppCommand) -> str:
    keys = " ".join(f"`{shown_key(key)}`" for key in command.keys) or "·"
    line = f"`{command.cli}`" if command.cli else ""
    cells = (keys, f"**{command.title}** {command.help}", f"`{command.id}`", line)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), "utf-8")
