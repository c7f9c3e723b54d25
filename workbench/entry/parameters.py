"""Settings as parameters of the engine: how rules match, how far outcomes count, what is indexed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.config import Config, RulesConfig, SessionsConfig
from workbench.sessions.episodes_fold import HOUR
from workbench.sessions.history import Trust

if TYPE_CHECKING:
    from workbench.plan.adapters import WorkspaceLimits
    from workbench.rules.matching.match import MatchParams


def excluded_patterns(config: Config) -> tuple[str, ...]:
    """Return the gitignore patterns of files whose content is never read."""
    return (*config.privacy.exclude, *config.index.exclude)


def index_limits(config: Config) -> WorkspaceLimits:
    """Return the bounds of what is indexed and remembered."""
    from workbench.plan.adapters import WorkspaceLimits

    return WorkspaceLimits(
        max_files=config.index.max_files,
        max_bytes=config.index.max_file_bytes,
        history_commits=config.index.history_commits,
        excluded=excluded_patterns(config),
        session_timeout=config.sessions.timeout_hours * HOUR,
        trust=trust(config.sessions),
    )


def trust(sessions: SessionsConfig) -> Trust:
    """Return how far the outcomes of tasks count."""
    return Trust(
        success=sessions.success_weight,
        failed=sessions.failed_weight,
        half_life=sessions.feedback_half_life,
        min_samples=sessions.feedback_min_samples,
    )


def match_params(rules: RulesConfig) -> MatchParams:
    """Return how rules match a task."""
    from workbench.records.rules import Level
    from workbench.rules.matching.match import MatchParams

    return MatchParams(
        vector_weight=rules.vector_weight,
        bm25_weight=rules.lexical_weight,
        hybrid_weight=rules.hybrid_weight,
        priority_weight=rules.priority_weight,
        scope_weight=rules.scope_weight,
        threshold=rules.threshold,
        over_fetch=rules.over_fetch,
        limit=rules.max,
        level_weights={
            Level.GLOBAL: rules.global_weight,
            Level.SCENARIO: rules.scenario_weight,
            Level.STEP: rules.step_weight,
        },
    )
