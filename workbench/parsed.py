"""Data files of the program, parsed once for a user: what long processes do not notice takes a hook 0.01 s.

A file of the user's cache says of which content it is, and is checked whole. One that is missing, damaged or
of another version is written again; where it cannot be, the data file is parsed each time.
"""

from __future__ import annotations

import marshal
import os
import sys
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from workbench.places import data_file, user_cache

_MAGIC: Final = b"parsed 1\n"
_NUMBER: Final = 4  # bytes


def read_parsed(package: str, name: str, parse: Callable[[bytes], Any]) -> Any:  # noqa: ANN401 - plain data
    """Return what `parse` makes of a data file of a package: texts, bytes, numbers, lists, tuples and dicts.

    Raises: OSError where there is none of this name, and whatever `parse` raises.
    """
    source = data_file(package, name)
    return parse_once(source, f"{package}.{source.name}", parse)


def parse_once(source: Path, name: str, parse: Callable[[bytes], Any]) -> Any:  # noqa: ANN401 - plain data
    """Return what `parse` makes of a file, kept under a name of its own. Raises as `read_parsed` does."""
    content = source.read_bytes()
    begin = _MAGIC + _number(zlib.crc32(content)) + _number(len(content))
    try:
        path = user_cache() / "parsed" / f"{sys.implementation.cache_tag}" / name
    except RuntimeError:  # the user has no home
        return parse(content)
    with suppress(OSError, EOFError, ValueError, TypeError):
        held = path.read_bytes()
        data = held[len(begin) + _NUMBER :]
        if held[: len(begin) + _NUMBER] == begin + _number(zlib.crc32(data)):
            return marshal.loads(data)
    value = parse(content)
    data = marshal.dumps(value)
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(begin + _number(zlib.crc32(data)) + data)
        partial.replace(path)
    return value


def _number(value: int) -> bytes:
    return value.to_bytes(_NUMBER, "little")
