"""A learning as fields of a form: their values there, in the record, and as options of a command line. Pure.

Scopes and files are written one entry a line, because their names may hold commas.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from screens.curation.record_form import RecordFields
from screens.rules.rule_form import problems as rule_problems
from screens.widgets.form import FormField
from workbench.memory.learnings.learningtype import problems as record_problems
from workbench.records.learnings import MAX_TEXT, FeatureLearning, LearningKind, LearningSource
from workbench.records.rules import PATH_SCOPE, Authority

LABELS: Final[Mapping[str, str]] = {
    "text": "Text",
    "reason": "Why",
    "feature": "Feature",
    "task_id": "Task",
    "kind": "Kind",
    "scope": "Only files",
}
"""What the fields of a learning are called that people edit, in the order they are shown."""

LINES: Final = frozenset({"scope", "files"})

OWNER: Final = "whose"

MINE: Final = "mine"

_SAMPLE: Final = FeatureLearning("", "a text", "a reason", LearningSource.HUMAN, feature="general")

_KINDS: Final = tuple(kind.value for kind in LearningKind)


def edit_fields(one: FeatureLearning) -> tuple[FormField, ...]:
    """Return the fields of a learning that people decide."""
    return (
        FormField(
            "text", LABELS["text"], one.text, "long", required=True, help="new words count as a review"
        ),
        FormField("reason", LABELS["reason"], one.reason, required=True, help="why it exists"),
        FormField("feature", LABELS["feature"], one.feature, required=True),
        FormField("task_id", LABELS["task_id"], one.task_id or "", help="empty: for the whole feature"),
        FormField("kind", LABELS["kind"], one.kind.value, "choice", _KINDS, required=True),
        FormField("scope", LABELS["scope"], "\n".join(one.scope), "long", help="a glob a line; empty: all"),
    )


def new_fields(feature: str) -> tuple[FormField, ...]:
    """Return the fields of a learning that is added by hand."""
    return (
        FormField(
            "text",
            "Text",
            "",
            "long",
            required=True,
            help=f"at most {MAX_TEXT} characters; secrets are masked",
        ),
        FormField("reason", "Why", "", required=True, help="why it is worth knowing"),
        FormField("feature", "Feature", feature or "general", required=True),
        FormField("task_id", "Task", "", help="empty: for the whole feature"),
        FormField("kind", "Kind", LearningKind.NOTE.value, "choice", _KINDS, required=True),
        FormField("files", "Files", "", "long", help="where it was seen, a path a line"),
        FormField(
            OWNER,
            "Whose",
            "project",
            "choice",
            ("project", MINE),
            required=True,
            help="mine: in all projects",
        ),
    )


def promote_fields(one: FeatureLearning) -> tuple[FormField, ...]:
    """Return the fields of the rule that a learning becomes."""
    return rule_fields(one.text, one.scope)


def rule_fields(text: str, scope: Sequence[str] = ()) -> tuple[FormField, ...]:
    """Return the fields of a rule that is made of a text."""
    return (
        FormField("rule", "Rule", text, "long", required=True, help="as an instruction to your agents"),
        FormField(
            "authority", "Authority", str(Authority.DEFAULT), "choice", tuple(Authority), required=True
        ),
        FormField("scope", "Only files", "\n".join(scope), "long", help="a glob a line; empty: all"),
        FormField("reason", "Why", "", help="for the history"),
    )


def parse_value(name: str, value: Any) -> Any:  # noqa: ANN401 - a field of any type
    """Return a form's value as the record holds it."""
    if name in LINES:
        return tuple(dict.fromkeys(line.strip() for line in str(value).split("\n") if line.strip()))
    if name == "task_id":
        return str(value).strip() or None
    if name == "kind":
        return LearningKind(value)
    return str(value).strip()


def record_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a form's values as the record holds them."""
    return {name: parse_value(name, value) for name, value in values.items()}


