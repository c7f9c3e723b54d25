"""What a file is, from its path: the language it is written in and the role it plays in a project.

Both are decided without opening the file (a `#!` line may be handed in for files without a suffix), so that a
scan can order and filter work before it reads anything. The words that decide are in `languages.json`.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

from workbench.records.project import Role

_TABLES = json.loads(Path(__file__).with_name("languages.json").read_bytes())


def _by_word(table: dict[str, str]) -> dict[str, str]:
    """Return {word: language} of {language: words}."""
    return {word: language for language, words in table.items() for word in words.split()}


def _role_words(name: str) -> frozenset[str]:
    return frozenset(" ".join(_TABLES["roles"][name]).split())


_BY_SUFFIX = _by_word(_TABLES["suffixes"])
_BY_NAME = _by_word(_TABLES["names"])
_INTERPRETERS = _by_word(_TABLES["interpreters"])
_TEMPLATE_SUFFIXES = frozenset({"in", "dist", "example", "sample", "template", "orig", "default"})

PROSE = frozenset({"markdown", "rst", "asciidoc", "text", "tex"})
CONFIG_LANGUAGES = frozenset({"json", "yaml", "toml", "ini", "xml", "ignore", "gomod", "terraform", "nix"})
DATA_LANGUAGES = frozenset({"csv", "jsonl", "diff"})
_MARKUP = frozenset({"html", "css", "scss", "jinja"})
NO_CODE = PROSE | CONFIG_LANGUAGES | DATA_LANGUAGES | {""}

_TEST_FOLDERS = _role_words("test_folders")
_JVM_TEST_SETS = _role_words("jvm_test_sets")
_FIXTURE_FOLDERS = _role_words("fixture_folders")
_DATA_FOLDERS = _role_words("data_folders")
_DOCS_FOLDERS = _role_words("docs_folders")
_CI_FOLDERS = _role_words("ci_folders")
_CI_NAMES = _role_words("ci_names")
_BUILD_NAMES = _role_words("build_names")
_LOCKS = _role_words("locks")
_DOCS_STEMS = _role_words("docs_stems")
_TEST_NAME = re.compile(
    r"""(?x)
    ^tests?_.+\.\w+$                                   # test_x.py
    | ^tests?\.(?:py|js|ts|jsx|tsx|rb|go|rs|c|cpp|php|lua|sh|clj|jl|r)$
    | .+[_-](?:tests?|spec|specs|unittest|unittests|e2e|integration_test)\.\w+$   # x_test.go, x_spec.rb
    | .+\.(?:test|tests|spec|specs|e2e|cy|stories\.test|test-d|bench)\.\w+$       # x.spec.ts
    | ^conftest\.py$
    | .+\.bats$
    | ^jest\.setup\.\w+$ | ^vitest\.setup\.\w+$ | ^setup-?tests?\.\w+$
    """,
    re.IGNORECASE,
)
_CAMEL_TEST = re.compile(
    r"^(?:(?:Abstract|Base)?Tests?[A-Z]\w*|\w*[a-z0-9](?:Tests?|TestCase|TestSuite|Spec|Specs|IT|ITCase|UnitTest))"
    r"\.(?:java|kt|kts|scala|groovy|cs|swift|php|m|mm|dart|cpp|cc|vb|fs|hs|elm)$"
)
_CODE_SUFFIX_TEST_CONFIG = re.compile(
    r"^(?:jest|vitest|karma|playwright|cypress|mocha|ava|wdio|nightwatch)\.config\.\w+$"
    r"|^(?:pytest|tox)\.ini$|^\.(?:mocharc|rspec|nycrc|taprc)(?:\.\w+)?$",
    re.IGNORECASE,
)
_CHANGELOG = re.compile(r"^(?:change(?:log|s)?|history|news|releases?|release[-_]notes?)\b", re.IGNORECASE)
CHANGELOG = "changelog"
"""What `describe_role` calls changelogs, which have the role of documents or of none."""


@lru_cache(maxsize=65_536)
def language_of(path: str, first_line: str = "") -> str:
    """Return the lower-case name of a file's language, '' if unknown.

    path: posix separators. first_line: the file's first line, used only where the name says nothing.
    """
    name = path.rsplit("/", 1)[-1].lower()
    if name in _BY_NAME:
        return _BY_NAME[name]
    stem, dot, suffix = name.rpartition(".")
    if dot and suffix in _TEMPLATE_SUFFIXES and "." in stem:
        stem, dot, suffix = stem.rpartition(".")
    if dot and suffix in _BY_SUFFIX:
        return _BY_SUFFIX[suffix]
    if name.startswith(("dockerfile", "containerfile")) or suffix == "dockerfile":
        return "dockerfile"
    if name.startswith(("makefile.", "gnumakefile.")):
        return "make"
    if name.startswith(".env"):
        return "ini"
    return _interpreter(first_line)


def _interpreter(first_line: str) -> str:
    if first_line.startswith("<?php"):
        return "php"
    if first_line.startswith("<?xml"):
        return "xml"
    if not first_line.startswith("#!"):
        return ""
    words = first_line[2:].split()
    for word in words[:4]:
        program = word.rsplit("/", 1)[-1].lower().rstrip("0123456789.")
        if program in _INTERPRETERS:
            return _INTERPRETERS[program]
    return ""


@lru_cache(maxsize=65_536)
def role_of(path: str) -> Role:
    """Return what a file is for, from its path alone.

    Fixtures (testdata, snapshots, golden files) are data, whatever they are written in, and so is what lies
    in a test folder and is no code; helpers in test folders are tests; lock files are data, for nobody edits
    them; a module that merely has "test" in its name (`testing.py` outside a test folder) is source.
    """
    parts = path.split("/")
    name = parts[-1]
    lower = name.lower()
    folders = [part.lower() for part in parts[:-1]]
    folder = "/".join(folders)
    if lower in _LOCKS:
        return Role.DATA
    if lower in _CI_NAMES or _under(folder, _CI_FOLDERS):
        return Role.CI
    if any(part in _FIXTURE_FOLDERS for part in folders) or lower.endswith((".snap", ".golden")):
        return Role.DATA
    language = language_of(path)
    code = language not in NO_CODE
    if code and (_TEST_NAME.match(name) or _CAMEL_TEST.match(name)):
        return Role.TEST
    if _is_test_folder(folders):
        return Role.TEST if code and language not in _MARKUP else _non_code_test(language)
    if _CODE_SUFFIX_TEST_CONFIG.match(name):
        return Role.CONFIG
    if (
        lower in _BUILD_NAMES
        or _is_requirements(lower, folders)
        or language in ("make", "cmake", "dockerfile")
    ):
        return Role.BUILD
    stem = lower.split(".", 1)[0].replace("-", "_")
    if stem in _DOCS_STEMS and not code:
        return Role.DOCS
    if language in PROSE and language != "text":
        return Role.DOCS
    if any(part in _DOCS_FOLDERS for part in folders):
        return Role.DOCS if not code or language in _MARKUP else Role.SOURCE
    if language in DATA_LANGUAGES:
        return Role.DATA
    if any(part in _DATA_FOLDERS for part in folders) and not code:
        return Role.DATA
    if language in CONFIG_LANGUAGES or lower.startswith(".") or _is_tool_config(lower):
        return Role.CONFIG
    if code:
        return Role.SOURCE
    return Role.DOCS if language == "text" else Role.OTHER


def is_changelog(path: str) -> bool:
    """Whether a path is that of a changelog."""
    return _CHANGELOG.match(path.rsplit("/", 1)[-1]) is not None


def describe_role(path: str) -> str:
    """Return what a file is for as answers have it: a `Role`, or `changelog`."""
    role = role_of(path)
    return CHANGELOG if role is not Role.SOURCE and is_changelog(path) else role.value


def _under(folder: str, roots: frozenset[str]) -> bool:
    return any(folder == root or folder.startswith(root + "/") for root in roots)


def _is_test_folder(folders: list[str]) -> bool:
    if any(
        part in _TEST_FOLDERS or part.endswith(("_tests", "-tests", ".tests", "_test")) for part in folders
    ):
        return True
    return any(before == "src" and part in _JVM_TEST_SETS for before, part in pairwise(folders))


def _non_code_test(language: str) -> Role:
    """A file in a test folder that is no code: inputs and expectations, or notes."""
    return Role.DOCS if language in ("markdown", "rst", "asciidoc") else Role.DATA


def _is_requirements(name: str, folders: list[str]) -> bool:
    if not name.endswith((".txt", ".in")):
        return name.endswith((".gemspec", ".csproj", ".fsproj", ".vbproj", ".sln", ".podspec", ".cabal"))
    return name.startswith(("requirements", "constraints", "dev-requirements", "test-requirements")) or (
        bool(folders) and folders[-1] == "requirements"
    )


def _is_tool_config(name: str) -> bool:
    stem = name.rsplit(".", 1)[0]
    return stem.endswith((".config", "rc")) and name.startswith(
        (".", "eslint", "prettier", "tailwind", "postcss")
    )
