"""What a file is, from its path: the language it is written in and the role it plays in a project.

Both are decided without opening the file (a `#!` line may be handed in for files without a suffix), so that a
scan can order and filter work before it reads anything.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

from workbench.records.project import Role

_SUFFIXES = {
    "python": "py pyi pyw",
    "cython": "pyx pxd pxi",
    "javascript": "js jsx mjs cjs es6",
    "typescript": "ts mts cts",
    "tsx": "tsx",
    "vue": "vue",
    "svelte": "svelte",
    "astro": "astro",
    "rust": "rs",
    "go": "go",
    "java": "java",
    "kotlin": "kt kts",
    "scala": "scala sc sbt",
    "groovy": "groovy gradle",
    "c": "c h",
    "cpp": "cc cpp cxx c++ hpp hh hxx h++ ipp inl tpp cu cuh ino",
    "objective-c": "m mm",
    "csharp": "cs csx",
    "fsharp": "fs fsi fsx",
    "vb": "vb",
    "ruby": "rb rake gemspec ru jbuilder podspec",
    "php": "php phtml php5 php7",
    "swift": "swift",
    "dart": "dart",
    "lua": "lua",
    "elixir": "ex exs",
    "erlang": "erl hrl",
    "haskell": "hs lhs",
    "ocaml": "ml mli",
    "clojure": "clj cljs cljc edn",
    "lisp": "lisp el scm rkt",
    "perl": "pl pm t",
    "r": "r",
    "julia": "jl",
    "zig": "zig",
    "nim": "nim",
    "solidity": "sol",
    "shell": "sh bash zsh ksh fish bats",
    "powershell": "ps1 psm1 psd1",
    "batch": "bat cmd",
    "sql": "sql ddl dml",
    "graphql": "graphql gql graphqls",
    "protobuf": "proto",
    "thrift": "thrift",
    "terraform": "tf tfvars hcl",
    "nix": "nix",
    "make": "mk mak",
    "cmake": "cmake",
    "starlark": "bzl star bazel",
    "html": "html htm xhtml",
    "css": "css",
    "scss": "scss sass less styl",
    "jinja": "j2 jinja jinja2 tmpl tpl liquid erb ejs hbs mustache njk haml slim pug",
    "markdown": "md markdown mdown mdx mdc qmd",
    "rst": "rst",
    "asciidoc": "adoc asciidoc",
    "text": "txt text",
    "tex": "tex",
    "json": "json jsonc json5 webmanifest geojson",
    "yaml": "yaml yml",
    "toml": "toml",
    "ini": "ini cfg conf properties editorconfig desktop service",
    "xml": "xml xsd xsl xslt svg plist csproj fsproj vbproj props targets pom storyboard xib resx",
    "csv": "csv tsv",
    "notebook": "ipynb",
    "vim": "vim",
    "yacc": "y yy",
    "lex": "l ll",
    "assembly": "s asm",
    "diff": "diff patch",
    "jsonl": "jsonl ndjson",
    "jq": "jq",
}
_NAMES = {
    "make": "makefile gnumakefile makefile.am makefile.in bsdmakefile justfile",
    "cmake": "cmakelists.txt",
    "dockerfile": "dockerfile containerfile",
    "ruby": "gemfile rakefile guardfile capfile vagrantfile podfile fastfile brewfile dangerfile config.ru",
    "groovy": "jenkinsfile",
    "python": "sconstruct sconscript wscript",
    "starlark": "build workspace tiltfile",
    "shell": ".bashrc .zshrc .profile .bash_profile .envrc apkbuild pkgbuild configure",
    "toml": "pipfile cargo.lock poetry.lock uv.lock",
    "json": ".babelrc .eslintrc .prettierrc .swcrc composer.lock pipfile.lock .jshintrc",
    "yaml": ".clang-format .clang-tidy .yamllint",
    "ini": ".gitconfig .npmrc .pylintrc .flake8 .coveragerc .editorconfig .env .gitmodules .pypirc",
    "ignore": ".gitignore .dockerignore .npmignore .eslintignore .prettierignore .gitattributes .ignore",
    "gomod": "go.mod go.work",
    "text": "license licence copying authors notice readme changelog changes codeowners contributors todo "
    "install news maintainers copyright version procfile",
    "markdown": ".cursorrules .windsurfrules .clinerules",
}
_INTERPRETERS = {
    "python": "python",
    "pypy": "python",
    "node": "javascript",
    "deno": "typescript",
    "bun": "typescript",
    "tsx": "typescript",
    "ruby": "ruby",
    "perl": "perl",
    "php": "php",
    "lua": "lua",
    "bash": "shell",
    "dash": "shell",
    "zsh": "shell",
    "fish": "shell",
    "ksh": "shell",
    "sh": "shell",
    "elixir": "elixir",
    "escript": "erlang",
    "julia": "julia",
    "rscript": "r",
    "make": "make",
    "pwsh": "powershell",
    "groovy": "groovy",
    "jq": "jq",
}
_BY_SUFFIX = {suffix: language for language, suffixes in _SUFFIXES.items() for suffix in suffixes.split()}
_BY_NAME = {name: language for language, names in _NAMES.items() for name in names.split()}
_TEMPLATE_SUFFIXES = frozenset({"in", "dist", "example", "sample", "template", "orig", "default"})

PROSE = frozenset({"markdown", "rst", "asciidoc", "text", "tex"})
CONFIG_LANGUAGES = frozenset({"json", "yaml", "toml", "ini", "xml", "ignore", "gomod", "terraform", "nix"})
DATA_LANGUAGES = frozenset({"csv", "jsonl", "diff"})
_MARKUP = frozenset({"html", "css", "scss", "jinja"})
NO_CODE = PROSE | CONFIG_LANGUAGES | DATA_LANGUAGES | {""}

_TEST_FOLDERS = frozenset(
    """
    test tests __tests__ spec specs testing e2e integration_tests integration-tests unit_tests unit-tests
    integrationtest integrationtests androidtest functionaltest functional_tests uitests unittests testsuite
    testlib test-utils test_utils cypress __mocks__ mocks benches
    """.split()
)
_JVM_TEST_SETS = frozenset(
    "test androidtest integrationtest functionaltest testfixtures it jmh commontest jvmtest jstest".split()
)
_FIXTURE_FOLDERS = frozenset(
    """
    testdata test-data test_data fixtures fixture __fixtures__ __snapshots__ snapshots golden goldens
    cassettes test-fixtures test_fixtures testfixtures
    """.split()
)
_DATA_FOLDERS = frozenset({"data", "dataset", "datasets", "sample_data", "sampledata", "seeds"})
_DOCS_FOLDERS = frozenset({"doc", "docs", "documentation", "man", "manual", "website", "wiki", "adr", "rfcs"})
_CI_FOLDERS = (
    ".github/workflows",
    ".github/actions",
    ".circleci",
    ".ci",
    ".buildkite",
    ".woodpecker",
    ".gitlab/ci",
    ".teamcity",
    ".azure-pipelines",
    ".gitea/workflows",
    ".forgejo/workflows",
)
_CI_NAMES = frozenset(
    """
    .gitlab-ci.yml .gitlab-ci.yaml .travis.yml .travis.yaml appveyor.yml .appveyor.yml azure-pipelines.yml
    azure-pipelines.yaml jenkinsfile bitbucket-pipelines.yml .drone.yml .cirrus.yml cloudbuild.yaml
    cloudbuild.yml .woodpecker.yml codecov.yml .codecov.yml .codecov.yaml dependabot.yml renovate.json
    .pre-commit-config.yaml .readthedocs.yml .readthedocs.yaml netlify.toml vercel.json .goreleaser.yml
    .goreleaser.yaml
    """.split()
)
_BUILD_NAMES = frozenset(
    """
    package.json pyproject.toml setup.py setup.cfg cargo.toml go.mod go.work pom.xml build.gradle
    build.gradle.kts settings.gradle settings.gradle.kts gemfile rakefile composer.json cmakelists.txt
    configure configure.ac configure.in meson.build meson_options.txt build.xml build.sbt build.rs mix.exs
    project.clj deps.edn package.swift podfile pipfile environment.yml conda.yml tox.ini noxfile.py tasks.py
    build workspace workspace.bazel module.bazel build.bazel justfile taskfile.yml taskfile.yaml sconstruct
    wscript lerna.json nx.json turbo.json pnpm-workspace.yaml rollup.config.js webpack.config.js
    vite.config.js vite.config.ts rollup.config.ts webpack.config.ts tsup.config.ts esbuild.js gulpfile.js
    gruntfile.js docker-compose.yml docker-compose.yaml compose.yml compose.yaml manifest.in gradlew mvnw
    gradle.properties vagrantfile flake.nix default.nix shell.nix stack.yaml cabal.project hatch_build.py
    """.split()
)
_LOCKS = frozenset(
    """
    package-lock.json yarn.lock pnpm-lock.yaml bun.lockb bun.lock cargo.lock poetry.lock uv.lock pipfile.lock
    pdm.lock gemfile.lock composer.lock go.sum flake.lock mix.lock podfile.lock package.resolved
    gradle.lockfile npm-shrinkwrap.json packages.lock.json deno.lock pubspec.lock conan.lock
    """.split()
)
_DOCS_STEMS = frozenset(
    """
    readme changelog changes history news license licence copying authors contributors contributing
    code_of_conduct security support maintainers codeowners notice roadmap upgrading migration governance
    install todo architecture design faq credits thanks release_notes
    """.split()
)
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


def _under(folder: str, roots: tuple[str, ...]) -> bool:
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
