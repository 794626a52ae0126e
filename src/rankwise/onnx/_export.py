"""From a fitted estimator or pipeline to an ONNX model and its file."""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, checker, helper
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from rankwise._files import write_whole
from rankwise._version import __version__
from rankwise.onnx._decision_graphs import RULES
from rankwise.onnx._graph import IR_VERSION, OPSET, Graph
from rankwise.onnx._tree_ensemble import ML_DOMAIN, ML_OPSET, categories_of_texts

_INPUT_TYPES = {"float64": TensorProto.DOUBLE, "float32": TensorProto.FLOAT}


def to_onnx(model: Any, path: str | os.PathLike[str] | None = None, *, dtype: str = "float64") -> ModelProto:
    """Turn a fitted linear model, or boosted trees, into an ONNX graph, and write it to a file if a path is given.

    The graph has one input, ``X`` of shape (rows, features), and two outputs: ``label``, what ``predict`` returns, as
    whole numbers, doubles, truth values or text like ``classes_``; and ``scores``, what ``decision_function`` returns.
    ``CumulativeLink`` and ``OnlineCumulativeLink`` have a third one, ``probabilities``, what ``predict_proba`` returns.
    Names of the features and the classes are in its metadata as JSON (``feature_names``, ``classes``), with the name of
    the estimator and the version of rankwise.

    Of boosted trees, a column of categories holds the numbers that stood for them in ``fit``. Categories that were
    texts are given by their positions in the metadata (``categories``). Any other number is a category not met in
    ``fit``.

    Parameters
    ----------
    model : estimator or sklearn.pipeline.Pipeline
        A fitted ``PRIL``, ``PRank``, ``MultiplicativePRIL``, ``WidrowHoff``, ``SVOR``, ``VILMA``,
        ``CumulativeLink``, ``OnlineCumulativeLink``, ``BoostedThresholds``, ``RoundedRegression``, ``CuSumRank``,
        ``ImportanceWeightedPerceptron``, ``MulticlassPerceptron``, ``LabelRanker`` (its best label), ``MORD``,
        ``PiecewiseMORD`` or ``UnifiedClassifier``; or a pipeline that ends in one, with nothing but ``StandardScaler``,
        ``MinMaxScaler`` and ``MaxAbsScaler`` before it.
    path : path, optional
        File to write. It is replaced only when the new one is complete.
    dtype : {"float64", "float32"}, default "float64"
        Type of the input. The graph computes in doubles either way, as ``predict`` does: rows of float32 are widened
        first, so an estimator gives them the labels that its ``predict`` gives them. scikit-learn's scalers compute in
        float32 on such rows and the graph does not, so after a scaler labels of rows very near a threshold may differ.

    Returns
    -------
    onnx.ModelProto

    Notes
    -----
    ``predict`` refuses rows with infinity and, but for boosted trees, NaN; a graph cannot, so check the rows first.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from rankwise import PRIL
    >>> from rankwise.onnx import to_onnx
    >>> X = np.linspace(0, 100, 50).reshape(-1, 1)
    >>> y = np.repeat(["low", "mid", "high"], [20, 10, 20])
    >>> model = make_pipeline(StandardScaler(), PRIL(classes=["low", "mid", "high"], random_state=0)).fit(X, y)
    >>> graph = to_onnx(model)
    >>> [output.name for output in graph.graph.output]
    ['label', 'scores']

    Any ONNX runtime computes it, here Microsoft's:

    >>> import onnxruntime
    >>> session = onnxruntime.InferenceSession(graph.SerializeToString())
    >>> session.run(["label"], {"X": np.array([[3.0], [97.0]])})[0].tolist()
    ['low', 'high']
    """
    if dtype not in _INPUT_TYPES:
        raise ValueError(f"dtype must be 'float64' or 'float32', the type of the input. Got {dtype!r} instead.")
    scalers, estimator = _scalers_and_estimator(model)
    check_is_fitted(model)
    graph = Graph()
    rows = "X" if dtype == "float64" else graph.add("Cast", "X", to=TensorProto.DOUBLE)
    for scaler in scalers:
        rows = _SCALERS[type(scaler)](graph, rows, scaler)
    codes, scores, *probabilities = RULES[type(estimator)](graph, rows, estimator)
    classes = _classes(estimator)
    graph.add("Gather", classes, codes, name="label", axis=0)
    graph.add("Identity", scores, name="scores")
    for name in probabilities:
        graph.add("Identity", name, name="probabilities")
    exported = _as_model(
        graph, scalers[0] if scalers else estimator, estimator, classes, _INPUT_TYPES[dtype], bool(probabilities)
    )
    if path is not None:
        write_whole(Path(path), exported.SerializeToString())
    return exported


