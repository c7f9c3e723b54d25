"""The answer to why one file is in a plan or out of it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

from msgspec import Meta

from workbench.records.answers.base import Answer, Count, Share, Text, Texts
from workbench.records.plan import Representation

Place = Annotated[int, Meta(ge=1)]


class Inclusion(StrEnum):
    """What a plan does with a file."""

    SHOWN = "shown"
    NAMED = "named"
    OUT = "out"
    UNRANKED = "unranked"


class WeighedFeature(Answer, frozen=True):
    """A feature of a file: what it is, what it weighs and what it gives."""

    feature: Text
    words: Annotated[str, Meta(description="The signal it is a form of, as a person would say it.")]
    value: float
    weight: Annotated[float, Meta(description="Its weight in the linear first stage.")]
    linear: Annotated[float, Meta(description="value times weight: what it gives in the first stage.")]
    trees: Annotated[
        float | None, Meta(description="What it gives in the second stage; null behind the first fifty.")
    ]
    mixture: Annotated[float, Meta(description="What it gives in the mixture weighed by hand.")]


class WeighedFile(Answer, frozen=True):
    """A file as it was ranked, with all features that are not zero or give something."""

    path: Text
    place: Place
    linear_place: Annotated[int, Meta(ge=1, description="Its place by the first stage alone.")]
    mixture_place: Annotated[int, Meta(ge=1, description="Its place by the mixture weighed by hand.")]
    score: float
    linear_score: float
    mixture_score: float
    chance: Annotated[
        Share | None, Meta(description="How likely the task needs it; null for what was excluded.")
    ]
    features: tuple[WeighedFeature, ...]


class ScoreChange(Answer, frozen=True):
    """What a file's score would gain if it were as strong in one signal as the last file that is in."""

    words: Text
    gain: Annotated[float, Meta(gt=0)]
    enough: Annotated[bool, Meta(description="Whether this alone takes it as high as that file.")]


class FileExplanation(Answer, frozen=True):
    """Why a file is in a plan or out of it, and what would have to change for it to be in.

    `file` is null for a file that was not ranked, `last_in` where no other file is shown, `lacking` where the
    score is not what keeps it out.
    """

    path: Text
    state: Annotated[
        Inclusion,
        Meta(description="shown in the pack, only named there, ranked and out, or not ranked at all."),
    ]
    representation: Representation | None
    tokens: Count
    lines: str
    reason: str
    candidates: Count
    file: WeighedFile | None
    last_in: Annotated[
        WeighedFile | None, Meta(description="The file of the lowest score that is shown and not pinned.")
    ]
    lacking: Annotated[
        float | None,
        Meta(description="Score that it lacks to the last file in; in the first stage if behind fifty."),
    ]
    changes: tuple[ScoreChange, ...]
    token_budget: Count
    sufficient_budget: Annotated[
        int | None,
        Meta(
            description="About the smallest budget that shows it, found by planning again; null if none does."
        ),
    ]
    remedies: Annotated[Texts, Meta(description="What would bring it in, in words.")]
    reasons: Annotated[Texts, Meta(description="What matched, in sentences, the strongest first.")] = ()


class ExplainResponse(Answer, frozen=True):
    """What `workbench explain --json` prints: what is known of a file, and what a plan does with it."""

    path: Text
    facts: Annotated[
        Mapping[str, Any] | None,
        Meta(description="Language, role, size, imports, tests and symbols; null if it is not indexed."),
    ]
    read: Annotated[int, Meta(ge=0, description="How many tasks read it.")]
    edited: Count
    events: Annotated[Mapping[str, int], Meta(description="What was recorded of it, counted by type.")]
    sessions: tuple[Mapping[str, Any], ...]
    companions: Annotated[
        tuple[Mapping[str, Any], ...], Meta(description="Files that were edited together with it.")
    ]
    affinity: Annotated[
        Mapping[str, Any] | None, Meta(description="How strongly it belongs to tasks of this fingerprint.")
    ]
    similar: Annotated[
        tuple[Mapping[str, Any], ...], Meta(description="Past tasks like this that touched it.")
    ]
    plan: Annotated[
        FileExplanation | None, Meta(description="Null without a task, and for a file that is gone.")
    ]
