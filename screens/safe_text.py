"""The one way data becomes something a widget shows, so that nothing in it is obeyed and nothing is too long.

Textual reads strings as markup in labels, cells, options, titles, tooltips and toasts: `x[0]` vanishes and
`[/]` ends the app. What comes from rules, transcripts, files, errors or users goes through here and arrives
as `Content`, which is literal. A test goes through the source of `screens` for strings that go past it.
"""

from __future__ import annotations

import re
from typing import Any, Final

from textual.app import App
from textual.content import Content, Span
from textual.notifications import SeverityLevel
from textual.style import Style

from workbench.text.counts import plural
from workbench.text.sanitize import visible, visible_line

MAX_LINE: Final = 2_000
"""Characters of a line that are shown; several times what the widest terminal has."""

MAX_LINES: Final = 5_000
"""Lines of a text that are shown."""

_TOAST: Final = 600
_EMPHASIS: Final = re.compile(
    r"`[^`\n]*`|(?<![\w/*])\*\*(?=[^\s*/])([^\n]{1,250}?)(?<=[^\s*/])\*\*(?![\w/*])"
)


def safe(text: str, style: Style | str = "", *, limit: int = MAX_LINE) -> Content:
    """Return a text as one line, without control or hidden characters, at most `limit` characters of it.

    Line feeds and tabs become their pictures. Of a longer text the number of characters that are left out
    is appended: `…(+1,048,000)`.
    """
    return _content(_cut(text, limit, line=True), style)


def shown_lines(
    text: str, style: Style | str = "", *, limit: int = MAX_LINE, lines: int = MAX_LINES
) -> Content:
    """Return a text with its line feeds and tabs, at most `lines` lines of at most `limit` characters.

    What is left out is counted: of a line as `shown` does it, of the text in a last line.
    """
    parts = text.split("\n", lines)
    rest = parts.pop() if len(parts) > lines else ""
    kept = [_cut(part.removesuffix("\r"), limit, line=False) for part in parts]
    if rest:
        count = rest.count("\n") + (not rest.endswith("\n"))
        kept.append(f"…(+{plural(count, 'line')})")
    return _content("\n".join(kept), style)


def embolden(content: Content) -> Content:
    """Return a text of Markdown with what is between pairs of `**` in bold, and without the pairs.

    Those of code, globs and powers stay as they are.
    """
    parts, at = [], 0
    for pair in _EMPHASIS.finditer(content.plain):
        if pair[1] is not None:
            parts += [content[at : pair.start()], content[pair.start(1) : pair.end(1)].stylize("bold")]
            at = pair.end()
    return Content.assemble(*parts, content[at:]) if parts else content


def join_parts(*parts: Content | tuple[str, Style | str], between: str = "") -> Content:
    """Return parts on one line: contents as they are, and pairs of a text and its style through `shown`."""
    made = [part if isinstance(part, Content) else safe(*part) for part in parts]
    return Content(between).join(made) if between else Content.assemble(*made)


def toast(
    app: App[Any],
    text: str,
    *,
    title: str = "",
    severity: SeverityLevel = "information",
    timeout: float | None = None,
) -> None:
    """Show a short note over the screen for `timeout` seconds; the only place that calls `notify`."""
    app.notify(
        shown_lines(text, limit=_TOAST, lines=12).plain,
        title=safe(title, limit=80).plain,
        severity=severity,
        timeout=timeout,
        markup=False,
    )


def _cut(text: str, limit: int, *, line: bool) -> str:
    head = visible_line(text[:limit]) if line else visible(text[:limit])
    return head if len(text) <= limit else f"{head}…(+{len(text) - limit:,})"


def _content(text: str, style: Style | str) -> Content:
    return Content(text, [Span(0, len(text), style)] if style and text else None)
