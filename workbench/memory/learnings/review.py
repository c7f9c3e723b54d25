"""What waits in the review queue: conflicts, learnings that outcomes spoke against, and what nobody has seen.

Everything follows from the ledger: nothing has to be raised and nothing can be forgotten. Repetitions and
contradictions are found again each time, without comparing all pairs; those somebody settled are left out.

The audit lists the junk in a memory. Pruning is conservative, for what is old and unseen may be what keeps an
error from coming back (F35): only what was learned automatically, never reviewed and seen in a single session
long ago goes. It can be undone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Final

from workbench.comparison.candidates import find_duplicates
from workbench.comparison.verdicts import TextJudgement, TextVerdict, judge
from workbench.curation.concurrency import ADVICE, concurrent_edits, edit_notes, edit_sides, version_place
from workbench.lists.conflicts import ConflictRow, ConflictSide
from workbench.memory.learnings.corrections.tally import group_by_learning, tally
from workbench.memory.learnings.echoes import Injections, is_echo
from workbench.memory.learnings.learningtype import LOST, WAS_CUT, stale_days
from workbench.memory.learnings.ledger import LearningLedger, Note
from workbench.memory.learnings.lessons import CUT_OUT, too_vague, was_cut
from workbench.memory.learnings.pairs import Finder, find_pairs
from workbench.records.conflicts import Action, ConflictKind, Evidence, Suggestion, conflict_id
from workbench.records.dataclass import dataclass
from workbench.records.learnings import (
    PROMOTE_HITS,
    STALE_DAYS,
    Correction,
    FeatureLearning,
    LearningKind,
    LearningSource,
)
from workbench.text.redact import find_secrets


class Why(StrEnum):
    """Why a learning waits, most urgent first."""

    CONFLICT = "conflict"  # it contradicts another
    CONTRADICTED = "contradicted"  # an outcome spoke against it
    DUPLICATE = "duplicate"  # another says the same
    SUGGESTED = "suggested-rule"  # the user said so again, or that it always holds
    PROMOTE = "promote"  # found out so often that it could be a rule
    UNREVIEWED = "unreviewed"  # nobody has seen it
    STALE = "stale"  # reviewed, and nothing new was learned of it for long


@dataclass(frozen=True, slots=True)
class ConflictFound:
    """Two learnings that contradict (or repeat) each other, with the evidence and a suggested resolution.

    `left` was there first. Nothing acts on the suggestion by itself. With `concurrent` they are two versions
    of one, written on two machines of a team apart, and the left one holds.
    """

    id: str
    verdict: TextVerdict
    left: FeatureLearning
    right: FeatureLearning
    score: float
    evidence: tuple[Evidence, ...]
    suggestion: Action
    why: str
    concurrent: bool = False


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """A learning that waits for a person.

    `sentence` says why, `evidence` on what grounds. `conflict` is the pair where there are two sides, `other`
    its other learning. `stale_days` count from when it was last heard of. `hits` and `against` are the
    sessions that found it out again and the outcomes against it; `provenance` says where it is from.
    """

    learning: FeatureLearning
    why: Why
    sentence: str
    evidence: tuple[Evidence, ...] = ()
    conflict: ConflictFound | None = None
    other: FeatureLearning | None = None
    stale_days: int = 0
    hits: tuple[Note, ...] = ()
    against: tuple[Note, ...] = ()
    provenance: str = ""


def queue_of(
    ledger: LearningLedger,
    now: float,
    collisions: Iterable[ConflictFound],
    live: Iterable[FeatureLearning] | None = None,
) -> tuple[ReviewItem, ...]:
    """Return the queue for these pairs, and the ledger's `live` learnings where these are at hand."""
    found: dict[str, ReviewItem] = {}
    for pair in collisions:
        why = Why.CONFLICT if pair.verdict is TextVerdict.CONFLICT else Why.DUPLICATE
        mine, other = (pair.left, pair.right) if pair.concurrent else (pair.right, pair.left)
        if mine.id not in found or why is Why.CONFLICT:
            found[mine.id] = ReviewItem(mine, why, pair.why, pair.evidence, conflict=pair, other=other)
    heard = group_by_learning(ledger.said)
    for one in ledger.live() if live is None else live:
        reason, known = _waits(one, ledger, now, heard.get(one.id, ())), found.get(one.id)
        if reason is not None and (known is None or _ORDER[reason[0]] < _ORDER[known.why]):
            found[one.id] = ReviewItem(one, *reason)
    items = [_add_evidence(item, ledger, now, heard.get(item.learning.id, ())) for item in found.values()]
    items.sort(key=lambda item: item.learning.id)
    items.sort(key=lambda item: item.learning.timestamp, reverse=True)
    items.sort(key=lambda item: (_ORDER[item.why], -item.learning.hit_count))
    return tuple(items)


