"""Keys of all widgets: each can be remapped and explained, and none is one that terminals swallow."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

import pytest
from textual.binding import Binding
from textual.dom import DOMNode

import screens.widgets

SWALLOWED = {
    f"ctrl+{key}" for key in ("enter", "j", "i", "m", "h", "a", "b", "o")
}  # ctrl+s arrives: the app reads without flow control
"""What terminals, tmux and screen keep for themselves or cannot tell from other keys."""


def owned() -> Iterator[type[DOMNode]]:
    """Give every widget and screen of the package."""
    for module in pkgutil.iter_modules(screens.widgets.__path__, "screens.widgets."):
        loaded = importlib.import_module(module.name)
        for value in vars(loaded).values():
            if isinstance(value, type) and issubclass(value, DOMNode) and value.__module__ == loaded.__name__:
                yield value


@pytest.mark.parametrize("widget", list(owned()), ids=lambda widget: widget.__name__)
def test_keys_are_remappable_and_explained(widget: type[DOMNode]) -> None:
    """Every binding has an id, a description and a tooltip; no key is one of those that are swallowed."""
    for binding in widget.__dict__.get("BINDINGS", ()):
        assert isinstance(binding, Binding)
        assert binding.id
        assert binding.description
        assert binding.tooltip
        assert not SWALLOWED & set(binding.key.split(","))


def test_ids_are_unique() -> None:
    """An id names one binding, so a remapped key does one thing."""
    ids = [binding.id for widget in owned() for binding in widget.__dict__.get("BINDINGS", ())]
    assert len(ids) == len(set(ids))
