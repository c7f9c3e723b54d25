"""Compiled regular expressions kept between short processes: parsing 180 of them is a tenth of a hook's CPU.

Python keeps none beyond a process. Here what its compiler gives the engine is kept in the user's cache, for
this build of Python alone: the same expression is the same program. Kept is what modules compile when they
are imported, lazily from a constant, or where it is written out; nothing that is put together of what a user
wrote. The engine checks each program it is given, and whatever else is wrong with the file means that
expressions are compiled.
"""

from __future__ import annotations

import marshal
import os
import sys
import zlib
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any, Final

_MAGIC: Final = b"expressions 1\n"
_CRC: Final = 4  # bytes
_MOST: Final = 2_000  # expressions that are kept
_BETWEEN: Final = ("re", "enum", "warnings", __name__)
_LAZY: Final = frozenset({"workbench.text.expressions"})

Key = tuple[bool, str | bytes, int]
"""Whether it is text, the expression, and its flags."""
Program = tuple[int, bytes, int, dict[str, int], tuple[str | None, ...]]
"""What the engine takes: all flags, codes of four bytes, the number of groups, their numbers, their names."""


class CompiledExpressions:
    """Stands before Python's compiler of expressions: gives what is kept, and notes what is not."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._kept = _read(path)
        self._new: dict[Key, Program] = {}
        self._compile: Any = None
        self._engine: Any = None

    def install(self) -> None:
        """Take the place of the compiler; where this Python has another one, do nothing."""
        try:
            compiler: Any = import_module("re._compiler")
            self._engine, self._compile = import_module("_sre"), compiler.compile
            compiler.compile = self._look_up
        except (ImportError, AttributeError):
            return

    def _look_up(self, expression: Any, flags: int = 0) -> Any:  # noqa: ANN401 - as Python's own
        if not isinstance(expression, str | bytes):
            return self._compile(expression, flags)
        key = (isinstance(expression, str), expression, int(flags))
        program = self._kept.get(key)
        if program is not None:
            flags, codes, groups, numbers, names = program
            with suppress(RuntimeError, TypeError, ValueError):  # the engine refuses it
                numbered = memoryview(codes).cast("I").tolist()
                return self._engine.compile(expression, flags, numbered, groups, numbers, names)
        if not _is_constant(expression):
            return self._compile(expression, flags)
        return self._compile_new(key, expression, flags)

    def _compile_new(self, key: Key, expression: str | bytes, flags: int) -> Any:  # noqa: ANN401
        """Compile an expression, and note the program that the engine is given."""
        compiler: Any = import_module("re._compiler")
        engine = self._engine

        class Noting:
            def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the engine has
                return getattr(engine, name)

        noting: Any = Noting()

        def compile_noted(text: object, *program: Any) -> Any:  # noqa: ANN401
            all_flags, codes, groups, numbers, names = program
            packed = b"".join(int(code).to_bytes(4, sys.byteorder) for code in codes)
            self._new[key] = (int(all_flags), packed, groups, dict(numbers), tuple(names))
            return engine.compile(text, *program)

        noting.compile = compile_noted
        compiler._sre = noting
        try:
            return self._compile(expression, flags)
        finally:
            compiler._sre = engine

    def keep(self) -> None:
        """Write what is new beside what was kept; a full or read-only cache costs each process a little."""
        if not self._new:
            return
        whole = {**self._kept, **self._new}
        data = marshal.dumps(whole if len(whole) <= _MOST else self._new)
        partial = self._path.with_suffix(f".{os.getpid()}")
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            partial.write_bytes(_MAGIC + zlib.crc32(data).to_bytes(_CRC, "little") + data)
            partial.replace(self._path)
        self._new = {}


_INSTALLED: Final[list[CompiledExpressions]] = []


def use_compiled(cache: Path) -> None:
    """Let this process use what is kept in the user's cache."""
    expressions = CompiledExpressions(compiled_path(cache))
    expressions.install()
    _INSTALLED.append(expressions)


def keep_compiled() -> None:
    """Keep for others what this process had to compile, if it uses what is kept."""
    for expressions in _INSTALLED:
        expressions.keep()


def compiled_path(cache: Path) -> Path:
    """Return where the expressions for this build of Python are in the user's cache."""
    return cache / "expressions" / f"{sys.implementation.cache_tag}-{sys.hexversion:x}-{sys.byteorder}.bin"


def _read(path: Path) -> dict[Key, Program]:
    try:
        held = path.read_bytes()
    except OSError:
        return {}
    begin = len(_MAGIC) + _CRC
    data = held[begin:]
    if held[: len(_MAGIC)] != _MAGIC or zlib.crc32(data) != int.from_bytes(
        held[len(_MAGIC) : begin], "little"
    ):
        return {}
    try:
        kept: dict[Key, Program] = marshal.loads(data)
    except (EOFError, ValueError, TypeError):
        return {}
    return kept


def _is_constant(expression: str | bytes) -> bool:
    """Whether an expression is of a program: written out where it is compiled, or compiled at an import.

    At an import is what a module does itself, and what its own functions do for it; so is what compiles
    constants lazily.
    """
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__") in _BETWEEN:
        frame = frame.f_back
    if frame is None:
        return False
    if any(type(one) is type(expression) and one == expression for one in frame.f_code.co_consts):
        return True
    module = str(frame.f_globals.get("__name__"))
    if module in _LAZY:
        return True
    while frame is not None and frame.f_globals.get("__name__") == module:
        if frame.f_code.co_name == "<module>":
            return True
        frame = frame.f_back
    return False
