"""Learnings as a type of curated records: their journal entries, checked on the way in, and what is decided.

Nothing that is invalid is guessed at (F36). A learning that was taken out stays a record, in another state.

Every session that found a learning out by itself takes away a part of the doubt about it. Outcomes against it
are weighed with the sessions for it: the first one halves the trust in what was found out once. A person's
review sets it right again: what spoke against it before counts no more.
"""

from __future__ import annotations

import hashlib
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from workbench.curation.records import AGENTS, RecordType, Settling
from workbench.errors import UsageError
from workbench.memory.learnings import kinds
from workbench.ports import Journal
from workbench.records.conflicts import Action
from workbench.records.learnings import (
    MAX_FILES,
    MAX_REASON,
    MAX_TEXT,
    FeatureLearning,
    LearningSource,
    LearningState,
)

SHORT: Final = 17
"""Characters of an id that are shown: `learning-` and eight digits tell those of a project apart."""

_GONE: Final = {Action.MERGE: LearningState.MERGED, Action.SUPERSEDE: LearningState.SUPERSEDED}


def problems(learning: FeatureLearning) -> tuple[str, ...]:
    """Return what is wrong with a learning's values, one sentence each; empty for a good one."""
    found = []
    if not learning.text.strip():
        found.append("it says nothing")
    if len(learning.text) > MAX_TEXT:
        found.append(f"its text has more than {MAX_TEXT} characters")
    if not learning.reason.strip():
        found.append("it has no reason: say why it exists")
    if len(learning.reason) > MAX_REASON:
        found.append(f"its reason has more than {MAX_REASON} characters")
    if not learning.feature.strip():
        found.append("it belongs to no feature")
    if len(learning.files) > MAX_FILES:
        found.append(f"it names more than {MAX_FILES} files")
    if not 0.0 <= learning.confidence <= 1.0:
        found.append("its confidence is not between 0 and 1")
    if learning.hit_count < 1:
        found.append("it was seen less than once")
    return tuple(found)


def learning_id(owner: str, feature: str, text: str, taken: Container[str]) -> str:
    """Return an id for a text that no learning ever had."""
    number = 0
    while True:
        key = "\0".join((owner, feature, " ".join(text.split()), str(number)))
        digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
        if (identifier := f"learning-{digest[:20]}") not in taken:
            return identifier
        number += 1


