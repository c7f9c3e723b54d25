"""Whether a replay, and the state it ran on, is good enough to release: the gates G1 to G6 [img 14].

Figures come from the run, what the run cannot know (whether journals are whole, whether plans work without
models) from `GateEvidence`. A gate that lacks what it needs is `missing` and not passed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from workbench.config import GatesConfig
from workbench.records.replay import BASELINE, Gap, ReplayRun, SystemScore
from workbench.replay.run_report import table
from workbench.text.counts import plural
from workbench.text.sanitize import visible_line

_SHOWN = 3
_SHARES = (0.1, 0.12, 0.15, 0.2, 0.35, 0.65)  # small steps: the next one above enough recall is judged


class GateState(StrEnum):
    """The state of a gate."""

    PASSED = "pass"
    FAILED = "fail"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Gate:
    """One gate: what was measured, what is wanted, and its state.

    `value` and `limit` are the same as numbers, None where there are none; `reason` is why it is not
    passed, or what the figure rests on.
    """

    id: str
    name: str
    measured: str
    wanted: str
    state: GateState
    value: float | None = None
    limit: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class GateEvidence:
    """What is known of the local state; None for what could not be checked.

    `stale` names files that were served stale, in `looked` checks; `damage` lists what is corrupt among the
    `sound` things checked. Of `asked` tasks `answered` had an answer without any model. `requests_ms` are
    the milliseconds of whole requests, `cold` how many plans in processes of their own were measured in use
    lately, and the 95th percentile of theirs.
    """

    stale: tuple[str, ...] | None = None
    looked: int = 0
    damage: tuple[str, ...] | None = None
    sound: str = ""
    answered: int | None = None
    asked: int = 0
    requests_ms: tuple[float, ...] = ()
    cold: tuple[int, float] = (0, 0.0)
    reason: str = ""


def evaluate(
    run: ReplayRun, evidence: GateEvidence, wanted: GatesConfig, *, regression: Gap | None = None
) -> tuple[Gate, ...]:
    """Return the gates in order; G7 only where a reference is wanted.

    `regression` is how far the system's nDCG@10 lies above that of the reference run on the same tasks, None
    if there is no such run or no common task.
    """
    scores = {score.system: score for score in run.systems}
    mine, baseline = scores.get(wanted.system), scores.get(BASELINE)
    found = [
        _freshness(evidence, wanted),
        _latency(evidence, wanted),
        _precision(mine, baseline, wanted),
        _tokens(scores, mine, wanted),
        _corruption(evidence),
        _fallback(evidence),
    ]
    if wanted.reference:
        found.append(_regression(regression, wanted))
    return tuple(found)


def stopping_gates(gates: Sequence[Gate], *, allow_missing: bool) -> list[Gate]:
    """Return the gates that stop a release."""
    stops = {GateState.FAILED} if allow_missing else {GateState.FAILED, GateState.MISSING}
    return [gate for gate in gates if gate.state in stops]


def gates_text(gates: Sequence[Gate]) -> str:
    """Return a table of gates, and under it the reasons of those that are not passed."""
    rows = [[gate.id, gate.name, gate.measured, gate.wanted, str(gate.state)] for gate in gates]
    lines = table(["gate", "", "measured", "wanted", ""], rows)
    reasons = [
        f"{gate.id}: {visible_line(gate.reason)}"
        for gate in gates
        if gate.reason and gate.state is not GateState.PASSED
    ]
    return "\n".join([lines, *reasons])


def gates_sentence(stopping: Sequence[Gate]) -> str:
    """Return what failed, in one sentence: `gate G3 (precision) failed: +3 % where ≥ +25 % is wanted`."""
    return "; ".join(
        f"gate {gate.id} ({gate.name}) "
        + (
            f"failed: {gate.measured}, wanted is {gate.wanted}"
            if gate.state is GateState.FAILED
            else f"could not be evaluated: {visible_line(gate.reason)}"
        )
        for gate in stopping
    )


def _judge(passed: bool) -> GateState:
    return GateState.PASSED if passed else GateState.FAILED


def _missing(identifier: str, name: str, wanted: str, reason: str) -> Gate:
    return Gate(identifier, name, "-", wanted, GateState.MISSING, reason=reason)


def _freshness(evidence: GateEvidence, wanted: GatesConfig) -> Gate:
    text = f"at most {wanted.stale} stale"
    if evidence.stale is None:
        return _missing("G1", "freshness", text, evidence.reason or "the freshness of files was not checked")
    count = len(evidence.stale)
    shown = ", ".join(map(visible_line, evidence.stale[:_SHOWN]))
    return Gate(
        "G1",
        "freshness",
        f"{count} stale in {evidence.looked:,} checks",
        text,
        _judge(count <= wanted.stale),
        count,
        wanted.stale,
        f"served stale: {shown}" if count else "",
    )


def _latency(evidence: GateEvidence, wanted: GatesConfig) -> Gate:
    """Judge whole requests, sync and answer included: what a replay takes a task is without both."""
    text = f"p95 at most {wanted.p95_ms:g} ms"
    if not evidence.requests_ms:
        return _missing("G2", "latency", text, evidence.reason or "no request was made")
    times = sorted(evidence.requests_ms)
    took = times[math.ceil(0.95 * len(times)) - 1]
    calls, cold = evidence.cold
    beside = f"; cold in use {cold:,.0f} ms ({plural(calls, 'call')})" if calls else "; no cold call in use"
    return Gate(
        "G2",
        "latency",
        f"{took:,.1f} ms{beside}",
        text,
        _judge(took <= wanted.p95_ms),
        took,
        wanted.p95_ms,
        f"of {plural(len(evidence.requests_ms), 'request')} without a language model",
    )


def _precision(mine: SystemScore | None, baseline: SystemScore | None, wanted: GatesConfig) -> Gate:
    text = f"at least +{wanted.precision:.0%} precision@10"
    if mine is None or baseline is None or not mine.tasks:
        reason = _not_run(
            mine, wanted, "the baseline was not run" if baseline is None else "there is no task"
        )
        return _missing("G3", "precision", text, reason)
    mean, base = mine.precision_at_10, baseline.precision_at_10
    uplift = mean / base - 1 if base else (float("inf") if mean else 0.0)
    measured = f"{uplift:+.0%}" if base else f"{mean:.3f} over 0"
    gap = mine.gaps.get("precision_at_10")
    shown = gap is None or gap.p <= wanted.significance
    reason = (
        ""
        if gap is None or shown
        else f"no difference shown: p = {gap.p:.3f} over {plural(mine.tasks, 'task')}"
    )
    if uplift < wanted.precision:
        reason = f"{mean:.3f} against {base:.3f} of the baseline"
    value = uplift if base else None  # JSON knows no infinity
    return Gate(
        "G3",
        "precision",
        measured,
        text,
        _judge(uplift >= wanted.precision and shown),
        value,
        wanted.precision,
        reason,
    )


def _tokens(scores: Mapping[str, SystemScore], mine: SystemScore | None, wanted: GatesConfig) -> Gate:
    """Compare packs of the system, at any share of the budget, with the compact exploration [img §14].

    Only packs count that show or name as many of the right files as the exploration names: what less context
    costs shows in packs of less budget.
    """
    text = f"at most -{wanted.tokens:.0%} median tokens, no less recall"
    baseline = scores.get(BASELINE)
    if mine is None or baseline is None:
        return _missing("G4", "tokens", text, _not_run(mine, wanted, "the baseline was not run"))
    base, recall = baseline.explored_tokens_median, baseline.explored_recall
    packed = [
        (score.context_tokens_median, score)
        for name, score in scores.items()
        if name.partition("@")[0] == wanted.system and score.context_tokens_median is not None
    ]
    if not packed or not base or recall is None:
        return _missing("G4", "tokens", text, "no packs were made, so there are no tokens to compare")
    able = [one for one in packed if _named_recall(one[1]) >= recall]
    used, score = min(able or packed, key=lambda one: (one[0], one[1].system))
    change = used / base - 1
    reason = f"{used:,.0f} tokens of {visible_line(score.system)} against {base:,.0f} of the exploration"
    if not able:
        reason += f"; no pack names as many of the right files ({recall:.3f}): `workbench index` may help"
    if len(packed) == 1:
        reason += "; `workbench --replay --gate` also packs into less budget"
    return Gate(
        "G4",
        "tokens",
        f"{change:+.0%}, recall {_named_recall(score):.3f} for {recall:.3f}",
        text,
        _judge(bool(able) and change <= -wanted.tokens),
        change,
        -wanted.tokens,
        reason,
    )


def _named_recall(score: SystemScore) -> float:
    """Return the share of the right files that packs show or name; earlier runs know what they show."""
    return score.packed_recall or 0.0 if score.named_recall is None else score.named_recall


def leaner_systems(wanted: GatesConfig) -> tuple[str, ...]:
    """Return the names of the system with shares of the budget: one of them is as useful as exploring."""
    return tuple(f"{wanted.system}@{share:.2f}" for share in _SHARES)


def _corruption(evidence: GateEvidence) -> Gate:
    if evidence.damage is None:
        reason = evidence.reason or "journals and indexes were not checked"
        return _missing("G5", "corruption", "none", reason)
    count = len(evidence.damage)
    measured = f"{count} damaged" if count else evidence.sound or "none"
    reason = "; ".join(map(visible_line, evidence.damage[:_SHOWN]))
    return Gate("G5", "corruption", measured, "none", _judge(not count), count, 0, reason)


def _fallback(evidence: GateEvidence) -> Gate:
    text = "all answered without models"
    if evidence.answered is None or not evidence.asked:
        reason = evidence.reason or "no task was planned without models"
        return _missing("G6", "fallback", text, reason)
    share = evidence.answered / evidence.asked
    return Gate(
        "G6",
        "fallback",
        f"{evidence.answered} of {evidence.asked}",
        text,
        _judge(evidence.answered == evidence.asked),
        share,
        1.0,
        "" if share == 1 else "tasks without an answer where no model can be used",
    )


def _regression(gap: Gap | None, wanted: GatesConfig) -> Gate:
    text = f"no worse than {visible_line(wanted.reference)}"
    if gap is None:
        reason = "there is no such run, or it has no task and system in common with this one"
        return _missing("G7", "regression", text, reason)
    worse = gap.value < 0 and gap.p <= wanted.significance
    return Gate(
        "G7",
        "regression",
        f"{gap.value:+.3f} nDCG@10",
        text,
        _judge(not worse),
        gap.value,
        0.0,
        f"[{gap.low:+.3f}, {gap.high:+.3f}], p = {gap.p:.4f}",
    )


def _not_run(mine: SystemScore | None, wanted: GatesConfig, otherwise: str) -> str:
    return f"{visible_line(wanted.system)} was not run" if mine is None else otherwise
