"""The schemas of `docs/schema` are those of the answers as they are."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest

from workbench.entry.schemas import ANSWERS, file_name, schema_of, schema_text
from workbench.records.answers.base import Answer

SCHEMAS = Path(__file__).parents[2] / "docs" / "schema"


@pytest.mark.parametrize("answer", ANSWERS, ids=file_name)
def test_the_published_schema_is_that_of_the_answer(answer: type[Answer]) -> None:
    """Each file is what `make docs` writes now, and a schema by its own dialect."""
    assert (SCHEMAS / file_name(answer)).read_text(encoding="utf-8") == schema_text(answer)
    jsonschema.Draft202012Validator.check_schema(schema_of(answer))


def test_each_file_has_its_answer() -> None:
    """No schema stays behind when its answer goes."""
    assert sorted(path.name for path in SCHEMAS.iterdir()) == sorted(map(file_name, ANSWERS))


@pytest.mark.parametrize("answer", ANSWERS, ids=file_name)
def test_a_schema_describes_each_of_its_parts(answer: type[Answer]) -> None:
    """Every part has a sentence for its reader, and no further keys are allowed in any."""
    schema = schema_of(answer)
    for part in (schema, *schema["$defs"].values()):
        assert part["description"], part["title"]
        assert "enum" in part or part["additionalProperties"] is False, part["title"]
