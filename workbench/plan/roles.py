"""Where work begins: what is edited by hand for a task before what follows from it.

A test, a page of documentation or a changelog often changes with the source, and is then as likely as it; but
nobody begins there. Of the first files, those that follow come after those that are worked on, unless the
task asks for their kind or names them, or they are more than `CLEARLY` times as likely. Scores and chances
stay as they are: replays measure the order of these.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from workbench.plan.kinds import asked_roles
from workbench.plan.planner import FIRST_FILES
from workbench.plan.ranking import RankingModel, log_odds
from workbench.plan.signals import prepare_query
from workbench.plan.view import file_stem
from workbench.project.languages import CHANGELOG, describe_role
from workbench.records.plan import Intent, RankedFile
from workbench.records.project import Role
from workbench.text.terms import is_unspaced

CLEARLY: Final = 2.0
_FOLLOWING: Final = frozenset({Role.TEST.value, Role.DOCS.value, CHANGELOG})
_NEWS_CALLED_BY: Final = frozenset({Role.DOCS.value, Role.BUILD.value})  # a release writes its changes


def order_by_role(files: Sequence[RankedFile], model: RankingModel, intent: Intent) -> tuple[RankedFile, ...]:
    """Return files, best first, with those that follow from others later among the first ten."""
    asked, words = {role.value for role in asked_roles(intent)}, prepare_query(intent).words
    if is_unspaced(intent.task.head) and any(one.features.get("called_docs") for one in files[:FIRST_FILES]):
        asked.add(Role.DOCS.value)  # by the script of its words: see `role_signals`
    if asked & _NEWS_CALLED_BY:
        asked.add(CHANGELOG)

    def comes_later(path: str) -> bool:
        role = describe_role(path)
        named = role != Role.TEST and file_stem(path) in words
        return role in _FOLLOWING and role not in asked and not named

    first = files[:FIRST_FILES]
    odds = log_odds(model, [one.score for one in first]).tolist()
    key = [odd - math.log(CLEARLY) * comes_later(one.path) for one, odd in zip(first, odds, strict=True)]
    order = sorted(range(len(first)), key=lambda place: (-round(key[place], 6), place))
    return (*(first[place] for place in order), *files[FIRST_FILES:])
