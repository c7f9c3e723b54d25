"""How many secrets are found, and how much else: `python -m bench.redaction [FOLDER...] [--rounds N]`.

Recall is over every format of `bench.secret_formats` in every context, with random values; the generic part
(places and names) also answers alone, for the third of the formats it was not designed on. Each FOLDER
of ordinary files is read for over-redaction: the share of lines with anything taken out, dummy passwords of
tests included. The baseline is a short list of prefixes, as scanners of commits have one.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Final

from bench.secret_formats import BLOCKS, NAMED, Leak, is_held_out, leaks
from workbench.text.redact import find_secrets, of_names, redact, replace_spans

BASELINE: Final = re.compile(
    r"(?:AKIA|ASIA)[0-9A-Z]{16}|gh[opsur]_\w{20,}|xox[bp]-[\w-]{10,}|AIza[\w-]{35}|sk_live_\w+"
    r"|-----BEGIN [A-Z ]*KEY"
    r"|(?i:password|secret|token)\s*[=:]\s*[\"'][^\"']{8,}"
)
GO_TEXT: Final = re.compile(r"`([^`]*)`|\"(?:[^\"\\\n]|\\.)*\"|//[^\n]*")
SEED: Final = 6
LARGEST: Final = 20_000_000  # bytes


def main(arguments: Sequence[str] | None = None) -> int:
    """Print recall by context and over-redaction by folder, in Markdown."""
    parser = argparse.ArgumentParser(prog="python -m bench.redaction", description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, help="folders of ordinary files")
    parser.add_argument("--rounds", type=int, default=4, help="values a format and context (default: 4)")
    parser.add_argument("--examples", type=Path, help="rules of Nosey Parker (*.yml) or of gitleaks (*.go)")
    options = parser.parse_args(arguments)
    _recall(list(leaks(SEED, options.rounds)))
    if options.examples:
        _published(published_examples(options.examples))
    for line in over_redaction(options.folders):
        print(line)
    return 0


def wilson(hits: int, total: int) -> tuple[float, float]:
    """Return the 95 % interval of a share (Wilson 1927)."""
    if not total:
        return 0.0, 1.0
    z, share = 1.96, hits / total
    middle = (share + z * z / (2 * total)) / (1 + z * z / total)
    half = z * (share * (1 - share) / total + z * z / (4 * total * total)) ** 0.5 / (1 + z * z / total)
    return max(0.0, middle - half), min(1.0, middle + half)


def share(hits: int, total: int) -> str:
    """Return `0.987 [0.981, 0.991] of 1,234`."""
    low, high = wilson(hits, total)
    return f"{hits / max(1, total):.4f} [{low:.4f}, {high:.4f}] of {total:,}"


def survives(leak: Leak, text: str) -> bool:
    """Whether any part of a secret is still in a text."""
    return any(part in text for part in leak.parts)


def _recall(found: list[Leak]) -> None:
    named = {context for context, _ in NAMED}
    print("| secrets | recall |\n|---|---|")
    missed = [leak for leak in found if survives(leak, redact(leak.text).text)]
    _row("all", len(found) - len(missed), len(found))
    held = [leak for leak in found if is_held_out(leak.format) and leak.context in named]
    alone = sum(not survives(leak, generic(leak.text)) for leak in held)
    _row("held-out formats, generic part alone", alone, len(held))
    groups = (("beside a name", named), ("of no format, in a place of secrets", {"of no format"}))
    for title, members in groups:
        _group(title, [leak for leak in found if leak.context in members or leak.format in members], missed)
    blocks = {name for name, _ in BLOCKS}
    _group("private keys over lines", [leak for leak in found if leak.format in blocks], missed)
    _row("baseline: a list of prefixes", sum(1 for leak in found if BASELINE.search(leak.text)), len(found))
    print(f"\nMissed most: {Counter((leak.format, leak.context) for leak in missed).most_common(8)}\n")


def published_examples(folder: Path) -> Iterator[tuple[str, str, re.Pattern[str] | None]]:
    """Yield (name of the rule, example, its pattern if Python knows it) of rules that are about secrets."""
    for path in sorted(folder.glob("*.go")):
        yield from ((path.stem, text, None) for text in go_examples(path.read_text(encoding="utf-8")))
    yaml = import_module("yaml")  # of other packages of this environment
    for path in sorted(folder.glob("*.yml")):
        for rule in yaml.safe_load(path.read_text(encoding="utf-8"))["rules"]:
            try:
                pattern = re.compile(rule["pattern"])
            except re.error:
                pattern = None
            if "secret" in rule.get("categories", ()):
                yield from ((rule["name"], text, pattern) for text in rule.get("examples", ()))


def go_examples(source: str) -> Iterator[str]:
    """Yield the texts in the lists `tps` of Go: those written out, not those that are put together."""
    for start in re.finditer(r"\btps\s*:?=\s*\[\]string\{", source):
        at, depth = start.end(), 1
        while depth and at < len(source):
            if match := GO_TEXT.match(source, at):
                before = source[source.rfind("\n", 0, at) + 1 : at]
                alone = not re.search(r"//|\(|\+\s*$", before) and not re.match(
                    r"\s*\+", source[match.end() :]
                )
                if alone and match[0] and not match[0].startswith("//"):
                    yield match[1] if match[1] is not None else str(json.loads(match[0]))
                at = match.end()
                continue
            depth += {"{": 1, "}": -1}.get(source[at], 0)
            at += 1


def _published(examples: Iterable[tuple[str, str, re.Pattern[str] | None]]) -> None:
    """Print how many examples are masked where the pattern looks, and what of the others is left."""
    missed = []
    total = 0
    for name, text, pattern in examples:
        total += 1
        after = redact(text).text
        before, left = (pattern.search(text), pattern.search(after)) if pattern else (None, None)
        if after == text or (before and left and before.groups() == left.groups() != ()):
            missed.append((name, text))
    _row("published examples of a scanner", total - len(missed), total)
    for name, text in missed:
        print(f"- {name}: {text!r:.160}")


def generic(text: str) -> str:
    """Return a text with only those secrets taken out that a name or a place announces."""
    data = text.encode()
    return replace_spans(data, of_names(data)).decode()


def _group(title: str, members: Iterable[Leak], missed: list[Leak]) -> None:
    total = list(members)
    _row(title, len(total) - sum(leak in missed for leak in total), len(total))


def _row(title: str, hits: int, total: int) -> None:
    print(f"| {title} | {share(hits, total)} |")


def over_redaction(folders: Sequence[Path]) -> Iterator[str]:
    """Yield the lines of a table: of each folder the share of lines that lose something, and MB/s."""
    if not folders:
        return
    yield "| folder | lines | redacted | share | MB/s |\n|---|---|---|---|---|"
    lines = hits = 0
    for folder in folders:
        of_folder, lost, size, seconds = _read(folder)
        lines, hits = lines + of_folder, hits + lost
        rate = size / 1e6 / max(seconds, 1e-9)
        yield f"| {folder.name} | {of_folder:,} | {lost:,} | {lost / max(1, of_folder):.3%} | {rate:.0f} |"
    low, high = wilson(hits, lines)
    yield f"| all | {lines:,} | {hits:,} | {hits / max(1, lines):.3%} [{low:.3%}, {high:.3%}] | |"


def _read(folder: Path) -> tuple[int, int, int, float]:
    lines = lost = size = 0
    seconds = 0.0
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.is_symlink() or path.stat().st_size > LARGEST:
            continue
        data = path.read_bytes()
        if b"\0" in data:
            continue
        text = data.decode("utf-8", "replace")
        started = time.process_time()
        secrets = find_secrets(text)
        seconds += time.process_time() - started
        size += len(data)
        lines += text.count("\n") + 1
        lost += len(
            {
                line
                for one in secrets
                for line in range(one.line, one.line + 1 + text.count("\n", one.start, one.end))
            }
        )
    return lines, lost, size, seconds


if __name__ == "__main__":
    raise SystemExit(main())
