"""`python -m workbench` is the program `workbench`."""

from __future__ import annotations

from workbench.entry.start import main

main()
