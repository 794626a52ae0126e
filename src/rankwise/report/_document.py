"""The function that writes a report, and the class of its result."""

from __future__ import annotations

import html
import os
from collections.abc import Callable, Iterable, Iterator
from inspect import signature
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from rankwise._files import require_writable, write_whole
from rankwise.base.model import Model
from rankwise.bounds.checks import integer
from rankwise.labels import ClassOrder, check_weights, encode
from rankwise.report._counts import JudgedRows, RowCounts
from rankwise.report._examples import FirstRows
from rankwise.report._page import facts_of, load_jinja, render
from rankwise.report._quality import Bootstrap


class Report:
    """A page about a model, and the numbers on it.

    Notebooks show the page.

    Parameters
    ----------
    page : str
        The page, HTML.
    facts : dict
        All numbers on it, as plain values that JSON can hold.

    Examples
    --------
    >>> from rankwise import PRIL, report
    >>> from rankwise.datasets import make_ordinal
    >>> X, y = make_ordinal(300, 3, 4, noise=0.2, random_state=0)
    >>> made = report.write(PRIL(random_state=0).fit(X[:200], y[:200]), X[200:], y[200:])
    >>> made.facts["labels"]
    {'exact': 100, 'interval': 0, 'candidates': 0, 'missing': 0}
    >>> made
    Report('PRIL': 100 labelled rows, mean absolute error 0.13)
    """

    def __init__(self, page: str, facts: dict[str, Any]) -> None:
        self.page = page
        self.facts = facts

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, which is replaced only when the new one is complete."""
        write_whole(Path(path), self.page.encode("utf-8", "backslashreplace"))  # names of files need not be UTF-8

    def __repr__(self) -> str:
        first = self.facts["quality"][0]
        rows = self.facts["rows"]["judged"]
        return f"Report({self.facts['title']!r}: {rows:,} labelled rows, {first['name']} {first['best']['value']:.3g})"

    def _repr_html_(self) -> str:
        page = html.escape(self.page, quote=True)
        title = html.escape(self.facts["title"], quote=True)
        style = "width:100%;height:45rem;border:0"
        return f'<iframe title="{title}" sandbox="allow-scripts" style="{style}" srcdoc="{page}"></iframe>'


def write(
    model: Any, X: Any, y: Any = None, path: str | os.PathLike[str] | None = None, *, sample_weight: Any = None,
    title: str | None = None, data: str | None = None, command: str | None = None, confidence: float = 0.95,
    n_resamples: int = 1000, sample_size: int = 4000, top: int = 20, random_state: int = 0,
    remark: str | Callable[[], str] = "", learnt: bool | Callable[[], bool | None] | None = None,
) -> Report:  # fmt: skip
    """Evaluate a fitted classifier on some rows, and write a self-contained page about both.

    The page describes the labels, the quality of the predictions with confidence limits, what labels that admit several
    classes allow one to claim, each class, the model, and how to make the page again. The limits hold for rows that the
    model was not fitted to. The same input gives the same page.

    Parameters
    ----------
    model : fitted classifier
        Any ordinal or multi-class estimator, alone, in a pipeline or the best of a search.
    X, y : array-like
        Rows and their labels, of any form that :func:`rankwise.labels.encode` reads. Or X is an iterable of batches
        ``(X, y)`` or ``(X, y, sample_weight)``, and y is None: each batch is read once, and memory does not grow with
        their number. Tables count all rows; pictures show a random sample of them.
    path : path, optional
        File to write, replaced only when the new one is complete. Without it the page is only returned; see
        :meth:`Report.save`.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    title : str, optional
        By default the name of the estimator.
    data : str, optional
        A short description of the rows.
    command : str, optional
        The command that makes the page again; by default the call of this function.
    confidence : float, default 0.95
        Of all limits.
    n_resamples : int, default 1000
        Bootstrap samples.
    sample_size : int, default 4000
        Rows that the picture of the scores is drawn from.
    top : int, default 20
        Features in the table of weights.
    random_state : int, default 0
        Seed of the sample and the bootstrap.
    remark : str or callable, optional
        A remark at the top of the page, such as that the model learnt from these rows; a function that returns it is
        called when all rows have been read.
    learnt : bool or callable, optional
        Whether the model was fitted to any of these rows, if that is known; a function as for ``remark``. If so,
        the page makes no claim about new rows; without it, the page says that it cannot know.

    Returns
    -------
    Report

    Examples
    --------
    >>> import os, tempfile
    >>> import rankwise as rw
    >>> from rankwise.annotation import type1_intervals
    >>> X, y = rw.datasets.make_ordinal(600, 3, 5, noise=0.2, random_state=0)
    >>> model = rw.PRIL(random_state=0).fit(X[:300], y[:300])
    >>> intervals = type1_intervals(y, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = rw.report.write(model, X[300:], intervals[300:], os.path.join(folder, "page.html"))
    ...     os.listdir(folder)
    ['page.html']
    >>> made.facts["labels"]["interval"]
    300
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1. Got {confidence!r} instead.")
    integer(1, n_resamples=n_resamples, sample_size=sample_size, top=top)
    integer(0, random_state=random_state)
    load_jinja()
    if path is not None:
        try:
            require_writable(Path(path))
        except OSError as error:
            raise type(error)(f"cannot write {path}: {error.strerror}.") from None
    opened = classifier(model)
    counts = RowCounts(len(opened.classes), sample_size, random_state)
    first = FirstRows()
    for batch in _batches(opened, first, X, y, sample_weight):
        counts.add(batch, ordered=opened.ordered)
    if not counts.n_judged:
        raise ValueError(
            f"a report needs at least one row with a label and a weight. Got {counts.n_rows} rows, "
            f"{counts.kinds['missing']} of them without a label, {counts.n_weightless} of weight zero."
        )
    if command is None:
        rows = "batches" if y is None else "X, y"
        command = _call(
            rows, path=path if path is None else os.fspath(path), title=title, data=data, confidence=confidence,
            n_resamples=n_resamples, sample_size=sample_size, top=top, random_state=random_state,
            learnt=None if callable(learnt) else learnt,
        )  # fmt: skip
    bootstrap = Bootstrap(confidence, n_resamples, random_state)
    facts = facts_of(opened, counts, bootstrap, title=title, data=data, command=command, top=top)
    facts["explained"] = first.facts(opened, top)
    facts["remark"] = (remark if isinstance(remark, str) else remark()) or None
    facts["learnt"] = learnt() if callable(learnt) else learnt
    made = Report(render(opened, counts, facts), facts)
    if path is not None:
        made.save(path)
    return made


def classifier(model: Any) -> Model:
    """Open a fitted classifier; an error says why there is nothing to report on."""
    opened = Model.of(model)
    if opened.can("predict_ranking"):
        raise TypeError(
            f"a report is about predicted classes, and {opened.name} ranks labels: see rankwise.metrics.ranking_loss "
            f"and rankwise.plots.RankingDisplay."
        )
    needed = "a report needs a fitted classifier with predict and classes_"
    if not opened.can("predict"):
        raise TypeError(f"{needed}. {opened.name} has no predict.")
    check_is_fitted(model)
    if not opened.has_classes:
        raise TypeError(f"{needed}. {opened.name} has no list of classes_.")
    return opened


def _batches(model: Model, first: FirstRows, X: Any, y: Any, sample_weight: Any) -> Iterator[JudgedRows]:
    order = ClassOrder(model.classes)
    if y is not None:
        yield _encoded(model, first, order, X, y, sample_weight)
        return
    if sample_weight is not None:
        raise ValueError("sample_weight cannot be given with batches: put it into them, (X, y, sample_weight).")
    if not isinstance(X, Iterable) or hasattr(X, "shape"):
        raise ValueError("y must be given, or X must be an iterable of batches (X, y) or (X, y, sample_weight).")
    seen = 0
    for number, batch in enumerate(X, start=1):
        if not isinstance(batch, tuple) or len(batch) not in (2, 3):
            raise ValueError(
                f"batch {number} must be a tuple (X, y) or (X, y, sample_weight). Got a {type(batch).__name__}"
                f"{f' of {len(batch)}' if isinstance(batch, tuple) else ''} instead."
            )
        if hasattr(batch[1], "__len__") and len(batch[1]) == 0:
            continue
        try:
            encoded = _encoded(model, first, order, batch[0], batch[1], batch[2] if len(batch) == 3 else None)
        except ValueError as error:
            raise ValueError(f"batch {number}, which begins at row {seen}: {error}") from error
        seen += len(encoded.labels)
        yield encoded


def _encoded(model: Model, first: FirstRows, order: ClassOrder, X: Any, y: Any, sample_weight: Any) -> JudgedRows:
    said = model.predict(X)
    labels = encode(y, order, n_rows=len(said.classes), ordered=model.ordered)
    weight = check_weights(sample_weight, len(labels))
    first.add(X, labels)
    weights = weight if weight.size else None
    return JudgedRows(labels, encode(said.classes, order).lower, weights, said)


def _call(rows: str, **options: Any) -> str:
    """The call of :func:`write`, with the options that differ from their defaults."""
    usual = signature(write).parameters
    given = [f"{name}={value!r}" for name, value in options.items() if value != usual[name].default]
    return f"rankwise.report.write({', '.join(['model', rows, *given])})"
