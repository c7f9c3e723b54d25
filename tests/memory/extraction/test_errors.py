"""Errors in the formats of tools: type, file, line and message, each once."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.memory.extraction.errors import PARSERS, errors_of, find_errors, only_reads
from workbench.records.iterations import ErrorType, ToolUseEvent

TRACEBACK = """\
INFO starting
Traceback (most recent call last):
  File "/srv/app/main.py", line 10, in <module>
    run(1)
    ~~~^^^
  File "/srv/app/pkg/auth.py", line 42, in run
    return user["id"]
           ~~~~^^^^^^
  File "/usr/lib/python3.11/json/decoder.py", line 3, in decode
    raise KeyError(x)
KeyError: 'id'
"""
PYTEST = """\
============================= test session starts ==============================
collected 3 items

tests/test_auth.py .F                                                    [ 66%]

=================================== FAILURES ===================================
_____________________________ TestLogin.test_token _____________________________

self = <tests.test_auth.TestLogin object at 0x7f>

    def test_token(self):
>       assert refresh("a") == "b"
E       AssertionError: assert 'a' == 'b'
E         - b
E         + a

tests/test_auth.py:12: AssertionError
=========================== short test summary info ============================
FAILED tests/test_auth.py::TestLogin::test_token - AssertionError: assert 'a'...
ERROR tests/test_store.py - ModuleNotFoundError: No module named 'store'
========================= 1 failed, 1 passed, 1 error in 0.12s =================
"""
JAVASCRIPT = """\
/srv/app/src/middleware/auth.ts:42
    return user.id
                ^

TypeError: Cannot read properties of undefined (reading 'user')
    at Object.get (/srv/app/node_modules/express/index.js:5:1)
    at authenticate (/srv/app/src/middleware/auth.ts:42:17)
    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)

Node.js v22.1.0
"""
JEST = """\
 FAIL  src/cart.test.js
  ● cart › adds an item

    expect(received).toBe(expected) // Object.is equality

    Expected: 2
    Received: 1

      4 |   const cart = new Cart();
    > 5 |   expect(cart.size).toBe(2);
        |                     ^

      at Object.<anonymous> (src/cart.test.js:5:21)

Tests:       1 failed, 3 passed, 4 total
"""
VITEST = """\
 FAIL  src/cart.test.ts > cart > adds an item
AssertionError: expected 1 to be 2 // Object.is equality

- Expected
+ Received

 ❯ src/cart.test.ts:5:21
      3|
⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯[1/1]⎯
"""
ESLINT = """\

/srv/app/src/a.js
  12:5   error    'x' is not defined  no-undef
  13:1   warning  Unexpected console  no-console

/srv/app/src/b.js
  1:1  error  Parsing error: Unexpected token

✖ 3 problems (2 errors, 1 warning)
"""
RUSTC = """\
   Compiling shop v0.1.0 (/srv/app)
error[E0308]: mismatched types
  --> src/main.rs:4:18
   |
4  |     let x: i32 = "a";
   |            ---   ^^^ expected `i32`, found `&str`

error: could not compile `shop` (bin "shop") due to 1 previous error
"""
CARGO_TEST = """\
running 2 tests
test tests::adds ... FAILED
test tests::other ... ok

failures:

---- tests::adds stdout ----

thread 'tests::adds' (12345) panicked at src/lib.rs:14:9:
assertion `left == right` failed
  left: 1
 right: 2
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace
"""
GO_TEST = """\
=== RUN   TestCart
=== RUN   TestCart/adds
    cart_test.go:12: got 1, want 2
--- FAIL: TestCart (0.00s)
    --- FAIL: TestCart/adds (0.00s)
        cart_test.go:12: got 1, want 2
FAIL
FAIL	example.org/shop	0.003s
"""
GO_PANIC = """\
panic: runtime error: index out of range [3] with length 2

goroutine 1 [running]:
main.total(...)
\t/srv/app/main.go:10
main.main()
\t/srv/app/main.go:5 +0x1d
exit status 2
"""
JAVA = """\
Exception in thread "main" java.lang.IllegalStateException: not open
\tat java.base/java.util.Objects.requireNonNull(Objects.java:233)
\tat org.shop.Cart.add(Cart.java:12)
Caused by: java.lang.NullPointerException: item
\tat org.shop.Item.price(Item.java:7)
\t... 2 more
"""
MAVEN = """\
[INFO] Running org.shop.CartTest
[ERROR] Failures:
[ERROR]   CartTest.adds:25 expected: <1> but was: <2>
[ERROR] /srv/app/src/main/java/org/shop/Cart.java:[12,5] cannot find symbol
[ERROR] Failed to execute goal org.apache.maven.plugins:maven-compiler-plugin
"""
GCC = """\
src/a.c: In function 'main':
src/a.c:12:5: error: 'x' undeclared (first use in this function)
   12 |     x = 1;
