"""Values in Redis (port `Cache`), for a while, shared by processes.

Redis may be away, slow, full or somebody else's: whatever happens, a value that cannot be had is a miss.
After a failure it is left alone for a time, so that only one request pays for it.

Its commands are sent in a thread of their own: timeouts of sockets restart with each read and know nothing of
name resolution or TLS, a deadline on the whole call does. A call that is given up runs on in its thread, and
until it ends further calls fail at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import urlsplit

from workbench.errors import ConfigError
from workbench.ports import Clock

if TYPE_CHECKING:
    from redis import Redis


Result = TypeVar("Result")


class TookTooLong(Exception):
    """A call did not end in time, or one before it has not ended yet."""


class _Job:
    __slots__ = ("abandoned", "done", "error", "function", "result")

    def __init__(self, function: Callable[[], Any]) -> None:
        self.function = function
        self.done = threading.Event()
        self.abandoned = False
        self.result: Any = None
        self.error: Exception | None = None


class Caller:
    """Makes calls one after the other. `expected` are the errors that are handed to whoever waits."""

    def __init__(self, name: str, expected: tuple[type[Exception], ...]) -> None:
        self._name: Final = name
        self._expected: Final = expected
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._stuck: _Job | None = None
        self._lock = threading.Lock()

    def call(self, function: Callable[[], Result], seconds: float) -> Result:
        """Return what the function returns. Raises: TookTooLong, or the function's own expected error."""
        job = _Job(function)
        with self._lock:
            if self._stuck is not None and not self._stuck.done.is_set():
                raise TookTooLong
            self._stuck = None
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name=self._name, daemon=True)
                self._thread.start()
            self._jobs.put(job)
        if not job.done.wait(seconds):
            job.abandoned = True
            self._stuck = job
            raise TookTooLong
        if job.error is not None:
            raise job.error
        result: Result = job.result
        return result

    def close(self, seconds: float = 5.0) -> None:
        """End the thread once the calls at work are done, or leave it to the process's end."""
        with self._lock:
            thread, self._thread = self._thread, None
            if thread is not None:
                self._jobs.put(None)
        if thread is not None:
            thread.join(seconds)

    def _serve(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                if not job.abandoned:
                    job.result = job.function()
            except self._expected as error:
                job.error = error
            finally:
                job.done.set()


WAIT: Final = 0.025  # seconds for one command, connecting included; a request asks once and puts once
PATIENCE: Final = 1.0  # seconds a command nobody waits for any more may hang before its connection is closed
_REASON: Final = 200  # characters
_FOR_PEOPLE: Final = "cache.redis_url"
# A value, the order in which values were put, and their weights, with the total in the field ''. Values that
# time took away are discounted first; then the oldest go until all weigh no more than allowed. SET comes
# before anything else is written, because a full server refuses only what a script writes first.
PUT: Final = """
local value, order, weights = KEYS[1], KEYS[2], KEYS[3]
local seconds, weight, most = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
redis.call('SET', value, ARGV[1], 'EX', seconds)
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local total = tonumber(redis.call('HGET', weights, '') or 0) + weight
local function discount(name)
  total = total - tonumber(redis.call('HGET', weights, name) or 0)
  redis.call('ZREM', order, name)
  redis.call('HDEL', weights, name)
end
discount(value)
local past = now - seconds * 1000000
for _, name in ipairs(redis.call('ZRANGEBYSCORE', order, '-inf', past)) do discount(name) end
while total > most do
  local oldest = redis.call('ZRANGE', order, 0, 0)[1]
  if not oldest then total = weight break end
  redis.call('DEL', oldest)
  discount(oldest)
end
redis.call('ZADD', order, now, value)
redis.call('HSET', weights, value, weight, '', total)
redis.call('EXPIRE', order, seconds)
redis.call('EXPIRE', weights, seconds)
return total
"""
CLEAR: Final = """
for _, name in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do redis.call('DEL', name) end
return redis.call('DEL', KEYS[1], KEYS[2])
"""


class RedisCache:
    """Bytes by key in Redis, below a prefix, for `seconds`, weighing `weight` together at most.

    The oldest go first. `retry` is for how many seconds Redis is left alone after it failed, `wait` for how
    many a command is waited for. `attempts` counts the commands sent. Any number of threads may use it.
    Raises: ConfigError for an invalid URL; ImportError where the package `redis` is not installed.
    """

    def __init__(
        self,
        url: str,
        prefix: str,
        clock: Clock,
        *,
        seconds: int,
        weight: int,
        retry: float,
        wait: float | None = None,
    ) -> None:
        from redis import RedisError

        self._client = _client(url)
        self._place = _place(url)
        self._prefix = prefix
        self._clock = clock
        self._seconds = seconds
        self._most = weight
        self._wait = WAIT if wait is None else wait
        self._commands = _Breaker(clock, retry)
        self._writes = _Breaker(clock, retry)
        self._caller = Caller("redis-cache", (RedisError, OSError, ValueError))
        self.attempts = 0

    @property
    def fault(self) -> str:
        """Why values are not found or kept at the moment, in a sentence; empty if all is well."""
        return self._commands.fault or self._writes.fault

    def get(self, key: str) -> bytes | None:
        """Return the value if Redis has one and answers in time."""
        name = self._name(key)
        value = self._ask(lambda: self._client.get(name))
        return value if isinstance(value, bytes) else None

    def put(self, key: str, value: bytes, weight: int = 1) -> None:
        """Store the value if Redis takes it in time; one too heavy is not stored."""
        weight = max(weight, 1)
        if weight > self._most or not self._writes.is_closed():
            return
        keys = [self._name(key), *self._index()]
        limits = (self._seconds, weight, self._most)
        self._ask(lambda: self._client.eval(PUT, len(keys), *keys, value, *limits), self._writes)

    def clear(self) -> None:
        """Forget every value below the prefix."""
        keys = self._index()
        self._ask(lambda: self._client.eval(CLEAR, len(keys), *keys), self._writes)

    def close(self) -> None:
        """Close the connections."""
        self._caller.close()
        self._client.close()

    def _name(self, key: str) -> str:
        return f"{self._prefix}:value:{key}"

    def _index(self) -> list[str]:
        return [f"{self._prefix}:order", f"{self._prefix}:weights"]

    def _ask(self, command: Callable[[], Any], writes: _Breaker | None = None) -> object:
        """Return Redis's answer, None if there is none; what went wrong is left in a breaker."""
        from redis import AuthenticationError, RedisError, ResponseError
        from redis.exceptions import AuthorizationError, NoPermissionError

        if not self._commands.is_closed():
            return None
        self.attempts += 1
        try:
            answer = self._caller.call(command, self._wait)
        except TookTooLong:
            self._commands.note_failure(f"{self._place} does not answer within {self._wait * 1000:.0f} ms")
        except (AuthenticationError, AuthorizationError, NoPermissionError) as error:
            self._commands.note_failure(f"{self._place} refuses the login or the command: {_reason(error)}")
        except ResponseError as error:
            self._commands.note_success()
            if writes is not None:
                writes.note_failure(f"{self._place} does not take values: {_reason(error)}")
        except (RedisError, OSError, ValueError) as error:
            self._commands.note_failure(f"{self._place} cannot be reached: {_reason(error)}")
        else:
            self._commands.note_success()
            if writes is not None:
                writes.note_success()
            return answer
        return None


class _Breaker:
    """Lets calls through until one fails, none for `retry` seconds, then one to see (circuit breaker)."""

    def __init__(self, clock: Clock, retry: float) -> None:
        self._clock = clock
        self._retry = retry
        self._since: float | None = None
        self._lock = threading.Lock()
        self.fault = ""

    def is_closed(self) -> bool:
        """Whether a call may be made; after the wait it is one caller's turn to see."""
        with self._lock:
            if self._since is None:
                return True
            now = self._clock.now()
            if 0 <= now - self._since < self._retry:
                return False
            self._since = now
            return True

    def note_failure(self, fault: str) -> None:
        """A call failed."""
        with self._lock:
            self._since, self.fault = self._clock.now(), fault

    def note_success(self) -> None:
        """A call succeeded."""
        with self._lock:
            self._since, self.fault = None, ""


def _client(url: str) -> Redis:
    from redis import ConnectionPool, Redis
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    try:
        pool = ConnectionPool.from_url(
            url,
            socket_connect_timeout=PATIENCE,
            socket_timeout=PATIENCE,
            retry=Retry(NoBackoff(), 0),
            protocol=2,  # no greeting: one round trip less until the first answer
            driver_info=None,
        )
        pool.make_connection()  # connects to nothing, but takes the options of the URL
    except (ValueError, TypeError) as error:
        raise ConfigError(
            f"{_FOR_PEOPLE} is not the URL of a Redis: {_reason(error)}",
            hint="Write redis://host:6379/0, rediss://… for TLS, or unix:///path/to/redis.sock.",
        ) from None
    return Redis(connection_pool=pool)


def _place(url: str) -> str:
    """Return the server of a URL without its password."""
    parts = urlsplit(url)
    return f"Redis at {parts.path if parts.scheme == 'unix' else parts.netloc.rpartition('@')[2]}"


def _reason(error: Exception) -> str:
    text = str(error).partition(" script: ")[0]  # what follows names the script by its digest
    return " ".join(text.split())[:_REASON] or type(error).__name__
