"""What the planner is asked: the task and everything the keys of the section decide, as one value.

Every change is a new value, so that a running plan knows what it was asked, and the command line that does
the same can be logged exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from screens.sitting import text_of, texts_of
from workbench.records.plan import PlanRequest, QueryType

MIN_BUDGET: Final = 50
MAX_BUDGET: Final = 1_000_000
KINDS: Final = tuple(kind.value for kind in QueryType if kind is not QueryType.UNKNOWN)
_FINE, _COARSE, _FINE_UNTIL = 250, 1_000, 4_000
_MOST_OVERRIDES: Final = 500


@dataclass(frozen=True, slots=True)
class PlanQuery:
    """A task and how to plan it. `budget` 0 and `strict` None mean what the settings say."""

    task: str = ""
    budget: int = 0
    baseline: bool = False
    query_type: str = ""
    strict: bool | None = None
    pinned: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()

    @property
    def blank(self) -> bool:
        """Whether there is no task."""
        return not self.task.strip()

    def pinning(self, names: Iterable[str]) -> PlanQuery:
        """Return it with all of these pinned, or with none of them if all were."""
        return _toggle(self, tuple(names), pin=True)

    def excluding(self, names: Iterable[str]) -> PlanQuery:
        """Return it with all of these excluded, or with none of them if all were."""
        return _toggle(self, tuple(names), pin=False)

    def without(self, names: Iterable[str]) -> PlanQuery:
        """Return it with no override of these."""
        gone = frozenset(names)
        return replace(
            self,
            pinned=tuple(name for name in self.pinned if name not in gone),
            excluded=tuple(name for name in self.excluded if name not in gone),
        )

    def request(self, root: str, budget: int, strict: bool) -> PlanRequest:
        """Return the request, with what the settings say where nothing else was decided."""
        return PlanRequest(
            project_root=root,
            task=self.task,
            query_type=QueryType(self.query_type) if self.query_type else None,
            token_budget=self.budget or budget,
            strict=strict if self.strict is None else self.strict,
            pinned=self.pinned,
            excluded=self.excluded,
        )

    def arguments(self, *more: str) -> tuple[str, ...]:
        """Return the command line that plans the same, without the program's name."""
        options: list[str] = []
        if self.budget:
            options += ["--budget", str(self.budget)]
        if self.query_type:
            options += ["--query-type", self.query_type]
        if self.baseline:
            options.append("--baseline")
        if self.strict:
            options.append("--strict")
        for name in self.pinned:
            options += ["--pin", name]
        for name in self.excluded:
            options += ["--exclude", name]
        task = ("--", self.task) if self.task.startswith("-") else (self.task,)
        return ("plan", *options, *more, *task)


def step_budget(budget: int, steps: int) -> int:
    """Return a budget some steps larger or smaller, on a multiple of the step, which grows with it."""
    for _ in range(abs(steps)):
        step = _FINE if budget < _FINE_UNTIL or (steps < 0 and budget == _FINE_UNTIL) else _COARSE
        budget = (budget // step + 1) * step if steps > 0 else (-(-budget // step) - 1) * step
    return min(max(budget, MIN_BUDGET), MAX_BUDGET)


def check_budget(text: str) -> str:
    """Return what is wrong with a budget that was typed, "" if nothing is."""
    digits = text.strip().replace(",", "").replace("_", "")
    if not digits.isascii() or not digits.isdigit():
        return "a number of tokens, such as 3000"
    return (
        "" if MIN_BUDGET <= int(digits[:12]) <= MAX_BUDGET else f"from {MIN_BUDGET} to {MAX_BUDGET:,} tokens"
    )


def parse_budget(text: str) -> int:
    """Return a budget that was typed and is not wrong."""
    return int(text.strip().replace(",", "").replace("_", ""))


def dump_query(asked: PlanQuery) -> dict[str, Any]:
    """Return what is asked as JSON values."""
    return {
        "task": asked.task,
        "budget": asked.budget,
        "baseline": asked.baseline,
        "query_type": asked.query_type,
        "strict": asked.strict,
        "pinned": list(asked.pinned),
        "excluded": list(asked.excluded),
    }


def load_query(values: Mapping[str, Any]) -> PlanQuery:
    """Return what was kept; what is missing or of another kind is as at first."""
    budget, strict = values.get("budget"), values.get("strict")
    sound = isinstance(budget, int) and not isinstance(budget, bool) and MIN_BUDGET <= budget <= MAX_BUDGET
    pinned = _names(values, "pinned")
    return PlanQuery(
        task=text_of(values, "task"),
        budget=budget if sound and isinstance(budget, int) else 0,
        baseline=values.get("baseline") is True,
        query_type=text_of(values, "query_type", among=KINDS),
        strict=strict if isinstance(strict, bool) else None,
        pinned=pinned,
        excluded=tuple(name for name in _names(values, "excluded") if name not in pinned),
    )


def _names(values: Mapping[str, Any], name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, texts_of(values, name))))[:_MOST_OVERRIDES]


def _toggle(asked: PlanQuery, names: tuple[str, ...], *, pin: bool) -> PlanQuery:
    held = asked.pinned if pin else asked.excluded
    rest = asked.without(names)
    if all(name in held for name in names):
        return rest
    if pin:
        return replace(rest, pinned=(*rest.pinned, *dict.fromkeys(names)))
    return replace(rest, excluded=(*rest.excluded, *dict.fromkeys(names)))
