"""`workbench rules add`, `edit`, `enable`, `disable` and `remove`: each is one step that can be undone."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import click

from workbench.beneath import open_plain
from workbench.entry.cli.arguments import find_live
from workbench.entry.cli.frame import Invocation, command, current, with_options
from workbench.entry.cli.inputs import IDENTIFIERS, WHY, words_or_stdin
from workbench.entry.cli.rules.diff import diff_lines
from workbench.entry.cli.rules.show import rule_line
from workbench.entry.cli.session import RuleSession, report_files, rule_session
from workbench.entry.os.editor import edit_text, has_editor
from workbench.entry.services.rule_edits import whole_rule
from workbench.errors import ParseError, UsageError
from workbench.records.rules import Rule, is_unenforced
from workbench.rules.curation.differences import changed_fields
from workbench.rules.enforcement.suggestions import unenforced_sentence
from workbench.rules.fields import Line, check_fields, read_lines
from workbench.text.counts import plural
from workbench.text.sanitize import visible_line

field_options = with_options(
    click.option(
        "--scope",
        metavar="SCOPE",
        multiple=True,
        help="Where it holds: a context name, or path:GLOB (repeatable; everywhere if not given).",
    ),
    click.option("--category", metavar="NAME", help="preference, behavior or agent."),
    click.option("--authority", metavar="NAME", help="absolute (holds always) or default."),
    click.option("--priority", metavar="N", help="0 to 100 within its authority."),
    click.option("--tag", "tags", metavar="TAG", multiple=True, help="As language:python (repeatable)."),
    click.option(
        "--tool", "tool_targets", metavar="NAME", multiple=True, help="Only for this tool (repeatable)."
    ),
    click.option("--level", metavar="NAME", help="global, scenario or step."),
    click.option("--condition", "condition_text", metavar="TEXT", help="When it is about a task, in words."),
    click.option(
        "--when",
        "conditions",
        metavar="NAME=VALUE",
        multiple=True,
        help="A fact it requires (repeatable; several values of a name: any of them).",
    ),
    click.option(
        "--example",
        "examples",
        metavar="TEXT",
        multiple=True,
        help="A message it is relevant to (repeatable).",
    ),
    click.option(
        "--cooldown", metavar="SECONDS", help="Seconds after its use in which it is not given again."
    ),
    click.option(
        "--check", metavar="JSON", help='What a breach looks like: {"command": "git push --force"}.'
    ),
    click.option("--name", metavar="TEXT", help="A short name (default: from the text)."),
    WHY,
)
"""An option for each field of a rule that people decide."""


@command
@click.argument("words", nargs=-1, metavar="TEXT|-")
@field_options
@click.option("--home", is_flag=True, help="Your own rule, in all projects, instead of this project's.")
@click.option("--file", metavar="PATH", help="The rule file it is to be written into.")
@click.option("--stdin", "from_stdin", is_flag=True, help="Read the text from stdin (also: TEXT is -).")
@click.option("--json-lines", "lines_file", metavar="FILE|-", help="Add a rule for each JSON object in FILE.")
def add(
    words: Sequence[str],
    reason: str,
    home: bool,
    file: str | None,
    from_stdin: bool,
    lines_file: str | None,
    **options: Any,
) -> None:
    """Add a rule. Without options: for this project, everywhere, of default authority and priority 50.

    With --json-lines several are added in one step: all of them or, if a line is wrong, none. Keys are the
    names of the options, `rule` for the text, `home` and `file`; --home and --file are for lines without.
    """
    here = current()
    given = _given_options(options)
    with rule_session("rules-edit") as work:
        tags = work.config.rules.tags
        if lines_file is None:
            text = read_text(here, words, from_stdin)
            fields, notes = check_fields({"rule": text, **given}, tags)
            lines = [Line("", fields, home, file or "")]
        else:
            if words or from_stdin or given:
                raise UsageError(
                    "--json-lines takes its rules from the file alone", hint="Leave text and fields out."
                )
            lines, notes = read_rules(here, lines_file, tags), []
            lines = [replace(line, home=line.home or home, file=line.file or file or "") for line in lines]
        rules = [whole_rule(work.store, line) for line in lines]
        if lines_file is None:
            from workbench.entry.services.rule_patterns import with_proposals

            rules[0], note = with_proposals(work.config, rules[0])
            notes = [*notes, *filter(None, [note])]
        added = work.service.add_all(rules, reason=reason, places=[line.place for line in lines])
    for note in notes:
        here.out.warn(note)
    _show(work, added)
    _note_unenforced(here, added)


@command
@click.argument("identifier", metavar="ID")
@click.option("--text", metavar="TEXT|-", help="New words, - for stdin; they make a new version.")
@field_options
@click.option("--add-tag", metavar="TAG", multiple=True, help="Add a tag to those it has (repeatable).")
@click.option("--remove-tag", metavar="TAG", multiple=True, help="Remove a tag (repeatable).")
@click.option(
    "--clear",
    metavar="FIELD",
    multiple=True,
    help="Empty scope, tags, tools, when, examples, condition, cooldown or check (repeatable).",
)
def edit(
    identifier: str,
    text: str | None,
    reason: str,
    add_tag: tuple[str, ...],
    remove_tag: tuple[str, ...],
    clear: tuple[str, ...],
    **options: Any,
) -> None:
    """Change a rule; without options its text opens in $VISUAL or $EDITOR. Lists given replace the old ones.

    New words make a new version with an id of its own, which the old one leads to; everything else changes
    in place. The beginning of the id is enough.
    """
    here = current()
    with rule_session("rules-edit") as work:
        before = find_live(work, identifier)
    given = {**_given_options(options), **_cleared_fields(clear)}
    if add_tag or remove_tag:
        kept = [tag for tag in given.get("tags", before.tags) if tag not in remove_tag]
        given["tags"] = [*kept, *add_tag]
    if text is not None:
        given["rule"] = read_text(here, [text], False)
    if not given:
        after = _edited_by_hand(work, before, reason)
        if after is None:
            here.out.say("nothing was changed")
            return
    else:
        fields, notes = check_fields(given, work.config.rules.tags)
        after = work.service.edit(before.id, reason=reason, **fields)
        for note in notes:
            here.out.warn(note)
    _show_change(work, before, after)
    if not is_unenforced(before) or before.rule != after.rule:
        _note_unenforced(here, [after])


@command
@IDENTIFIERS
@WHY
def enable(identifiers: Sequence[str], reason: str) -> None:
    """Enable rules again, in one step."""
    _switch(identifiers, True, reason)


@command
@IDENTIFIERS
@WHY
def disable(identifiers: Sequence[str], reason: str) -> None:
    """Disable rules, in one step: they stay, also in their files, and match nothing."""
    _switch(identifiers, False, reason)


@command
@IDENTIFIERS
@WHY
def remove(identifiers: Sequence[str], reason: str) -> None:
    """Remove rules, in one step. They stay in the history; `workbench rules undo` restores them."""
    here = current()
    with rule_session("rules-edit") as work:
        rules = _several(work, identifiers)
        work.service.remove([rule.id for rule in rules], reason=reason)
    if here.wrote_json({"removed": rules}):
        return
    for rule in rules:
        here.out.paint(rule_line(here.out, rule))
    report_files(work, rules)


def _switch(identifiers: Sequence[str], on: bool, reason: str) -> None:
    here = current()
    word = "enable" if on else "disable"
    with rule_session("rules-edit") as work:
        rules = _several(work, identifiers)
        ids = [rule.id for rule in rules if rule.enabled is not on]
        named = ids[0][:13] if len(ids) == 1 else plural(len(ids), "rule")
        changed = (
            work.service.edit_all(ids, reason=reason, title=f"{word} {named}", enabled=on) if ids else []
        )
    if here.wrote_json({"rules": changed}):
        return
    for rule in changed:
        here.out.paint(rule_line(here.out, rule))
    _note_unenforced(here, changed)
    if len(ids) < len(rules):
        here.out.say(f"{len(rules) - len(ids)} of {plural(len(rules), 'rule')} are {word}d already")


def _note_unenforced(here: Invocation, rules: Sequence[Rule]) -> None:
    """Say which absolute rules are words alone, and how the check that one asks for is accepted."""
    sentence = unenforced_sentence(rules)
    if sentence:
        here.out.say(visible_line(sentence))


def _several(work: RuleSession, identifiers: Sequence[str]) -> list[Rule]:
    found = {rule.id: rule for rule in (find_live(work, identifier) for identifier in identifiers)}
    return list(found.values())


def _given_options(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None and value != ()}


_EMPTY: dict[str, tuple[str, Any]] = {
    "scope": ("scope", ()),
    "tags": ("tags", ()),
    "tools": ("tool_targets", ()),
    "when": ("conditions", {}),
    "examples": ("examples", ()),
    "condition": ("condition_text", ""),
    "cooldown": ("cooldown", 0),
    "check": ("check", None),
}


def _cleared_fields(names: Sequence[str]) -> dict[str, Any]:
    from workbench.suggest import did_you_mean

    for name in names:
        if name not in _EMPTY:
            hint = did_you_mean(name, _EMPTY, f"Use one of {', '.join(_EMPTY)}.")
            raise UsageError(f"{visible_line(name)} cannot be cleared", hint=hint)
    return dict(_EMPTY[name] for name in names)


def _edited_by_hand(work: RuleSession, before: Rule, reason: str) -> Rule | None:
    """Return the rule with the text a person made of it, None if it stays."""
    if not has_editor():
        raise UsageError("nothing to change was given", hint="Give --text, another option, or set $EDITOR.")
    draft = work.opened.location.root / "drafts" / f"{before.id}.md"
    with edit_text(work.here.out.say, draft, before.rule) as text:
        if text is None:
            return None
        fields, _ = check_fields({"rule": text})
        return work.service.edit(before.id, reason=reason, seen=before, **fields)


def _show(work: RuleSession, rules: Sequence[Rule]) -> None:
    here = work.here
    if here.wrote_json({"rules": rules}):
        return
    for rule in rules:
        here.out.paint(rule_line(here.out, rule))
    report_files(work, rules)


def _show_change(work: RuleSession, before: Rule, after: Rule) -> None:
    here = work.here
    fields = changed_fields(before, after)
    if here.flags.json:
        changed = {field.name: {"before": field.before, "after": field.after} for field in fields}
        here.out.json(
            {"rule": after, "replaces": None if before.id == after.id else before.id, "changed": changed}
        )
        return
    was = "" if before.id == after.id else f" (was {before.id})"
    here.out.data(f"{after.id}  version {after.version}{was}")
    for line in diff_lines(here.out, fields):
        here.out.paint(line)
    report_files(work, [after] if before.id != after.id else [])


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
    if name == "-":
        data = sys.stdin.buffer.read()
    else:
        with open_plain(name) as file:
            data = file.read()
    if len(data) > MAX_LINES_BYTES:
        raise UsageError(f"{name} is larger than {MAX_LINES_BYTES // 2**20} MB", hint="Split it.")
    lines, faults = read_lines("stdin" if name == "-" else name, data, tags)
    if not faults and not lines:
        raise UsageError(f"{name} has no rules", hint='One object a line: {"rule": "Use tabs."}')
    for fault in faults[1:_FAULTS]:
        here.out.fail(f"{fault.path}:{fault.line}: {fault.message}", fault.hint)
    if len(faults) > _FAULTS:
        here.out.say(f"and {plural(len(faults) - _FAULTS, 'more line')}")
    if faults:
        here.out.say(
            f"nothing was added: {len(faults):,} of {plural(len(faults) + len(lines), 'line')} are wrong"
        )
        first = faults[0]
        raise ParseError(first.message, path=first.path, line=first.line, hint=first.hint)
    return lines
