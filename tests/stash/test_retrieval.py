"""What a query brings back, in which order and why [rag §7]."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.adapters import ManualClock
from tests.stash.conftest import Meanings
from workbench.config import StashConfig
from workbench.records.segments import (
    ContextSegment,
    FoundSegment,
    SegmentFilters,
    SegmentType,
    StashQuery,
)
from workbench.stash.expansion import answer_form, named_times, query_parts, weigh_parts
from workbench.stash.retrieval import retrieve
from workbench.stash.scoring import OrderWeights, feedback_scores
from workbench.stash.segmentindex import IndexPlaces, SegmentIndex
from workbench.stash.service import StashService

DAY = 86_400.0
_MODEL = Meanings("redis cache store", "login token auth", "boat sea ship")


class Stash:
    """A stash that is asked."""

    def __init__(self, service: StashService, places: IndexPlaces, clock: ManualClock) -> None:
        self.service, self.places, self.clock = service, places, clock

    def add(self, text: str, **fields: Any) -> str:
        return self.service.add(ContextSegment(text=text, **fields)).id

    def ask(
        self,
        text: str = "",
        *,
        words: bool = False,
        weights: OrderWeights | None = None,
        per_session: int = 0,
        **query: Any,
    ) -> list[FoundSegment]:
        """Return what is found, by words alone if so asked."""
        index = SegmentIndex(self.places)
        index.refresh()
        index.embed_tail(_MODEL.asked)
        asked = StashQuery(text=text, **{"min_similarity": 0.0, **query})
        embed = None if words else _MODEL.embed
        segments = retrieve(
            index, asked, embed=embed, now=self.clock.now(), weights=weights, per_session=per_session
        )
        return list(segments)

    def ids(self, text: str = "", **query: Any) -> list[str]:
        return [one.segment.id for one in self.ask(text, **query)]


@pytest.fixture
def asked(stash: StashService, places: IndexPlaces, clock: ManualClock) -> Stash:
    return Stash(stash, places, clock)


@pytest.mark.parametrize(
    ("question", "form"),
    [
        ("What does Ana like to eat?", "Ana: I like to eat"),
        ("where was Ana's brother born", "Ana: I brother born"),
        ("What do Ana and Bo like?", "we and we like"),
        ("Which Redis do we run?", "Redis we run"),
        ("Fix the login of Ana", ""),
        ("What?", ""),
        ("", ""),
    ],
)
def test_a_question_has_the_form_of_its_answer(question: str, form: str) -> None:
    """Without the words that ask, as who is asked about would say it; a task is no question."""
    assert answer_form(question, {"Ana", "Bo"}.__contains__) == form


def test_who_speaks_is_known_by_the_turns(asked: Stash) -> None:
    """A name that only occurs in what is said is nobody's; the form is embedded, and the words stay."""
    asked.add("Ana: I sail with Bo at sea")
    asked.add("the cache of Bo", session_id="s")
    (first, _) = asked.ask("Does Ana know Bo?")
    assert _MODEL.texts[-2:] == ["Does Ana know Bo?", "Ana: I know Bo"]
    assert "it has Ana, Bo" in first.why


def test_meaning_and_words_both_find(asked: Stash) -> None:
    """A text that means the same is found without its words, an exact name without its meaning."""
    meant = asked.add("the cache is full")
    named = asked.add("boat sea ship parseUserToken")
    asked.add("boat and sea")
    assert asked.ids("store of redis")[0] == meant
    assert asked.ids("parse_user_token")[0] == named
    assert meant not in asked.ids("store of redis", words=True)
    assert asked.ids("parse_user_token", words=True)[0] == named


def test_a_stash_of_one_is_found_by_most_of_its_words(asked: Stash) -> None:
    """A word that no segment has does not outweigh those that the only one has."""
    kept = asked.add("We decided to keep envvar parsing in Option.value_from_envvar.")
    near = StashConfig().min_similarity
    assert asked.ids("envvar parsing policy", words=True, min_similarity=near) == [kept]
    assert asked.ids("who pays for the envvar of that boat", words=True, min_similarity=near) == []


def test_an_answer_is_found_by_the_question_before_it(asked: Stash) -> None:
    """A turn without any word of the query rises with the turns around it."""
    for at in range(6):
        asked.add(f"Bo: filler number {at}", session_id="talk", timestamp=f"2023-01-01T10:0{at}")
    asked.add("Ann: where is the dentist you went to?", session_id="talk", timestamp="2023-01-01T10:10")
    answer = asked.add("Bo: in Lund, near the station", session_id="talk", timestamp="2023-01-01T10:11")
    other = asked.add("Bo: in Rome, near the river", session_id="elsewhere", timestamp="2023-01-01T10:11")
    ranked = asked.ids("Which dentist did she go to?", words=True, top_k=20)
    assert ranked[1] == answer
    assert other not in ranked


