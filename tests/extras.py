"""What not every installation has, and the mark of tests that need it."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

needs_graph = pytest.mark.skipif(find_spec("hnswlib") is None, reason="hnswlib is not installed")
