"""The model registry [img 6] from the stream `models`. Models are few: each entry is written at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from store.duck import storable
from store.projections.bodies import ModelActivated, ModelRegistered, json_text
from workbench.ports import Entry
from workbench.records.conversion import convert

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

STREAM: Final = "models"

REGISTER: Final = """
INSERT INTO model_registry (model_id, model_kind, version, params_json, created_at) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (model_id) DO UPDATE SET
    model_kind = excluded.model_kind, version = excluded.version,
    params_json = excluded.params_json, created_at = excluded.created_at
"""
# One statement, so that there is never a moment with two active models of a kind, or none.
ACTIVATE: Final = """
UPDATE model_registry SET active = (model_id = $id)::INTEGER
WHERE model_kind = (SELECT model_kind FROM model_registry WHERE model_id = $id)
"""


class ModelProjector:
    """Writes models as they come."""

    def __init__(self, connection: DuckDBPyConnection) -> None:
        self._connection = connection

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds this projector takes."""
        return frozenset({"model.registered", "model.activated"})

    @property
    def held(self) -> int:
        """How many rows are held back: none."""
        return 0

    def take(self, offset: int, entry: Entry) -> None:
        """Take an entry. Raises ValueError for a body of another form."""
        del offset
        if entry.kind == "model.activated":
            activated = convert(entry.body, ModelActivated)
            self._connection.execute(ACTIVATE, {"id": storable(activated.model_id)})
            return
        model = convert(entry.body, ModelRegistered)
        texts = (model.model_id, model.model_kind, model.version, json_text(model.params))
        self._connection.execute(REGISTER, [*map(storable, texts), model.created_at])

    def flush(self) -> None:
        """Nothing is held back."""

    def finish(self) -> None:
        """Nothing is held back."""
