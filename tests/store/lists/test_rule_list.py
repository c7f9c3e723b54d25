"""The list of rules in SQL answers as the Python scorer and sort do, whatever is in the texts."""

from __future__ import annotations

import random
import re
import sys
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from screens.filter_matching import Value, scorer
from store.journal import FileJournal
from store.lists import patterns
from store.lists.rules import rule_list
from store.lists.sql_list import SqlList
from tests.adapters import ManualClock
from tests.deep import times
from tests.store.engines import open_tables
from workbench.errors import UsageError
from workbench.lists.filters import parse
from workbench.lists.rules import FIELDS, RULES
from workbench.lists.tables import ListQuery
from workbench.records.rules import Activation, Authority, Category, Check, Level, Provenance, Rule
from workbench.rules.curation.ruletype import to_body
from workbench.rules.descriptions import place

# Whatever separates words, parts and values; what patterns and SQL give a meaning to; other scripts.
PIECES = (
    *(
        "refresh_token",
        "refreshToken",
        "HTTPServer",
        "http",
        "server",
        "token",
        "Token",
        "tok",
        "a",
        "R",
        "re",
    ),
    *(
        " ",
        "  ",
        "\n",
        "\t",
        "\u00a0",
        "_",
        "-",
        ".",
        ":",
        "*",
        "?",
        "[a-z]",
        "%",
        "'",
        '"',
        "\\",
        "$1",
        "(",
        "|",
    ),
    *(
        "naïve",
        "ÉTÉ",
        "日本",
        "Ünder",
        "x2",
        "2",
        "\x1e",
        "\x1f",
        "\x00",
        "'; DROP TABLE rules; --",
        "{{p0}}",
    ),
)
TEXTS = st.lists(st.sampled_from(PIECES), min_size=0, max_size=6).map("".join)
WORDS = st.sampled_from(
    (
        "rtok",
        "tok",
        "token",
        "rt",
        "a",
        "hs",
        "srv",
        "naïve",
        "été",
        "日",
        "x2",
        "%",
        "_",
        "re",
        "http",
        "?",
        "[a-z]",
    )
)
FACETS = (
    *(
        "tag:python",
        "tag:lang*",
        "tag:language:python",
        "tag:[lp]*",
        "tag:*:p?thon",
        "-tag:python",
        "tag:go,python",
    ),
    *("priority:>=50", "priority:10..80", "priority:<50", "-priority:50", "level:>=scenario", "level:step"),
    *("authority:absolute", "-level:global", "enabled:no", "home:yes", "checked:yes", "created:2026-10"),
    *("created:>=2026-10-05", "created:<2026", "updated:2026-10..2026-11", "-created:2026-10", "last:2026"),
    *("file:CLAUDE.md", "file:*.md", "text:tok", "example:HTTP", "condition:re", "-text:tok", "scope:path:*"),
    *("line:>2", "used:0", "when:os=linux", "meta:*", "section:Style", "holds:paths", "format:*", "id:r1,r2"),
    *("name:naïve", "source:user", "replaces:r9", "project:p", 'text:"a b"', "tool:claude"),
)


def oracle(rule: Rule) -> Mapping[str, Value]:
    """Return the fields of a rule as `workbench.lists.rules` means them."""
    where = rule.provenance
    found: dict[str, Callable[[], Any]] = {
        "text": lambda: rule.rule,
        "condition": lambda: rule.condition_text or None,
        "example": lambda: rule.examples,
        "id": lambda: (rule.id, rule.id.removeprefix("rule-")),
        "file": lambda: None if where is None else (where.file, *where.names),
        "tag": lambda: rule.tags,
        "tool": lambda: rule.tool_targets,
        "scope": lambda: rule.scope,
        "name": lambda: rule.name,
        "category": lambda: rule.category,
        "authority": lambda: rule.authority,
        "level": lambda: rule.level,
        "priority": lambda: rule.priority,
        "tokens": lambda: rule.token_cost,
        "used": lambda: rule.usage_count,
        "version": lambda: rule.version,
        "cooldown": lambda: rule.cooldown,
        "line": lambda: None if where is None else where.line,
        "enabled": lambda: rule.enabled,
        "home": lambda: rule.project_id is None,
        "checked": lambda: rule.check is not None,
        "created": lambda: rule.created_at,
        "updated": lambda: rule.updated_at,
        "last": lambda: rule.last_used,
        "when": lambda: [f"{name}={value}" for name, value in rule.conditions.items()],
        "project": lambda: rule.project_id,
        "source": lambda: rule.source,
        "format": lambda: None if where is None else where.format,
        "section": lambda: None if where is None else where.section,
        "holds": lambda: None if where is None else str(where.activation),
        "replaces": lambda: rule.replaces,
        "meta": lambda: [f"{name}={value}" for name, value in rule.metadata.items()],
    }
    return {name: _plain(get()) for name, get in found.items()}


