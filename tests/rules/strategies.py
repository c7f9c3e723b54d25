"""Rules and requests of every kind, from few values so that they meet."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from workbench.records.rules import Authority, Category, Rule

IDS = tuple(f"r{number:02}" for number in range(30))
SCOPES = ("git", "tests", "a,b", "", "path:src/**", "path:*.py")
PROJECTS = ("p", "q", "none")
TOOLS = ("claude", "codex", "a|b")
TAGS = ("language:python", "tool:git", "workflow:commit")


def some(values: tuple[str, ...]) -> st.SearchStrategy[tuple[str, ...]]:
    """Up to two different values, mostly none."""
    return st.one_of(
        st.just(()),
        st.lists(st.sampled_from(values), max_size=2, unique=True).map(lambda found: tuple(found)),
    )


def rules(identifier: str) -> st.SearchStrategy[Rule]:
    return st.builds(
        Rule,
        id=st.just(identifier),
        name=st.just("name"),
        rule=st.sampled_from(("Use tabs.", "Use spaces.", "Never \udcff push.")),
        category=st.sampled_from(Category),
        authority=st.sampled_from(Authority),
        scope=some(SCOPES),
        project_id=st.sampled_from((None, *PROJECTS)),
        tool_targets=some(TOOLS),
        tags=some(TAGS),
        priority=st.sampled_from((0, 50, 50, 100)),
        enabled=st.sampled_from((True, True, True, False)),
    )


def books() -> st.SearchStrategy[tuple[Rule, ...]]:
    """Rules with different ids, sorted by them."""
    return (
        st.lists(st.sampled_from(IDS), max_size=25, unique=True)
        .map(sorted)
        .flatmap(lambda ids: st.tuples(*map(rules, ids)))
    )


def queries() -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {},
        optional={
            "scope": some((*SCOPES, "path:src/a.py", "path:b.py", "other")),
            "project_id": st.sampled_from((None, *PROJECTS)),
            "category": st.sampled_from((None, *Category)),
            "authority": st.sampled_from((None, *Authority)),
            "tool_targets": some(TOOLS),
            "tags": some(TAGS),
            "enabled": st.sampled_from((True, False, None)),
        },
    )
