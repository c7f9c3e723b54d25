"""Datasets are read strictly, faults are told with file and line; the one that ships holds what it says."""

from __future__ import annotations

import codecs
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.errors import ParseError, UsageError
from workbench.records.rules import Level
from workbench.replay.datasets import DatasetKind, RulesDataset, Split, detect_dataset, read_rules, split_of
from workbench.text.terms import count_terms

SHIPPED = Path(__file__).parents[2] / "sample_data" / "rules_benchmark"
NEVER = frozenset({"near", "far"})


@pytest.fixture(scope="module")
def shipped() -> RulesDataset:
    return read_rules(SHIPPED)


def test_the_shipped_benchmark_has_its_size(shipped: RulesDataset) -> None:
    """100 rules and 500 messages of which at least 100 match nothing; every rule is expected somewhere."""
    assert detect_dataset(SHIPPED) is DatasetKind.RULES
    assert (len(shipped.rules), len(shipped.messages)) == (100, 500)
    assert sum(not message.expected for message in shipped.messages) >= 100
    assert {rule for message in shipped.messages for rule in message.expected} == {
        rule.id for rule in shipped.rules
    }
    assert Counter(message.kind for message in shipped.messages) == {
        "paraphrase": 90,
        "exact": 70,
        "near": 65,
        "multi": 50,
        "far": 50,
        "typo": 45,
        "indirect": 45,
        "negation": 40,
        "terse": 25,
        "long": 20,
    }


def test_the_shipped_benchmark_repeats_nothing(shipped: RulesDataset) -> None:
    """No two messages are alike but for case and blanks, and no rule has a message among its examples."""
    texts = [" ".join(message.text.split()).casefold() for message in shipped.messages]
    assert len(set(texts)) == len(texts)
    examples = {example.casefold() for rule in shipped.rules for example in rule.examples}
    assert examples.isdisjoint(texts)
    assert all(len(rule.examples) <= 3 for rule in shipped.rules)


def test_kinds_of_shipped_messages_mean_what_they_say(shipped: RulesDataset) -> None:
    """Near and far messages expect nothing, multi ones several rules, all but negations something."""
    for message in shipped.messages:
        if message.kind in NEVER:
            assert message.expected == (), message.text
        elif message.kind == "multi":
            assert len(message.expected) >= 2, message.text
        elif message.kind != "negation":
            assert message.expected, message.text


def test_shipped_paraphrases_share_no_word_with_their_rule(shipped: RulesDataset) -> None:
    """No term of a paraphrase is in the name, text, condition or action of a rule it expects."""
    by_id = {rule.id: rule for rule in shipped.rules}
    for message in shipped.messages:
        if message.kind == "paraphrase":
            for rule in map(by_id.__getitem__, message.expected):
                text = "\n".join((rule.name, rule.rule, rule.condition_text, rule.action_text))
                assert not set(count_terms(message.text)) & set(count_terms(text)), message.text


def test_the_split_of_shipped_messages_follows_from_their_text(shipped: RulesDataset) -> None:
    """Nobody chose which message is in which half."""
    assert [message.split for message in shipped.messages] == [
        split_of(message.text) for message in shipped.messages
    ]


def test_a_benchmark_is_read_as_written(write: Any) -> None:
    """Fields become those of the records; what is not given has its default."""
    rules = read_rules(write())
    assert rules.name == "small"
    assert [(rule.id, rule.priority, rule.level) for rule in rules.rules] == [
        ("tabs", 10, Level.GLOBAL),
        ("push", 50, Level.STEP),
    ]
    assert rules.rules[0].examples == ("how wide",)
    assert [(message.id, message.expected, message.split) for message in rules.messages] == [
        ("m1", ("push",), Split.FIT),
        ("m2", ("tabs",), Split.TEST),
        ("m3", (), Split.TEST),
        ("m4", (), Split.FIT),
    ]


def test_bom_line_ends_and_blank_lines_do_not_matter(write: Any) -> None:
    """A file saved by another editor reads the same, and lines are counted as editors count them."""
    content = b'\r\n{"id":"a","name":"A","rule":"x"}\r\n\r\n{"id":"b","name":"B","rule":"y"}\r\n'
    rules = read_rules(write(codecs.BOM_UTF8 + content, [{"id": "m", "text": "t", "expected": ["b"]}]))
    assert [rule.id for rule in rules.rules] == ["a", "b"]
    with pytest.raises(ParseError) as caught:
        read_rules(write(codecs.BOM_UTF8 + content.replace(b'"y"', b'""')))
    assert caught.value.line == 4


