"""Reads handles: what a caller writes to ask for a definition, a file, its lines or its callers.

A handle is a name (`parseKeymap`, `Terminal.Loop`, `Foo::bar`), a file (`src/options.go`, or `options.go`
where only one is called so), or a file and what is wanted of it: `:120-180`, `:Terminal.Loop`, `:rest`. An
aspect may be last: `parseKeymap:callers`. Which part is a file is decided by the files that there are.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from workbench.records.dataclass import dataclass
from workbench.records.expansion import Aspect

LONGEST: Final = 500
_ASPECTS: Final = {
    "callers": Aspect.CALLERS,
    "used-by": Aspect.CALLERS,
    "references": Aspect.CALLERS,
    "uses": Aspect.USES,
    "subclasses": Aspect.SUBCLASSES,
    "implementations": Aspect.SUBCLASSES,
    "outline": Aspect.OUTLINE,
    "rest": Aspect.REST,
    "links": Aspect.LINKS,
    "imports": Aspect.LINKS,
    "importers": Aspect.LINKS,
    "tests": Aspect.LINKS,
}
_LINES: Final = re.compile(r"L?([1-9]\d{0,8})(?:(-)(?:L?([1-9]\d{0,8}))?)?")
_QUALIFIED: Final = re.compile(r"\.|::|#|->|\\|/")
_SIGNATURE: Final = re.compile(r"\(.*\)?\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Handle:
    """A handle taken apart: `paths` are the files that its file may be, `lines` an end of 0 is the file's.

    `single` is whether one line was named: what is around it is wanted.
    """

    text: str
    paths: tuple[str, ...] = ()
    name: str = ""
    lines: tuple[int, int] | None = None
    aspect: Aspect = Aspect.SHOW
    single: bool = False

    @property
    def parts(self) -> tuple[str, ...]:
        """The name with what it is qualified by."""
        return qualified_parts(self.name)


def qualified_parts(name: str) -> tuple[str, ...]:
    """Split a qualified name: `ns::Terminal.Loop(x)` into ns, Terminal, Loop; a heading stays whole."""
    plain = _SIGNATURE.sub("", name.strip()).lstrip("*&@")
    return tuple(part for part in _QUALIFIED.split(plain) if part) if " " not in plain else (plain,)


def parse_handle(text: str, find_paths: Callable[[str], tuple[str, ...]], aspect: Aspect) -> Handle:
    """Take a handle apart; `find_paths` gives the files that a path or the end of one may mean.

    `aspect` is wanted where the handle names none.
    """
    written = text.strip()[:LONGEST]
    whole, named = _without_aspect(written)
    wanted = named or aspect
    if paths := find_paths(_relative(whole)):
        return Handle(written, paths, aspect=wanted)
    for place, mark in enumerate(whole):
        if mark not in ":#" or not place:
            continue
        paths = find_paths(_relative(whole[:place]))
        behind = whole[place + 1 :].strip()
        if not paths or behind.startswith(mark):
            continue
        if lines := _LINES.fullmatch(behind.partition(":")[0]):  # `src/x.py:12:7`, as compilers write
            first = int(lines[1])
            last = first if lines[2] is None else int(lines[3] or 0)
            return Handle(written, paths, lines=(first, last), aspect=wanted, single=lines[2] is None)
        return (
            Handle(written, paths, behind, aspect=wanted) if behind else Handle(written, paths, aspect=wanted)
        )
    return Handle(written, name=whole, aspect=wanted)


def _without_aspect(text: str) -> tuple[str, Aspect | None]:
    before, mark, last = text.rpartition(":")
    found = _ASPECTS.get(last.strip().lower()) if mark and before and not before.endswith(":") else None
    return (text, None) if found is None else (before, found)


def _relative(path: str) -> str:
    return path.strip().replace("\\", "/").removeprefix("./")
