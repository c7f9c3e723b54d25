"""What rule files name and the project does not have: files, imports, scripts and targets.

Only what can hardly be meant otherwise counts: links, and code that is a path below a directory that is
there; scripts and targets only in code, of manifests that are there. Lines that speak of files to come or
gone are passed over. Precision goes before recall: `docs/rules.md` has the figures.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from workbench.records.dataclass import dataclass
from workbench.rules.lint.findings import MOST_ALIKE, LintFinding, LintKind, LintProject
from workbench.rules.precedence.agents import PRECEDENCE
from workbench.rules.precedence.tree import RuleText
from workbench.text.sanitize import safe_lines

_FENCE: Final = re.compile(r"^\s{0,12}(`{3,}|~{3,})\s*([\w+-]*)")
_SHELLS: Final = frozenset({"", "bash", "sh", "shell", "zsh", "console", "shellsession", "text"})
_MOST_LINE: Final = 4_000  # characters of a line; longer ones hold no prose
_SPAN: Final = re.compile(r"(?<!`)(`{1,3})(?!`)(.{1,250}?)(?<!`)\1(?!`)")
_LINK: Final = re.compile(r"(?<!!)\[[^\]\[]*\]\(\s*<?([^()\s<>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
_SCHEME: Final = re.compile(r"^(?:[a-z][\w+.-]*:|//|#|/|~|mdc:|www\.)", re.IGNORECASE)
_PATH: Final = re.compile(r"(?:\./)?[\w.@+-]+(?:/[\w.@+()\[\]-]+)+/?")
_PLACE: Final = re.compile(r":\d+(?::\d+|-\d+)?$|#L?\d+(?:-L?\d+)?$")
_ENDING: Final = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,9}$")
_PLACEHOLDER: Final = re.compile(
    r"x{3,}|y{4}|\bfoo\b|\bbar\b|\bbaz\b|example|your[-_]|[-_]name\b|my[-_]|placeholder|\bNNN|\.\.\.|[<>{}*$|]"
    r"|\bfeature\b|some[-_]|path/to|\[|\(",
    re.IGNORECASE,
)
_EXAMPLE: Final = re.compile(r"\bexamples?\b|e\.g\.", re.IGNORECASE)
_FIXTURE: Final = re.compile(r"(?:^|/)(?:examples?|fixtures?|templates?|test_?data|__fixtures__|assets)/")
_OWN: Final = re.compile(r"(?:\./)?\.[\w-]+/(?:.*/)?[\w.-]+\.(?:json|jsonc|toml|ya?ml|env)")
"""Settings that each person has, or not."""

_NOT_THERE: Final = re.compile(
    r"\b(?:creat|generat|new|add(?:ing|s|ed)?\b|example|e\.g|such as|for instance|remov|delet|renam"
    r"|mov(?:e|ed|ing)\b|no longer|legacy|deprecat|formerly|replac|instead of|if (?:it |they )?exist"
    r"|if present|optional|does(?:n't| not) exist|don't exist|missing|absent|would|will be|write|save|output"
    r"|export|copy|copied|template|named?|call it|place|put|store|produc|emit|build|built|gitignore|ignored"
    r"|untracked|local(?:ly)?|planned|future|todo|not yet|scaffold|init|download|clone|temp|log|cache"
    r"|artifact|like|(?:that|other|another) repo|upstream)",
    re.IGNORECASE,
)
"""Words of lines that speak of files which are to come, are gone, or are nobody's."""

_RUN: Final = re.compile(
    r"(?:^|[;&|(]\s*|\$\s+)(?:cd\s+\S{1,200}\s*&&\s*)?(npm|pnpm|yarn|bun)\s+"
    r"((?:-{1,2}\w[\w-]{0,99}(?:[= ]\S{1,200})?\s{1,9}){0,5})"
    r"(?:run|run-script)\s+(?:-{1,2}\w[\w-]{0,99}\s{1,9}){0,9}([A-Za-z][\w:.-]*)(?=\s|$|[;&|)])"
)
_MAKE: Final = re.compile(r"(?:^|[;&|(]\s*|\$\s+)make((?:\s+[A-Za-z][\w./-]*)+)\s*(?=$|[;&|)#]|\s#)")
_TARGET: Final = re.compile(r"^([A-Za-z0-9_.%/$(){} -]+)\t*:(?![=:]?=)", re.MULTILINE)
_ANY_TARGET: Final = re.compile(r"^[ \t]*-?include\b|\$\(eval\b|^[^\s%]*%\S*\s*:(?!=)", re.MULTILINE)
"""What makes targets that are not listed: an include, `eval`, a pattern."""

_MAKEFILES: Final = ("Makefile", "makefile", "GNUmakefile")
_WORDS: Final = frozenset("sure it the a an this that your sense them use up any all".split())


