"""The desk where learnings are curated: each call is one step, recorded before it returns, to be undone.

The interface for faces:

- `LearningDesk(store, by)`; `by` is the face that acts: cli, tui, http, mcp.
- take in: `add`; decide: `accept`, `reject`, `retire`, `restore`, `edit`, `merge`, `resolve`, `resolve_all`,
  `promote`, `prune`
- facts, which are no steps: `note_hit`, `contradict`
- walk: `undo`, `redo`, `history`; look: `learnings`, `find`, `review_queue`, `conflicts`, `audit`

All of them raise UsageError for what makes no sense and StoreError for what cannot be written, and then
nothing was. They return frozen records of `workbench.records.learnings` and of this package.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from workbench.curation.conflicts import Decision
from workbench.curation.records import new_marks
from workbench.errors import UsageError
from workbench.memory.learnings.auditing import Audit, audit, prunable
from workbench.memory.learnings.framing import is_echo
from workbench.memory.learnings.guarding import as_seen, unchanged
from workbench.memory.learnings.injected import read_injections
from workbench.memory.learnings.learningstore import LOCK, Draft, LearningStore, imagine, record
from workbench.memory.learnings.ledger import Change, Ledger
from workbench.memory.learnings.promoting import Promotion, promoted, with_rules
from workbench.memory.learnings.resolving import resolved
from workbench.memory.learnings.reviewing import ConflictFound, ReviewItem, conflicts_of, review_queue
from workbench.memory.learnings.similar import check_deduplication, comparable
from workbench.memory.learnings.steps import (
    SHORT,
    Drafts,
    added,
    contradicted,
    edited,
    hit,
    in_use,
    marked,
    redone,
    undone,
)
from workbench.memory.learnings.texts import sanitize_learning_text
from workbench.records.conflicts import Action, conflict_id
from workbench.records.learnings import (
    BASE_CONFIDENCE,
    Conflict,
    Duplicate,
    FeatureLearning,
    LearningKind,
    LearningSource,
    LearningState,
)
from workbench.suggest import did_you_mean
from workbench.text.counts import counted


@dataclass(frozen=True, slots=True)
class LearningDesk:
    """Curates the learnings of a project and of its user. `by` is the face that acts."""

    store: LearningStore
    by: str

    def add(
        self,
        text: str,
        *,
        feature: str,
        reason: str,
        source: LearningSource = LearningSource.HUMAN,
        task_id: str | None = None,
        kind: LearningKind = LearningKind.NOTE,
        files: Sequence[str] = (),
        iteration: int | None = None,
        session_id: str = "",
        personal: bool = False,
    ) -> FeatureLearning:
        """Add a learning that a person or an agent words; one that contradicts another says so.

        A person's is reviewed as it comes. What an agent repeats of what it was given is refused. What it
        found out again raises the hits of the learning there is, which is returned, unless its session was
        given it.
        Raises: UsageError for a person's repetition, an echo, an unsound value; StoreError.
        """
        wanted = FeatureLearning(
            id="",
            text=sanitize_learning_text(text),
            reason=sanitize_learning_text(reason),
            source=source,
            feature=feature.strip(),
            task_id=task_id,
            kind=kind,
            files=tuple(files),
            iteration=iteration,
            session_id=session_id,
            confidence=BASE_CONFIDENCE[source],
            reviewed=source in (LearningSource.HUMAN, LearningSource.OPUS_REVIEWED),
            project_id=None if personal else self.store.project_id,
        )
        with self.store.lock(LOCK):
            if source is LearningSource.AGENT:
                self._refuse_echo(wanted.text)
            return self._taken_in(self.store.ledger(), wanted, reason)

    def _refuse_echo(self, text: str) -> None:
        if is_echo(text, read_injections(self.store.journal).prints):
            raise UsageError(
                "that is what the workbench itself told, and no finding",
                hint="Learn what was seen to happen, in words of its own.",
            )

    def _taken_in(self, ledger: Ledger, wanted: FeatureLearning, reason: str) -> FeatureLearning:
        others = comparable(wanted, ledger.live())
        found = check_deduplication(wanted.text, others)
        if isinstance(found, Duplicate):
            there = others[found.existing_index]
            if wanted.source is not LearningSource.AGENT:
                raise UsageError(
                    f"that is known already: {there.id}", hint=f"workbench memory show {there.id[:SHORT]}"
                )
            if read_injections(self.store.journal).before(there.id, "", wanted.session_id):
                return there  # it was given it, in whatever words it says so now
            why = "an agent found it out again"
            note = hit(there, session_id=wanted.session_id, iteration=wanted.iteration, why=why)
            record(self.store, [note], by=self.by)
            return self.find(there.id)
        if isinstance(found, Conflict):
            wanted = replace(wanted, conflicts_with=(others[found.existing_index].id,))
        now = self.store.moment()
        if wanted.reviewed:
            wanted = replace(wanted, reviewed_at=now, reviewed_by=self.by)
        drafts = added(ledger, wanted, reason=reason, now=now)
        record(self.store, drafts.entries, by=self.by)
        return drafts.learnings[0]

    def edit(
        self, identifier: str, *, reason: str = "", seen: FeatureLearning | None = None, **changes: Any
    ) -> FeatureLearning:
        """Change a learning's text, reason, task_id, feature, kind, files or scope; new words are a review.

        `seen` is the learning as it was when it was decided. Raises: LearningChanged if it is another now;
        UsageError for an unknown learning or field or an unsound value; StoreError.
        """
        for name in ("text", "reason_text"):
            if name in changes:
                changes[name] = sanitize_learning_text(str(changes[name]))
        if "reason_text" in changes:  # `reason` says why it is edited
            changes["reason"] = changes.pop("reason_text")
        now = self.store.moment()

        def make(ledger: Ledger) -> Drafts:
            unchanged(ledger, () if seen is None else (seen,))
            return edited(
                ledger, self._id(ledger, identifier), changes, reason=reason, now=now, by_person=True
            )

        return self._step(make).learnings[0]

    def accept(
        self,
        identifiers: Sequence[str],
        *,
        reason: str = "",
        model: bool = False,
        seen: Sequence[FeatureLearning] = (),
    ) -> tuple[FeatureLearning, ...]:
        """Mark learnings as reviewed (F27: not as true); with `model` a stronger model reviewed them.

        What outcomes said against them until now counts no more. `seen`, here and in what follows, are they
        as they were when it was decided. Raises: LearningChanged, UsageError, StoreError.
        """
        now = self.store.moment()
        changes: dict[str, Any] = {"reviewed": True, "reviewed_at": now, "reviewed_by": self.by}
        if model:
            changes["source"] = LearningSource.OPUS_REVIEWED
        return self._marked(identifiers, changes, verb="accept", reason=reason, seen=seen)

    def reject(
        self, identifiers: Sequence[str], *, reason: str = "", seen: Sequence[FeatureLearning] = ()
    ) -> tuple[FeatureLearning, ...]:
        """Take learnings out because they are wrong or worthless; the same is not learned by itself again."""
        changes = {"state": LearningState.REJECTED}
        return self._marked(identifiers, changes, verb="reject", reason=reason, seen=seen)

    def retire(
        self, identifiers: Sequence[str], *, reason: str = "", seen: Sequence[FeatureLearning] = ()
    ) -> tuple[FeatureLearning, ...]:
        """Take learnings out that were right once."""
        changes = {"state": LearningState.RETIRED}
        return self._marked(identifiers, changes, verb="retire", reason=reason, seen=seen)

    def restore(
        self, identifiers: Sequence[str], *, reason: str = "", seen: Sequence[FeatureLearning] = ()
    ) -> tuple[FeatureLearning, ...]:
        """Bring learnings back that were taken out, as they were."""
        changes = {"state": LearningState.LIVE, "successor": ""}
        return self._marked(identifiers, changes, verb="restore", reason=reason, seen=seen)

    def merge(self, left: str, right: str, *, text: str = "", reason: str = "") -> FeatureLearning:
        """Let one learning stand for two, under the words given or the left one's. Raises: as `resolve`."""
        ledger = self.store.ledger()
        left, right = self._id(ledger, left), self._id(ledger, right)
        decision = Decision(conflict_id(left, right), left, right, Action.MERGE, reason=reason, text=text)
        return self.resolve(decision)[0]

    def resolve(
        self, decision: Decision, *, seen: Sequence[FeatureLearning] = ()
    ) -> tuple[FeatureLearning, ...]:
        """Settle a conflict; return the learnings that hold because of it.

        `seen` are its learnings as they were when it was decided. Raises: ConflictSettled, LearningChanged if
        others were faster; UsageError, StoreError.
        """
        decision = _sanitized(decision)
        now = self.store.moment()

        def make(ledger: Ledger) -> Drafts:
            as_seen(ledger, decision, seen)
            return resolved(ledger, decision, now=now, by=self.by)

        return self._step(make).learnings

    def resolve_all(
        self, decisions: Sequence[Decision], *, seen: Mapping[str, FeatureLearning] | None = None
    ) -> tuple[tuple[Decision, ...], tuple[str, ...]]:
        """Settle conflicts as one step, in order; return those that were settled, and why others were not.

        `seen` are learnings by id as they were when it was decided; what others changed or settled since is
        left alone. Raises: StoreError.
        """
        done: list[Decision] = []
        skipped: list[str] = []
        entries: list[Draft] = []
        now, step = self.store.moment(), new_marks(f"settle {counted(len(decisions), 'conflict')}")
        known = seen or {}
        with self.store.lock(LOCK):
            ledger = self.store.ledger()
            sound: list[Decision] = []
            for decision in map(_sanitized, decisions):
                # All of them before the first: this step's own changes are nobody else's.
                both = [known[one] for one in (decision.left, decision.right) if one in known]
                try:
                    as_seen(ledger, decision, both)
                    sound.append(decision)
                except UsageError as error:
                    skipped.append(f"{decision.conflict[:SHORT]}: {error.message}")
            for decision in sound:
                try:
                    drafts = resolved(ledger, decision, now=now, by=self.by, step=step)
                except UsageError as error:
                    skipped.append(f"{decision.conflict[:SHORT]}: {error.message}")
                    continue
                imagine(self.store, drafts.entries, by=self.by, ledger=ledger)
                entries += drafts.entries
                done.append(decision)
            record(self.store, entries, by=self.by)
        return tuple(done), tuple(skipped)

    def promote(
        self, identifier: str, *, reason: str = "", seen: FeatureLearning | None = None, **fields: Any
    ) -> Promotion:
        """Make a rule of a learning, which gives way to it: one step here, that undoes the rule as well.

        `fields` are those of the rule that are to differ (`scope`, `authority`, `rule` for its wording),
        `seen` is the learning as it was when it was decided. Raises: LearningChanged if it is another now;
        UsageError if it is not live or such a rule is there; StoreError.
        """
        with self.store.lock(LOCK):
            ledger = self.store.ledger()
            unchanged(ledger, () if seen is None else (seen,))
            learning = in_use(ledger, self._id(ledger, identifier))
            done, drafts = promoted(self.store, learning, fields, reason=reason, by=self.by)
            record(self.store, drafts.entries, by=self.by)
        return done

    def prune(self, *, days: float | None = None, dry_run: bool = False) -> tuple[FeatureLearning, ...]:
        """Take out what F35 allows: automatic, never reviewed, seen once, and old; return those.

        Raises: StoreError.
        """
        with self.store.lock(LOCK):
            ledger = self.store.ledger()
            found = prunable(ledger, self.store.now(), days)
            if found and not dry_run:
                drafts = marked(
                    ledger,
                    [one.id for one in found],
                    {"state": LearningState.PRUNED},
                    verb="prune",
                    reason="automatic, unreviewed, seen once, old",
                    now=self.store.moment(),
                )
                record(self.store, drafts.entries, by=self.by)
        return found

    def note_hit(self, identifier: str, *, session_id: str = "", why: str = "") -> FeatureLearning:
        """Note that a learning was found out again; a session counts once. Raises: UsageError, StoreError."""
        with self.store.lock(LOCK):
            ledger = self.store.ledger()
            learning = in_use(ledger, self._id(ledger, identifier))
            note = hit(learning, session_id=session_id, iteration=None, why=why)
            record(self.store, [note], by=self.by)
        return self.find(learning.id)

    def contradict(self, identifier: str, *, session_id: str = "", why: str) -> FeatureLearning:
        """Note that an outcome spoke against a learning. Raises: UsageError, StoreError."""
        with self.store.lock(LOCK):
            ledger = self.store.ledger()
            learning = in_use(ledger, self._id(ledger, identifier))
            note = contradicted(learning, session_id=session_id, iteration=None, why=why)
            record(self.store, [note], by=self.by)
        return self.find(learning.id)

    def undo(self) -> str:
        """Take back the last step and return what it was called; a promotion's rule goes, too.

        Raises: UsageError if there is none or it was built upon; StoreError.
        """
        return self._walk(undone, back=True)

    def redo(self) -> str:
        """Do the last undone step again and return what it is called. Raises: as `undo`."""
        return self._walk(redone, back=False)

    def history(self, identifier: str = "") -> tuple[Change, ...]:
        """Return every change of a learning, or of all, oldest first. Raises: UsageError, StoreError."""
        ledger = self.store.ledger()
        wanted = self._id(ledger, identifier) if identifier else ""
        return tuple(one for one in ledger.changes if not wanted or one.learning_id == wanted)

    def learnings(self, *, gone: bool = False) -> tuple[FeatureLearning, ...]:
        """Return the learnings that hold, or with `gone` all there ever were, by id. Raises: StoreError."""
        ledger = self.store.ledger()
        return tuple(ledger.all() if gone else ledger.live())

    def find(self, identifier: str) -> FeatureLearning:
        """Return a learning, live or not, by the beginning of its id. Raises: UsageError, StoreError."""
        ledger = self.store.ledger()
        found = ledger.find(self._id(ledger, identifier))
        assert found is not None  # `_id` gives ids that are there
        return found

    def review_queue(self) -> tuple[ReviewItem, ...]:
        """Return what waits for a person, most urgent first, with evidence. Raises: StoreError."""
        found = review_queue(self.store.ledger(), self.store.now(), self.store.collisions.find)
        self.store.collisions.keep()
        return found

    def conflicts(self) -> tuple[ConflictFound, ...]:
        """Return pairs that contradict or repeat each other and wait to be settled. Raises: StoreError."""
        found = conflicts_of(self.store.ledger(), self.store.collisions.find)
        self.store.collisions.keep()
        return found

    def audit(self) -> Audit:
        """Return the junk by kind and what pruning would take out. Raises: StoreError."""
        injections = read_injections(self.store.journal)
        found = audit(self.store.ledger(), injections, self.store.now(), self.store.collisions.find)
        self.store.collisions.keep()
        return found

    def identifier(self, beginning: str) -> str:
        """Return the whole id of a learning from its beginning. Raises: UsageError for none or several."""
        return self._id(self.store.ledger(), beginning)

    def _id(self, ledger: Ledger, beginning: str) -> str:
        if beginning in ledger.put:
            return beginning
        forms = (beginning, f"learning-{beginning}") if beginning else ()
        found = sorted(one for one in ledger.put if forms and one.startswith(forms))
        if len(found) == 1:
            return found[0]
        if found:
            some = ", ".join(one[:SHORT] for one in found[:3])
            raise UsageError(
                f"{len(found)} learnings begin with {beginning[:40]!r}", hint=f"Give more of it: {some}, …"
            )
        hint = did_you_mean(beginning, sorted(one[:SHORT] for one in ledger.put))
        raise UsageError(
            f"there is no learning {beginning[:40]!r}", hint=hint or "`workbench memory list` shows all."
        )

    def _marked(
        self,
        identifiers: Sequence[str],
        changes: dict[str, Any],
        *,
        verb: str,
        reason: str,
        seen: Sequence[FeatureLearning],
    ) -> tuple[FeatureLearning, ...]:
        if not identifiers:
            raise UsageError(f"there is nothing to {verb}", hint="Name one or more learnings by their ids.")
        now = self.store.moment()

        def make(ledger: Ledger) -> Drafts:
            unchanged(ledger, seen)
            ids = [self._id(ledger, one) for one in identifiers]
            return marked(ledger, ids, changes, verb=verb, reason=reason, now=now)

        return self._step(make).learnings

    def _walk(self, make: Callable[[Ledger], Drafts], *, back: bool) -> str:
        with self.store.lock(LOCK):
            ledger = self.store.ledger()
            drafts = make(ledger)
            with_rules(self.store, ledger, drafts, by=self.by, back=back)
            record(self.store, drafts.entries, by=self.by)
        return drafts.title

    def _step(self, make: Callable[[Ledger], Drafts]) -> Drafts:
        with self.store.lock(LOCK):
            drafts = make(self.store.ledger())
            record(self.store, drafts.entries, by=self.by)
        return drafts


def _sanitized(decision: Decision) -> Decision:
    return replace(decision, text=sanitize_learning_text(decision.text)) if decision.text else decision
