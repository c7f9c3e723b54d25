"""From the engine's plan to what the section shows. Imports the engine, and is imported in jobs only."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from screens.plan.candidates import FILES, LEARNINGS, OUT, RULES, SEGMENTS, PackCandidate, ShownPlan
from screens.widgets.bars import Portion
from workbench.plan.compose import FileCandidate, ViewOffer
from workbench.plan.overrides import EXCLUDED
from workbench.plan.pipeline import Plan
from workbench.plan.ranking import needed_chances
from workbench.plan.reasons import reasons_of
from workbench.plan.render import STYLES, FileView, Passage, content, places_text
from workbench.records.plan import RankedFile, Representation
from workbench.records.rules import Rule
from workbench.text.tokens import TokenCounter

_SHOWN_TEXT: Final = 20_000  # characters of a segment that is out


def present_plan(
    plan: Plan,
    rules: Iterable[Rule],
    learned: Mapping[str, str],
    counter: TokenCounter,
    style: str,
    *,
    gone: tuple[str, ...] = (),
    heads: tuple[str, ...] = (),
) -> ShownPlan:
    """Return what the section shows of a plan; `gone` are overrides of things that no longer exist.

    `learned` {id: text} are all learnings, of which some are left out.
    """
    ranked = {found.path: found for found in plan.ranked}
    model = plan.ranking.model
    by_id = {rule.id: rule for rule in rules}
    inside = [*_passages(plan, counter, style), *_files(plan)]
    outside = sorted(_list_dropped(plan, ranked, by_id, learned), key=lambda one: not one.excluded)
    return ShownPlan(
        task=plan.intent.task.raw,
        response=plan.response,
        candidates=(*inside, *outside),
        text=plan.pack.text,
        style=style,
        limit=plan.pack.report.token_budget,
        portions=_portions(plan, counter, style),
        ranked=ranked,
        reasons=None if _is_baseline(plan) else reasons_of(plan.ranking),
        matches={match.rule.id: match for match in plan.matches},
        learnings=plan.learnings,
        chances=needed_chances(model, plan.ranking.files, plan.overrides.pinned),
        model="baseline" if _is_baseline(plan) else model.model_id,
        gone=gone,
        heads=heads,
        rules=plan.rules,
        segments=plan.segments,
        stashed=plan.stashed,
    )


def _passages(plan: Plan, counter: TokenCounter, style: str) -> Iterator[PackCandidate]:
    parts = {one.found.segment.id for one in plan.segments if one.part}
    matched = {match.rule.id: match.final for match in plan.matches}
    for passage in plan.pack.passages:
        yield PackCandidate(
            kind=passage.section.lower(),
            name=passage.id,
            title=_first_line(passage.text) if passage.block else _one_line(passage.text),
            place=passage.origin,
            form=_form(passage, parts),
            tokens=_cost(passage, counter, style),
            # A rule that no task was compared with has a place and no score.
            score=matched.get(passage.id) if passage.section == "Rules" else passage.score,
            why=passage.why,
            pinned=passage.id in plan.overrides.pinned,
            text=passage.text,
        )


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _form(passage: Passage, parts: Collection[str]) -> str:
    """Return how a passage is in the pack: rules as they bind, segments whole or in part."""
    if passage.section == "Segments":
        return "part" if passage.id in parts else "whole"
    return "absolute" if passage.mandatory else "rule" if passage.section == "Rules" else "note"


def _files(plan: Plan) -> Iterator[PackCandidate]:
    for candidate, offer in plan.pack.files:
        folder, _, name = candidate.path.rpartition("/")
        yield PackCandidate(
            kind=FILES,
            name=candidate.path,
            title=name,
            place=folder,
            form=str(offer.view.representation),
            tokens=offer.tokens,
            score=candidate.score,
            why=_why(candidate, offer),
            pinned=candidate.pinned,
            text=_text(offer.view),
            numbers=_numbers(offer.view),
            spans=offer.view.spans,
        )


def _why(candidate: FileCandidate, offer: ViewOffer) -> str:
    return ", ".join(part for part in ("pinned by you" if candidate.pinned else "", offer.why) if part)


def _text(view: FileView) -> str:
    """Return what the pack says of a file, below its name."""
    return (
        places_text(view.places) if view.representation is Representation.PATH else "\n".join(content(view))
    )


def _numbers(view: FileView) -> tuple[int, ...]:
    """Return the line numbers of a view's lines, 0 for the marks between its ranges and below them."""
    if not view.spans:
        return ()
    numbers: list[int] = []
    for (start, end), mark in zip(view.spans, view.marks or ("",) * len(view.spans), strict=True):
        if numbers or mark:
            numbers.append(0)
        numbers.extend(range(start, end + 1))
    return (*numbers, 0) if view.places else tuple(numbers)


def _list_dropped(
    plan: Plan, ranked: Mapping[str, RankedFile], rules: Mapping[str, Rule], learned: Mapping[str, str]
) -> Iterator[PackCandidate]:
    """Yield what is out, each once. What packing dropped comes first and has ids, the rest has names."""
    ids = [one.id for one in plan.pack.dropped]
    seen: set[str] = set()
    for place, one in enumerate(plan.response.dropped_candidates):
        name = ids[place] if place < len(ids) else one.file
        if name in seen:
            continue
        seen.add(name)
        rule, found = rules.get(name), ranked.get(name)
        out = PackCandidate(
            FILES,
            name,
            name,
            state=OUT,
            why=one.reason,
            pinned=name in plan.overrides.pinned,
            excluded=one.reason == EXCLUDED,
        )
        if rule is not None:
            where = f"{rule.provenance.file}:{rule.provenance.line}" if rule.provenance else rule.source
            yield replace(out, kind=RULES, title=_one_line(rule.rule), place=where, text=rule.rule)
        elif name in learned:
            yield replace(out, kind=LEARNINGS, title=_one_line(learned[name]), text=learned[name])
        elif name in plan.stashed:
            text = plan.stashed[name].segment.text[:_SHOWN_TEXT]
            yield replace(out, kind=SEGMENTS, title=_first_line(text), text=text)
        else:
            folder, _, base = name.rpartition("/")
            yield replace(out, title=base, place=folder, score=found.score if found else None)


def _portions(plan: Plan, counter: TokenCounter, style: str) -> tuple[Portion, ...]:
    """Return the tokens of each kind; headings are counted to their kind, so that the sum is what is used."""
    sections: dict[str, list[Passage]] = {}
    for passage in plan.pack.passages:
        sections.setdefault(passage.section, []).append(passage)
    used = plan.pack.report.estimated_used
    found = [
        Portion(section.lower(), min(counter.count(STYLES[style].section(section, passages)), used))
        for section, passages in sections.items()
    ]
    rest = used - sum(portion.tokens for portion in found)
    return (*found, Portion(FILES, max(rest, 0)))


def _cost(passage: Passage, counter: TokenCounter, style: str) -> int:
    return counter.count(STYLES[style].section("", [passage]))


def _is_baseline(plan: Plan) -> bool:
    return any(source == "baseline" for found in plan.ranked[:1] for source in found.sources)
