"""A benchmark's report as text for people and as plain values for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from workbench.replay.benchmark import BenchmarkReport, SystemComparison, SystemReport
from workbench.replay.run_report import SIGNIFICANT, table
from workbench.text.sanitize import visible_line


def benchmark_json(report: BenchmarkReport) -> dict[str, Any]:
    """Return the report as values JSON can hold; latency is the only part that differs between runs."""
    found: dict[str, Any] = msgspec.to_builtins(report)
    return found


def benchmark_text(report: BenchmarkReport) -> str:
    """Return the report as lines of text."""
    parts = [_head(report), _sweep(report), _chosen_table(report)]
    if report.comparisons:
        parts.append("\n".join(_comparison(comparison) for comparison in report.comparisons))
    parts += [_kinds(report), _ranking(report), _latency(report)]
    return "\n\n".join(parts)


def _head(report: BenchmarkReport) -> str:
    lines = [
        f"{visible_line(report.dataset)}: {report.rules} rules, {report.messages} messages, "
        f"{report.expecting_none} of them about no rule",
        f"{report.fit} messages choose the thresholds, {report.test} others are reported",
        f"embeddings: {report.model or 'none'}" + (f" ({report.note})" if report.note else ""),
    ]
    if report.degraded:
        lines.append(f"degraded: {', '.join(report.degraded)}; only systems without embeddings were run")
    return "\n".join(lines)


def _sweep(report: BenchmarkReport) -> str:
    rows = [
        [
            system.name,
            f"{one.threshold:.1f}",
            *_figures([one.precision, one.recall, one.f1]),
            "*" if one.threshold == system.sweep_best else "",
            *_figures([one.macro_f1, one.mrr, one.abstained]),
        ]
        for system in report.systems
        for one in system.sweep
    ]
    head = ["", "threshold", "precision", "recall", "F1", "", "macro F1", "MRR", "abstained"]
    return "By threshold (* best F1)\n" + table(head, rows)


def _chosen_table(report: BenchmarkReport) -> str:
    rows = []
    for system in report.systems:
        one = system.chosen
        rows.append(
            [
                system.name,
                f"{one.threshold:.2f}",
                *_figures([one.precision, one.recall, one.f1]),
                f"[{system.interval[0]:.3f}, {system.interval[1]:.3f}]",
                *_figures([one.macro_f1, one.mrr, one.abstained]),
            ]
        )
    head = ["", "threshold", "precision", "recall", "F1", "95 %", "macro F1", "MRR", "abstained"]
    return "Each at the threshold of its best F1 on the other half\n" + table(head, rows)


def _comparison(one: SystemComparison) -> str:
    lines = [
        f"  {name:<8}  {gap.value:+.3f} [{gap.low:+.3f}, {gap.high:+.3f}]  p = {gap.p:.4f}"
        + ("" if gap.p < SIGNIFICANT else ": no difference shown")
        for name, gap in (("F1", one.f1), ("macro F1", one.macro_f1))
    ]
    return "\n".join([f"{one.first} - {one.second}", *lines])


def _kinds(report: BenchmarkReport) -> str:
    counts = {kind: count for system in report.systems for kind, (count, _) in system.kinds.items()}
    rows = [
        [
            visible_line(kind) or "no kind",
            str(count),
            *(f"{system.kinds[kind][1]:.3f}" for system in report.systems),
        ]
        for kind, count in counts.items()
    ]
    head = ["", "messages", *(system.name for system in report.systems)]
    return "Macro F1 by kind, at these thresholds\n" + table(head, rows)


def _ranking(report: BenchmarkReport) -> str:
    rows = [
        [
            system.name,
            *_figures(
                [
                    system.ranking.recall_at_1,
                    system.ranking.recall_at_5,
                    system.ranking.ndcg_at_10,
                    system.ranking.mrr,
                    system.ranking.auroc,
                ]
            ),
        ]
        for system in report.systems
    ]
    return "Without a threshold\n" + table(["", "R@1", "R@5", "nDCG@10", "MRR", "AUROC"], rows)


def _latency(report: BenchmarkReport) -> str:
    rows = [_latency_row(system) for system in report.systems]
    head = ["", "p50", "p95", "with embedding p50", "p95"]
    return "Milliseconds a message\n" + table(head, rows)


def _latency_row(system: SystemReport) -> list[str]:
    took = system.latency
    return [
        system.name,
        *(f"{one:.2f}" for one in (took.p50, took.p95, took.p50_with_embedding, took.p95_with_embedding)),
    ]


def _figures(values: Sequence[float]) -> list[str]:
    return [f"{value:.3f}" for value in values]
