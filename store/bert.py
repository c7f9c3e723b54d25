"""BERT as an ONNX graph, made from the tensors of a checkpoint.

The sizes of words, positions and layers are read off the tensors, so any BERT encoder with absolute positions
works; only the number of attention heads must be given.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, helper, numpy_helper

from workbench.errors import ModelError

Tensors: TypeAlias = Mapping[str, NDArray[np.float32]]

_EPSILON: Final = 1e-12
_MASKED: Final = -10_000.0
_OPSET: Final = 17
_IR_VERSION: Final = 8


def read_safetensors(path: Path) -> Tensors:
    """Return the float32 tensors of a safetensors file, as views of one buffer.

    The format is an 8-byte little-endian length, that much JSON, then raw tensors.
    Raises: ModelError if the file is damaged.
    """
    data = path.read_bytes()
    try:
        (length,) = struct.unpack_from("<Q", data)
        header: dict[str, Any] = json.loads(data[8 : 8 + length])
        tensors = {}
        for name, entry in header.items():
            if name == "__metadata__" or entry["dtype"] != "F32":
                continue
            start, end = entry["data_offsets"]
            values = np.frombuffer(data, "<f4", (end - start) // 4, 8 + length + start)
            tensors[name] = values.reshape(entry["shape"])
    except (ValueError, KeyError, TypeError, struct.error) as error:
        raise ModelError(f"{path} is not a safetensors file: {error}") from error
    return tensors


def bert_graph(tensors: Tensors, *, heads: int) -> ModelProto:
    """Return BERT as an ONNX model in float32.

    Inputs input_ids, attention_mask and token_type_ids int64 [batch, sequence]; output last_hidden_state
    float32 [batch, sequence, hidden]. Devlin et al. 2019, with GELU by the error function; masked positions
    get -10,000 added to their attention scores.
    """
    graph = _Graph(tensors)
    layers = sum(name.endswith("attention.self.query.weight") for name in tensors)
    hidden = tensors["embeddings.LayerNorm.weight"].shape[0]
    mask = graph.mask()
    states = graph.embeddings()
    for layer in range(layers):
        states = graph.layer(f"encoder.layer.{layer}", states, mask, heads, hidden // heads)
    graph.node("Identity", states, output="last_hidden_state")
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "sequence"])
        for name in ("input_ids", "attention_mask", "token_type_ids")
    ]
    output = helper.make_tensor_value_info(
        "last_hidden_state", TensorProto.FLOAT, ["batch", "sequence", hidden]
    )
    model = helper.make_model(
        helper.make_graph(graph.nodes, "bert", inputs, [output], list(graph.constants.values())),
        producer_name="context-workbench",
        opset_imports=[helper.make_opsetid("", _OPSET)],
        ir_version=_IR_VERSION,
    )
    # Says that the graph needs no simplification first, which the quantiser would otherwise ask for.
    helper.set_model_props(model, {"onnx.quant.pre_process": "onnxruntime.quant"})
    return model


class _Graph:
    """Nodes and constants of a BERT graph under construction; methods return the name of their output."""

    def __init__(self, tensors: Tensors) -> None:
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}
        self._tensors = tensors

    def node(self, kind: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        name = f"{len(self.nodes):03d}_{kind}"
        result = output or name
        self.nodes.append(helper.make_node(kind, list(inputs), [result], name=name, **attributes))
        return result

    def constant(self, name: str, value: object) -> str:
        if name not in self.constants:
            self.constants[name] = numpy_helper.from_array(np.ascontiguousarray(value), name)
        return name

    def numbers(self, *values: int) -> str:
        return self.constant("i" + "_".join(map(str, values)), np.array(values, np.int64))

    def scalar(self, value: float) -> str:
        return self.constant(f"f{value}", np.array(value, np.float32))

    def weight(self, name: str) -> str:
        return self.constant(name, self._tensors[name])

    def dense(self, prefix: str, states: str) -> str:
        weight = self.constant(f"{prefix}.weight.T", self._tensors[f"{prefix}.weight"].T)
        return self.node("Add", self.node("MatMul", states, weight), self.weight(f"{prefix}.bias"))

    def norm(self, prefix: str, states: str) -> str:
        scale, bias = self.weight(f"{prefix}.weight"), self.weight(f"{prefix}.bias")
        return self.node("LayerNormalization", states, scale, bias, axis=-1, epsilon=_EPSILON)

    def mask(self) -> str:
        """[batch, 1, 1, sequence]: 0 for a token, a large negative number for padding."""
        wide = self.node("Unsqueeze", "attention_mask", self.numbers(1, 2))
        hidden = self.node("Sub", self.scalar(1.0), self.node("Cast", wide, to=TensorProto.FLOAT))
        return self.node("Mul", hidden, self.scalar(_MASKED))

    def embeddings(self) -> str:
        table = "embeddings.{}_embeddings.weight"
        words = self.node("Gather", self.weight(table.format("word")), "input_ids")
        types = self.node("Gather", self.weight(table.format("token_type")), "token_type_ids")
        length = self.node("Shape", "input_ids", start=1, end=2)
        start = self.numbers(0)
        positions = self.node("Slice", self.weight(table.format("position")), start, length, start)
        total = self.node("Add", self.node("Add", words, types), positions)
        return self.norm("embeddings.LayerNorm", total)

    def layer(self, prefix: str, states: str, mask: str, heads: int, width: int) -> str:
        context = self.attention(f"{prefix}.attention.self", states, mask, heads, width)
        attended = self.dense(f"{prefix}.attention.output.dense", context)
        states = self.norm(f"{prefix}.attention.output.LayerNorm", self.node("Add", attended, states))
        inner = self.gelu(self.dense(f"{prefix}.intermediate.dense", states))
        outer = self.dense(f"{prefix}.output.dense", inner)
        return self.norm(f"{prefix}.output.LayerNorm", self.node("Add", outer, states))

    def attention(self, prefix: str, states: str, mask: str, heads: int, width: int) -> str:
        split = self.numbers(0, 0, heads, width)
        query, key, value = (
            self.node("Reshape", self.dense(f"{prefix}.{part}", states), split)
            for part in ("query", "key", "value")
        )
        query = self.node("Transpose", query, perm=[0, 2, 1, 3])
        key = self.node("Transpose", key, perm=[0, 2, 3, 1])
        value = self.node("Transpose", value, perm=[0, 2, 1, 3])
        scores = self.node("Div", self.node("MatMul", query, key), self.scalar(width**0.5))
        weights = self.node("Softmax", self.node("Add", scores, mask), axis=-1)
        context = self.node("Transpose", self.node("MatMul", weights, value), perm=[0, 2, 1, 3])
        return self.node("Reshape", context, self.numbers(0, 0, heads * width))

    def gelu(self, states: str) -> str:
        error = self.node("Erf", self.node("Div", states, self.scalar(2**0.5)))
        doubled = self.node("Mul", states, self.node("Add", error, self.scalar(1.0)))
        return self.node("Mul", doubled, self.scalar(0.5))
