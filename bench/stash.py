"""Does the stash bring back what is needed, and how fast? `python -m bench.stash quality DIR`.

DIR holds conversations as `python -m bench.conversations` writes them. All that was said is stashed; then
every system is asked every question, with the whole conversation to find its answer in.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench.conversations import read_conversations
from bench.stash_quality import SYSTEMS, ask, report


def main(arguments: list[str] | None = None) -> int:
    """Run a benchmark and print its tables in Markdown."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.stash",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    what = parser.add_subparsers(dest="what", required=True)
    quality = what.add_parser("quality", help="questions about recorded conversations")
    quality.add_argument("dir", type=Path)
    quality.add_argument("--systems", nargs="*", default=list(SYSTEMS), choices=list(SYSTEMS))
    quality.add_argument("--against", default="bm25", help="the system others are compared with")
    quality.add_argument("--cache", type=Path, default=Path(".bench"), help="where embeddings are kept")
    options = parser.parse_args(arguments)
    conversations = read_conversations(options.dir)
    if not conversations:
        print(f"{options.dir} holds no conversation", file=sys.stderr)
        return 2
    answers = ask(conversations, options.systems, options.cache, say=_say)
    print(report(answers, options.systems, options.against))
    return 0


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
