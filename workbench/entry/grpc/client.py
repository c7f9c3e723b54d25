"""An asynchronous client of the server of rules, as the specification names it [rules, Python Daemon Client].

    async with AsyncIngestClient("unix:/home/me/…/rules.sock") as client:
        await client.warm_up(project_id, "claude")
        found = await client.get_context_rules("add a migration", project_id, ["claude"])

A call that the server could not take (it is about to start, or has too much to do) is made again, after 0.1,
0.2 and 0.4 seconds, within its timeout.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Final, Self

from workbench.entry.grpc.records import METHODS, grpc, messages, rule_of
from workbench.records.rules import Authority, ContextRules, Rule
from workbench.rules.fetching.cache import WARM_CATEGORIES
from workbench.rules.fetching.queries import TOP_K, RulePage

TIMEOUT: Final = 10.0
SHORT_TIMEOUT: Final = 5.0
"""Seconds for fetching and searching, and for one rule and a note [rules]."""

_WAITS: Final = (0.1, 0.2, 0.4)


class AsyncIngestClient:
    """Asks a server of rules. It connects with the first call; any number of calls may be under way.

    A call that fails raises grpc.RpcError; its details say what to do. One that takes longer than its timeout
    ends with DEADLINE_EXCEEDED.
    """

    def __init__(self, address: str, token: str = "") -> None:
        """Take the address that `workbench grpc` prints, and for a port the token of the file it names."""
        self._address = address
        self._metadata = (("authorization", f"Bearer {token}"),) if token else ()
        self._channel: Any = None

    async def start(self) -> None:
        """Open the channel."""
        if self._channel is None:
            self._channel = grpc.aio.insecure_channel(self._address)

    async def stop(self) -> None:
        """Close the channel; the next call opens another."""
        if self._channel is not None:
            await self._channel.close()
        self._channel = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def get_memory_rules(
        self,
        scope: Sequence[str] = (),
        project_id: str | None = None,
        category: str | None = None,
        authority: str | None = None,
        tool_targets: Sequence[str] = (),
        tags: Sequence[str] = (),
        limit: int = 100,
        timeout: float = TIMEOUT,
    ) -> list[Rule]:
        """Return the rules that filters let through, at most `limit`, absolute ones first."""
        page = await self.get_page(
            limit=limit,
            timeout=timeout,
            scope=scope,
            project_id=project_id,
            category=category,
            authority=authority,
            tool_targets=tool_targets,
            tags=tags,
        )
        return list(page.rules)

    async def get_page(
        self,
        *,
        limit: int = 100,
        cursor: str | None = None,
        bypass_cache: bool = False,
        timeout: float = TIMEOUT,
        **asked: Any,
    ) -> RulePage:
        """Return a page of the rules that filters let through; `cursor` is that of the page before."""
        request = messages.GetMemoryRulesRequest(
            limit=limit, cursor=cursor, bypass_cache=bypass_cache, **asked
        )
        found = await self._call("GetMemoryRules", request, timeout)
        following = found.next_cursor if found.HasField("next_cursor") else None
        return RulePage(tuple(map(rule_of, found.rules)), found.total_count, following)

    async def search_memory_rules(  # noqa: PLR0913 - the parameters of the specification
        self,
        query: str,
        scope: Sequence[str] = (),
        project_id: str | None = None,
        category: str | None = None,
        search_mode: str = "hybrid",
        limit: int = 10,
        score_threshold: float = 0.5,
        timeout: float = TIMEOUT,
        *,
        authority: str | None = None,
        tool_targets: Sequence[str] = (),
    ) -> list[tuple[Rule, float]]:
        """Return (rule, relevance) of the rules most relevant to a query, best first."""
        request = messages.SearchMemoryRulesRequest(
            query=query,
            scope=scope,
            project_id=project_id,
            category=category,
            search_mode=search_mode,
            limit=limit,
            score_threshold=score_threshold,
            authority=authority,
            tool_targets=tool_targets,
        )
        found = await self._call("SearchMemoryRules", request, timeout)
        return [(rule_of(rule), rule.relevance_score) for rule in found.rules]

    async def get_memory_rule_by_id(
        self,
        rule_id: str,
        timeout: float = SHORT_TIMEOUT,
    ) -> Rule | None:
        """Return a rule, None if there is none of that id."""
        try:
            request = messages.GetMemoryRuleByIdRequest(rule_id=rule_id)
            return rule_of(await self._call("GetMemoryRuleById", request, timeout))
        except grpc.RpcError as error:
            if error.code() == grpc.StatusCode.NOT_FOUND:
                return None
            raise

    async def update_rule_usage(
        self,
        rule_ids: Sequence[str],
        session_id: str,
        tool: str,
        timeout: float = SHORT_TIMEOUT,
    ) -> bool:
        """Note that a session of a tool used rules; return whether all of them are known."""
        request = messages.UpdateRuleUsageRequest(rule_ids=rule_ids, session_id=session_id, tool=tool)
        return bool((await self._call("UpdateRuleUsage", request, timeout)).success)

    async def get_context_rules(
        self,
        query: str,
        project_id: str | None = None,
        tool_targets: Sequence[str] = (),
        *,
        k: int = TOP_K,
        score_threshold: float = 0.5,
    ) -> ContextRules:
        """Return all absolute rules, page after page, and the `k` default ones most relevant to a query."""
        asked: dict[str, Any] = {"project_id": project_id, "tool_targets": tool_targets}
        absolute = await self._every(authority=Authority.ABSOLUTE, **asked)
        default = await self.search_memory_rules(
            query, limit=k, score_threshold=score_threshold, authority=Authority.DEFAULT, **asked
        )
        return ContextRules(tuple(absolute), tuple(default))

    async def warm_up(self, project_id: str, tool: str) -> None:
        """Have the server fetch what a session of a tool begins with, rule files included."""
        begin: dict[str, Any] = {"project_id": project_id, "tool_targets": [tool] if tool else []}
        await self._every(authority=Authority.ABSOLUTE, bypass_cache=True, **begin)
        for category in WARM_CATEGORIES:
            await self.get_page(category=category, **begin)

    async def _every(self, **asked: Any) -> list[Rule]:
        rules: list[Rule] = []
        page = await self.get_page(**asked)
        while True:
            rules += page.rules
            if page.next_cursor is None:
                return rules
            page = await self.get_page(cursor=page.next_cursor, **asked)

    async def _call(self, name: str, request: Any, seconds: float) -> Any:  # noqa: ANN401 - generated
        await self.start()
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        for wait in (*_WAITS, None):
            try:
                call = METHODS[name].call(self._channel)
                return await call(request, timeout=max(0.0, end - loop.time()), metadata=self._metadata)
            except grpc.RpcError as error:
                busy = error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED)
                if not busy or wait is None or loop.time() + wait >= end:
                    raise
            await asyncio.sleep(wait)
        raise AssertionError("the last attempt returns or raises")