def conflicts_of(ledger: LearningLedger, find: Finder = find_duplicates) -> tuple[ConflictFound, ...]:
    """Return pairs of live learnings that nobody settled, contradictions first, surest first."""
    return conflicts_among(ledger, ledger.live(), find)


def edits_of(ledger: LearningLedger, names: Mapping[str, str]) -> tuple[ConflictFound, ...]:
    """Return the concurrent edits of a team as conflicts, newest first."""
    found = []
    for edit in concurrent_edits(ledger):
        why, evidence = edit_notes(ledger.type, edit, names)
        left, right = edit_sides(ledger.type, edit)
        about = (edit.id, TextVerdict.CONFLICT, left, right, 1.0, evidence, ADVICE.action, why)
        found.append(ConflictFound(*about, concurrent=True))
    return tuple(found)


def conflicts_among(
    ledger: LearningLedger, learnings: Iterable[FeatureLearning], find: Finder = find_duplicates
) -> tuple[ConflictFound, ...]:
    """Return the pairs of some live learnings, as `conflicts_of`."""
    live = {learning.id: learning for learning in learnings}
    judged: dict[str, tuple[FeatureLearning, FeatureLearning, TextJudgement]] = {}
    for pair in find_pairs(list(live.values()), find):
        judged[conflict_id(pair.left.id, pair.right.id)] = (pair.left, pair.right, pair.judgement)
    for one in live.values():
        for other in one.conflicts_with:
            identifier = conflict_id(one.id, other)
            if other in live and identifier not in judged:
                judged[identifier] = (live[other], one, judge(live[other].text, one.text))
    first = {identifier: place for place, identifier in enumerate(ledger.in_order(live))}
    found: list[ConflictFound] = []
    for identifier, (mine, theirs, judgement) in judged.items():
        if identifier not in ledger.settled:
            left, right = (mine, theirs) if first[mine.id] < first[theirs.id] else (theirs, mine)
            found.append(_conflict_of(identifier, left, right, judgement))
    found.sort(key=lambda one: (one.verdict is not TextVerdict.CONFLICT, -one.score, one.id))
    return tuple(found)


_KINDS: Final = (ConflictKind.CONTRADICTORY, ConflictKind.NEAR)


def conflict_rows(pairs: Iterable[ConflictFound]) -> list[ConflictRow]:
    """Return conflicts of learnings as the rows of a list."""
    rows = []
    for pair in pairs:
        near = pair.verdict is TextVerdict.DUPLICATE
        why = f"{pair.why[:1].upper()}{pair.why[1:].removesuffix('.')}."
        keep = pair.right.id if pair.suggestion is Action.SUPERSEDE else ""
        advice = Suggestion(pair.suggestion, why, keep, pair.left.text if near else "")
        sides = (pair.left, pair.right)
        rows.append(
            ConflictRow(
                pair.id,
                "learning",
                ConflictKind.CONCURRENT if pair.concurrent else _KINDS[near],
                pair.score,
                *_sides(pair),
                why,
                pair.evidence,
                replace(ADVICE, keep=pair.left.id) if pair.concurrent else advice,
                (*pair.left.scope, *pair.right.scope),
                max(max(side.timestamp, side.updated_at, side.reviewed_at) for side in sides),
            )
        )
    return rows


def _sides(pair: ConflictFound) -> tuple[ConflictSide, ConflictSide]:
    """Return both sides; versions of one learning are told apart by where they were written."""
    found = (pair.left, pair.right)
    places = [provenance(one) for one in found]
    if pair.concurrent:
        places = [version_place(note) for note in pair.evidence[:2]]
    left, right = (
        ConflictSide(one.id, one.text, place, one.files[0] if one.files else "")
        for one, place in zip(found, places, strict=True)
    )
    return left, right