src/a.c:13:1: warning: unused variable 'y' [-Wunused-variable]
src/b.c:1:10: fatal error: missing.h: No such file or directory
"""

BUN = """\
 5 | expect(size).toBe(2)
error: expect(received).toBe(expected)

Expected: 2
Received: 1

      at <anonymous> (/srv/app/cart.test.ts:5:21)
(fail) cart > adds an item [1.20ms]
(pass) cart > shows an error [0.10ms]
"""
BIOME = """\
./src/a.ts:16:40 lint/suspicious/noExplicitAny ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━

  × Unexpected any. Specify a different type.
"""
EXUNIT = """\
  1) test mount shows the badge (ShopWeb.CartLiveTest)
     test/shop_web/cart_live_test.exs:162
     ** (ArgumentError) expected selector ".badge" to return one element
     stacktrace:
       test/shop_web/cart_live_test.exs:170: (test)
"""

EXPECTED: list[tuple[str, str, list[tuple[ErrorType, str, int, str]]]] = [
    ("traceback", TRACEBACK, [(ErrorType.RUNTIME, "/srv/app/pkg/auth.py", 42, "KeyError: 'id'")]),
    (
        "pytest",
        PYTEST,
        [
            (
                ErrorType.TEST,
                "tests/test_auth.py",
                12,
                "TestLogin.test_token: AssertionError: assert 'a' == 'b'",
            ),
            (ErrorType.TEST, "tests/test_store.py", 0, "tests/test_store.py: ModuleNotFoundError: No module"),
        ],
    ),
    (
        "mypy",
        "pkg/auth.py:12: error: Incompatible return value  [return-value]\nFound 1 error in 1 file\n",
        [(ErrorType.LINT, "pkg/auth.py", 12, "Incompatible return value")],
    ),
    (
        "ruff",
        "pkg/auth.py:1:8: F401 [*] `os` imported but unused\nFound 1 error.\n",
        [(ErrorType.LINT, "pkg/auth.py", 1, "F401: [*] `os` imported")],
    ),
    (
        "ruff in full",
        "F401 [*] `os` imported but unused\n --> pkg/auth.py:1:8\n  |\n1 | import os\n",
        [(ErrorType.LINT, "pkg/auth.py", 1, "F401: `os` imported")],
    ),
    (
        "a bare SyntaxError",
        "  File \"pkg/a.py\", line 3\n    def f(\n         ^\nSyntaxError: '(' was never closed\n",
        [(ErrorType.COMPILE, "pkg/a.py", 3, "SyntaxError: '(' was never closed")],
    ),
    (
        "node",
        JAVASCRIPT,
        [(ErrorType.RUNTIME, "/srv/app/src/middleware/auth.ts", 42, "TypeError: Cannot read properties")],
    ),
    ("jest", JEST, [(ErrorType.TEST, "src/cart.test.js", 5, "cart › adds an item: expect(received)")]),
    ("vitest", VITEST, [(ErrorType.TEST, "src/cart.test.ts", 5, "cart > adds an item: AssertionError")]),
    (
        "tsc",
        "src/a.ts(12,5): error TS2304: Cannot find name 'x'.\nsrc/b.ts:3:1 - error TS1005: ';' expected.\n",
        [
            (ErrorType.COMPILE, "src/a.ts", 12, "TS2304: Cannot find name 'x'."),
            (ErrorType.COMPILE, "src/b.ts", 3, "TS1005: ';' expected."),
        ],
    ),
    (
        "eslint",
        ESLINT,
        [
            (ErrorType.LINT, "/srv/app/src/a.js", 12, "no-undef: 'x' is not defined"),
            (ErrorType.LINT, "/srv/app/src/b.js", 1, "Parsing error: Unexpected token"),
        ],
    ),
    (
        "TAP",
        "ok 1 - a\nnot ok 2 - adds\n  ---\n  location: '/srv/app/t.test.js:3:1'\n  error: 'no'\n  ...\n",
        [(ErrorType.TEST, "/srv/app/t.test.js", 3, "adds: no")],
    ),
    (
        "bun",
        BUN,
        [(ErrorType.TEST, "/srv/app/cart.test.ts", 5, "cart > adds an item: expect(received).toBe")],
    ),
    ("biome", BIOME, [(ErrorType.LINT, "./src/a.ts", 16, "lint/suspicious/noExplicitAny: Unexpected any")]),
    (
        "exunit",
        EXUNIT,
        [(ErrorType.TEST, "test/shop_web/cart_live_test.exs", 162, "test mount shows the badge: ** (Arg")],
    ),
    (
        "node's own syntax errors",
        "/srv/app/a.js:3\n  let x = ;\n          ^\n\nSyntaxError: Unexpected token ';'\n"
        "    at wrapSafe (node:internal/modules/cjs/loader:1378:20)\n",
        [(ErrorType.COMPILE, "/srv/app/a.js", 3, "SyntaxError: Unexpected token")],
    ),
    (
        "a suite of vitest",
        " FAIL  src/a.test.ts [ src/a.test.ts ]\nError: Failed to resolve import\n",
        [(ErrorType.TEST, "src/a.test.ts", 0, "Error: Failed to resolve import")],
    ),
    (
        "clippy",
        "error: this `if` has identical blocks\n  --> src/lib.rs:10:8\n   |\n   = note: `-D clippy::if`\n",
        [(ErrorType.LINT, "src/lib.rs", 10, "this `if` has identical blocks")],
    ),
    (
        "a bare exception",
        'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    next(x)\nStopIteration\n',
        [(ErrorType.RUNTIME, "a.py", 3, "StopIteration")],
    ),
    (
        "PHP",
        "PHP Fatal error:  Uncaught TypeError: no in /srv/app/a.php:5\n",
        [(ErrorType.RUNTIME, "/srv/app/a.php", 5, "TypeError: no")],
    ),
    ("rustc", RUSTC, [(ErrorType.COMPILE, "src/main.rs", 4, "E0308: mismatched types")]),
    (
        "cargo test",
        CARGO_TEST,
        [(ErrorType.TEST, "src/lib.rs", 14, "tests::adds: assertion `left == right`")],
    ),
    (
        "an older panic",
        "thread 'main' panicked at 'boom', src/main.rs:2:5\n",
        [(ErrorType.RUNTIME, "src/main.rs", 2, "boom")],
    ),
    (
        "go build",
        "# example.org/shop\n./main.go:10:5: undefined: total\n",
        [(ErrorType.COMPILE, "./main.go", 10, "undefined: total")],
    ),
    ("go test", GO_TEST, [(ErrorType.TEST, "cart_test.go", 12, "TestCart/adds: got 1, want 2")]),
    ("go panic", GO_PANIC, [(ErrorType.RUNTIME, "/srv/app/main.go", 10, "panic: runtime error: index")]),
    (
        "javac",
        "Cart.java:12: error: cannot find symbol\n    foo();\n    ^\n1 error\n",
        [(ErrorType.COMPILE, "Cart.java", 12, "cannot find symbol")],
    ),
    ("java", JAVA, [(ErrorType.RUNTIME, "Item.java", 7, "java.lang.NullPointerException: item")]),
    (
        "maven",
        MAVEN,
        [
            (ErrorType.TEST, "CartTest.java", 25, "CartTest.adds: expected: <1> but was: <2>"),
            (ErrorType.COMPILE, "/srv/app/src/main/java/org/shop/Cart.java", 12, "cannot find symbol"),
        ],
    ),
    (
        "gcc",
        GCC,
        [
            (ErrorType.COMPILE, "src/a.c", 12, "'x' undeclared"),
            (ErrorType.COMPILE, "src/b.c", 1, "missing.h: No such file"),
        ],
    ),
    (
        "a linker",
        "/usr/bin/ld: main.o: in function `main':\nmain.c:(.text+0x5): undefined reference to `add'\n",
        [(ErrorType.COMPILE, "main.c", 0, "undefined reference to add")],
    ),
]


@pytest.mark.parametrize(
    ("text", "expected"), [case[1:] for case in EXPECTED], ids=[case[0] for case in EXPECTED]
)
def test_formats_of_tools(text: str, expected: list[tuple[ErrorType, str, int, str]]) -> None:
    """Each error is told once, with its type, the place in the project's own code, and what is wrong."""
    errors = find_errors(text)
    assert [one[:3] for one in expected] == [(one.type, *(one.places or (("", 0),))[0]) for one in errors]
    for (_, _, _, message), one in zip(expected, errors, strict=True):
        assert one.message.startswith(message)


