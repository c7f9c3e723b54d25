"""A plan as the section shows it: everything that is in and then everything that is out, one row each.

Made in the background by `screens.plan.from_plan`; drawing asks for one row or one candidate at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from screens.filter_matching import Record
from screens.filtering import Field, Kind
from screens.widgets.budget import Portion

if TYPE_CHECKING:
    from workbench.records.plan import RankedFile
    from workbench.records.rules import Rule
    from workbench.rules.matching.match import RuleMatch

IN: Final = "in"
OUT: Final = "out"
FILES: Final = "files"
LEARNINGS: Final = "learnings"
RULES: Final = "rules"
FIELDS: Final = (
    Field("name", Kind.TEXT),
    Field("why", Kind.TEXT),
    Field("kind"),
    Field("state", choices=("in", "out")),
    Field("as"),
    Field("tokens", Kind.NUMBER),
    Field("score", Kind.NUMBER),
    Field("pinned", Kind.YES_NO),
    Field("excluded", Kind.YES_NO),
)
"""What a filter may name: `kind:rules`, `state:out`, `as:snippets`, `tokens:>500`, `pinned:yes`."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something that is in the pack or could have been.

    `name` is what pins and exclusions call it: a path or an id. `title` is what it is shown as, `place` where
    it comes from. `form` is how it is in the pack; `text` what it says there, its line numbers in `numbers`.
    """

    kind: str
    name: str
    title: str
    place: str = ""
    state: str = IN
    form: str = ""
    tokens: int | None = None
    score: float | None = None
    why: str = ""
    pinned: bool = False
    excluded: bool = False
    text: str = ""
    numbers: tuple[int, ...] = ()
    spans: tuple[tuple[int, int], ...] = ()

    @property
    def named(self) -> bool:
        """Whether it can be pinned and excluded."""
        return bool(self.name)

    @property
    def key(self) -> str:
        """Tell it from all others."""
        return f"{self.kind}:{self.name}"


@dataclass(frozen=True, slots=True)
class Shown:
    """A plan to be shown: its candidates, the text of the pack, and what the lines around them say.

    `learnings` {id: text} and `rules` are those in the pack, recorded once the pack is handed over.
    """

    task: str
    response: Mapping[str, Any]
    candidates: tuple[Candidate, ...]
    text: str
    style: str
    limit: int
    portions: tuple[Portion, ...]
    ranked: Mapping[str, RankedFile]
    matches: Mapping[str, RuleMatch]
    chances: Mapping[str, float]
    learnings: Mapping[str, str]
    model: str = ""
    gone: tuple[str, ...] = ()
    heads: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()

    @property
    def selected(self) -> int:
        """How many candidates are in the pack."""
        return sum(one.state == IN for one in self.candidates)


def record_of(candidate: Candidate) -> Record:
    """Return a candidate's fields as a filter sees them."""
    return {
        "name": (candidate.title, candidate.place, candidate.name),
        "why": candidate.why,
        "kind": candidate.kind,
        "state": candidate.state,
        "as": candidate.form,
        "tokens": candidate.tokens,
        "score": candidate.score,
        "pinned": candidate.pinned,
        "excluded": candidate.excluded,
    }
