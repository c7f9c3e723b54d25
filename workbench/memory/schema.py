"""The search index of iterations: what a point of it holds, what collections are called, what is embedded.

The index is disposable: journals are the truth, and every point can be made again from them. A point carries
the digest of the text that was embedded and the model that did it, so that nothing is embedded twice and a
change of model shows. A local index plays the part that Qdrant has in [ralph].
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from workbench.records.iterations import (
    MAX_EMBEDDING,
    MAX_SUMMARY,
    ErrorType,
    FileAction,
    IterationOutcome,
    IterationRecord,
    ModelTier,
    PointType,
    cut,
)
from workbench.records.learnings import FeatureLearning

_HASH: Final = 8
_SHOWN: Final = 20  # errors, decisions and files of an iteration that its text names


@dataclass(frozen=True, slots=True)
class RagStatus:
    """Whether the index can answer: points and collections there are, what is missing and why.

    `behind` counts features whose index is missing or older than their journal: a search rebuilds it.
    `embedding_model` is empty where texts are found by words alone, and `embedding_note` says why.
    `llm_ready` is None where no language model is set up; it is asked for nothing here.
    """

    features: int
    iterations: int
    collections: int
    points: int
    behind: int
    orphans: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    embedding_model: str = ""
    embedding_note: str = ""
    llm_ready: bool | None = None
    llm_note: str = ""

    @property
    def healthy(self) -> bool:
        """Whether nothing is broken; being behind or without a model is not."""
        return not self.faults


@dataclass(frozen=True, slots=True)
class MemoryPayload:
    """A point: everything that is searched or filtered by, and what its vector was made of."""

    point_id: str
    record_type: PointType
    project: str
    feature: str
    iteration_number: int
    task_id: str
    task_title: str
    discipline: str
    timestamp: str
    outcome: IterationOutcome
    model_tier: ModelTier
    summary: str
    errors: tuple[str, ...] = ()
    error_types: tuple[ErrorType, ...] = ()
    decisions: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    embedding_hash: str = ""
    embedding_model: str = ""


def embedding_text(record: IterationRecord) -> str:
    """Return what an iteration is found by, the most specific first, at most 4,000 characters (F7)."""
    lines = [record.task_title, record.summary]
    lines += [f"{error.file_path or ''} {error.message}".strip() for error in record.errors[:_SHOWN]]
    lines += [_decision(decision.description, decision.rationale) for decision in record.decisions[:_SHOWN]]
    changed = [file.path for file in record.files_touched if file.action is not FileAction.READ]
    lines.append(" ".join(changed[:_SHOWN]))
    lines.append(" ".join(filter(None, (record.feature, record.discipline, str(record.outcome)))))
    return cut("\n".join(line for line in lines if line.strip()), MAX_EMBEDDING)


def _decision(decision: str, why: str | None) -> str:
    return f"{decision} because {why}" if why else decision


def embedding_hash(text: str) -> str:
    """Return the sha256 of a text that is embedded, as the cache of vectors keys it (F16)."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def point_id(record: IterationRecord, project: str) -> str:
    """Return the id of an iteration's point, a UUID that is the same whenever it is made."""
    identity = "\0".join((project, record.feature, record.task_id, str(record.iteration_number)))
    return _uuid(identity)


def payload_of(record: IterationRecord, project: str, embedding_model: str) -> MemoryPayload:
    """Return the point of an iteration."""
    return MemoryPayload(
        point_id=point_id(record, project),
        record_type=PointType.ITERATION,
        project=project,
        feature=record.feature,
        iteration_number=record.iteration_number,
        task_id=record.task_id,
        task_title=record.task_title,
        discipline=record.discipline,
        timestamp=record.timestamp,
        outcome=record.outcome,
        model_tier=record.model_tier,
        summary=record.summary,
        errors=tuple(error.message for error in record.errors),
        error_types=tuple(sorted({error.error_type or ErrorType.UNKNOWN for error in record.errors})),
        decisions=tuple(_decision(decision.description, decision.rationale) for decision in record.decisions),
        files=tuple(file.path for file in record.files_touched),
        embedding_hash=embedding_hash(embedding_text(record)),
        embedding_model=embedding_model,
    )


def snapshot_text(learnings: Iterable[FeatureLearning]) -> str:
    """Return what a feature's learnings say, the most trusted first, at most 4,000 characters."""
    ordered = sorted(learnings, key=lambda one: (-one.confidence, -one.hit_count, one.id))
    return cut("\n".join(one.text for one in ordered), MAX_EMBEDDING)


def snapshot_of(
    last: IterationRecord, learnings: Sequence[FeatureLearning], project: str, embedding_model: str
) -> MemoryPayload:
    """Return the point of what a feature's learnings say now; `last` is its newest iteration."""
    identity = "\0".join((project, last.feature, str(PointType.FEATURE_SNAPSHOT)))
    text = snapshot_text(learnings)
    return MemoryPayload(
        point_id=_uuid(identity),
        record_type=PointType.FEATURE_SNAPSHOT,
        project=project,
        feature=last.feature,
        iteration_number=last.iteration_number,
        task_id="",
        task_title=f"{len(learnings)} learnings",
        discipline="",
        timestamp=last.timestamp,
        outcome=last.outcome,
        model_tier=last.model_tier,
        summary=cut(text, MAX_SUMMARY),
        embedding_hash=embedding_hash(text),
        embedding_model=embedding_model,
    )


def collection_name(project: str, feature: str) -> str:
    """Return the collection of a project's feature: eight digits of the digest of each (F18)."""
    return f"{_short(project)}-{_short(feature)}"


def expected_collections(project: str, features: Iterable[str]) -> frozenset[str]:
    """Return the collections that belong to a project's features; every other one is an orphan (F24)."""
    return frozenset(collection_name(project, feature) for feature in features)


def _uuid(text: str) -> str:
    return str(UUID(bytes=hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]))


def _short(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]
