"""A project: items, the scale on which they are rated, and the store that holds the answers.

The model begins as :func:`new_model` makes it: its encoder is fitted to all items, its estimator has seen nothing. The
answers of the store, learnt in their order, give the model that the page shows, to the bit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import clone

from rankwise.annotate.items import Items
from rankwise.features.arrow_columns import text_of
from rankwise.features.table import NoColumnsError
from rankwise.io import TableError, open_table
from rankwise.io.table_reader import read_columns
from rankwise.labels import ClassOrder, Labels, declared_order, encode, format_labels
from rankwise.online import OnlineCumulativeLink
from rankwise.persistence import to_bytes
from rankwise.serve.messages import features_text
from rankwise.serve.service import Service
from rankwise.serve.store import Store, StoreError
from rankwise.table_model import TableModel

_MOST_CLASSES = 50
_META = "annotation"  # key of the store's facts about its project
#: A number alone, or before words: "4", "4 - agree", "(4) agree", but neither "18-25" nor "4+".
_NUMBER = re.compile(r"\s*\(?(-?[0-9]+(?:[.,][0-9]+)?)\)?\s*(?:$|[-\u2013\u2014.:=)]?\s*[^\W\d_])")


@dataclass(frozen=True)
class Scale:
    """Classes, lowest first, with what the page says about them."""

    classes: Sequence[Any]
    names: Sequence[str]
    descriptions: Sequence[str]

    @classmethod
    def of(cls, classes: Sequence[Any]) -> Scale:
        """Scale whose names are the classes."""
        return cls(list(classes), [str(c) for c in classes], [""] * len(classes))

    @classmethod
    def read(cls, path: Path) -> Scale:
        """Scale of a table with the columns ``class`` and perhaps ``name`` and ``description``, lowest first."""
        table = open_table(path)
        if "class" not in table.schema.names:
            raise TableError(f"{path}: a scale has a column 'class', lowest first; name and description if you like.")
        columns = read_columns(table, table.schema.names)
        classes = columns["class"]
        blank = [None] * len(classes)
        names = [str(c if n is None else n) for c, n in zip(classes, columns.get("name", blank), strict=True)]
        return cls(classes, names, [str(d or "") for d in columns.get("description", blank)])

    @property
    def keys(self) -> list[str]:
        """What raters type for each class: the number in its name, else that of the class, else its place from 1."""
        for texts in (self.names, [text_of(c) for c in self.classes]):
            found = [_NUMBER.match(text.replace("\u2212", "-")) for text in texts]
            typed = [match[1].replace(",", ".") for match in found if match]
            if len(typed) == len({float(number) for number in typed}) == len(texts):
                return typed
        return [str(place) for place in range(1, len(self.classes) + 1)]

    @property
    def order(self) -> ClassOrder:
        """The classes, checked: each label that the page can give must have a text of its own."""
        order = declared_order(self.classes)
        n = len(order)
        if not 2 <= n <= _MOST_CLASSES:
            raise ValueError(f"the page shows 2 to {_MOST_CLASSES} classes. Got {n}.")
        pairs = list(combinations(range(n), 2))
        ranges = [(np.arange(n) >= low) & (np.arange(n) <= high) for low, high in pairs]
        candidates = [np.isin(np.arange(n), pair) for pair in pairs]
        format_labels(Labels.from_mask(np.array(ranges + candidates), order), order)  # refuses what has two meanings
        return order


@dataclass
class LoggedAnswer:
    """An answer that is in the log."""

    id: str
    item: int
    rater: str
    said: str  # the rater's label
    label: str  # what the model learns from
    seconds: float
    note: str
    question: str
    control: bool
    predicted: int
    minutes: float = 0.0  # of all raters, up to it
    labels: int = 0  # answers in the log up to it
    undone: bool = False
    kind: str = "answer"  # or "decision", about an item whose raters differ


def label_of(admitted: Sequence[int], order: ClassOrder) -> str:
    """Text of the label that admits some codes; none of them, or all, are a missing label."""
    mask: NDArray[np.bool_] = np.zeros((1, len(order)), dtype=bool)
    mask[0, list(admitted)] = True
    return "?" if not mask.any() else str(format_labels(Labels.from_mask(mask, order), order)[0])


def learnt_from(said: str, order: ClassOrder, takes_gaps: bool) -> str:
    """What a model learns from a label: the range around candidates, unless it takes gaps."""
    labels = encode([said], order)
    if takes_gaps or labels.is_missing[0]:
        return said
    return label_of(range(labels.lower[0], labels.upper[0] + 1), order)


def new_model(items: Items, classes: Any, estimator: Any = None) -> TableModel:
    """The model before the first answer; by default an :class:`rankwise.OnlineCumulativeLink`.

    All items decide how numbers are scaled and which categories there are.
    """
    kinds = getattr(estimator, "label_kinds", ("interval",))
    if "interval" not in kinds:
        raise ValueError(f"{type(estimator).__name__} takes exact labels only, and raters give ranges too.")
    learner = clone(OnlineCumulativeLink() if estimator is None else estimator).set_params(classes=list(classes))
    if items.features:
        table = as_table(items)
        try:
            model = TableModel(learner).fit_encoder(table)
            model.partial_fit(table.slice(0, 1), ["?"])  # now it knows its columns, and nothing else
            return model
        except NoColumnsError:  # learn from the answers alone
            pass
    items.forget_features()
    model = TableModel(learner, encoder="none")
    model.partial_fit(np.ones((1, 1)), ["?"])
    return model


def as_table(items: Items) -> Any:
    """What the model learns from, as a pyarrow table."""
    return pa.table({column: [row[column] for row in items.rows] for column in items.features})


def open_project(path: Path, items: Items, scale: Scale, estimator: Any, *, accept_loss: bool = False) -> Service:
    """Service of the project's model; a new store is made, an old one must be of this project."""
    order = scale.order
    store = Store(path, write=True, accept_loss=accept_loss)
    try:
        wanted = {"classes": [str(c) for c in order.values.tolist()], "estimator": repr(estimator)}
        known, is_new = project_of(store), not store.versions()
        if known is not None:
            _require_same(store, items, known, wanted)
        elif not is_new:
            raise StoreError(f"{path} is the store of a service, not of annotations: give another file.")
        if not is_new:
            return Service("annotation", store, None)
        content = to_bytes(new_model(items, order.values.tolist(), estimator))
        store.write_note(_META, json.dumps({**wanted, "features": items.features}))
        return Service("annotation", store, content)
    except BaseException:
        store.close()
        raise


