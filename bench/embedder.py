"""How fast is the embedder, and what would batches change? `python -m bench.embedder [FILE …]`.

Texts are the functions of the given Python files (default: this project's store). Start-up is timed in new
processes.
"""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from store import minilm
from store.embedders import FastembedEmbedder
from store.onnx_embedder import OnnxEmbedder
from workbench.places import user_cache

ROOT = Path(__file__).resolve().parents[1]
STARTS = 5

_START_UP = """
import time; a = time.perf_counter()
import numpy; b = time.perf_counter()
import sys
from pathlib import Path
from store.embedding import EmbeddingSettings, resolve_embedder
embedder, _ = resolve_embedder(EmbeddingSettings(Path(sys.argv[1]))); c = time.perf_counter()
embedder.embed(["jwt token is not refreshed on 401"]); d = time.perf_counter()
print(b - a, c - b, d - c)
"""


def functions(files: list[Path]) -> list[str]:
    found = []
    for path in files:
        text = path.read_text(encoding="utf-8")
        nodes = ast.walk(ast.parse(text))
        found += [
            ast.get_source_segment(text, node) or "" for node in nodes if isinstance(node, ast.FunctionDef)
        ]
    return found


def rate(name: str, embed: Callable[[list[str]], Any], texts: list[str]) -> Any:
    """Print texts per second; return the vectors."""
    embed(texts[:2])
    started = time.perf_counter()
    vectors = np.asarray(embed(texts))
    print(f"  {name:40} {len(texts) / (time.perf_counter() - started):5.0f} texts/s", flush=True)
    return vectors


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("files", type=Path, nargs="*", default=sorted((ROOT / "store").glob("*.py")))
    texts = functions(parser.parse_args().files)
    built = minilm.ensure_built(user_cache())
    print(f"built in {built.seconds:.1f} s" if built.seconds else "already built")
    command = [sys.executable, "-c", _START_UP, str(user_cache())]
    runs = [
        subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT) for _ in range(STARTS)
    ]
    numpy, resolve, query = np.median([[float(v) for v in run.stdout.split()] for run in runs], axis=0) * 1000
    print(f"start-up: numpy {numpy:.0f} ms, import and resolve {resolve:.0f} ms, first query {query:.0f} ms")
    print(f"{len(texts)} functions, {np.mean([len(text) for text in texts]):.0f} characters on average")
    alone = OnnxEmbedder(built.directory, minilm.MODEL_ID)
    batched: Any = FastembedEmbedder(minilm.MODEL, path=built.directory)._model
    first = rate(f"one text alone, {alone.threads} at once", alone.embed, texts)
    other = rate(
        "batches of 32, padded (fastembed)", lambda some: list(batched.embed(some, batch_size=32)), texts
    )
    moved = np.sum(first * other, axis=1)
    print(f"  cosine of a text alone to itself in a batch: mean {moved.mean():.4f}, least {moved.min():.4f}")


if __name__ == "__main__":
    main()