class LearningType(RecordType[FeatureLearning]):
    """Learnings: each feature's are in its own stream; whoever chooses one has reviewed it."""

    record = FeatureLearning
    noun = "learning"
    group = "memory"
    shown = SHORT
    put = kinds.PUT
    removed = kinds.REMOVED
    settled = kinds.SETTLED
    reopened = kinds.REOPENED
    facts = frozenset({kinds.HIT, kinds.CONTRADICTED, kinds.SAID})
    editable = frozenset({"text", "reason", "task_id", "feature", "kind", "files", "scope"})
    derived = frozenset({"conflicts_with"})
    stamps = frozenset({"updated_at"})

    def streams(self, journal: Journal) -> Sequence[str]:
        """Return the streams of all features."""
        return [stream for stream in journal.streams() if stream.startswith(kinds.STREAMS)]

    def stream(self, record: FeatureLearning | None) -> str:
        """Return the stream of a learning's feature."""
        from workbench.memory.journal import GENERAL, feature_stream  # for those who write

        return feature_stream(GENERAL if record is None else record.feature)

    def problems(self, record: FeatureLearning) -> tuple[str, ...]:
        """Return what is wrong with a learning's values."""
        return problems(record)

    def in_use(self, record: FeatureLearning) -> bool:
        """Whether a learning is live."""
        return record.live

    def usable(self, record: FeatureLearning) -> FeatureLearning:
        """Return a live learning. Raises: UsageError, saying what became of one that is not."""
        if record.live:
            return record
        now = f", see {self.short(record.successor)}" if record.successor else ""
        raise UsageError(
            f"{record.id} is {record.state.value}{now}",
            hint=f"`workbench memory restore {self.short(record.id)}` brings it back.",
        )

    def essence(self, record: FeatureLearning) -> FeatureLearning:
        """Return a learning without its times and what was counted."""
        return replace(record, updated_at="", hit_count=1, confidence=0.5, last_hit="")

    def decisions_of(self, record: FeatureLearning) -> object:
        """Return what people decide of a learning; counts and hits may grow."""
        one = record
        words = (one.text, one.reason, one.kind, one.feature, one.task_id, one.files, one.scope)
        return (*words, one.reviewed, one.state)

    def create(self, record: FeatureLearning, *, now: str, taken: Mapping[str, object]) -> FeatureLearning:
        """Return a new learning with an id that none ever had."""
        identifier = learning_id(record.project_id or "home", record.feature, record.text, taken)
        return replace(record, id=identifier, timestamp=record.timestamp or now, updated_at=now)

    def revise(
        self,
        before: FeatureLearning,
        after: FeatureLearning,
        *,
        reason: str,
        now: str,
        taken: Mapping[str, object],
    ) -> FeatureLearning:
        """Return a learning with new values: what a person words is theirs, and reviewed."""
        after = replace(after, updated_at=now)
        if after.text == before.text:
            return after
        source = max(before.source, LearningSource.HUMAN, key=lambda one: one.rank)
        return replace(after, source=source, reviewed=True, reviewed_at=now)

    def is_confirmed(self, record: FeatureLearning) -> bool:
        """Whether a person reviewed a learning."""
        return record.reviewed

    def keep_settled(self, record: FeatureLearning, settling: Settling) -> FeatureLearning:
        """Return a learning as somebody chose it: they have reviewed it, unless that is an agent."""
        now = settling.now
        if settling.by in AGENTS:
            return replace(record, updated_at=now)
        return replace(record, updated_at=now, reviewed=True, reviewed_at=now, reviewed_by=settling.by)

    def drop_settled(
        self, record: FeatureLearning, action: Action, successor: str, settling: Settling
    ) -> FeatureLearning | None:
        """Return a learning in the state that it is left in."""
        state = _GONE.get(action, LearningState.REJECTED)
        return replace(record, state=state, successor=successor, updated_at=settling.now)

    def merge_settled(
        self, left: FeatureLearning, right: FeatureLearning, text: str, settling: Settling
    ) -> FeatureLearning:
        """Return the left learning as it says both, under the words given, else its own."""
        human = text and text != left.text
        return replace(
            self.keep_settled(left, settling),
            text=text or left.text,
            merged_from=tuple(dict.fromkeys((*left.merged_from, right.id))),
            files=tuple(dict.fromkeys((*left.files, *right.files)))[:MAX_FILES],
            hit_count=left.hit_count + (right.session_id != left.session_id) * right.hit_count,
            task_id=left.task_id if left.task_id == right.task_id else None,
            source=max(left.source, LearningSource.HUMAN, key=lambda one: one.rank) if human else left.source,
        )

    def narrow_settled(
        self, record: FeatureLearning, scope: Sequence[str], settling: Settling
    ) -> FeatureLearning:
        """Return a learning limited to a task (`task:42`) or to files. Raises: UsageError without either."""
        tasks = [entry.removeprefix("task:") for entry in scope if entry.startswith("task:")]
        files = tuple(entry.removeprefix("path:") for entry in scope if not entry.startswith("task:"))
        if (not tasks and not files) or len(tasks) > 1:
            raise UsageError(
                "narrowing needs a scope", hint="--scope task:42, or files: --scope 'src/auth/**'"
            )
        chosen = self.keep_settled(record, settling)
        return replace(chosen, scope=files or record.scope, task_id=tasks[0] if tasks else record.task_id)


LEARNINGS: Final = LearningType()


WAS_CUT: Final = "an order to the assistant was cut out of it"

LOST: Final = 0.25
"""Below this a learning is not given to anyone until somebody reviewed it."""

_DAY: Final = 86_400.0


def stale_days(learning: FeatureLearning, now: float) -> int:
    """Return how many whole days ago a learning was last found out, reviewed or changed."""
    last = max(learning.timestamp, learning.last_hit, learning.reviewed_at)
    try:
        at = datetime.fromisoformat(last)
    except ValueError:
        return 0
    return max(0, int((now - at.replace(tzinfo=at.tzinfo or UTC).timestamp()) // _DAY))
