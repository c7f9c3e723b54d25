"""The first line of a pack: what it is for, how complete it is or how weak its evidence, its tokens.

What is shown and what is said agree: places are shown from the chance `LIKELY` of the likeliest file on;
below that of a file to rely on the line says how likely that one is instead of how complete the pack is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from workbench.plan.compose import Head
from workbench.plan.file_candidates import LIKELY
from workbench.plan.planner import Ranking, chance_of_all
from workbench.plan.ranking import own_chances
from workbench.plan.response import NO_FILE, NOTHING_SHOWN, confidence_words, nothing_known
from workbench.records.plan import QueryType
from workbench.text.counts import percent
from workbench.text.redact import redact
from workbench.text.sanitize import shorten
from workbench.text.terms import parse_task

_TASK: Final = 80  # characters of the task


def likeliest_of(chances: Mapping[str, float], paths: Collection[str]) -> float:
    """Return the chance of the likeliest of some files, 0 without any."""
    return max((chances.get(path, 0.0) for path in paths), default=0.0)


def brief_head(ranking: Ranking, confident: float, *, baseline: bool = False, absolute: int = 0) -> Head:
    """Return what writes the first line of a pack.

    How complete is not said where no file is needed with a chance of `confident`. `absolute` rules hold for
    any task, of which nothing is in a pack for one that nothing is known of.
    """
    vague = not ranking.known or ranking.intent.predicted is QueryType.UNKNOWN
    kind = "task" if vague else ranking.intent.predicted.value
    text = ranking.intent.task
    head = text.head if ranking.own is not None else parse_task(text.raw).head
    task = redact(head).text  # first, as a part of a secret may not look like one
    subject = f"Brief ({kind}): {shorten(task, _TASK)}"
    pinned = ranking.overrides.pinned
    chances = own_chances(ranking.model, ranking.files, pinned)

    def write(shown: Collection[str], tokens: int) -> str:
        size = f"{tokens:,} tokens"
        if not ranking.known:
            return f"{subject} | {nothing_known(absolute)}; {size}"
        if not shown:
            return f"{subject} | {NOTHING_SHOWN}; {size}"
        likeliest = likeliest_of(chances, shown)
        if not baseline and likeliest < min(LIKELY, confident):
            return f"{subject} | {NO_FILE}; {size}"
        if not baseline and likeliest < confident:
            weak = f"weak evidence, {percent(likeliest)} chance that the likeliest file is needed"
            return f"{subject} | {weak}; {size}"
        chance = None if baseline else chance_of_all(ranking.model, ranking.files, shown, pinned)
        complete = "" if chance is None else f"{confidence_words(chance)}; "
        return f"{subject} | {complete}{size}"

    return write
