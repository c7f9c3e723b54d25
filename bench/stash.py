"""Does the stash bring back what is needed, and how fast? `python -m bench.stash quality DIR`.

`quality`: DIR holds conversations as `python -m bench.conversations` writes them. All that was said is
stashed; then every system is asked every question, with the whole conversation to find its answer in. Where
DIR holds transcripts of agents instead, they are replayed as `workbench --replay --source stash DIR` does.
`--aside` and `--messages` measure what the parts of a query count. `gate` says what of a stash of transcripts
would enter plans about other projects, and about itself. `sessions` asks half of some coding sessions for
what was used again, with BM25 beside the stash. `speed` is a table by size.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import cast
from unittest.mock import patch

from bench.conversations import read_conversations
from bench.stash_gate import gate
from bench.stash_quality import LATER, SYSTEMS, ask, report
from bench.stash_sessions import HALVES, sessions
from bench.stash_speed import SIZES, embedding, speed
from workbench.entry.cli.main import main as workbench
from workbench.stash.expansion import ASIDE


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
    quality.add_argument(
        "--later",
        type=float,
        default=LATER,
        help="days after the end in which is asked (default: %(default)s)",
    )
    quality.add_argument(
        "--messages", type=int, default=0, help="last turns that every question is asked beside"
    )
    quality.add_argument(
        "--aside",
        type=json.loads,
        default={},
        help='what parts of a query count beside the request: {"messages": 0.3} (default: what they do)',
    )
    entering = what.add_parser("gate", help="what of a stash would enter plans")
    entering.add_argument("transcripts", type=Path)
    entering.add_argument(
        "repositories", type=Path, nargs="+", help="whose commits are tasks of other projects"
    )
    entering.add_argument("--cache", type=Path, default=Path(".bench"), help="where embeddings are kept")
    coding = what.add_parser("sessions", help="what coding sessions used again, half of them at a time")
    coding.add_argument("transcripts", type=Path)
    coding.add_argument("--half", default=HALVES[0], choices=HALVES, help="default: %(default)s")
    coding.add_argument("--lexical", action="store_true", help="by words alone, as without a model")
    coding.add_argument("--cache", type=Path, default=Path(".bench"), help="where embeddings are kept")
    fast = what.add_parser("speed", help="what a stash costs by its size")
    fast.add_argument("sizes", type=int, nargs="*", default=list(SIZES))
    options = parser.parse_args(arguments)
    if options.what == "quality":
        with patch.dict(cast("dict[str, float]", ASIDE), options.aside):
            return _quality(options)
    if options.what == "gate":
        for row in gate(options.transcripts, options.repositories, options.cache, _say):
            print(row, flush=True)
        return 0
    if options.what == "sessions":
        for row in sessions(
            options.transcripts, options.half, options.cache, lexical=options.lexical, say=_say
        ):
            print(row, flush=True)
        return 0
    for row in speed(options.sizes, _say):
        print(row, flush=True)
    print(f"\n{embedding(_say)}")
    return 0


def _quality(options: argparse.Namespace) -> int:
    conversations = read_conversations(options.dir)
    if not conversations:
        workbench(["replay", "--source", "stash", *(["--fresh"] if options.aside else []), str(options.dir)])
    answers = ask(
        conversations, options.systems, options.cache, later=options.later, beside=options.messages, say=_say
    )
    print(report(answers, options.systems, options.against))
    return 0


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
