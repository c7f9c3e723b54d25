"""What the section of models shows: a row a model, the packaged one among them, and the story of one."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from textual.content import Content

from screens.safe_text import safe
from workbench.records.dataclass import dataclass
from workbench.text.counts import plural
from workbench.text.sanitize import visible_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workbench.records.answers.models import ModelEntry, ModelStatus

PACKAGED: Final = "packaged"
"""The kind of the model that comes with the program."""
RANKING: Final = frozenset({"linear", "trees"})
"""The kinds of models of which one takes the place of the packaged one."""
LEAST: Final = 50
"""Tasks that a training takes at the least."""
USUAL: Final = 500
"""Tasks below which a training is refused unless less is asked for, as on the command line."""
_ON_THE_WAY_BACK: Final = "\n\nb  goes back to the model before, at last to it"


@dataclass(frozen=True, slots=True)
class ModelLine:
    """A row: a model of the project, or the packaged one, which has no entry."""

    id: str
    kind: str
    used: bool
    entry: ModelEntry | None = None


def model_lines(found: ModelStatus) -> tuple[ModelLine, ...]:
    """Return the rows: the project's models, then the packaged one; it ranks where no other orders files."""
    alone = not RANKING & found.active.keys()
    own = [ModelLine(one.model_id, one.model_kind, one.active, one) for one in found.models]
    return (*own, ModelLine(found.packaged, PACKAGED, alone))


def model_cells(line: ModelLine) -> tuple[Content, ...]:
    """Return a row's cells: state, id, kind, when it was made, tasks, and what it gained on later ones."""
    entry = line.entry
    if entry is None:
        state = Content.styled("●", "$text-success") if line.used else Content("")
        return (state, safe(line.id, "bold"), safe(line.kind), *(Content("·"),) * 3, Content(""))
    made, metrics = entry.provenance, entry.provenance.metrics
    gain = metrics["after"] - metrics["before"] if {"before", "after"} <= metrics.keys() else None
    return (
        _state(entry),
        safe(line.id, "bold"),
        safe(line.kind),
        Content(time.strftime("%m-%d %H:%M", time.localtime(entry.created_at))),
        Content(f"{made.samples:,}" if made.samples else "·"),
        Content("·" if gain is None else f"{gain:+.3f}"),
        _remark(entry),
    )


def _state(entry: ModelEntry) -> Content:
    if entry.fault:
        return Content.styled("✗", "$text-error")
    if entry.active:
        return Content.styled("●", "$text-success")
    return Content.styled("◐", "$text-warning") if entry.canary else Content("")


def _remark(entry: ModelEntry) -> Content:
    if entry.fault:
        return safe(f"cannot be used: {entry.fault}", "$text-error")
    if entry.canary:
        return Content(f"tried on {entry.canary:.0%} of plans")
    return Content("in use" if entry.active else "")


def kind_to_roll_back(found: ModelStatus, line: ModelLine | None) -> str:
    """Return of which kind a model is given up, "" for none: the one tried, of the row, or what orders files.

    It is the kind that `workbench model rollback --kind` takes.
    """
    tried = "" if found.canary is None else found.canary.model_id
    canary = next((one.model_kind for one in found.models if one.model_id == tried), "")
    row = line.kind if line is not None and line.kind in found.active else ""
    return canary or row or next((kind for kind in sorted(found.active) if kind in (*RANKING, "adapter")), "")


def training_minimum(tasks: int) -> int:
    """Return the fewest tasks a training is asked for unless somebody says so, 0 where there are too few."""
    return 0 if tasks < LEAST else USUAL if tasks >= USUAL else LEAST


def headline(found: ModelStatus) -> str:
    """Return in a line what plans rank with."""
    return f"plans rank with {', without embeddings with '.join(dict.fromkeys(found.ranking.values()))}"


def progress_line(found: ModelStatus) -> str:
    """Return in a line how a canary does, else what came of the last training."""
    one = found.canary
    if one is not None:
        return (
            f"{one.model_id} is tried on {one.share:.0%} of plans: {one.scored} of {one.needed} sessions "
            f"scored, nDCG@10 {one.gain:+.3f}"
        )
    return f"last training, {found.training}" if found.training else "no model was trained here yet: t"


def story(
    line: ModelLine, weights: dict[str, dict[str, float]], params: Mapping[str, object] | None = None
) -> str:
    """Return everything that is known of a model, one fact a line; of `params` what is a word or a number."""
    entry = line.entry
    if entry is None:
        return (
            f"{line.id}\n\nComes with the program, trained on public repositories. It is always there: "
            f"where no model of the project can be used, it ranks.{'' if line.used else _ON_THE_WAY_BACK}"
        )
    made = entry.provenance
    lines = [entry.model_id, "", f"kind         {entry.model_kind}"]
    plain = {name: one for name, one in (params or {}).items() if isinstance(one, str | int | float)}
    lines += [f"{name:<12} {one}" for name, one in sorted(plain.items()) if name != "schema"]
    if entry.fault:
        lines.append(f"not usable   {entry.fault}")
    if made.samples:
        lines += [
            f"starts from  {made.base}",
            f"fitted to    {plural(made.samples, 'past task')}, {_day(made.since)} to {_day(made.until)}",
            f"prompts      {made.sessions:,}",
            f"program      {made.code_version}",
            f"seed         {made.seed}",
        ]
    lines += [f"{name:<12} {value:g}" for name, value in sorted(made.metrics.items())]
    for base, values in weights.items():
        lines += ["", f"added to {base}"]
        lines += [f"  {value:+.3f} {name}" for name, value in list(values.items())[:16]]
    return "\n".join(map(visible_line, lines))


def _day(moment: int) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(moment))
