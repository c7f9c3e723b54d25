"""An index kept up to date by edits equals one built from scratch; it scores like a known library."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.project.arrays import Pool, open_arrays, write_arrays
from workbench.project.extraction import extract_facts
from workbench.project.index import FIELDS, FILE, ProjectIndex, load_index
from workbench.project.updates import build_index, compact, path_terms, save_index, update_index
from workbench.records.project import FileFacts

PATHS = (
    "pkg/__init__.py",
    "pkg/auth.py",
    "pkg/token.py",
    "pkg/deep/__init__.py",
    "pkg/deep/util.py",
    "tests/test_auth.py",
    "tests/test_token.py",
    "web/app.js",
    "web/store.js",
    "web/app.test.js",
    "README.md",
    "conf\udcff.toml",
)
BODIES = (
    "",
    "import pkg.auth\nfrom pkg import token\n\ndef refresh(): return token\n",
    "from pkg.deep import util\n\nclass TokenStore:\n    def renew(self):\n        return util.now()\n",
    "import { store } from './store'\nexport function app() { return store }\n",
    "export const store = 1\n",
    "# Token refresh\n\nSee `pkg/auth.py`.\n",
    "from . import auth\nfrom .deep.util import now\n",
    "from pkg import now, renew\nfrom pkg.deep import util\n",
    "from pkg.deep.util import now\nfrom pkg.token import renew\n",
)

Tree = dict[str, str]
TREES = st.dictionaries(st.sampled_from(PATHS), st.sampled_from(BODIES), max_size=len(PATHS))


def facts_of(path: str, body: str) -> FileFacts:
    return extract_facts(path, body.encode())


def built(tree: Tree) -> ProjectIndex:
    paths = sorted(tree)
    return build_index(
        paths, [facts_of(path, tree[path]) for path in paths], [len(tree[path]) for path in paths]
    )


def edited(index: ProjectIndex, before: Tree, after: Tree) -> ProjectIndex:
    """Bring an index from one tree to another with one update."""
    changed = {
        path: (facts_of(path, body), len(body)) for path, body in after.items() if before.get(path) != body
    }
    return update_index(index, changed, [path for path in before if path not in after])


def named(
    index: ProjectIndex, pairs: np.ndarray[tuple[int, ...], np.dtype[np.int32]]
) -> list[tuple[str, str]]:
    """Return edges by path, sorted, repeats kept."""
    return sorted((index.paths[first], index.paths[second]) for first, second in pairs.tolist())


def assert_same_content(left: ProjectIndex, right: ProjectIndex) -> None:
    """Compare everything two one-segment indexes hold, arrays byte for byte."""
    assert left.paths == right.paths
    assert left.languages == right.languages
    assert left.roles == right.roles
    assert dict(left.positions) == dict(right.positions)
    for name in ("size", "lines", "alive", "edges", "tests"):
        np.testing.assert_array_equal(getattr(left, name), getattr(right, name), err_msg=name)
        assert getattr(left, name).dtype == getattr(right, name).dtype
    for field in FIELDS:
        ours, theirs = left.segments[0].fields[field], right.segments[0].fields[field]
        for name in ("terms", "starts", "docs", "counts", "lengths"):
            np.testing.assert_array_equal(
                getattr(ours, name), getattr(theirs, name), err_msg=f"{field}.{name}"
            )
    assert list(left.segments[0].records) == list(right.segments[0].records)


@given(st.lists(TREES, min_size=1, max_size=5))
def test_updates_and_compaction_equal_a_build(trees: list[Tree]) -> None:
    """However many edits led to a tree, the compacted index is the one built from that tree."""
    index = built(trees[0])
    for before, after in pairwise(trees):
        index = edited(index, before, after)
    assert_same_content(compact(index), built(trees[-1]))


@given(
    st.lists(TREES, min_size=2, max_size=4), st.sampled_from(["auth token", "refresh store", "pkg util now"])
)
def test_scores_do_not_tell_an_updated_index_from_a_built_one(trees: list[Tree], query: str) -> None:
    """Dead files and a long tail change no score, no coverage, no frequency, no edge and no test."""
    index = built(trees[0])
    for before, after in pairwise(trees):
        index = edited(index, before, after)
    fresh = built(trees[-1])
    terms = dict.fromkeys(query.split(), 1.0)
    assert sorted(index.positions) == list(fresh.paths)
    rows = [index.positions[path] for path in fresh.paths]
    assert set(np.flatnonzero(index.alive).tolist()) == set(rows)
    for field in FIELDS:
        np.testing.assert_allclose(index.bm25(field, terms)[rows], fresh.bm25(field, terms), rtol=1e-6)
        np.testing.assert_allclose(
            index.coverage(field, terms)[rows], fresh.coverage(field, terms), rtol=1e-6
        )
        assert not index.bm25(field, terms)[~index.alive].any()
        for term in terms:
            assert index.frequency(field, term) == fresh.frequency(field, term)
    assert named(index, index.edges) == named(fresh, fresh.edges)
    assert named(index, index.tests) == named(fresh, fresh.tests)
    for path in fresh.paths:
        assert index.record(index.positions[path]) == fresh.record(fresh.positions[path])


WORDS = ("alpha", "beta", "gamma", "delta", "omega")


@given(
    st.lists(st.dictionaries(st.sampled_from(WORDS), st.integers(1, 5), max_size=5), min_size=1, max_size=8),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=4, unique=True),
)
def test_bm25_agrees_with_bm25s(documents: list[dict[str, int]], query: list[str]) -> None:
    """Scores are those of the bm25s library with Lucene's idf, times k1 + 1, which it leaves out."""
    bm25s = pytest.importorskip("bm25s")
    if not any(documents):
        return
    facts = [
        FileFacts(
            extract_facts("a.txt", b"").language, extract_facts("a.txt", b"").role, 1, 1, body_terms=document
        )
        for document in documents
    ]
    index = build_index([f"{number}.txt" for number in range(len(facts))], facts, [1] * len(facts))
    oracle = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    corpus = [[word for word, count in document.items() for _ in range(count)] for document in documents]
    mean = max(sum(len(text) for text in corpus) / len(corpus), 1.0)
    if mean == 1.0 and sum(len(text) for text in corpus) < len(corpus):
        return  # texts of less than one term on average: ours never divides by less than one
    oracle.index(corpus, show_progress=False)
    known = [word for word in query if any(word in document for document in documents)]
    expected = oracle.get_scores(known) * 2.2 if known else np.zeros(len(documents))
    np.testing.assert_allclose(index.bm25("body", dict.fromkeys(query, 1.0)), expected, rtol=1e-4, atol=1e-5)