def contested_among(ledger: LearningLedger, doubts: Mapping[str, Iterable[str]]) -> frozenset[str]:
    """Return which of live learnings and what these contradicted when they came are held back meanwhile."""
    return frozenset(
        _doubtful_one(ledger.records[one], ledger.records[other])
        for one, others in doubts.items()
        for other in others
        if _open(ledger, one, other)
    )


def provenance(learning: FeatureLearning) -> str:
    """Return where a learning comes from in a few words: `auth, iteration 7, auto`."""
    parts = [learning.feature if learning.project_id else f"your own, {learning.feature}"]
    if learning.task_id:
        parts.append(f"task {learning.task_id}")
    if learning.iteration is not None:
        parts.append(f"iteration {learning.iteration}")
    parts.append(learning.source.value.replace("_", " "))
    return ", ".join(parts)


def _doubtful_one(newer: FeatureLearning, older: FeatureLearning) -> str:
    """Return which of two is held back: the unreviewed one; of two reviewed the worse source, else the older.

    Of two unreviewed ones it is the newer, but of a user's own words the older.
    """
    if newer.reviewed is not older.reviewed:
        return older.id if newer.reviewed else newer.id
    if newer.reviewed:
        return newer.id if newer.source.rank < older.source.rank else older.id
    both = newer.kind is older.kind is LearningKind.CORRECTION
    return older.id if both else newer.id


def _open(ledger: LearningLedger, one: str, other: str) -> bool:
    there = ledger.records.get(other)
    return there is not None and there.live and conflict_id(one, other) not in ledger.settled


def _conflict_of(
    identifier: str, left: FeatureLearning, right: FeatureLearning, judgement: TextJudgement
) -> ConflictFound:
    verdict = judgement.verdict if judgement.verdict is not TextVerdict.UNIQUE else TextVerdict.CONFLICT
    action, why = _suggest(left, right, verdict)
    return ConflictFound(identifier, verdict, left, right, judgement.score, judgement.evidence, action, why)


def _suggest(left: FeatureLearning, right: FeatureLearning, verdict: TextVerdict) -> tuple[Action, str]:
    if verdict is TextVerdict.DUPLICATE:
        return Action.MERGE, "both say the same"
    if left.reviewed is not right.reviewed:
        kept = Action.KEEP_LEFT if left.reviewed else Action.KEEP_RIGHT
        return kept, "they contradict each other, and only one of them was reviewed"
    if left.source.rank != right.source.rank:
        kept = Action.KEEP_LEFT if left.source.rank > right.source.rank else Action.KEEP_RIGHT
        return kept, "they contradict each other, and one is of the better source"
    return Action.SUPERSEDE, "they contradict each other, and the newer one is likelier to hold now"


def suggestion(one: FeatureLearning, said: Sequence[Correction]) -> tuple[Why, str] | None:
    """Return why a correction waits as a suggested rule; None if it does not, or not since its review."""
    new = [correction for correction in said if correction.at > one.reviewed_at]
    counted = tally(said)
    if one.kind is not LearningKind.CORRECTION or not new or not counted.why:
        return None
    denied = next((correction.rule for correction in reversed(new) if correction.against), "")
    if denied:
        return Why.CONFLICT, f"{counted.why}, but a rule says otherwise: {denied}"
    return Why.SUGGESTED, f"{counted.why}: a suggested rule; `promote` makes it one, `reject` ends it"


def _quote(said: Correction) -> Evidence:
    where = f"session {said.session_id[:8]}, " if said.session_id else ""
    return Evidence("said", 1.0, f'"{said.quote}" ({where}prompt {said.prompt}, {said.at[:10]})')


def _waits(
    one: FeatureLearning, ledger: LearningLedger, now: float, said: Sequence[Correction]
) -> tuple[Why, str] | None:
    against = [note for note in ledger.contradictions.get(one.id, ()) if note.at > one.reviewed_at]
    if against:
        times = "an outcome" if len(against) == 1 else f"{len(against)} outcomes"
        lost = "; it is given to nobody until you review it" if one.confidence < LOST else ""
        return Why.CONTRADICTED, f"{times} spoke against it: {against[-1].why}{lost}"
    suggested = suggestion(one, said)
    if suggested is not None:
        return suggested
    if one.hit_count >= PROMOTE_HITS and one.source is not LearningSource.HUMAN:
        return Why.PROMOTE, f"found out in {one.hit_count} sessions: it could be a rule"
    if not one.reviewed:
        held = f"{WAS_CUT}: it is given to nobody until you review it; " if was_cut(one) else ""
        return Why.UNREVIEWED, f"{held}nobody has reviewed it: {one.reason}"
    days = stale_days(one, now)
    if days >= STALE_DAYS:
        return Why.STALE, f"nothing new was learned of it for {days} days"
    return None


