"""The cache in a real Redis: what it keeps, and that no failure of Redis costs more than one short wait."""

from __future__ import annotations

import shutil
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from store.redis_cache import WAIT, RedisCache
from tests.adapters import ManualClock
from tests.redis_server import RedisServer
from workbench.errors import ConfigError

Make = Callable[..., RedisCache]
PREFIX = "workbench:test"
RETRY = 30


@pytest.fixture
def make(clock: ManualClock) -> Iterator[Make]:
    """Make caches that wait long, as nothing here is about speed, and close them in the end."""
    made: list[RedisCache] = []

    def cache(url: str, prefix: str = PREFIX, **options: Any) -> RedisCache:
        limits = {"seconds": 1800, "weight": 100, "retry": RETRY, "wait": 60.0, **options}
        made.append(RedisCache(url, prefix, clock, **limits))
        return made[-1]

    yield cache
    for each in made:
        each.close()


@pytest.fixture
def server(redis_server: RedisServer) -> RedisServer:
    with redis_server.client() as client:
        client.flushall()
    return redis_server


def test_a_request_waits_for_fifty_milliseconds_at_most() -> None:
    """A request asks once and puts once; both waits together are within the bound."""
    assert 2 * WAIT <= 0.05


def test_values_are_shared_and_expire(server: RedisServer, make: Make) -> None:
    """What one process puts another one gets, bytes as they were; Redis forgets it after its time."""
    one, two = make(server.url), make(server.url)
    one.put("a|b:c", b"\x00\xff", 3)
    assert (two.get("a|b:c"), two.get("other"), two.fault) == (b"\x00\xff", None, "")
    with server.client() as client:
        names = sorted(name.decode() for name in client.keys("*"))
        assert names == [f"{PREFIX}:order", f"{PREFIX}:value:a|b:c", f"{PREFIX}:weights"]
        assert [1700 < client.ttl(name) <= 1800 for name in names] == [True] * 3


def test_the_oldest_make_room(server: RedisServer, make: Make) -> None:
    """All values together weigh no more than allowed, also when they are replaced or weigh nothing."""
    cache = make(server.url, weight=10)
    for key in "abc":
        cache.put(key, key.encode(), 3)
    cache.put("a", b"new", 4)
    assert [cache.get(key) for key in "abc"] == [b"new", b"b", b"c"]
    cache.put("d", b"d", 3)
    assert [cache.get(key) for key in "abcd"] == [b"new", None, b"c", b"d"]
    cache.put("e", b"e", 11)
    assert cache.get("e") is None
    for number in range(20):
        cache.put(f"empty{number}", b"", 0)
    with server.client() as client:
        assert client.zcard(f"{PREFIX}:order") == 10
        assert client.hget(f"{PREFIX}:weights", "") == b"10"


def test_what_time_took_away_weighs_nothing(server: RedisServer, make: Make) -> None:
    """Values that Redis forgot by itself are no longer counted when the next one comes."""
    cache = make(server.url, weight=10)
    cache.put("old", b"old", 9)
    with server.client() as client:
        client.delete(f"{PREFIX}:value:old")
        client.zadd(f"{PREFIX}:order", {f"{PREFIX}:value:old": 1})
        cache.put("new", b"new", 9)
        assert client.hgetall(f"{PREFIX}:weights") == {b"": b"9", f"{PREFIX}:value:new".encode(): b"9"}


def test_clearing_leaves_other_projects_alone(server: RedisServer, make: Make) -> None:
    """All values of a prefix go and nothing else does."""
    ours, theirs = make(server.url), make(server.url, "workbench:other")
    for cache in (ours, theirs):
        cache.put("a", b"1")
    ours.clear()
    assert (ours.get("a"), theirs.get("a")) == (None, b"1")
    with server.client() as client:
        assert client.keys(f"{PREFIX}*") == []


def test_nobody_there_is_asked_once_in_a_while(make: Make, clock: ManualClock) -> None:
    """A refused connection costs one attempt; then none are made until the time has passed, then one."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    cache = make(f"redis://:secret@127.0.0.1:{port}/0")
    for _ in range(5):
        assert cache.get("a") is None
        cache.put("a", b"1")
        cache.clear()
    assert cache.attempts == 1
    assert f"Redis at 127.0.0.1:{port} cannot be reached" in cache.fault
    assert "secret" not in cache.fault
    clock.advance(RETRY - 1)
    cache.get("a")
    assert cache.attempts == 1
    clock.advance(1)
    cache.get("a")
    cache.get("a")
    assert cache.attempts == 2
    clock.advance(-3600)
    cache.get("a")
    assert cache.attempts == 3


def test_a_name_that_cannot_be_resolved_is_a_failure_like_others(make: Make) -> None:
    """An unknown host is told and asked once."""
    cache = make("redis://no-such-host.invalid:6379")
    assert (cache.get("a"), cache.get("b"), cache.attempts) == (None, None, 1)
    assert "Redis at no-such-host.invalid:6379" in cache.fault


def test_a_killed_server_is_missed_and_found_again(
    make_redis: Callable[..., RedisServer], make: Make, clock: ManualClock
) -> None:
    """kill -9 in the middle: misses without an error, and after the time the new server is used."""
    server = make_redis()
    cache = make(server.url)
    cache.put("a", b"1")
    assert cache.get("a") == b"1"
    server.kill()
    attempts = cache.attempts
    assert [cache.get("a") for _ in range(5)] == [None] * 5
    assert cache.attempts == attempts + 1
    assert "cannot be reached" in cache.fault
    server.start()
    assert cache.get("a") is None
    clock.advance(RETRY)
    cache.put("a", b"2")
    assert (cache.get("a"), cache.fault) == (b"2", "")


def test_a_hanging_server_is_waited_for_once(
    make_redis: Callable[..., RedisServer], make: Make, clock: ManualClock
) -> None:
    """A server that accepts and never answers costs one wait; others wait again only after the time."""
    server = make_redis()
    make(server.url).put("a", b"1")
    server.freeze()
    cache = make(server.url, wait=0.01)
    for _ in range(50):
        assert cache.get("a") is None
        cache.put("b", b"1")
    assert cache.attempts == 1
    assert "does not answer within 10 ms" in cache.fault
    clock.advance(RETRY)
    assert [cache.get("a") for _ in range(5)] == [None] * 5
    assert cache.attempts == 2
    server.thaw()
    assert make(server.url).get("a") == b"1"


def test_a_wrong_password_is_told_and_not_tried_again_and_again(
    make_redis: Callable[..., RedisServer], make: Make
) -> None:
    """Without the right password there is no value, one attempt, and a fault that doesn't quote it."""
    server = make_redis("--requirepass", "right")
    for url in (server.url, f"{server.url}?password=wrong-one"):
        cache = make(url)
        for _ in range(3):
            cache.put("a", b"1")
            assert cache.get("a") is None
        assert cache.attempts == 1
        assert "refuses the login" in cache.fault
        assert "wrong-one" not in cache.fault
    cache = make(f"{server.url}?password=right")
    cache.put("a", b"1")
    assert cache.get("a") == b"1"


