"""Rules whose paths changed, in a file whose front matter speaks for all its rules."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.errors import ParseError
from workbench.records.rules import Activation, Rule, path_globs
from workbench.rules.files.editing_head import edit_front_matter
from workbench.rules.files.placement import portable, reach_of
from workbench.rules.formats.families import family_of
from workbench.rules.formats.frontmatter import read_front_matter
from workbench.rules.formats.heads import GLOB_KEYS
from workbench.rules.formats.reach import Reach
from workbench.rules.formats.textfile import parse_file
from workbench.rules.reading.building import globs_for
from workbench.rules.reading.discover import RuleSource


def rescoped(path: str, data: bytes, rules: Sequence[Rule]) -> tuple[bytes, int, tuple[str, ...]]:
    """Return a file whose front matter has the globs its rules have now: bytes, lines it grew by, notes.

    Only where all rules that live in the file agree, and its format has globs; otherwise the file stays and a
    note says for which rules it doesn't hold what the store says.
    """
    living = [rule for rule in rules if rule.provenance is not None and rule.provenance.file == path]
    found = family_of(path)
    if not living or found is None:
        return data, 0, ()
    family, directory = found
    lines = parse_file(data).shown
    reach = family.read(read_front_matter(list(lines)))
    there = _globs(reach, directory)
    differing = [rule for rule in living if reach_of(rule).globs != there]
    if not differing:
        return data, 0, ()
    wanted = {path_globs(rule.scope) for rule in living}
    key = GLOB_KEYS.get(family.name)
    if key and not directory and reach.activation is Activation.PATHS and len(wanted) == 1 and all(wanted):
        try:
            after = edit_front_matter(data, key, wanted.pop(), path=path)
        except ParseError as error:
            return data, 0, (f"{path}:{error.line}: {error.message}",)
        return after, len(parse_file(after).shown) - len(lines), ()
    return (
        data,
        0,
        tuple(
            f"{path}: rule {rule.id} is for {', '.join(reach_of(rule).globs) or 'all paths'},"
            " which this file doesn't say"
            for rule in differing
        ),
    )


def _globs(reach: Reach, directory: str) -> tuple[str, ...]:
    source = RuleSource("", "", "", directory)
    return tuple(portable(glob) for glob in globs_for(source, reach))