def _plain(value: Value) -> Value:
    """Return a value as lists search it: the separators of a haystack are blanks."""
    if isinstance(value, str):
        return value.replace("\x1e", " ").replace("\x1f", " ")
    if isinstance(value, (list, tuple)):
        return [str(_plain(one)) for one in value]
    return value


KEYS: Mapping[str, Callable[[Rule], Any]] = {
    "origin": lambda rule: place(rule)[:3],  # equal places are in the order of ids either way
    "id": lambda rule: rule.id,
    "category": lambda rule: str(rule.category),
    "authority": lambda rule: rule.authority is not Authority.ABSOLUTE,
    "priority": lambda rule: rule.priority,
    "level": lambda rule: tuple(Level).index(rule.level),
    "enabled": lambda rule: not rule.enabled,
    "tokens": lambda rule: rule.token_cost,
    "used": lambda rule: rule.usage_count,
    "scope": lambda rule: rule.scope,
    "tags": lambda rule: rule.tags,
    "text": lambda rule: rule.rule[:200].lower(),
    "updated": lambda rule: rule.updated_at,
}


def made_rules(seed: int, count: int, pieces: Sequence[str] = PIECES) -> list[Rule]:
    """Return rules of all sorts, with hostile texts made of pieces."""
    chance = random.Random(seed)

    def some(*values: str) -> tuple[str, ...]:
        return tuple(chance.sample(values, chance.randint(0, len(values))))

    def text(most: int = 6) -> str:
        return "".join(chance.choices(pieces, k=chance.randint(0, most)))

    def where() -> Provenance:
        return Provenance(
            chance.choice(("CLAUDE.md", "docs/Token rules.md")),
            chance.randint(1, 9),
            10,
            "claude",
            section=some("Style", "Tests"),
            names=some("AGENTS.md"),
            activation=chance.choice(tuple(Activation)),
        )

    times = ("", "2026-10-05T10:00:00Z", "2026-11-01T00:00:00Z")
    return [
        Rule(
            id=f"{chance.choice(('r', 'rule-'))}{number}",
            name=text(),
            rule=text() + "x",
            category=chance.choice(tuple(Category)),
            authority=chance.choice(tuple(Authority)),
            scope=some("git", "path:src/**"),
            project_id=chance.choice((None, "p")),
            source=chance.choice(("user", "import")),
            conditions=chance.choice(({}, {"os": "linux"})),
            metadata=chance.choice(({}, {"a": text()})),
            tool_targets=some("claude", "codex"),
            priority=chance.choice((0, 50, 80)),
            tags=some("language:python", "go", "a token"),
            condition_text=text(),
            level=chance.choice(tuple(Level)),
            enabled=chance.random() < 0.7,
            examples=tuple(text() for _ in range(chance.randint(0, 2))),
            created_at=chance.choice(times),
            updated_at=chance.choice(times),
            provenance=chance.choice((None, where())),
            check=chance.choice((None, Check(pattern="x"))),
        )
        for number in range(count)
    ]


QUERIES = st.lists(
    st.one_of(
        WORDS,
        TEXTS.filter(str.strip).map(lambda text: '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'),
        TEXTS.filter(str.strip).map(lambda text: "".join(text.split())),
        st.sampled_from(FACETS),
        WORDS.map(lambda word: f"!{word}"),
    ),
    max_size=3,
).map(" ".join)
SORTS = st.one_of(st.none(), st.tuples(st.sampled_from(RULES.sorts), st.booleans()))


class Shelf:
    """Rules in the journals of a project and its user, and the list of them."""

    def __init__(self, root: Path) -> None:
        clock = ManualClock()
        self.journals = {"project": FileJournal(root, clock), "home": FileJournal(root / "home", clock)}
        self.tables = open_tables(root, self.journals, clock)
        self.list: SqlList[Rule] = rule_list(self.tables, "p", home=True)

    def put(self, *found: Rule) -> None:
        for rule in found:
            journal = self.journals["home" if rule.project_id is None else "project"]
            journal.append("rules", "rule.put", [to_body(rule)], by="test")


MADE = made_rules(7, 60)