def test_what_has_expired_leads_to_nothing_around_it(asked: Stash, clock: ManualClock) -> None:
    """The words of a neighbour count while it is there: then what only it led to is not found."""
    later = datetime.fromtimestamp(clock.now() + DAY, UTC).isoformat()
    asked.add("a note about kubernetes", session_id="talk", timestamp="2023-01-01T10:00", expires_at=later)
    kept = asked.add("that will do", session_id="talk", timestamp="2023-01-01T10:01")
    asked.add("the cache is full", session_id="other")
    assert kept in asked.ids("kubernetes note", words=True)
    clock.advance(2 * DAY)
    assert asked.ids("kubernetes note", words=True) == []


def test_a_long_message_has_less_of_its_context_and_a_long_file_all_of_it(asked: Stash) -> None:
    """A message says itself what it is about; files and outputs are long by nature."""
    long = " ".join(f"word{number}" for number in range(300))
    context: dict[SegmentType, float] = {}
    for kind in (SegmentType.MESSAGE, SegmentType.FILE_CONTENT):
        asked.add("Where is the redis cache?", session_id=kind, timestamp="2026-11-01T10:00:00+00:00")
        wanted = asked.add(
            f"{kind} {long}", session_id=kind, type=kind, timestamp="2026-11-01T10:01:00+00:00"
        )
        found = asked.ask("redis cache", filters=SegmentFilters(sessions=(kind,)))
        context[kind] = next(one.parts["context"] for one in found if one.segment.id == wanted)
    assert 0 < context[SegmentType.MESSAGE] < context[SegmentType.FILE_CONTENT] / 2


def test_filters_come_first(asked: Stash) -> None:
    """Each filter keeps what it names, whatever else would have been better."""
    wanted = asked.add(
        "the cache once",
        type=SegmentType.DECISION,
        topic="storage",
        session_id="s1",
        source="src/cache.py",
        timestamp="2023-03-01",
    )
    for at in range(4):
        asked.add(f"cache cache redis {at}", session_id="s2", source="notes.md", timestamp="2023-01-01")
    every: dict[str, Any] = {
        "types": (SegmentType.DECISION,),
        "topics": ("storage", "other"),
        "sessions": ("s1",),
        "sources": ("src/*.py",),
        "start_time": "2023-02-01T00:00:00+00:00",
    }
    for name, value in every.items():
        assert asked.ids("redis cache", filters=SegmentFilters(**{name: value})) == [wanted], name
    before = SegmentFilters(end_time="2023-02-01T00:00:00+00:00")
    assert wanted not in asked.ids("redis cache", filters=before)
    assert asked.ids("redis cache", filters=SegmentFilters(topics=("nothing",))) == []


def test_relevance_gates_and_the_formula_orders(asked: Stash, clock: ManualClock) -> None:
    """The score is the weighted sum of similarity, age and time in the stash, of what is relevant."""
    old = asked.add("the redis cache of the app", timestamp="2023-01-01")
    clock.advance(7 * DAY)
    new = asked.add("the redis cache of an app, renewed")
    asked.add("boats")
    first, second = asked.ask("redis cache", min_similarity=0.4)
    assert (first.segment.id, second.segment.id) == (new, old)
    assert (first.rank, second.rank) == (1, 2)
    assert (first.recency, second.recency) == (1.0, round(math.exp(-1), 4))
    assert first.score == pytest.approx(0.6 * first.similarity + 0.2 * first.temporal + 0.2 * 1.0, abs=1e-4)
    by_similarity = OrderWeights(temporal=0, recency=0)
    assert asked.ids("redis cache of the", weights=by_similarity)[0] == old
    assert asked.ids("redis cache", min_similarity=0.99) == []


def test_a_clock_that_went_back_makes_nothing_younger_than_new(asked: Stash, clock: ManualClock) -> None:
    """What is of the future counts as of now."""
    asked.add("the redis cache", timestamp="2099-01-01")
    clock.advance(-DAY)
    (one,) = asked.ask("redis")
    assert (one.age_days, one.temporal, one.recency) == (0.0, 1.0, 1.0)


def test_equal_texts_and_near_copies_come_once(asked: Stash) -> None:
    """Of a log that was stashed twice one comes back; turns that only resemble each other all do."""
    log = " ".join(f"step{at} done" for at in range(60))
    for session in "ab":
        asked.add("the redis cache", session_id=session)
        asked.add(f"redis {log} {session}", session_id=session)
    turns = [asked.add(f"the redis of {name}") for name in ("Ann", "Bo", "Cy")]
    found = asked.ids("redis", top_k=20)
    assert len(found) == 5
    assert set(turns) <= set(found)


def test_no_more_of_a_session_than_asked(asked: Stash) -> None:
    """A limit for each session lets others in; segments of no session are not counted."""
    for at in range(4):
        asked.add(f"redis number {at}", session_id="s")
        asked.add(f"redis entry {at}")
    found = asked.ask("redis", top_k=20, per_session=1)
    assert [one.segment.session_id for one in found].count("s") == 1
    assert len(found) == 5


