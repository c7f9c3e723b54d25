"""A project with its settings and journals, and what is curated in them: the least that is opened of one."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from store.project_state import ProjectState
from workbench.records.dataclass import dataclass

if TYPE_CHECKING:
    from store.answer_cache import AnswerCache
    from workbench.config import Config
    from workbench.rules.curation.rulestore import RuleStore
    from workbench.text.tokens import TokenCounter

S = TypeVar("S")
STASH: Final = "stash"
"""The stream of segments (`workbench.stash.segmenttype.STREAM`)."""
MODELS: Final = "models"
"""The stream of models (`workbench.models.registry.STREAM`)."""


@dataclass(frozen=True, eq=False)
class ProjectJournals(ProjectState):
    """A project's state with its settings.

    `given` are settings that are loaded already; `environment` is where the user's home is looked up.
    """

    given: Config | None = None
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)

    @cached_property
    def config(self) -> Config:
        """The settings. Raises: ConfigError."""
        if self.given is not None:
            return self.given
        from workbench.config import load

        return load(project=self.root).config

    @cached_property
    def counter(self) -> TokenCounter:
        """What counts tokens as the settings ask for it."""
        from workbench.text.tokens import token_counter

        return token_counter(self.config.plan.tokenizer)

    @property
    def rules_home(self) -> Path | None:
        """The user's home, None where rule files there are not to be read."""
        return Path(self.environment.get("HOME") or Path.home()) if self.config.rules.home else None

    def rule_store(self) -> RuleStore:
        """Return where the project's rules come from and go to, without opening a workspace."""
        from workbench.rules.curation.rulestore import RuleStore

        return self.curated(RuleStore, root=self.root, home=self.rules_home, replace_file=self.replace_file)

    def curated(self, store: Callable[..., S], **own: Any) -> S:
        """Return a store of curated records over these journals, with what is its own."""
        team = {"peers": lambda: self.team_journals, "names": lambda: self.machine_names}
        return store(
            project_id=self.project_id,
            journal=self.journal,
            home_journal=self.home_journal,
            latest=self.usable,
            publish=self.publish,
            lock=self.lock,
            now=self.clock.now,
            count_tokens=lambda text: self.counter.count(text),
            **{**team, **own},
        )

    @property
    def has_stash(self) -> bool:
        """Whether anything was ever put aside; if not, nothing of the stash is imported."""
        return STASH in self.journal.streams()

    @property
    def has_models(self) -> bool:
        """Whether a model was ever registered; if not, nothing of the project's own models is imported."""
        return self.journal.size(MODELS) > 0

    @cached_property
    def answer_cache(self) -> AnswerCache:
        """The answers of language models about what is here, kept with the project's state."""
        from store.answer_cache import AnswerCache

        return AnswerCache(self.state / "answers")
