"""Models that a search tries, each with suitable preprocessing, cheapest first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from scipy import sparse
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import Pipeline, make_pipeline

from rankwise.batch import SVOR, CumulativeLink
from rankwise.features import TableEncoder
from rankwise.table_model import TableModel
from rankwise.trees import BoostedThresholds

#: Decision of a model with probabilities that minimises each metric.
DECISIONS = {"mae": "median", "zero_one": "mode", "squared": "mean", "log": "median", "ranked": "median"}

_CONSTANT = 1e9  # regularisation that leaves only the frequencies of the classes


@dataclass(frozen=True)
class Candidate:
    """A model to try."""

    name: str
    model: Any  # takes the table as it is; not fitted
    why: str  # its strength, in words
    most_rows: float = float("inf")  # for which it is fast enough


def candidates(
    estimators: Any, X: Any, metric: str, encoder: Any, n_rows: int, random_state: int
) -> tuple[list[Candidate], str]:
    """Models to try, cheapest first, and the name of the one that is the default.

    ``estimators`` is "auto", "quick", a list of names of candidates, or a mapping of names to estimators.
    """
    if isinstance(estimators, Mapping):
        given = [Candidate(name, _in_table(model, X, encoder), "given") for name, model in estimators.items()]
        if not given:
            raise ValueError("estimators must name at least one estimator. Got none.")
        return given, given[0].name
    known = {candidate.name: candidate for candidate in _known(X, metric, encoder, n_rows, random_state)}
    if isinstance(estimators, str):
        names = [name for name in known if estimators == "auto" or name in QUICK]
    else:
        names = list(estimators)
        for name in names:
            if name not in known:
                raise ValueError(f"estimators: there is no candidate {name!r}. Known: {', '.join(known)}.")
    chosen = [known[name] for name in known if name in names]
    if not chosen:
        raise ValueError("estimators must name at least one candidate. Got none.")
    return chosen, DEFAULT if DEFAULT in names else chosen[0].name


#: The frequencies of the classes.
CONSTANT = "constant"
#: The default model, ``TableModel()``.
DEFAULT = "CumulativeLink"
#: What ``rankwise fit`` tries.
QUICK = (DEFAULT, f"{DEFAULT}, linear", "BoostedThresholds")


def _known(X: Any, metric: str, encoder: Any, n_rows: int, random_state: int) -> list[Candidate]:
    """All candidates whose package is installed, cheapest first."""
    decision = DECISIONS[metric]
    link = CumulativeLink(alpha="auto", decision=decision)
    bent = None if encoder == "none" or sparse.issparse(X) else encoder
    plain, products = _with(bent, numbers="linear"), _with(bent, numbers="spline+products")
    models = [
        Candidate(CONSTANT, _in_table(CumulativeLink(alpha=_CONSTANT, decision=decision), X, plain),
                  "the frequencies of the classes alone: what any other model must beat"),
        Candidate(DEFAULT, _in_table(link, X, encoder), "one direction, ordered thresholds, by likelihood"),
        Candidate(f"{DEFAULT}, linear", _in_table(link, X, plain), "the same without bent columns: for few rows"),
    ]  # fmt: skip
    if metric not in ("log", "ranked"):  # only models with probabilities can be judged by these
        margin = SVOR("explicit" if metric == "zero_one" else "implicit", alpha="auto")
        models.append(Candidate("SVOR", _in_table(margin, X, encoder), "the same with large margins"))
    if products is not None and "numbers" in products.get_params():
        model = _in_table(link, X, products)
        models.append(Candidate(f"{DEFAULT}, products", model, "pairs of columns act together", 5e4))
    if encoder != "none" and not sparse.issparse(X):
        for name, factor in (("kernel", 0.1), ("narrow kernel", 1.0)):
            n_components = max(1, min(_COMPONENTS, n_rows // 4))
            kernel = Nystroem(gamma=factor / max(1, X.shape[1]), n_components=n_components, random_state=random_state)
            model = TableModel(link, make_pipeline(plain, kernel))
            models.append(Candidate(f"{DEFAULT}, {name}", model, "smooth curves in all columns at once", 2e4))
    if find_spec("lightgbm") is not None:
        for name, extra, why in _TREES:
            model = BoostedThresholds(decision=decision, random_state=random_state, n_jobs=1, verbose=False, **extra)
            models.append(Candidate(name, _in_table(model, X, plain), why))
    return [model for model in models if model.most_rows >= n_rows]


_COMPONENTS = 200  # rows that span the features of a kernel
_TREES: Sequence[tuple[str, dict[str, Any], str]] = (
    ("BoostedThresholds", {}, "boosted trees: steps, and columns that act together"),
    ("BoostedThresholds, small", {"max_leaf_nodes": 4, "colsample": 0.7}, "the same with small trees: for few rows"),
)


def _with(encoder: Any, **parameters: Any) -> Any:
    """The encoder, by default a plain one, with these values of the parameters that it leaves to "auto"."""
    encoder = TableEncoder() if encoder is None else encoder
    known = encoder.get_params() if hasattr(encoder, "get_params") else {}
    chosen = {name: value for name, value in parameters.items() if known.get(name) == "auto"}
    return clone(encoder).set_params(**chosen) if chosen else encoder


def _in_table(model: Any, X: Any, encoder: Any) -> Any:
    """Model that takes the table as it is."""
    if isinstance(model, (TableModel, Pipeline)):
        return model
    return TableModel(model, "none" if sparse.issparse(X) else encoder)
