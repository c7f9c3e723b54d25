"""Did it help? What sessions did with what they were handed, counted from what was recorded of them.

A file counts as opened where its session read or edited it after it was given. What was recorded while it
happened is ordered by the stream of sessions, so that a clock that jumps changes nothing; what was imported
by its times. Rules are judged only where a check can judge them: a session that had one and did not break it
obeyed. Nothing is said of tokens that somebody saved.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field
from functools import lru_cache

from workbench.records.answers.usage import DoorUse, RuleOutcome, RuleUse, SessionUse
from workbench.records.dataclass import dataclass
from workbench.records.usage import FileTouch, Handover, UsageRecords
from workbench.sessions.rule_outcomes import rule_outcome
from workbench.text.counts import plural


@dataclass(frozen=True, slots=True)
class KnownRules:
    """The rules in force, as far as their use is counted: ids, those with a check, and the files of some."""

    ids: frozenset[str] = frozenset()
    checkable: frozenset[str] = frozenset()
    files: Mapping[str, str] = field(default_factory=dict)


def opened_after(touch: FileTouch, given: Handover) -> bool:
    """Whether a file was read or edited after a hand-over."""
    if touch.read_entry >= 0 and given.seen >= 0:
        return touch.read_entry >= given.seen or edited_after(touch, given)
    return touch.read_at >= int(given.at) or edited_after(touch, given)


def edited_after(touch: FileTouch, given: Handover) -> bool:
    """Whether a file was edited after a hand-over."""
    if touch.edit_entry >= 0 and given.seen >= 0:
        return touch.edit_entry >= given.seen
    return touch.edited_at >= int(given.at)


def door_uses(records: UsageRecords) -> tuple[DoorUse, ...]:
    """Return what became of what each door handed over, by agent and event."""
    everything = _given_files(records.handovers)
    doors: dict[tuple[str, str], list[Handover]] = {}
    for handover in records.handovers:
        doors.setdefault((handover.agent, handover.event), []).append(handover)
    found = []
    for (agent, event), calls in sorted(doors.items()):
        counts = [0] * 7
        for session, given in _by_session(calls).items():
            later = _look(given, records, session, everything.get(session, {}))
            numbers = (
                len(later.files),
                len(later.opened),
                len(later.edited),
                len(later.missed),
                len(later.changed),
                later.nearby,
                later.elsewhere,
            )
            counts = [total + number for total, number in zip(counts, numbers, strict=True)]
        silent = sum(not (call.files or call.passages) for call in calls)
        tokens = sum(call.tokens for call in calls)
        found.append(DoorUse(agent, event, len(calls), silent, tokens, *counts))
    return tuple(found)


def session_uses(records: UsageRecords, rules: KnownRules) -> tuple[SessionUse, ...]:
    """Return what each session was given and did with it, newest first."""
    found = []
    broken = _broken_rules(records)
    for session, given in _by_session(records.handovers).items():
        later = _look(given, records, session, _given_files(given).get(session, {}))
        had = _delivered_rules(records, session, given, rules)
        found.append(
            SessionUse(
                session_id=session,
                agent=next((one.agent for one in given if one.agent), ""),
                started_at=round(given[0].at, 3),
                calls=len(given),
                tokens=sum(one.tokens for one in given),
                files=len(later.files),
                opened=len(later.opened),
                changed=tuple(sorted(later.changed)),
                missed=tuple(sorted(later.missed)),
                nearby=later.nearby,
                elsewhere=later.elsewhere,
                broken=tuple(sorted(broken.get(session, frozenset()) & had)),
                outcome=session_outcome(records.outcomes.get(session, ())),
                variant=next((one.variant for one in given if one.variant), ""),
            )
        )
    return tuple(sorted(found, key=lambda one: (-one.started_at, one.session_id)))


def first_pass_rate(sessions: Iterable[SessionUse]) -> float | None:
    """Return the share of judged sessions that succeeded without exploring on [img §2.1, 3].

    Those count that were given files and edited some. A session explored on if it read or edited a file that
    it was not given and that is neither beside nor linked to one it was given. None where none can be judged.
    """
    judged = [
        one
        for one in sessions
        if one.session_id and one.files and one.outcome != "unknown" and (one.changed or one.missed)
    ]
    passed = sum(one.outcome == "success" and not one.elsewhere for one in judged)
    return round(passed / len(judged), 4) if judged else None


def affinity_hit_rate(records: UsageRecords) -> float | None:
    """Return the share of sessions with edits in which a file that past tasks spoke for was given and edited.

    Those count that were given files and edited some afterwards, given or not. None without any.
    """
    hits = []
    for session, given in _by_session(records.handovers).items():
        later = _look(given, records, session, _given_files(given).get(session, {}))
        if session and later.files and (later.changed or later.missed):
            backed = frozenset().union(*(one.backed for one in given))
            hits.append(not backed.isdisjoint(later.changed))
    return round(sum(hits) / len(hits), 4) if hits else None


def rule_uses(records: UsageRecords, rules: KnownRules) -> tuple[RuleUse, ...]:
    """Return what became of each rule, by the variant of the matching, the most given first."""
    columns = ("matched", "given", "loaded", "obeyed", "broken", "success", "failed")
    counts: dict[tuple[str, str], dict[str, int]] = {}
    ends: dict[str, Counter[str]] = {}
    broken = _broken_rules(records)
    for session, given in _by_session(records.handovers).items():
        if not session:
            continue
        variant = next((one.variant for one in given if one.variant), "")
        handed = {passage for each in given for passage in each.passages} & rules.ids
        loaded = _loaded_rules(records, session, rules)
        matched = {one for each in given for one in each.matched} & rules.ids
        had = handed | loaded
        outcome = session_outcome(records.outcomes.get(session, ()))
        ends.setdefault(variant, Counter())[outcome] += 1
        bad = broken.get(session, frozenset()) & had
        marks = {
            "matched": matched | handed,
            "given": handed,
            "loaded": loaded,
            "obeyed": (had & rules.checkable) - bad,
            "broken": bad,
            outcome: had,
        }
        for name, ids in marks.items():
            for rule in ids:
                row = counts.setdefault((rule, variant), dict.fromkeys(columns, 0))
                row[name] = row.get(name, 0) + 1
    found = [
        RuleUse(
            rule_id=rule,
            variant=variant,
            checkable=rule in rules.checkable,
            **{name: row[name] for name in columns},
            outcome=_outcome_of(row, ends[variant]),
        )
        for (rule, variant), row in counts.items()
    ]
    return tuple(
        sorted(found, key=lambda one: (-one.given, -one.loaded, -one.matched, one.rule_id, one.variant))
    )


def _outcome_of(row: Mapping[str, int], ends: Mapping[str, int]) -> RuleOutcome | None:
    """Return how sessions of a rule ended, from its counts by outcome and those of all sessions."""
    judged = sum(row.get(name, 0) for name in _JUDGED)
    others = sum(ends.get(name, 0) for name in _JUDGED) - judged
    return rule_outcome(judged, row["success"], others, ends.get("success", 0) - row["success"])


_JUDGED = ("success", "partial", "failed")


def session_measures(
    records: UsageRecords, rules: KnownRules, sessions: Iterable[SessionUse]
) -> dict[str, list[Mapping[str, float]]]:
    """Return by variant of the matching what was measured of each session; what cannot be is left out.

    `sessions` are those of `session_uses`.
    """
    found: dict[str, list[Mapping[str, float]]] = {}
    broken, uses = _broken_rules(records), {session.session_id: session for session in sessions}
    for session, given in _by_session(records.handovers).items():
        use = uses[session]
        if not use.variant or not session:
            continue
        handed = {passage for each in given for passage in each.passages} & rules.ids
        judged = (handed | _loaded_rules(records, session, rules)) & rules.checkable
        measures = {"rules given": float(len(handed))}
        if judged:
            obeyed = judged - broken.get(session, frozenset())
            measures["share of rules obeyed"] = len(obeyed) / len(judged)
        if use.files:
            measures["share of files opened"] = use.opened / use.files
        if use.outcome != "unknown":
            measures["share of sessions that succeeded"] = float(use.outcome == "success")
        found.setdefault(use.variant, []).append(measures)
    return found


def session_outcome(outcomes: Collection[str]) -> str:
    """Return the outcome of a session from those of its tasks: partial where they differ."""
    known = {outcome for outcome in outcomes if outcome != "unknown"}
    if not known:
        return "unknown"
    return known.pop() if len(known) == 1 else "partial"


def receipt(use: SessionUse) -> str:
    """Return in a line what a session was given and what it did with it."""
    text = f"{plural(use.files, 'file')} given, {use.opened} opened, {len(use.changed)} edited"
    if use.missed:
        more = f" and {len(use.missed) - _NAMED} more" if len(use.missed) > _NAMED else ""
        text += f"; edited and not given: {', '.join(use.missed[:_NAMED])}{more}"
    if use.broken:
        text += f"; rules broken although given: {len(use.broken)}"
    return f"{text}; {use.tokens:,} tokens"


_NAMED = 5


@dataclass(frozen=True, slots=True)
class _Later:
    """What a session did with some hand-overs: the files given and, of all it touched later, which."""

    files: frozenset[str]
    opened: frozenset[str]
    changed: frozenset[str]
    edited: frozenset[str]
    missed: frozenset[str]
    nearby: int
    elsewhere: int


def _look(
    given: Sequence[Handover], records: UsageRecords, session: str, everything: Mapping[str, Handover]
) -> _Later:
    """Return what became of hand-overs to one session; `everything` is what it was given by any door."""
    start, first = given[0], _given_files(given).get(session, {})
    opened, changed, edited, missed, other = set(), set(), set(), set(), set()
    for touch in records.touches.get(session, ()):
        path = touch.path
        gave = first.get(path)
        since = edited_after(touch, start)
        if gave is None:
            if since or opened_after(touch, start):
                other.add(path)
        elif since if gave is start else edited_after(touch, gave):
            opened.add(path)
            changed.add(path)
        elif opened_after(touch, gave):
            opened.add(path)
        if since:
            edited.add(path)
            by_any = everything.get(path)
            if by_any is None or not (by_any is start or edited_after(touch, by_any)):
                missed.add(path)
    near = _nearby(other, first, records.neighbours)
    return _Later(
        files=frozenset(first),
        opened=frozenset(opened),
        changed=frozenset(changed),
        edited=frozenset(edited),
        missed=frozenset(missed),
        nearby=near,
        elsewhere=len(other) - near,
    )


def _nearby(paths: Iterable[str], given: Collection[str], neighbours: Mapping[str, frozenset[str]]) -> int:
    folders = set(map(_folder, given))
    beside = frozenset().union(*(neighbours.get(path, ()) for path in given))
    return sum(path in beside or _folder(path) in folders for path in paths)


@lru_cache(maxsize=65_536)
def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _given_files(handovers: Iterable[Handover]) -> dict[str, dict[str, Handover]]:
    """Return by session the files it was given, each with the first hand-over that had it."""
    found: dict[str, dict[str, Handover]] = {}
    for handover in handovers:
        files = found.setdefault(handover.session, {})
        for path in handover.files:
            files.setdefault(path, handover)
    return found


def _by_session(handovers: Iterable[Handover]) -> dict[str, list[Handover]]:
    found: dict[str, list[Handover]] = {}
    for handover in handovers:
        found.setdefault(handover.session, []).append(handover)
    return found


def _loaded_rules(records: UsageRecords, session: str, rules: KnownRules) -> set[str]:
    files = records.loaded.get(session, ())
    return {rule for rule, file in rules.files.items() if file in files} if files else set()


def _delivered_rules(
    records: UsageRecords, session: str, given: Iterable[Handover], rules: KnownRules
) -> set[str]:
    return {passage for each in given for passage in each.passages} | _loaded_rules(records, session, rules)


def _broken_rules(records: UsageRecords) -> dict[str, frozenset[str]]:
    """Return by session the rules it broke after it was first given something that had them."""
    first: dict[tuple[str, str], float] = {}
    for handover in records.handovers:
        for passage in handover.passages:
            first.setdefault((handover.session, passage), handover.at)
    found: dict[str, set[str]] = {}
    for breach in records.breaches:
        if breach.at >= int(first.get((breach.session, breach.rule), 0.0)):
            found.setdefault(breach.session, set()).add(breach.rule)
    return {session: frozenset(ids) for session, ids in found.items()}
