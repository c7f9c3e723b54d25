"""What gets installed: `python -m bench.components --licences docs/licences.md --sbom dist/sbom.json`.

Packages, versions and hashes are those of `requirements.lock`; licences are what the installed packages say
of themselves. The bill of materials is CycloneDX 1.6 in JSON; the same lock gives the same bytes.
"""

from __future__ import annotations

import argparse
import json
import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from email.message import Message
from importlib import metadata
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
LOCK: Final = ROOT / "requirements.lock"
_PIN = re.compile(
    r"^([A-Za-z0-9._-]+)==([^\s;\\]+)(?: ; ([^\\\n]+?))?((?: \\\n +--hash=sha256:[0-9a-f]{64})*)\s*$", re.M
)
_HASH = re.compile(r"sha256:([0-9a-f]{64})")
_EXPRESSION = re.compile(r"[A-Za-z0-9.+-]+(?: (?:AND|OR|WITH) [A-Za-z0-9.+-]+)*")
_NAMED: Final = {  # what packages write in their own words, and its name in the list of SPDX
    "apache 2": "Apache-2.0",
    "apache 2.0": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "bsd 2-clause license": "BSD-2-Clause",
    "3-clause bsd license": "BSD-3-Clause",
    "bsd license": "BSD-3-Clause",
    "mit license": "MIT",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "python software foundation license": "PSF-2.0",
}
_WITHOUT: Final = {"chroma-hnswlib": "Apache-2.0", "py-rust-stemmers": "MIT"}
"""Packages whose metadata names no licence, by the licence file of their sources."""
_ELSEWHERE: Final = "not installed on this platform"


@dataclass(frozen=True, slots=True)
class Component:
    """A pinned package; `condition` is the marker of platforms that get it, empty for all of them."""

    name: str
    version: str
    condition: str
    hashes: tuple[str, ...]
    licence: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the list of licences, the bill of materials, or both."""
    parser = argparse.ArgumentParser(prog="python -m bench.components", description=__doc__)
    parser.add_argument("--licences", type=Path, help="Markdown")
    parser.add_argument("--sbom", type=Path, help="CycloneDX, JSON")
    options = parser.parse_args(arguments)
    found = components(LOCK.read_text(encoding="utf-8"))
    if options.licences:
        options.licences.write_text(licence_page(found), encoding="utf-8")
    if options.sbom:
        options.sbom.parent.mkdir(parents=True, exist_ok=True)
        options.sbom.write_text(json.dumps(bill(found), indent=2) + "\n", encoding="utf-8")
    return 0


def components(lock: str) -> list[Component]:
    found = [
        Component(name, version, condition.strip(), tuple(_HASH.findall(hashes)), licence_of(name))
        for name, version, condition, hashes in _PIN.findall(lock)
    ]
    return sorted(found, key=lambda one: one.name)


def licence_of(name: str) -> str:
    """Return an SPDX expression for an installed package, from what it says of itself."""
    try:
        said: Message = metadata.metadata(name)  # type: ignore[assignment]
    except metadata.PackageNotFoundError:
        return _ELSEWHERE
    if name in _WITHOUT:
        return _WITHOUT[name]
    given = [said.get("License-Expression"), said.get("License")]
    given += [
        entry.rpartition(" :: ")[2]
        for entry in said.get_all("Classifier", [])
        if entry.startswith("License ::")
    ]
    for text in given:
        words = (text or "").strip()
        if known := _NAMED.get(words.lower()):
            return known
        if _EXPRESSION.fullmatch(words):
            return words
    return "not stated"


def licence_page(found: Iterable[Component]) -> str:
    rows = [
        f"| {one.name} | {one.version} | {one.licence}{f' ({one.condition})' if one.condition else ''} |"
        for one in found
    ]
    return "\n".join(
        [
            "# Licences of what is installed with it",
            "",
            "The program itself is under the [MIT licence](../LICENSE). These packages come with it as",
            "`requirements.lock` pins them; `make docs` writes this page from what they say of themselves,",
            "and `make sbom` a bill of materials with their hashes. Tools of development are not among them.",
            "",
            "| package | version | licence |",
            "|---|---|---|",
            *rows,
            "",
        ]
    )


def bill(found: Iterable[Component]) -> dict[str, Any]:
    """Return the bill of materials of CycloneDX 1.6 <https://cyclonedx.org/docs/1.6/json/>."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = project.get("version") or metadata.version(project["name"])
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": project["name"],
                "name": project["name"],
                "version": version,
                "licenses": [{"license": {"id": "MIT"}}],
            }
        },
        "components": [_entry(one) for one in found],
    }


def _entry(one: Component) -> dict[str, Any]:
    address = f"pkg:pypi/{one.name.lower().replace('_', '-')}@{one.version}"
    entry: dict[str, Any] = {
        "type": "library",
        "bom-ref": address,
        "name": one.name,
        "version": one.version,
        "purl": address,
        "scope": "optional" if one.condition else "required",
    }
    if one.licence not in (_ELSEWHERE, "not stated"):
        entry["licenses"] = [{"expression": one.licence}]
    # A hash of each file that may be installed: a wheel for each platform, and the sources.
    entry["externalReferences"] = [
        {
            "type": "distribution",
            "url": address,
            "hashes": [{"alg": "SHA-256", "content": digest} for digest in one.hashes],
        }
    ]
    return entry


if __name__ == "__main__":
    raise SystemExit(main())