def test_a_full_server_is_still_read(
    make_redis: Callable[..., RedisServer], make: Make, clock: ManualClock
) -> None:
    """Without room for values reading goes on and writing waits until the time has passed."""
    server = make_redis("--maxmemory-policy", "noeviction")
    cache = make(server.url)
    cache.put("a", b"1")
    with server.client() as client:
        client.config_set("maxmemory", 1)
        cache.put("b", b"2")
        attempts = cache.attempts
        cache.put("b", b"2")
        assert cache.attempts == attempts
        assert "does not take values: command not allowed when used memory" in cache.fault
        assert (cache.get("a"), cache.get("b")) == (b"1", None)
        client.config_set("maxmemory", 0)
        clock.advance(RETRY)
        cache.put("b", b"2")
        assert (cache.get("b"), cache.fault) == (b"2", "")


def test_a_foreign_value_under_our_key_is_a_miss(server: RedisServer, make: Make) -> None:
    """A value of another type is not returned and ours takes its place; an index of others is left alone."""
    cache = make(server.url)
    with server.client() as client:
        client.rpush(f"{PREFIX}:value:a", "x")
        assert (cache.get("a"), cache.fault) == (None, "")
        cache.put("a", b"1")
        assert cache.get("a") == b"1"
        client.set(f"{PREFIX}:order", "theirs")
        cache.put("b", b"1")
        cache.put("c", b"1")
        assert (cache.get("a"), cache.get("c")) == (b"1", None)
        assert "does not take values" in cache.fault
        assert client.get(f"{PREFIX}:order") == b"theirs"


def test_an_option_that_decodes_values_gives_misses(server: RedisServer, make: Make) -> None:
    """A URL that asks the library for texts instead of bytes gets neither."""
    make(server.url).put("a", b"1")
    with pytest.raises(ConfigError, match=r"cache\.redis_url"):
        make(f"{server.url}?decode_responses=yes&unheard_of=1")
    cache = make(f"{server.url}?decode_responses=yes")
    assert cache.get("a") is None


def test_many_threads_share_one_cache(server: RedisServer, make: Make) -> None:
    """Eight threads putting and getting get what belongs to each key, and the limit holds."""
    cache = make(server.url, weight=20)
    barrier = threading.Barrier(8)
    wrong: list[bytes] = []

    def work(number: int) -> None:
        barrier.wait()
        for step in range(30):
            key = f"k{(number + step) % 12}"
            cache.put(key, key.encode(), 1 + step % 4)
            found = cache.get(key)
            if found not in (None, key.encode()):
                wrong.append(found or b"")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (wrong, cache.fault) == ([], "")
    with server.client() as client:
        weights = client.hgetall(f"{PREFIX}:weights")
        total = int(weights.pop(b""))
        assert total == sum(map(int, weights.values()))
        assert 0 < total <= 20


@pytest.mark.parametrize(
    "url",
    ["http://localhost:6379", "localhost:6379", "redis://localhost:port", "redis://h/0?timeout=x", "::", ""],
)
def test_a_url_that_is_none_is_refused(make: Make, url: str) -> None:
    """It is said which setting is wrong and what a URL looks like."""
    with pytest.raises(ConfigError, match=r"cache\.redis_url is not the URL of a Redis") as caught:
        make(url)
    assert "rediss://" in caught.value.hint


def test_tls_is_spoken(make_redis: Callable[..., RedisServer], make: Make, tmp_path: Path) -> None:
    """rediss:// reaches a server with TLS whose certificate is trusted, and no other one."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make a certificate with")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    request = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
    ]
    request += ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    subprocess.run([*request, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    options = ("--tls-port", port, "--tls-cert-file", str(certificate), "--tls-key-file", str(key))
    server = make_redis(*options, "--tls-ca-cert-file", str(certificate), "--tls-auth-clients", "no")
    cache = make(f"rediss://127.0.0.1:{port}/0?ssl_ca_certs={certificate}")
    cache.put("a", b"1")
    assert (cache.get("a"), cache.fault) == (b"1", "")
    stranger = make(f"rediss://127.0.0.1:{port}/0")
    assert stranger.get("a") is None
    assert "certificate" in stranger.fault
    plain = make(f"redis://127.0.0.1:{port}/0")
    assert (plain.get("a"), plain.fault != "") == (None, True)
    assert make(server.url).get("a") == b"1"
