"""A cross-encoder from files: a graph made here that counts what pairs have, run by the real libraries."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, save_model
from tokenizers import Tokenizer, models, pre_tokenizers

from store.cross_encoder import CrossEncoder
from workbench.errors import ModelError

WORDS = {"[UNK]": 0, "jwt": 1, "token": 2, "lunch": 3}


def make_encoder(directory: Path, *, slow: bool = False, width: int = 1) -> Path:
    """Write a model whose logit is the sum of the ids of a pair: `jwt token` is 3, an unknown word 0.

    A slow one adds nothing for ever.
    """
    directory.mkdir()
    tokenizer = Tokenizer(models.WordLevel(WORDS, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(directory / "tokenizer.json"))
    axis = numpy_helper.from_array(np.array([1], np.int64), "axis")
    constants = [axis]
    nodes = [
        helper.make_node("ReduceSum", ["input_ids", "axis"], ["sum"], keepdims=1),
        helper.make_node("Cast", ["sum"], ["total"], to=TensorProto.FLOAT),
    ]
    if slow:
        constants += [
            numpy_helper.from_array(np.array(2**40, np.int64), "times"),
            numpy_helper.from_array(np.array(True), "on"),
        ]
        value = helper.make_tensor_value_info("value", TensorProto.FLOAT, None)
        body = helper.make_graph(
            [
                helper.make_node("Identity", ["go"], ["still"]),
                helper.make_node("Abs", ["value"], ["next"]),
            ],
            "body",
            [
                helper.make_tensor_value_info("turn", TensorProto.INT64, []),
                helper.make_tensor_value_info("go", TensorProto.BOOL, []),
                value,
            ],
            [
                helper.make_tensor_value_info("still", TensorProto.BOOL, []),
                helper.make_tensor_value_info("next", TensorProto.FLOAT, None),
            ],
        )
        nodes.append(helper.make_node("Loop", ["times", "on", "total"], ["looped"], body=body))
    last = "looped" if slow else "total"
    nodes.append(helper.make_node("Concat", [last] * width, ["logits"], axis=1))
    graph = helper.make_graph(
        nodes,
        "pairs",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "length"])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", width])],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    save_model(model, str(directory / "model.onnx"))
    return directory


def test_a_pair_is_rated_by_the_files_of_a_directory(tmp_path: Path) -> None:
    """Each pair by itself, the query with each text; the identity says which files they are."""
    encoder = CrossEncoder(make_encoder(tmp_path / "tiny"))
    texts = ["token", "jwt token \ud800", "", "lunch lunch"]
    assert encoder.score("jwt", texts, timeout=60) == (3.0, 4.0, 1.0, 7.0)
    assert encoder.score("jwt", ["token"], timeout=60) == (3.0,)
    assert encoder.model.startswith("tiny@")
    other = make_encoder(tmp_path / "other", width=2)
    assert CrossEncoder(other).model != encoder.model
    with pytest.raises(ModelError, match="gives no rating of a pair"):
        CrossEncoder(other).score("jwt", ["token"], timeout=60)


def test_what_takes_too_long_is_ended(tmp_path: Path) -> None:
    """A run that would never end is ended from outside."""
    encoder = CrossEncoder(make_encoder(tmp_path / "slow", slow=True))
    with pytest.raises(ModelError, match=r"was not done within 0.2 s"):
        encoder.score("jwt", ["token"] * 40, timeout=0.2)


def test_files_that_are_no_model_are_refused(tmp_path: Path) -> None:
    """A directory without files, and one with damaged ones."""
    with pytest.raises(ModelError, match=r"holds no model.onnx with tokenizer.json") as missing:
        CrossEncoder(tmp_path)
    assert "rerank.cross_encoder" in missing.value.hint
    for name in ("model.onnx", "tokenizer.json"):
        directory = make_encoder(tmp_path / f"damaged-{name}")
        (directory / name).write_bytes(b"{")
        with pytest.raises(ModelError, match=r"cannot be (loaded|read)"):
            CrossEncoder(directory).score("jwt", ["token"], timeout=60)
