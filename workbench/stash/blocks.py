"""What of a text is a segment of its own: code in a turn, errors in an output, decisions in either."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from workbench.memory.extraction.decisions import decision_items, is_decision, sentences, with_reason
from workbench.memory.extraction.patterns import FoundError, strip_escapes
from workbench.text.expressions import read_expressions

_DECISIONS: Final = read_expressions(__package__, "decisions.toml")
_SHORTEST_DECISION: Final = 24  # characters
SHORTEST_CODE: Final = 3  # lines
FOLDED_CODE: Final = 16  # lines from which on a turn does not repeat its code
_SHOWN_CODE: Final = 4
MOST_ERRORS: Final = 12  # of one output
MOST_STACK: Final = 160  # lines of an error
_ABOVE: Final = 2
_CAUSE: Final = 25  # characters of a message that names a cause and not only a value
_NAMED: Final = 12  # places of the same error

_FENCE = re.compile(r"^(?P<mark>[ \t]*(?:```++|~~~++))[ \t]*+(?P<language>[\w+#.-]*+)[^\n]*\n", re.MULTILINE)
_PROSE = frozenset({"markdown", "md", "text", "txt", "plain", "plaintext", ""})
_DRAWN = re.compile(r"[┌┐└┘├┤─│╔╗╚╝═║→←▼▲]")
_MORE = re.compile(r"[ \t]|$|[|^]|Caused by|During handling|The above exception|error: |E  |> ")
_WORD = re.compile(r"\w{2}")
_FIXES = ("fixed by", "the fix", "fix:", "a better", "the better", "a simpler", "the simpler")
_FURTHER = re.compile(r"(?:because|since|this|that|it|so|otherwise|the reason|which)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """Code between fences: its language as it was named, and its first line in the text, from 1."""

    text: str
    language: str
    line: int


def split_code(text: str) -> tuple[str, list[CodeBlock]]:
    """Return a turn with its long code blocks folded, and the blocks worth a segment of their own.

    Prose and drawings between fences stay where they are.
    """
    if "```" not in text and "~~~" not in text:
        return text, []
    kept: list[str] = []
    blocks: list[CodeBlock] = []
    at = 0
    while (opening := _FENCE.search(text, at)) is not None:
        mark = opening["mark"]
        closing = re.compile(rf"^{re.escape(mark)}[ \t]*$", re.MULTILINE).search(text, opening.end())
        end = len(text) if closing is None else closing.end()
        code = text[opening.end() : len(text) if closing is None else closing.start()].rstrip("\n")
        lines = code.split("\n")
        kept.append(text[at : opening.start()])
        language = opening["language"].casefold()
        if len(lines) < SHORTEST_CODE or (language in _PROSE and _is_prose(lines)):
            kept.append(text[opening.start() : end])
        else:
            blocks.append(CodeBlock(code, language, text.count("\n", 0, opening.end()) + 1))
            folded = [*lines[:_SHOWN_CODE], f"[{len(lines) - _SHOWN_CODE} more lines of code]", mark.strip()]
            whole = text[opening.start() : end]
            kept.append(opening[0] + "\n".join(folded) if len(lines) > FOLDED_CODE else whole)
        at = end
    return "".join((*kept, text[at:])), blocks


def _is_prose(lines: Sequence[str]) -> bool:
    """Whether what is between fences is no code: a drawing, or lines that read like sentences."""
    written = [line.strip() for line in lines if line.strip()]
    drawn = sum(_DRAWN.search(line) is not None for line in written)
    said = sum(len(line.split()) > 5 and line[-1:] not in "{};,()[]:" for line in written)
    return drawn * 3 > len(written) or said * 2 > len(written)


@dataclass(frozen=True, slots=True)
class ErrorBlock:
    """An error with its stack, as lines of an output, and the errors found in it."""

    text: str
    found: tuple[FoundError, ...]


def error_blocks(text: str, found: Sequence[FoundError]) -> list[ErrorBlock]:
    """Return the errors of an output with what belongs to them, those on the same lines together.

    Where several have the same cause the first is returned and names the places of the others. `found` are
    places in the text without escape sequences.
    """
    lines = strip_escapes(text).split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    spans: list[tuple[int, int, list[FoundError]]] = []
    for one in sorted(found, key=lambda one: (one.start, one.end)):
        first, last = _line_at(starts, one.start), _line_at(starts, max(one.end - 1, one.start))
        if spans and first <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(last, spans[-1][1]), [*spans[-1][2], one])
        else:
            spans.append((first, last, [one]))
    blocks: dict[str, ErrorBlock] = {}
    others: dict[str, list[str]] = {}
    for place, (first, last, errors) in enumerate(spans):
        next_first = spans[place + 1][0] if place + 1 < len(spans) else len(lines)
        end = _end_of_stack(lines, first, last, next_first)
        cause = errors[0].message.rpartition(": ")[2]
        key = cause if len(cause) >= _CAUSE else f"{place}"
        if key in blocks:
            others[key].append(next((f"{path}:{line}" for path, line in errors[0].places), errors[0].message))
            continue
        above = (
            [line for line in lines[max(first - _ABOVE, 0) : first] if _WORD.search(line)]
            if not place
            else []
        )
        blocks[key] = ErrorBlock("\n".join((*above, *lines[first:end])).rstrip(), tuple(errors))
        others[key] = []
    return [_with_others(block, others[key]) for key, block in blocks.items()]


def _end_of_stack(lines: Sequence[str], first: int, last: int, limit: int) -> int:
    """Return the line behind what belongs to an error: what is indented more than its first line."""
    indent = _indent(lines[first])
    end = last + 1
    while end < min(limit, first + MOST_STACK):
        line = lines[end]
        if line.strip() and (not _MORE.match(line) or (indent and _indent(line) <= indent)):
            break
        end += 1
    return min(end, limit)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _with_others(block: ErrorBlock, places: Sequence[str]) -> ErrorBlock:
    if not places:
        return block
    shown = ", ".join(places[:_NAMED]) + (", …" if len(places) > _NAMED else "")
    return replace(block, text=f"{block.text}\n[the same {len(places)} more times: {shown}]")


def _line_at(starts: Sequence[int], place: int) -> int:
    return min(bisect_right(starts, place), len(starts) - 1) - 1


@dataclass(frozen=True, slots=True)
class StatedDecision:
    """A decision in the words in which it was said, with the reason where one was given."""

    text: str
    reason: str


def stated_decisions(text: str, *, by_user: bool = False) -> Iterator[StatedDecision]:
    """Yield what a text says was decided, each once: the sentence, and the next where it gives the reason.

    What is listed under a heading such as "Key decisions" counts as well, and of the user's own words what
    they ask for with a reason.
    """
    seen: set[str] = set()
    said = list(sentences(text, shortest=2))
    for place, sentence in enumerate(said):
        if len(sentence) < _SHORTEST_DECISION or sentence in seen or not _decides(sentence, by_user):
            continue
        seen.add(sentence)
        entry = with_reason(sentence)
        following = said[place + 1] if place + 1 < len(said) else ""
        if place and sentence.casefold().startswith(_FIXES):  # what was fixed is said before
            sentence = f"{said[place - 1]} {sentence}"
        if entry.rationale is None and _FURTHER.match(following) and not is_decision(following):
            yield StatedDecision(f"{sentence} {following}", following)
        else:
            yield StatedDecision(sentence, entry.rationale or "")
    for item in decision_items(text):
        if len(item) >= _SHORTEST_DECISION and item not in seen:
            seen.add(item)
            yield StatedDecision(item, with_reason(item).rationale or "")


def _decides(sentence: str, by_user: bool) -> bool:
    if _DECISIONS["none"].search(sentence):
        return False
    if is_decision(sentence) or _DECISIONS["stated"].search(sentence):
        return True
    return by_user and _DECISIONS["asked"].search(sentence) is not None