def _scalers_and_estimator(model: Any) -> tuple[list[Any], Any]:
    """Scalers and estimator of a pipeline, or the estimator alone."""
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    *before, estimator = steps
    before = [step for step in before if step is not None and step != "passthrough"]
    for step in before:
        _require(step, _SCALERS, " in front of an estimator")
    _require(estimator, RULES)
    return before, estimator


def _require(step: Any, known: Mapping[type[Any], Any], where: str = "") -> None:
    if type(step) not in known:
        names = ", ".join(sorted(kind.__name__ for kind in known))
        raise TypeError(f"cannot export a {type(step).__name__}{where} to ONNX. What can be exported: {names}.")


def _classes(estimator: Any) -> NDArray[Any]:
    """Classes in a type that ONNX has."""
    classes = np.asarray(estimator.classes_)
    if classes.dtype.kind == "O":
        classes = np.array(classes.tolist()) if len({type(value) for value in classes}) == 1 else classes
    for kinds, kind in (("iu", np.int64), ("f", np.float64), ("b", np.bool_), ("U", np.str_)):
        if classes.dtype.kind in kinds:
            return classes.astype(kind)
    raise TypeError(
        f"cannot export classes of type {classes.dtype} to ONNX, whose labels are whole numbers, doubles, truth values "
        f"or text. Got {classes.tolist()!r}."
    )


def _as_model(
    graph: Graph, first: Any, estimator: Any, classes: NDArray[Any], input_type: int, has_probabilities: bool
) -> ModelProto:
    n_classes = len(classes)
    label_type = {"i": TensorProto.INT64, "f": TensorProto.DOUBLE, "b": TensorProto.BOOL, "U": TensorProto.STRING}
    inputs = [helper.make_tensor_value_info("X", input_type, ["rows", first.n_features_in_])]
    outputs = [
        helper.make_tensor_value_info("label", label_type[classes.dtype.kind], ["rows"]),
        helper.make_tensor_value_info(
            "scores", TensorProto.DOUBLE, ["rows"] if n_classes == 2 else ["rows", n_classes]
        ),
    ]
    if has_probabilities:
        outputs.append(helper.make_tensor_value_info("probabilities", TensorProto.DOUBLE, ["rows", n_classes]))
    operators = [helper.make_opsetid("", OPSET)]
    if any(node.domain == ML_DOMAIN for node in graph.nodes):
        operators.append(helper.make_opsetid(ML_DOMAIN, ML_OPSET))
    name = type(estimator).__name__
    model = helper.make_model(
        helper.make_graph(graph.nodes, name, inputs, outputs, graph.constants),
        opset_imports=operators,
        ir_version=IR_VERSION,
        producer_name="rankwise",
        producer_version=__version__,
    )
    metadata = {"rankwise": __version__, "estimator": name, "classes": json.dumps(classes.tolist())}
    names = getattr(first, "feature_names_in_", None)
    if names is not None:
        metadata["feature_names"] = json.dumps(list(names))
    texts = categories_of_texts(estimator)
    if texts:
        metadata["categories"] = json.dumps(texts)
    helper.set_model_props(model, metadata)
    checker.check_model(model, full_check=True)
    return model


def _standard(graph: Graph, rows: str, scaler: Any) -> str:
    """``(x - mean) / scale``."""
    if scaler.with_mean:
        rows = graph.add("Sub", rows, scaler.mean_)
    return graph.add("Div", rows, scaler.scale_) if scaler.with_std else rows


def _min_max(graph: Graph, rows: str, scaler: Any) -> str:
    """``x * scale + min``, cut off at the ends of the range if the scaler does so."""
    rows = graph.add("Add", graph.add("Mul", rows, scaler.scale_), scaler.min_)
    return graph.add("Clip", rows, *map(float, scaler.feature_range)) if scaler.clip else rows


def _max_abs(graph: Graph, rows: str, scaler: Any) -> str:
    """``x / scale``."""
    rows = graph.add("Div", rows, scaler.scale_)
    return graph.add("Clip", rows, -1.0, 1.0) if getattr(scaler, "clip", False) else rows


_SCALERS: dict[type[Any], Callable[[Graph, str, Any], str]] = {
    StandardScaler: _standard,
    MinMaxScaler: _min_max,
    MaxAbsScaler: _max_abs,
}
