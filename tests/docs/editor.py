"""The editor of who reads the pages: it ends the text of the file that it is given with a word."""

import sys
from pathlib import Path

if __name__ == "__main__":
    path = Path(sys.argv[-1])
    path.write_text(f"{path.read_text(encoding='utf-8').rstrip()} Always.\n", encoding="utf-8")