def _require_same(store: Store, items: Items, known: dict[str, Any], wanted: dict[str, Any]) -> None:
    if not known["features"]:
        items.forget_features()
    for what, now in {**wanted, "features": items.features}.items():
        if known[what] != now:
            before, now = (", ".join(v) if isinstance(v, list) else v for v in (known[what], now))
            raise StoreError(f"{store.path} belongs to another project: {what} {before!r} there, and {now!r} here.")
    numbers = {name: i for i, name in enumerate(items.names)}
    for context, features in store.connection.execute("SELECT context, features FROM log WHERE kind = 'feedback'"):
        name = json.loads(context)["item"]
        if name not in numbers:
            raise StoreError(f"{store.path} belongs to another project: it has an answer for {name!r}, no item here.")
        if features_text(items.rows[numbers[name]]) != features:
            raise StoreError(f"{store.path}: item {name!r} has an answer, and its columns have changed since.")


def project_of(store: Store) -> dict[str, Any] | None:
    """Classes, estimator and features of a store's project; None if it holds no annotations."""
    note = store.note(_META)
    return json.loads(note) if note else None


def logged_answers(store: Store) -> Iterator[tuple[dict[str, Any], bool]]:
    """All answers and decisions of a project in the order of the log, and whether each was undone.

    An answer is a dict: seq, id, label (as the model learns it), item, rater, said, seconds, note, question, control,
    predicted, kind ("answer", or "decision" about an item whose raters differ; the model then learns nothing from
    their answers).
    """
    lines = store.connection.execute(
        "SELECT seq, id, label, context FROM log WHERE kind = 'feedback' ORDER BY seq"
    ).fetchall()
    changes = store.changes(lines[0][0], lines[-1][0], store.newest()) if lines else {}
    for seq, id, label, context in lines:
        change, now, _ = changes.get(seq, ("feedback", label, 1.0))
        is_undone = change == "retraction"
        label = label if is_undone else now
        yield {"seq": seq, "id": id, "label": label, "kind": "answer", **json.loads(context)}, is_undone
