"""Simple tags for imported rules, from their words and globs: `language:python`, `workflow:commit`.

What a tag may be at all is said in `taxonomy`, which knows every tag given here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_WORD = re.compile(r"[a-z][a-z0-9+#.-]*")
VOCABULARY: dict[str, dict[str, str]] = {
    "language": {
        "python": "python py",
        "rust": "rust rs cargo",
        "javascript": "javascript js jsx mjs",
        "typescript": "typescript ts tsx",
        "sql": "sql postgres postgresql mysql sqlite",
        "go": "golang go.mod",
        "java": "java",
        "ruby": "ruby rb",
        "cpp": "c++ cpp hpp cmake",
        "csharp": "c# csharp cs csproj dotnet .net",
        "php": "php",
        "shell": "bash zsh sh shell",
    },
    "tool": {
        "git": "git github",
        "docker": "docker dockerfile",
        "pytest": "pytest",
        "uv": "uv",
        "npm": "npm",
        "pnpm": "pnpm",
        "yarn": "yarn",
        "bun": "bun",
        "eslint": "eslint",
        "ruff": "ruff",
        "mypy": "mypy",
    },
    "workflow": {
        "commit": "commit commits committing",
        "review": "review reviews reviewer pr prs",
        "deploy": "deploy deployment deploying release",
        "test": "test tests testing",
        "refactor": "refactor refactoring",
    },
    "domain": {
        "backend": "backend server api endpoint endpoints database",
        "frontend": "frontend css tailwind react component components ui",
        "devops": "ci kubernetes terraform helm docker deployment",
        "testing": "test tests testing coverage pytest jest",
        "documentation": "docs documentation readme docstring docstrings changelog",
    },
}
_BY_WORD: dict[str, tuple[str, ...]] = {}
for _kind, _values in VOCABULARY.items():
    for _value, _words in _values.items():
        for _word in _words.split():
            _BY_WORD[_word] = (*_BY_WORD.get(_word, ()), f"{_kind}:{_value}")


def tags_of(text: str, globs: Iterable[str] = (), priority: int = 50) -> tuple[str, ...]:
    """Return the tags of a rule, sorted; the priority tag only where the wording stands out."""
    words = {word.rstrip(".") for word in _WORD.findall(text.lower())}
    words.update(ending for glob in globs for ending in re.findall(r"\w+", glob.lower().rpartition(".")[2]))
    found = {tag for word in words for tag in _BY_WORD.get(word, ())}
    if priority >= 90:
        found.add("priority:critical")
    elif priority >= 80:
        found.add("priority:important")
    elif priority <= 30:
        found.add("priority:optional")
    return tuple(sorted(found))
