"""Online estimators over partitions: one after the other, or side by side.

``mode="sequential"`` passes the model from partition to partition. Learning is faster than reading, so the cluster
reads some partitions ahead, one for each of its threads: that bounds the memory whatever the number of rows. With
``shuffle=False`` the result is that of one machine to the bit. With ``shuffle=True`` no machine sees all rows at once:
each epoch takes the partitions in a random order, and the rows within each in a random order.

``mode="mixing"`` is iterative parameter mixing (:mod:`rankwise.dask._mixing`): an epoch takes as long as one
partition after another on each worker, not on one of them.
"""

import inspect
from copy import deepcopy
from typing import Any, Self

import numpy as np
from dask.delayed import delayed
from sklearn.utils import check_random_state

from rankwise._sklearn import StrOptions
from rankwise.base.state import GIVEN_ORDER, NO_PREDICTIONS
from rankwise.dask._blocks import tree_sum
from rankwise.dask._lazy import OnDask
from rankwise.dask._loading import PartitionClasses, classes_in, merged_order
from rankwise.dask._mixing import Contribution, contribution, mixed, together
from rankwise.dask.parts import TaskEngine, aligned_blocks, is_partitioned, naming_partition
from rankwise.labels import ClassOrder, check_weights, declared_order, encode_rankings
from rankwise.labels.ranking_labels import read_rankings
from rankwise.online.online_estimator import OnlineEstimator


class OnlineOnDask(OnDask, OnlineEstimator):
    """Base of the online estimators on Dask; see the module's docstring."""

    mode: str

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "plain" in cls.__dict__:
            estimator: Any = cls
            estimator.__init__ = _initialiser(cls.plain)
            modes = StrOptions({"sequential", "mixing"})
            estimator._parameter_constraints = {**cls.plain._parameter_constraints, "mode": [modes]}

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from scratch: ``n_epochs`` passes over the partitions, one after the other or side by side.

        Parameters
        ----------
        X : Dask array, Dask dataframe, list of delayed blocks, or what the plain estimator takes
            Features. Several epochs read partitions several times: persist X where it fits into the workers' memory.
        y, sample_weight : the same, or arrays where X is a Dask array
            Labels and weights, in the same partitions.
        """
        if not is_partitioned(X):
            return super().fit(X, y, sample_weight)
        with self._afresh() as twin:
            self._validate_params()
            engine, partitions = TaskEngine(), aligned_blocks(X, y, sample_weight)
            n = len(partitions)
            model = _begun(engine, self._as_local(), partitions, self._order_of(engine, partitions, self.classes))
            generator = check_random_state(self.random_state)
            one_pass = _in_turn if self.mode == "sequential" else _side_by_side
            judged: dict[str, Any] = {}
            for _ in range(self.n_epochs):
                numbers = generator.permutation(n) if self.shuffle else np.arange(n)
                seeds = generator.randint(2**31 - 1, size=n).tolist() if self.shuffle else [None] * n
                model = one_pass(engine, model, [(p, *partitions[p], seeds[p]) for p in numbers.tolist()])
                if "contest" in model._state:  # as on one machine, where the first epoch alone is judged
                    judged.setdefault("contest", model._state["contest"].copy())
            model._state.update(judged)
            twin._take_over(model)
            twin.n_iter_ = self.n_epochs
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from some more partitions, one after the other as they come, whatever the mode.

        Parameters
        ----------
        X, y, sample_weight
            Partitions, as in :meth:`fit`.
        classes : array-like, optional
            All classes, lowest first. The first call takes those that occur, without it or the parameter ``classes``.
        """
        if not is_partitioned(X):
            return super().partial_fit(X, y, classes, sample_weight)
        with self._afresh() as twin:
            self._validate_params()
            engine, partitions = TaskEngine(), aligned_blocks(X, y, sample_weight)
            if self.__sklearn_is_fitted__():
                model = self.to_local()
                model._known_order(classes, None, False)
            else:
                if classes is not None and self.classes is not None:
                    self._known_order(classes, None, True)  # refuses two that differ
                order = self._order_of(engine, partitions, classes if classes is not None else self.classes)
                model = _begun(engine, self._as_local(), partitions, order)
            twin._take_over(_in_turn(engine, model, [(p, *blocks, None) for p, blocks in enumerate(partitions)]))
        return self

    def _order_of(self, engine: TaskEngine, partitions: list[tuple[Any, ...]], classes: Any) -> ClassOrder:
        """Order of the classes; where they must be seen, this computes labels and weights but no features."""
        weighted = partitions[0][2] is not None
        if classes is not None and not weighted:
            return declared_order(classes)
        kind = "declared" if classes is not None else "ranking" if hasattr(self, "predict_ranking") else "grades"
        describe = delayed(_describe, pure=False)
        described = engine.computed([describe(p, y, weight, kind) for p, (_, y, weight) in enumerate(partitions)])
        if not any(has_weight for _, has_weight in described):
            raise ValueError("sample_weight is zero for every row: there is nothing to learn from.")
        if classes is not None:
            return declared_order(classes)
        present = [classes for classes, _ in described if classes is not None]
        return _merged_labels(present) if kind == "ranking" else merged_order(present, warn=self.ordered)

    def _take_over(self, model: Any) -> None:
        parameters = model.get_params(deep=False)
        self.__dict__.update({name: value for name, value in model.__dict__.items() if name not in parameters})
        if hasattr(model, "_refuse_no_rounds"):
            model._refuse_no_rounds()


