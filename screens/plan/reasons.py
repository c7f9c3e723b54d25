"""Why a candidate stands where it does, as bars: what moved its score, features, every signal.

A file's score is a sum over signals, shown first in words and then signal by signal. A rule's is what it has
in common with the task, its priority and its scope. What scores nothing has no bars and says why.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from textual.content import Content

from screens.plan.candidates import FILES, IN, Candidate, Shown
from screens.plan.rows import state
from screens.safe_text import shown
from screens.widgets.bars import Contribution, bar_lines, ordered
from workbench.plan.response import likelihood, phrase

if TYPE_CHECKING:
    from workbench.rules.matching.match import RuleMatch

SPECIFIED: Final = {
    "f_structural_relevance": "structure",
    "f_semantic_score": "meaning",
    "f_affinity_score": "affinity",
    "f_recency_score": "recency",
    "f_risk_score": "risk",
    "f_test_proximity": "tests",
}
"""Features of the specification that are shares of the best candidate's, and what they are called here."""

_TOKENS: Final = "f_token_cost"
_TEXT: Final = 2_000


@dataclass(frozen=True, slots=True)
class Section:
    """Bars under a heading; `total` is their sum where they have one, `note` a line under the heading."""

    title: str
    bars: tuple[Contribution, ...] = ()
    total: float | None = None
    note: str = ""


def sections_of(candidate: Candidate, plan: Shown) -> tuple[Section, ...]:
    """Return the bars of a candidate, the ones in words first."""
    if candidate.kind == FILES:
        return _of_file(candidate, plan)
    match = plan.matches.get(candidate.name)
    if match is None:
        return (Section("Score", note="It holds whatever the task says: nothing was compared."),)
    return _of_rule(match)


def headline(candidate: Candidate, plan: Shown) -> str:
    """Return in a line whether a candidate is in, how, and how likely it is needed."""
    parts = [candidate.form, f"{candidate.tokens:,} tokens"] if candidate.state == IN else ["out"]
    chance = (
        plan.chances.get(candidate.name) if candidate.kind == FILES and plan.model != "baseline" else None
    )
    if candidate.pinned and candidate.state == IN:
        parts.append("counts as needed")
    elif chance is not None:
        parts.append(likelihood(chance))
    return " · ".join(part for part in parts if part)


def why_lines(candidate: Candidate, plan: Shown, width: int) -> list[Content]:
    """Return a candidate, how it is in or out, why, and its bars, as lines of at most `width` cells."""
    title = candidate.name if candidate.kind == FILES else candidate.title
    head = [
        Content.assemble(state(candidate), " ", shown(title, "bold", limit=_TEXT)),
        shown(headline(candidate, plan), "$text-muted"),
    ]
    if candidate.kind != FILES and candidate.place:
        head.append(shown(f"from {candidate.place}", "$text-muted", limit=_TEXT))
    if candidate.why:
        head.append(shown(candidate.why, limit=_TEXT))
    lines = [line for one in head for line in one.wrap(width)]
    for section in sections_of(candidate, plan):
        lines += [Content(""), shown(section.title, "bold $text-muted")]
        if section.note:
            lines += shown(section.note, "$text-muted").wrap(width)
        lines += bar_lines(ordered(section.bars, "magnitude"), width, total=section.total)
    return lines


def _of_file(candidate: Candidate, plan: Shown) -> tuple[Section, ...]:
    found = plan.ranked.get(candidate.name)
    if found is None:
        return (Section("Score", note="No source proposed it: nothing of the task points here."),)
    words: dict[str, float] = {}
    for feature, value in found.contributions.items():
        told = phrase(feature)
        words[told] = words.get(told, 0.0) + value
    sections = [
        Section("What moved it", tuple(Contribution(*one) for one in words.items()), found.score)
        if words
        else Section("What moved it", note=f"Its place alone: score {found.score:.3f}.")
    ]
    specified = tuple(
        Contribution(name, found.features[feature])
        for feature, name in SPECIFIED.items()
        if feature in found.features
    )
    if specified:
        cost = found.features.get(_TOKENS)
        note = f"shares of the best; as a whole about {cost:,.0f} tokens" if cost else ""
        sections.append(Section("Features of the specification", specified, note=note))
    if found.contributions:
        signals = tuple(Contribution(*one) for one in found.contributions.items())
        sections.append(Section("Every signal", signals))
    if found.sources:
        sections.append(Section("Proposed by", note=", ".join(found.sources)))
    return tuple(sections)


def _of_rule(match: RuleMatch) -> tuple[Section, ...]:
    shared = match.final - match.priority - match.scope
    made = (
        Contribution("in common with the task", shared),
        Contribution("its priority", match.priority),
        Contribution("its scope", match.scope),
    )
    parts = tuple(
        Contribution(name, value)
        for name, value in (("meaning", match.vector), ("words", match.bm25), ("relevance", match.relevance))
        if value is not None
    )
    terms = f"shares {', '.join(match.terms)}" if match.terms else ""
    return (Section("What moved it", made, match.final), Section("Evidence", parts, note=terms))
