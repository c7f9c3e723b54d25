"""Settings as parameters of the engine: how rules match, how far outcomes count, what is indexed."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from workbench.config import Config, RulesConfig, SessionsConfig
from workbench.config_layers import Given, SettingOrigin, check, parse
from workbench.errors import ConfigError

if TYPE_CHECKING:
    from workbench.plan.adapters import WorkspaceLimits
    from workbench.rules.matching.match import MatchParams
    from workbench.sessions.history import Trust


def excluded_patterns(config: Config) -> tuple[str, ...]:
    """Return the gitignore patterns of files whose content is never read."""
    return (*config.privacy.exclude, *config.index.exclude)


def index_limits(config: Config) -> WorkspaceLimits:
    """Return the bounds of what is indexed and remembered."""
    from workbench.plan.adapters import WorkspaceLimits
    from workbench.sessions.episodes_fold import HOUR

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
    from workbench.sessions.history import Trust  # with numpy, which few hooks need

    return Trust(
        success=sessions.success_weight,
        failed=sessions.failed_weight,
        half_life=sessions.feedback_half_life,
        min_samples=sessions.feedback_min_samples,
    )


DEFAULT_VARIANT: Final = "default"
"""How sessions are matched that do not get the variant, while there is one."""

_TESTED: Final = frozenset(
    "threshold max over_fetch vector_weight lexical_weight hybrid_weight priority_weight scope_weight "
    "global_weight scenario_weight step_weight".split()
)


def session_variant(rules: RulesConfig, session: str) -> str:
    """Return how a session's rules are matched: the variant or `default`, '' where none is set up.

    The share of sessions that get it depends on their ids alone [adr2].
    """
    if not rules.variant or not session:
        return ""
    place = int.from_bytes(sha256(session.encode("utf-8", "replace")).digest()[:8]) / 2.0**64
    return ", ".join(rules.variant) if place < rules.variant_share else DEFAULT_VARIANT


def variant_rules(rules: RulesConfig) -> RulesConfig:
    """Return the settings of rules with the numbers of the variant. Raises: ConfigError."""
    found: dict[str, Any] = {}
    for one in rules.variant:
        name, _, value = (part.strip() for part in one.partition("="))
        if name not in _TESTED:
            from workbench.suggest import did_you_mean

            raise ConfigError(
                f"rules.variant = {one!r}: {name or 'nothing'} is not a parameter of matching",
                hint=did_you_mean(name, _TESTED, f"One of {', '.join(sorted(_TESTED))}."),
            )
        key = f"rules.{name}"
        found[name] = check(Given(key, parse(key, value), SettingOrigin("user", "rules.variant")))
    return replace(rules, **found)


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
