"""What a short process imports without loading: modules that others import and that no plan uses.

The texts of numpy's documentation, ctypes for its arrays, the types of its annotations, `inspect`, pickle: a
tenth of a hook. Each is there under its name, and is loaded when somebody asks it for something, as with
`importlib.util.LazyLoader`, which takes longer itself. OpenSSL's hashes are no faster for texts this short,
and msgspec takes from `typing_extensions` what this Python's `typing` has.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from threading import RLock
from types import ModuleType, SimpleNamespace
from typing import Any, Final

LATER: Final = frozenset(
    {
        "ast",
        "inspect",
        "ipaddress",
        "msgspec.inspect",
        "msgspec.toml",
        "msgspec.yaml",
        "numpy._core._add_newdocs",
        "numpy._core._add_newdocs_scalars",
        "numpy._core._dtype_ctypes",
        "numpy._core._internal",
        "numpy._typing",
        "numpy.typing",
        "pickle",
        "textwrap",
    }
)
WITHOUT: Final = {"hashlib": "_hashlib", "msgspec._utils": "typing_extensions"}
"""Modules, and what they can do without."""

INSTEAD: Final[Mapping[str, Mapping[str, object]]] = {
    "numpy._core.overrides": {
        "inspect": SimpleNamespace(cleandoc=str, signature=lambda function: None),
        "verify_matching_signatures": lambda implementation, dispatcher: None,
    }
}
"""What a module gets in the place of its own when it is loaded: numpy checks and documents 370 functions."""

_GENERIC: Final = {name: {"NDArray": list} for name in ("numpy._typing", "numpy.typing")}
"""What is asked for at once, and only for annotations."""
_LOADING: Final = RLock()


class LaterModule(ModuleType):
    """A module that is loaded when it is asked for what it does not have."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the module has
        if name.startswith("__") or self.__spec__ is None:
            raise AttributeError(name)
        with _LOADING:
            loader: Any = self.__spec__.loader
            if isinstance(loader, _Later):
                self.__spec__.loader = self.__loader__ = loader.real
                loader.real.exec_module(self)
                self.__class__ = ModuleType  # type: ignore[assignment]  # an instance that changes its class
        return ModuleType.__getattribute__(self, name)


class _Loader:
    """Loads a module by the loader that it has, in a way of its own."""

    def __init__(self, real: SourceFileLoader) -> None:
        self.real = real

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Return None: Python makes it."""
        return None


class _Later(_Loader):
    """Makes a module that is loaded later."""

    def exec_module(self, module: ModuleType) -> None:
        """Leave the module empty but for what is asked for at once."""
        module.__dict__.update(_GENERIC.get(module.__name__, {}))
        module.__class__ = LaterModule


class _Altered(_Loader):
    """Loads a module as if another were not installed, and with something in the place of its own."""

    def exec_module(self, module: ModuleType) -> None:
        """Load the module."""
        missing = WITHOUT.get(module.__name__, "")
        is_new = bool(missing) and missing not in sys.modules
        if is_new:
            sys.modules[missing] = None  # type: ignore[assignment]  # Python's own way to say so
        try:
            self.real.exec_module(module)
        finally:
            if is_new:
                del sys.modules[missing]
        for name, value in INSTEAD.get(module.__name__, {}).items():
            if name in module.__dict__:
                setattr(module, name, value)


class _Finder:
    """Finds the modules of this list, before Python does."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where a module is that is loaded later, or without another one."""
        if name not in LATER and name not in WITHOUT and name not in INSTEAD:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or not isinstance(real := spec.loader, SourceFileLoader):
            return None
        loader: Any = _Later(real) if name in LATER else _Altered(real)
        spec.loader = loader
        return spec


def import_less() -> None:
    """Let this process import without loading what no short one uses."""
    sys.meta_path.insert(0, _Finder())
