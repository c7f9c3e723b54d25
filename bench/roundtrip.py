"""Real rule files there and back: `python -m bench.roundtrip DATA [--edits 12] [--seed 1]`.

DATA is a folder of rule files of any format. Each is imported, written without edits, and edited at random
places (a word changed, a rule deleted, one added). An edit counts when the file differs in that rule's lines
only and a second import gives the expected rules; the check here is independent of the one inside the editor.
Most rules of a file are also changed at once, where what can't be made must not hinder the rest. Then all
rules are exported to every target at once, imported from there and exported again.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from workbench.errors import ParseError
from workbench.records.rules import Rule
from workbench.rules.files.edits import EditResult, edit_file, try_edits, undo_edits
from workbench.rules.files.export import export_files
from workbench.rules.files.named import detect_format
from workbench.rules.files.placement import TARGETS, reach_of
from workbench.rules.files.unit_edits import Delete, Edit, Insert, Replace
from workbench.rules.formats.families import family_of
from workbench.rules.formats.managed import managed_text
from workbench.rules.reading.discovery import RuleSource
from workbench.rules.reading.imports import import_rules
from workbench.text.instructions import VERBS

WORDING = re.compile(
    r"must|should|shall|never|always|only|without|avoid|instead|rather|over|every|each|required|when|with|"
    r"need|have|please|before|after|least|most|live|belong|where|prefer|forbidden|allowed|than"
)
NEW = "Never merge a change without a second pair of eyes."
KINDS = ("replace", "delete", "insert")
MANY = "all at once"


@dataclass
class Tally:
    """How many edits of a kind were tried, were made well, were refused with a reason, and went wrong."""

    tried: int = 0
    well: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def rules_of(data: bytes, path: str) -> tuple[Rule, ...]:
    """Return the rules an import of one file gives."""
    source = RuleSource(path, detect_format(path, data), path)
    return import_rules([source], lambda _: data).rules


def edits_of(
    rules: Sequence[Rule], kind: str, count: int, chance: random.Random
) -> Iterator[tuple[int, Edit]]:
    """Yield (index of the rule, edit) for randomly drawn rules of a file."""
    for index in sorted(chance.sample(range(len(rules)), min(count, len(rules)))):
        where = rules[index].provenance
        if where is None:
            continue
        if kind == "replace":
            text = reworded(rules[index], chance)
            if text:
                yield index, Replace(where.line, where.end_line, text)
        elif kind == "delete":
            yield index, Delete(where.line, where.end_line)
        else:
            yield index, Insert(NEW, where.end_line)


def reworded(rule: Rule, chance: random.Random) -> str:
    """Return a rule's text with one word written differently that makes it no other kind of sentence.

    Words of the introduction that an import put before the text, the heads of table columns and the words
    that make an instruction (verbs, "must", "never") stay as they are. Empty if nothing else is there.
    """
    text = rule.rule
    start = max(12, text.find(": ") + 2)
    words = [
        match
        for match in re.finditer(r"(?<![\w`/.-])[a-z]{4,}(?![\w`/.-])", text)
        if match.start() >= start and not WORDING.search(match[0]) and match[0] not in VERBS
    ]
    if not words:
        return ""
    word = chance.choice(words)
    return text[: word.start()] + word[0] + "ish" + text[word.end() :]


def check(before: bytes, path: str, rules: Sequence[Rule], index: int, edit: Edit, result: EditResult) -> str:
    """Return what is wrong with an edited file, '' if nothing is."""
    texts = [" ".join(rule.rule.split()) for rule in rules]
    again = rules_of(result.data, path)
    if isinstance(edit, Replace):
        texts[index] = " ".join(edit.text.split())
    elif isinstance(edit, Delete):
        del texts[index]
    else:
        place = result.placed[0] or (0, 0)
        at = [rule.provenance.line for rule in again if rule.provenance].index(place[0])
        texts.insert(at, NEW)
    for change in result.changed:
        if change.before:
            texts.remove(" ".join(change.before.split()))
        if change.after:
            texts.append(" ".join(change.after.split()))
    if sorted(texts) != sorted(" ".join(rule.rule.split()) for rule in again):
        return "the second import differs"
    if undo_edits(result.data, result.undo) != before:
        return "undo differs"
    if other_lines(before, edit, result.data):
        return "other lines changed"
    return ""


def edit_many(data: bytes, path: str, rules: Sequence[Rule], chance: random.Random, tally: Tally) -> None:
    """Reword half of a file's rules, delete a fifth and add a tenth in one go."""
    edits: list[tuple[Rule, Edit]] = []
    for rule in rules:
        where, draw = rule.provenance, chance.random()
        if where is None:
            continue
        text = reworded(rule, chance) if draw < 0.5 else ""
        if text:
            edits.append((rule, Replace(where.line, where.end_line, text)))
        elif 0.5 <= draw < 0.7:
            edits.append((rule, Delete(where.line, where.end_line)))
        elif 0.7 <= draw < 0.8:
            edits.append((rule, Insert(NEW, where.end_line)))
    result = try_edits(data, [edit for _, edit in edits])
    wanted = Counter(" ".join(rule.rule.split()) for rule in rules)
    refused = {one.at for one in result.refused}
    for at, (rule, edit) in enumerate(edits):
        if at not in refused and not isinstance(edit, Insert):
            wanted[" ".join(rule.rule.split())] -= 1
        if at not in refused and not isinstance(edit, Delete):
            wanted[" ".join(edit.text.split())] += 1
    for change in result.changed:
        if change.before:
            wanted[" ".join(change.before.split())] -= 1
        if change.after:
            wanted[" ".join(change.after.split())] += 1
    tally.tried += len(edits)
    tally.refused.update(re.sub(r"'.*'|\d+|\".*\"", "…", one.reason) for one in result.refused)
    after = Counter(" ".join(rule.rule.split()) for rule in rules_of(result.data, path))
    if +wanted == after and undo_edits(result.data, result.undo) == data:
        tally.well += len(edits) - len(refused)
    else:
        tally.wrong.append(f"{path}: {MANY}")