def _add_evidence(
    item: ReviewItem, ledger: LearningLedger, now: float, said: Sequence[Correction]
) -> ReviewItem:
    one = item.learning
    evidence = (*item.evidence, *map(_quote, said))
    if was_cut(one):
        evidence = (*evidence, Evidence("cut out", 1.0, one.evidence.removeprefix(CUT_OUT)))
    elif one.evidence and not said:
        evidence = (*evidence, Evidence("seen", 1.0, one.evidence))
    return replace(
        item,
        evidence=evidence,
        stale_days=stale_days(one, now),
        hits=tuple(ledger.hits.get(one.id, ())),
        against=tuple(ledger.contradictions.get(one.id, ())),
        provenance=provenance(one),
    )


_ORDER: Final = {why: place for place, why in enumerate(Why)}


PRUNE_DAYS: Final = 60.0


class JunkKind(StrEnum):
    """What is wrong with a learning."""

    DUPLICATE = "duplicate"
    CONTRADICTION = "contradiction"
    STALE = "stale"
    ECHO = "echo"  # the workbench itself had injected it before
    VAGUE = "vague"
    SECRET = "secret"


@dataclass(frozen=True, slots=True)
class Junk:
    """A learning that looks like junk, and why; `other` is the id of the one it repeats or contradicts."""

    kind: JunkKind
    learning: FeatureLearning
    why: str
    other: str = ""


@dataclass(frozen=True, slots=True)
class Audit:
    """What looks like junk among `total` live learnings, and which of it pruning would take out."""

    total: int
    junk: tuple[Junk, ...]
    prunable: tuple[FeatureLearning, ...]

    def counts(self) -> dict[str, int]:
        """Return how many there are of each kind, every kind named."""
        return {kind.value: sum(one.kind is kind for one in self.junk) for kind in JunkKind}


def audit(
    ledger: LearningLedger, injections: Injections, now: float, find: Finder = find_duplicates
) -> Audit:
    """Return the junk by kind, ties by id, and what pruning would take out."""
    live = ledger.live()
    found = [*_collisions(ledger, find)]
    for one in live:
        found += _faults(one, injections, now)
    order = tuple(JunkKind)
    found.sort(key=lambda one: (order.index(one.kind), one.learning.id, one.other))
    return Audit(len(live), tuple(found), prunable(ledger, now))


def prunable(ledger: LearningLedger, now: float, days: float | None = None) -> tuple[FeatureLearning, ...]:
    """Return what may go (F35): automatic, unreviewed, seen once, not heard of for `days` (default 60)."""
    least = PRUNE_DAYS if days is None else days
    return tuple(
        one
        for one in ledger.live()
        if one.source is LearningSource.AUTO
        and not one.reviewed
        and one.hit_count == 1
        and stale_days(one, now) >= least
    )


def _collisions(ledger: LearningLedger, find: Finder) -> Iterator[Junk]:
    for pair in conflicts_of(ledger, find):
        kind = JunkKind.CONTRADICTION if pair.verdict is TextVerdict.CONFLICT else JunkKind.DUPLICATE
        yield Junk(kind, pair.right, "; ".join(one.detail for one in pair.evidence[:2]), pair.left.id)


def _faults(one: FeatureLearning, injections: Injections, now: float) -> Iterator[Junk]:
    days = stale_days(one, now)
    if days >= STALE_DAYS:
        yield Junk(JunkKind.STALE, one, f"nothing new was learned of it for {days} days")
    written = one.source in (LearningSource.AUTO, LearningSource.AGENT) and not one.reviewed
    if written and is_echo(one.text, injections.prints_before(one.timestamp)):
        yield Junk(JunkKind.ECHO, one, "the workbench had injected it before it was learned")
    # What a user says of how things are done needs no names: "do not add comments".
    reason = "" if one.kind is LearningKind.CORRECTION else too_vague(one.text)
    if written and reason:
        yield Junk(JunkKind.VAGUE, one, reason)
    if find_secrets(one.text):
        yield Junk(JunkKind.SECRET, one, "it holds a secret")
