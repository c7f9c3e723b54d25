"""Who may reach the app in a browser: this machine alone, unless the user says otherwise, and no other page.

Other users of this machine lack the token of the printed address. A page of another site can still make a
browser on this machine connect to it, with its cookie, by a form, a websocket, or a name it lets point here
(DNS rebinding); every request therefore has to name this server as the one it was sent to, and as the page
it comes from.
"""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

LOCAL_NAME = "localhost"


def is_loopback(host: str) -> bool:
    """Whether an address or name can be reached from this machine alone."""
    return host.casefold() == LOCAL_NAME or (_is_address(host) and ip_address(host).is_loopback)


def refusal(host: str, origin: str | None, served: str, machine: str = "") -> str:
    """Return why a request is refused, one sentence, or an empty string.

    `host` and `origin` are its headers, `served` is the host listened at, `machine` this machine's name. A
    name is believed only if it is one of these; addresses cannot be rebound, so any is believed where the
    user lets other machines in, and those of the loopback where not.
    """
    name = _name(f"//{host}")
    if not name:
        return "the request names no host"
    known = {LOCAL_NAME, served.casefold()}
    if is_loopback(served):
        believed = name in known or is_loopback(name)
    else:
        believed = name in known or name == machine.casefold() or _is_address(name)
    if not believed:
        return "the request was sent to another host"
    if origin is not None and _netloc(origin) != host.casefold():
        return "the request comes from another page"
    return ""


def url_of(host: str, port: int) -> str:
    """Return the URL of a server, with the brackets that IPv6 needs."""
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def _netloc(origin: str) -> str | None:
    """Return host and port as the header writes them, None for what is no web page's: `null`, extensions."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return None
    return parts.netloc.casefold() if parts.scheme in ("http", "https") else None


def _name(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").casefold()
    except ValueError:
        return ""


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