def test_a_message_without_a_split_gets_one_by_its_text(write: Any) -> None:
    """The same text is in the same half wherever it stands."""
    messages = [{"id": f"m{number}", "text": f"text {number}"} for number in range(40)]
    found = {message.text: message.split for message in read_rules(write(messages=messages)).messages}
    assert found == {text: split_of(text) for text in found}
    assert set(found.values()) == {Split.FIT, Split.TEST}


OK = '{"id":"a","name":"A","rule":"x"}'
SAID = '{"id":"m","text":"t","expected":["a"]}'


@pytest.mark.parametrize(
    ("rules", "messages", "file", "line", "message"),
    [
        ([OK, "{"], [SAID], "rules.jsonl", 2, "truncated"),
        (["[1]"], [SAID], "rules.jsonl", 1, "Expected `object`"),
        (['{"id":"a","name":"A"}'], [SAID], "rules.jsonl", 1, "missing required field `rule`"),
        (['{"id":"a","name":"A","rule":7}'], [SAID], "rules.jsonl", 1, "$.rule"),
        (['{"id":"a","name":"A","rule":"x","lvl":1}'], [SAID], "rules.jsonl", 1, "a rule has no field 'lvl'"),
        (['{"id":"a","name":"A","rule":"x","level":"top"}'], [SAID], "rules.jsonl", 1, "'top'"),
        (['{"id":"a","name":"A","rule":"x","priority":101}'], [SAID], "rules.jsonl", 1, "between 0 and 100"),
        (['{"id":"a","name":"A","rule":" "}'], [SAID], "rules.jsonl", 1, "is empty"),
        (['{"id":"","name":"A","rule":"x"}'], [SAID], "rules.jsonl", 1, "no id"),
        ([OK, OK], [SAID], "rules.jsonl", 2, "two rules"),
        (b'{"id":"\xff"}', [SAID], "rules.jsonl", 1, "utf-8"),
        ([], [SAID], "rules.jsonl", 0, "no rules"),
        ([OK], [], "messages.jsonl", 0, "no messages"),
        ([OK], [SAID, SAID], "messages.jsonl", 2, "two messages"),
        ([OK], ['{"id":"","text":"t"}'], "messages.jsonl", 1, "no id"),
        ([OK], ['{"id":"m","text":"\\n"}'], "messages.jsonl", 1, "empty"),
        ([OK], ['{"id":"m","text":"t","expected":["b"]}'], "messages.jsonl", 1, "expects 'b'"),
        ([OK], ['{"id":"m","text":"t","expected":["a","a"]}'], "messages.jsonl", 1, "twice"),
        ([OK], ['{"id":"m","text":"t","split":"train"}'], "messages.jsonl", 1, "'train'"),
    ],
)
def test_a_fault_is_told_with_file_and_line(
    write: Any, rules: Any, messages: Any, file: str, line: int, message: str
) -> None:
    """Whatever is wrong, the error names the place."""
    with pytest.raises(ParseError) as caught:
        read_rules(write(rules, messages))
    assert (Path(caught.value.path).name, caught.value.line) == (file, line)
    assert message.lower() in caught.value.message.lower()


def test_what_was_meant_is_suggested(write: Any) -> None:
    """An expected id close to a rule's, and a field close to one there is."""
    with pytest.raises(ParseError) as caught:
        read_rules(write(['{"id":"a","name":"A","rule":"x","prioritty":1}']))
    assert caught.value.hint == "Did you mean priority?"
    with pytest.raises(ParseError) as caught:
        read_rules(write(messages=[{"id": "m", "text": "t", "expected": ["tasb"]}]))
    assert caught.value.hint == "Did you mean tabs?"


def test_a_folder_without_a_dataset_is_refused(tmp_path: Path) -> None:
    """No folder, an empty one and half a dataset are three errors, none of them a traceback."""
    with pytest.raises(UsageError, match="does not exist"):
        detect_dataset(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="holds no dataset"):
        detect_dataset(tmp_path)
    (tmp_path / "rules.jsonl").write_text(OK)
    with pytest.raises(ParseError, match=r"lacks messages\.jsonl"):
        detect_dataset(tmp_path)


@given(st.binary(max_size=200))
def test_no_bytes_break_the_reader(tmp_path: Path, content: bytes) -> None:
    """Anything at all is either a dataset or a ParseError."""
    (tmp_path / "rules.jsonl").write_bytes(content)
    (tmp_path / "messages.jsonl").write_bytes(content)
    with pytest.raises(ParseError):
        read_rules(tmp_path)
