"""Rules: instructions of a person or a project to its agents, with what it takes to fetch and match them.

Field names follow the payload schema of [rules] and the matching fields of [adr2] (`design.md` §5).
"""

from __future__ import annotations

import hashlib
from dataclasses import field
from enum import StrEnum
from typing import Any, Final

from workbench.records.dataclass import dataclass


class Category(StrEnum):
    """What a rule speaks about."""

    PREFERENCE = "preference"
    BEHAVIOR = "behavior"
    AGENT = "agent"


class Authority(StrEnum):
    """Whether a rule may be left out: absolute rules hold always, default rules where they are relevant."""

    ABSOLUTE = "absolute"
    DEFAULT = "default"


class Level(StrEnum):
    """How narrow a rule is [adr2]: everywhere, in a part of the project, at one step of the work."""

    GLOBAL = "global"
    SCENARIO = "scenario"
    STEP = "step"


class Decision(StrEnum):
    """What happens to a tool call."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


class Activation(StrEnum):
    """When the agent a rule file was written for reads it."""

    ALWAYS = "always"  # at the start of every session
    PATHS = "paths"  # when a file that its globs match is touched
    REQUESTED = "requested"  # when its description fits the task
    MANUAL = "manual"  # when the user names it


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a rule is in a file.

    `file` is project-relative with posix separators, or starts with `~/` for the user's home. `line` and
    `end_line` are 1-based and inclusive. `globs` limit it to paths, as the file's own format says them,
    already anchored at the file's directory. `section` is the path of headings above it. `names` are other
    names of the same file (symlinks, identical copies).
    """

    file: str
    line: int
    end_line: int
    format: str
    home: bool = False
    globs: tuple[str, ...] = ()
    section: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    activation: Activation = Activation.ALWAYS


@dataclass(frozen=True, slots=True)
class Check:
    """What a breach of a rule looks like before a tool runs: every field that is given has to hold.

    `tools` are names of the agent's tools, any case, `*` for any run of characters. `paths` are gitignore
    globs, one of which a path in the call's input matches; with `writes` they count only where the call
    changes them. `command` is a shell command as words, `*` for any run of characters in a word: `git push
    --force`; of several, one a line, one is enough. `pattern` is a regular expression (RE2) searched in the
    input's texts, those that an edit replaces aside. `decision` is what a breach gets and `reason` what the
    agent reads, the rule's text if empty.
    """

    tools: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    command: str = ""
    pattern: str = ""
    decision: Decision = Decision.ASK
    reason: str = ""
    writes: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """One instruction.

    `scope` is empty for a rule that holds everywhere; its entries are context names (`git`) or, with the
    prefix `path:`, globs. `priority` is 0 to 100 within its authority. `token_cost` counts tokens of `rule`.
    `cooldown` is in seconds after `last_used`. Times are ISO 8601 in UTC, empty where unknown. `conditions`
    maps a fact's name to the value, or the list of values, under which the rule holds. `examples` are
    messages the rule matches; each has its own embedding and the best one counts. `check` is what a breach
    looks like, for rules that can be enforced.
    """

    id: str
    name: str
    rule: str
    category: Category = Category.BEHAVIOR
    authority: Authority = Authority.DEFAULT
    scope: tuple[str, ...] = ()
    source: str = "user"
    conditions: dict[str, Any] = field(default_factory=dict)
    replaces: tuple[str, ...] = ()
    created_at: str = ""
    updated_at: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)
    project_id: str | None = None
    tool_targets: tuple[str, ...] = ()
    priority: int = 50
    token_cost: int = 0
    usage_count: int = 0
    last_used: str | None = None
    tags: tuple[str, ...] = ()
    version: int = 1
    condition_text: str = ""
    action_text: str = ""
    level: Level = Level.GLOBAL
    enabled: bool = True
    cooldown: int = 0
    examples: tuple[str, ...] = ()
    provenance: Provenance | None = None
    check: Check | None = None


@dataclass(frozen=True, slots=True)
class ContextRules:
    """The composite answer: every absolute rule, and the best default ones with their relevance."""

    absolute: tuple[Rule, ...]
    default: tuple[tuple[Rule, float], ...]

    @property
    def rules(self) -> tuple[Rule, ...]:
        """All of them, absolute ones first."""
        return self.absolute + tuple(rule for rule, _ in self.default)


def is_unenforced(rule: Rule) -> bool:
    """Whether a rule in force is absolute and has no check: agents read it, and no hook enforces it."""
    return rule.enabled and rule.check is None and rule.authority is Authority.ABSOLUTE


PATH_SCOPE = "path:"


def rule_file(rule: Rule) -> str:
    """Return the file a rule is from or is to be written into, '' for none."""
    return "" if rule.provenance is None else rule.provenance.file


def path_globs(scope: tuple[str, ...]) -> tuple[str, ...]:
    """Return the globs among scope entries, without their prefix."""
    return tuple(entry[len(PATH_SCOPE) :] for entry in scope if entry.startswith(PATH_SCOPE))


def context_names(scope: tuple[str, ...]) -> tuple[str, ...]:
    """Return the scope entries that are context names."""
    return tuple(entry for entry in scope if not entry.startswith(PATH_SCOPE))


def rule_id(owner: str, file: str, text: str, occurrence: int = 0) -> str:
    """Return the id of a rule imported from a file: the same text in the same file keeps its id.

    `owner` is the project's id, or `home`. White space and case don't count; `occurrence` numbers equal texts
    of one file, in order.
    """
    normal = " ".join(text.split()).casefold()
    key = "\0".join((owner, file, normal, str(occurrence)))
    return "rule-" + hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:20]


def match_text(rule: Rule) -> str:
    """Return the text that represents a rule in search: its condition, then its action [adr2]."""
    return f"{rule.condition_text}\n{rule.action_text or rule.rule}".strip()


HISTORY: Final = "version_history"
"""The key of `metadata` that lists the versions of a rule, oldest first."""


def value_problems(rule: Rule) -> tuple[str, ...]:
    """Return what is wrong with a rule's values, its check aside, one sentence each; empty for a good one."""
    found = []
    if not rule.id.strip():
        found.append("id is empty")
    if not rule.rule.strip():
        found.append("rule is empty")
    if not 0 <= rule.priority <= 100:
        found.append(f"priority {rule.priority} is outside 0 to 100")
    found.extend(
        f"{name} {value} is negative"
        for name, value in (
            ("token_cost", rule.token_cost),
            ("usage_count", rule.usage_count),
            ("cooldown", rule.cooldown),
        )
        if value < 0
    )
    if rule.version < 1:
        found.append(f"version {rule.version} is below 1")
    if rule.id in rule.replaces:
        found.append("it replaces itself")
    return tuple(found)


def past_ids(rule: Rule) -> tuple[str, ...]:
    """Return the ids of a rule's earlier versions, oldest first, without its own."""
    history = rule.metadata.get(HISTORY)
    entries = history if isinstance(history, (list, tuple)) else ()
    listed = [str(item.get("rule_id", "")) for item in entries if isinstance(item, dict)]
    return tuple(dict.fromkeys(found for found in (*listed, *rule.replaces) if found and found != rule.id))
