"""`workbench stats`: how long operations took, and with --usage whether what was handed over helped."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

import click

from workbench.entry.cli.arguments import parse_span
from workbench.entry.cli.frame import Invocation, command, current
from workbench.entry.os.terminal import fold
from workbench.entry.project import open_workspace
from workbench.errors import UsageError
from workbench.text.counts import plural, shown_figure
from workbench.text.sanitize import visible_line

if TYPE_CHECKING:
    from workbench.records.answers.project import LockWaits, OperationStats
    from workbench.records.answers.usage import RuleUse, SessionUse, UsageResponse

_SESSIONS = 8
_RULES = 10
_RULE_CHARS = 46


@command
@click.option("--since", default="7d", show_default=True, metavar="SPAN", help="How far back: 30m, 24h, 7d.")
@click.option("--storage", is_flag=True, help="Room on the disk by kind instead, and how it grows.")
@click.option("--usage", is_flag=True, help="What sessions were given instead, and what became of it.")
@click.option("--rules", is_flag=True, help="With --usage: each rule, and how sessions ended that had it.")
def stats(since: str, usage: bool, storage: bool, rules: bool) -> None:
    """Show how long operations took, how often caches answered, and what was missing.

    Times are in milliseconds. Hit ratios are shares of questions that a cache level answered. Waits are
    for locks that others held, of all calls together and by lock; `workbench doctor` says who holds one now.
    Below are the figures that other programs read at /v1/metrics: first pass is by sessions with a known
    outcome that were given files, affinity by those that edited some; without such a session both are by the
    last replay.

    With --storage a line for each kind of what is kept: bytes with copies, entries, growth a day over the
    last 30 days, the limit and the day on which it is reached; last all of it, and when the disk is full.

    With --usage a line for each hook, tool or command that handed something to sessions: how often it was
    asked, how often it had nothing relevant enough, the tokens it added, how many files it gave and how many
    of them the session read or edited afterwards, how many files those sessions edited and how many of them
    they had not been given. Under it the newest sessions, and what became of rules: how many sessions they
    matched, were given to or loaded by the agent itself, and whether those obeyed, where a check can judge.
    --rules has all rules instead, by variant of the matching: the share of judged sessions with the rule that
    succeeded, that of those without it, and the difference, each with its 95 % interval.
    """
    from workbench.entry.services.metrics import (
        recorded_events,
        specified_figures,
        statistics,
        waits_for_locks,
    )
    from workbench.entry.services.sessions import (
        completeness_sentence,
        session_completeness,
        session_figures,
    )
    from workbench.records.answers.project import StatsReport

    here = current()
    seconds = parse_span(since)
    if usage and storage:
        raise UsageError("--usage and --storage are two reports", hint="Give one of them.")
    if rules and not usage:
        raise UsageError("--rules is a part of --usage", hint="`workbench stats --usage --rules`.")
    if storage:
        _show_storage(here)
        return
    if usage:
        _show_usage(here, since, time.time() - seconds, outcome_lines if rules else usage_lines)
        return
    start = time.time() - seconds
    opened = open_workspace(here.project, here.settings().config)
    with closing(opened), opened.kept_tables.settle():
        found = statistics(opened, start)
        stories = session_figures(session_completeness(opened))
        plans = next((one for one in found if one.operation == "plan"), None)
        figures = specified_figures(opened, plans, start)
        waits = waits_for_locks(opened, start)
        events = recorded_events(opened, start)
    if here.wrote_json(StatsReport(since, tuple(found), stories, figures, tuple(waits), events)):
        return
    if stories.ended or stories.open:
        here.out.say(completeness_sentence(stories))
    if events:
        counted = ", ".join(f"{kind} {count:,}" for kind, count in events.items())
        here.out.say(f"recorded: {counted}")
    if not found:
        off = "" if opened.config.store.metrics else " (store.metrics is off)"
        here.out.say(f"nothing was measured in the last {since}{off}")
        return
    for line in (*stats_lines(found), *wait_lines(waits)):
        here.out.data(fold(line, 2))
    for name, value in sorted(figures.items()):
        here.out.data(f"{name:<30} {shown_figure(value)}")


def _show_storage(here: Invocation) -> None:
    from workbench.entry.services.storage import storage_lines, storage_report

    found = storage_report(open_workspace(here.project, here.settings().config))
    if here.wrote_json(found):
        return
    for line in storage_lines(found):
        here.out.data(visible_line(line))


def _show_usage(
    here: Invocation,
    since: str,
    start: float,
    lines: Callable[[UsageResponse, Mapping[str, str]], list[str]],
) -> None:
    from workbench.entry.services.usage import rules_in_book, usage_for

    opened = open_workspace(here.project, here.settings().config)
    found = usage_for(opened, start, since)
    if here.wrote_json(found):
        return
    if not found.hooks:
        here.out.say(f"nothing was handed over in the last {since}")
        return
    texts = {rule.id: rule.rule for rule in rules_in_book(opened)}
    for line in lines(found, texts):
        here.out.data(visible_line(line))


def usage_lines(found: UsageResponse, rules: Mapping[str, str]) -> list[str]:
    """Return what became of hand-overs as lines: doors, sessions, rules ({id: text}) and variants."""
    from workbench.sessions.usage import receipt

    head = ("agent", "by", "asked", "silent", "tokens", "files", "opened", "edited", "missed")
    rows = [
        (
            one.agent or "·",
            one.event,
            *(
                f"{number:,}"
                for number in (
                    one.calls,
                    one.silent,
                    one.tokens,
                    one.files,
                    one.opened,
                    one.edited,
                    one.missed,
                )
            ),
        )
        for one in found.hooks
    ]
    lines = [*_align((head, *rows), 2), "", *_touched_lines(found.sessions)]
    shown = [one for one in found.sessions if one.session_id][:_SESSIONS]
    lines += [f"{_name(one)}: {receipt(one)}; {one.outcome}" for one in shown]
    unclaimed = sum(one.calls for one in found.sessions if not one.session_id)
    if unclaimed:
        lines.append(f"{plural(unclaimed, 'pack')} went to no session that is known")
    lines += _rule_lines(found.rules, rules)
    return lines + _variant_lines(found)


def _touched_lines(sessions: Sequence[SessionUse]) -> list[str]:
    opened, near = sum(one.opened for one in sessions), sum(one.nearby for one in sessions)
    far = sum(one.elsewhere for one in sessions)
    if not opened + near + far:
        return []
    return [
        f"of {plural(opened + near + far, 'file')} touched afterwards {opened:,} had been given, {near:,} "
        f"are beside those or import them, {far:,} are elsewhere"
    ]


def _name(one: SessionUse) -> str:
    when = time.strftime("%m-%d %H:%M", time.localtime(one.started_at))
    return f"{when}  {one.session_id[:8]}"


def _rule_lines(found: Sequence[RuleUse], texts: Mapping[str, str]) -> list[str]:
    """Return the rules that sessions were given; only those with a check can be judged."""
    had = [one for one in found if one.given or one.loaded]
    if not had:
        return []
    tested = any(one.variant for one in had)
    head = ("rule", "matched", "given", "loaded", "obeyed", "broken", "success", "failed")
    rows: list[tuple[str, ...]] = [(*head, "variant") if tested else head]
    for one in had[:_RULES]:
        obeyed = f"{one.obeyed:,}" if one.checkable else "·"
        broken = f"{one.broken:,}" if one.checkable else "·"
        counts = (f"{one.matched:,}", f"{one.given:,}", f"{one.loaded:,}", obeyed, broken)
        row = (_rule_name(one, texts), *counts, f"{one.success:,}", f"{one.failed:,}")
        rows.append((*row, one.variant) if tested else row)
    judged = "" if all(one.checkable for one in had) else " (·: no check can judge it)"
    more = f"and {len(had) - _RULES:,} more rules (--json)"
    lines = ["", f"rules by sessions{judged}", *_align(rows, 1)]
    return lines if len(had) <= _RULES else [*lines, more]


def outcome_lines(found: UsageResponse, rules: Mapping[str, str]) -> list[str]:
    """Return how sessions ended that had each rule ({id: text}), by variant of the matching."""
    head = ("rule", "variant", "had it", "judged", "success", "without", "difference")
    rows = [head]
    for one in found.rules:
        if not (one.given or one.loaded):
            continue
        outcome = one.outcome
        cells = ("·", "·", "·", "·")
        if outcome is not None:
            share = f"{outcome.share:.0%} [{outcome.low:.0%}, {outcome.high:.0%}]"
            without, gap = "·", "·"
            if outcome.others:
                without = f"{outcome.others_share:.0%} of {outcome.others:,}"
                ends = f"[{100 * outcome.difference_low:+.0f}, {100 * outcome.difference_high:+.0f}]"
                gap = f"{100 * outcome.difference:+.0f} {ends}"
            cells = (f"{outcome.judged:,}", share, without, gap)
        had = f"{max(one.given, one.loaded):,}"
        rows.append((_rule_name(one, rules), one.variant or "·", had, *cells))
    note = (
        "differences in points; rules are given to the tasks they match, so that a difference is not a cause"
    )
    return [*_align(rows, 2), note, *_variant_lines(found)]


def _rule_name(one: RuleUse, texts: Mapping[str, str]) -> str:
    text = " ".join(texts.get(one.rule_id, one.rule_id).split())
    return visible_line(text if len(text) <= _RULE_CHARS else text[: _RULE_CHARS - 1] + "…")


def _variant_lines(found: UsageResponse) -> list[str]:
    """Return how sessions with the variant of the matching differ from those without."""
    if not found.variants:
        return []
    lines = ["", f"variant {found.variants[0].variant} against default, difference with its 95 % interval"]
    for one in found.variants:
        unit = "rules of both" if one.paired else f"{one.variant_count} and {one.default_count} sessions"
        lines.append(
            f"  {one.measure}: {one.variant_mean:.3g} against {one.default_mean:.3g}, {one.difference:+.3g} "
            f"[{one.low:+.3g}, {one.high:+.3g}], p {one.p:.2g} ({unit})"
        )
    return lines


def stats_lines(found: Sequence[OperationStats]) -> list[str]:
    """Return an aligned table of operations, then their cache levels, stages and missing parts."""
    head = ("operation", "calls", "failed", "p50", "p95", "p99", "tokens", "files", "degraded")
    rows = [
        (
            one.operation,
            f"{one.count:,}",
            f"{one.failed:,}",
            *(f"{value:,.1f}" for value in (one.p50, one.p95, one.p99)),
            "-" if one.tokens_median is None else f"{one.tokens_median:,.0f}",
            "-" if one.candidates_median is None else f"{one.candidates_median:,.0f}",
            f"{one.fallback_rate:.0%}",
        )
        for one in found
    ]
    lines = _align((head, *rows), 1)
    for one in found:
        if one.hit_ratio:
            levels = ", ".join(f"{level} {ratio:.0%}" for level, ratio in sorted(one.hit_ratio.items()))
            lines.append(f"{one.operation} cache hits: {levels}")
        if one.stages:
            order = sorted(one.stages.items(), key=lambda pair: (-pair[1], pair[0]))
            lines.append(f"{one.operation} stages: " + ", ".join(f"{name} {ms:,.1f}" for name, ms in order))
        if one.rerank_rate:
            lines.append(f"{one.operation} reranked: {one.rerank_rate:.0%}")
        if one.missing:
            parts = ", ".join(f"{part} {times:,}×" for part, times in sorted(one.missing.items()))
            lines.append(f"{one.operation} without: {parts}")
    return lines


def wait_lines(found: Sequence[LockWaits]) -> list[str]:
    """Return how long calls waited for locks as one line, then a line for each lock that held some up."""
    return [
        f"{f'lock {one.lock}' if one.lock else 'waits for locks'}: p50 {one.p50:,.1f}, p95 {one.p95:,.1f}, "
        f"longest {one.longest:,.1f} ({plural(one.calls, 'call')})"
        for one in found
        if one.longest
    ]


def _align(rows: Sequence[tuple[str, ...]], names: int) -> list[str]:
    """Return rows as lines of aligned columns, the first so many of them to the left."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            f"{cell:<{width}}" if column < names else f"{cell:>{width}}"
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
