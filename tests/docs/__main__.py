"""Write the output on README and docs/*.md again: `python -m tests.docs [PAGE…]`, which `make docs` runs.

Sessions (`$ command`, and what it prints) and what Python prints are replaced where they differ by more than
times and ages from what the page shows. What the page leaves out (`…`) stays left out.
"""

from __future__ import annotations

import sys
import tempfile
from difflib import SequenceMatcher
from pathlib import Path

from tests.docs.pages import Block, Command, all_pages, read_blocks
from tests.docs.running import Reader, as_shown, clean_state, lines_of, shape


def rewrite(page: Path) -> str:
    """Return the text of a page with what its blocks print now."""
    text = page.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as scratch, clean_state(Path(scratch), {}):
        reader = Reader(Path(scratch))
        blocks = read_blocks(page)
        changed: list[tuple[Block, str]] = []
        for block, after in zip(blocks, [*blocks[1:], None], strict=True):
            if block.comments.exempt or block.comments.is_deep:
                continue
            if block.kind == "console":
                changed.append((block, "".join(session(*ran) for ran in reader.type(block))))
            elif block.kind == "sh":
                reader.type(block)
            elif block.comments.file:
                reader.enter(block)
            elif block.kind == "python":
                printed = reader.exec(block)
                if after and after.kind == "text" and not as_shown(lines_of(after), printed):
                    changed.append((after, printed))
    for block, new in reversed(changed):
        text = text[: block.start] + new + text[block.start + len(block.text) :]
    return text


def session(command: Command, _: int, printed: str) -> str:
    lines = list(command.printed)
    if not as_shown(lines, printed):
        now = printed.rstrip().splitlines()
        matcher = SequenceMatcher(
            None, [shape(line) for line in lines], [shape(line) for line in now], autojunk=False
        )
        new: list[str] = []
        for _tag, start, end, first, last in matcher.get_opcodes():
            gaps = [line for line in lines[start:end] if line.strip() == "…"]
            new += gaps[:1] or now[first:last]
        lines = new
    return "\n".join([f"$ {command.line}", *lines]) + "\n"


def main() -> None:
    named = set(sys.argv[1:])
    for page in all_pages():
        if page.name != "team.md" and (not named or page.name in named):
            before, after = page.read_text(encoding="utf-8"), rewrite(page)
            if before != after:
                page.write_text(after, encoding="utf-8")
                print(f"{page.name}: output written again", file=sys.stderr)


if __name__ == "__main__":
    main()
