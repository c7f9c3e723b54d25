"""The caches that rules are fetched through, as the settings ask for them.

With `bootstrap`, `storage` and `places` the only module that imports `store`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec

from store.cache import ProcessCache
from store.clock import SystemClock
from store.redis_cache import WAIT, RedisCache
from workbench.config import Config
from workbench.plan.workspace import Workspace
from workbench.ports import Clock
from workbench.records.rules import Rule
from workbench.rules.fetching.caching import RuleFetcher, rules_generation, rules_held, shared_prefix

LACKING = "cache.redis_url is set and Redis is not used: install context-workbench[redis]"


def rule_fetcher(workspace: Workspace, config: Config, clock: Clock, *, wait: float = WAIT) -> RuleFetcher:
    """Return what fetches a project's rules; a Redis that cannot be used is told by its `notes`.

    What no cache has is answered by rules that are brought in step, without indexing anything. `wait` is for
    how many seconds a command of Redis is waited for. Raises: ConfigError for an address that is none.
    """
    adapters = workspace.adapters

    def load() -> tuple[str, Sequence[Rule]]:
        book, _ = workspace.sync_rules()
        return book.signature, book.rules

    journals = (adapters.journal, adapters.home_journal)
    shared, missing = _shared(config, adapters.project_id, clock, wait)
    return RuleFetcher(
        partial(rules_generation, journals, adapters.project_id, str(adapters.home)),
        load,
        ProcessCache(clock, seconds=config.cache.seconds, most=config.cache.rules, parts=rules_held),
        shared,
        missing=missing,
    )


def redis_fault(config: Config, *, wait: float = 1.0) -> str:
    """Return why the Redis of the settings cannot be used, empty if it can; it is asked for a value once.

    Raises: ConfigError for an address that is none.
    """
    shared, missing = _shared(config, "", SystemClock(), wait)
    if shared is None:
        return missing
    shared.get("")
    fault = shared.fault
    shared.close()
    return fault


def _shared(config: Config, project_id: str, clock: Clock, wait: float) -> tuple[RedisCache | None, str]:
    """Return the Redis of the settings, and why there is none although they name one."""
    if not config.cache.redis_url:
        return None, ""
    if find_spec("redis") is None:
        return None, LACKING
    cache = RedisCache(
        config.cache.redis_url,
        shared_prefix(project_id),
        clock,
        seconds=config.cache.redis_seconds,
        weight=config.cache.redis_rules,
        retry=config.cache.redis_retry,
        wait=wait,
    )
    return cache, ""
