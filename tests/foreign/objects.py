"""Objects that git stores and no git writes: commits, trees, tags as converters and strangers leave them."""

from __future__ import annotations

from tests.conftest import Work

SOUND = b"A Tester <tester@example.org> 1700000500 +0000"
PEOPLE = (
    SOUND,
    b"a <a@b>",
    b"a <a@b> ",
    b"",
    b"<>",
    b"a a@b 17",
    b"a <a@b> 1700000000",
    b"a <a@b> 99999999999999999999 +0000",
    b"a <a@b> 18446744073709551615 +0000",
    b"a <a@b> 9223372036854775807 -0000",
    b"a <a@b> -5000000000 +0000",
    b"a <a@b> 1700000000 +9999999999",
    b"a <a@b> 0x10 +0000",
    b"a <a@b> tomorrow +0000",
    b"\xe9\xff <a@b> 1700000001 +0000",
    b"a\tb <a\xc3\x28@b> 1 +0000",
)
MESSAGES = (
    b"fix the parser\n",
    b"",
    b"\n\n",
    b"fix \xe9t\xe9 parser",
    b"parse\x00nothing after this\n",
    b"\xff\xfef\x00i\x00x\x00",
    b"fix: \xed\xa0\x80 surrogates",
    b"\x1b[31mfix\x1b]0;x\x07",
    b"commit " + b"a" * 40 + b" 5\n",
    b"fix\r\nparser\r\n",
    "fix \u202e parser ｆｉｘ".encode(),
)
ENCODINGS = (None, b"ISO-8859-1", b"UTF-16", b"utf-7", b"no-such", b"", b"IBM037", b"\xff")
MODES = (b"100644", b"0100644", b"644", b"100664", b"100755", b"120000", b"170000", b"160000")
NAMES = (
    b"plain.py",
    b"..",
    b".git",
    b"a/b.py",
    b"\xff\xfe.py",
    b"new\nline.py",
    b"tab\t.py",
    b'q"uote.py',
    b" ",
    b"\x1b[31m.py",
    b"C:\\x.py",
    b"x" * 300 + b".py",
    b"pars0.py",
)


NOWHERE = b"1" * 40
REFUSED = (
    "no tree",
    "tree missing",
    "tree is a blob",
    "parent missing",
    "second parent missing",
    "parent is a blob",
    "parent of no form",
    "empty commit",
    "name empty",
    "tree cut",
    "mode of no number",
    "tree of no form",
    "folder missing",
    "folder is a blob",
    "blob missing",
    "commit damaged",
    "tree damaged",
    "blob damaged",
)
"""What git refuses to read a commit for, the commit or its difference."""
ENDS = frozenset(
    {"parent missing", "parent is a blob", "parent of no form", "empty commit", "commit damaged"}
)
"""Those of which nothing names the commits before them."""
PARENTLESS = frozenset({"parent missing", "second parent missing", "parent is a blob"})
"""Those whose own files can be read, so that the commit on them can be, too."""


class Objects:
    """Writes objects literally into a repository, on top of what is checked out."""

    def __init__(self, work: Work) -> None:
        """Note what a sound file and the tree of the head are."""
        self.work = work
        self.number = 0
        self.head = work.git("rev-parse", "HEAD").strip()
        self.tree = work.git("rev-parse", "HEAD^{tree}").strip()
        self.blob = work.git("hash-object", "-w", "--stdin", given=b"def parse():\n    return 7\n").strip()

    def write(self, kind: str, raw: bytes) -> bytes:
        """Store an object whatever is in it and return its id."""
        return self.work.git("hash-object", "-t", kind, "-w", "--stdin", "--literally", given=raw).strip()

    def tree_of(self, mode: bytes, name: bytes) -> bytes:
        """Store a tree of a sound file and an odd one."""
        entries = sorted(
            {b"pars0.py": (b"100644", b"pars0.py"), name: (mode, name)}.values(), key=lambda one: one[1]
        )
        blob = bytes.fromhex(self.blob.decode())
        return self.write("tree", b"".join(mode + b" " + name + b"\0" + blob for mode, name in entries))

    def commit(
        self,
        author: bytes | None = SOUND,
        committer: bytes | None = SOUND,
        message: bytes = b"fix parse",
        encoding: bytes | None = None,
        tree: bytes | None = None,
        parents: int = 1,
    ) -> None:
        """Put a commit on top; a person who is None has no line."""
        lines = [b"tree " + (tree or self.tree), *[b"parent " + self.head] * parents]
        lines += [b"author " + author] if author is not None else []
        lines += [b"committer " + committer] if committer is not None else []
        lines += [b"encoding " + encoding] if encoding is not None else []
        self.head = self.write("commit", b"\n".join(lines) + b"\n\n" + message)
        self.point(b"refs/heads/main", self.head)

    def refuse(self, why: str) -> None:
        """Put a commit on top that git refuses, for one of the reasons of `REFUSED`."""
        self.number += 1
        blob = bytes.fromhex(self.blob.decode())
        trees = {
            "name empty": b"100644 \0" + blob,
            "tree cut": b"100644 a.py\0" + blob[:5],
            "mode of no number": b"x00644 a.py\0" + blob,
            "tree of no form": b"garbage",
            "folder missing": b"40000 d\0" + b"\x11" * 20,
            "folder is a blob": b"40000 d\0" + blob,
            "blob missing": b"100644 zz.py\0" + b"\x11" * 20,
            "tree damaged": b"100644 own%d.py\0" % self.number + blob,
        }
        tree, damaged = self.tree, b""
        if why == "blob damaged":
            damaged = self.write("blob", b"own %d" % self.number)
            tree = self.write("tree", b"100644 zz.py\0" + bytes.fromhex(damaged.decode()))
        elif why in trees:
            tree = self.write("tree", trees[why])
            damaged = tree if why == "tree damaged" else b""
        tree = {"tree missing": NOWHERE, "tree is a blob": self.blob}.get(why, tree)
        parents = {
            "parent missing": [NOWHERE],
            "second parent missing": [self.head, NOWHERE],
            "parent is a blob": [self.blob],
            "parent of no form": [b"12"],
        }.get(why, [self.head])
        lines = [] if why == "no tree" else [b"tree " + tree]
        lines += [*(b"parent " + parent for parent in parents), b"author " + SOUND, b"committer " + SOUND]
        text = b"" if why == "empty commit" else b"\n".join(lines) + b"\n\nfix parse %d" % self.number
        self.head = self.write("commit", text)
        damaged = self.head if why == "commit damaged" else damaged
        if damaged:
            path = self.work.root / ".git/objects" / damaged[:2].decode() / damaged[2:].decode()
            path.chmod(0o644)
            path.write_bytes(b"damaged")
        self.point(b"refs/heads/main", self.head)

    def tag(self, name: str, target: bytes, kind: str) -> bytes:
        raw = b"object %s\ntype %s\ntag %s\n\n" % (target, kind.encode(), name.encode())
        made = self.write("tag", raw)
        self.point(b"refs/tags/" + name.encode(), made)
        return made

    def point(self, reference: bytes, target: bytes) -> None:
        """Let a reference name an object, without git's checks of it."""
        path = self.work.root / ".git" / reference.decode()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(target + b"\n")
