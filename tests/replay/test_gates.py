"""Gates pass and fail by the figures of a run and what was found out about the state, and say which."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from tests.replay.made import made_run
from workbench.config import GatesConfig
from workbench.errors import UsageError
from workbench.records.replay import Gap, ReplayRun
from workbench.replay.gates import (
    Gate,
    GateEvidence,
    GateState,
    evaluate,
    gates_sentence,
    gates_text,
    leaner_systems,
    stopping_gates,
)
from workbench.replay.systems import parse_systems

SOUND = GateEvidence((), 40, (), "3 streams", 10, 10, (30.0,) * 60)
WANTED = GatesConfig()


def run_with(system: str, **figures: Any) -> ReplayRun:
    """Return a run in which one system has these figures."""
    run = made_run()
    scores = tuple(replace(score, **figures) if score.system == system else score for score in run.systems)
    return replace(run, systems=scores)


def states(gates: tuple[Gate, ...]) -> dict[str, str]:
    return {gate.id: str(gate.state) for gate in gates}


def test_a_good_run_on_a_sound_state_passes_all_six() -> None:
    """Every gate passes, and nothing stops a release."""
    found = evaluate(made_run(), SOUND, WANTED)
    assert {f"G{number}": "pass" for number in range(1, 7)} == states(found)
    assert stopping_gates(found, allow_missing=False) == []


@pytest.mark.parametrize(
    ("run", "evidence", "failed"),
    [
        (made_run(), replace(SOUND, stale=("a.py",)), "G1"),
        (made_run(), replace(SOUND, requests_ms=(30.0,) * 56 + (150.1,) * 4), "G2"),
        (run_with("baseline", precision_at_10=0.2), SOUND, "G3"),
        (run_with("hybrid", gaps={"precision_at_10": Gap(0.1, -0.1, 0.3, 0.3)}), SOUND, "G3"),
        (run_with("hybrid", context_tokens_median=2200), SOUND, "G4"),
        (made_run(), replace(SOUND, damage=("rules, line 3: no JSON",)), "G5"),
        (made_run(), replace(SOUND, answered=9), "G6"),
    ],
)
def test_one_bad_figure_fails_one_gate(run: ReplayRun, evidence: GateEvidence, failed: str) -> None:
    """Each gate fails by its own figure alone, and the sentence names it."""
    found = evaluate(run, evidence, WANTED)
    stopping = stopping_gates(found, allow_missing=True)
    assert [failed] == [gate.id for gate in stopping]
    assert f"gate {failed} (" in gates_sentence(stopping)
    assert f"{failed}: " in gates_text(found)


def test_limits_themselves_pass() -> None:
    """A figure that is just as wanted passes: p95 of 150 ms, a quarter more precision, 30 % fewer tokens."""
    run = run_with("hybrid", precision_at_10=0.25, context_tokens_median=2100)
    scores = tuple(
        replace(one, precision_at_10=0.2) if one.system == "baseline" else one for one in run.systems
    )
    slow = replace(SOUND, requests_ms=(30.0,) * 57 + (150.0, 900.0, 900.0))
    found = evaluate(replace(run, systems=scores), slow, WANTED)
    assert {"pass"} == set(states(found).values())


def test_cold_calls_in_use_are_beside_the_requests() -> None:
    """What plans took in processes of their own is shown with G2, and does not decide it."""
    slow = replace(SOUND, cold=(37, 2541.3))
    gates = evaluate(made_run(), slow, WANTED)[1], evaluate(made_run(), SOUND, WANTED)[1]
    assert gates[0].measured == "30.0 ms; cold in use 2,541 ms (37 calls)"
    assert gates[1].measured == "30.0 ms; no cold call in use"
    assert [(gate.state, gate.value) for gate in gates] == [(GateState.PASSED, 30.0)] * 2


def test_less_context_is_shown_by_packs_of_less_budget() -> None:
    """A share of the budget passes where it holds as much as exploring names, and fails with less."""
    leanest = leaner_systems(WANTED)[-1]
    full = run_with("hybrid", context_tokens_median=2990, packed_recall=0.6)
    assert evaluate(full, SOUND, WANTED)[3].state is GateState.FAILED
    for recall, state in ((0.3, "pass"), (0.29, "fail")):
        lean = replace(
            full.systems[2],
            system=leanest,
            context_tokens_median=1900,
            packed_recall=recall,
        )
        base = replace(full.systems[0], packed_recall=0.9)
        gate = evaluate(replace(full, systems=(base, *full.systems[1:], lean)), SOUND, WANTED)[3]
        assert state == gate.state
    assert [one.share for one in parse_systems(leaner_systems(WANTED))] == [0.1, 0.12, 0.15, 0.2, 0.35, 0.65]


@pytest.mark.parametrize(
    ("recall", "state"), [(0.488, "pass"), (0.478, "pass"), (0.45, "pass"), (0.3, "fail")]
)
def test_a_hair_less_recall_is_no_cliff(recall: float, state: str) -> None:
    """Where the leanest pack just misses what exploring names, the next one is a little larger, not twice."""
    full = run_with("hybrid", context_tokens_median=4000, packed_recall=0.85)
    base = replace(full.systems[0], explored_tokens_median=1000, explored_recall=0.479)
    leaner = [
        replace(
            full.systems[2],
            system=system.name,
            context_tokens_median=round(3900 * system.share),
            packed_recall=recall + 1.3 * (system.share - 0.1),
        )
        for system in parse_systems(leaner_systems(WANTED))
    ]
    gate = evaluate(replace(full, systems=(base, *full.systems[1:], *leaner)), SOUND, WANTED)[3]
    assert (recall, state) == (recall, gate.state)


def test_what_cannot_be_evaluated_is_no_pass() -> None:
    """Without evidence, baseline or packs a gate says what is missing, and stops unless that is allowed."""
    run = made_run()
    alone = replace(run, systems=run.systems[2:])
    found = evaluate(alone, GateEvidence(reason="another machine's history"), WANTED)
    assert {"G1", "G2", "G3", "G4", "G5", "G6"} == {one.id for one in found if one.state is GateState.MISSING}
    assert len(stopping_gates(found, allow_missing=False)) == 6
    assert stopping_gates(found, allow_missing=True) == []
    assert "G3: the baseline was not run" in gates_text(found)
    assert "could not be evaluated: another machine's history" in gates_sentence(found[:1])
    unpacked = run_with("hybrid", context_tokens_median=None)
    assert "no packs" in next(one.reason for one in evaluate(unpacked, SOUND, WANTED) if one.id == "G4")


def test_a_system_that_was_not_run_is_named() -> None:
    """Gates of a system the run lacks are missing, and say its name."""
    found = evaluate(made_run(), SOUND, GatesConfig(system="hybrid-past"))
    assert {key: value for key, value in states(found).items() if value != "pass"} == {
        "G3": "missing",
        "G4": "missing",
    }
    assert "hybrid-past was not run" in gates_text(found)


@pytest.mark.parametrize(("mean", "state"), [(0.0, "fail"), (0.1, "pass")])
def test_a_baseline_that_finds_nothing(mean: float, state: str) -> None:
    """Over a baseline of 0 any precision is more, and none is not; both can be written as JSON."""
    run = run_with("hybrid", precision_at_10=mean)
    scores = tuple(
        replace(one, precision_at_10=0.0) if one.system == "baseline" else one for one in run.systems
    )
    gate = evaluate(replace(run, systems=scores), SOUND, WANTED)[2]
    assert (state, None) == (gate.state, gate.value)


@pytest.mark.parametrize(
    ("gap", "state"),
    [
        (Gap(-0.1, -0.2, -0.05, 0.001), "fail"),
        (Gap(-0.1, -0.2, 0.05, 0.2), "pass"),
        (Gap(0.1, 0.05, 0.2, 0.001), "pass"),
        (None, "missing"),
    ],
)
def test_a_reference_must_not_rank_better(gap: Gap | None, state: str) -> None:
    """G7 is there only with a reference, and fails where a loss is shown."""
    assert "G7" not in states(evaluate(made_run(), SOUND, WANTED, regression=gap))
    found = evaluate(made_run(), SOUND, GatesConfig(reference="last"), regression=gap)
    assert state == states(found)["G7"]


def test_names_of_files_cannot_drive_the_terminal() -> None:
    """A stale file's name with control characters is shown, not sent."""
    found = evaluate(made_run(), replace(SOUND, stale=("a\x1b[2J\n.py",)), WANTED)
    assert "\x1b" not in gates_text(found) + gates_sentence(stopping_gates(found, allow_missing=False))
    assert len(gates_text(found).splitlines()) == 8


@pytest.mark.parametrize("name", ["hybrid@0.65", "baseline@.5", "hybrid-lexical@1.0", "hybrid@0.05"])
def test_systems_of_less_budget_have_names(name: str) -> None:
    """A share of the budget behind any system's name is that system with smaller packs."""
    (system,) = parse_systems([name])
    assert (system.name, system.kind) == (name, re.split("[-@]", name)[0])
    assert system.share == float(name.partition("@")[2])


@pytest.mark.parametrize(
    "name", ["hybrid@0", "hybrid@0.0", "hybrid@1.5", "hybrid@65", "@0.5", "hybrid@", "hybrid@x"]
)
def test_other_shares_are_refused(name: str) -> None:
    """What is no share in (0, 1] is no system."""
    with pytest.raises(UsageError, match="there is no system"):
        parse_systems([name])
