"""The page about scale is what its results say, and what is measured is the same in every run."""

from __future__ import annotations

from itertools import chain

import numpy as np

from bench.scale.__main__ import RESULTS, read_results
from bench.scale.curves import Chart, draw
from bench.scale.page import drawn
from bench.scale.texts import NEAR, RealTexts


def test_the_page_is_drawn_from_its_results() -> None:
    """`python -m bench.scale --page` changes nothing."""
    for path, text in drawn(read_results(RESULTS)).items():
        assert path.read_text(encoding="utf-8") == text, path.name


def test_smaller_sets_are_the_beginning_of_larger_ones() -> None:
    """Texts and vectors are drawn alike, and a vector is near the real one it begins with."""
    random = np.random.default_rng(3)
    vectors = random.normal(size=(40, 16)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    near = np.argsort(-(vectors @ vectors.T), axis=1)[:, 1 : NEAR + 1]
    real = RealTexts([f"text {row} of the real ones" for row in range(40)], vectors, near)

    (few, some), *_ = real.drawn(7)
    many = [*real.drawn(10_020)]

    assert list(chain.from_iterable(texts for texts, _ in many))[:7] == few
    assert many[0][1][:7].tolist() == some.tolist()
    assert sum(len(texts) for texts, _ in many) == sum(len(each) for _, each in many) == 10_020
    first = [int(text.split()[1]) for text in few]
    assert (np.einsum("ij,ij->i", some, vectors[first]) > 0.3).all()


def test_a_chart_shows_every_curve_with_its_name() -> None:
    """Names at the ends of curves do not cover each other, and are text."""
    lines = {f"a <{at}>": [(10.0, 1.0), (1_000.0, 5.0)] for at in range(3)}

    picture = draw([Chart("Growth", "ms", "records", lines)])

    assert picture.count("<polyline") == 3
    assert "a &lt;2&gt;" in picture
    places = {line.split('y="')[1].split('"')[0] for line in picture.split("<text")[-3:]}
    assert len(places) == 3
