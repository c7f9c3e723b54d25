"""Where rules to be added come from (stdin, lines of JSON), and the files they are to be written into."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from workbench.entry.cli.frame import Invocation
from workbench.entry.cli.inputs import words_or_stdin
from workbench.entry.cli.session import RuleSession
from workbench.errors import ParseError, UsageError
from workbench.records.rules import PATH_SCOPE, Rule
from workbench.rules.curation.curator import standing_in
from workbench.rules.fields import Line, file_of, new_rule, read_lines
from workbench.rules.formats.families import FAMILIES, family_of
from workbench.rules.globs import escape
from workbench.text.counts import counted
from workbench.text.sanitize import visible_line

MAX_LINES_BYTES = 64 * 1024 * 1024
_FAULTS = 20


def read_text(here: Invocation, words: Sequence[str], from_stdin: bool) -> str:
    """Return the text of the arguments or of stdin. Raises UsageError for bytes that are no UTF-8."""
    found = words_or_stdin(here, words, from_stdin, "text of the rule")
    if isinstance(found, str):
        return found
    try:
        return found.removeprefix(b"\xef\xbb\xbf").decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"stdin is not UTF-8: {error}", hint="Convert it first: iconv -t utf-8") from error


def read_rules(here: Invocation, name: str, tags: tuple[str, ...]) -> list[Line]:
    """Return the rules of JSON lines. Raises: ParseError for the first bad line, the others are reported."""
    data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    if len(data) > MAX_LINES_BYTES:
        raise UsageError(f"{name} is larger than {MAX_LINES_BYTES // 2**20} MB", hint="Split it.")
    lines, faults = read_lines("stdin" if name == "-" else name, data, tags)
    if not faults and not lines:
        raise UsageError(f"{name} has no rules", hint='One object a line: {"rule": "Use tabs."}')
    for fault in faults[1:_FAULTS]:
        here.out.fail(f"{fault.path}:{fault.line}: {fault.message}", fault.hint)
    if len(faults) > _FAULTS:
        here.out.say(f"and {counted(len(faults) - _FAULTS, 'more line')}")
    if faults:
        here.out.say(
            f"nothing was added: {len(faults):,} of {counted(len(faults) + len(lines), 'line')} are wrong"
        )
        first = faults[0]
        raise ParseError(first.message, path=first.path, line=first.line, hint=first.hint)
    return lines


def whole_rule(work: RuleSession, line: Line) -> Rule:
    """Return the rule of a line with its home and its file. Raises UsageError, naming the line."""
    rule = new_rule(line.fields, None if line.home else work.store.project_id)
    if not line.file:
        return rule
    try:
        return _place(work, rule, line.file)
    except UsageError as error:
        place = f"{line.place}: " if line.place else ""
        raise UsageError(f"{place}{error.message}", hint=error.hint) from error


def _place(work: RuleSession, rule: Rule, given: str) -> Rule:
    own = rule.project_id is None
    file = file_of(given, work.store.root, work.store.home, own=own)
    family = family_of(file.removeprefix("~/"))
    known = work.store.ledger().files.get(file)
    if family is None and known is None:
        names = ", ".join(found.name for found in FAMILIES)
        raise UsageError(
            f"{visible_line(file)} is no rule file of a known format ({names})",
            hint=f"If it is one, import it first: workbench rules import {visible_line(given)}",
        )
    form = known.format if known is not None else family[0].name if family is not None else "plain"
    directory = "" if own or family is None else family[1]
    scope = rule.scope or ((f"{PATH_SCOPE}/{escape(directory)}/",) if directory else ())
    return replace(rule, scope=scope, provenance=standing_in(file, form, home=own))
