"""How well instructions hidden in texts are found: `python -m bench.injection DATA DOCS [--fit]`.

DATA holds `injection/texts.jsonl` {text, label, source} and `rules/`; DOCS is a folder of ordinary prose
(Markdown and reStructuredText of public repositories). Instructions are spliced into passages of DOCS and
into code answers of DATA at the start, the middle and the end. All is split by hash in a fit and a test half,
and passages and instructions of a half never meet those of the other; each kind of instruction is also left
out of the fit once. `--fit` writes the weights. The baseline is a list of keywords.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bench.injection_cases import KINDS
from bench.redaction import share
from workbench.text.injection import (
    InjectionModel,
    find_hidden,
    find_phrases,
    has_phrase,
    load_model,
    scan,
    score_sentences,
)
from workbench.text.injection_features import NAMES, split_sentences, table

Float64 = NDArray[np.float64]
BASELINE: Final = re.compile(
    r"ignore (?:all |the )?(?:previous|above)|disregard|system prompt|jailbreak|you are now|override"
    r"|new instructions|your (?:response|reply|answer)",
    re.IGNORECASE,
)
WEIGHTS: Final = Path(__file__).resolve().parents[1] / "workbench/text/data/injection.json"
BULLET: Final = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+(\S.*)$", re.MULTILINE)
PENALTY: Final = 1e-3
FALSE_ALARMS: Final = 0.015  # of benign texts of the fit half
FALSE_FILES: Final = 0.004  # of rule files of the fit half
STEP: Final = 0.1  # by which instructions around a sentence are made to count more against it
MOST_STEPS: Final = 20
PLACES: Final = ("start", "middle", "end")


@dataclass(frozen=True, slots=True)
class Text:
    """A text with `[start, end)` that was spliced in, empty if benign, and what it is reported under."""

    text: str
    group: str
    kind: str = ""
    start: int = 0
    end: int = 0

    @property
    def label(self) -> bool:
        return self.end > self.start


@dataclass(frozen=True, slots=True)
class Half:
    """The texts of one half of the data."""

    texts: tuple[Text, ...]

    def of(self, *, label: bool) -> tuple[Text, ...]:
        """Return those that carry an instruction, or those that do not."""
        return tuple(text for text in self.texts if text.label is label)


def even(text: str) -> bool:
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()[0] % 2 == 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Fit or judge; print tables in Markdown."""
    parser = argparse.ArgumentParser(prog="python -m bench.injection", description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("docs", type=Path)
    parser.add_argument("--fit", action="store_true", help="fit on the fit half and write the weights")
    options = parser.parse_args(arguments)
    fit_half, test_half = (Half(tuple(_half(options.data, options.docs, fit=fit))) for fit in (True, False))
    if options.fit:
        model = fitted(fit_half.texts)
        write(model)
        load_model.cache_clear()
    _report(test_half, load_model())
    _left_out(fit_half, test_half)
    return 0


def _half(data: Path, docs: Path, *, fit: bool) -> Iterator[Text]:
    rows = [
        json.loads(line) for line in (data / "injection/texts.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    answers = [row["text"] for row in rows if "context" in row["source"] and even(row["text"]) is fit]
    passages = [text for text in _passages(docs) if even(text) is fit]
    for row in rows:
        if row["label"] == 0 and even(row["text"]) is fit:
            yield Text(row["text"], f"benign: {row['source']}")
    for text in passages:
        yield Text(text, "benign: passages")
    yield from _rules(data / "rules", fit=fit)
    instructions = [(kind, text) for kind, texts in KINDS.items() for text in texts if even(text) is fit]
    published = [(row["source"].split("-train")[0], row["text"]) for row in rows if row["label"] == 1]
    yield from _spliced(instructions, passages[::3], answers, "spliced: ours", each=24)
    if not fit:  # nobody's published attacks are fitted on
        yield from _spliced(published, passages[1::3], answers, "spliced: published", each=12)
        for kind, text in published:
            yield Text(text, f"alone: {kind}", kind, 0, len(text))


def _spliced(
    instructions: list[tuple[str, str]], passages: list[str], answers: list[str], group: str, each: int
) -> Iterator[Text]:
    """Yield each instruction in `each` carriers, a third of them answers with code, at the places in turn."""
    for number, (kind, text) in enumerate(instructions):
        for turn in range(each):
            at = number * each + turn
            pool = answers if answers and turn % 3 == 0 else passages
            place = PLACES[(at // 3 + at) % 3]
            carrier = pool[at * 7 % len(pool)]
            start, whole = splice(carrier, text, place, " " if turn % 4 == 3 and "```" not in text else "\n")
            yield Text(whole, f"{group}, {place}", kind, start, start + len(text))


def splice(carrier: str, text: str, place: str, joint: str = "\n") -> tuple[int, str]:
    """Return where an instruction is, and the carrier with it at the start, the end, or in the middle."""
    carrier = carrier.strip("\n")
    if place == "start":
        return 0, f"{text}{joint}{carrier}"
    if place == "end":
        joint = "\n" if carrier.endswith("```") else joint
        return len(carrier) + 1, f"{carrier}{joint}{text}"
    breaks = [m.start() for m in re.finditer("\n", carrier) if carrier.count("```", 0, m.start()) % 2 == 0]
    at = breaks[len(breaks) // 2] if breaks else len(carrier)
    joint = "\n" if carrier[:at].endswith("```") else joint
    return at + 1, f"{carrier[:at]}{joint}{text}{carrier[at:]}"


def _passages(docs: Path) -> Iterator[str]:
    """Yield passages of 300 to 2,500 characters, at most 12 of a file."""
    for path in sorted(docs.rglob("*")):
        if (
            path.suffix not in (".md", ".rst")
            or not path.is_file()
            or path.is_symlink()
            or "rules" in path.parts
        ):
            continue
        held: list[str] = []
        found = 0
        for part in path.read_text(encoding="utf-8", errors="replace").split("\n\n"):
            held.append(part)
            size = sum(map(len, held))
            if size > 300 and "\n\n".join(held).count("```") % 2 == 0:
                if size < 2500 and found < 12:
                    found += 1
                    yield "\n\n".join(held)
                held = []


def _rules(folder: Path, *, fit: bool) -> Iterator[Text]:
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        if even(text) is not fit:
            continue
        yield Text(text, "rules: files")
        for match in BULLET.finditer(text):
            yield Text(match[1], "rules: bullets")


def fitted(texts: Sequence[Text]) -> InjectionModel:
    """Return the model of the fit half: logistic over sentences, threshold by benign texts' highest scores.

    Sentences with a phrase of an attack are left out: they are decided without the model.
    """
    rows: list[tuple[float, ...]] = []
    labels: list[bool] = []
    for text in texts:
        cut = split_sentences(text.text)
        kept = [
            (row, text.start <= one.start < text.end)
            for one, row in zip(cut, table(cut), strict=True)
            if not one.is_code and not has_phrase(one.text)
        ]
        for row, label in kept:
            rows.append(row)
            labels.append(label)
    x, y = np.array(rows), np.array(labels, float)
    w = np.where(y > 0, 0.5 * len(y) / y.sum() / 4, 1.0)
    found = _logistic(x, y, w)
    benign = [text for text in texts if not text.label and text.group != "rules: bullets"]
    for step in range(MOST_STEPS):
        found[NAMES.index("instructions around")] -= STEP * bool(step)
        plain = InjectionModel(tuple(round(float(value), 4) for value in found), 1.0)
        model = InjectionModel(plain.weights, _threshold(benign, plain))
        files = [_top(one, model) >= model.threshold for one in benign if one.group == "rules: files"]
        if sum(files) <= FALSE_FILES * len(files):
            break
    return model


def _threshold(benign: Sequence[Text], model: InjectionModel) -> float:
    """Return the least threshold that keeps false alarms low among passages and among look-alikes."""
    passages = sorted((_top(one, model) for one in benign if one.group == "benign: passages"), reverse=True)
    alike = sorted((_top(one, model) for one in benign if "NotInject" in one.group), reverse=True)
    tops = (of[int(len(of) * FALSE_ALARMS)] for of in (passages, alike) if of)
    return round(max(tops) + 1e-4, 4)


def _logistic(x: Float64, y: Float64, w: Float64) -> Float64:
    """Return weights of a penalised logistic regression by Newton's method."""
    found = np.zeros(x.shape[1])
    ridge = PENALTY * w.sum() * np.eye(x.shape[1])
    ridge[0, 0] = 0
    for _ in range(30):
        p = 1 / (1 + np.exp(-np.clip(x @ found, -30, 30)))
        gradient = x.T @ (w * (p - y)) + ridge @ found
        step = np.linalg.solve(
            (x * (w * p * (1 - p))[:, None]).T @ x + ridge + 1e-9 * np.eye(len(found)), gradient
        )
        found = found - step
        if np.abs(step).max() < 1e-6:
            break
    return found


def _top(text: Text, model: InjectionModel) -> float:
    return max((score for _, score in score_sentences(text.text, model)), default=0.0)


def flagged(text: str, model: InjectionModel) -> bool:
    if find_phrases(text) or find_hidden(text):
        return True
    return any(score >= model.threshold for _, score in score_sentences(text, model))


def write(model: InjectionModel) -> None:
    """Write the weights where the program reads them."""
    held = {"weights": dict(zip(NAMES, model.weights, strict=True)), "threshold": model.threshold}
    WEIGHTS.write_text(json.dumps(held, indent=2) + "\n", encoding="utf-8")


def _report(half: Half, model: InjectionModel) -> None:
    print("| texts of the test half | flagged | keywords |\n|---|---|---|")
    groups: dict[str, list[Text]] = {}
    for one in half.texts:
        groups.setdefault(one.group.split(",")[0] if one.label else one.group, []).append(one)
        if one.label:
            groups.setdefault(one.group, []).append(one)
            groups.setdefault(f"{one.group.split(',')[0].split(':')[0]}: kind: {one.kind}", []).append(one)
    answers = {text.text: flagged(text.text, model) for text in half.texts}
    for group in sorted(groups):
        members = groups[group]
        hits = sum(answers[member.text] for member in members)
        base = sum(BASELINE.search(member.text) is not None for member in members)
        print(f"| {group} | {share(hits, len(members))} | {base / len(members):.3f} |")
    size = sum(len(text.text) for text in half.texts)
    started = time.process_time()
    for one in half.texts:
        scan(one.text)
    print(f"\n{1e6 * (time.process_time() - started) / size:.2f} ms a kB\n")


def _left_out(fit_half: Half, test_half: Half) -> None:
    """Print recall on each kind by a model fitted without it."""
    print("| kind left out of the fit | recall on it, test half |\n|---|---|")
    for kind in KINDS:
        model = fitted([text for text in fit_half.texts if text.kind != kind])
        members = [
            text for text in test_half.texts if text.kind == kind and text.group.startswith("spliced: ours")
        ]
        print(f"| {kind} | {share(sum(flagged(member.text, model) for member in members), len(members))} |")


if __name__ == "__main__":
    raise SystemExit(main())