def _initialiser(plain: type[Any]) -> Any:
    """``__init__`` with the parameters of the plain estimator and ``mode``, in a signature that scikit-learn reads."""
    parameters = list(inspect.signature(plain.__init__).parameters.values())
    mode = inspect.Parameter("mode", inspect.Parameter.POSITIONAL_OR_KEYWORD, default="sequential")
    signature = inspect.Signature([*parameters, mode])

    def initialise(*arguments: Any, **options: Any) -> None:
        bound = signature.bind(*arguments, **options)
        bound.apply_defaults()
        bound.arguments["self"]._store_parameters(bound.arguments)

    function: Any = initialise
    function.__signature__ = signature
    return function


def _describe(number: int, y: Any, sample_weight: Any, kind: str) -> tuple[PartitionClasses | list[Any] | None, bool]:
    """Classes that occur in a partition, unless they are declared, and whether it has a weight above zero."""
    n = y.shape[0] if hasattr(y, "shape") else len(y)
    if n == 0:
        return None, False
    with naming_partition(number):
        has_weight = sample_weight is None or bool(check_weights(sample_weight, n).any())
        if kind == "declared":
            return None, has_weight
        if kind == "grades":
            return classes_in(y), has_weight
        rows = read_rankings(y)
        return rows.labels_order().values.tolist() if rows.present else [], has_weight


def _merged_labels(present: list[list[Any]]) -> ClassOrder:
    """All labels: those of an indicator matrix as they are, others sorted as for one machine."""
    if present and all(labels == present[0] for labels in present):
        return ClassOrder(present[0])
    return encode_rankings([[label] for labels in present for label in labels]).order


def _begun(engine: TaskEngine, model: Any, partitions: list[tuple[Any, ...]], order: ClassOrder) -> Any:
    """The model before its first round; it learns the number of features from the first partition with rows."""
    begin = delayed(_begin, pure=False)
    for number, (X, _, _) in enumerate(partitions):
        begun = engine.computed([begin(model, number, X, order)])[0]
        if begun is not None:
            return begun
    raise ValueError("every partition is empty: there is nothing to learn from.")


def _begin(model: Any, number: int, X: Any, order: ClassOrder) -> Any:
    if X.shape[0] == 0:
        return None
    with naming_partition(number):
        model = deepcopy(model)
        model._rows(X[:1], reset=True)
        model._begin(model.n_features_in_, order)
        return model


def _learn(model: Any, number: int, X: Any, y: Any, sample_weight: Any, seed: int | None) -> Any:
    """The model after a pass over one partition; the given model stays as it is, for a task may run again."""
    if X.shape[0] == 0:
        return model
    with naming_partition(number):
        model = deepcopy(model)
        rows = model._rows_to_learn(model._rows(X, reset=False))
        labels = model._labels(y, model._order, rows)
        weight = model._weights(sample_weight, rows)
        n = len(labels)
        order = GIVEN_ORDER if seed is None else np.random.RandomState(seed).permutation(n).astype(np.int64)
        model._learn(rows, labels, weight, order, NO_PREDICTIONS)
        return model


def _in_turn(engine: TaskEngine, model: Any, passes: list[tuple[Any, ...]]) -> Any:
    """Let the model learn from one partition after the other."""
    learn = delayed(_learn, pure=False)
    for first in range(0, len(passes), n := engine.n_threads):
        task = delayed(model, traverse=False)
        for one in passes[first : first + n]:
            task = learn(task, *one)
        model = engine.computed([task])[0]
    return model


def _side_by_side(engine: TaskEngine, model: Any, passes: list[tuple[Any, ...]]) -> Any:
    """Let copies of the model learn from one partition each, and mix them."""
    contribute, shared = delayed(_contribute, pure=False), delayed(model, traverse=False)
    in_order = sorted(passes, key=lambda one: one[0])
    total = engine.computed([tree_sum([contribute(shared, *one) for one in in_order], together)])[0]
    result = deepcopy(model)
    result._state = mixed(model, total)
    return result


def _contribute(model: Any, number: int, *rest: Any) -> Contribution | None:
    after = _learn(model, number, *rest)
    return contribution(model, model._state, after._state) if after is not model else None
