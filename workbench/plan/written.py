"""What a task writes by its name, and the one or two places of the project that it can only mean.

A name in code marks, in CamelCase or snake_case, with its class or called; a flag, with dashes or as "the
debug flag"; a quoted text such as an error message: where one or two places define it, or else hold it as it
is written, these are what the task is about. In a task that renames or removes something it is where that is
defined. A name that many places hold tells nothing, and neither does one of a single everyday word.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from workbench.expand.handles import qualified_parts
from workbench.expand.lookup import Definition, is_aside, listed_definitions, positions_with
from workbench.expand.sources import Sources
from workbench.plan.news import is_news
from workbench.plan.ranking import RankingModel
from workbench.plan.usages import ERROR, changes_names, written_names
from workbench.project.languages import role_of
from workbench.records.dataclass import dataclass
from workbench.records.plan import Intent, RankedFile
from workbench.records.project import Role, Skipped
from workbench.text.terms import parts

MOST_PLACES: Final = 2
CHANCE: Final = 0.6  # that a file is needed which holds what a task writes by its name
AHEAD: Final = 0.01  # of the score that a file which leads has more than the next
MOST_TASK: Final = 4_000  # characters of a task in which forms are looked for
MOST_FORMS: Final = 8  # of a task that are looked for
MOST_FILES: Final = 40  # that may hold a form
MOST_BYTES: Final = 2_000_000  # of all these
APART: Final = 20  # lines from which two lines are two places
LEAST_NAME: Final = 3  # characters
LEAST_TEXT: Final = 12  # characters of a quoted text
LEAST_WORDS, MOST_WORDS = 3, 10  # of it
_ROLES: Final = (
    frozenset({Role.SOURCE}),
    frozenset({Role.BUILD, Role.CONFIG, Role.OTHER}),
    frozenset({Role.TEST}),
)
"""Where a form is looked for, until there is one."""
_QUOTED: Final = re.compile(
    r"`([^`\n]{2,160})`|“([^”\n]{2,160})”|\"([^\"\n]{2,160})\"|(?<!\w)'([^'\n]{2,160})'(?!\w)"
)
_NAME: Final = re.compile(r"[A-Za-z_]\w*(?:(?:\.|::|#|->)[A-Za-z_]\w*)*(?:\(\))?[?!]?")
_PUNCTUATION: Final = "`\"'“”.,:;!?[]{}<>"
_FLAG: Final = re.compile(r"(?<![\w-])--([A-Za-z][\w-]{1,40})")
_CALLED: Final = re.compile(
    r"(?<![\w.-])([A-Za-z][\w-]{2,40}) (?:flag|switch|option|setting|config(?:uration)? (?:key|option|field)"
    r"|env(?:ironment)? var(?:iable)?)\b"
)
_DONE_TO: Final = re.compile(
    r"(?:^|[:(,] ?|\b(?:add|remov|renam|replac|drop|delet|deprecat|fix|support|document|chang|mak|hid|allow"
    r"|validat|honou?r|respect|ignor|updat|extend|implement|introduc|tak|mov|split)(?:e|es|s|ed|d|ing)?"
    r" (?:the |an? |new )*)[`\"']?$",
    re.I,
)
_DOES: Final = re.compile(
    r"[`\"']?,? (?:flag|option|switch|is|isn|are|has|should|must|does|do|doesn|can|could|cannot|will|would"
    r"|prints|shows|fails|takes|accepts|breaks|crashes|returns|works|lists|ignores|no longer|not)\b",
    re.I,
)
"""What is before and after a flag that a task is about; any other one is how somebody came to something."""
_GIVEN: Final = re.compile(
    r"\b(?:with|without|using|via|under|pass(?:ing|ed)?|when|if|set(?:ting)?) (?:the |an? )?[`\"']?$", re.I
)
_NO_NAME: Final = frozenset(
    "the this that a an any all each every one new old same other another first last second default optional"
    " missing line cli command boolean bool string config configuration global build compiler feature"
    " existing extra more invalid unknown unused hidden deprecated required valid custom specific certain"
    " following given no".split()
)
_DECLARES: Final = re.compile(rb"flag|option|arg|long\b|short\b|setting|usage|\bhelp\b|default", re.I)
_DECLARED_IN: Final = 3  # lines, the last of which has the option: `click.option(` is above it
_HOLE: Final = re.compile(r"[\d<{%$/\"]|(?<!\w)'|'(?!\w)")  # in a word that a message fills in


@dataclass(frozen=True, slots=True)
class WrittenPlace:
    """A line of a file that a task means by a form; `defines` is whether what it writes is defined there."""

    path: str
    line: int
    text: str
    defines: bool = False


@dataclass(frozen=True, slots=True)
class _Form:
    """What is looked for: names by definition, others and names without one as any of their spellings."""

    text: str
    spellings: tuple[str, ...]
    is_name: bool = False
    is_option: bool = False


Define = Callable[[str], Sequence[Definition]]
Hold = Callable[[str], Iterable[tuple[str, bytes]]]


def written_places(sources: Sources, intent: Intent) -> tuple[WrittenPlace, ...]:
    """Return the places that the head of a task means, in its order."""
    left = MOST_BYTES

    def hold(text: str) -> Iterator[tuple[str, bytes]]:
        nonlocal left
        rows = positions_with(sources, text)
        size = int(sources.index.size[rows].sum())
        if len(rows) > MOST_FILES or size > left:
            return
        left -= size
        for row in rows:
            data = sources.data(sources.index.paths[row])
            if not isinstance(data, Skipped):
                yield sources.index.paths[row], data

    def define(name: str) -> Sequence[Definition]:
        return listed_definitions(sources, qualified_parts(name))

    head = intent.task.head[:MOST_TASK]
    if changes_names(head):
        for definitions in written_names(sources, head).values():
            if places := _places_of(definitions):
                return places[:1]
    return find_written(head, define, hold)


def find_written(text: str, define: Define, hold: Hold) -> tuple[WrittenPlace, ...]:
    """Return the places that a text means, in its order."""
    found: dict[tuple[str, int], WrittenPlace] = {}
    for form in forms_of(text)[:MOST_FORMS]:
        places = _places_of(define(form.text)) if form.is_name else ()
        if not places:
            held = (_places_with(one, hold, is_option=form.is_option) for one in form.spellings)
            places = next(filter(None, held), ())
        if len(places) <= MOST_PLACES:
            for one in places:
                found.setdefault((one.path, one.line), replace(one, text=form.text))
    return tuple(found.values())


def forms_of(text: str) -> list[_Form]:
    """Return what a text writes as a name, a flag or a quoted text, in its order."""
    forms: dict[str, tuple[int, _Form]] = {}

    def add(at: int, form: _Form) -> None:
        forms.setdefault(form.text, (at, form))

    for match in _FLAG.finditer(text):
        if not (_DONE_TO.search(text[: match.start()]) or _DOES.match(text[match.end() :])):
            continue
        add(match.start(), _Form(f"--{match[1]}", _as_option(match[1]), is_option=True))
    for match in _CALLED.finditer(text):
        if match[1].lower() not in _NO_NAME and not _GIVEN.search(text[: match.start()]):
            add(match.start(), _Form(match[1], _as_option(match[1]), is_option=True))
    for match in _QUOTED.finditer(text):
        inner = next(filter(None, match.groups())).strip()
        if _NAME.fullmatch(inner):
            name = inner.removesuffix("()")
            add(
                match.start(),
                _Form(name, () if len(name) < LEAST_NAME or ERROR.search(name) else (name,), is_name=True),
            )
        elif " " in inner and "--" not in inner and (piece := _longest_piece(inner)):
            add(match.start(), _Form(piece, (piece, *_runs(piece))))
    for match in re.finditer(r"\S+", text):
        word = match[0].strip(_PUNCTUATION)
        word = word if word.endswith("()") else word.strip("()")
        if _NAME.fullmatch(word) and _is_written_as_name(word):
            name = word.removesuffix("()")
            add(match.start(), _Form(name, (name,) if "_" in name else (), is_name=True))
    return [form for _at, form in sorted(forms.values(), key=lambda one: one[0])]


def _as_option(name: str) -> tuple[str, ...]:
    """Return how sources write a flag: as it is given, as a text without its dashes, as a name."""
    plain = name.replace("-", "_")
    texts = (f"{mark}{one}{mark}" for one in dict.fromkeys((name, plain)) for mark in "\"'`")
    return (f"--{name}", *texts, *([plain] if "_" in plain else []))


def _is_written_as_name(word: str) -> bool:
    """Whether a bare word can only be a name: `parse_config`, `parseConfig`, `Foo.bar`, `run()`."""
    if word.endswith("()") or "::" in word or "->" in word or "_" in word.strip("_"):
        return True
    last = re.split(r"[.#]", word)[-1]
    return re.search(r"[a-z][A-Z]", last) is not None or (
        last != word and re.search(r"[A-Z]", word) is not None
    )


def _longest_piece(text: str) -> str:
    """Return the longest piece of a message that a program may have as it is, without what it fills in."""
    pieces: list[list[str]] = [[]]
    for word in text.split():
        if _HOLE.search(word):
            pieces.append([])
        else:
            pieces[-1].append(word)
    piece = max((" ".join(words).strip(" .,:;()") for words in pieces), key=len)
    return piece if len(piece) >= LEAST_TEXT and " " in piece else ""


def _runs(text: str) -> Iterator[str]:
    """Yield the longest runs of a message's words first: what it fills in may be any of them."""
    words = text.split(" ")[:MOST_WORDS]
    for length in range(len(words) - 1, max(LEAST_WORDS, len(words) // 2) - 1, -1):
        for first in range(len(words) - length + 1):
            run = " ".join(words[first : first + length]).strip(" .,:;()")
            if len(run) >= LEAST_TEXT:
                yield run


def _places_of(definitions: Sequence[Definition]) -> tuple[WrittenPlace, ...]:
    for roles in _ROLES:
        if chosen := [one for one in definitions if _roles_of(one.path, one.role) is roles]:
            return tuple(WrittenPlace(one.path, one.symbol.line, one.name, defines=True) for one in chosen)
    return ()


def _places_with(text: str, hold: Hold, *, is_option: bool) -> tuple[WrittenPlace, ...]:
    """Return the places that hold a text as it is, of an option those that declare it, of the first kind of
    files where there are any."""
    word = re.compile(rb"(?<![\w-])" + re.escape(text.encode("utf-8", "surrogatepass")) + rb"(?![\w-])")
    by_role: dict[frozenset[Role], list[WrittenPlace]] = {}
    looked_at = _ROLES[:1] if is_option or len(parts(text)) == 1 else _ROLES[:2]
    for path, data in hold(text):
        roles = _roles_of(path, role_of(path))
        if roles is None or roles not in looked_at:
            continue
        lines = [data.count(b"\n", 0, match.start()) + 1 for match in word.finditer(data)]
        if is_option and lines:
            rows = data.split(b"\n")
            lines = [
                one for one in lines if any(map(_DECLARES.search, rows[max(0, one - _DECLARED_IN) : one]))
            ]
        last = -APART
        for line in lines:
            if line - last >= APART:
                by_role.setdefault(roles, []).append(WrittenPlace(path, line, text))
            last = line
    return next((tuple(by_role[one]) for one in looked_at if one in by_role), ())


def _roles_of(path: str, role: Role) -> frozenset[Role] | None:
    """Return the kind of files that a file is looked at with; None for one that tells of others."""
    if is_news(path) or is_aside(path):
        return None
    return next((one for one in _ROLES if role in one), None)


def by_path(places: Iterable[WrittenPlace]) -> dict[str, list[WrittenPlace]]:
    """Return places by their files, in order."""
    found: dict[str, list[WrittenPlace]] = {}
    for one in places:
        found.setdefault(one.path, []).append(one)
    return found


def lead_with_written(
    files: tuple[RankedFile, ...], places: Sequence[WrittenPlace], model: RankingModel
) -> tuple[RankedFile, ...]:
    """Return files, best first, led by those that hold what a task writes by name.

    They are as likely as such files proved to be, and as any other file.
    """
    written = by_path(places)
    if not written:
        return files
    ranked = [one for one in files if one.path in written]
    ranked += [RankedFile(path, 0.0, {}) for path in written.keys() - {one.path for one in ranked}]
    slope, offset = model.relevance
    least = max(
        (math.log(CHANCE / (1.0 - CHANCE)) - offset) / slope if slope > 0 else 0.0,
        files[0].score + AHEAD if files else 0.0,
    )
    return (
        *(replace(one, score=max(one.score, least)) for one in ranked),
        *(one for one in files if one.path not in written),
    )
