"""What a rule file's front matter says about when its rules apply, the same for all formats."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from workbench.records.rules import Activation
from workbench.rules.formats.frontmatter import FrontMatter, Value
from workbench.rules.globs import narrow, split_globs


@dataclass(frozen=True, slots=True)
class Reach:
    """When rules apply. `globs` are as written, none for any path; `kept` are fields of unknown meaning."""

    activation: Activation
    globs: tuple[str, ...] = ()
    description: str = ""
    kept: dict[str, Value] = field(default_factory=dict)


def globs_of(front: FrontMatter, *keys: str) -> tuple[str, ...]:
    """Return the globs of the first key that is present: a list, or a text with commas."""
    value = next((front.fields[key] for key in keys if key in front.fields), ())
    items: Iterable[str] = (value,) if isinstance(value, str) else value
    return tuple(dict.fromkeys(glob for item in items for glob in split_globs(item)))


def reach(front: FrontMatter, activation: Activation, globs: tuple[str, ...], known: Iterable[str]) -> Reach:
    """Return the reach, globs that match everything dropped: rules for any path are always on."""
    limited = narrow(globs)
    if activation is Activation.PATHS and not limited:
        activation = Activation.ALWAYS
    defined = {*known, "description"}
    kept = {key: value for key, value in front.fields.items() if key not in defined}
    return Reach(activation, limited, " ".join(front.text("description").split()), kept)
