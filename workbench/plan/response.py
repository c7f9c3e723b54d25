"""The plan's answer as data [img 8.1], and the reasons under a pack as a person reads them.

`plan_response` has every field of the specification under its own name, and further keys beside them. Two
equal plans give equal answers except under the one key `timing`. The published form is
`docs/schema/plan-response.schema.json`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.plan.compose import FileCandidate, Pack, ViewOffer
from workbench.plan.reasons import top_reasons
from workbench.plan.render import Passage, heading, span_text
from workbench.records.plan import Intent, RankedFile, Representation
from workbench.text.sanitize import visible_line

SHOWN_DROPS = 12
SHOWN_NAMES = 8
SHOWN_RULES = 6
_SHOWN_CONTRIBUTIONS = 3
_RULE = re.compile(r"rule-[0-9a-f]{20}")


def plan_response(
    pack: Pack,
    intent: Intent,
    *,
    cache_status: str,
    freshness: str,
    layers: Sequence[str],
    ranked: Mapping[str, RankedFile] | None = None,
    dropped: Sequence[tuple[str, str]] = (),
    degraded: Sequence[str] = (),
    notes: Sequence[str] = (),
    timing: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    """Return the answer to a plan request, ready for JSON.

    cache_status: hit | partial | miss, of index, past tasks and rules together; freshness: fresh | stale |
    dirty; layers: L0 … L6 the candidates came from; ranked: features by path; dropped: (file, reason) of
    candidates that never reached the packing; notes: further lines of the decision trace; timing:
    milliseconds by stage.
    """
    features = ranked or {}
    report = pack.report
    return {
        "cache_status": cache_status,
        "freshness": freshness,
        "intent": {
            "predicted": str(intent.predicted),
            "confidence": round(intent.confidence, 4),
            "task_fingerprint": intent.task_fingerprint,
            "tags": list(intent.tags),
            "risk": str(intent.risk),
        },
        "budget_report": {
            "token_budget": report.token_budget,
            "estimated_used": report.estimated_used,
            "efficiency_score": report.efficiency_score,
            "tokenizer": report.tokenizer,
            "upper_bound": report.upper_bound,
        },
        "context": {
            "layers": list(layers),
            "files": [candidate.path for candidate, _offer in pack.files],
            "text": pack.text,
        },
        "decision_trace": [*_trace(pack, features), *map(visible_line, notes)],
        "dropped_candidates": [
            *({"file": one.file, "reason": one.reason} for one in pack.dropped),
            *({"file": file, "reason": reason} for file, reason in dropped),
        ],
        "selection": [_selected(candidate, offer, features) for candidate, offer in pack.files],
        "rules": [_passage(passage) for passage in pack.passages],
        "degraded": list(degraded),
        "timing": {stage: round(value, 3) for stage, value in (timing or {}).items()},
    }


def rank_response(ranked: Sequence[RankedFile]) -> dict[str, Any]:
    """Return the files in order with their features, as `rank --json` prints them."""
    return {
        "files": [{"path": one.path, "score": one.score, "features": dict(one.features)} for one in ranked]
    }


def why_text(response: Mapping[str, Any], *, dropped: int = SHOWN_DROPS) -> str:
    """Return the reasons for a person, to stand under the pack and outside its budget."""
    report, intent = response["budget_report"], response["intent"]
    used, budget = report["estimated_used"], report["token_budget"]
    lines = [
        f"Why: {used:,} of {budget:,} tokens ({report['tokenizer']}), "
        f"{report['efficiency_score']:.0%} of what could have been achieved; "
        f"{intent['predicted']} ({intent['confidence']:.2f}); index {response['freshness']}",
    ]
    if response["degraded"]:
        lines.append(f"  without: {', '.join(response['degraded'])}")
    lines.extend(f"  + {line}" for line in _told(response))
    out = response["dropped_candidates"]
    shown = _dropped_first(out, dropped)
    lines.extend(f"  - {visible_line(one['file'])}: {one['reason']}" for one in shown)
    if len(out) > len(shown):
        lines.append(f"  - and {len(out) - len(shown):,} more (all of them with --format json)")
    return "\n".join(lines) + "\n"


def _dropped_first(out: Sequence[Mapping[str, str]], most: int) -> list[Mapping[str, str]]:
    """Return what is shown of what was left out: some rules, which say what they need, then files."""
    rules = [one for one in out if _RULE.fullmatch(one["file"])][: min(SHOWN_RULES, most)]
    rest = [one for one in out if not _RULE.fullmatch(one["file"])]
    return [*rules, *rest[: most - len(rules)]]


def _told(response: Mapping[str, Any]) -> list[str]:
    """Return the trace with all files that are named and not shown on one line."""
    trace = list(response["decision_trace"])
    files = range(len(response["rules"]), len(response["rules"]) + len(response["selection"]))
    by_line = dict(zip(files, response["selection"], strict=True))
    named = {line for line, one in by_line.items() if one["representation"] == Representation.PATH}
    lines = [text for line, text in enumerate(trace) if line not in named]
    if named:
        names = [visible_line(by_line[line]["path"]) for line in sorted(named)]
        more = f" and {len(names) - SHOWN_NAMES:,} more" if len(names) > SHOWN_NAMES else ""
        place = files.stop - len(named)
        lines.insert(place, f"{len(names):,} named only: {', '.join(names[:SHOWN_NAMES])}{more}")
    return lines


def _trace(pack: Pack, features: Mapping[str, RankedFile]) -> list[str]:
    """Say for each thing that is in why it is in, in the order of the text."""
    lines = [
        f"{visible_line(passage.origin or passage.id)}: {passage.authority} {passage.section.lower()}"
        + (f", {visible_line(passage.why)}" if passage.why else "")
        for passage in pack.passages
    ]
    for candidate, offer in pack.files:
        how = (
            "named only"
            if offer.view.representation is Representation.PATH
            else str(offer.view.representation)
        )
        pinned = ("pinned by you",) if candidate.pinned else ()
        reasons = [*pinned, f"score {candidate.score:.3f}", *_contributions(features.get(candidate.path))]
        if offer.why:
            reasons.append(visible_line(offer.why))
        lines.append(f"{heading(offer.view)}: {how}, {', '.join(reasons)}")
    return lines


def _contributions(ranked: RankedFile | None) -> list[str]:
    """Return what moved a file up most, `changed often +0.41`."""
    if ranked is None:
        return []
    return [
        f"{words} {value:+.2f}" for words, value in top_reasons(ranked.contributions, _SHOWN_CONTRIBUTIONS)
    ]


def _selected(
    candidate: FileCandidate, offer: ViewOffer, features: Mapping[str, RankedFile]
) -> dict[str, Any]:
    ranked = features.get(candidate.path)
    return {
        "path": candidate.path,
        "representation": str(offer.view.representation),
        "tokens": offer.tokens,
        "spans": [[start, end] for start, end in offer.view.spans],
        "lines": span_text(offer.view.spans),
        "score": round(candidate.score, 6),
        "utility": round(offer.utility, 6),
        "why": offer.why,
        "sources": list(ranked.sources) if ranked else [],
        "features": dict(ranked.features) if ranked else {},
        "contributions": dict(ranked.contributions) if ranked else {},
    }


def _passage(passage: Passage) -> dict[str, Any]:
    return {
        "id": passage.id,
        "section": passage.section,
        "origin": passage.origin,
        "authority": passage.authority,
        "score": round(passage.score, 6),
        "why": passage.why,
    }
