"""The plan's answer as data [img 8.1], and the reasons under a pack as a person reads them.

Two equal plans give equal answers except under `timing`. The fields are described in
`workbench/records/answers/plan.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from workbench.plan.compose import FileCandidate, Pack, ViewOffer
from workbench.plan.render import Passage, heading, span_text
from workbench.project.languages import describe_role
from workbench.records.answers.plan import (
    DroppedCandidate,
    PackedLine,
    PackedPassage,
    PackedSegment,
    PlanConfidence,
    PlanContext,
    PlanIntent,
    PlanResponse,
    RankedPath,
    RankResponse,
    SelectedFile,
)
from workbench.records.plan import Intent, RankedFile, Representation
from workbench.records.project import CacheStatus, Freshness, Layer
from workbench.records.rules import Authority
from workbench.text.counts import percent, plural
from workbench.text.sanitize import one_line, visible_line

if TYPE_CHECKING:
    from workbench.plan.reasons import FileReasons
    from workbench.stash.selection import ChosenSegment

SHOWN_DROPS = 12
SHOWN_NAMES = 8
SHOWN_RULES = 6
_RULE = re.compile(r"rule-[0-9a-f]{20}")
EMBEDDINGS = "embeddings"
"""What compares texts by meaning: there is no model, or past tasks have no vectors yet."""
RERANKING = "reranking"
"""The second stage of `ml_mode` full [img §7.4]."""
INTENT = "intent"
"""The kind of a task by a language model."""
GREPAI = "grepai"
"""Candidates that the program of this name finds."""
NOTHING_KNOWN = (
    "these words say nothing about this project; `workbench explore` (POST /v1/explore) shows its map"
)
"""What a brief says of a task without a word that means anything in the project."""


NO_FILE: Final = "no file is likely enough to rely on"
NOTHING_SHOWN: Final = (
    "no place that fits is likely enough to show: ask for what is named (`workbench show NAME`)"
)
"""What a brief says where it only names files and places."""


def nothing_known(absolute: int) -> str:
    """Return that sentence with how many absolute rules hold whatever the task is."""
    if not absolute:
        return NOTHING_KNOWN
    hold = f"{plural(absolute, 'absolute rule')} {'hold' if absolute > 1 else 'holds'} all the same"
    return f"{NOTHING_KNOWN}; {hold} (`workbench rules list --authority absolute`)"


_PARTICULAR = re.compile(r": | \(")  # from here on a reason is about one candidate


def plan_response(  # noqa: PLR0913 - the parts of an answer
    pack: Pack,
    intent: Intent,
    *,
    cache_status: CacheStatus,
    freshness: Freshness,
    layers: Sequence[Layer],
    ranked: Mapping[str, RankedFile] | None = None,
    reasons: Mapping[str, Sequence[str]] | None = None,
    chances: Mapping[str, float] | None = None,
    segments: Sequence[ChosenSegment] = (),
    dropped: Sequence[tuple[str, str]] = (),
    degraded: Sequence[str] = (),
    notes: Sequence[str] = (),
    timing: Mapping[str, float] | None = None,
    low_confidence: bool = False,
    confidence: PlanConfidence | None = None,
    known: bool = True,
) -> PlanResponse:
    """Return the answer to a plan request.

    cache_status: of index, past tasks and rules together; layers: those the files came from; ranked:
    features by path; reasons: sentences on the files of the pack, by path; chances: how likely a file is
    needed, by path, where known; segments: those of the pack; dropped: (file, reason) of candidates that
    never reached the packing; notes: further lines of the decision trace; timing: milliseconds by stage;
    low_confidence: whether no file is likely enough; confidence: how likely no file is missing; known:
    whether the task says anything of the project.
    """
    features, sentences = ranked or {}, reasons or {}
    return PlanResponse(
        cache_status=cache_status,
        freshness=freshness,
        intent=PlanIntent(
            predicted=intent.predicted,
            confidence=round(intent.confidence, 4),
            task_fingerprint=intent.task_fingerprint,
            tags=intent.tags,
            risk=intent.risk,
        ),
        budget_report=replace(pack.report, segments=sum(one.tokens for one in segments)),
        context=PlanContext(
            layers=tuple(layers),
            files=tuple(candidate.path for candidate, _offer in pack.files),
            text=pack.text,
            segments=tuple(map(_segment, segments)),
            lines=tuple(PackedLine(one.section, one.subject, one.text) for one in pack.lines),
        ),
        decision_trace=(*_trace(pack, sentences, chances or {}), *map(visible_line, notes)),
        dropped_candidates=(
            *(DroppedCandidate(one.file, one.reason) for one in pack.dropped),
            *(DroppedCandidate(file, reason) for file, reason in dropped),
        ),
        selection=tuple(
            _selection(candidate, offer, features, sentences.get(candidate.path, ()))
            for candidate, offer in pack.files
        ),
        rules=tuple(map(_passage, pack.passages)),
        degraded=tuple(degraded),
        timing={stage: round(value, 3) for stage, value in (timing or {}).items()},
        low_confidence=low_confidence,
        confidence=confidence,
        known=known,
    )


def rank_response(
    ranked: Sequence[RankedFile],
    reasons: FileReasons | None = None,
    *,
    low_confidence: bool,
    confidence: PlanConfidence | None = None,
    known: bool = True,
) -> RankResponse:
    """Return the files in order with features and reasons, and whether none of them is likely enough."""
    files = tuple(
        RankedPath(
            one.path,
            describe_role(one.path),
            one.score,
            dict(one.features.items()),
            () if reasons is None else reasons.of(one),
        )
        for one in ranked
    )
    return RankResponse(files, low_confidence, confidence, known)


def why_text(response: PlanResponse, *, dropped: int = SHOWN_DROPS) -> str:
    """Return the reasons for a person, to be printed under the pack and outside its budget."""
    report = response.budget_report
    used, budget = report.estimated_used, report.token_budget
    value = f", {report.efficiency_score:.0%} of the best possible value" if response.known else ""
    lines = [
        f"Why: {used:,} of {budget:,} tokens ({report.tokenizer}){value}; "
        f"{_intent_text(response.intent)}; index {response.freshness}"
    ]
    if response.degraded:
        lines.append(f"  without: {', '.join(response.degraded)}")
    if not response.known:
        lines.append(f"  {NOTHING_KNOWN}")
    elif response.low_confidence:
        lines.append("  the evidence is weak: say more, or name what the task is about")
    elif response.confidence is not None:
        lines.append(f"  {confidence_text(response.confidence)}")
    lines.extend(f"  + {line}" for line in _inside(response))
    outside, rest = _outside(response.dropped_candidates, dropped)
    lines.extend(f"  - {visible_line(line)}" for line in outside)
    if rest:
        lines.append(f"  - and {rest:,} more (all of them with --format json)")
    return "\n".join(lines) + "\n"


def confidence_words(chance: float, where: str = "") -> str:
    """Return how likely all right files are there, in words: `62% chance that no file is missing`."""
    return f"{percent(chance)} chance that no file is missing{where}"


def confidence_text(found: PlanConfidence) -> str:
    """Return in words how likely no right file is missing in the pack, and among the first ten files."""
    if found.pack is None:
        return confidence_words(found.first_ten, " among the first ten")
    return f"{confidence_words(found.pack)}, {percent(found.first_ten)} among the first ten"


def _intent_text(intent: PlanIntent) -> str:
    """Return a task's kind and how sure it is, its tags and risk: `bugfix (74% sure), network, low risk`."""
    kind, confidence = intent.predicted, intent.confidence
    sure = "" if confidence == 1 else f" ({confidence:.0%} sure)"
    named = f"{kind}{sure}" if confidence else "kind of task unknown"
    return ", ".join((named, *intent.tags, f"{intent.risk} risk"))