def test_positions_stay() -> None:
    """An edit moves no file, and what it does not touch is the same object as before."""
    tree = {"a.py": "import b\nx = 1\n", "b.py": "y = 2\n", "c.py": "z = 3\n"}
    index = built(tree)
    after = edited(index, tree, {**tree, "a.py": "import b\nx = 4\n"})
    assert after.paths is index.paths
    assert after.positions is index.positions
    assert after.edges is index.edges
    assert after.tests is index.tests
    assert after.frequency("body", "4") == index.frequency("body", "4")
    assert index.frequency("body", "x") == after.frequency("body", "x")


def test_an_index_is_not_changed_by_its_update() -> None:
    """Whoever still holds the index of before an edit reads what it was made from."""
    tree = {"a.py": "alpha = 1\n", "b.py": "beta = 2\n"}
    index = built(tree)
    edited(index, tree, {"a.py": "gamma = 1\n"})
    assert index.frequency("body", "alpha") == index.frequency("body", "beta") == 1
    assert index.alive.all()


def test_what_a_package_passes_on_is_followed_after_an_edit() -> None:
    """An `__init__` that passes on another name redirects the imports of files that did not change."""
    tree = {
        "pkg/__init__.py": "from pkg.one import name\n",
        "pkg/one.py": "name = 1\n",
        "pkg/two.py": "name = 2\n",
        "user.py": "from pkg import name\n",
    }
    index = built(tree)
    assert ("user.py", "pkg/one.py") in named(index, index.edges)
    after = edited(index, tree, {**tree, "pkg/__init__.py": "from pkg.two import name\n"})
    assert ("user.py", "pkg/two.py") in named(after, after.edges)
    assert ("user.py", "pkg/one.py") not in named(after, after.edges)


def test_a_long_tail_is_merged() -> None:
    """However many edits one by one, a query looks into a bounded number of segments."""
    tree = {f"f{number}.py": f"name_{number} = 1\n" for number in range(6)}
    index = built(tree)
    for turn in range(40):
        after = {**tree, f"f{turn % 7}.py": f"name_{turn} = {turn}\n"}
        index = edited(index, tree, after)
        tree = after
        assert len(index.segments) <= 9
    assert_same_content(compact(index), built(tree))


def test_a_new_file_redirects_the_imports_of_others() -> None:
    """A module that appears gets the edges of files that imported it before it was there."""
    tree = {"pkg/__init__.py": "", "pkg/auth.py": "from pkg import token\n"}
    index = built(tree)
    assert ("pkg/auth.py", "pkg/token.py") not in named(index, index.edges)
    after = edited(index, tree, {**tree, "pkg/token.py": "VALUE = 1\n"})
    assert ("pkg/auth.py", "pkg/token.py") in named(after, after.edges)


def test_a_removed_file_loses_its_edges() -> None:
    """No edge or test leads to or from a file that is gone, and it cannot be found."""
    tree = {"pkg/__init__.py": "", "pkg/auth.py": "", "tests/test_auth.py": "from pkg import auth\n"}
    index = built(tree)
    assert ("tests/test_auth.py", "pkg/auth.py") in named(index, index.tests)
    after = edited(index, tree, {path: body for path, body in tree.items() if path != "pkg/auth.py"})
    assert "pkg/auth.py" not in after.positions
    assert "pkg/auth.py" not in {path for pair in named(after, after.tests) for path in pair}
    assert "pkg/auth.py" not in {path for pair in named(after, after.edges) for path in pair}


