"""Reading of sequences and trees: one matrix with the rows of all parts, and one label for each part.

Structure s has the rows ``starts[s] .. starts[s + 1] - 1``; ``parents[v]`` is the row of the part above part v, or -1
at a root. In a chain it is the previous part. Errors name the sequence and the position.

A part's annotation a_v is a set of labels: one, several (candidates, an interval), or all of them (missing). The
partial loss is the sum over the parts of ``l(a_v, t) = min over y in a_v of loss[y, t]``, and zero for missing labels
(eq. 4.2 of the thesis, with candidate sets as its natural generalisation). Decisions t are the labels and, with a
reject cost, "don't know" as the last one: it costs the same at every annotated part, and no annotation admits it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise._errors import RowError
from rankwise._kernels.sparse import require_sound
from rankwise._masks import unmasked
from rankwise._types import Floats, Ints
from rankwise.base.row_data import first_non_finite, row_entries
from rankwise.labels import ClassOrder, Labels, check_weights, declared_order, encode
from rankwise.labels.label_values import show
from rankwise.losses import loss_matrix
from rankwise.losses.target_losses import check_shape, refuse_entries
from rankwise.structured.max_sum import chain_parents


class Tree(NamedTuple):
    """Parts connected as a tree, in place of a sequence.

    Parameters
    ----------
    features : array-like or CSR matrix of shape (T, d)
        One row for each part.
    parents : array-like of shape (T,)
        Number of the part above each part, which must come before it; -1 at a root. Several roots are a forest.

    Examples
    --------
    A root with two children:

    >>> from rankwise.structured import Tree
    >>> tree = Tree(features=[[1.0], [0.0], [2.0]], parents=[-1, 0, 0])
    """

    features: Any
    parents: Any


@dataclass(frozen=True, eq=False)
class Sequences:
    """The parts of all structures, stacked; see the module's docstring."""

    X: Any  # a C-contiguous float64 array, or a CSR matrix in canonical form
    starts: Ints
    parents: Ints

    def __len__(self) -> int:
        return self.starts.size - 1

    @property
    def rows(self) -> Any:
        return (self.X.data, self.X.indices, self.X.indptr) if sparse.issparse(self.X) else self.X

    @property
    def local_parents(self) -> Ints:
        first = np.repeat(self.starts[:-1], np.diff(self.starts))
        return np.where(self.parents < 0, -1, self.parents - first)

    def place(self, row: int) -> str:
        s = int(np.searchsorted(self.starts, row, side="right")) - 1
        return f"sequence {s}, position {row - self.starts[s]}"

    def split(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        return np.split(values, self.starts[1:-1])


def read_sequences(X: Any, n_features: int | None = None) -> Sequences:
    """List of (T, d) arrays, CSR matrices or trees -> :class:`Sequences`; every row has ``n_features`` if given."""
    if isinstance(X, (Tree, str, dict)) or sparse.issparse(X) or not hasattr(X, "__len__"):
        raise TypeError(f"X must be a list of sequences, each a (T, d) array. Got one {type(X).__name__} instead.")
    if getattr(X, "ndim", 0) == 2:
        raise ValueError(
            f"X must be a list of sequences, each a (T, d) array. Got one {type(X).__name__} of shape {X.shape}: "
            f"if it is a sequence, give [X]."
        )
    if len(X) == 0:
        raise ValueError("X is empty: there is no sequence in it.")
    blocks, trees = [], {}
    for s in range(len(X)):
        features, above = X[s] if isinstance(X[s], Tree) else (X[s], None)
        blocks.append(_features(features, s))
        length, width = blocks[-1].shape
        if above is not None:
            trees[s] = _parents(above, length, s)
        wanted = blocks[0].shape[1] if n_features is None else n_features
        if width != wanted:
            known = "sequence 0 has" if n_features is None else "the model was fitted with"
            raise ValueError(f"sequence {s} has {width} features, {known} {wanted}.")
    starts = np.concatenate([[0], np.cumsum([block.shape[0] for block in blocks])]).astype(np.int64)
    parents = chain_parents(starts)
    for s, above in trees.items():
        parents[starts[s] : starts[s + 1]] = np.where(above < 0, -1, above + starts[s])
    sequences = Sequences(_stacked(blocks), starts, parents)
    _require_finite(sequences)
    return sequences


def read_positions(Y: Any, sequences: Sequences, classes: ClassOrder | None, *, ordered: bool) -> Labels:
    """Labels of every position of every sequence: exact, interval (tuple), candidates (set or list) or missing.

    None, NaN and -1 mean missing, -1 unless it is one of the ``classes``; None in place of a sequence's labels means
    that all are missing. The labels of a sequence may also be a boolean (T, K) mask, a (T, 2) table of intervals or
    :class:`rankwise.labels.Labels`, if those of all sequences are.
    """
    if not hasattr(Y, "__len__") or isinstance(Y, (str, dict)):
        raise TypeError(f"Y must be a list with the labels of each sequence. Got {type(Y).__name__} instead.")
    if len(Y) != len(sequences):
        raise ValueError(f"X has {len(sequences)} sequences but Y has labels for {len(Y)}.")
    lengths = np.diff(sequences.starts)
    minus_one = classes is not None and _holds_minus_one(classes)
    labels = [_labels_of(Y[s], int(lengths[s]), s, keep_minus_one=minus_one) for s in range(len(Y))]
    try:
        return encode(_flat(labels), classes, ordered=ordered)
    except RowError as error:
        raise error.at(sequences.place(error.row)) from None


def sequence_weights(sample_weight: Any, sequences: Sequences) -> Floats:
    """Weight of every sequence; ones by default."""
    return check_weights(1.0 if sample_weight is None else sample_weight, len(sequences), unit="sequence")


def stream_order(given: Sequence[Any], known: ClassOrder | None) -> ClassOrder:
    """Classes of a stream: those known from before, or those declared; declarations must agree."""
    declared = [declared_order(classes) for classes in given if classes is not None]
    if known is None and not declared:
        raise ValueError(
            "the first call of ChainClassifier on a stream needs all labels: partial_fit(X, Y, classes=[...]) or "
            "ChainClassifier(classes=[...])."
        )
    order = declared[0] if known is None else known
    for other in declared:
        if other != order:
            raise ValueError(f"classes={show(other.values)} is not the same as before: {show(order.values)}.")
    return order


@dataclass(frozen=True, eq=False)
class Annotation:
    """Annotation of n parts in m structures, with D decisions."""

    losses: Floats  # (n, D): partial loss of every decision at every part
    allowed: NDArray[np.bool_]  # (n, D): decisions that the annotation admits
    known: NDArray[np.bool_]  # (n,): parts that have an annotation
    informative: NDArray[np.bool_]  # (m,): structures that have an annotated part


def decision_losses(loss: Any, n_classes: int, reject_cost: float | None) -> Floats:
    """Part loss of every decision (column) for every label (row), (K, K), or (K, K + 1) with a reject cost."""
    if isinstance(loss, str):
        matrix = loss_matrix({"hamming": "zero_one"}.get(loss, loss), n_classes)
    else:
        try:
            matrix = np.array(loss, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"a loss matrix must hold numbers: {error}.") from None
        check_shape(matrix, n_classes)
        refuse_entries("a part loss must be a finite number >= 0", matrix, ~((matrix >= 0) & (matrix < np.inf)))
    return matrix if reject_cost is None else np.column_stack([matrix, np.full(n_classes, float(reject_cost))])


def annotate(labels: Labels, losses: Floats, starts: NDArray[np.int64]) -> Annotation:
    """Annotation of the parts that ``labels`` describe; ``losses`` as :func:`decision_losses` gives them."""
    n_classes, n_decisions = losses.shape
    admissible, known = labels.admissible(), ~labels.is_missing
    allowed = np.zeros((len(labels), n_decisions), dtype=bool)
    allowed[:, :n_classes] = admissible
    costs = np.full((len(labels), n_decisions), np.inf)
    for y in range(n_classes):
        rows = admissible[:, y]
        costs[rows] = np.minimum(costs[rows], losses[y])
    costs[~known] = 0.0
    counted = np.concatenate([[0], np.cumsum(known)])
    return Annotation(costs, allowed, known, counted[starts[1:]] > counted[starts[:-1]])


def _features(features: Any, s: int) -> Any:
    if sparse.issparse(features):
        return require_sound(features).tocsr().astype(np.float64)
    try:
        array = np.asarray(unmasked(features))
        if array.dtype.kind == "c":
            raise ValueError("complex numbers have no order")
        array = array.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        tree = " A tree is Tree(features, parents), not a tuple." if type(features) is tuple else ""
        reason = str(error).rstrip(".")
        raise ValueError(f"sequence {s}: features must be a (T, d) array of numbers: {reason}.{tree}") from None
    if array.ndim > 2:
        raise ValueError(
            f"sequence {s} has shape {array.shape}: grids of parts are not supported, because the best labelling of a "
            f"grid cannot be found exactly. Give chains, (T, d) arrays, or trees, Tree(features, parents)."
        )
    if array.ndim != 2:
        raise ValueError(f"sequence {s} must be a (T, d) array, one row for each position. Got shape {array.shape}.")
    return array


def _parents(above: Any, n: int, s: int) -> Ints:
    parents = np.asarray(above, dtype=None if len(above) else np.int64)  # an empty list would be float
    if parents.shape != (n,) or parents.dtype.kind not in "iu":
        raise ValueError(
            f"sequence {s}: parents must be {n} whole numbers, one for each part. "
            f"Got {parents.dtype} of shape {parents.shape}."
        )
    bad = (parents < -1) | (parents >= np.arange(n))
    if bad.any():
        v = int(np.argmax(bad))
        rule = "the parent of a part must come before it, or be -1 at a root"
        raise ValueError(f"sequence {s}, position {v}: {rule}. Got {parents[v]}.")
    return parents.astype(np.int64)


def _stacked(blocks: Sequence[Any]) -> Any:
    if not any(sparse.issparse(block) for block in blocks):
        return np.ascontiguousarray(np.concatenate(blocks))
    stacked = sparse.csr_matrix(sparse.vstack([sparse.csr_matrix(block) for block in blocks], format="csr"))
    stacked.sum_duplicates()
    return stacked


def _require_finite(sequences: Sequences) -> None:
    row = first_non_finite(sequences.rows)
    if row >= 0:
        columns, values = row_entries(sequences.rows, row)
        bad = int(np.argmin(np.isfinite(values)))
        rule = "features must be finite numbers"
        raise ValueError(f"{sequences.place(row)}, column {columns[bad]}: {rule}. Got {values[bad]}.")


def _holds_minus_one(order: ClassOrder) -> bool:
    return any(not isinstance(value, (bool, str)) and value == -1 for value in order.values.tolist())


def _labels_of(labels: Any, n: int, s: int, *, keep_minus_one: bool) -> Any:
    """An array (1-D values, 2-D mask or intervals), or a list of single labels; -1 becomes a missing value."""
    if labels is None:
        return [None] * n
    if hasattr(labels, "dtype") or hasattr(labels, "to_numpy"):
        labels = np.asarray(labels)
        if labels.ndim not in (1, 2):
            raise ValueError(f"sequence {s}: labels must have one entry for each position. Got shape {labels.shape}.")
        if labels.dtype.kind in "if" and not keep_minus_one and (labels == -1).any():
            labels = np.where(labels == -1, np.nan, labels)
        elif labels.dtype == object:
            labels = [_label(label, keep_minus_one) for label in labels]
    elif not isinstance(labels, Labels):
        try:
            labels = [_label(label, keep_minus_one) for label in labels]
        except TypeError:
            rule = "labels must be a list, one entry for each position"
            raise TypeError(f"sequence {s}: {rule}. Got {labels!r}.") from None
    if len(labels) != n:
        raise ValueError(f"sequence {s} has {n} positions in X but {len(labels)} labels in Y.")
    return labels


def _label(label: Any, keep_minus_one: bool) -> Any:
    if isinstance(label, (list, set, frozenset, np.ndarray)):
        return frozenset(label)  # a list of two in a list of lists would be read as an interval
    if isinstance(label, tuple):
        return tuple(_label(end, keep_minus_one) for end in label)
    number = isinstance(label, (int, float, np.number)) and not isinstance(label, (bool, np.bool_))
    return None if number and label == -1 and not keep_minus_one else label


def _flat(labels: Sequence[Any]) -> Any:
    """All positions: one array if the sequences have arrays of one kind, else one list."""
    if all(isinstance(sequence, Labels) for sequence in labels):
        return Labels.concatenate(labels)
    arrays = [sequence for sequence in labels if isinstance(sequence, np.ndarray) and sequence.size]
    if len(arrays) == sum(len(sequence) > 0 for sequence in labels) and arrays:
        kinds = {(array.ndim, "n" if array.dtype.kind in "iuf" else array.dtype.kind) for array in arrays}
        if len(kinds) == 1:
            return np.concatenate(arrays)
    flat: list[Any] = []
    for s, sequence in enumerate(labels):
        if isinstance(sequence, np.ndarray) and sequence.ndim == 2:
            if sequence.dtype.kind == "b":
                raise ValueError(f"sequence {s} has a candidate mask: then every sequence must have one.")
            flat += [tuple(ends) for ends in sequence.tolist()]
        else:
            flat += sequence.tolist() if isinstance(sequence, np.ndarray) else sequence
    return flat
