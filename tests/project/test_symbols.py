"""Definitions and import specifiers of source files."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tree_sitter import Node

from workbench.project import symbols as reading
from workbench.project.grammars import definitions
from workbench.project.grammars.definitions import MAX_SIGNATURE, MAX_SYMBOLS, Definitions
from workbench.project.patterns import read_table, rules_of
from workbench.project.symbols import extract_symbols, first_error
from workbench.records.project import Symbol

PYTHON = '''\
"""Doc with `import nothing`."""
import os, sys as system
from .store import (
    Journal,  # the log
    open_store as opened,
)
LIMIT: int = 3
logger = make()

@cache
@other(1)
async def fetch(url: str, *, retries=3) -> dict[str, int]:
    import json
    def inner():
        pass
    return {}

class Base(ABC, metaclass=Meta):  # a comment
    MAX = 4
    field = 1

    @property
    def name(self):
        return 1

    class Inner:
        def _hidden(self): ...

if TYPE_CHECKING:
    def late(): ...
'''
TYPESCRIPT = """\
import { a } from './a'
export * from "./b.js"
const lazy = () => import('./lazy')
export default class Store<T> extends Base implements Port {
  private secret = 1
  handler = async (x: number) => { return x }
  @input() get size(): number { return 1 }
  private hide() {}
  #gone() {}
}
export interface Port { open(path: string): void }
export type Id = string
enum Level { Low }
declare module "x" { export function f(): void }
function local() { function inner() {} }
export { local }
describe('a store', () => {
  it('opens', async () => {})
})
"""
RUST = """\
use crate::net::{tcp::Stream, self};
mod codec;
#[derive(Debug)]
#[serde(rename_all = "x")]
pub struct Frame<'a> { pub len: usize }
impl<'a> fmt::Display for Frame<'a> {
    fn fmt(&self, f: &mut Formatter) -> Result { Ok(()) }
}
impl Frame<'_> {
    pub const MAX: usize = 1;
    fn private(&self) { fn inner() {} }
}
pub trait Port { fn open(&self); }
macro_rules! square { ($x:expr) => { $x * $x } }
#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn works() {}
}
"""
GO = """\
package store
import (
\t"fmt"
\talias "example.org/x/net"
)
const (
\tA = iota
\tb
)
type Journal[T any] struct { n int }
type Port interface { Open(path string) error }
func (j *Journal[T]) Append(line string) (int, error) { return 0, nil }
func helper() { go func() {}() }
"""
JAVA = """\
import java.util.List;
import static a.b.C.max;
@Deprecated
public final class Store<T> extends Base<T> implements Port {
  public static final int MAX = 3;
  int field;
  @Override // why
  public List<T> all(int n) throws IOException { return null; }
  Store() {}
  enum Level { LOW { }, HIGH; void up() {} }
  interface Port { void open(); }
}
"""
C = """\
#ifndef STORE_H
#define STORE_H
#include <stdio.h>
#include "util/log.h"
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define LIMIT 10
typedef struct { int n; } store_t;
struct node { struct node *next; };
extern int counter;
static const char *names[] = { "a", "b" };
int store_open(const char *path);
static char *copy(const char *s) {
  return 0;
}
int store_open(const char *path) { return 0; }
#endif
"""
CPP = """\
#include <vector>
namespace net {
template <typename T> class Box : public Base<T> {
 public:
  Box() : n_(0) {}
  T get() const;
 private:
  void hide();
};
template <typename T> T Box<T>::get() const { return n_; }
bool operator==(const Box<int>& a, const Box<int>& b) { return true; }
}
"""
RUBY = """\
require "json"
require_relative "store/log"
module App
  class Store < Base
    LIMIT = 3
    def self.open(path) = new(path)
    def read(key) # reads
      helper { |x| x }
    end
    private
    def hide; end
    public def shown; end
  end
end
describe "a store" do
  it "opens" do
  end
