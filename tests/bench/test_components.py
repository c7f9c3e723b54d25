"""What gets installed: every pinned package is listed with its licence, and is in the bill of materials."""

from __future__ import annotations

from bench.components import LOCK, ROOT, bill, components

FORMS = """aiofiles==1.0 \\
    --hash=sha256:{0} \\
    --hash=sha256:{1}
msgspec==2.0 ; python_full_version < '3.13' \\
    --hash=sha256:{1}
""".format("a" * 64, "b" * 64)


def test_every_pin_has_hashes_and_is_listed() -> None:
    """A new package joins the page of licences by `make docs`; no pin is without a hash."""
    lock = LOCK.read_text(encoding="utf-8")
    found = components(lock)
    assert len(found) == sum("==" in line.partition(";")[0] for line in lock.splitlines()) > 90
    assert all(one.hashes for one in found)
    page = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
    assert [one.name for one in found if f"| {one.name} | {one.version} | " not in page] == []
    assert "not stated" not in page
    assert "GPL" not in page  # what comes with the program may be passed on with it


def test_the_bill_names_each_package_with_the_hashes_of_its_files() -> None:
    """CycloneDX: names, versions, addresses, licences of what is installed, conditions as optional."""
    found = bill(components(FORMS))
    assert (found["bomFormat"], found["specVersion"]) == ("CycloneDX", "1.6")
    first, second = found["components"]
    assert (first["purl"], first["scope"]) == ("pkg:pypi/aiofiles@1.0", "required")
    assert [one["content"][0] for one in first["externalReferences"][0]["hashes"]] == ["a", "b"]
    assert "licenses" not in first
    assert (second["scope"], second["licenses"]) == ("optional", [{"expression": "BSD-3-Clause"}])
