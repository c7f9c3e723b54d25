"""The answers about the models of a project: which are registered, which is used, how each was trained."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, field

from workbench.records.answers.base import Answer, Count, Numbers, Share, Text

Seconds = Annotated[int, Meta(ge=0, description="Seconds since the epoch.")]


class ModelProvenance(Answer, frozen=True):
    """What a model was trained on, and what it was worth on tasks that came later."""

    base: Annotated[str, Meta(description="The packaged model that it starts from.")] = ""
    since: Seconds = 0
    until: Annotated[int, Meta(ge=0, description="When the last task began that it was fitted to.")] = 0
    samples: Annotated[Count, Meta(description="Past tasks, each with the files it modified.")] = 0
    sessions: Annotated[Count, Meta(description="Samples that are prompts; the others are commits.")] = 0
    metrics: Annotated[
        Numbers,
        Meta(description="before and after: nDCG@10 on the held-out tasks; p of the paired test; others."),
    ] = field(default_factory=dict)
    code_version: str = ""
    seed: int = 0


class ModelEntry(Answer, frozen=True):
    """A registered model."""

    model_id: Text
    model_kind: Text
    version: str
    created_at: Seconds
    active: bool
    canary: Annotated[Share, Meta(description="Share of plans it is tried on; 0 unless it is a canary.")]
    provenance: ModelProvenance
    fault: Annotated[str, Meta(description="Why plans cannot use it; empty if they can.")] = ""


class CanaryState(Answer, frozen=True):
    """How a model does that is tried on a share of plans."""

    model_id: Text
    share: Share
    plans: Annotated[Count, Meta(description="Plans handed to sessions since, ranked by both.")]
    scored: Annotated[Count, Meta(description="Of these, plans whose session edited files.")]
    needed: Annotated[Count, Meta(description="Scored plans after which it is decided.")]
    gain: Annotated[float, Meta(description="Mean nDCG@10 above the active one.")]


class ModelStatus(Answer, frozen=True):
    """What `workbench model status --json` prints: what plans rank with, and what else is registered."""

    packaged: Annotated[Text, Meta(description="The ranking model that comes with the program.")]
    active: Annotated[Mapping[str, str], Meta(description="Id of the active model by kind.")]
    canary: CanaryState | None
    ranking: Annotated[
        Mapping[str, str],
        Meta(description="What each packaged model is ranked with: with embeddings, and without."),
    ]
    training: Annotated[str, Meta(description="What came of the last training; empty before the first.")]
    models: tuple[ModelEntry, ...]
    notes: tuple[str, ...]


class TrainingReport(Answer, frozen=True):
    """What `workbench model train --json` prints: the model that was fitted, and whether it pays."""

    model_id: Annotated[str, Meta(description="Empty where nothing was registered.")]
    samples: Count
    held_out: Annotated[Count, Meta(description="The newest tasks, which it was tested on.")]
    before: Annotated[float, Meta(description="nDCG@10 of the ranking as it is, on the held-out tasks.")]
    after: float
    p: Annotated[Share, Meta(description="Of the paired test of the difference, two-sided.")]
    better: Annotated[bool, Meta(description="Whether it is better beyond chance.")]
    state: Annotated[str, Meta(description="rejected, registered, canary, active or running.")]
    reason: Text
    seconds: Annotated[float, Meta(ge=0, description="What the fit took, without collecting tasks.")]
    running: Annotated[bool, Meta(description="Training goes on in a process of its own.")] = False
