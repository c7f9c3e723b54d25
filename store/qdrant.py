"""A Qdrant server: how it is reached, which collections it has, and what goes wrong with it as StoreError.

What the journals say is the truth: every collection can be filled again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from store.http_exchange import parse_server
from workbench.errors import ConfigError, StoreError

if TYPE_CHECKING:
    from qdrant_client import QdrantClient
    from qdrant_client.http.exceptions import UnexpectedResponse

API_KEY: Final = "QDRANT_API_KEY"
"""The variable of the environment that a key is taken from, and nothing else."""

_REASON: Final = 200  # characters
_HINT: Final = "`workbench doctor` asks it again; everything works without it, and catches up later."


class QdrantServer:
    """A Qdrant at `url`. Raises: ConfigError for an address that cannot be used; ImportError without extra.

    Only a host that is this machine may be asked without TLS. `client` is one that is open already. Graphs of
    collections that are made link a vector to `m` others; a search compares `ef` candidates at least.
    """

    def __init__(
        self,
        url: str,
        *,
        timeout: float = 2.0,
        client: QdrantClient | None = None,
        m: int = 16,
        ef: int = 256,
    ) -> None:
        self.m = m
        self.ef = ef
        self.place = f"Qdrant at {url}"
        if client is None:
            self.place = f"Qdrant at {checked_url(url)}"
            from qdrant_client import QdrantClient

            client = QdrantClient(
                checked_url(url),
                api_key=os.environ.get(API_KEY) or None,
                timeout=max(round(timeout), 1),
                check_compatibility=False,
                trust_env=False,  # no proxy of the environment sees what is sent
            )
        self.client = client

    def names(self) -> tuple[str, ...]:
        """Return the names of all collections there are, sorted. Raises: StoreError."""
        with self.translate_errors():
            return tuple(sorted(collection.name for collection in self.client.get_collections().collections))

    def serving(self) -> dict[str, str]:
        """Return the collection that each alias leads to. Raises: StoreError."""
        with self.translate_errors():
            return {alias.alias_name: alias.collection_name for alias in self.client.get_aliases().aliases}

    def count(self, name: str) -> int:
        """Return how many points a collection has. Raises: StoreError."""
        with self.translate_errors():
            return int(self.client.count(name, exact=True).count)

    def drop(self, name: str) -> None:
        """Remove a collection with its points. Raises: StoreError."""
        with self.translate_errors():
            self.client.delete_collection(name)

    def version(self) -> str:
        """Ask the server for its version. Raises: StoreError."""
        with self.translate_errors():
            return str(self.client.info().version)

    def close(self) -> None:
        """Free the connections."""
        self.client.close()

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        """Raise whatever goes wrong with the server as StoreError."""
        from qdrant_client.common.client_exceptions import QdrantException
        from qdrant_client.http.exceptions import ApiException, ResponseHandlingException, UnexpectedResponse

        try:
            yield
        except UnexpectedResponse as error:
            hint = f"Set {API_KEY} to a key that may." if error.status_code in (401, 403) else _HINT
            raise StoreError(f"{self.place} refuses: {_refusal(error)}", hint=hint) from error
        except (
            ResponseHandlingException,
            AssertionError,
        ) as error:  # the client asserts that there is a result
            if isinstance(error, ResponseHandlingException) and not isinstance(error.source, ValueError):
                raise StoreError(f"{self.place} cannot be reached: {_reason(error)}", hint=_HINT) from error
            raise StoreError(
                f"{self.place} does not answer as Qdrant does: {_reason(error)}",
                hint="Check vectors.qdrant_url, and the server's version with `workbench doctor`.",
            ) from error
        except QdrantException as error:
            raise StoreError(f"{self.place} has too much to do: {_reason(error)}", hint=_HINT) from error
        except (ApiException, OSError) as error:
            raise StoreError(f"{self.place} cannot be reached: {_reason(error)}", hint=_HINT) from error
        except (ValueError, KeyError, RuntimeError) as error:
            raise StoreError(f"{self.place} refuses: {_reason(error)}", hint=_HINT) from error


def checked_url(url: str) -> str:
    """Return the address of a server without a path's slash.

    Raises: ConfigError for one that is malformed, that has a login in it, or that goes to another machine in
    plain text.
    """
    server = parse_server(url)
    if server.scheme != "https" and not server.local:
        raise ConfigError(
            f"vectors.qdrant_url would send everything to {server.host} in plain text",
            hint="Write https://…; only this machine is asked without TLS.",
        )
    return server.url


def _refusal(error: UnexpectedResponse) -> str:
    """Return the status of a refusal, and the reason that the server gives in its own form."""
    try:
        reason = str(error.structured()["status"]["error"])
    except (ValueError, TypeError, KeyError):
        return _reason(error)
    return f"{' '.join(reason.split())[:_REASON]} ({error.status_code})"


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())[:_REASON] or type(error).__name__
