"""Orders to the assistant in rule files, and real rules taken for such: `python -m bench.rule_orders DATA`.

DATA holds `rules/`, rule files by others, and `injection/texts.jsonl` {text, label, source}. Each instruction
of `bench.injection_cases` and each of the texts is put between the rules of a file as a paragraph.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from bench.injection_cases import KINDS
from bench.redaction import share
from workbench.rules.reading.construction import is_rule, rule_text
from workbench.rules.reading.units import split_units
from workbench.text.injection import find_orders

_BEFORE, _AFTER = "# Project\n\n- Use tabs.\n\n", "\n\n- Keep functions short.\n"


def main() -> int:
    """Print how many rules of each kind are held back, of those that are read as rules at all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    data: Path = parser.parse_args().data
    files = sorted(path for path in (data / "rules").rglob("*") if path.is_file())
    texts = {path: path.read_text("utf-8", "replace") for path in files}
    print("| rules | held back |\n|---|---|")
    _row(f"of {len(files):,} files by others", [rule for text in texts.values() for rule in _rules(text)])
    for kind, cases in KINDS.items():
        _row(f"ours: {kind}", [rule for case in cases for rule in _added(case)])
    lines = (data / "injection/texts.jsonl").read_text("utf-8").splitlines()
    published = [json.loads(line) for line in lines]
    for label, name in ((0, "published: benign"), (1, "published: injected")):
        _row(name, [rule for one in published if one["label"] == label for rule in _added(one["text"])])
    return 0


def _row(name: str, rules: list[str]) -> None:
    print(f"| {name} | {share(sum(bool(find_orders(rule)) for rule in rules), len(rules))} |")


def _added(text: str) -> Iterator[str]:
    """Yield the rules that a text becomes in a rule file."""
    yield from (rule for rule in _rules(_BEFORE + text + _AFTER) if rule not in _BEFORE + _AFTER)


def _rules(text: str) -> Iterator[str]:
    units, _ = split_units(text.split("\n"))
    yield from (rule_text(unit) for unit in units if is_rule(unit))


if __name__ == "__main__":
    raise SystemExit(main())
