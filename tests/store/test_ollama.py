"""The Ollama adapter against a real HTTP server: what is asked, what is answered, and all that fails."""

from __future__ import annotations

import socket
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.http_exchange import BadReply, Deadline, Server, exchange, parse_server
from store.ollama import LEAST_WINDOW, MAX_ANSWER, MAX_WINDOW, Ollama, survey, window_for
from workbench.errors import ConfigError, ModelError
from workbench.text.tokens import utf8_bound

SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string", "enum": ["yes", "no"]}},
    "required": ["answer"],
}
PATIENCE = 120.0  # seconds for an answer that does come
SHORT = 0.3


def ask(fake: Any, timeout: float = PATIENCE, name: str = "tiny", max_tokens: int = 50) -> Any:
    return Ollama(fake.url, name).complete_json(
        "Is it?", SCHEMA, system="Say yes.", timeout=timeout, max_tokens=max_tokens
    )


def refused_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def test_a_question_is_asked_as_the_protocol_has_it(ollama: Any) -> None:
    """One POST with the schema as format, no stream, no randomness, and a window that holds all of it."""
    ollama.answers = ['{"answer": "yes"}']
    ollama.extra |= {"prompt_eval_count": 31, "eval_count": 7}
    found = ask(ollama)
    assert found.value == {"answer": "yes"}
    assert (found.prompt_tokens, found.answer_tokens) == (31, 7)
    assert ollama.requests == [
        (
            "/api/chat",
            {
                "model": "tiny",
                "messages": [
                    {"role": "system", "content": "Say yes."},
                    {"role": "user", "content": "Is it?"},
                ],
                "format": SCHEMA,
                "stream": False,
                "think": False,
                "options": {"temperature": 0, "seed": 0, "num_predict": 50, "num_ctx": LEAST_WINDOW},
            },
        )
    ]
    assert Ollama(ollama.url, "tiny").model == "ollama:tiny"


def test_counts_a_server_leaves_out_are_zero(ollama: Any) -> None:
    """Counts that are missing or no numbers count as unknown."""
    ollama.answers = ['{"answer": "no"}']
    ollama.extra |= {"prompt_eval_count": "many", "eval_count": -3}
    found = ask(ollama)
    assert (found.prompt_tokens, found.answer_tokens) == (0, 0)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("yes, it is", "not JSON"),
        ('{"answer": "yes"', "not JSON"),
        ('["yes"]', "not JSON"),
        ('{"answer": NaN}', "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('{"answer": "maybe"}', "another shape: the answer.answer is not one of"),
        ("{}", "another shape: the answer has no answer"),
    ],
)
def test_an_answer_of_another_shape_is_an_error(ollama: Any, content: str, expected: str) -> None:
    """Prose, broken JSON, endless nesting and values outside the schema are refused."""
    ollama.answers = [content]
    with pytest.raises(ModelError, match=expected) as caught:
        ask(ollama)
    assert caught.value.hint


def test_an_answer_cut_off_at_its_limit_is_an_error(ollama: Any) -> None:
    """What ended for its length is not taken for an answer, even where it parses."""
    ollama.answers = ['{"answer": "yes"}']
    ollama.extra = {"done": True, "done_reason": "length"}
    with pytest.raises(ModelError, match="within 50 tokens"):
        ask(ollama)


@pytest.mark.parametrize(
    "extra", [{"done": False}, {"done": True, "message": None}, {"done": True, "message": {}}]
)
def test_an_unfinished_message_is_an_error(ollama: Any, extra: dict[str, Any]) -> None:
    """A message without content, or not done, is none."""
    ollama.extra = extra
    with pytest.raises(ModelError, match="not JSON as agreed"):
        ask(ollama)


def test_a_model_that_was_not_pulled_says_how(ollama: Any) -> None:
    """A 404 for the model comes with the command that fetches it."""
    with pytest.raises(ModelError, match="has no model huge") as caught:
        ask(ollama, name="huge")
    assert caught.value.hint == "Fetch it with `ollama pull huge`."


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (500, b'{"error": "out of\\u001b[2J memory"}', "answered 500: out of␛\\[2J memory"),
        (404, b"<html>", "answered 404$"),
        (400, b'{"error": ["a"]}', "answered 400$"),
        (200, b"<html>", "not JSON as agreed"),
        (200, b"\xff\xfe", "not JSON as agreed"),
        (200, b"", "not JSON as agreed"),
    ],
)
def test_what_is_no_answer_says_what_came(ollama: Any, status: int, body: bytes, expected: str) -> None:
    """Other statuses come with the server's own words, made safe to show; other bodies with a hint."""
    ollama.handle = lambda handler: ollama.send_bytes(handler, status, body)
    with pytest.raises(ModelError, match=expected) as caught:
        ask(ollama)
    assert caught.value.hint


