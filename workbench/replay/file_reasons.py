"""Why a replayed system ranked files where it did, in the sentences that plans show."""

from __future__ import annotations

from workbench.plan.evidence import LEADERS, FileEvidence
from workbench.plan.reasons import FileReasons
from workbench.replay.systems import Situation, SystemRanking


def reasons_of_system(ranking: SystemRanking, situation: Situation) -> FileReasons:
    """Return the reasons of files as a plan gives them, from what was known at the start of the task."""
    model, moment = ranking.model, situation.moment
    evidence = FileEvidence(
        moment.view,
        situation.intent,
        [file.path for file in ranking.files[:LEADERS]],
        [known.head for known in moment.past],
        lambda: situation.cosines(model.adapter),
    )
    return FileReasons(evidence, model.seeds)
