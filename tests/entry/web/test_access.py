"""Who may reach the app in a browser."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.entry.web.access import is_loopback, refusal, url_of

LOCAL = "127.0.0.1"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost", "LOCALHOST"])
def test_the_loopback(host: str) -> None:
    """Addresses and the name that only this machine reaches."""
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org", "localhost.example.org", ""])
def test_what_may_be_reached_from_elsewhere(host: str) -> None:
    """Everything else, a name that only begins like it too."""
    assert not is_loopback(host)


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:8000", "localhost", "[::1]:8000"])
def test_its_own_page_is_let_in(host: str) -> None:
    """Without an origin, as a browser opens a page, and with its own, as a page opens a websocket."""
    assert refusal(host, None, LOCAL) == ""
    assert refusal(host, f"http://{host}", LOCAL) == ""


@pytest.mark.parametrize(
    ("host", "origin", "served", "reason"),
    [
        ("evil.example:8000", None, LOCAL, "the request was sent to another host"),
        ("evil.example:8000", "http://evil.example:8000", LOCAL, "the request was sent to another host"),
        ("192.168.1.5:8000", None, LOCAL, "the request was sent to another host"),
        ("localhost.evil.example", None, LOCAL, "the request was sent to another host"),
        ("evil.example", None, "0.0.0.0", "the request was sent to another host"),
        ("", None, LOCAL, "the request names no host"),
        ("[::1", None, LOCAL, "the request names no host"),
        ("localhost:8000", "http://evil.example", LOCAL, "the request comes from another page"),
        ("localhost:8000", "http://localhost:9000", LOCAL, "the request comes from another page"),
        ("localhost:8000", "null", LOCAL, "the request comes from another page"),
        ("localhost:8000", "file://localhost:8000", LOCAL, "the request comes from another page"),
        ("localhost:8000", "http://[::1", LOCAL, "the request comes from another page"),
        (
            "localhost:8000",
            "http://localhost:8000@evil.example",
            LOCAL,
            "the request comes from another page",
        ),
    ],
)
def test_other_pages_and_names_are_refused(host: str, origin: str | None, served: str, reason: str) -> None:
    """A rebound name, another page, another port of this machine, and what is no header at all."""
    assert refusal(host, origin, served) == reason


@pytest.mark.parametrize("host", ["192.168.1.5:8000", "desk:8000", "shown.example:8000", "localhost:8000"])
def test_where_others_are_let_in_addresses_and_own_names_are_believed(host: str) -> None:
    """An address cannot be rebound; this machine's name and the one that was asked for are its own."""
    assert refusal(host, f"http://{host}", "shown.example", machine="Desk") == ""


@given(st.text(max_size=40), st.none() | st.text(max_size=40))
def test_no_header_is_a_crash(host: str, origin: str | None) -> None:
    """Any header is let in or refused with a reason; a foreign origin never gets in."""
    reason = refusal(host, origin, LOCAL)
    assert reason or origin is None or origin.casefold().endswith(host.casefold())


def test_urls_have_brackets_where_needed() -> None:
    """An IPv6 address stands in brackets."""
    assert url_of("127.0.0.1", 80) == "http://127.0.0.1:80/"
    assert url_of("::1", 8000) == "http://[::1]:8000/"
