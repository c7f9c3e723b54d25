"""grepai, a program that finds code by meaning: asked for the files that match a task.

It answers `grepai search --json --compact QUERY` with an array of {file_path, start_line, end_line, score};
when the search fails it prints {"error": ...} and exits with 0, before that it exits with 1. It runs in the
project's directory, whose `.grepai` holds its index and the address of its embedding model.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from typing import Final

from store.http_exchange import Deadline
from workbench.beneath import find_program, safe_path
from workbench.errors import ModelError
from workbench.text.sanitize import visible_line

NAME: Final = "grepai"
DIRECTORY: Final = ".grepai"
LIMIT: Final = 50  # chunks; a file has some of them
MAX_QUERY: Final = 2_000  # characters
MAX_OUTPUT: Final = 1_000_000  # bytes
_SHOWN: Final = 200  # characters of its own message
_COMPLAINT: Final = 8192  # bytes


def find_grepai(root: Path, environment: Mapping[str, str] = os.environ) -> str:
    """Return the program for a project, which itself holds none that is run. Raises: ModelError."""
    found = find_program(NAME, environment)
    if found is None:
        raise ModelError("grepai is not installed", hint="Put it on PATH, or unset grepai.search.")
    if Path(found).resolve().is_relative_to(root.resolve()):
        raise ModelError(
            f"{found} is in the project, whose programs are not run", hint="Install grepai elsewhere."
        )
    if not (root / DIRECTORY).is_dir() or (root / DIRECTORY).is_symlink():
        raise ModelError(
            "grepai has no index of this project", hint="Run `grepai init` and `grepai watch` in it."
        )
    return found


def search_grepai(program: str, root: Path, query: str, *, timeout: float) -> dict[str, float]:
    """Return the best score of each file it finds, by path from the root. Raises: ModelError.

    After `timeout` seconds, or when it has answered too much, it is killed with whatever it started.
    """
    flags = ["search", "--json", "--compact", "--limit", str(LIMIT), "--"]
    question = visible_line(" ".join(query.split())[:MAX_QUERY])
    try:
        child = subprocess.Popen(
            [program, *flags, question],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=root,
            env={**os.environ, "PATH": safe_path()},
            start_new_session=True,
        )
    except OSError as error:
        raise _failure(f"cannot be started: {error.strerror or error}") from error
    with child:
        try:
            answer, complaint = _read(child, Deadline(timeout))
            status = child.wait(timeout)
        except (TimeoutError, subprocess.TimeoutExpired) as error:
            raise _failure(f"did not answer within {timeout:g} s") from error
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, 9)
    if status:
        raise _failure(_last_line(complaint) or f"ended with status {status}")
    try:
        return _files(json.loads(answer))
    except (ValueError, RecursionError) as error:
        raise _failure("answered with something that is not JSON") from error


def _read(child: subprocess.Popen[bytes], deadline: Deadline) -> tuple[bytes, bytes]:
    """Return what a child writes to both of its pipes, the end of what it complains. Raises: TimeoutError."""
    answer, complaint = bytearray(), bytearray()
    with DefaultSelector() as pipes:
        for pipe, read in ((child.stdout, answer), (child.stderr, complaint)):
            assert pipe is not None
            pipes.register(pipe, EVENT_READ, read)
        while pipes.get_map():
            for ready, _ in pipes.select(deadline.seconds_left()):
                chunk = os.read(ready.fd, 1 << 16)
                ready.data.extend(chunk)
                if not chunk:
                    pipes.unregister(ready.fileobj)
            del complaint[:-_COMPLAINT]
            if len(answer) > MAX_OUTPUT:
                raise _failure(f"answered with more than {MAX_OUTPUT:,} bytes")
    return bytes(answer), bytes(complaint)


def _files(answer: object) -> dict[str, float]:
    if isinstance(answer, dict) and isinstance(reason := answer.get("error"), str):
        raise _failure(reason)
    if not isinstance(answer, list):
        raise _failure("answered with something that is not a list of hits")
    found: dict[str, float] = {}
    for hit in answer:
        path, score = (hit.get("file_path"), hit.get("score")) if isinstance(hit, dict) else (None, None)
        if not isinstance(path, str) or isinstance(score, bool) or not isinstance(score, int | float):
            raise _failure("answered with a hit that has no file_path or no score")
        if 0.0 < score < float("inf"):
            name = path.replace("\\", "/").removeprefix("./")
            found[name] = max(found.get(name, 0.0), float(score))
    return found


def _last_line(complaint: bytes) -> str:
    """Return the reason that a program prints when it fails: `Error: reason`, then how it is used."""
    lines = [one for one in complaint.decode("utf-8", "replace").split("\n") if one.strip()]
    said = next((one for one in lines if one.startswith("Error:")), lines[-1] if lines else "")
    return said.removeprefix("Error:").strip()


def _failure(reason: str) -> ModelError:
    shown = visible_line(reason)[:_SHOWN]
    return ModelError(f"grepai: {shown}", hint="Try `grepai search --json --compact TASK` by hand.")