def missing_imports(project: LintProject) -> Iterator[LintFinding]:
    """Find `@path`s of files whose agents import, to texts that are not there."""
    importing = {family for one in PRECEDENCE.values() if one.imports for family in one.families}
    for name, found in project.texts:
        if found.source.format not in importing or found.source.format == "agents":
            continue
        for one in project.tree.imports(name, anything=False):
            if one.name and project.tree.find(one.name) is None and one.name not in project.tree.refused:
                message = f"@{one.target} imports {one.name}, which is not there"
                step = _step(
                    project, one.name, "Correct the path, or take the line out: nothing is imported."
                )
                yield LintFinding(LintKind.MISSING_IMPORT, name, one.line, message, step, one.target)


def missing_files(project: LintProject) -> Iterator[LintFinding]:
    """Find links, and paths in code, to files of the project that are not there."""
    for name, found in project.texts:
        if name.startswith(("~/", "/")) or _FIXTURE.search(name):
            continue
        gone = (
            (line, path) for line, path in _named_once(project, found) if _is_missing(project, found, path)
        )
        for line, path in islice(gone, MOST_ALIKE):
            message = f"{path} is not in the project"
            step = _step(project, path, "Correct the path, or take the sentence out.")
            yield LintFinding(LintKind.MISSING_FILE, name, line, message, step, path)


def _named_once(project: LintProject, found: RuleText) -> Iterator[tuple[int, str]]:
    """Yield each path that a file's prose names, with the first line that does."""
    seen: set[str] = set()
    for line, text, fenced in _lines(found):
        for path in () if fenced is not None else _named_files(project, found, text):
            if path not in seen:
                seen.add(path)
                yield line, path


def _lines(found: RuleText) -> Iterator[tuple[int, str, str | None]]:
    """Yield (number, line, language) of a file's body; the language is that of a block of code, else None."""
    fence = ""
    language: str | None = None
    for number, line in enumerate(safe_lines(found.text), 1):
        if number <= found.front.body_start or len(line) > _MOST_LINE:
            continue
        match = _FENCE.match(line)
        if match and not fence:
            fence, language = match[1], match[2].lower()
        elif match and fence and match[1].startswith(fence) and not match[2]:
            fence, language = "", None
        else:
            yield number, line, language


def _named_files(project: LintProject, found: RuleText, text: str) -> Iterator[str]:
    """Yield what a line names as files that are there: targets of links, and code that is a path."""
    bare = _SPAN.sub("", text)
    for match in () if _EXAMPLE.search(bare) else _LINK.finditer(bare):
        target = re.split(r"[#?]", match[1], maxsplit=1)[0]
        if (
            target
            and not _SCHEME.match(match[1])
            and _ENDING.search(target)
            and not _PLACEHOLDER.search(target)
        ):
            yield target
    if _NOT_THERE.search(bare):
        return
    for match in _SPAN.finditer(text):
        path = _PLACE.sub("", match[2].strip())
        if not _PATH.fullmatch(path) or _PLACEHOLDER.search(path) or path.startswith("@"):
            continue
        if not (path.endswith("/") or _ENDING.search(path)):
            continue  # a branch, a package, a route
        if _OWN.fullmatch(path):
            continue
        first = path.removeprefix("./").split("/")[0]
        places = {first, posixpath.join(found.source.directory, first)}
        if first not in (".", "..") and any(map(project.has_directory, places)):
            yield path


def _is_missing(project: LintProject, found: RuleText, path: str) -> bool:
    """Whether a path is nowhere: not from the root, not from the file, not below any directory."""
    clean = path.removeprefix("./").rstrip("/")
    directory = posixpath.dirname(found.source.path)
    places = [
        posixpath.normpath(posixpath.join(place, clean)) for place in ("", directory, found.source.directory)
    ]
    inside = [place for place in places if not place.startswith("..")]
    tail = clean
    while tail.startswith("../"):
        tail = tail[3:]
    if not inside or project.has(tail) or _has_stem(project, tail):
        return False
    return not any(project.exists(place) or project.ignored(place) for place in inside)


def _has_stem(project: LintProject, tail: str) -> bool:
    """Whether a file of another ending is there: sources are named by what they are compiled into."""
    name = tail.rpartition("/")[2]
    stem, dot, _ = name.rpartition(".")
    if not dot or not stem:
        return False
    begin = tail[: len(tail) - len(name)] + stem
    return any(project.has(f"{begin}.{end}") for end in ("ts", "tsx", "js", "mjs", "py", "mdx", "md"))


def _step(project: LintProject, path: str, otherwise: str) -> str:
    """Return the next step for a path that is gone: the one file of its name, if there is one."""
    moved = project.new_place(path)
    return f"Write {moved}, where a file of that name is." if moved else otherwise