def other_lines(before: bytes, edit: Edit, after: bytes) -> bool:
    """Whether a line outside of the edited ones changed, blank lines aside."""
    old, new = before.split(b"\n"), after.split(b"\n")
    if isinstance(edit, Insert):
        kept, grown = [line for line in old if line.strip()], iter(line for line in new if line.strip())
        return not all(any(line == other for other in grown) for line in kept)
    head = old[: edit.line - 1]
    tail = [line for line in old[edit.end_line :] if line.strip()]
    now = [line for line in new[len(head) :] if line.strip()]
    while head and not head[-1].strip():
        head.pop()
    return new[: len(head)] != head or (now[len(now) - len(tail) :] != tail)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the round trips and print a table in Markdown."""
    parser = argparse.ArgumentParser(prog="python -m bench.roundtrip", description=__doc__)
    parser.add_argument("data", type=Path, help="folder of rule files")
    parser.add_argument("--edits", type=int, default=12, help="edits of each kind and file (default: 12)")
    parser.add_argument("--seed", type=int, default=1, help="of the random draws (default: 1)")
    parser.add_argument("--list", action="store_true", help="list every edit that was refused or went wrong")
    options = parser.parse_args(arguments)
    chance = random.Random(options.seed)
    tallies = {kind: Tally() for kind in (*KINDS, MANY)}
    files = sorted(path for path in options.data.rglob("*") if path.is_file())
    same = rules_found = 0
    everything: dict[str, Rule] = {}
    for number, file in enumerate(files):
        if sys.stderr.isatty():
            print(f"\r{number + 1}/{len(files)}", end="", file=sys.stderr)
        data, path = file.read_bytes(), file.relative_to(options.data).as_posix()
        rules = rules_of(data, path)
        rules_found += len(rules)
        everything |= {rule.id: rule for rule in rules}
        unchanged = edit_file(data, ()).data == data and same_texts(data, rules)
        same += unchanged
        if options.list and not unchanged:
            print(f"{path}: differs without edits", file=sys.stderr)
        for kind in KINDS:
            for index, edit in edits_of(rules, kind, options.edits, chance):
                tally = tallies[kind]
                tally.tried += 1
                try:
                    result = edit_file(data, [edit], path=path)
                except ParseError as error:
                    tally.refused[re.sub(r"'.*'|\d+|\".*\"", "…", error.message)] += 1
                    if options.list:
                        print(f"{path}:{error.line}: {kind} refused: {error.message}", file=sys.stderr)
                    continue
                wrong = check(data, path, rules, index, edit, result)
                tally.well += not wrong
                if wrong:
                    tally.wrong.append(f"{path}:{edit.line}: {kind}: {wrong}")
        edit_many(data, path, rules, chance, tallies[MANY])
    report(len(files), same, rules_found, tallies)
    exports = {target: exports_of(list(everything.values()), target) for target in sorted(TARGETS)}
    print("\n| export to | files | rules | read back the same | second export same |\n|---|---|---|---|---|")
    for target, found in exports.items():
        print(
            f"| {target} | {found.files} | {found.rules} | {found.well} | {'yes' if found.same else 'no'} |"
        )
    good = same == len(files) and not any(tally.wrong for tally in tallies.values())
    return 0 if good and all(found.same and found.well == found.rules for found in exports.values()) else 1


@dataclass(frozen=True, slots=True)
class Exported:
    """An export of all rules: files written, different rules in it, how many read back, if it repeats."""

    files: int
    rules: int
    well: int
    same: bool


def exports_of(rules: Sequence[Rule], target: str) -> Exported:
    """Export rules to an empty project, import what was written and export once more."""
    files = {file.path: file.data for file in export_files(rules, target, {}) if file.data is not None}
    sources = []
    for path in files:
        found = family_of(path)
        name, directory = (found[0].name, found[1]) if found else ("plain", "")
        sources.append(RuleSource(path, name, path, directory))
    again = import_rules(sources, lambda source: files[source.path]).rules
    wanted, read = set(map(meaning, rules)), set(map(meaning, again))
    anchors: dict[str, list[tuple[str, int, int]]] = {}
    for rule in again:
        if (where := rule.provenance) is not None:
            anchors.setdefault(where.file, []).append((rule.id, where.line, where.end_line))
    same = not any(file.changed for file in export_files(rules, target, files))
    same = same and not any(file.changed for file in export_files(again, target, files, anchors=anchors))
    return Exported(len(files), len(wanted), len(wanted & read) - len(read - wanted), same)


def meaning(rule: Rule) -> tuple[str, str, str, tuple[str, ...]]:
    """Return what an export has to keep of a rule: words, authority, when it applies."""
    reach = reach_of(rule)
    return managed_text(rule.rule), rule.authority.value, reach.activation.value, reach.globs


def same_texts(data: bytes, rules: Sequence[Rule]) -> bool:
    """Whether writing every rule as it is leaves the file as it is."""
    edits = [
        Replace(where.line, where.end_line, rule.rule)
        for rule in rules
        if (where := rule.provenance) is not None
    ]
    return edit_file(data, edits).data == data


def report(files: int, same: int, rules: int, tallies: dict[str, Tally]) -> None:
    """Print what was found."""
    print(f"{files} files, {rules} rules; byte-identical without edits: {same} of {files}\n")
    print("| edit | tried | as expected | refused with a reason | wrong |\n|---|---|---|---|---|")
    for kind, tally in tallies.items():
        share = 100 * tally.well / max(1, tally.tried)
        print(
            f"| {kind} | {tally.tried} | {tally.well} ({share:.2f} %) | {tally.refused.total()} |"
            f" {len(tally.wrong)} |"
        )
    for kind, tally in tallies.items():
        for reason, count in tally.refused.most_common():
            print(f"- {kind}: {count} refused: {reason}")
        for line in tally.wrong[:20]:
            print(f"- wrong: {line}")


if __name__ == "__main__":
    sys.exit(main())
