"""The gates of a run: how each stands by a glyph and its figure, and why. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from textual.content import Content

from screens.safe_text import shown

if TYPE_CHECKING:
    from workbench.replay.gates import Gate

_STATES: Final = {
    "pass": ("✓", "$text-success"),
    "fail": ("✗", "bold $text-error"),
    "missing": ("?", "bold $text-warning"),
}


def gates_text(gates: Sequence[Gate] | None) -> Content:
    """Return a line for each gate, below it the reason of one that is not passed; None: not judged yet."""
    if gates is None:
        return shown("Not judged yet: e judges the gates G1 to G7 of this run.", "$text-muted italic")
    names = max((len(gate.name) for gate in gates), default=0)
    lines = [Content.styled("Gates", "bold")]
    for gate in gates:
        mark, tone = _STATES[str(gate.state)]
        lines.append(
            Content.assemble(
                (f"{mark} ", tone),
                shown(f"{gate.id} {gate.name:<{names}}  ", "bold"),
                shown(gate.measured),
                shown(f"   wanted: {gate.wanted}", "$text-muted"),
            )
        )
        if gate.reason and str(gate.state) != "pass":
            lines.append(shown(f"     {gate.reason}", "$text-muted"))
    return Content("\n").join(lines)


def gates_sentence(gates: Sequence[Gate]) -> str:
    """Return how many passed: `5 of 6 gates passed: G3 failed`."""
    passed = sum(str(gate.state) == "pass" for gate in gates)
    others = ", ".join(
        f"{gate.id} {'failed' if str(gate.state) == 'fail' else 'could not be judged'}"
        for gate in gates
        if str(gate.state) != "pass"
    )
    return f"{passed} of {len(gates)} gates passed" + (f": {others}" if others else "")
