"""Files of a state cut, emptied, altered, overwritten or removed."""

from __future__ import annotations

import itertools
import random
import shutil
import time
from pathlib import Path

from bench.chaos.project import COMMANDS, Content, Suite, content, difference, run


def damage(root: Path, seconds: float, dice: random.Random) -> Suite:
    """Damage one file of a state at a time; commands explain themselves, a repair brings everything back."""
    suite = Suite("a damaged file")
    before = content(root)
    assert isinstance(before, Content), before
    state, whole = root / ".workbench", root.parent / "whole"
    shutil.copytree(state, whole)
    files = files_by_turns(whole, dice)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        name = files[suite.tries % len(files)].relative_to(whole)
        how = dice.choice(("cut", "emptied", "altered", "overwritten", "removed"))
        shutil.rmtree(state)
        shutil.copytree(whole, state)
        spoil(state / name, how, dice)
        suite.tries += 1
        suite.notes[how] += 1
        for command in (*dice.sample(COMMANDS, 3), ["doctor"], ["doctor", "--repair"]):
            if defect := run(root, command).defect:
                suite.faults.append(f"{name} {how}, {' '.join(command)}: {defect}")
        after = content(root)
        if after != before:
            suite.faults.append(f"{name} {how}: {difference(before, after)}")
    return suite


def files_by_turns(state: Path, dice: random.Random) -> list[Path]:
    """Return the files of a state, one of each part after the other: the tables, journals, copies, runs, …"""
    parts: dict[str, list[Path]] = {}
    for path in sorted(state.rglob("*")):
        if path.is_file() and path.suffix != ".lock":
            parts.setdefault(path.relative_to(state).parts[0], []).append(path)
    for paths in parts.values():
        dice.shuffle(paths)
    turns = itertools.zip_longest(*(parts[name] for name in sorted(parts)))
    return [path for turn in turns for path in turn if path is not None]


def spoil(path: Path, how: str, dice: random.Random) -> None:
    """Cut, empty, alter, overwrite or remove a file."""
    data = bytearray(path.read_bytes())
    if how == "removed":
        path.unlink()
        return
    if how == "emptied":
        data.clear()
    elif how == "cut":
        del data[dice.randrange(len(data) + 1) :]
    elif how == "overwritten":
        data[:] = dice.randbytes(min(len(data), 4096)) + data[4096:]
    elif data:
        data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    path.write_bytes(data)
