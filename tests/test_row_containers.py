"""Rows in every container: each estimator works as with a dense float64 array, or refuses in one clear line."""

from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import rankwise as rw
from tests.test_contract import NAMES, case_of, make

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


class OnlyAnArray:
    """Rows that can do nothing but become an array: no length, no shape, no rows to take."""

    def __init__(self, X):
        self._array = X

    def __array__(self, dtype=None, copy=None):
        return np.array(self._array, dtype=dtype)


def wide(X):
    """CSR matrix with indices of 64 bits."""
    made = sparse.csr_matrix(X)
    made.indices, made.indptr = made.indices.astype(np.int64), made.indptr.astype(np.int64)
    return made


SPARSE = {
    f"{kind} {form}": getattr(sparse, f"{kind}_{form}")
    for kind in ("csr", "csc", "coo", "bsr", "dia", "lil", "dok")
    for form in ("matrix", "array")
}
SPARSE["csr with int64 indices"] = wide
SPARSE["csr of float32"] = lambda X: sparse.csr_matrix(X.astype(np.float32))
DENSE = {
    "Fortran order": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "float16": lambda X: X.astype(np.float16),
    "longdouble": lambda X: X.astype(np.longdouble),
    ">f8": lambda X: X.astype(">f8"),
    ">f4": lambda X: X.astype(">f4"),
    "objects": lambda X: X.astype(object),
    "list of lists": lambda X: X.tolist(),
    "tuple of tuples": lambda X: tuple(map(tuple, X.tolist())),
    "list of arrays": list,
    "masked array without a mask": np.ma.array,
    "only an array": OnlyAnArray,
    "pandas": lambda X: pd.DataFrame(X).rename(columns="x{}".format),
    "pandas of >f8": lambda X: pd.DataFrame(X.astype(">f8")).rename(columns="x{}".format),
    "pandas of longdouble": lambda X: pd.DataFrame(X.astype(np.longdouble)).rename(columns="x{}".format),
    "polars": lambda X: pl.DataFrame(X, schema=[f"x{j}" for j in range(X.shape[1])]),
    "pyarrow": lambda X: pa.table({f"x{j}": column for j, column in enumerate(X.T)}),
}
WHOLE = ("int8", ">i4", "uint64", "bool")


def as_type(X, kind):
    return X.astype(kind)


#: They take no sparse rows, and say so.
DENSE_ONLY = {"OnlineScaler", "TableEncoder", "TableModel"}
#: Other things than rows of one matrix.
OF_OTHER_DATA = {"RaterModel", "StructuredPerceptron"}
#: So that numbers are what they are, and nothing is missing="refuse".
ENCODER = {"AutoOrdinal": {"encoder": "none"}}
#: A boolean column is a kind of its own, which is not scaled.
KNOWS_KINDS = {"TableEncoder", "TableModel"}
each = pytest.mark.parametrize("name", [name for name in NAMES if name not in OF_OTHER_DATA])


def data(name, whole=False):
    """Rows whose numbers every type holds exactly, and labels."""
    X, y = case_of(name).data(0)
    if name == "ChainClassifier":
        return [np.round(4 * rows) / 4 for rows in X], y
    X = np.asarray(X)
    return (np.round(X) % 2 if whole else np.round(4 * X) / 4), y


def answers(name, container, X, y, **parameters):
    """What a model says that learns from rows in a container and is asked about them."""
    put = (lambda parts: [container(part) for part in parts]) if name == "ChainClassifier" else container
    model = make(name).set_params(**parameters)
    model.fit(put(X), y)
    found = [getattr(model, method)(put(X)) for method in METHODS if hasattr(model, method)]
    if hasattr(model, "partial_fit") and name not in ("ChainClassifier", "OnlineScaler"):
        declared = {"classes": [0, 1, 2]} if "classes" in model.get_params(deep=False) else {}
        stream = make(name).set_params(**parameters, **declared)
        classes = {"classes": [0, 1, 2]} if name in ("TableModel", "OnlineConformalOrdinal") else {}
        found.append(stream.partial_fit(put(X), y, **classes).predict(put(X)))
    assert found
    return [np.concatenate(one) if isinstance(one, list) else np.asarray(one, dtype=float) for one in found]


METHODS = ("predict", "transform", "decision_function", "predict_proba", "predict_set")


def assert_same(name, containers, X, y, **parameters):
    expected = answers(name, np.asarray, X, y, **parameters)
    for what, container in containers.items():
        found = answers(name, container, X, y, **parameters)
        assert len(found) == len(expected), what
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-3, err_msg=what)


@each
def test_dense_rows_in_any_container(name):
    assert_same(name, DENSE, *data(name), **ENCODER.get(name, {}))


@each
def test_whole_numbers_and_truth_values(name):
    if name == "ChainClassifier":
        pytest.skip("has other data")
    kinds = {kind: partial(as_type, kind=kind) for kind in WHOLE if kind != "bool" or name not in KNOWS_KINDS}
    assert_same(name, kinds, *data(name, whole=True), **ENCODER.get(name, {}))


@each
def test_sparse_rows_of_every_format(name):
    X, y = data(name)
    if name not in DENSE_ONLY:
        assert_same(name, SPARSE, X, y, **({"encoder": "none"} if name == "AutoOrdinal" else {}))
        return
    for container in SPARSE.values():
        with pytest.raises((TypeError, ValueError), match="sparse matrix") as caught:
            answers(name, container, X, y)
        assert "\n" not in str(caught.value)


def test_a_table_model_without_an_encoder_takes_sparse_rows():
    assert_same("TableModel", SPARSE, *data("TableModel"), encoder="none")


def test_features_of_raters_items_in_any_container():
    answers_given, X = case_of("RaterModel").data(0)
    X = np.round(4 * X) / 4
    expected = rw.RaterModel().fit(answers_given, X).predict(X=X)
    for container in (DENSE | SPARSE).values():
        model = rw.RaterModel().fit(answers_given, container(X))
        assert model.predict(X=container(X)).tolist() == expected.tolist()


def test_a_class_that_is_new_in_a_chunk_of_sparse_rows():
    X, y = data("PRIL")
    order = np.argsort(y, kind="stable")
    expected = rw.MulticlassPerceptron().partial_fit(X[order], y[order]).predict(X)
    for container in (DENSE | SPARSE).values():
        model = rw.MulticlassPerceptron().partial_fit(container(X[order]), y[order])
        assert model.predict(container(X)).tolist() == expected.tolist()
