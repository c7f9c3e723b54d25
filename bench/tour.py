"""Keep the packs of `docs/tour.md` what the commands print: write them again, or check them.

    python -m bench.tour --repos DIR [--check]

A block of the page that follows a line `<!-- owner+name commit -->` begins with `$ workbench …`; the command
runs in a clone of that repository at that commit, indexed by itself, with no settings of the user. Ids of
rules follow from where the clone lies and are cut.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from difflib import unified_diff
from pathlib import Path
from typing import Final

from bench.timeline import repositories

_PROGRAM: Final = "import sys; from workbench.entry.start import main; sys.exit(main())"
PAGE: Final = Path(__file__).parent.parent / "docs" / "tour.md"
_BLOCK: Final = re.compile(
    r"^<!-- (?P<name>\S+) (?P<commit>[0-9a-f]{7,40}) -->\n"
    r"```\n\$ (?P<command>workbench [^\n]*)\n(?P<text>.*?)```$",
    re.MULTILINE | re.DOTALL,
)
_RULE: Final = re.compile(r"\brule-[0-9a-f]{20}\b")


def print_pack(clone: Path, command: str, environment: Mapping[str, str]) -> str:
    """Return what a command prints in a clone: the pack, then the reasons."""
    words = [sys.executable, "-c", _PROGRAM, *shlex.split(command)[1:]]
    done = subprocess.run(words, cwd=clone, env=dict(environment), capture_output=True, text=True, check=True)
    return _RULE.sub("rule-\u2026", done.stdout + done.stderr)


def make_clone(source: Path, commit: str, target: Path, environment: Mapping[str, str]) -> Path:
    """Return an indexed clone that is at a commit and knows nothing later."""
    target.mkdir(parents=True)
    git = ["git", "-C", str(target)]
    subprocess.run([*git, "init", "-q"], check=True)
    sha = subprocess.run(
        ["git", "-C", str(source), "rev-parse", commit], capture_output=True, text=True, check=True
    ).stdout.strip()
    subprocess.run([*git, "fetch", "-q", str(source.absolute()), sha], check=True)
    subprocess.run([*git, "checkout", "-q", "FETCH_HEAD"], check=True)
    print_pack(target, "workbench -q index", environment)
    return target


def write_page(text: str, folder: Path) -> str:
    """Return the page with every block as its command prints it now. Raises: CalledProcessError."""
    clones: dict[tuple[str, str], Path] = {}
    with tempfile.TemporaryDirectory() as scratch:
        settings = {"WORKBENCH_HOME": f"{scratch}/home", "NO_COLOR": "1", "COLUMNS": "120"}
        environment = {key: value for key, value in os.environ.items() if not key.startswith("WORKBENCH")}
        environment |= settings | {"PYTHONPATH": str(PAGE.parent.parent)}

        def block(found: re.Match[str]) -> str:
            key = found["name"], found["commit"]
            if key not in clones:
                (source,) = repositories(folder, [key[0]])
                place = Path(scratch) / key[0].replace("+", "-") / key[0].partition("+")[2]
                clones[key] = make_clone(source, key[1], place, environment)
            shown = print_pack(clones[key], found["command"], environment)
            return f"<!-- {key[0]} {key[1]} -->\n```\n$ {found['command']}\n{shown.rstrip()}\n```"

        return _BLOCK.sub(block, text)


def main() -> int:
    """Write the page again, or say how it differs."""
    parser = argparse.ArgumentParser(prog="python -m bench.tour", description=__doc__)
    parser.add_argument("--repos", type=Path, required=True, help="folder of repositories, named owner+name")
    parser.add_argument("--check", action="store_true", help="print the difference instead of writing")
    options = parser.parse_args()
    before = PAGE.read_text(encoding="utf-8")
    after = write_page(before, options.repos)
    if not options.check:
        PAGE.write_text(after, encoding="utf-8")
        return 0
    sys.stdout.writelines(unified_diff(before.splitlines(True), after.splitlines(True), "tour.md", "printed"))
    return int(before != after)


if __name__ == "__main__":
    sys.exit(main())