end
"""


def found(language: str, source: str) -> dict[str, Symbol]:
    """Symbols by `parent.name`."""
    symbols, _ = extract_symbols(language, source.encode())
    return {f"{symbol.parent}.{symbol.name}" if symbol.parent else symbol.name: symbol for symbol in symbols}


def imports(language: str, source: str) -> tuple[str, ...]:
    return extract_symbols(language, source.encode())[1]


def test_python_definitions() -> None:
    """Functions, classes, methods and module names are found, closures and fields are not."""
    symbols = found("python", PYTHON)
    assert list(symbols) == [
        "LIMIT", "logger", "fetch", "Base", "Base.MAX", "Base.name", "Base.Inner", "Inner._hidden", "late",
    ]  # fmt: skip
    fetch = symbols["fetch"]
    assert (fetch.line, fetch.end_line, fetch.kind) == (10, 16, "function")
    assert fetch.signature == "async def fetch(url: str, *, retries=3) -> dict[str, int]"
    assert symbols["Base"].signature == "class Base(ABC, metaclass=Meta)"
    assert (symbols["Base.name"].line, symbols["Base.name"].kind) == (22, "method")
    assert not symbols["Inner._hidden"].exported


def test_python_imports() -> None:
    """Every imported name is a specifier, lazy imports count, words in strings do not."""
    assert imports("python", PYTHON) == ("os", "sys", ".store.Journal", ".store.open_store", "json")
    assert imports("python", "from . import a, b\nfrom x.y import *\n") == (".a", ".b", "x.y")


def test_typescript_definitions() -> None:
    """Classes with arrow members, interfaces, types, namespaces and tests are found with what is exported."""
    symbols = found("typescript", TYPESCRIPT)
    assert list(symbols) == [
        "lazy", "Store", "Store.handler", "Store.size", "Store.hide", "Store.#gone", "Port", "Port.open",
        "Id",
        "Level", "x", "x.f", "local", "a store", "a store.opens",
    ]  # fmt: skip
    exported = {name for name, symbol in symbols.items() if symbol.exported}
    assert exported == {
        "Store",
        "Store.handler",
        "Store.size",
        "Port",
        "Port.open",
        "Id",
        "x",
        "x.f",
        "local",
    }
    assert symbols["Store"].signature == "export default class Store<T> extends Base implements Port"
    assert symbols["Store.size"].line == 7
    assert symbols["a store.opens"].kind == "test"
    assert imports("typescript", TYPESCRIPT) == ("./a", "./b.js", "./lazy")


def test_tsx_and_jsx() -> None:
    """Components in all spellings are functions."""
    source = "export const Card = memo(({ a }: P) => <b>{a}</b>)\nexport function App() { return <Card/> }\n"
    assert {name: symbol.kind for name, symbol in found("tsx", source).items()} == {
        "Card": "function",
        "App": "function",
    }


def test_commonjs_definitions() -> None:
    """Assignments to exports and prototypes define, and exported names are known."""
    symbols = found(
        "javascript",
        "const x = require('./x')\nfunction build () {}\nfunction hidden () {}\n"
        "Reply.prototype.send = function (payload) {}\nexports.one = () => 1\n"
        "module.exports = { build, two () {}, three: function () {} }\n",
    )
    assert list(symbols) == ["build", "hidden", "Reply.send", "one", "exports.two", "exports.three"]
    assert [name for name, symbol in symbols.items() if not symbol.exported] == ["hidden"]


def test_rust_definitions() -> None:
    """Items carry their attributes, methods their type, and inline tests their module."""
    symbols = found("rust", RUST)
    assert (symbols["Frame.fmt"].kind, symbols["Frame.MAX"].kind) == ("method", "constant")
    assert symbols["Frame.fmt"].exported
    assert not symbols["Frame.private"].exported
    assert symbols["square"].signature == "macro_rules! square"
    assert symbols["tests.works"].line == 18
    lines = [(symbol.kind, symbol.line) for symbol in extract_symbols("rust", RUST.encode())[0]]
    assert lines[0] == ("class", 3)
    assert ("impl", 6) in lines
    assert "inner" not in {name.rpartition(".")[2] for name in symbols}
    assert imports("rust", RUST) == ("self::codec", "crate::net::tcp::Stream", "crate::net", "self")


def test_go_definitions() -> None:
    """Methods belong to their receiver's type, grouped constants stand on their own lines."""
    symbols = found("go", GO)
    assert list(symbols) == ["A", "b", "Journal", "Port", "Port.Open", "Journal.Append", "helper"]
    assert symbols["Journal.Append"].signature == "func (j *Journal[T]) Append(line string) (int, error)"
    assert (symbols["A"].line, symbols["b"].exported) == (7, False)
    assert imports("go", GO) == ("fmt", "example.org/x/net")


