"""`workbench scan`: which texts carry instructions to an assistant, and which secrets a text holds."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from workbench.beneath import open_plain
from workbench.entry.cli import exits
from workbench.entry.cli.frame import Invocation, command, current
from workbench.entry.cli.inputs import (
    LineCount,
    format_option,
    open_input,
    read_input,
    write_bytes,
    write_json_line,
)
from workbench.entry.cli.output import Progress
from workbench.errors import UsageError
from workbench.text.counts import plural
from workbench.text.sanitize import visible_line

if TYPE_CHECKING:
    from workbench.text.injection import InjectionScan

_NO_TEXT = "no JSON object with a `text`"
_SHOWN = 100  # characters of a finding


@command
@click.option("--texts", required=True, metavar="FILE", help="JSON lines with `text`; - for stdin.")
@format_option()
def injection(texts: str, form: str) -> int:
    """Say of each text whether it carries an instruction to the assistant that reads it, and which one.

    One answer a line, in the order of the lines, as soon as a line is read: {"flagged", "score", "patterns",
    "spans"}, spans in characters. Rules are imperative by nature and are not flagged for it. A malformed line
    is answered with {"error": …} and reported on stderr; the others are answered all the same, and the exit
    code is 1.
    """
    from workbench.text.injection import scan as scanned

    here = current()
    write = _write_jsonl if form == "jsonl" or here.flags.json else _write_text
    count = LineCount(here, '{"text": "…"}')
    with open_input(texts) as stream:
        for number, line in enumerate(stream, 1):
            text = _text_of(line)
            count.add(number, _NO_TEXT if text is None else "")
            write(here, number, text or "", None if text is None else scanned(text))
    return count.exit_code()


@command
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--redact", "redacting", is_flag=True, help="Print the texts with every secret masked.")
def secrets(files: tuple[str, ...], redacting: bool) -> int:
    """List the secrets in files (- for stdin) by kind, line and preview, or print the texts without them.

    No secret is printed: of each the first characters are shown. With `--redact` lines keep their numbers.
    Of a directory all files are scanned that its `.gitignore` does not name, binary ones aside.
    """
    here = current()
    if redacting and (folder := next((name for name in files if Path(name).is_dir()), None)):
        raise UsageError(f"{folder} is a directory", hint="--redact prints the text of files; name them.")
    with here.out.progress("Scanning") as progress:
        (_redact_texts if redacting else _list_findings)(here, _texts(files, progress))
    return exits.OK


def _texts(names: Sequence[str], progress: Progress) -> Iterator[tuple[str, str]]:
    """Yield (name, text) of files, and of the text files in directories."""
    done = 0
    for name in names:
        if name == "-" or not Path(name).is_dir():
            yield name, read_input(name, name).decode("utf-8", "replace")
            continue
        from workbench.project.admission import content_refusal
        from workbench.project.directories import walk_lister

        for path in walk_lister(Path(name))(None).paths:
            done += 1
            progress(done)
            try:
                with open_plain(Path(name) / path) as file:
                    data = file.read()
            except OSError as error:  # one of many: what cannot be read is reported, the others are scanned
                current().out.warn(f"{path} cannot be read: {error.strerror}")
                continue
            if content_refusal(path, data) is None:
                yield path, data.decode("utf-8", "replace")


def _redact_texts(here: Invocation, texts: Iterable[tuple[str, str]]) -> None:
    from workbench.text.redact import redact

    counts: Counter[str] = Counter()
    documents: list[dict[str, object]] = []
    for name, text in texts:
        safe = redact(text)
        counts.update(safe.counts)
        documents.append({"file": name, "text": safe.text, "counts": dict(safe.counts)})
        if not here.flags.json:
            write_bytes(safe.text)
    if here.flags.json:
        here.out.json({"texts": documents, "counts": dict(sorted(counts.items()))})
    here.out.say(_summary(counts))


def _list_findings(here: Invocation, texts: Iterable[tuple[str, str]]) -> None:
    from workbench.text.redact import find_secrets

    counts: Counter[str] = Counter()
    findings: list[dict[str, Any]] = []
    for name, text in texts:
        for secret in find_secrets(text):
            counts[secret.kind] += 1
            preview = _preview(text[secret.start : secret.end])
            place = {"file": name, "line": secret.line, "start": secret.start, "end": secret.end}
            findings.append({"kind": secret.kind, **place, "preview": preview})
    if here.flags.json:
        here.out.json({"findings": findings, "counts": dict(sorted(counts.items()))})
        return
    for finding in findings:
        at = f"{visible_line(finding['file'])}:{finding['line']}"
        here.out.paint(f"{here.out.style(finding['kind'], '33')}  {at}  {visible_line(finding['preview'])}")
    here.out.say(_summary(counts))


def _preview(secret: str) -> str:
    """Return as much of a secret as identifies it: a sixth of it, four characters at most."""
    return secret[: min(4, len(secret) // 6)] + "…"


def _summary(counts: Counter[str]) -> str:
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(counts.items()))
    return f"{plural(counts.total(), 'secret')}{': ' if kinds else ''}{kinds}"


def _text_of(line: bytes) -> str | None:
    try:
        held = json.loads(line)
    except (ValueError, RecursionError):
        return None
    text = held.get("text") if isinstance(held, dict) else None
    return text if isinstance(text, str) else None


def _write_jsonl(here: Invocation, number: int, text: str, found: InjectionScan | None) -> None:
    said: dict[str, object] = {"error": f"line {number}: {_NO_TEXT}"}
    if found is not None:
        spans = [asdict(finding) for finding in found.findings]
        said = {"flagged": found.flagged, "score": found.score, "patterns": found.patterns, "spans": spans}
    write_json_line(said)


def _write_text(here: Invocation, number: int, text: str, found: InjectionScan | None) -> None:
    out = here.out
    if found is None:
        out.paint(f"{out.style('error', '31'):<8} line {number}: {_NO_TEXT}")
        return
    verdict = out.style(f"{'flagged':<8}", "31") if found.flagged else out.style(f"{'clean':<8}", "2")
    out.paint(f"{verdict} {found.score:.2f}  {', '.join(found.patterns)}")
    for one in found.findings:
        out.paint(f"          {one.pattern}: {visible_line(text[one.start : one.end].strip())[:_SHOWN]}")