def test_nobody_listening_says_how_to_start_it() -> None:
    """A refused connection names the address and the command."""
    url = f"http://127.0.0.1:{refused_port()}"
    with pytest.raises(ModelError, match=f"no Ollama runs at {url}") as caught:
        Ollama(url, "tiny").complete_json("x", SCHEMA, timeout=PATIENCE, max_tokens=5)
    assert "ollama serve" in caught.value.hint


def test_redirects_are_not_followed(ollama: Any) -> None:
    """A server that points elsewhere is refused, and nothing is asked there."""

    def redirect(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(307)
        handler.send_header("Location", f"{ollama.url}/elsewhere")
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    ollama.handle = redirect
    with pytest.raises(ModelError, match="redirects elsewhere"):
        ask(ollama)
    assert [path for path, _ in ollama.requests] == ["/api/chat"]


def test_proxies_of_the_environment_are_not_used(ollama: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The request goes to the configured host whatever proxy the environment names."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{refused_port()}")
    ollama.answers = ['{"answer": "no"}']
    assert ask(ollama).value == {"answer": "no"}


def test_a_server_that_says_nothing_is_given_up(ollama: Any) -> None:
    """A request that is read and never answered ends at the deadline."""
    ollama.handle = lambda handler: ollama.stop.wait()
    with pytest.raises(ModelError, match=r"did not answer within 0\.3 s"):
        ask(ollama, SHORT)


@pytest.mark.parametrize("part", ["headers", "body"])
def test_a_server_that_drips_is_given_up(ollama: Any, part: str) -> None:
    """The deadline is for the whole exchange: a byte now and then does not prolong it."""

    def drip(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 900000\r\nX-Slow: ")
        if part == "body":
            handler.wfile.write(b"no\r\n\r\n")
        while not ollama.stop.wait(0.01):
            try:
                handler.wfile.write(b" ")
            except (BrokenPipeError, ConnectionResetError):
                return

    ollama.handle = drip
    with pytest.raises(ModelError, match=r"did not answer within 0\.3 s"):
        ask(ollama, SHORT)


def test_a_huge_answer_is_not_read(ollama: Any) -> None:
    """More bytes than the cap are refused, announced or not."""
    ollama.handle = lambda handler: ollama.send_bytes(handler, 200, b"{", length=MAX_ANSWER + 1)
    with pytest.raises(ModelError, match="bytes, more than 1,000,000"):
        ask(ollama)

    def endless(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.0 200 OK\r\n\r\n")
        while not ollama.stop.is_set():
            try:
                handler.wfile.write(b" " * 65_536)
            except (BrokenPipeError, ConnectionResetError):
                return

    ollama.handle = endless
    with pytest.raises(ModelError, match="more than 1,000,000 bytes"):
        ask(ollama)


def test_an_answer_that_ends_early_is_an_error(ollama: Any) -> None:
    """Fewer bytes than announced, a chunk cut off, and no HTTP at all are told apart from an answer."""
    ollama.handle = lambda handler: ollama.send_bytes(handler, 200, b'{"message"', length=100)
    with pytest.raises(ModelError, match="10"):
        ask(ollama)

    def chunked(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n{}")

    ollama.handle = chunked
    with pytest.raises(ModelError, match="cannot be asked: IncompleteRead"):
        ask(ollama)

    ollama.handle = lambda handler: handler.wfile.write(b"SSH-2.0-OpenSSH_9.6\r\n") and None
    with pytest.raises(ModelError, match="cannot be asked"):
        ask(ollama)

    ollama.handle = lambda handler: None
    with pytest.raises(ModelError, match="cannot be asked"):
        ask(ollama)


def test_encrypted_and_plain_do_not_mix(ollama: Any) -> None:
    """A TLS handshake with a plain server fails with a sentence."""
    with pytest.raises(ModelError, match="cannot be asked"):
        Ollama(ollama.url.replace("http:", "https:"), "tiny").complete_json(
            "x", SCHEMA, timeout=PATIENCE, max_tokens=5
        )


@pytest.mark.parametrize(
    ("name", "expected"),
    [("tiny", (True, "", "")), ("tiny:latest", (True, "", "")), ("huge", (False, "not pulled", ""))],
)
def test_a_survey_tells_what_the_server_has(ollama: Any, name: str, expected: tuple[bool, str, str]) -> None:
    """A model is available if the server lists it, by its name or as its latest."""
    state = survey(ollama.url, name)
    assert (state.available, state.reason, state.elsewhere) == expected
    assert state.installed == ("tiny:latest",)
    assert state.step == ("" if state.available else "Run `ollama pull huge`.")
    assert [path for path, _ in ollama.requests] == ["/api/tags"]


def test_a_survey_tells_of_models_that_run_elsewhere(ollama: Any) -> None:
    """A server can pass a model's questions on: the host that answers them is named."""
    ollama.models = [{"name": "big-cloud", "remote_host": "https://ollama.com:443"}, {"size": 3}, "odd"]
    assert survey(ollama.url, "big-cloud").elsewhere == "https://ollama.com:443"


def test_a_survey_asks_nobody_when_it_is_off(ollama: Any) -> None:
    """Without an address or a name nothing is sent."""
    assert survey("", "").reason == "off"
    assert survey(ollama.url, "").reason == "models.llm is not set"
    assert survey("", "tiny").reason == "models.llm_url is not set"
    assert ollama.requests == []


def test_a_survey_of_nobody_says_so(ollama: Any) -> None:
    """A server that is not there, or is none, is a reason, not an error."""
    state = survey(f"http://127.0.0.1:{refused_port()}", "tiny")
    assert (state.available, state.reason.partition(" at ")[0]) == (False, "no Ollama runs")
    ollama.handle = lambda handler: ollama.send(handler, 200, {"models": 3})
    assert "not JSON as agreed" in survey(ollama.url, "tiny").reason
    ollama.handle = lambda handler: ollama.send(handler, 503, {})
    assert "answered 503" in survey(ollama.url, "tiny").reason


@pytest.mark.parametrize(
    ("url", "expected", "local"),
    [
        ("http://127.0.0.1:11434", "http://127.0.0.1:11434", True),
        (" http://localhost:11434/ ", "http://localhost:11434", True),
        ("http://[::1]:11434", "http://[::1]:11434", True),
        ("https://llm.example.org/ollama/", "https://llm.example.org:443/ollama", False),
        ("http://127.example.org", "http://127.example.org:80", False),
    ],
)
def test_addresses_are_read(url: str, expected: str, local: bool) -> None:
    """Scheme, host, port and path survive; the port has its default."""
    server = parse_server(url)
    assert (server.url, server.local) == (expected, local)


@pytest.mark.parametrize(
    "url",
    [
        "127.0.0.1:11434",
        "localhost",
        "ftp://localhost",
        "http://",
        "http://localhost:99999",
        "http://me:secret@localhost",
        "http://localhost/?a=b",
        "http://localhost/#a",
        "http://löcalhost",
        "http://local host",
        "http://[::1",
    ],
)
def test_what_is_no_address_is_refused(url: str) -> None:
    """Other schemes, credentials, queries and odd characters are refused; a secret is not repeated."""
    with pytest.raises(ConfigError) as caught:
        parse_server(url)
    assert "http://127.0.0.1:11434" in caught.value.hint
    assert "secret" not in caught.value.message


@given(st.text(max_size=40))
def test_no_address_crashes_the_reader(url: str) -> None:
    """Any text is an address or a ConfigError."""
    try:
        server = parse_server(url)
    except ConfigError:
        return
    assert isinstance(server, Server)
    assert parse_server(server.url) == server


def test_a_deadline_counts_down_once() -> None:
    """What is left is of the whole, and once it has passed every wait is refused."""
    moments = iter([100.0, 101.0, 104.5, 105.0])
    deadline = Deadline(5.0, lambda: next(moments))
    assert [deadline.seconds_left(), deadline.seconds_left()] == [4.0, 0.5]
    with pytest.raises(TimeoutError):
        deadline.seconds_left()


def test_the_cap_counts_the_body_alone(ollama: Any) -> None:
    """A body of exactly the cap is read, one more byte is not."""
    server = parse_server(ollama.url)
    ollama.handle = lambda handler: ollama.send_bytes(handler, 200, b"x" * 10)
    assert exchange(server, "GET", "/", deadline=Deadline(PATIENCE), cap=10).body == b"x" * 10
    with pytest.raises(BadReply):
        exchange(server, "GET", "/", deadline=Deadline(PATIENCE), cap=9)


@given(st.text(max_size=200), st.integers(1, 20_000))
def test_a_window_holds_prompt_and_answer(text: str, answer: int) -> None:
    """Windows are powers of two, never less than what is estimated from above."""
    window = window_for(text, answer)
    assert window & (window - 1) == 0
    assert LEAST_WINDOW <= window <= MAX_WINDOW
    assert window >= utf8_bound(text) + answer


def test_a_prompt_beyond_the_largest_window_is_refused(ollama: Any) -> None:
    """What would be cut without a word is not sent."""
    with pytest.raises(ModelError, match="needs a window of"):
        Ollama(ollama.url, "tiny").complete_json("word " * 40_000, SCHEMA, timeout=PATIENCE, max_tokens=5)
    assert ollama.requests == []


def test_odd_characters_reach_the_server(ollama: Any) -> None:
    """Lone surrogates, controls and quotes arrive as they were given."""
    ollama.answers = ['{"answer": "no"}']
    odd = 'a\udc80\x00"\u2028'
    Ollama(ollama.url, "tiny").complete_json(odd, SCHEMA, timeout=PATIENCE, max_tokens=5)
    assert ollama.requests[0][1]["messages"] == [{"role": "user", "content": odd}]