def test_java_definitions() -> None:
    """Annotations belong to the lines but not to the signature."""
    symbols = found("java", JAVA)
    assert symbols["Store"].line == 3
    assert symbols["Store"].signature == "public final class Store<T> extends Base<T> implements Port"
    assert symbols["Store.all"].signature == "public List<T> all(int n) throws IOException"
    assert symbols["Store.all"].line == 7
    assert {
        "Store.MAX",
        "Store.Store",
        "Store.Level",
        "Level.LOW",
        "Level.up",
        "Store.Port",
        "Port.open",
    } <= set(symbols)
    assert "Store.field" not in symbols
    assert imports("java", JAVA)[:2] == ("java.util.List", "a.b.C.max")


def test_c_definitions() -> None:
    """Definitions replace their prototypes, guards are no constants, static names are not exported."""
    symbols = found("c", C)
    assert list(symbols) == ["MAX", "LIMIT", "store_t", "node", "counter", "names", "copy", "store_open"]
    assert symbols["store_open"].line == 15
    assert not symbols["copy"].exported
    assert symbols["copy"].signature == "static char *copy(const char *s)"
    assert imports("c", C) == ("<stdio.h>", "util/log.h")


def test_cpp_definitions() -> None:
    """Headers that hold C++ are read as C++; members defined outside belong to their class."""
    symbols = found("c", CPP)
    assert symbols["Box.get"].line == 10
    assert symbols["Box.hide"].exported is False
    assert {"net", "net.Box", "Box.Box", "net.operator=="} <= set(symbols)


def test_c_function_split_by_the_preprocessor_does_not_swallow_the_next() -> None:
    """Braces that only balance after preprocessing leave the functions that follow in place."""
    source = (
        "int one(int a) {\n#ifdef X\n  if (a) {\n#else\n  while (a) {\n#endif\n    a--;\n  }\n"
        "  return a;\n}\n\n"
        "int two(int b) {\n  return b;\n}\n"
    )
    symbols = found("c", source)
    assert (symbols["one"].line, symbols["one"].end_line) == (1, 10)
    assert (symbols["two"].line, symbols["two"].end_line) == (12, 14)


def test_ruby_definitions() -> None:
    """Visibility keywords hold from where they stand; specs are tests."""
    symbols = found("ruby", RUBY)
    assert [name for name, symbol in symbols.items() if not symbol.exported] == [
        "Store.hide", "a store", "a store.opens",
    ]  # fmt: skip
    assert symbols["Store.read"].signature == "def read(key)"
    assert symbols["App.Store"].signature == "class Store < Base"
    assert imports("ruby", RUBY)[:2] == ("json", "./store/log")


def test_component_scripts_keep_their_lines() -> None:
    """The script of a single-file component is read in place."""
    source = (
        '<template>\n<a/>\n</template>\n<script setup lang="ts">\nimport A from "./A.vue"\n'
        "function go(x: number) {}\n</script>\n"
    )
    assert found("vue", source)["go"].line == 6
    assert imports("vue", source) == ("./A.vue",)


