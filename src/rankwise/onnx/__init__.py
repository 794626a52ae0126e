"""Models as ONNX graphs: predictions without Python, from any language that has an ONNX runtime.

:func:`to_onnx` turns a fitted linear estimator, or a scikit-learn pipeline of scalers and one, into a graph of a few
matrix products and comparisons with two outputs, ``label`` and ``scores``.

No other package of rankwise imports onnx. Without it: ``pip install 'rankwise[onnx]'``.
"""

from rankwise._extras import require

require("onnx", "rankwise.onnx needs the package onnx: pip install 'rankwise[onnx]'")

from rankwise.onnx._export import to_onnx

__all__ = ["to_onnx"]
