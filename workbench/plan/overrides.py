"""Pins and exclusions: what a plan must hold and what it must not, decided by the caller before the engine.

An override names a file by its path, a rule, learning or segment by its id; the beginning of an id is enough.
What is pinned is packed before anything else and counts as certainly needed, so that the packing decides how
much of it to show and not whether; what is excluded is dropped, with that as its reason.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from workbench.errors import UsageError
from workbench.plan.render import Passage
from workbench.records.dataclass import dataclass
from workbench.records.plan import RankedFile
from workbench.text.sanitize import visible_line

PINNED = "pinned by you"
EXCLUDED = "excluded by you"
RECEIVED = "given to this session already"
_LEAST_BEGINNING = 3  # characters of an id that are enough to name it
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Overrides:
    """What is pinned and what is excluded, as full paths and ids, in the order they were given."""

    pinned: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.pinned or self.excluded)

    def without(self, received: Sequence[str]) -> Overrides:
        """Return the overrides with what a session has already excluded as well, unless it is pinned."""
        more = (name for name in received if name not in self.pinned)
        return replace(self, excluded=tuple(dict.fromkeys((*self.excluded, *more))))

    def order_files(self, files: Sequence[RankedFile]) -> tuple[RankedFile, ...]:
        """Return the files that may be in a pack: pinned ones first, the others in their order."""
        if not self:
            return tuple(files)
        pinned, out = frozenset(self.pinned), frozenset(self.excluded)
        first = [found for found in files if found.path in pinned]
        return (*first, *(one for one in files if one.path not in pinned and one.path not in out))

    def passages(self, passages: Iterable[Passage]) -> list[Passage]:
        """Return the passages that may be in a pack, pinned ones marked, in their order."""
        return [
            replace(one, pinned=True) if one.id in self.pinned else one
            for one in passages
            if one.id not in self.excluded
        ]


def resolve_overrides(
    pinned: Sequence[str], excluded: Sequence[str], paths: Collection[str], ids: Collection[str]
) -> Overrides:
    """Return the overrides with every name in full.

    Raises: UsageError for a name that is neither one of the paths nor the beginning of one of the ids, for a
    beginning of several, and for what is both pinned and excluded.
    """
    if not pinned and not excluded:
        return Overrides()
    wanted = tuple(dict.fromkeys(_resolve_name(name, paths, ids) for name in pinned))
    unwanted = tuple(dict.fromkeys(_resolve_name(name, paths, ids) for name in excluded))
    both = next((name for name in wanted if name in unwanted), None)
    if both is not None:
        raise UsageError(f"{_show(both)} is both pinned and excluded", hint="Leave one of them out.")
    return Overrides(wanted, unwanted)


def unknown_names(names: Iterable[str], paths: Collection[str], ids: Collection[str]) -> tuple[str, ...]:
    """Return the names, given in full, that are neither a path nor an id any more."""
    return tuple(name for name in names if name not in paths and name not in ids)


def _resolve_name(name: str, paths: Collection[str], ids: Collection[str]) -> str:
    given = name.strip()
    path = given.replace("\\", "/").removeprefix("./") if given not in paths else given
    if path in paths:
        return path
    if given in ids:
        return given
    found = sorted(one for one in ids if one.startswith((given, f"rule-{given}", f"seg-{given}")))
    if len(given) >= _LEAST_BEGINNING and found:
        if len(found) == 1:
            return found[0]
        some = ", ".join(found[:3])
        raise UsageError(f"{len(found)} ids begin with {_show(given)!r}", hint=f"Give more of it: {some}, …")
    raise UsageError(
        f"there is no file, rule, learning or segment {_show(given)!r} to pin or exclude",
        hint=_hint(path, paths, ids)
        or "Give a path that `workbench rank` lists, or the id of a rule, a learning or a segment.",
    )


def _hint(path: str, paths: Collection[str], ids: Collection[str]) -> str:
    near = nearest_path(path, paths, sorted(ids))
    return f"Did you mean {visible_line(near)}?" if near else ""


def nearest_path(path: str, paths: Collection[str], others: Sequence[str] = ()) -> str:
    """Return the path, or one of other names, that may have been meant; '' if there is none."""
    near = _near(path, paths)
    same = [one for one in near if one.rpartition("/")[2] == path.rpartition("/")[2]]
    if len(same) == 1:
        return same[0]
    from workbench.suggest import suggest

    return suggest(path, (*near, *others))


def _near(path: str, paths: Collection[str], most: int = 2_000) -> list[str]:
    """Return the paths that may have been meant: of the same name, else in the same folder or of like names.

    At most so many, because each is compared with what was given.
    """
    folder, _, name = path.rpartition("/")
    same = sorted(one for one in paths if one.rpartition("/")[2] == name)
    if same:
        return same
    beside = sorted(one for one in paths if one.rpartition("/")[0] == folder)
    alike = sorted(one for one in paths if one.rpartition("/")[2][:2] == name[:2])
    return list(dict.fromkeys((*beside, *alike)))[:most]


def _show(name: str) -> str:
    return visible_line(name)[:_SHOWN]
