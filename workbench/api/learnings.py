"""The learnings of a project from Python."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, ClassVar

from workbench.api.curation import CuratedRecords

if TYPE_CHECKING:
    from workbench.curation.service import CurationService
    from workbench.lists.tables import Page
    from workbench.records.learnings import FeatureLearning


class ProjectLearnings(CuratedRecords["FeatureLearning"]):
    """What past work in a project taught, and what you learned in all: observations, never instructions.

    Every change is one step, on disk before the call returns, that `undo` takes back. The beginning of an id
    names a learning.
    """

    _operation: ClassVar = "memory"

    def _hold_service(self, operation: str) -> AbstractContextManager[CurationService[Any, Any]]:
        from workbench.entry.services.learnings import curate_learnings

        return curate_learnings(self._host, operation)

    def list(
        self,
        filter: str = "",
        *,
        gone: bool = False,
        sort: str = "",
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page[FeatureLearning]:
        """Return a page of the learnings that hold, or with `gone` of all there ever were, the newest first.

        `filter` is that of the app, such as `feature:auth hits:>=2`; `sort` is a column, `-` for reverse. A
        page has 1,000 rows at most; `cursor` is that of the page before. Raises: UsageError for an invalid
        one; StoreError.
        """
        from workbench.entry.services.learnings import learning_page

        return learning_page(self._host, filter, sort, gone=gone, limit=limit, cursor=cursor)

    def all(self, *, gone: bool = False) -> tuple[FeatureLearning, ...]:
        """Return the learnings that hold, or with `gone` all there ever were, by id. Raises: StoreError."""
        from workbench.entry.services.learnings import curate_learnings

        with curate_learnings(self._host, "memory") as service:
            return service.learnings(gone=gone)

    def get(self, identifier: str) -> FeatureLearning:
        """Return a learning, whether it holds or not. Raises: UsageError for none or several."""
        from workbench.entry.services.learnings import curate_learnings

        with curate_learnings(self._host, "memory") as service:
            return service.find(identifier)

    def add(
        self,
        text: str,
        *,
        feature: str,
        reason: str,
        task_id: str | None = None,
        files: Sequence[str] = (),
        home: bool = False,
    ) -> FeatureLearning:
        """Add a learning that a person words; it is reviewed as it comes.

        `feature` is what it is about, `reason` why it is one; `home` makes it your own in all projects.
        Raises: UsageError for what is known already or is unsound; StoreError.
        """
        from workbench.entry.services.learnings import curate_learnings

        with curate_learnings(self._host, "memory-edit") as service:
            return service.add(
                text, feature=feature, reason=reason, task_id=task_id, files=files, personal=home
            )

    def accept(self, *identifiers: str, reason: str = "") -> tuple[FeatureLearning, ...]:
        """Mark learnings as reviewed, not as true. Raises: UsageError for an unknown one; StoreError."""
        from workbench.entry.services.learnings import curate_learnings

        with curate_learnings(self._host, "memory-edit") as service:
            return service.accept(identifiers, reason=reason)

    def reject(self, *identifiers: str, reason: str = "") -> tuple[FeatureLearning, ...]:
        """Take out what is wrong or worthless; the same is not learned again. Raises: as `accept`."""
        from workbench.entry.services.learnings import curate_learnings

        with curate_learnings(self._host, "memory-edit") as service:
            return service.reject(identifiers, reason=reason)

    def retire(self, *identifiers: str, reason: str = "") -> tuple[FeatureLearning, ...]:
        """Take out what was right once. Raises: as `accept`."""
        from workbench.entry.services.learnings import curate_learnings

        with curate_learnings(self._host, "memory-edit") as service:
            return service.retire(identifiers, reason=reason)

    def restore(self, *identifiers: str, reason: str = "") -> tuple[FeatureLearning, ...]:
        """Bring back what was taken out, as it was. Raises: as `accept`."""
        from workbench.entry.services.learnings import curate_learnings

        with curate_learnings(self._host, "memory-edit") as service:
            return service.restore(identifiers, reason=reason)
