"""A lesson: a learning before anyone compared it with what is known."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.records.learnings import LearningKind


@dataclass(frozen=True, slots=True)
class Lesson:
    """What an iteration seems to teach.

    `reason` says why it is worth knowing (F31), `evidence` what was seen. `observed` tells what tools
    answered from what somebody said: only outcomes count for and against learnings. `trigger` and `remedy`
    are as in `FeatureLearning`. `strength` is that of a correction.
    """

    kind: LearningKind
    text: str
    reason: str
    evidence: str = ""
    files: tuple[str, ...] = ()
    trigger: str = ""
    remedy: str = ""
    observed: bool = False
    strength: str = ""
