"""Matches checked once more by the language model, where the user's settings say so (`rules.recheck`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from workbench.config import Config
from workbench.entry.storage import language_model
from workbench.errors import ConfigError

if TYPE_CHECKING:
    from workbench.rules.matching.match import RuleMatch
    from workbench.rules.matching.recheck import Rechecked


def rechecked(
    config: Config, matches: Sequence[RuleMatch], message: str, count_tokens: Callable[[str], int]
) -> Rechecked:
    """Return the matches that stay, and what was asked; the matches as they are where it is off.

    Never fails: whatever goes wrong, the matches stand and the result is degraded.
    """
    from workbench.rules.matching.recheck import DEGRADED, Rechecked, recheck

    rules = config.rules
    if not rules.recheck:
        return Rechecked(tuple(matches))
    try:
        model = language_model(config)
    except ConfigError as error:
        note = f"matches were not checked again: {error.message}"
        return Rechecked(tuple(matches), degraded=(DEGRADED,), note=note)
    return recheck(
        matches,
        message,
        model,
        top=rules.recheck_top,
        timeout=rules.recheck_timeout,
        count_tokens=count_tokens,
    )
