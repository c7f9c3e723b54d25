"""What Qdrant is sent: words as sparse vectors, filters as its conditions, keys as UUIDs, fields as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from workbench.ports import PointFilter
from workbench.text.postings import term_hash
from workbench.text.terms import count_terms

if TYPE_CHECKING:
    from workbench.ports import PointKeys

K1: Final = 1.2
B: Final = 0.75
USUAL_LENGTH: Final = 30.0
"""Terms of a usual text: the length that the weights of words compare with, which a collection has not."""


def sparse_vector(text: str) -> Any:  # noqa: ANN401 - of a package that need not be there
    """Return the terms of a text as Qdrant weighs them: BM25 but for the rarity, which the server knows.

    A term's place is 32 bits of its hash: of 100,000 terms one in 86,000 pairs shares one, which adds up.
    """
    counts = count_terms(text)
    length = sum(counts.values())
    norm = K1 * (1 - B + B * length / USUAL_LENGTH)
    return _sparse({term: count * (K1 + 1) / (count + norm) for term, count in counts.items()})


def sparse_query(text: str) -> Any:  # noqa: ANN401 - of a package that need not be there
    """Return the terms of what is looked for, each counted once."""
    return _sparse(dict.fromkeys(count_terms(text), 1.0))


def _sparse(weights: Mapping[str, float]) -> Any:  # noqa: ANN401 - of a package that need not be there
    from qdrant_client import models

    places: dict[int, float] = {}
    for term, weight in weights.items():
        place = term_hash(term) & 0xFFFFFFFF
        places[place] = places.get(place, 0.0) + weight
    order = sorted(places)
    return models.SparseVector(indices=order, values=[places[place] for place in order])


def conditions(only: PointFilter | None) -> Any:  # noqa: ANN401 - of a package that need not be there
    """Return a filter as Qdrant takes it, None for one that lets all through."""
    if only is None:
        return None
    from qdrant_client import models

    must: list[Any] = [
        models.FieldCondition(key=name, match=models.MatchAny(any=list(values)))
        for name, values in only.among.items()
    ]
    must += [models.FieldCondition(key=name, range=models.Range(gte=one)) for name, one in only.least.items()]
    must += [models.FieldCondition(key=name, range=models.Range(lte=one)) for name, one in only.most.items()]
    return models.Filter(must=must) if must else None


def point_ids(keys: PointKeys) -> list[str]:
    """Return keys as the ids of points."""
    return [str(UUID(bytes=key.tobytes())) for key in keys]


def storable(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return a field's value without what UTF-8 cannot hold."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {storable(str(key)): storable(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [storable(one) for one in value]
    return value
