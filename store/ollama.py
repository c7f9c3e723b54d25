"""A language model run by an Ollama server (port `LanguageModel`): answers in JSON, or a ModelError.

Protocol: `POST /api/chat` with `format` (a JSON schema the decoder is held to), `stream: false`, temperature
and seed 0, and `GET /api/tags` for the models a server has. Source: Ollama's API documentation.

An answer is checked against its schema. Known keywords: `type` (one name), `enum`, `properties`, `required`,
`items`, `minItems`, `maxItems`, `minLength`, `maxLength`. Unknown properties are allowed and other keywords
are an error of the caller, so that a schema never promises what nobody checks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from http.client import HTTPException
from typing import Any, NoReturn, TypeVar

from store.http_exchange import BadReply, Deadline, Reply, exchange, parse_server
from workbench.errors import ModelError
from workbench.ports import Completion
from workbench.records.dataclass import dataclass
from workbench.text.sanitize import visible_line
from workbench.text.tokens import utf8_bound

_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
_KEYWORDS = frozenset(
    {"type", "enum", "properties", "required", "items", "minItems", "maxItems", "minLength", "maxLength"}
)


def mismatch(value: object, schema: Mapping[str, Any], place: str = "the answer") -> str:
    """Return where and how a decoded JSON value differs from a schema, '' if it does not.

    Raises: ValueError for a keyword that is not checked here.
    """
    if unknown := schema.keys() - _KEYWORDS:
        raise ValueError(f"schema keywords are not known: {', '.join(sorted(unknown))}")
    wanted = schema.get("type")
    if wanted is not None and not _is(value, wanted):
        return f"{place} is not of type {wanted}"
    if "enum" in schema and not any(_same(value, choice) for choice in schema["enum"]):
        return f"{place} is not one of {', '.join(map(json.dumps, schema['enum']))}"
    if isinstance(value, dict):
        return _object(value, schema, place)
    if isinstance(value, list):
        return _array(value, schema, place)
    if isinstance(value, str):
        return _length(len(value), schema, place, "Length", "characters")
    return ""


def _object(value: Mapping[str, Any], schema: Mapping[str, Any], place: str) -> str:
    for name in schema.get("required", ()):
        if name not in value:
            return f"{place} has no {name}"
    for name, part in schema.get("properties", {}).items():
        if name in value and (found := mismatch(value[name], part, f"{place}.{name}")):
            return found
    return ""


def _array(value: list[Any], schema: Mapping[str, Any], place: str) -> str:
    if found := _length(len(value), schema, place, "Items", "items"):
        return found
    if "items" in schema:
        for number, item in enumerate(value):
            if found := mismatch(item, schema["items"], f"{place}[{number}]"):
                return found
    return ""


def _length(length: int, schema: Mapping[str, Any], place: str, what: str, unit: str) -> str:
    if length < schema.get("min" + what, 0):
        return f"{place} has only {length} {unit}"
    if length > schema.get("max" + what, length):
        return f"{place} has {length} {unit}"
    return ""


def _is(value: object, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    if isinstance(value, float) and name == "integer":
        return value.is_integer()
    return isinstance(value, _TYPES[name])


def _same(value: object, choice: object) -> bool:
    return value == choice and isinstance(value, bool) == isinstance(choice, bool)


MAX_ANSWER = 1_000_000  # bytes
LEAST_WINDOW = 4096  # tokens; Ollama's own default
MAX_WINDOW = 32_768
_TEMPLATE = 256  # tokens a chat template adds at most
_SHOWN = 200  # characters of a server's own message
_SURVEY_SECONDS = 2.0
_OFF = "Turn it off with `workbench config unset models.llm_url`."

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class ModelState:
    """Whether a language model can be asked. `reason` is why not, `elsewhere` where texts would go if away.

    `installed` are the names of the models the server has, sorted.
    """

    model: str
    url: str
    available: bool
    reason: str = ""
    step: str = ""
    elsewhere: str = ""
    installed: tuple[str, ...] = ()


class Ollama:
    """The model called `name` on a server; `here_only`, one that is not run on this machine is not asked."""

    def __init__(self, url: str, name: str, *, here_only: bool = False) -> None:
        """Nothing is sent yet. Raises: ConfigError for an invalid address."""
        self.server = parse_server(url)
        self.name = name
        self.here_only = here_only

    @property
    def model(self) -> str:
        """Identity of the answers: `ollama:NAME`."""
        return f"ollama:{self.name}"

    def complete_json(
        self, prompt: str, schema: Mapping[str, Any], *, system: str = "", timeout: float, max_tokens: int
    ) -> Completion:
        """Return the model's answer to a prompt, an object that fits the schema. Raises: ModelError.

        `timeout` bounds the whole exchange in seconds, `max_tokens` the answer.
        """
        window = window_for(system + prompt, max_tokens)
        messages = [{"role": "system", "content": system}] if system else []
        request = {
            "model": self.name,
            "messages": [*messages, {"role": "user", "content": prompt}],
            "format": schema,
            "stream": False,
            "think": False,  # it costs tokens, and the decoder is held to the schema
            "options": {"temperature": 0, "seed": 0, "num_predict": max_tokens, "num_ctx": window},
        }
        body = json.dumps(request).encode("ascii")
        deadline = Deadline(timeout)
        if self.here_only:
            self._require_here(deadline)
        reply = self._ask("POST", "/api/chat", body, deadline)
        if reply.status != 200:
            self._refuse(reply)
        return self._completion(reply, schema, max_tokens)

    def installed_models(self, timeout: float) -> dict[str, str]:
        """Return {name: host that runs it, '' for the server itself} of its models. Raises: ModelError."""
        return self._installed_models(Deadline(timeout))

    def elsewhere(self, installed: Mapping[str, str]) -> str | None:
        """Return the host that runs the model if that is not this machine, else ''; None if it is missing."""
        names = (self.name, f"{self.name}:latest")
        found = next((installed[name] for name in names if name in installed), None)
        return found if found is None or found or self.server.local else self.server.host

    def _installed_models(self, deadline: Deadline) -> dict[str, str]:
        reply = self._ask("GET", "/api/tags", b"", deadline)
        if reply.status != 200:
            self._refuse(reply)
        return self._read(lambda: _models(_decode(reply.body)))

    def _require_here(self, deadline: Deadline) -> None:
        host = "" if self.server.local else self.server.host
        if host := host or self.elsewhere(self._installed_models(deadline)) or "":
            raise ModelError(
                f"{self.model} is run by {visible_line(host)}, and lines of files stay on this machine",
                hint="Choose a model that runs here.",
            )

    def _ask(self, method: str, path: str, body: bytes, deadline: Deadline) -> Reply:
        url = self.server.url
        try:
            return exchange(self.server, method, path, body, deadline=deadline, cap=MAX_ANSWER)
        except TimeoutError as error:
            raise ModelError(
                f"{url} did not answer within {deadline.seconds:g} s",
                hint="The first call loads the model; a smaller model answers faster.",
            ) from error
        except ConnectionRefusedError as error:
            raise ModelError(
                f"no Ollama runs at {url}", hint=f"Start it with `ollama serve`. {_OFF}"
            ) from error
        except BadReply as error:
            raise ModelError(f"{url}: {error}", hint="Is that an Ollama server?") from error
        except (HTTPException, OSError) as error:
            reason = visible_line(str(error) or type(error).__name__)[:_SHOWN]
            raise ModelError(
                f"{url} cannot be asked: {reason}", hint=f"Check models.llm_url. {_OFF}"
            ) from error

    def _refuse(self, reply: Reply) -> NoReturn:
        reason = _error_of(reply.body)
        name = visible_line(self.name)
        if 300 <= reply.status < 400:
            raise ModelError(
                f"{self.server.url} redirects elsewhere, which is not followed",
                hint="Set models.llm_url to the server itself.",
            )
        if reply.status == 404 and "model" in reason:
            raise ModelError(
                f"{self.server.url} has no model {name}", hint=f"Fetch it with `ollama pull {name}`."
            )
        raise ModelError(
            f"{self.server.url} answered {reply.status}" + (f": {reason}" if reason else ""),
            hint="Is that an Ollama server, and does its log say more?",
        )

    def _completion(self, reply: Reply, schema: Mapping[str, Any], max_tokens: int) -> Completion:
        answer, content = self._read(lambda: _content(_decode(reply.body)))
        if answer.get("done_reason") == "length":
            raise ModelError(
                f"{self.model} did not finish within {max_tokens:,} tokens",
                hint="Another model may answer to the point.",
            )
        value = self._read(lambda: _decode(content.encode("utf-8", "replace")))
        if wrong := mismatch(value, schema):
            raise ModelError(
                f"{self.model} answered in another shape: {visible_line(wrong)[:_SHOWN]}",
                hint="Update Ollama (0.5 or later holds to a schema), or use another model.",
            )
        return Completion(value, _count(answer, "prompt_eval_count"), _count(answer, "eval_count"))

    def _read(self, reader: Callable[[], Found]) -> Found:
        try:
            return reader()
        except (ValueError, RecursionError) as error:
            raise ModelError(
                f"{self.model} answered something that is not JSON as agreed",
                hint="Is that an Ollama server? Another model may do better.",
            ) from error


def survey(url: str, name: str, timeout: float = _SURVEY_SECONDS) -> ModelState:
    """Return whether a model can be asked, by asking the server for its list. Nothing is sent if it is off.

    Raises: ConfigError for an invalid address.
    """
    if not url or not name:
        missing = "models.llm_url" if not url else "models.llm"
        reason = "off" if not url and not name else f"{missing} is not set"
        return ModelState(name, url, False, reason)
    model = Ollama(url, name)
    try:
        installed = model.installed_models(timeout)
    except ModelError as error:
        return ModelState(name, url, False, error.message, error.hint)
    names = tuple(sorted(installed))
    elsewhere = model.elsewhere(installed)
    if elsewhere is None:
        return ModelState(name, url, False, "not pulled", f"Run `ollama pull {name}`.", installed=names)
    return ModelState(name, url, True, elsewhere=elsewhere, installed=names)


def window_for(text: str, max_tokens: int) -> int:
    """Return a context window, in tokens, that holds a prompt and its answer, a power of two.

    Ollama cuts a prompt that is longer than its window without saying so, and loads a model again when the
    window changes: hence an upper estimate, in coarse steps. Raises: ModelError above `MAX_WINDOW`.
    """
    needed = utf8_bound(text) + max_tokens + _TEMPLATE
    window = LEAST_WINDOW
    while window < needed:
        window *= 2
    if window > MAX_WINDOW:
        raise ModelError(
            f"the question needs a window of {needed:,} tokens, more than {MAX_WINDOW:,}",
            hint="Ask about fewer or shorter texts.",
        )
    return window


def _decode(data: bytes) -> dict[str, Any]:
    """Decode an object. Raises: ValueError, RecursionError."""
    value = json.loads(data.decode("utf-8"), parse_constant=_refuse_constant)
    if not isinstance(value, dict):
        raise ValueError("not an object")
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _content(answer: dict[str, Any]) -> tuple[dict[str, Any], str]:
    message = answer.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, str) or answer.get("done") is not True:
        raise ValueError("not a finished message")
    return answer, content


def _models(listing: dict[str, Any]) -> dict[str, str]:
    models = listing.get("models")
    if not isinstance(models, list):
        raise ValueError("not a list of models")
    found = {}
    for entry in models:
        if isinstance(entry, dict) and isinstance(name := entry.get("name"), str):
            found[visible_line(name)] = visible_line(str(entry.get("remote_host") or ""))
    return found


def _count(answer: Mapping[str, Any], name: str) -> int:
    value = answer.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _error_of(body: bytes) -> str:
    """Return a server's error message in one line, '' if there is none that can be read."""
    try:
        reason = _decode(body).get("error")
    except (ValueError, RecursionError):
        return ""
    return visible_line(reason)[:_SHOWN] if isinstance(reason, str) else ""
