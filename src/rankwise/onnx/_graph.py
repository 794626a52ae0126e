"""A graph under construction: named constants and operations."""

from typing import Any

import numpy as np
from onnx import NodeProto, TensorProto, helper, numpy_helper

#: Operators of 2022, which every runtime since then has.
OPSET = 17
IR_VERSION = 8


class Graph:
    """Nodes and constants, added one after the other; a value is known by its name."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []

    def add(self, operator: str, *inputs: Any, name: str | None = None, **attributes: Any) -> str:
        """Add an operation and return the name of its result; an input that is not a name becomes a constant."""
        names = [value if isinstance(value, str) else self.constant(value) for value in inputs]
        output = name or f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, names, [output], **attributes))
        return output

    def constant(self, value: Any) -> str:
        """Add a number or an array as a constant and return its name; floating-point numbers become doubles."""
        name = f"constant_{len(self.constants)}"
        array = np.asarray(value)
        types = {"f": np.dtype(np.float64), "U": np.dtype(object)}  # onnx takes text as objects
        self.constants.append(numpy_helper.from_array(array.astype(types.get(array.dtype.kind, array.dtype)), name))
        return name