@pytest.mark.parametrize(
    ("language", "source", "names"),
    [
        ("kotlin", "class A {\n  fun b(): Int {\n    fun c() {}\n  }\n}\nfun d() = 1\n", ["A", "A.b", "d"]),
        ("csharp", "namespace N\n{\n  public class A\n  {\n    public int B(int x)\n    {\n    }\n  }\n}\n",
         ["N", "N.A", "A.B"]),
        ("php", "<?php\nclass A {\n  public function b() {\n  }\n}\nfunction c() {\n}\n", ["A", "A.b", "c"]),
        ("swift", "struct A {\n  func b() -> Int {\n  }\n}\n", ["A", "A.b"]),
        ("shell", "a() {\n  :\n}\nfunction b {\n  :\n}\n", ["a", "b"]),
        ("lua", "local function a()\nend\nfunction M.b(x)\nend\n", ["a", "M.b"]),
        ("elixir", "defmodule A.B do\n  def c(x) do\n  end\nend\n", ["A.B", "A.B.c"]),
        ("sql", "CREATE TABLE IF NOT EXISTS users (\n  id int\n);\ncreate or replace function f()\n",
         ["users", "f"]),
        ("make", "all: build\n\t@true\nX := 1\n.PHONY: all\n", ["all"]),
        ("toml", 'a = 1\n[tool.x]\nb = 2\n[[bin]]\nc = """\n[no]\n"""\n', ["a", "tool.x", "bin"]),
        ("yaml", "on: push\njobs:\n  a: 1\n", ["on", "jobs"]),
        ("json", '{\n  "a": {\n    "b": 1\n  },\n  "c": 2\n}\n', ["a", "c"]),
        ("markdown", "---\na: 1\n---\n# One\n```\n# no\n```\n## Two\ntext\n\n# Three\n",
         ["One", "One.Two", "Three"]),
        ("rst", "Title\n=====\n\nPart\n----\n\ntext\n", ["Title", "Title.Part"]),
    ],
)  # fmt: skip
def test_other_languages(language: str, source: str, names: list[str]) -> None:
    """Patterns find definitions, sections and keys where there is no grammar."""
    assert list(found(language, source)) == names


def test_pattern_ranges_end_at_the_closing_bracket() -> None:
    """Indentation gives the last line of a definition, also with brackets on lines of their own."""
    source = (
        "class A\n{\n    int B(\n        int x)\n    {\n        return 1;\n    }\n\n"
        "    int C() { return 2; }\n}\n"
    )
    symbols = found("csharp", source)
    assert (symbols["A"].line, symbols["A"].end_line) == (1, 10)
    assert (symbols["A.C"].line, symbols["A.C"].end_line) == (9, 9)


def test_section_ranges_reach_to_the_next_heading_of_their_level() -> None:
    """A section holds its subsections and ends before white space."""
    symbols = found("markdown", "# One\ntext\n## Two\nmore\n\n# Three\n")
    assert (symbols["One"].line, symbols["One"].end_line) == (1, 4)
    assert (symbols["One.Two"].line, symbols["One.Two"].end_line) == (3, 4)


LANGUAGES = ["python", "javascript", "typescript", "tsx", "rust", "go", "java", "c", "cpp", "ruby", "vue",
             "markdown", "rst", "toml", "yaml", "json", "ini", "kotlin", "csharp",
             "shell", "sql", "nosuch", ""]  # fmt: skip
BROKEN = {
    "empty": b"",
    "white": b"\n\n  \n",
    "nul": b"\0" * 500 + b"def f(): pass",
    "latin": "def café(): pass\nclass Ü: pass\n".encode("latin-1"),
    "utf16": "def f():\n    pass\n".encode("utf-16"),
    "bom": b"\xef\xbb\xbfdef f():\n    pass\n",
    "brackets": b"(" * 3000,
    "braces": b"class A { " * 800,
    "indents": b"".join(b" " * depth + b"class A:\n" for depth in range(200)),
    "modules": b"mod a { namespace a { module A\n" * 300,
    "quotes": b'"""' * 999 + b"'" * 99,
    "half": b"def f(:\n  class\nfunction ( {\nfn } pub struct\n",
    "crlf": b"def f():\r\n    pass\r\n\r\nclass A:\r\n    pass\r\n",
    "line": b"function a(){};" * 2000,
    "script": b"<script" * 2000,
}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", BROKEN)
def test_broken_sources_never_fail(language: str, name: str) -> None:
    """Whatever the bytes, symbols are well formed, ordered and within the file."""
    check(language, BROKEN[name])


