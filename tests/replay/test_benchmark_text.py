"""The report as text says every figure in its place; as JSON it keeps them all."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from workbench.records.replay import Gap
from workbench.replay.answers import AtThreshold, RankingFigures
from workbench.replay.benchmark import BenchmarkReport, Latency, SystemComparison, SystemReport
from workbench.replay.benchmark_text import benchmark_json, benchmark_text
from workbench.replay.run_report import table

LOW = AtThreshold(0.3, 0.25, 0.5, 0.333, 0.4, 0.45, 0.6)
HIGH = AtThreshold(0.4, 0.5, 0.4, 0.444, 0.5, 0.35, 0.8)


def system(name: str) -> SystemReport:
    return SystemReport(
        name=name,
        sweep=(LOW, HIGH),
        sweep_best=0.4,
        fitted=LOW,
        chosen=replace(HIGH, threshold=0.37),
        interval=(0.401, 0.502),
        ranking=RankingFigures(0.51, 0.75, 0.69, 0.66, 0.73),
        kinds={"typo": (12, 0.25), "": (3, 1.0)},
        latency=Latency(0.25, 0.5, 2.5, 5.0),
    )


@pytest.fixture
def report() -> BenchmarkReport:
    """Return a report of two systems, hybrid better in F1 only."""
    clear, none = (
        Gap(0.066, 0.025, 0.109, 0.0034),
        Gap(0.005, -0.027, 0.035, 0.76),
    )
    return BenchmarkReport(
        dataset="small",
        rules=2,
        messages=30,
        expecting_none=9,
        fit=15,
        test=15,
        model="minilm",
        systems=(system("bm25"), system("hybrid")),
        comparisons=(SystemComparison("hybrid", "bm25", clear, none),),
    )


TEXT = """\
small: 2 rules, 30 messages, 9 of them about no rule
15 messages choose the thresholds, 15 others are reported
embeddings: minilm

By threshold (* best F1)
        threshold  precision  recall     F1     macro F1    MRR  abstained
bm25          0.3      0.250   0.500  0.333        0.400  0.450      0.600
bm25          0.4      0.500   0.400  0.444  *     0.500  0.350      0.800
hybrid        0.3      0.250   0.500  0.333        0.400  0.450      0.600
hybrid        0.4      0.500   0.400  0.444  *     0.500  0.350      0.800

Each at the threshold of its best F1 on the other half
        threshold  precision  recall     F1            95 %  macro F1    MRR  abstained
bm25         0.37      0.500   0.400  0.444  [0.401, 0.502]     0.500  0.350      0.800
hybrid       0.37      0.500   0.400  0.444  [0.401, 0.502]     0.500  0.350      0.800

hybrid - bm25
  F1        +0.066 [+0.025, +0.109]  p = 0.0034
  macro F1  +0.005 [-0.027, +0.035]  p = 0.7600: no difference shown

Macro F1 by kind, at these thresholds
         messages   bm25  hybrid
typo           12  0.250   0.250
no kind         3  1.000   1.000

Without a threshold
          R@1    R@5  nDCG@10    MRR  AUROC
bm25    0.510  0.750    0.690  0.660  0.730
hybrid  0.510  0.750    0.690  0.660  0.730

Milliseconds a message
         p50   p95  with embedding p50   p95
bm25    0.25  0.50                2.50  5.00
hybrid  0.25  0.50                2.50  5.00"""


def test_the_text(report: BenchmarkReport) -> None:
    """Every figure stands under its name, the best F1 is marked, what shows no difference says so."""
    assert benchmark_text(report) == TEXT


def test_what_was_missing_stands_at_the_top(report: BenchmarkReport) -> None:
    """Without a model the text says so and why, and compares nothing."""
    found = benchmark_text(
        replace(report, model="", degraded=("embeddings",), note="not prepared", comparisons=())
    )
    assert "embeddings: none (not prepared)\ndegraded: embeddings" in found
    assert "hybrid - bm25" not in found


def test_names_from_the_dataset_cannot_drive_the_terminal(report: BenchmarkReport) -> None:
    """A kind with an escape or a line feed in it is shown on its line."""
    odd = replace(report.systems[0], kinds={"a\x1b[2J\nb": (1, 0.5)})
    found = benchmark_text(replace(report, dataset="\x1b]0;x\x07", systems=(odd,), comparisons=()))
    assert "\x1b" not in found
    assert "\x07" not in found
    assert len([line for line in found.splitlines() if line.endswith("1  0.500")]) == 1


def test_the_json_holds_every_figure(report: BenchmarkReport) -> None:
    """It is plain values, with the fields of the report."""
    found = json.loads(json.dumps(benchmark_json(report)))
    assert found["systems"][0]["sweep"][1]["f1"] == 0.444
    assert found["systems"][0]["kinds"] == {"typo": [12, 0.25], "": [3, 1.0]}
    assert found["comparisons"][0]["f1"] == {"value": 0.066, "low": 0.025, "high": 0.109, "p": 0.0034}
    assert found["systems"][1]["latency"]["p95_with_embedding"] == 5.0


def test_a_table_lines_up() -> None:
    """The first column is to the left, the others to the right, and no line ends in blanks."""
    assert table(["", "n", ""], [["a", "10", "*"], ["bcd", "7", ""]]) == "      n\na    10  *\nbcd   7"
