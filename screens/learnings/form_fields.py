"""A learning as fields of a form, and what is written there as values of the record. Pure.

Scopes and files are written an entry a line, because their names may hold commas.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from screens.rules.form_fields import problems as rule_problems
from screens.widgets.overtaken import Wording
from screens.widgets.record_fields import Field
from workbench.memory.learnings.bodies import problems as record_problems
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


def edit_fields(one: FeatureLearning) -> tuple[Field, ...]:
    """Return the fields of a learning that people decide."""
    return (
        Field("text", LABELS["text"], one.text, "long", required=True, help="new words count as a review"),
        Field("reason", LABELS["reason"], one.reason, required=True, help="why it exists"),
        Field("feature", LABELS["feature"], one.feature, required=True),
        Field("task_id", LABELS["task_id"], one.task_id or "", help="empty: for the whole feature"),
        Field("kind", LABELS["kind"], one.kind.value, "choice", _KINDS, required=True),
        Field("scope", LABELS["scope"], "\n".join(one.scope), "long", help="a glob a line; empty: all"),
    )


def new_fields(feature: str) -> tuple[Field, ...]:
    """Return the fields of a learning that is added by hand."""
    return (
        Field(
            "text",
            "Text",
            "",
            "long",
            required=True,
            help=f"at most {MAX_TEXT} characters; secrets are masked",
        ),
        Field("reason", "Why", "", required=True, help="why it is worth knowing"),
        Field("feature", "Feature", feature or "general", required=True),
        Field("task_id", "Task", "", help="empty: for the whole feature"),
        Field("kind", "Kind", LearningKind.NOTE.value, "choice", _KINDS, required=True),
        Field("files", "Files", "", "long", help="where it was seen, a path a line"),
        Field(
            OWNER,
            "Whose",
            "project",
            "choice",
            ("project", MINE),
            required=True,
            help="mine: in all projects",
        ),
    )


def promote_fields(one: FeatureLearning) -> tuple[Field, ...]:
    """Return the fields of the rule that a learning becomes."""
    return rule_fields(one.text, one.scope)


def rule_fields(text: str, scope: Sequence[str] = ()) -> tuple[Field, ...]:
    """Return the fields of a rule that is made of a text."""
    return (
        Field("rule", "Rule", text, "long", required=True, help="as an instruction to your agents"),
        Field("authority", "Authority", str(Authority.DEFAULT), "choice", tuple(Authority), required=True),
        Field("scope", "Only files", "\n".join(scope), "long", help="a glob a line; empty: all"),
        Field("reason", "Why", "", help="for the history"),
    )


def given(name: str, value: Any) -> Any:
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
    return {name: given(name, value) for name, value in values.items()}


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
    found["scope"] = tuple(f"{PATH_SCOPE}{glob}" for glob in given("scope", values["scope"]))
    if values["authority"] == Authority.ABSOLUTE:
        found["authority"] = Authority.ABSOLUTE
    return found


def promote_problems(values: Mapping[str, Any]) -> dict[str, str]:
    """Return what is wrong with a rule, by field of the form."""
    return rule_problems({"rule": values["rule"]})


def written(name: str, value: Any) -> str:
    """Return a field's value as a form writes it."""
    if name in LINES:
        return "\n".join(value)
    return "" if value is None else str(value)


WORDING: Final = Wording(
    LABELS,
    frozenset({"text", "reason", "feature", "scope"}),
    written,
    given,
    lambda name, text: problems({name: text}).get(name, ""),
)
"""How a learning that two changed at once is laid out."""