@pytest.mark.parametrize(
    ("text", "expected"), [case[1:] for case in EXPECTED], ids=[case[0] for case in EXPECTED]
)
def test_colours_and_line_ends_change_nothing(text: str, expected: list[Any]) -> None:
    """Escape sequences and carriage returns around lines leave the errors as they are."""
    painted = "".join(f"\x1b[31m{line}\x1b[0m\r\n" for line in text.splitlines())
    assert len(expected) == len(find_errors(painted))


@pytest.mark.parametrize(
    "text",
    [
        "All checks passed!\n",
        "test tests::adds ... ok\ntest result: ok. 3 passed; 0 failed\n",
        "Found 0 errors\n0 errors, 0 warnings\n",
        "We raise an error: the message says why. See docs/errors.md:12 for more.\n",
        "src/a.c:13:1: warning: unused variable 'y'\n",
        "2026-01-01 12:00:00 INFO handled error response with status 404\n",
        "PASS src/cart.test.js\n  ✓ shows an error (3 ms)\n",
        "main.go:12: listening on :8080\n",
        "panic: is what Go calls it\n",
    ],
)
def test_words_about_errors_are_none(text: str) -> None:
    """Prose, warnings, logs and tests that pass are no errors."""
    assert find_errors(text) == []


def bash(command: str, result: str, **more: Any) -> ToolUseEvent:
    return ToolUseEvent("Bash", {"command": command}, "id", result, **more)


