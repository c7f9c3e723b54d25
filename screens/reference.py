"""The page of keys, written from the registry: `python -m screens.reference docs/keys.md`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from screens.commands import BY_SECTION, GROUPS, SECTIONS, VERBS, WIDGET_KEYS, AppCommand, shown_key

_HEAD = """# Keys and commands of the app

This page is written by `make docs` from the registry that the app itself reads; `?` shows the same on each
screen. A command gets other keys by its id, in the user's `config.toml`:

```toml
[app]
keys = ["rules.edit=f4", "app.undo=ctrl+z,u"]
```

The column *Without the app* is the command line that does the same.

## Verbs

What is done in several places has one key in all of them, in sections, forms and dialogs, and that key means
nothing else anywhere. In a question `y` and `n` are the answers.

"""


_TABS = (
    "| `1` to `9`, `0`, `alt+1` … | **Section** Go to a section; with alt from a field, too. | everywhere |"
)


def page() -> str:
    """Return the page as Markdown."""
    parts = [_HEAD + _verbs(), _section("Everywhere", BY_SECTION["app"])]
    parts += [
        _section(f"{section.title} ({section.key})", BY_SECTION[section.id], section.summary)
        for section in SECTIONS
    ]
    return "\n".join(parts)


def _verbs() -> str:
    named = {section.id: section.title for section in SECTIONS} | {"app": "everywhere"}
    in_widgets = {verb for verb, _ in WIDGET_KEYS.values()}
    lines = ["| keys | verb | where |", "|---|---|---|", _TABS]
    for verb in VERBS.values():
        ids = [section for section in BY_SECTION for one in BY_SECTION[section] if one.verb == verb.id]
        places = [named[section] for section in dict.fromkeys(ids)]
        places += ["lists and dialogs"] if verb.id in in_widgets else []
        name = f"**{verb.id.replace('-', ' ').capitalize()}**"
        lines.append(f"| {_format_keys(verb.keys)} | {name} {verb.help} | {', '.join(places)} |")
    return "\n".join(lines) + "\n"


def _format_keys(keys: Sequence[str]) -> str:
    return " ".join(f"`{shown_key(key)}`" for key in keys)


def _section(title: str, commands: tuple[AppCommand, ...], summary: str = "") -> str:
    lines = [f"## {title}", ""]
    if summary:
        lines += [summary[0].upper() + summary[1:], ""]
    lines += ["| keys | command | id | without the app |", "|---|---|---|---|"]
    for group in GROUPS:
        lines += [_row(command) for command in commands if command.group == group]
    return "\n".join(lines) + "\n"


def _row(command: AppCommand) -> str:
    keys = _format_keys(command.keys) or "·"
    line = f"`{command.cli}`" if command.cli else ""
    cells = (keys, f"**{command.title}** {command.help}", f"`{command.id}`", line)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), "utf-8")