def test_the_parts_of_a_query_are_searched_apart(asked: Stash) -> None:
    """A task, messages and files find what the question does not, and weigh less than it."""
    login, cache = asked.add("the login token"), asked.add("the redis cache")
    boat = asked.add("the boat", source="src/harbour.py")
    assert asked.ids(task="fix auth")[0] == login
    assert asked.ids("cache", task="fix auth")[:2] == [cache, login]
    assert asked.ids(messages=("hello", "about the sea"))[0] == boat
    assert asked.ids(files=("lib/src/harbour.py",))[0] == boat
    assert asked.ask("  ") == []
    names = [(part.name, part.weight) for part in query_parts(StashQuery(text="a b", task="c d"))]
    assert names == [("text", 1.0), ("task", 0.3)]


def test_a_file_that_is_named_or_open_comes_before_its_words_elsewhere(asked: Stash) -> None:
    """Its readings by the name as a whole, then what mentions it; open files count, too, and say so."""
    words = asked.add("the commit hooks of git are manual: a manual says how hooks commit")
    change = asked.add("+ return early", source="cli/strategy/manual_commit_hooks.go")
    mention = asked.add("two callers, one in manual_commit_hooks.go, the other in the tests of it")
    other = asked.add("+ return late", source="cli/strategy/manual_reset_hooks.go")
    for only_words in (False, True):
        found = asked.ask("what became of manual_commit_hooks.go", words=only_words)
        ids = [one.segment.id for one in found]
        parts = {one.segment.id: one.parts["file"] for one in found}
        assert ids[0] in {change, mention}
        assert parts[change] > parts[mention] > 0 == parts[words]
        assert ids.index(change) < ids.index(words)
    opened = asked.ask("return", files=("x/manual_reset_hooks.go",))
    assert opened[0].segment.id == other
    assert opened[0].parts["file"] > 0


def test_a_request_that_says_nothing_means_what_was_said_before(asked: Stash) -> None:
    """Beside "yes, do both" the last message counts as much as a request, beside a full question little."""
    before = ("Shall I rename the redis cache and clear its store?",)
    short, long = StashQuery(text="yes, do both", messages=before), 40.0
    parts = query_parts(short)
    assert [part.weight for part in weigh_parts(parts, 0.0)] == [1.0, pytest.approx(1.1)]
    assert [part.weight for part in weigh_parts(parts, long)] == [1.0, pytest.approx(0.1, abs=1e-3)]
    asked.add("the redis cache store")
    asked.add("both boats are at sea")
    (less, *_), (more, *_) = (
        [one.similarity for one in asked.ask(text, messages=before) if "redis" in one.segment.text]
        for text in ("yes, say how crews of fishing boats sleep in a gale off Iceland", "yes, do both")
    )
    assert more > 1.5 * less


def test_the_part_of_a_long_text_that_was_hit_is_shown_with_its_neighbours(asked: Stash) -> None:
    """Of a long log the chunk in question, the one before and the one after."""
    lines = [f"line {at} of the output, nothing to see" for at in range(40)]
    lines[20] = "line 20 the login token expired"
    asked.add("\n".join(lines), type=SegmentType.DEBUG_OUTPUT)
    for words in (False, True):
        (one,) = asked.ask("login token", words=words)
        assert lines[20] in one.passage
        assert lines[0] not in one.passage
        assert lines[39] not in one.passage
        assert len(one.passage.splitlines()) > 10


def test_what_is_said_of_a_hit_adds_up(asked: Stash) -> None:
    """The parts are what the similarity is made of; the reason names words that are there."""
    asked.add("Ann: the redis cache is full", session_id="s", timestamp="2023-01-05")
    asked.add("Bo: which token?", session_id="s")
    found = asked.ask("the redis cache of 5 January 2023", weights=OrderWeights(temporal=0, recency=0))
    for one in found:
        assert sum(one.parts.values()) == pytest.approx(one.similarity, abs=1e-3)
    assert found[0].parts["date"] > 0 == found[1].parts["date"]
    reasons = [one.why for one in asked.ask("the redis cache", words=True)]
    assert any("redis, cache" in why for why in reasons)


def test_times_are_read_from_words() -> None:
    """Days, months and spans of the past; what no calendar has is left out."""
    now = 1_700_000_000.0  # 14 November 2023, 22:13 UTC
    days = {
        "on 5 January 2023": (1_672_876_800, DAY),
        "January 5th, 2023": (1_672_876_800, DAY),
        "2023-01-05": (1_672_876_800, DAY),
        "in Feb 2023": (1_675_209_600, 28 * DAY),
        "yesterday": (1_699_833_600, DAY),
        "3 days ago": (1_699_660_800, DAY),
        "31 February 2023": None,
        "may I go": None,
    }
    for text, span in days.items():
        found = [(one.start, one.end - one.start) for one in named_times(text, now)]
        assert found == ([] if span is None else [span]), text


def test_feedback_is_bounded() -> None:
    """However often a segment was ignored or taken, it moves within limits; without use not at all."""
    import numpy as np

    shown, merged = np.array([0, 9, 10_000, 10_000]), np.array([0, 9, 0, 10_000])
    scores = feedback_scores(shown.astype(np.int32), merged.astype(np.int32))
    assert scores[0] == 0
    assert -1 < scores[2] < 0 < scores[1] < scores[3] < 1
