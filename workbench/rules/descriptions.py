"""A rule in words: where it is, and its fields by name. The command line and the screens say the same."""

from __future__ import annotations

import json
import os
import re
from typing import Any, Final

from workbench.records.rules import Rule
from workbench.rules.curation.ruletype import to_body
from workbench.rules.curation.versions import ORDERS, is_held_back
from workbench.text.counts import plural

_FORBIDDING: Final = (
    r"\W*(?:(?:things|what) (?:to|you must) )?(?:do not|don['’]?ts?|never|not do|avoid|forbidden|prohibited"
    r"|not allowed|anti-?patterns?)(?: do| these| this| the following)?\W*"
)
"""A heading over what must not be done: `Do NOT`, `Anti-patterns:`."""

_DENYING: Final = (
    r"\W*(?:do not|don['’]?t|never|avoid|no|not|must not|mustn['’]?t|cannot|can['’]?t|without)\b"
)


def forbidding_heading(rule: Rule) -> str:
    """Return the heading right above a rule if it forbids what is listed under it, else nothing."""
    section = rule.provenance.section if rule.provenance is not None else ()
    heading = section[-1].strip() if section else ""
    return heading if re.fullmatch(_FORBIDDING, heading, re.IGNORECASE) else ""


def instruction(rule: Rule) -> str:
    """Return a rule as an agent may be given it without its file: "Do NOT: Commit `.env` files".

    Under a heading that forbids, words that forbid nothing by themselves would say the opposite.
    """
    heading = forbidding_heading(rule)
    if not heading or re.match(_DENYING, rule.rule, re.IGNORECASE):
        return rule.rule
    return f"{heading.rstrip(':').rstrip()}: {rule.rule}"


def origin(rule: Rule) -> str:
    """Return where a rule is: `CLAUDE.md:12`, the file it waits to be written into, or its source."""
    where = rule.provenance
    if where is None:
        return "your own" if rule.project_id is None and rule.source == "user" else rule.source
    return f"{where.file}:{where.line}" if where.line else where.file


def place(rule: Rule) -> tuple[Any, ...]:
    """Return the sort key that orders rules by file and line, those of no file last."""
    if rule.provenance is None:
        return (1, rule.source, 0, rule.id)
    return (0, rule.provenance.file, rule.provenance.line, rule.id)


class FileNames:
    """Under which names files of rules are known: their own, those of links and copies, the target's."""

    def __init__(self, root: str) -> None:
        self.root = os.path.realpath(root)
        self._known: dict[tuple[str, ...], frozenset[str]] = {}

    def of(self, rule: Rule) -> frozenset[str]:
        """Return the names of a rule's file; none for a rule of no file."""
        where = rule.provenance
        names = () if where is None else (where.file, *where.names)
        found = self._known.get(names)
        if found is None:
            found = self._known[names] = frozenset((*names, *map(self.resolve, names)))
        return found

    def resolve(self, name: str) -> str:
        """Return the name of the file that a name leads to; an absolute path outside of the project."""
        place = os.path.realpath(os.path.join(self.root, os.path.expanduser(name)))
        inside = os.path.relpath(place, self.root)
        return place if inside.startswith("..") else inside.replace(os.sep, "/")


def details(rule: Rule) -> list[tuple[str, str]]:
    """Return the fields of a rule besides its text, by name; what is empty or usual is left out."""
    where = rule.provenance
    lines: list[tuple[str, str]] = [("id", rule.id), ("name", rule.name), ("origin", origin(rule))]
    if where is not None:
        lines += [("also", name) for name in where.names]
        lines += [("section", " > ".join(where.section)), ("holds", str(where.activation))]
    lines += [
        ("owner", "you, in all projects" if rule.project_id is None else rule.project_id),
        ("authority", str(rule.authority)),
        ("category", str(rule.category)),
        ("priority", str(rule.priority)),
        ("level", str(rule.level)),
        ("tokens", str(rule.token_cost)),
        ("enabled", enabled_text(rule)),
        ("scope", ", ".join(rule.scope)),
        ("tools", ", ".join(rule.tool_targets)),
        ("tags", ", ".join(rule.tags)),
        ("condition", rule.condition_text),
        ("when", ", ".join(f"{name}={value}" for name, value in sorted(rule.conditions.items()))),
        ("cooldown", f"{rule.cooldown} s" if rule.cooldown else ""),
    ]
    lines += [("example", text) for text in rule.examples]
    lines.append(("check", check_text(rule)))
    used = (
        f"{plural(rule.usage_count, 'time')}, last {rule.last_used or 'never'}"
        if rule.usage_count
        else "never"
    )
    lines += [
        ("version", str(rule.version)),
        ("replaces", ", ".join(rule.replaces)),
        ("created", rule.created_at),
        ("updated", rule.updated_at),
        ("used", used),
    ]
    return [(name, text) for name, text in lines if text]


def enabled_text(rule: Rule) -> str:
    """Return whether a rule is out of force and why, "" for one in force."""
    if is_held_back(rule):
        patterns = ", ".join(rule.metadata[ORDERS])
        return f"no, because it orders the assistant about ({patterns}); enable it if it is meant"
    return "" if rule.enabled else "no"


def check_text(rule: Rule) -> str:
    """Return a rule's check as JSON without what is empty in it, "" if it has none."""
    if rule.check is None:
        return ""
    fields = to_body(rule)["check"]
    return json.dumps({name: value for name, value in fields.items() if value}, ensure_ascii=False)
