"""Makes segments of what was found in a transcript: with ids that follow from place and text, none twice."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from workbench.records.segments import ContextSegment, SegmentType
from workbench.sessions.importers.touches import absolute
from workbench.stash import outputs
from workbench.text.redact import redact

_SHORTEST: Final = 3  # characters
_AREA: Final = 2  # directories that name a file's area


@dataclass(slots=True)
class TranscriptPlace:
    """Where in a transcript a segment comes from. `anchor` is the record's own id, `agent` a sub-agent's."""

    session: str = ""
    branch: str = ""
    cwd: str = ""
    agent: str = ""
    anchor: str = ""
    at: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class SegmentDraft:
    """A segment before it has an id. `anchor` is the id of the call it comes from, if it is of one.

    `source` is a path or an address, empty for the place in the transcript; `at` the time, if it is not that
    of the place. Facts that are empty are left out.
    """

    type: SegmentType
    text: str
    anchor: str = ""
    source: str = ""
    references: tuple[str, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    at: str = ""


@dataclass(slots=True)
class SegmentMaker:
    """Makes the segments of one transcript of the format `source`.

    Times that are not recorded are `fallback_at`. `seen` holds digests of the contents that were there
    before, None to take everything as often as it comes; `left_out` counts what is no segment, by reason,
    and `masked` secrets, by kind.
    """

    source: str
    fallback_at: str
    seen: set[bytes] | None
    left_out: Counter[str]
    masked: Counter[str]
    here: TranscriptPlace = field(default_factory=TranscriptPlace)

    def parts(self, draft: SegmentDraft, first_line: int = 0) -> Iterator[ContextSegment]:
        """Yield a text in one segment or, if it is long, in parts that each refer to the one before.

        With `first_line` the lines of each part are noted.
        """
        parts = outputs.split_parts(draft.text)
        before: tuple[str, ...] = ()
        for number, (part, line) in enumerate(parts, 1):
            facts = dict(draft.facts)
            if len(parts) > 1:
                facts["part"] = f"{number}/{len(parts)}"
            if first_line:
                start = first_line + line - 1
                facts["lines"] = f"{start}-{start + part.count(chr(10))}"
            own = replace(draft, text=part, facts=facts, references=(*draft.references, *before))
            for one in self.one(own):
                before = (one.segment_id,)
                yield one

    def one(self, draft: SegmentDraft, key: str = "") -> Iterator[ContextSegment]:
        """Yield the segment of a draft, unless it is empty or its content was there before.

        `key` is the content that is compared, if it is not the whole text.
        """
        here = self.here
        safe = redact(outputs.sound_text(draft.text))
        if len(safe.text.strip()) < _SHORTEST:
            self.left_out[outputs.EMPTY] += 1
            return
        if self.is_repeated(key or safe.text, draft.type, draft.source):
            self.left_out[outputs.REPEATED] += 1
            return
        self.masked.update(safe.counts)
        place = f"{self.source}:{here.session}{'/' + here.agent if here.agent else ''}#{here.line}"
        anchor = draft.anchor or here.anchor or (f"{here.session}@{here.at}" if here.at else place)
        facts = dict(draft.facts)
        if draft.source:
            facts["place"] = place
        facts["agent"] = here.agent
        yield ContextSegment(
            segment_id=f"seg-{_digest(draft.type, anchor, safe.text).hex()[:20]}",
            session_id=here.session,
            text=safe.text,
            type=draft.type,
            timestamp=draft.at or here.at or self.fallback_at,
            topic=self._topic(draft.source),
            source=redact(draft.source).text or place,
            references=tuple(dict.fromkeys(filter(None, draft.references))),
            metadata={name: redact(value).text for name, value in facts.items() if value},
        )

    def relative(self, path: str) -> str:
        """Return a path relative to where the session works, if it is below it."""
        cwd = self.here.cwd
        path = absolute(path, cwd)
        return path.removeprefix(f"{cwd.rstrip('/')}/") if cwd.strip("/") else path

    def is_repeated(self, words: str, kind: str, source: str = "") -> bool:
        """Whether a content of the session was there before, as of this kind and source; now it was."""
        if self.seen is None:
            return False
        digest = _digest(kind, self.here.session, source, " ".join(words.split()))[:12]
        known = digest in self.seen
        self.seen.add(digest)
        return known

    def _topic(self, path: str) -> str | None:
        """Return the feature branch, else the directory of a project's file, None if neither is plain."""
        if not outputs.FORMS["feature_less"].match(self.here.branch):
            return redact(self.here.branch).text
        if path and "://" not in path and not path.startswith(("/", "~")) and "/" in path:
            return redact("/".join(path.split("/")[:-1][:_AREA])).text
        return None


def _digest(*parts: str) -> bytes:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).digest()
