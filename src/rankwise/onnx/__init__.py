"""Models as ONNX graphs: predictions without Python, from any language that has an ONNX runtime.

:func:`to_onnx` turns a fitted linear estimator, or a scikit-learn pipeline of scalers and one, into a graph of a few
matrix products and comparisons with two outputs, ``label`` and ``scores``.

This is the only room that imports onnx. Without it: ``pip install 'rankwise[onnx]'``.
"""

try:
    import onnx as _onnx  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "onnx":  # onnx is there, but something that it needs is not: its own message says what
        raise
    raise ImportError("rankwise.onnx needs the package onnx: pip install 'rankwise[onnx]'") from None

from rankwise.onnx._export import to_onnx

__all__ = ["to_onnx"]
