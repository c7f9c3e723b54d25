"""What sessions were given, what their agents loaded by themselves, and the rules they broke, as rows."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Final

import msgspec

from store.projections.bodies import Name, Whole, json_text
from store.projections.rows import Place, Row, insert_rows
from workbench.ports import Entry
from workbench.records.conversion import convert

if TYPE_CHECKING:
    from store.duck import Connection

STREAM: Final = "handovers"

INSERT_HANDOVERS: Final = """
INSERT INTO handovers
SELECT position, session_id, agent, event, "at", "by", files::JSON::MAP(VARCHAR, VARCHAR),
    passages::JSON::VARCHAR[], matched::JSON::VARCHAR[], tokens, why, subagent, variant, seen,
    backed::JSON::VARCHAR[]
FROM staged
"""
INSERT_LOADED: Final = """
INSERT INTO loaded_instructions SELECT position, session_id, agent, file, reason, "at" FROM staged
"""
INSERT_BREACHES: Final = """
INSERT INTO rule_breaches SELECT position, session_id, rule_id, call, decision, "at", "by" FROM staged
ON CONFLICT DO NOTHING
"""
_TYPES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("position", "tokens", "seen"), "int64"),
    "at": "float64",
    "subagent": "bool",
}


class _Given(msgspec.Struct):
    session_id: str = ""
    agent: str = ""
    event: str = ""
    files: dict[str, str] = {}
    passages: list[str] = []
    matched: list[str] = []
    tokens: Whole = 0
    why: str = ""
    subagent: bool = False
    variant: str = ""
    seen: Whole = -1
    backed: list[str] = []


class _Loaded(msgspec.Struct):
    session_id: Name
    file: Name
    agent: str = ""
    reason: str = ""


class _Broken(msgspec.Struct):
    session_id: Name
    rules: list[Name]
    call: str = ""
    decision: str = ""
    at: str = ""


class HandoverProjector:
    """Rows of the tables `handovers`, `loaded_instructions` and `rule_breaches`."""

    kinds = frozenset({"handover.given", "handover.instructions", "handover.lost", "handover.broken"})

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._given: list[Row] = []
        self._loaded: list[Row] = []
        self._broken: dict[tuple[str, str, str], Row] = {}

    @property
    def held(self) -> int:
        """How many rows are held back."""
        return len(self._given) + len(self._loaded) + len(self._broken)

    def take(self, place: Place, offset: int, entry: Entry) -> None:
        """Take an entry. Raises ValueError for a malformed body or time."""
        at = datetime.fromisoformat(entry.at).timestamp()
        del place
        placed = {"position": offset, "at": at}
        if entry.kind == "handover.given":
            given = msgspec.structs.asdict(convert(entry.body, _Given))
            texts = {name: json_text(given[name]) for name in ("files", "passages", "matched", "backed")}
            self._given.append({**given, **texts, **placed, "by": entry.by})
        elif entry.kind == "handover.instructions":
            self._loaded.append({**msgspec.structs.asdict(convert(entry.body, _Loaded)), **placed})
        elif entry.kind == "handover.broken":
            body = convert(entry.body, _Broken)
            call = body.call or f"@{offset}"
            facts = {**placed, "session_id": body.session_id, "decision": body.decision, "by": entry.by}
            if body.at:
                facts["at"] = datetime.fromisoformat(body.at).timestamp()
            for rule in body.rules:
                row = {**facts, "rule_id": rule, "call": call}
                self._broken.setdefault((body.session_id, rule, call), row)

    def flush(self) -> None:
        """Write what is held back."""
        insert_rows(self._connection, INSERT_HANDOVERS, self._given, _TYPES)
        insert_rows(self._connection, INSERT_LOADED, self._loaded, _TYPES)
        insert_rows(self._connection, INSERT_BREACHES, list(self._broken.values()), _TYPES)
        self._given.clear()
        self._loaded.clear()
        self._broken.clear()

    def finish(self) -> None:
        """Write what is held back."""
        self.flush()
