"""A graph under construction: constants and operations, each named after what it is."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, helper, numpy_helper

#: Operators of 2022, which every runtime since then has.
OPSET = 17
IR_VERSION = 8


class Graph:
    """Nodes and constants, added one after the other; a value is known by its name."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []

    def add(self, operator: str, *inputs: str, name: str | None = None, **attributes: Any) -> str:
        """Add an operation and return the name of its result."""
        output = name or f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [output], **attributes))
        return output

    def constant(self, value: NDArray[Any]) -> str:
        """Add a constant and return its name."""
        name = f"constant_{len(self.constants)}"
        value = value.astype(object) if value.dtype.kind == "U" else value  # how onnx takes text
        self.constants.append(numpy_helper.from_array(value, name))
        return name

    def number(self, value: float) -> str:
        """Add one double as a constant and return its name."""
        return self.constant(np.array(value, dtype=np.float64))

    def whole(self, *values: int) -> str:
        """Add a vector of whole numbers, as axes and shapes are given."""
        return self.constant(np.array(values, dtype=np.int64))