def test_what_is_read_is_not_made() -> None:
    """A file that is shown or searched may be full of errors; a program that ran made its own."""
    assert list(errors_of(bash("cat log.txt", TRACEBACK))) == []
    assert list(errors_of(bash("grep -rn Traceback . | head -5", TRACEBACK))) == []
    assert list(errors_of(bash("git diff HEAD~1", TRACEBACK))) == []
    assert list(errors_of(ToolUseEvent("Read", {"file_path": "a.py"}, "id", TRACEBACK))) == []
    assert len(list(errors_of(bash("python main.py 2>&1 | tail -20", TRACEBACK)))) == 1
    assert len(list(errors_of(bash("cd app && make test", TRACEBACK)))) == 1
    assert only_reads(bash("cd x && ls -la && git log", ""))


@pytest.mark.parametrize(
    ("result", "kind", "message"),
    [
        (
            "Exit code 127\nbash: line 1: pnpm: command not found",
            ErrorType.RUNTIME,
            "pnpm: command not found",
        ),
        ("Exit code 1\nmkdir: cannot create '/x': Permission denied", ErrorType.PERMISSION, "mkdir: cannot"),
        ("Exit code 128\nfatal: not a git repository", ErrorType.UNKNOWN, "fatal: not a git repository"),
        (
            "<tool_use_error>String to replace not found in file.\nString: x</tool_use_error>",
            ErrorType.LOGIC,
            "String to replace not found in file.",
        ),
        (
            "Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 2\nOutput:\nerror: no such option",
            ErrorType.UNKNOWN,
            "error: no such option",
        ),
    ],
)
def test_calls_that_fail_say_why(result: str, kind: ErrorType, message: str) -> None:
    """Without a tool's format the line that says it counts, without the wrapping of the agent's own tools."""
    found = list(errors_of(bash("x", result, failed=True)))
    assert [kind] == [one.type for one in found]
    assert found[0].message.startswith(message)


@pytest.mark.parametrize("result", ["Exit code 1", "Exit code 1\n", "Sibling tool call errored", ""])
def test_failing_without_a_word_is_no_error(result: str) -> None:
    """A search without hits and a call that another one took along say nothing."""
    assert list(errors_of(bash("grep x y", result, failed=True))) == []


def test_a_refused_call_is_one_of_permission() -> None:
    """What a person or a hook refused did not run."""
    use = bash("rm -rf /", "The user doesn't want to proceed with this tool use.", rejected=True)
    assert [error.type for error in errors_of(use)] == [ErrorType.PERMISSION]


@given(
    st.lists(
        st.sampled_from([case[1] for case in EXPECTED] + ["\n", "text\n", "  at x (", 'File "']), max_size=6
    )
)
def test_any_mixture_of_outputs_is_survived(parts: list[str]) -> None:
    """Outputs after one another give bounded messages within the text, in order, and none twice."""
    text = "".join(parts)
    errors = find_errors(text)
    assert all(0 <= one.start <= one.end <= len(text) + 1 and 0 < len(one.message) <= 1_000 for one in errors)
    assert [one.start for one in errors] == sorted(one.start for one in errors)
    assert len(errors) == len({(one.message, one.places[:1]) for one in errors})


@given(st.text(alphabet=st.sampled_from("eE rorR:\n\t.py()[]-→●>1'\"\\/aFAILEDt_"), max_size=300))
def test_no_text_breaks_a_parser(text: str) -> None:
    """Every parser takes any text."""
    for parser in PARSERS:
        for found in parser.find(text):
            assert 0 <= found.start <= found.end <= len(text) + 1
