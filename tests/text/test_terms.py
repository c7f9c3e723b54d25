"""One tokenisation for tasks, code and history, of any script."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from workbench.rules import rulestate
from workbench.text.terms import TERMS_VERSION, count_terms, is_unspaced, word_terms, words_of


@given(st.text(max_size=60))
def test_words_of_spaced_scripts_are_what_an_expression_calls_words(text: str) -> None:
    """Text without characters of unspaced scripts has the words that `\\w+` has."""
    if not is_unspaced(text):
        assert words_of(text) == re.findall(r"\w+", text)


def test_scripts_without_spaces_give_bigrams() -> None:
    """Also in a word with Latin letters, of any length, and a single character stands for itself."""
    assert count_terms("安全检查 の 猫") == {"安全": 1, "全检": 1, "检查": 1, "の": 1, "猫": 1}
    assert words_of("Dockerの使い方") == ["Docker", "の使い方"]
    assert word_terms("Dockerの使い方") == ("docker", "の使", "使い", "い方")
    assert len(word_terms("설정파일" * 50)) == 199


@given(st.text(alphabet="aB_9設定のgé", max_size=20))
def test_a_word_gives_the_terms_of_its_runs(text: str) -> None:
    """A name that mixes scripts is found by what a text around it is split into."""
    assert list(word_terms(text)) == [term for run in words_of(text) for term in word_terms(run)]


def test_a_kept_rulebook_changes_with_the_terms() -> None:
    """Its format is a number of its own, as a hook reads it without what splits texts."""
    assert (rulestate.FORMAT, TERMS_VERSION) == (19, 2)
