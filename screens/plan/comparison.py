"""What differs between two plans: baseline and hybrid side by side, and a pack before and after a change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from screens.plan.candidates import FILES, IN, ShownPlan
from workbench.plan.response import top_reasons
from workbench.text.counts import counted, shorten_middle
from workbench.text.sanitize import visible_line

if TYPE_CHECKING:
    from workbench.plan.pipeline import Plan

_PLACES: Final = 20
_NAMES: Final = 2
_MOVE: Final = 6  # cells of how far a file moved


def pack_difference(before: ShownPlan, after: ShownPlan) -> str:
    """Return in a few words which files came into a pack and which went out, "" for none."""
    old, new = (
        {one.name: one.title for one in plan.candidates if one.kind == FILES and one.state == IN}
        for plan in (before, after)
    )
    parts = []
    for sign, names in (
        ("+", [title for name, title in new.items() if name not in old]),
        ("−", [title for name, title in old.items() if name not in new]),
    ):
        if names:
            more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
            parts.append(f"{sign} {', '.join(map(visible_line, names[:_NAMES]))}{more}")
    return " · ".join(parts)


def side_by_side(hybrid: Plan, baseline: Plan, width: int) -> Iterator[str]:
    """Yield lines of at most `width` cells: the first files of both, what moved how far, and why."""
    places = {one.path: place for place, one in enumerate(baseline.ranked, 1)}
    packed, routed = ({one.path for one, _ in plan.pack.files} for plan in (hybrid, baseline))
    column = max((width - _MOVE - 7) // 3, 12)
    yield f"    {'baseline':<{column}} {'hybrid':<{column + 2}} {'moved':>{_MOVE}}  why"
    for place in range(_PLACES):
        left = right = why = move = ""
        if place < len(baseline.ranked):
            path = baseline.ranked[place].path
            left = _cell(path, path in routed, column)
        if place < len(hybrid.ranked):
            found = hybrid.ranked[place]
            right = _cell(found.path, found.path in packed, column)
            move = _moved(places.get(found.path), place + 1)
            why = ", ".join(words for words, _ in top_reasons(found.contributions, 1))
        if left or right:
            line = f"{place + 1:>2}  {left:<{column}} {right:<{column + 2}} {move:>{_MOVE}}  "
            yield (line + shorten_middle(why, max(width - len(line), 1))).rstrip()
    yield ""
    kind = baseline.intent.predicted
    yield f"baseline orders by the layers of the kind of task ({kind}), hybrid by the learned ranking"
    yield f"✓ in its pack: {counted(len(packed & routed), 'file')} in both"
    for name, alone in (("hybrid", packed - routed), ("baseline", routed - packed)):
        yield f"in the pack of {name} alone: {len(alone)}"
        yield from (f"  {visible_line(path)}" for path in sorted(alone))


def _cell(path: str, inside: bool, width: int) -> str:
    """Return a path, marked if it is in the pack."""
    return f"{'✓' if inside else ' '} {shorten_middle(visible_line(path), width - 2)}"


def _moved(before: int | None, now: int) -> str:
    if before is None:
        return "new"
    return "=" if before == now else f"▲{before - now:,}" if before > now else f"▼{now - before:,}"
