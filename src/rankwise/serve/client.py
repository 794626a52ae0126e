"""A client of the service, whose retries are safe because every row of feedback has an id."""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any, Self
from urllib.parse import quote

from rankwise._extras import require
from rankwise.features.arrow_columns import as_table, load_pyarrow
from rankwise.labels import format_labels

_ARROW = "application/vnd.apache.arrow.stream"
_AGAIN = {408, 425, 429, 500, 502, 503, 504, 507}
_CHUNK = 10_000  # rows of one request
_LONGEST_WAIT = 10.0


class ServiceError(RuntimeError):
    """An error that the service answered with.

    Attributes
    ----------
    status : int
        The HTTP status.
    detail : str
        What is wrong.
    errors : list of dict
        Rows and columns to blame, where known.
    """

    def __init__(self, status: int, detail: str, errors: Sequence[Mapping[str, Any]] = ()) -> None:
        super().__init__(f"{status}: {detail}")
        self.status, self.detail, self.errors = status, detail, list(errors)


class Client:
    """Predictions from a service, and feedback for it.

    The client retries failed requests for some time, while the service restarts for example. Feedback that had arrived
    nevertheless is not learnt twice, because each of its rows has an id.

    Parameters
    ----------
    url : str
        Address of the service, such as ``http://127.0.0.1:8321``.
    token : str, optional
        A token, if the service requires one.
    model : str, optional
        Name of the model, if the service has several.
    timeout : float, default 30
        Seconds to wait for an answer.
    retries : int, default 8
        Number of further attempts, with growing pauses in between.
    verify : bool or path, default True
        Whether to check the certificate of an HTTPS service, or the file of its authority.

    Examples
    --------
    >>> import rankwise
    >>> client = rankwise.Client("http://127.0.0.1:8321", token="a-token-of-mine")  # doctest: +SKIP
    >>> client.predict([{"alcohol": 9.5, "colour": "red"}])                         # doctest: +SKIP
    [{'id': 'p63a1', 'class': 2, 'version': '1.204', ...}]
    >>> client.learn([{"alcohol": 9.5, "colour": "red"}], ["2-3"])                  # doctest: +SKIP
    ['0f8fad5b/0']
    """

    def __init__(
        self, url: str, token: str | None = None, *, model: str | None = None, timeout: float = 30.0, retries: int = 8,
        verify: Any = True,
    ) -> None:  # fmt: skip
        httpx = require("httpx", 'the client needs httpx: pip install "rankwise[serve]"')
        self.retries = retries
        self._prefix = "/v1/" if model is None else f"/v1/models/{quote(model, safe='')}/"
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._failed = httpx.TransportError
        self._http = httpx.Client(base_url=url.rstrip("/"), headers=headers, timeout=timeout, verify=verify)
        self._classes: list[Any] | None = None

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- rows --------------------------------------------------------------------------------------------------------

    def predict(self, X: Any, *, level: float = 0.9, remember: bool = False, ids: Sequence[str] | None = None) -> Any:
        """Class of every row, with probabilities and interval if the model has them.

        Parameters
        ----------
        X : list of dict, or frame of pandas, polars or pyarrow
            Rows.
        level : float, default 0.9
            Level of the intervals.
        remember : bool, default False
            Let the service remember the rows, so that feedback needs only their ids. Needs a list of dicts.
        ids : list of str, optional
            Ids of the predictions; by default the service makes them.

        Returns
        -------
        list of dict, or a frame of the same kind
            With id, class, version and more.
        """
        if not isinstance(X, (list, tuple)):
            if remember or ids is not None:
                raise ValueError("remember and ids are for a list of dicts: give a frame a column 'id' instead.")
            return _like(X, self._predict_table(as_table(X), level))
        answers: list[dict[str, Any]] = []
        for start in range(0, len(X), _CHUNK):
            body: dict[str, Any] = {"level": level, "remember": remember}
            body["rows"] = [_plain(row) for row in X[start : start + _CHUNK]]
            if ids is not None:
                body["ids"] = list(ids[start : start + _CHUNK])
            answers += self._call("POST", "predict", json=body).json()["rows"]
        return answers

    def learn(
        self, X: Any, y: Any, *, sample_weight: Sequence[float] | None = None, ids: Sequence[str] | None = None
    ) -> list[str]:
        """Give feedback; returns when all of it is durable and learnt.

        Parameters
        ----------
        X : list of dict, frame of pandas, polars or pyarrow, or None
            Rows; None if ``ids`` are those of remembered predictions.
        y : array-like
            Labels of any form that :func:`rankwise.labels.encode` reads: 3, (3, 5), {2, 3}, ">=4", None.
        sample_weight : list of float, optional
            Importance of each row, >= 0.
        ids : list of str, optional
            Ids of the feedback. Rows whose ids are known already are not learnt again.

        Returns
        -------
        list of str
            The ids, by which feedback can be corrected and retracted.
        """
        rows = None if X is None else X if isinstance(X, (list, tuple)) else as_table(X).to_pylist()
        labels = self._texts(y)
        if rows is None and ids is None:
            raise ValueError("feedback needs rows, or the ids of predictions that were remembered.")
        call = uuid.uuid4().hex
        names = [f"{call}/{i}" for i in range(len(labels))] if ids is None else [str(id) for id in ids]
        weights = [1.0] * len(labels) if sample_weight is None else [float(w) for w in sample_weight]
        if not len(names) == len(labels) == len(weights) == (len(labels) if rows is None else len(rows)):
            raise ValueError("rows, labels, weights and ids must be of the same number.")
        for start in range(0, len(labels), _CHUNK):
            some = range(start, min(start + _CHUNK, len(labels)))
            body = [{"id": names[i], "label": labels[i], "weight": weights[i]} for i in some]
            if rows is not None:
                for line, i in zip(body, some, strict=True):
                    line["features"] = _plain(rows[i])
            self._call("POST", "feedback", json={"rows": body})
        return names

    def correct(self, id: str, label: Any, weight: float | None = None) -> None:
        """Correct an earlier feedback; the service rebuilds the model in the background."""
        body = {"label": self._texts([label])[0]} | ({} if weight is None else {"weight": weight})
        self._call("PUT", f"feedback/{quote(id, safe='')}", json=body)

    def retract(self, id: str) -> None:
        """Retract an earlier feedback."""
        self._call("DELETE", f"feedback/{quote(id, safe='')}")

    # -- one row, as in river ------------------------------------------------------------------------------------------

    def predict_one(self, x: Mapping[str, Any]) -> Any:
        """Class of one row, a dict."""
        return self.predict([dict(x)])[0]["class"]

    def learn_one(self, x: Mapping[str, Any], y: Any, w: float = 1.0) -> None:
        """Feedback for one row."""
        self.learn([dict(x)], [y], sample_weight=[w])

    # -- the model -----------------------------------------------------------------------------------------------------

    def model(self) -> dict[str, Any]:
        """Describe the model: estimator, classes, columns, version, error."""
        return dict(self._call("GET", "model").json())

    def versions(self) -> dict[str, Any]:
        """Versions, newest first, and challengers."""
        return dict(self._call("GET", "versions").json())

    def roll_back(self, version: int, seq: int | None = None) -> int:
        """Serve the model of an earlier version again; return the number of the new version."""
        body = {"version": version} | ({} if seq is None else {"seq": seq})
        return int(self._call("POST", "versions/rollback", json=body, again=False).json()["version"])

    def promote(self, challenger: int) -> int:
        """Serve a challenger; return the number of its version."""
        body = {"challenger": challenger}
        return int(self._call("POST", "versions/promote", json=body, again=False).json()["version"])

    # -- requests ------------------------------------------------------------------------------------------------------

    def _predict_table(self, table: Any, level: float) -> Any:
        pa = load_pyarrow()
        sink = BytesIO()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        answer = self._call(
            "POST", f"predict?level={float(level)!r}", content=sink.getvalue(), headers={"Content-Type": _ARROW}
        )
        return pa.ipc.open_stream(answer.content).read_all()

    def _texts(self, y: Any) -> list[str]:
        values = y.tolist() if hasattr(y, "tolist") else list(y)
        if all(isinstance(value, str) for value in values):
            return values
        if self._classes is None:
            self._classes = self.model()["classes"]
        return [str(text) for text in format_labels(y, self._classes)]

    def _call(self, method: str, path: str, *, again: bool = True, **options: Any) -> Any:
        """Make a request; retry while the service is away or busy."""
        for attempt in range(self.retries + 1):
            last = attempt == self.retries or not again
            wait = 0.0
            try:
                answer = self._http.request(method, self._prefix + path, **options)
            except self._failed:
                if last:
                    raise
            else:
                if answer.is_success:
                    return answer
                if last or answer.status_code not in _AGAIN:
                    raise _error(answer)
                retry_after = answer.headers.get("Retry-After", "")
                wait = float(retry_after) if retry_after.isdigit() else 0.0
            time.sleep(min(_LONGEST_WAIT, max(wait, 0.05 * 2**attempt)) * random.uniform(0.5, 1.0))
        raise AssertionError("unreachable")


def _error(answer: Any) -> ServiceError:
    try:
        problem = answer.json()
        return ServiceError(answer.status_code, problem["detail"], problem.get("errors", ()))
    except (ValueError, KeyError, TypeError):
        return ServiceError(answer.status_code, answer.reason_phrase)


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with NumPy's values as Python's; NaN is missing."""
    values = {str(k): v.item() if hasattr(v, "item") else v for k, v in row.items()}
    return {k: None if v != v else v for k, v in values.items()}


def _like(X: Any, table: Any) -> Any:
    """A table as a frame of the kind of X."""
    package = type(X).__module__.partition(".")[0]
    if package == "pandas":
        return table.to_pandas()
    if package == "polars":
        return require("polars", "polars is not there").from_arrow(table)
    return table
