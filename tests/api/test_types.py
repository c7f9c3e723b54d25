"""The public face is typed: a client is checked strictly, and what it does wrong is found."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
WRONG = """
from workbench import open_project

with open_project(1) as project:  # arg-type
    response = project.plan("a task", bugdet=1000)  # call-arg
    response.context.txt  # attr-defined
    response.context.text = ""  # misc
    project.rules.add("Use pnpm.", priority="high")  # arg-type
    project.learnings.add("no feature")  # call-arg
    project.rank("a task").files[0].path + 1  # operator
"""


def test_a_client_is_checked_strictly(tmp_path: Path) -> None:
    """mypy finds nothing in a sound client and each fault of another."""
    client, wrong = ROOT / "tests" / "api" / "client.py", tmp_path / "wrong.py"
    wrong.write_text(WRONG, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-pretty", str(client), str(wrong)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.findall(r"(\w+\.py):(\d+): error: .*\[([\w-]+)\]$", done.stdout, re.MULTILINE)
    expected = [
        ("wrong.py", str(number), line.partition("# ")[2])
        for number, line in enumerate(WRONG.splitlines(), 1)
        if "# " in line
    ]
    assert list(dict.fromkeys(found)) == expected, done.stdout + done.stderr
