"""`workbench dedup`: which texts repeat or contradict each other, pair by pair or in a whole list."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from workbench.entry.cli.frame import Invocation, command, current
from workbench.entry.cli.inputs import LineCount, format_option, open_input, write_json_line
from workbench.text.counts import plural

if TYPE_CHECKING:
    from workbench.comparison.candidates import TextPair
    from workbench.comparison.lines import PairLine, TextLine
    from workbench.comparison.verdicts import TextJudgement
    from workbench.ports import Embedder

_EXAMPLE = '{"a": "…", "b": "…"}'
_PAINTS = {"conflict": "31", "duplicate": "33", "unique": "2"}
_MEANING = click.option(
    "--meaning/--no-meaning",
    default=False,
    show_default=True,
    help="Compare by embeddings, too: finds a few more paraphrases, at a hundred times the cost.",
)


@command
@click.option(
    "--pairs", required=True, metavar="FILE", help="JSON lines with texts `a` and `b`; - for stdin."
)
@format_option()
@_MEANING
def check(pairs: str, form: str, meaning: bool) -> int:
    """Judge pairs of texts: unique, duplicate or conflict, with a score and the evidence.

    One answer a line, in the order of the lines, as soon as a line is read. A malformed line is answered with
    {"error": …} and a warning on stderr; the others are judged, and the exit code is 1. The order of
    the two texts makes no difference.
    """
    from workbench.comparison.lines import judge_lines, pair_lines

    here = current()
    write = _write_jsonl if form == "jsonl" or here.flags.json else _write_text
    count = LineCount(here, _EXAMPLE)
    with open_input(pairs) as stream:
        for line, judgement in judge_lines(pair_lines(stream), _embedder(here, meaning)):
            count.add(line.number, line.error)
            write(here, line, judgement)
    return count.exit_code()


@command
@click.argument("file", metavar="FILE")
@format_option("One text per line, or JSON lines: a text or an object with `text`.")
@_MEANING
def scan(file: str, form: str, meaning: bool) -> int:
    """Find the groups of texts in FILE (- for stdin) that say the same, and the pairs that contradict.

    Not all pairs are compared: 100,000 texts take minutes.
    """
    from workbench.comparison.candidates import find_duplicates
    from workbench.comparison.lines import embeddable, groups_of, text_lines

    here = current()
    lines: list[TextLine] = []
    count = LineCount(here, _EXAMPLE)
    with open_input(file) as stream:
        for line in text_lines(stream, json_lines=form == "jsonl"):
            count.add(line.number, line.error)
            if not line.error:
                lines.append(line)
    texts = [line.text for line in lines]
    embedder = _embedder(here, meaning)
    vectors = embedder.embed([embeddable(text) for text in texts]) if embedder is not None and texts else None
    with here.out.progress("Comparing") as progress:
        found = find_duplicates(texts, vectors, progress=progress)
    _show(here, lines, groups_of(found), [pair for pair in found if pair.judgement.verdict == "conflict"])
    return count.exit_code()


def _show(
    here: Invocation, lines: list[TextLine], groups: list[list[int]], conflicts: list[TextPair]
) -> None:
    from workbench.comparison.lines import answer

    if here.flags.json:
        here.out.json(
            {
                "texts": len(lines),
                "groups": [[_line_row(lines[at]) for at in group] for group in groups],
                "conflicts": [
                    {
                        "left": _line_row(lines[pair.left]),
                        "right": _line_row(lines[pair.right]),
                        **answer(pair.judgement),
                    }
                    for pair in conflicts
                ],
            }
        )
        return
    out = here.out
    for group in groups:
        out.paint(out.style(f"same  {len(group)} texts", _PAINTS["duplicate"]))
        for at in group:
            out.paint(
                f"  {out.style(f'{lines[at].number:>6}', '2')}  {out.style(_line(lines[at].text), '0')}"
            )
    for pair in conflicts:
        why = pair.judgement.evidence[0].detail
        out.paint(f"{out.style('conflict', _PAINTS['conflict'])}  {pair.judgement.score:.2f}  {_line(why)}")
        for at in (pair.left, pair.right):
            out.paint(
                f"  {out.style(f'{lines[at].number:>6}', '2')}  {out.style(_line(lines[at].text), '0')}"
            )
    extra = sum(len(group) - 1 for group in groups)
    out.say(
        f"{plural(len(lines), 'text')}: {plural(extra, 'repetition')} in {plural(len(groups), 'group')}, "
        f"{plural(len(conflicts), 'contradiction')}"
    )


def _line_row(line: TextLine) -> dict[str, object]:
    return {"line": line.number, "text": line.text}


def _line(text: str) -> str:
    shown = " ".join(text.split())
    return shown if len(shown) <= 160 else shown[:159] + "…"


def _embedder(here: Invocation, meaning: bool) -> Embedder | None:
    """Return the embedder with its cache if it is wanted and ready; warn about what is missing."""
    if not meaning:
        return None
    from workbench.entry.project import cached_embedder

    embedder, missing = cached_embedder(here.settings().config)
    if embedder is None:
        here.out.warn(f"compared by words alone: {missing or 'there is no embedding model'}")
    return embedder


def _write_jsonl(here: Invocation, line: PairLine, judgement: TextJudgement | None) -> None:
    from workbench.comparison.lines import answer

    said = {"error": f"line {line.number}: {line.error}"} if judgement is None else answer(judgement)
    write_json_line(said)


def _write_text(here: Invocation, line: PairLine, judgement: TextJudgement | None) -> None:
    out = here.out
    if judgement is None:
        out.paint(f"{out.style('error', '31'):<9}        line {line.number}: {line.error}")
        return
    verdict = judgement.verdict.value
    out.paint(
        f"{out.style(f'{verdict:<9}', _PAINTS[verdict])}  {judgement.score:.2f}  "
        f"{out.style('; '.join(_line(f'{item.test}: {item.detail}') for item in judgement.evidence), '0')}"
    )