def missing_commands(project: LintProject) -> Iterator[LintFinding]:
    """Find scripts of package.json and targets of a Makefile that are named in code and defined nowhere."""
    scripts, makefiles = package_scripts(project), make_targets(project)
    for name, found in project.texts:
        if name.startswith(("~/", "/")) or _FIXTURE.search(name):
            continue
        for line, kind, word in islice(_gone_commands(found, scripts, makefiles), MOST_ALIKE):
            where = "package.json" if kind == "script" else "Makefile"
            known = scripts if kind == "script" else makefiles and makefiles.targets
            message = f"the {kind} {word} is in no {where} of the project"
            step = _near(word, known or frozenset(), where)
            yield LintFinding(LintKind.MISSING_COMMAND, name, line, message, step, word)


def _gone_commands(
    found: RuleText, scripts: frozenset[str] | None, makefiles: Makefiles | None
) -> Iterator[tuple[int, str, str]]:
    """Yield (line, kind, name) of what a file's code calls and nothing defines."""
    for line, text, kind, word in _called_once(found):
        if kind == "script":
            is_gone = scripts is not None and word not in scripts
            # Without any package.json only what is said of the whole project counts; `bun run` takes files.
            is_gone = is_gone and (bool(scripts) or not (found.source.directory or "bun " in text))
        else:
            is_gone = makefiles is not None and makefiles.lacks(word, text, found.source.directory)
        if is_gone:
            yield line, kind, word


def _called_once(found: RuleText) -> Iterator[tuple[int, str, str, str]]:
    """Yield (line, its text, kind, name) of each script and target that code names, placeholders aside."""
    seen: set[tuple[str, str]] = set()
    for line, text, language in _lines(found):
        if language is None:
            codes = [match[2] for match in _SPAN.finditer(text)]
        else:
            codes = [text] if language in _SHELLS else []
        for one in (script for code in codes for script in _called_scripts(code.strip())):
            if one not in seen and not one[1].isupper() and not _PLACEHOLDER.search(one[1]):
                seen.add(one)
                yield line, text, *one


def _called_scripts(code: str) -> Iterator[tuple[str, str]]:
    for match in _RUN.finditer(code):
        yield "script", match[3]
    for match in _MAKE.finditer(code):
        words = match[1].split()
        if not _WORDS.intersection(words):
            yield from (("target", word) for word in words)


def _near(word: str, known: frozenset[str], where: str) -> str:
    from workbench.suggest import did_you_mean

    return did_you_mean(word, sorted(known)) or f"Define it in {where}, or name one that is there."


def package_scripts(project: LintProject) -> frozenset[str] | None:
    """Return the scripts of all package.json of the project, none without any; None if one is unreadable."""
    if not project.by_name.get("package.json") and not project.exists("package.json"):
        return frozenset()
    found: set[str] = set()
    read = False
    for path in project.by_name.get("package.json", []):
        text = project.text(path)
        try:
            value = json.loads(text or "null")
        except (ValueError, RecursionError):
            return None
        scripts = value.get("scripts") if isinstance(value, dict) else None
        if isinstance(scripts, dict):
            read = True
            found.update(key for key in scripts if isinstance(key, str))
    return frozenset(found) if read else None


@dataclass(frozen=True, slots=True)
class Makefiles:
    """The targets that a project's Makefiles list, and the directories of those that make others, too."""

    targets: frozenset[str]
    open_directories: frozenset[str]

    def lacks(self, target: str, line: str, directory: str) -> bool:
        """Whether no Makefile that a line of a rule file may be about has a target.

        `directory` is the file's own: below one whose Makefile takes any target, or beside its name, nothing
        is known.
        """
        return target not in self.targets and not any(
            f"{directory}/".startswith(f"{place}/") or place.rpartition("/")[2] in line
            for place in self.open_directories
        )


def make_targets(project: LintProject) -> Makefiles | None:
    """Return the targets of Makefiles; None where there is none, or the root's makes targets itself.

    Without one in the root all have to list theirs.
    """
    found: set[str] = set()
    open_directories: set[str] = set()
    paths = [path for name in _MAKEFILES for path in project.by_name.get(name, [])]
    for path in (*paths, *(path for path in project.paths if path.endswith(".mk"))):
        directory = posixpath.dirname(path)
        text = project.text(path)
        own = None if text is None or _ANY_TARGET.search(text) else _TARGET.findall(text)
        if own is None or any("$" in one for one in own):
            if path in _MAKEFILES or not any(name in paths for name in _MAKEFILES):
                return None
            open_directories.add(directory)
        else:
            found.update(word for one in own for word in one.split())
    return Makefiles(frozenset(found), frozenset(open_directories - {""})) if paths else None