def problems(values: Mapping[str, Any]) -> dict[str, str]:
    """Return what is wrong with a form's values, by field."""
    found = {}
    for name, value in record_values({key: value for key, value in values.items() if key != OWNER}).items():
        wrong = record_problems(replace(_SAMPLE, **{name: value}))
        if wrong:
            found[name] = "; ".join(wrong)
    return found


def promote_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of the rule differs from what the learning makes by itself, and the reason."""
    found: dict[str, Any] = {"reason": str(values["reason"]).strip(), "rule": str(values["rule"]).strip()}
    found["scope"] = tuple(f"{PATH_SCOPE}{glob}" for glob in parse_value("scope", values["scope"]))
    if values["authority"] == Authority.ABSOLUTE:
        found["authority"] = Authority.ABSOLUTE
    return found


def promote_problems(values: Mapping[str, Any]) -> dict[str, str]:
    """Return what is wrong with a rule, by field of the form."""
    return rule_problems({"rule": values["rule"]})


def format_value(name: str, value: Any) -> str:  # noqa: ANN401 - a field of any type
    """Return a field's value as a form writes it."""
    if name in LINES:
        return "\n".join(value)
    return "" if value is None else str(value)


LEARNING_FIELDS: Final = RecordFields(
    LABELS, frozenset({"text", "reason", "feature", "scope"}), format_value, record_values, problems
)
"""How the fields of a learning are called, written and read."""

SHORT: Final = 17  # characters that tell learnings apart

_EDIT: Final = {"text": "--text", "reason": "--why", "feature": "--feature", "kind": "--kind"}


def decide_command(verb: str, identifiers: Sequence[str]) -> list[str]:
    """Return the command that accepts, rejects, retires or restores learnings."""
    return ["memory", verb, *(one[:SHORT] for one in identifiers)]


def edit_command(identifier: str, changes: Mapping[str, Any]) -> list[str]:
    """Return the command that edits a learning."""
    words = ["memory", "edit", identifier[:SHORT]]
    for name, value in changes.items():
        if name == "task_id":
            words += ["--whole-feature"] if value is None else ["--task", value]
        elif name == "scope":
            words += [word for glob in value for word in ("--scope", glob)] or ["--everywhere"]
        else:
            words += [_EDIT[name], str(value)]
    return words


def add_command(values: Mapping[str, Any]) -> list[str]:
    """Return the command that adds a learning."""
    words = ["memory", "add", values["text"], "--feature", values["feature"], "--reason", values["reason"]]
    words += ["--task", values["task_id"]] if values["task_id"] else []
    words += ["--kind", str(values["kind"])]
    words += [word for file in values["files"] for word in ("--file", file)]
    return [*words, "--personal"] if values[OWNER] == MINE else words


def promote_command(identifier: str, text: str, fields: Mapping[str, Any]) -> list[str]:
    """Return the command that makes a rule of a learning whose text is `text`."""
    words = ["memory", "promote", identifier[:SHORT]]
    words += ["--text", fields["rule"]] if fields["rule"] != text else []
    words += ["--absolute"] if fields.get("authority") is Authority.ABSOLUTE else []
    words += [word for one in fields["scope"] for word in ("--scope", one.removeprefix(PATH_SCOPE))]
    return [*words, "--reason", fields["reason"]] if fields["reason"] else words


def rule_command(fields: Mapping[str, Any]) -> list[str]:
    """Return the command that adds a rule."""
    words = ["rules", "add", fields["rule"]]
    words += ["--authority", "absolute"] if fields.get("authority") is Authority.ABSOLUTE else []
    words += [word for one in fields["scope"] for word in ("--scope", one)]
    return [*words, "--reason", fields["reason"]]


def prompt_command(feature: str, task: str, budget: int) -> list[str]:
    """Return the command that prints what was learned for a prompt."""
    words = ["memory", "prompt", "--feature", feature, *(("--task", task) if task else ())]
    return [*words, "--budget", str(budget)]