def test_an_empty_index_answers() -> None:
    """Nothing indexed gives empty scores, not errors, and files can be added to it."""
    index = built({})
    assert index.count == 0
    assert index.bm25("body", {"a": 1.0}).shape == (0,)
    assert index.coverage("path", {"a": 1.0}).shape == (0,)
    assert edited(index, {}, {"a.py": "alpha\n"}).bm25("body", {"alpha": 1.0}).max() > 0
    assert compact(edited(index, {}, {})).count == 0


def test_removing_an_unknown_path_changes_nothing() -> None:
    """A path that never was in the index can be removed from it."""
    index = built({"a.py": "alpha\n"})
    after = update_index(index, {}, ["nowhere.py"])
    assert_same_content(compact(after), index)


def test_a_file_name_counts_twice_in_its_path() -> None:
    """The terms of the last part of a path weigh more than its folders'."""
    counts = path_terms("auth/session.py")
    assert counts["session"] == 2
    assert counts["auth"] == 1


TREE = {
    "a/__init__.py": "",
    "a/auth.py": "def refresh(token):\n    return token\n",
    "tests/test_auth.py": "from a import auth\n",
    "latin\udce9.txt": "word\n",
}


def index_of(tree: dict[str, str]) -> ProjectIndex:
    paths = sorted(tree)
    return build_index(paths, [extract_facts(path, tree[path].encode()) for path in paths], [1] * len(paths))


def assert_opens_equal(index: ProjectIndex, directory: Path) -> None:
    """Compare what was saved with what is opened, except for dead files, which are not saved."""
    opened = load_index(directory)
    assert sorted(opened.positions) == sorted(index.positions)
    for path, position in opened.positions.items():
        assert opened.record(position) == index.record(index.positions[path])
    assert opened.bm25("body", {"token": 1.0}).sum() == pytest.approx(
        index.bm25("body", {"token": 1.0}).sum()
    )
    assert len(opened.edges) == len(index.edges)
    assert len(opened.tests) == len(index.tests)
    assert opened.alive.all()


def test_a_saved_index_opens_equal(tmp_path: Path) -> None:
    """Names that are not UTF-8, empty files, symbols and edges survive."""
    index = index_of(TREE)
    save_index(index, tmp_path)
    assert_opens_equal(index, tmp_path)
    assert load_index(tmp_path).paths == index.paths


def test_a_mended_index_is_saved_without_its_dead(tmp_path: Path) -> None:
    """A tail and dead files are merged away on the way to the disk."""
    index = update_index(index_of(TREE), {"b.py": (extract_facts("b.py", b"token = 1\n"), 1)}, ["a/auth.py"])
    save_index(index, tmp_path)
    assert_opens_equal(index, tmp_path)


def test_an_opened_index_can_be_mended_and_saved_again(tmp_path: Path) -> None:
    """Memory-mapped columns take updates like those in memory."""
    save_index(index_of(TREE), tmp_path)
    index = update_index(load_index(tmp_path), {"b.py": (extract_facts("b.py", b"token = 1\n"), 1)})
    second = tmp_path / "second"
    second.mkdir()
    save_index(index, second)
    assert_opens_equal(index, second)


def test_an_empty_index_is_saved(tmp_path: Path) -> None:
    """A project without files has an index like any other."""
    save_index(index_of({}), tmp_path)
    assert load_index(tmp_path).count == 0


@pytest.mark.parametrize("length", [0, 5, 30, 200, -80])
def test_a_file_cut_short_is_noticed(tmp_path: Path, length: int) -> None:
    """However much of the index is missing, it is an error of the promised kinds."""
    save_index(index_of(TREE), tmp_path)
    data = (tmp_path / FILE).read_bytes()
    (tmp_path / FILE).write_bytes(data[:length])
    with pytest.raises((OSError, ValueError, KeyError, msgspec.MsgspecError)):
        load_index(tmp_path)


def test_another_format_is_refused(tmp_path: Path) -> None:
    """An index of another version of the program is not read as if it were of this one."""
    save_index(index_of(TREE), tmp_path)
    arrays = open_arrays(tmp_path / FILE)
    document = msgspec.msgpack.decode(arrays["files"].tobytes())
    other = dict(arrays) | {"files": msgspec.msgpack.encode({**document, "format": 0})}
    write_arrays(tmp_path / "other", other)
    (tmp_path / "other").rename(tmp_path / FILE)
    with pytest.raises(ValueError, match="format"):
        load_index(tmp_path)


def test_records_behave_as_a_sequence() -> None:
    """Length, index, iteration and bounds are those of a list."""
    records = Pool(np.frombuffer(b"aabccc", np.uint8), np.array([0, 2, 3, 3, 6]))
    assert list(records) == [b"aa", b"b", b"", b"ccc"]
    with pytest.raises(IndexError):
        records[4]
