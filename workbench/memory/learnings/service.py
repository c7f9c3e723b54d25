"""The service that curates learnings: what it does for records of any type, and reviews, promotions, facts.

It takes learnings in (`add`), decides about them (`accept`, `reject`, `retire`, `restore`, `edit`, `merge`,
`resolve`, `promote`, `prune`), and shows them
(`learnings`, `find`, `review_queue`, `conflicts`, `audit`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from workbench.curation.conflicts import ConflictDecision, check_unchanged
from workbench.curation.records import StepDraft, WalkedStep
from workbench.curation.service import CurationService
from workbench.curation.steps import draft_addition, draft_same_changes
from workbench.curation.store import record
from workbench.errors import UnknownRecord, UsageError
from workbench.memory.learnings.echoes import is_echo, read_injections
from workbench.memory.learnings.learningstore import LOCK, LearningStore
from workbench.memory.learnings.learningtype import LEARNINGS, SHORT
from workbench.memory.learnings.ledger import LearningLedger, draft_hit
from workbench.memory.learnings.lessons import cut_note, sanitize_learning, sanitize_learning_text
from workbench.memory.learnings.pairs import check_deduplication, comparable
from workbench.memory.learnings.promotion import Promotion, follow_promotions, promote_learning
from workbench.memory.learnings.review import (
    Audit,
    ConflictFound,
    ReviewItem,
    audit,
    conflicts_among,
    conflicts_of,
    edits_of,
    prunable,
    queue_of,
)
from workbench.records.conflicts import Action, conflict_id
from workbench.records.dataclass import dataclass
from workbench.records.learnings import (
    BASE_CONFIDENCE,
    MAX_TEXT,
    FeatureLearning,
    LearningConflict,
    LearningDuplicate,
    LearningKind,
    LearningSource,
    LearningState,
)
from workbench.suggest import did_you_mean


@dataclass(frozen=True, slots=True)
class LearningService(CurationService[LearningLedger, FeatureLearning]):
    """Curates the learnings of a project and of its user. `by` is the face that acts."""

    store: LearningStore

    LOCK: ClassVar[str] = LOCK

    def add(  # noqa: PLR0913 - the fields of a learning
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

        A person's is reviewed as it comes, unless an order to an assistant is cut out of it: such a learning
        is given to nobody until it is reviewed. What an agent repeats of what it was given is refused. What
        it found out again raises the hits of the learning there is, which is returned, unless its session
        was given it.
        Raises: UsageError for a person's repetition, an echo, an unsound value, a text too long; StoreError.
        """
        _refuse_long(text)
        found = sanitize_learning(text)
        wanted = FeatureLearning(
            id="",
            text=found.text,
            reason=sanitize_learning_text(reason),
            source=source,
            feature=feature.strip(),
            task_id=task_id,
            kind=kind,
            files=tuple(files),
            iteration=iteration,
            session_id=session_id,
            confidence=0.0 if found.removed else BASE_CONFIDENCE[source],
            reviewed=source in (LearningSource.HUMAN, LearningSource.OPUS_REVIEWED) and not found.removed,
            evidence=cut_note(found.removed),
            project_id=None if personal else self.store.project_id,
        )
        with self.store.lock(LOCK):
            if source is LearningSource.AGENT:
                self._refuse_echo(wanted.text)
            return self._take_in(self.store.ledger(), wanted, reason)

    def _refuse_echo(self, text: str) -> None:
        if is_echo(text, read_injections(self.store.journal).prints):
            raise UsageError(
                "that is what the workbench itself injected, and no finding",
                hint="Learn what was seen to happen, in words of its own.",
            )

    def _take_in(self, ledger: LearningLedger, wanted: FeatureLearning, reason: str) -> FeatureLearning:
        from workbench.memory.learnings.keeping import near_learnings  # arrays, for those who add

        others = comparable(wanted, near_learnings(self.store, ledger, wanted))
        deduplication = check_deduplication(wanted.text, others)
        if isinstance(deduplication, LearningDuplicate):
            there = others[deduplication.existing_index]
            if wanted.source is not LearningSource.AGENT:
                raise UsageError(
                    f"that is known already: {there.id}", hint=f"workbench memory show {there.id[:SHORT]}"
                )
            if read_injections(self.store.journal).before(there.id, "", wanted.session_id):
                return there  # it was given it, in whatever words it says so now
            why = "an agent found it out again"
            note = draft_hit(there, session_id=wanted.session_id, iteration=wanted.iteration, why=why)
            record(self.store, [note], by=self.by)
            return self.find(there.id)
        if isinstance(deduplication, LearningConflict):
            wanted = replace(wanted, conflicts_with=(others[deduplication.existing_index].id,))
        now = self.store.moment()
        if wanted.reviewed:
            wanted = replace(wanted, reviewed_at=now, reviewed_by=self.by)
        drafts = draft_addition(ledger, wanted, reason=reason, now=now)
        record(self.store, drafts.entries, by=self.by)
        return drafts.records[0]

    def _draft_edit(
        self, ledger: LearningLedger, identifier: str, changes: Mapping[str, Any], reason: str
    ) -> StepDraft[FeatureLearning]:
        """Draft an edit; what other words contradict now is noted, as of a learning that is new."""
        before = ledger.require(self.identify(ledger, identifier))
        if changes.get("text", before.text) != before.text:
            from workbench.memory.learnings.keeping import near_learnings

            wanted = replace(before, **self.prepared_changes(before, changes))
            near = [one for one in near_learnings(self.store, ledger, wanted) if one.id != before.id]
            others = comparable(wanted, near)
            found = check_deduplication(wanted.text, others)
            against = (others[found.existing_index].id,) if isinstance(found, LearningConflict) else ()
            changes = {**changes, "conflicts_with": against}
        return CurationService._draft_edit(self, ledger, identifier, changes, reason)

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
        return self._mark(identifiers, changes, verb="accept", reason=reason, seen=seen)

    def reject(
        self, identifiers: Sequence[str], *, reason: str = "", seen: Sequence[FeatureLearning] = ()
    ) -> tuple[FeatureLearning, ...]:
        """Take learnings out because they are wrong or worthless; the same is not learned by itself again."""
        changes = {"state": LearningState.REJECTED}
        return self._mark(identifiers, changes, verb="reject", reason=reason, seen=seen)

    def retire(
        self, identifiers: Sequence[str], *, reason: str = "", seen: Sequence[FeatureLearning] = ()
    ) -> tuple[FeatureLearning, ...]:
        """Take learnings out that were right once."""
        changes = {"state": LearningState.RETIRED}
        return self._mark(identifiers, changes, verb="retire", reason=reason, seen=seen)

    def restore(
        self, identifiers: Sequence[str], *, reason: str = "", seen: Sequence[FeatureLearning] = ()
    ) -> tuple[FeatureLearning, ...]:
        """Bring learnings back that were taken out, as they were."""
        changes = {"state": LearningState.LIVE, "successor": ""}
        return self._mark(identifiers, changes, verb="restore", reason=reason, seen=seen)

    def merge(self, left: str, right: str, *, text: str = "", reason: str = "") -> FeatureLearning:
        """Replace two learnings by one, under the words given or the left one's. Raises: as `resolve`."""
        ledger = self.store.ledger()
        left, right = self.identify(ledger, left), self.identify(ledger, right)
        decision = ConflictDecision(
            conflict_id(left, right), left, right, Action.MERGE, reason=reason, text=text
        )
        return self.resolve(decision)[0]

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
            check_unchanged(ledger, () if seen is None else (seen,))
            learning = self._live(ledger, identifier)
            done, drafts = promote_learning(self.store, learning, fields, reason=reason, by=self.by)
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
                drafts = draft_same_changes(
                    ledger,
                    [one.id for one in found],
                    {"state": LearningState.PRUNED},
                    verb="prune",
                    reason="automatic, unreviewed, seen once, old",
                    stamps={"updated_at": self.store.moment()},
                )
                record(self.store, drafts.entries, by=self.by)
        return found

    def walk(self, make: Callable[[LearningLedger], StepDraft[FeatureLearning]], *, back: bool) -> WalkedStep:
        """Undo a step or do it again; a promotion's rule goes and comes with it."""

        def with_promotions(ledger: LearningLedger) -> StepDraft[FeatureLearning]:
            drafts = make(ledger)
            follow_promotions(self.store, ledger, drafts, by=self.by, back=back)
            return drafts

        return WalkedStep(self.step(with_promotions).title)

    def learnings(self, *, gone: bool = False) -> tuple[FeatureLearning, ...]:
        """Return the learnings that hold, or with `gone` all there ever were, by id. Raises: StoreError."""
        ledger = self.store.ledger()
        return tuple(ledger.all() if gone else ledger.live())

    def find(self, identifier: str) -> FeatureLearning:
        """Return a learning, live or not, by the beginning of its id. Raises: UsageError, StoreError."""
        ledger = self.store.ledger()
        found = ledger.find(self.identify(ledger, identifier))
        assert found is not None  # `_id` gives ids that are there
        return found

    def review_queue(self) -> tuple[ReviewItem, ...]:
        """Return what waits for a person, most urgent first, with evidence. Raises: StoreError."""
        ledger = self.store.ledger()
        live = ledger.live()
        found = conflicts_among(ledger, live, self.store.collisions.find)
        self.store.collisions.keep()
        return queue_of(ledger, self.store.now(), (*edits_of(ledger, self.store.names()), *found), live)

    def conflicts(self) -> tuple[ConflictFound, ...]:
        """Return pairs that contradict or repeat each other and wait to be settled. Raises: StoreError."""
        ledger = self.store.ledger()
        found = conflicts_of(ledger, self.store.collisions.find)
        self.store.collisions.keep()
        return (*edits_of(ledger, self.store.names()), *found)

    def audit(self) -> Audit:
        """Return the junk by kind and what pruning would take out. Raises: StoreError."""
        injections = read_injections(self.store.journal)
        found = audit(self.store.ledger(), injections, self.store.now(), self.store.collisions.find)
        self.store.collisions.keep()
        return found

    def identifier(self, beginning: str) -> str:
        """Return the whole id of a learning from its beginning. Raises: UsageError for none or several."""
        return self.identify(self.store.ledger(), beginning)

    def identify(self, ledger: LearningLedger, beginning: str) -> str:
        """Return the whole id of a learning from its beginning. Raises: UsageError for none or several."""
        if beginning in ledger.records:
            return beginning
        forms = (beginning, f"learning-{beginning}") if beginning else ()
        found = sorted(one for one in ledger.records if forms and one.startswith(forms))
        if len(found) == 1:
            return found[0]
        if found:
            some = ", ".join(one[:SHORT] for one in found[:3])
            raise UsageError(
                f"{len(found)} learnings begin with {beginning[:40]!r}", hint=f"Give more of it: {some}, …"
            )
        hint = did_you_mean(beginning, sorted(one[:SHORT] for one in ledger.records))
        raise UnknownRecord(
            f"there is no learning {beginning[:40]!r}", hint=hint or "`workbench memory list` shows all."
        )

    def prepared_changes(self, before: FeatureLearning, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Return changes with clean words; `reason_text` is the learning's own reason."""
        mine = CurationService.prepared_changes(self, before, changes)
        _refuse_long(str(mine.get("text", "")))
        for name in ("text", "reason_text"):
            if name in mine:
                mine[name] = sanitize_learning_text(str(mine[name]))
        if "reason_text" in mine:  # `reason` says why it is edited
            mine["reason"] = mine.pop("reason_text")
        return mine

    def prepared_decision(self, decision: ConflictDecision) -> ConflictDecision:
        """Return a decision with clean words."""
        return replace(decision, text=sanitize_learning_text(decision.text)) if decision.text else decision

    def _live(self, ledger: LearningLedger, identifier: str) -> FeatureLearning:
        return LEARNINGS.usable(ledger.require(self.identify(ledger, identifier)))

    def _mark(
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
        stamps = {"updated_at": self.store.moment()}

        def make(ledger: LearningLedger) -> StepDraft[FeatureLearning]:
            check_unchanged(ledger, seen)
            ids = [self.identify(ledger, identifier) for identifier in identifiers]
            return draft_same_changes(ledger, ids, changes, verb=verb, reason=reason, stamps=stamps)

        return self.step(make).records


def _refuse_long(text: str) -> None:
    """Refuse a text that somebody words and that would have to be cut (F2): its end may be what matters."""
    length = len(" ".join(text.split()))
    if length > MAX_TEXT:
        raise UsageError(
            f"the text has {length:,} characters, and a learning {MAX_TEXT} at most",
            hint="Say it in fewer words, or as two learnings.",
        )
