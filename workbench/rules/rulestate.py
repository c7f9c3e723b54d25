"""How journals and rule files are at a moment, by which what was made of them before is compared."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Final

from workbench.errors import ParseError
from workbench.records.dataclass import dataclass
from workbench.rules.curation.ledger import USAGE_STREAM, read_usage
from workbench.rules.curation.rulestore import OWN, RuleStore
from workbench.rules.curation.ruletype import STREAM
from workbench.rules.reading.discovery import RuleSource, discover, read_source

FORMAT: Final = 19
"""That of a kept rulebook and of the terms in it: it changes with `TERMS_VERSION`, which no hook imports."""


class RuleState:
    """How the journals are at a moment, and each rule file when it is first asked for."""

    def __init__(self, store: RuleStore) -> None:
        self.origins = store.usage_origins
        self.about = f"{store.project_id} {store.home is not None} {' '.join(self.origins)}"
        self._sizes = {origin: journal.size(STREAM) for origin, journal in self.origins.items()}
        used = {origin: journal.size(USAGE_STREAM) for origin, journal in self.origins.items()}
        self.used_until = {origin: size for origin, size in used.items() if size}
        self._lead = f"{FORMAT}\0{store.project_id}\0{store.home}\0"
        self._stamps: dict[str, str] = {}

    def signature(self, sources: Sequence[RuleSource]) -> str:
        """Return a text that differs where rule files or journals do."""
        sizes = "\0".join(f"{origin}\0{size}" for origin, size in self._sizes.items())
        said = (self._lead + self.stamps(sources) + sizes).encode("utf-8", "surrogateescape")
        return hashlib.sha256(said).hexdigest()[:32]

    def stamps(self, sources: Sequence[RuleSource]) -> str:
        """Return a text that differs where rule files do."""
        return "".join(f"{source.path}\0{self._stamp(source)}\0" for source in sources)

    def wrote(self) -> None:
        """Take in that this process wrote: what machines of a team sent meanwhile is not read yet."""
        own = {origin: self.origins[origin].size(STREAM) for origin in OWN}
        self._sizes = {**self._sizes, **own}

    def _stamp(self, source: RuleSource) -> str:
        known = self._stamps.get(source.path)
        if known is None:
            try:
                # By content: an edit within the clock's granularity leaves size and time as they were.
                known = hashlib.blake2b(read_source(source), digest_size=16).hexdigest()
            except (OSError, ParseError) as error:
                known = f"unreadable: {error}"
            self._stamps[source.path] = known
        return known


def find_sources(store: RuleStore, candidates: Sequence[str]) -> tuple[RuleSource, ...]:
    """Return the rule files of a project and its user that are found by themselves."""
    return discover(str(store.root), None if store.home is None else str(store.home), candidates)


@dataclass(frozen=True, slots=True)
class UseCounts:
    """Counts of use between the journals' offsets `since` and `ends`."""

    since: Mapping[str, int] = field(default_factory=dict)
    ends: Mapping[str, int] = field(default_factory=dict)
    counts: Mapping[str, tuple[int, str]] = field(default_factory=dict)


def count_uses(
    state: RuleState, known: UseCounts, since: Mapping[str, int], ends: Mapping[str, int]
) -> UseCounts:
    """Return the counts between two offsets, read from where those known end if they are their beginning."""
    if known.since != since or any(ends.get(origin, 0) < end for origin, end in known.ends.items()):
        known = UseCounts(since, since)
    if known.ends == ends:
        return known
    counts = dict(known.counts)
    for key, (times, last) in read_usage(state.origins, known.ends, ends=ends).items():
        before = counts.get(key, (0, ""))
        counts[key] = before[0] + times, max(before[1], last)
    return UseCounts(since, ends, counts)
