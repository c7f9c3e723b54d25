"""What differs between a pack before a pin, another budget or another model, and after it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from screens.plan.candidates import FILES, IN, PackCandidate, ShownPlan
from workbench.text.counts import counted
from workbench.text.sanitize import visible_line

_NAMES: Final = 2


def pack_difference(before: ShownPlan, after: ShownPlan) -> str:
    """Return in a few words what came into a pack, what went out or has another form, and the tokens."""
    old, new = ({one.key: one for one in plan.candidates if one.state == IN} for plan in (before, after))
    parts = [
        f"{sign}{_count(some)}"
        for sign, some in (
            ("+", [one for key, one in new.items() if key not in old]),
            ("−", [one for key, one in old.items() if key not in new]),
        )
        if some
    ]
    if other := sum(key in old and old[key].form != one.form for key, one in new.items()):
        parts.append(f"{other:,} in another form")
    tokens = after.response.budget_report.estimated_used - before.response.budget_report.estimated_used
    if tokens:
        parts.append(f"{'+' if tokens > 0 else '−'}{counted(abs(tokens), 'token')}")
    return " · ".join(parts)


def _count(some: Sequence[PackCandidate]) -> str:
    """Return how many of each kind, the first files by their names: `2 files (cart.py, tax.py), 1 rule`."""
    kinds: dict[str, list[PackCandidate]] = {}
    for one in some:
        kinds.setdefault(one.kind, []).append(one)
    found = []
    for kind, those in kinds.items():
        names = [visible_line(one.title) for one in those[:_NAMES]] if kind == FILES else []
        more = " …" if names and len(those) > _NAMES else ""
        found.append(
            counted(len(those), kind.removesuffix("s")) + (f" ({', '.join(names)}{more})" if names else "")
        )
    return ", ".join(found)