def _inside(response: PlanResponse) -> list[str]:
    """Return the trace with all files that are named and not shown on one line."""
    trace = response.decision_trace
    files = range(len(response.rules), len(response.rules) + len(response.selection))
    by_line = dict(zip(files, response.selection, strict=True))
    named = {line for line, one in by_line.items() if one.representation is Representation.PATH}
    lines = [text for line, text in enumerate(trace) if line not in named]
    if named:
        names = [by_line[line].path for line in sorted(named)]
        lines.insert(files.stop - len(named), f"{len(names):,} named only: {_some(names)}")
    return lines


def _outside(dropped: Sequence[DroppedCandidate], most: int) -> tuple[list[str], int]:
    """Return why candidates are out, in `most` lines, and how many candidates they leave out.

    Some rules come first, each with what it needs to hold; others of one reason share a line.
    """
    rules = [one for one in dropped if _RULE.fullmatch(one.file)]
    groups: list[list[DroppedCandidate]] = [[one] for one in rules[: min(SHOWN_RULES, most)]]
    by_reason: dict[str, list[DroppedCandidate]] = {}
    for one in dropped:
        if not _RULE.fullmatch(one.file):
            by_reason.setdefault(_PARTICULAR.split(one.reason, maxsplit=1)[0], []).append(one)
    shown = [*groups, *by_reason.values()][:most]
    lines = [
        f"{visible_line(found[0].file)}: {found[0].reason}"
        if len(found) == 1
        else f"{len(found):,} {_PARTICULAR.split(found[0].reason, maxsplit=1)[0]}: "
        + _some([one.file for one in found])
        for found in shown
    ]
    return lines, len(dropped) - sum(map(len, shown))


