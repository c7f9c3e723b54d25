"""What answers of tools are worth: errors with their stacks, outputs, files, findings, choices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from workbench.memory.extraction.errors import errors_of
from workbench.memory.extraction.patterns import FoundError
from workbench.records.iterations import ErrorType, ToolUseEvent
from workbench.records.segments import ContextSegment, SegmentType
from workbench.sessions.importers.transcripts import ToolUse, text
from workbench.stash import outputs
from workbench.stash.blocks import MOST_ERRORS, error_blocks
from workbench.stash.calls import Purpose, command_of, headline, purpose_of
from workbench.stash.drafts import SegmentDraft, SegmentMaker
from workbench.stash.outputs import FORMS, ToolOutput

USER: Final = "user"
REPORT: Final = "report"
"""What is repeated of a sub-agent's last words: they are its own and the answer to the call that asked."""

_SHORT_ERROR: Final = 8_000  # characters of an output that is one error as a whole
_LOGIC: Final = "mistakes in calls"
_SHOWN_COMMAND: Final = 300
_FILE_TOOLS: Final = frozenset({Purpose.READ, Purpose.WRITE, Purpose.EDIT})


@dataclass(frozen=True, slots=True)
class AnsweredCall:
    """A call: the turn it was made in, and the segments of what it wrote."""

    use: ToolUse
    turn: str
    written: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AnswerSegmenter:
    """Gives the segments of answers, which `make` makes."""

    make: SegmentMaker

    def decision(self, words: str, reference: str, **facts: str) -> Iterator[ContextSegment]:
        """Yield a decision that was made in a turn or a state of the task."""
        yield from self.make.one(
            SegmentDraft(SegmentType.DECISION, words, references=(reference,), facts=facts)
        )

    def segment_choices(self, answer: str, call: AnsweredCall) -> Iterator[ContextSegment]:
        """Yield what the user chose when the agent asked."""
        for question, chosen in FORMS["answer"].findall(answer):
            yield from self.decision(f"{question}\n{chosen}", call.turn, role=USER, question=question[:300])

    def segment_failure(self, out: ToolOutput, call: AnsweredCall) -> Iterator[ContextSegment]:
        """Yield the output of a call that failed, unless the call was a mistake."""
        found = list(errors_of(self._event(out, call, failed=True), self.make.here.cwd))
        purpose = purpose_of(call.use)
        careless = found and all(one.type is ErrorType.LOGIC for one in found)
        if purpose in _FILE_TOOLS or (careless and purpose is not Purpose.SHELL):
            self.make.left_out[_LOGIC] += 1
        elif found:
            yield from self._errors(out, call, found)
        else:
            yield from self._output(out, call)

    def segment_output(self, out: ToolOutput, call: AnsweredCall) -> Iterator[ContextSegment]:
        """Yield the output of a program: as an error if it reports one, else as it is."""
        found = list(errors_of(self._event(out, call, failed=False), self.make.here.cwd))
        if found:
            yield from self._errors(out, call, found)
        else:
            yield from self._output(out, call)

    def _event(self, out: ToolOutput, call: AnsweredCall, *, failed: bool) -> ToolUseEvent:
        return ToolUseEvent(call.use.tool, call.use.input, call.use.id, out.text, failed=failed)

    def _errors(
        self, out: ToolOutput, call: AnsweredCall, found: Sequence[FoundError]
    ) -> Iterator[ContextSegment]:
        """Yield an output with errors: one segment if it is short, else one for each behind the output."""
        facts = self._facts(out, call)
        references = (call.turn, *call.written)
        head = headline(call.use)
        if len(out.text) <= _SHORT_ERROR:
            facts |= _place_of(found, self.make.here.cwd)
            words = f"{head}\n{out.text}"
            draft = SegmentDraft(SegmentType.ERROR_LOG, words, call.use.id, "", references, facts)
            yield from self.make.one(draft, key=out.text)
            return
        parts = list(self._output(out, call))
        yield from parts
        more = (parts[0].segment_id,) if parts else references
        yield from self.error_blocks(out.text, found, facts, more, head)

    def error_blocks(
        self,
        words: str,
        found: Sequence[FoundError],
        facts: Mapping[str, str],
        to: tuple[str, ...],
        head: str,
    ) -> Iterator[ContextSegment]:
        """Yield the errors of an output, each with what belongs to it."""
        for place, block in enumerate(error_blocks(words, found)):
            if place >= MOST_ERRORS:
                self.make.left_out["further errors of one output"] += 1
                continue
            own = {**facts, **_place_of(block.found, self.make.here.cwd)}
            shown = f"{head}\n{block.text}".strip("\n")
            anchor = f"{self.make.here.anchor}!{place}"
            yield from self.make.one(
                SegmentDraft(SegmentType.ERROR_LOG, shown, anchor, "", to, own), key=block.text
            )

    def _output(self, out: ToolOutput, call: AnsweredCall) -> Iterator[ContextSegment]:
        shown, omitted = outputs.shorten(out.text)
        facts = self._facts(out, call) | ({"omitted": str(omitted)} if omitted else {})
        words = f"{headline(call.use)}\n{shown}"
        references = (call.turn, *call.written)
        yield from self.make.one(
            SegmentDraft(SegmentType.DEBUG_OUTPUT, words, call.use.id, "", references, facts)
        )

    def file(self, out: ToolOutput, call: AnsweredCall, path: str) -> Iterator[ContextSegment]:
        """Yield what a file holds, without the line numbers it is shown with."""
        words, first = outputs.without_numbers(out.text)
        facts = {"tool": call.use.tool, "action": "read"}
        source = self.make.relative(path)
        draft = SegmentDraft(SegmentType.FILE_CONTENT, words, call.use.id, source, (call.turn,), facts)
        yield from self.make.parts(draft, first_line=first)

    def research(self, out: ToolOutput, call: AnsweredCall) -> Iterator[ContextSegment]:
        """Yield what a page, a search or a sub-agent says, with what was asked."""
        given = call.use.input
        query = text(given.get("query")) or text(given.get("description"))
        facts = {"tool": call.use.tool, "query": query[:300]}
        helper = purpose_of(call.use) is Purpose.HELPER
        if helper and self.make.is_repeated(out.text, REPORT):
            self.make.left_out[outputs.REPEATED] += 1
            return
        words = out.text if helper or not query else f"{query}\n\n{out.text}"
        source = text(given.get("url"))
        yield from self.make.parts(
            SegmentDraft(SegmentType.RESEARCH, words, call.use.id, source, (call.turn,), facts)
        )

    def _facts(self, out: ToolOutput, call: AnsweredCall) -> dict[str, str]:
        command = command_of(call.use)[:_SHOWN_COMMAND]
        return {"tool": call.use.tool, "command": command, "exit_code": out.exit_code}


def _place_of(found: Sequence[FoundError], cwd: str) -> dict[str, str]:
    """Return the path and the line of the first error that names one."""
    for one in found:
        for path, line in one.places:
            prefix = f"{cwd.rstrip('/')}/" if cwd else ""
            return {
                "path": path.removeprefix(prefix),
                "line": str(line) if line else "",
                "error": one.type.value,
            }
    return {"error": found[0].type.value} if found else {}
