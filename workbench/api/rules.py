"""The rules of a project from Python."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

from workbench.api.curation import CuratedRecords
from workbench.entry.services.opening import report
from workbench.entry.services.rules import RuleReads
from workbench.records.requests import RuleFields, WorkContext

if TYPE_CHECKING:
    from workbench.curation.service import CurationService
    from workbench.lists.tables import Page
    from workbench.records.answers.rules import CheckResponse, MatchResponse
    from workbench.records.requests import FilterFields
    from workbench.records.rules import ContextRules, Rule


class ProjectRules(CuratedRecords["Rule"]):
    """The rules of a project and your own: listed, matched, checked and curated.

    Every change is one step, on disk before the call returns, that `undo` takes back. What changed in rule
    files is read first; what changes here is written into them by `workbench rules drift --merge`.
    """

    _operation: ClassVar = "rules"

    def _hold_service(self, operation: str) -> AbstractContextManager[CurationService[Any, Any]]:
        from workbench.entry.services.rules import curate_rules

        return curate_rules(self._host, operation)

    def list(
        self, filter: str = "", *, sort: str = "", limit: int = 100, cursor: str | None = None
    ) -> Page[Rule]:
        """Return a page of the rules in force, by file and line or by a column to `sort` by, `-` for reverse.

        `filter` is that of the app, such as `authority:absolute tag:tool:git push`. A page has 1,000 rows at
        most; `cursor` is that of the page before. Raises: UsageError for an invalid one; StoreError.
        """
        from workbench.entry.services.rules import rule_page

        return rule_page(self._host, filter, sort, limit=limit, cursor=cursor)

    def fetch(
        self,
        *,
        limit: int = 100,
        cursor: str | None = None,
        bypass_cache: bool = False,
        **asked: Unpack[FilterFields],
    ) -> Page[Rule]:
        """Return a page of the rules that hold in a context, the most binding first, through the caches.

        A rule is let through that has no `scope` or shares an entry, is of the project or of none, targets no
        tool or one of `tool_targets`, and has one of `tags`; None and () ask for nothing. What is written
        through the workbench is seen at once, a rule file edited by hand after `cache.seconds`, a `warm_up`,
        or with `bypass_cache`, which asks the store and renews what is cached.

        Raises: UsageError for an unknown category or authority, a limit outside 1 to 1000, or a cursor that
        is not one of these filters; StoreError.
        """
        return self._host.keep(RuleReads).page(limit, cursor, bypass_cache, asked)

    def context(
        self, query: str, *, k: int = 5, threshold: float | None = None, **asked: Unpack[FilterFields]
    ) -> ContextRules:
        """Return every absolute rule, through the caches, and the `k` default rules most relevant to a query.

        `threshold` is the least relevance (default: the setting rules.threshold). Raises: UsageError,
        StoreError.
        """
        return self._host.keep(RuleReads).context(query, k, threshold, asked)

    def warm_up(self, agent: str = "") -> None:
        """Look at rule files and fetch what a session of an agent begins with. Raises: StoreError."""
        self._host.keep(RuleReads).warm_up(agent)

    def invalidate(self) -> None:
        """Forget what is cached of rules, also in Redis. Edits need no such call."""
        self._host.keep(RuleReads).invalidate()

    def get(self, identifier: str) -> Rule:
        """Return a rule in force. Raises: UsageError for none, naming what took its place; StoreError."""
        from workbench.entry.services.rules import curate_rules

        with curate_rules(self._host, "rules") as curator:
            return curator.store.ledger().require(identifier)

    def match(self, task: str, *, session: str = "", **known: Unpack[WorkContext]) -> MatchResponse:
        """Return the rules that match a task, best first, and why others do not; their use is recorded.

        A plan also takes absolute rules and rules of the files it shows. Raises: UsageError, StoreError.
        """
        from workbench.entry.services.plan import match_for, match_response
        from workbench.entry.services.requests import plan_request

        host = self._host
        with host.operation("rules") as work:
            request = plan_request(work.project, task, session=session, **known)
            found = match_for(work.project, work.measurement, request, progress=host.progress, by=host.by)
            return match_response(found)

    def check(
        self,
        tool: str,
        given: Mapping[str, Any] | str,
        *,
        cwd: str | os.PathLike[str] = "",
        **known: Unpack[WorkContext],
    ) -> CheckResponse:
        """Return whether the call of a tool may run, and by which rule; nothing is run.

        `given` is the input of the call, such as {"command": "git push --force"} of Bash. Only absolute rules
        with a check decide. `cwd` is where the call runs (default: here).
        Raises: UsageError for a tool without a name; StoreError.
        """
        from workbench.entry.services.requests import work_context
        from workbench.entry.services.rule_checks import check_response, check_tool_call, current_rules

        with self._host.turn() as project:
            rules, notes = current_rules(project.root, project.config)
            context = work_context(project, os.fspath(cwd), **known)
            response = check_response(check_tool_call(project.root, rules, tool, given, context))
        for note in notes:
            report(note)
        return response

    def add(
        self, text: str, *, home: bool = False, file: str = "", reason: str = "", **fields: Unpack[RuleFields]
    ) -> Rule:
        """Add a rule: by default for this project, everywhere, of default authority and priority 50.

        `home` makes it your own in all projects; `file` is the rule file it is to be written into, `reason`
        is kept in its history. Raises: UsageError for an unsound field or a rule that is there; StoreError.
        """
        from workbench.entry.services.rule_edits import add_rule

        return add_rule(self._host, {"rule": text, **fields}, home=home, file=file, reason=reason)

    def edit(
        self,
        identifier: str,
        *,
        text: str | None = None,
        reason: str = "",
        seen: Rule | None = None,
        **fields: Unpack[RuleFields],
    ) -> Rule:
        """Change fields of a rule and return it; a new text makes a version with an id of its own.

        `seen` is the rule as it was when this was decided: what others changed since is not overwritten.
        Raises: RecordChanged if they did; UsageError; StoreError.
        """
        from workbench.entry.services.rule_edits import edit_rule

        given = {**fields, **({} if text is None else {"rule": text})}
        return edit_rule(self._host, identifier, given, reason=reason, seen=seen)

    def remove(self, *identifiers: str, reason: str = "") -> None:
        """Remove rules in one step; they stay in the history. Raises: UsageError for an unknown one."""
        from workbench.entry.services.rules import curate_rules

        with curate_rules(self._host, "rules-edit") as curator:
            curator.remove(identifiers, reason=reason)