@pytest.fixture(scope="module")
def shelf(engine: str, tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    made = Shelf(tmp_path_factory.mktemp("shelf"))
    made.put(*MADE)
    return made


ENGLISH_RULES = made_rules(8, 40, (*filter(str.isascii, PIECES), "\u2014", "\u2192"))


@pytest.fixture(scope="module")
def english(engine: str, tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    """A list of rules without letters beyond ASCII."""
    made = Shelf(tmp_path_factory.mktemp("english"))
    made.put(*ENGLISH_RULES)
    return made


def expected(found: list[Rule], query: ListQuery) -> list[str]:
    """Return the ids that match, in order, as the Python scorer and sort have them."""
    score = scorer(query.filter, FIELDS)
    points = {rule.id: score(oracle(rule)) for rule in found}
    column, descending = query.sort or RULES.usual
    listed = sorted((rule for rule in found if points[rule.id]), key=lambda rule: rule.id)
    listed.sort(key=KEYS[column], reverse=descending)
    if query.sort is None and query.filter.ranks:
        listed.sort(key=lambda rule: -points[rule.id])
    return [rule.id for rule in listed]


@given(text=QUERIES, sort=SORTS, limit=st.integers(5, 30))
@settings(max_examples=times(4, 10), deadline=None, suppress_health_check=list(HealthCheck))
def test_lists_answer_as_python_does(
    shelf: Shelf, text: str, sort: tuple[str, bool] | None, limit: int
) -> None:
    """Pages one after the other, the whole order and Python's filter and sort are the same rules."""
    query = ListQuery(parse(text, FIELDS), sort)

    order = shelf.list.order(query)
    rows = shelf.list.rows(order.numbers.tolist())
    pages = [shelf.list.page(query, limit=limit)]
    while pages[-1].cursor is not None:
        pages.append(shelf.list.page(query, pages[-1].cursor, limit))

    assert [rows[number].id for number in order.numbers.tolist()] == expected(MADE, query)
    assert [rule.id for page in pages for rule in page.rows] == expected(MADE, query)
    assert {page.total for page in pages} == {order.total}
    known = {rule.id: rule for rule in MADE}
    assert all(rule == known[rule.id] for page in pages for rule in page.rows)


@given(text=QUERIES, sort=SORTS)
@settings(max_examples=times(5, 15), deadline=None, suppress_health_check=list(HealthCheck))
def test_english_is_listed_by_the_same_points(
    english: Shelf, text: str, sort: tuple[str, bool] | None
) -> None:
    """Texts without letters beyond ASCII have patterns of their own and are listed as Python does, too."""
    query = ListQuery(parse(text, FIELDS), sort)

    order = english.list.order(query)

    rows = english.list.rows(order.numbers.tolist())
    assert [rows[number].id for number in order.numbers.tolist()] == expected(ENGLISH_RULES, query)


def test_what_counts_as_english_has_no_other_letters_digits_and_blanks() -> None:
    """The short patterns mean the same as those of all letters in every text that they are used for."""
    other = re.compile(re.sub(r"\\x\{(\w+)\}", lambda found: rf"\U{found[1]:>08}", patterns.NOT_ENGLISH))
    characters = (chr(code) for code in range(0x80, sys.maxunicode + 1))
    words = [one for one in characters if unicodedata.category(one)[0] in "LNZ" or one.isspace()]

    assert [word for word in words if not other.match(word)] == []


@given(text=QUERIES)
@settings(max_examples=times(4, 6), deadline=None, suppress_health_check=list(HealthCheck))
def test_facets_count_the_values_of_what_matches(shelf: Shelf, text: str) -> None:
    """Counts are those of the rules that match, the most frequent value first."""
    query = ListQuery(parse(text, FIELDS))
    ids = set(expected(MADE, query))

    counts = shelf.list.facets(query, ["tag", "category", "enabled", "file"])
    assert set(shelf.list.facets(query).fields) == set(RULES.facets)

    matching = [rule for rule in MADE if rule.id in ids]
    values: dict[str, list[str]] = {
        "tag": [tag for rule in matching for tag in rule.tags],
        "category": [str(rule.category) for rule in matching],
        "enabled": ["yes" if rule.enabled else "no" for rule in matching],
        "file": [rule.provenance.file for rule in matching if rule.provenance is not None],
    }
    assert counts.total == len(matching)
    assert {name: [(one.value, one.count) for one in mine] for name, mine in counts.fields.items()} == {
        name: sorted(((one, mine.count(one)) for one in set(mine)), key=lambda item: (-item[1], item[0]))
        for name, mine in values.items()
    }


def test_pages_go_on_where_they_were_while_rules_come_and_go(tmp_path: Path) -> None:
    """What is put or removed between two pages makes no other rule appear twice or be left out."""
    shelf = Shelf(tmp_path)
    many = [Rule(id=f"r{number:02}", name="", rule="x", priority=number % 3) for number in range(20)]
    shelf.put(*many)
    query = ListQuery(sort=("priority", True))

    first = shelf.list.page(query, limit=7)
    seen = {rule.id for rule in first.rows}
    shelf.put(Rule(id="r07b", name="", rule="x", priority=2), replace(many[0], priority=2))
    shelf.journals["home"].append("rules", "rule.removed", [{"id": first.rows[-1].id}], by="test")
    rest, cursor = [], first.cursor
    while cursor is not None:
        page = shelf.list.page(query, cursor, 7)
        rest += [rule.id for rule in page.rows]
        cursor = page.cursor

    untouched = {rule.id for rule in many} - {"r00"}
    assert len(rest) == len(set(rest))
    assert seen.isdisjoint(rest)
    assert untouched <= seen | set(rest)


def test_a_row_keeps_its_number_while_its_record_changes(tmp_path: Path) -> None:
    """An edit keeps the number, and so does making the tables again; a rule that is gone has no row."""
    shelf = Shelf(tmp_path)
    rule = Rule(id="r1", name="", rule="Use tabs.")
    shelf.put(rule)
    number = shelf.list.find("r1")
    assert number is not None

    shelf.put(replace(rule, rule="Use blanks."))
    shelf.tables.rebuild()

    assert shelf.list.find("r1") == number
    assert shelf.list.rows([number, 5])[number].rule == "Use blanks."
    assert shelf.list.record("r1") == replace(rule, rule="Use blanks.")
    shelf.journals["home"].append("rules", "rule.removed", [{"id": "r1"}], by="test")
    assert (shelf.list.find("r1"), shelf.list.record("r1")) == (None, None)
    assert shelf.list.rows([number]) == {}


def test_a_list_has_the_rules_that_hold_here(tmp_path: Path) -> None:
    """Of another directory of the project they do, too; those of the home only where it is read."""
    shelf = Shelf(tmp_path)
    where = Provenance("~/.claude/CLAUDE.md", 1, 1, "claude", home=True)
    shelf.put(
        Rule(id="r1", name="", rule="x", project_id="p"),
        Rule(id="r2", name="", rule="x", project_id="q"),
        Rule(id="r3", name="", rule="x"),
        Rule(id="r4", name="", rule="x", provenance=where),
    )

    def ids(*, home: bool) -> list[str]:
        page = rule_list(shelf.tables, "p", home=home).page(ListQuery(sort=("id", False)))
        return [rule.id for rule in page.rows]

    assert (ids(home=True), ids(home=False)) == (["r1", "r2", "r3", "r4"], ["r1", "r2", "r3"])
    moved = rule_list(shelf.tables, "p", home=True).page(
        ListQuery(parse("project:p", FIELDS), sort=("id", False))
    )
    assert [(rule.id, rule.project_id) for rule in moved.rows] == [("r1", "p"), ("r2", "p")]


def test_only_rows_within_a_set_are_listed(tmp_path: Path) -> None:
    """A search's rows alone are filtered, ordered and counted."""
    import numpy as np

    shelf = Shelf(tmp_path)
    shelf.put(*(Rule(id=f"r{number}", name="", rule="x", tags=("a",)) for number in range(5)))
    numbers = [shelf.list.find("r3"), shelf.list.find("r1")]
    within = np.array(numbers, dtype=np.int64)

    order = shelf.list.order(ListQuery(), within=within)
    page = shelf.list.page(ListQuery(), within=within)

    assert order.numbers.tolist() == numbers[::-1]
    assert [rule.id for rule in page.rows] == ["r1", "r3"]
    assert shelf.list.facets(ListQuery(), ["tag"], within=within).fields["tag"][0].count == 2


@pytest.mark.parametrize("limit", [0, 1001])
def test_other_limits_and_cursors_are_refused(tmp_path: Path, limit: int) -> None:
    """A limit outside the range and a cursor of another query name the next thing to try."""
    shelf = Shelf(tmp_path)
    shelf.put(*(Rule(id=f"r{number}", name="", rule="x") for number in range(3)))
    cursor = shelf.list.page(ListQuery(), limit=1).cursor

    with pytest.raises(UsageError, match="outside 1 to 1000"):
        shelf.list.page(ListQuery(), limit=limit)
    with pytest.raises(UsageError, match="not a cursor of this query"):
        shelf.list.page(ListQuery(sort=("id", False)), cursor)
    with pytest.raises(UsageError, match="not a cursor"):
        shelf.list.page(ListQuery(), "x")