@given(st.sampled_from(LANGUAGES), st.binary(max_size=300))
def test_any_bytes_never_fail(language: str, data: bytes) -> None:
    """Random bytes give well-formed symbols."""
    check(language, data)


@given(
    st.sampled_from([PYTHON, TYPESCRIPT, RUST, GO, JAVA, C, CPP, RUBY]),
    st.sampled_from(LANGUAGES),
    st.integers(0, 400),
)
def test_cut_sources_never_fail(source: str, language: str, cut: int) -> None:
    """A source cut anywhere, read in any language, gives well-formed symbols."""
    check(language, source.encode()[cut:] + source.encode()[:cut])


def check(language: str, data: bytes) -> None:
    """Symbols lie in the file, in line order, with one-line bounded signatures."""
    symbols, specifiers = extract_symbols(language, data)
    last = max(data.count(b"\n"), data.count(b"\r")) + 1
    assert [s.line for s in symbols] == sorted(s.line for s in symbols)
    assert len(symbols) <= MAX_SYMBOLS
    for symbol in symbols:
        assert 1 <= symbol.line <= symbol.end_line <= last
        assert symbol.name
        assert "\n" not in symbol.signature
        assert len(symbol.signature) <= MAX_SIGNATURE
    assert all(isinstance(specifier, str) and specifier for specifier in specifiers)
    assert extract_symbols(language, data) == (symbols, specifiers)


def test_symbols_are_bounded() -> None:
    """A generated file with thousands of definitions gives the first of them."""
    symbols, _ = extract_symbols("python", b"def f(): pass\n" * 3000)
    assert len(symbols) == MAX_SYMBOLS
    assert symbols[-1].line == MAX_SYMBOLS


def test_utf16_sources_are_read() -> None:
    """A byte order mark decides the encoding."""
    assert [symbol.name for symbol in extract_symbols("python", BROKEN["utf16"])[0]] == ["f"]


def test_every_pattern_names_something() -> None:
    """Each rule has a group to take the name from."""
    languages = [*read_table()["rules"], *read_table()["same"]]
    assert all(pattern.groups >= 1 for language in languages for _, pattern in rules_of(language))


def test_a_grammar_that_the_query_does_not_fit_leaves_patterns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a grammar of another version has other names, definitions are found by pattern."""
    other = reading._language("go")

    def collect(language: str, grammar: object, root: Node, found: Definitions) -> None:
        definitions.collect(language, other, root, found)

    monkeypatch.setattr(reading, "collect", collect)
    assert list(found("python", "def f():\n    pass\n")) == ["f"]
    assert found("python", "@x\ndef f():\n    pass\n")["f"].line == 2


def test_grammars_are_loaded_on_demand() -> None:
    """Reading Markdown loads no grammar; reading Python loads only its own."""
    code = (
        "import sys\nfrom workbench.project.symbols import extract_symbols\n"
        "extract_symbols('markdown', b'# a')\n"
        "assert not [m for m in sys.modules if m.startswith('tree_sitter')]\n"
        "extract_symbols('python', b'x = 1')\n"
        "print(sorted(m for m in sys.modules if m.startswith('tree_sitter_') and '.' not in m))"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "['tree_sitter_python']"


@pytest.mark.parametrize(
    ("language", "text", "line"),
    [
        ("python", b"x = 1\ndef broken(:\n    return 1\n", 2),
        ("python", b"def sound():\n    return 1\n", 0),
        ("go", b"package a\n\nfunc f() {\n\treturn 1 +\n}\n", 4),
        ("typescript", b"const x: number = 1;\n", 0),
        ("cpp", b"class {{{\n", 0),
        ("markdown", b"# (((\n", 0),
        ("python", b"", 0),
    ],
)
def test_the_first_line_that_does_not_parse(language: str, text: bytes, line: int) -> None:
    """It is named where a grammar is trusted; sound code and other languages have none."""
    assert first_error(language, text) == line
