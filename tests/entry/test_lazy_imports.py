"""Short processes import without loading what no plan uses."""

from __future__ import annotations

import subprocess
import sys

import pytest

from workbench.entry.lazy_imports import LATER, WITHOUT

PLANNING = "import msgspec, numpy, numpy.typing, urllib.parse, pickle, inspect, hashlib\n"
UNLOADED = """
import sys
waiting = [name for name, module in sys.modules.items() if type(module).__name__ == "LaterModule"]
print(*sorted(waiting))
print(*sorted({"ctypes", "dis", "tokenize", "_hashlib", "typing_extensions"} & set(sys.modules)))
"""
USES = {
    "numpy's annotations": "numpy.typing.NDArray[numpy.int8]; numpy.typing.ArrayLike",
    "an array for C": "numpy.arange(3).ctypes.data_as(__import__('ctypes').c_void_p)",
    "a pickled array": "assert pickle.loads(pickle.dumps(numpy.arange(3))).sum() == 3",
    "an address": "urllib.parse.urlsplit('http://[::1]/')",
    "a signature": "assert str(inspect.signature(lambda one: 0)) == '(one)'",
    "the schema of a type": "assert msgspec.json.schema(int) == {'type': 'integer'}",
    "an error's source": "import traceback; traceback.format_stack()",
    "a digest": "assert hashlib.sha256(b'').hexdigest().startswith('e3b0c442'); import hmac",
    "what was not there": "import typing_extensions; typing_extensions.Required",
    "tables": "import duckdb; assert duckdb.sql('select 1 as a').fetchnumpy()['a'][0] == 1",
}


BEGIN = "from workbench.entry.lazy_imports import import_less; import_less()"


def run(code: str, begin: str = BEGIN) -> list[str]:
    """Run code in a fresh interpreter that imports less, and return the lines it prints."""
    code = f"{begin}\n{PLANNING}{code}"
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.splitlines()


def test_what_a_plan_imports_is_not_loaded() -> None:
    """The whole list waits to be asked, and what it would have imported is not there."""
    waiting, loaded = run(UNLOADED)
    assert set(waiting.split()) == LATER
    assert loaded == ""


def test_a_short_command_imports_less_from_its_beginning() -> None:
    """Nothing that its own beginning imports was loaded before."""
    waiting, loaded = run(UNLOADED, "from workbench.entry.start import begin_short; begin_short()")
    assert set(waiting.split()) == LATER
    assert loaded == ""


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_what_is_asked_for_is_there(use: str) -> None:
    """A module that waits is what it always was to whoever uses it, also where it was hidden from another."""
    assert run(f"{use}\nprint('used')") == ["used"]


def test_what_is_hidden_is_hidden_from_one_alone() -> None:
    """After a module did without another, that one can be imported."""
    names = ", ".join(WITHOUT.values())
    assert run(f"import {names}\nprint({names.split(',')[0]}.__name__)") == ["_hashlib"]
