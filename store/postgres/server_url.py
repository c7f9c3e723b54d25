"""The URL of a PostgreSQL server: its parameters, TLS required of other machines, its password masked."""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Mapping
from typing import Final

from workbench.errors import ConfigError

Parameters = Mapping[str, str]

CONNECTING: Final = 5
"""Seconds that connecting may take, at each address of a server's name."""

ANSWERING: Final = 30.0
"""Seconds that a server may take over what is done inside one `use()`."""

_URL: Final = re.compile(r"postgres(?:ql)?://")
_SAFE_MODES: Final = ("require", "verify-ca", "verify-full")
_DEFAULTS: Final = {
    "connect_timeout": str(CONNECTING),
    "application_name": "workbench",
    # A server that went away without a word is noticed within half a minute, also while nothing is sent.
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": str(int(ANSWERING * 1000)),
}
_LONG: Final = 6
"""Characters of a password that are part of no other word by chance."""


def parse_url(url: str) -> Parameters:
    """Return the connection parameters of a URL, with TLS required of other machines.

    Raises: ConfigError for what is no URL of a PostgreSQL server, and for one that may lead to a connection
    without TLS without saying so.
    """
    import psycopg  # which `store.postgres.connection` has imported, or said what is missing
    from psycopg.conninfo import conninfo_to_dict

    try:
        given = {key: str(value) for key, value in conninfo_to_dict(url).items()} if _URL.match(url) else {}
    except (psycopg.Error, UnicodeError):  # its message quotes the URL
        given = {}
    if not given or "\0" in url or _is_torn(url, given):
        raise ConfigError(
            "that is not the URL of a PostgreSQL server",
            hint="Write postgresql://user:password@host:5432/database; percent-encode other characters than "
            "letters and digits.",
        )
    if not given.get("host") and not given.get("hostaddr"):
        raise ConfigError(
            "the URL names no host",
            hint="Write postgresql://user@host/database, or ?host=/directory/of/socket.",
        )
    mode = given.get("sslmode", "")
    if not _is_local(given) and mode != "disable":
        if mode and mode not in _SAFE_MODES:
            raise ConfigError(
                f"sslmode={mode} sends everything in the clear where the server has no TLS",
                hint=f"Write sslmode={', '.join(_SAFE_MODES)}, or disable if that is what you want.",
            )
        given["sslmode"] = mode or next(
            (mode for mode in _SAFE_MODES if mode == os.environ.get("PGSSLMODE")), _SAFE_MODES[0]
        )
    return {**_DEFAULTS, **given}


def _is_torn(url: str, given: Mapping[str, str]) -> bool:
    """Whether characters of a password that are not encoded (`@`, `/`) made parts of it a host or a port."""
    authority, _, path = url.split("?", 1)[0].partition("://")[2].partition("/")
    ports = given.get("port", "").replace(",", "")
    return "@" in path or authority.count("@") > 1 or (ports != "" and not ports.isdecimal())


def mask_password(text: str, password: str) -> str:
    """Return a text without a password, whichever of its characters are percent-encoded.

    A short one is masked where a URL, a connection string or quotes have it: elsewhere it is part of words.
    """
    spelled = "".join(
        f"(?:{re.escape(one)}|(?i:{''.join(f'%{byte:02x}' for byte in one.encode('utf-8', 'replace'))}))"
        for one in password
    )
    if not spelled:
        return text
    if len(password) < _LONG:
        spelled = rf"(?<=:){spelled}(?=@)|(?<==){spelled}(?![^\s&])|(?<=['\"]){spelled}(?=['\"])"
    return re.sub(spelled, "***", text)


def place(parameters: Parameters) -> str:
    """Return the server, the database and the user for people: `anna@db.example.org:5432/team`."""
    host = parameters.get("host") or parameters.get("hostaddr", "")
    port = f":{parameters['port']}" if "port" in parameters and not host.startswith("/") else ""
    user = f"{parameters['user']}@" if "user" in parameters else ""
    return f"{user}{host}{port}/{parameters.get('dbname', '')}"


def _is_local(parameters: Parameters) -> bool:
    """Whether every host of the parameters is this machine."""
    hosts = (parameters.get("hostaddr") or parameters.get("host") or "?").split(",")
    return all(host.startswith(("/", "@")) or _is_loopback(host) for host in hosts)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