def _some(names: Sequence[str]) -> str:
    """Return the first names on one line, and how many there are besides."""
    more = f" and {len(names) - SHOWN_NAMES:,} more" if len(names) > SHOWN_NAMES else ""
    return ", ".join(map(visible_line, names[:SHOWN_NAMES])) + more


def _trace(pack: Pack, reasons: Mapping[str, Sequence[str]], chances: Mapping[str, float]) -> list[str]:
    """Explain everything that is in the pack, in the order of the text."""
    lines = []
    for passage in pack.passages:
        what = passage.section.lower().removesuffix("s")
        how = f"absolute {what}" if passage.authority == "absolute" else what
        why = f", {one_line(passage.why)}" if passage.why else ""
        lines.append(f"{visible_line(passage.origin or passage.id)}: {how}{why}")
    for candidate, offer in pack.files:
        named = offer.view.representation is Representation.PATH
        how = "named only" if named else str(offer.view.representation)
        if candidate.pinned:
            how += ", pinned by you"
        elif candidate.path in chances:
            how += f", {likelihood(chances[candidate.path])}"
        why = "; ".join(reasons.get(candidate.path, ()))
        words = f": {why}" if why else ""
        shows = f"; shows {one_line(offer.why)}" if offer.why else ""
        lines.append(f"{heading(offer.view)}: {how}{words}{shows}")
    return lines


def _selection(
    candidate: FileCandidate, offer: ViewOffer, features: Mapping[str, RankedFile], reasons: Sequence[str]
) -> SelectedFile:
    ranked = features.get(candidate.path)
    return SelectedFile(
        path=candidate.path,
        role=describe_role(candidate.path),
        representation=offer.view.representation,
        tokens=offer.tokens,
        spans=offer.view.spans,
        lines=span_text(offer.view.spans),
        score=round(candidate.score, 6),
        utility=round(offer.utility, 6),
        why=offer.why,
        sources=ranked.sources if ranked else (),
        features=dict(ranked.features.items()) if ranked else {},
        contributions=dict(ranked.contributions.items()) if ranked else {},
        together=offer.view.together,
        places=offer.view.places,
        reasons=tuple(reasons),
    )


def _passage(passage: Passage) -> PackedPassage:
    return PackedPassage(
        id=passage.id,
        section=passage.section,
        origin=passage.origin,
        authority=Authority(passage.authority),
        score=round(passage.score, 6),
        why=passage.why,
    )


def _segment(one: ChosenSegment) -> PackedSegment:
    found, segment = one.found, one.found.segment
    return PackedSegment(
        segment_id=segment.id,
        type=segment.type,
        session_id=segment.session_id,
        timestamp=segment.timestamp,
        age_days=round(found.age_days, 2),
        source=segment.source,
        tokens=one.tokens,
        similarity=round(found.similarity, 4),
        score=round(found.score, 4),
        part=one.part,
        why=one.why,
    )


def likelihood(chance: float) -> str:
    """Return in words how likely a task needs a file: `93% likely to be needed`."""
    return f"{chance:.0%} likely to be needed" if chance >= 0.01 else f"{chance:.1%} likely to be needed"
