"""Machine-learning backend of Label Studio: predictions for tasks, learning from annotations.

Label Studio sends tasks to ``POST /predict``, annotations to ``POST /webhook`` (``ANNOTATION_CREATED``,
``ANNOTATION_UPDATED``, ``START_TRAINING``) and its labelling configuration to ``POST /setup``. A prediction is the
class with its probability as score, in the form of the configuration: Rating, Choices, or a pair of Numbers for the
range that holds the class with a probability of 0.8.

An online estimator learns each annotation as it comes. For any other the annotations are kept, in a file of JSON lines
if one is named, and learnt together when training starts. A copy of the model learns, is saved, and then replaces the
model: a bad annotation leaves everything as it was.
"""

from __future__ import annotations

import base64
import hmac
import json
import os
from copy import deepcopy
from html.parser import HTMLParser
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa

from rankwise._extras import require
from rankwise.io._answer import Controls
from rankwise.io._label_studio import label_of, result_of
from rankwise.labels import ClassOrder, encode, format_labels
from rankwise.persistence import load, save

_LARGEST_BODY = 16 * 2**20
_LEVEL = 0.8  # probability of a predicted range
_BEGINNING = b'{"annotation": '  # of a line of kept annotations
_LEARNT_FROM = ("ANNOTATION_CREATED", "ANNOTATION_UPDATED")


class BackendError(ValueError):
    """A request that cannot be answered; the message says why."""


class _Configuration(HTMLParser):
    """Controls of a labelling configuration, whose XML is read as tags and attributes without expanding anything."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.question: str | None = None
        self.kind = "rating"
        self.to_name = "item"
        self.numbers: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        name, target = attributes.get("name"), attributes.get("toname")
        if tag not in ("rating", "choices", "number") or name is None or target is None:
            return
        if tag == "number":
            self.numbers.append(name)
        elif self.question is None:
            self.question, self.kind, self.to_name = name, tag, target
        if self.question is None:
            self.to_name = target


class LabelStudioBackend:
    """Predicts Label Studio's tasks with a model file, and learns from its annotations.

    Parameters
    ----------
    path : path
        A saved model with class probabilities: a :class:`rankwise.TableModel`, whose columns are entries of a task's
        data, or an estimator with named features. What it learns is saved to the same file.
    answers : path, optional
        File of JSON lines to which annotations are added before they are learnt; it is read at the start. Without it,
        annotations for an estimator that is not online are kept in memory only.
    ends : pair of str, default ("lower", "upper")
        Names of the Number controls for the ends of a range.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        answers: str | os.PathLike[str] | None = None,
        ends: tuple[str, str] = ("lower", "upper"),
    ) -> None:
        self.path = Path(path)
        self.model = load(self.path)
        if not hasattr(self.model, "predict_proba") or not hasattr(self.model, "feature_names_in_"):
            raise BackendError(
                f"{path}: Label Studio needs a model with class probabilities and named columns, and this "
                f"{type(self.model).__name__} has not both."
            )
        self.order = ClassOrder(self.model.classes_)
        self.controls = Controls(None, ends, self.order)
        self.configuration = _Configuration("")
        self.is_online = hasattr(self.model, "partial_fit")
        self._lock = Lock()
        self._log = None if answers is None else Path(answers)
        self._answers: dict[Any, tuple[dict[str, Any], str]] = {}
        if self._log is not None and self._log.exists():
            self._recall(self._log)
        self.n_learnt = 0

    @property
    def version(self) -> str:
        """Version of the model: its kind, and how many annotations it has learnt since the start."""
        return f"{type(getattr(self.model, 'estimator_', self.model)).__name__}-{self.n_learnt}"

    def setup(self, configuration: Any) -> str:
        """Take the labelling configuration; return the version."""
        if isinstance(configuration, str) and configuration:
            self.configuration = _Configuration(configuration)
        return self.version

    def predict(self, tasks: Any, configuration: Any = None) -> list[dict[str, Any]]:
        """A prediction for each task."""
        self.setup(configuration)
        if not isinstance(tasks, list) or not tasks:
            raise BackendError("'tasks' must be a list of at least one task.")
        rows = self._rows([_data(task) for task in tasks])
        model, shown = self.model, self.configuration
        P = np.asarray(model.predict_proba(rows))
        codes = self.order.codes(model.predict(rows))
        cumulative = P.cumsum(axis=1)
        low, high = ((cumulative < q).sum(axis=1) for q in (0.5 * (1 - _LEVEL), 0.5 * (1 + _LEVEL)))
        classes = self.order.values.tolist()
        controls = Controls(shown.question, self.controls.ends, self.order)
        predictions = []
        for i, code in enumerate(codes.tolist()):
            result: list[dict[str, Any]] = []
            if shown.question is not None or not shown.numbers:
                label = classes[code] if shown.kind == "rating" else str(classes[code])
                result += result_of(label, controls, shown.to_name)
            if set(self.controls.ends) <= set(shown.numbers):
                ends = (classes[low[i]], classes[min(int(high[i]), len(classes) - 1)])
                result += result_of(ends, controls, shown.to_name)
            predictions.append({"result": result, "score": float(P[i, code]), "model_version": self.version})
        return predictions

    def learn(self, event: Any, body: Any) -> dict[str, Any]:
        """Handle an event of Label Studio's webhook; return what was done."""
        if event == "START_TRAINING":
            return self.train()
        if event not in _LEARNT_FROM:
            return {"learnt": 0, "ignored": str(event)[:100]}
        annotation = body.get("annotation")
        if not isinstance(annotation, dict):
            raise BackendError("'annotation' must be a JSON object.")
        data = _data(body.get("task"))
        label = label_of(annotation.get("result") or (), Controls(self.configuration.question, self.controls.ends))
        labels = encode([label], self.order)  # refuses what is not a class
        if labels.is_missing[0] or annotation.get("was_cancelled"):
            return {"learnt": 0, "ignored": "an annotation that says nothing"}
        rows = self._rows([data])
        with self._lock:
            self._keep(annotation.get("id"), data, str(format_labels(labels, self.order)[0]))
            if self.is_online:
                model = deepcopy(self.model)
                model.partial_fit(rows, labels)
                self._take(model, 1)
        return {"learnt": int(self.is_online), "kept": len(self._answers), "model_version": self.version}

    def train(self) -> dict[str, Any]:
        """Learn from all kept annotations; an online estimator has learnt them already."""
        with self._lock:
            if self.is_online or not self._answers:
                return {"learnt": 0, "kept": len(self._answers), "model_version": self.version}
            rows = self._rows([data for data, _ in self._answers.values()])
            model = deepcopy(self.model)
            model.fit(rows, encode([label for _, label in self._answers.values()], self.order))
            self._take(model, len(self._answers))
        return {"learnt": len(self._answers), "kept": len(self._answers), "model_version": self.version}

    def _take(self, model: Any, n: int) -> None:
        save(model, self.path)
        self.model = model
        self.n_learnt += n

    def _keep(self, annotation: Any, data: dict[str, Any], label: str) -> None:
        key = annotation if isinstance(annotation, (int, str)) else f"unnamed {len(self._answers)}"
        if self._log is not None:
            with open(self._log, "a", encoding="utf-8") as file:
                file.write(json.dumps({"annotation": key, "data": data, "label": label}) + "\n")
                file.flush()
                os.fsync(file.fileno())
        self._answers[key] = (data, label)

    def _recall(self, log: Path) -> None:
        """Read the annotations of earlier runs; a last line that a crash cut was never acknowledged, and is removed."""
        lines = log.read_bytes().splitlines(keepends=True)
        for number, line in enumerate(lines, 1):
            try:
                kept = json.loads(line)
                self._answers[kept["annotation"]] = (kept["data"], kept["label"])
            except (ValueError, KeyError, TypeError) as error:
                # Only remove the beginning of a line of ours: the file may be something else.
                is_cut = number == len(lines) and not line.endswith(b"\n") and line.startswith(_BEGINNING[: len(line)])
                if not is_cut or not isinstance(error, ValueError):
                    raise BackendError(f"{log}, line {number}: it is not an annotation that was kept.") from None
                os.truncate(log, log.stat().st_size - len(line))
                return
        if lines and not lines[-1].endswith(b"\n"):  # whole, but the newline is missing
            with open(log, "ab") as file:
                file.write(b"\n")

    def _rows(self, data: list[dict[str, Any]]) -> Any:
        """Columns of the model, from the data of tasks."""
        names = [str(name) for name in self.model.feature_names_in_]
        missing = [name for name in names if name not in data[0]]
        if missing:
            raise BackendError(
                f"the data of a task must have the entry {missing[0]!r}, a column of the model. "
                f"Got {', '.join(map(repr, list(data[0])[:20]))}."
            )
        columns = {name: [row.get(name) for row in data] for name in names}
        try:
            if hasattr(self.model, "encoder_"):
                return pa.table(columns)
            return np.array([[float(value) for value in row] for row in zip(*columns.values(), strict=True)])
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
            raise BackendError(f"the data of the tasks cannot be read as columns: {error}.") from None


def _data(task: Any) -> dict[str, Any]:
    data = task.get("data") if isinstance(task, dict) else None
    if not isinstance(data, dict):
        raise BackendError("a task must be a JSON object with 'data', a JSON object.")
    return data


def label_studio_app(backend: LabelStudioBackend, token: str | None = None) -> Any:
    """Starlette application that speaks Label Studio's protocol.

    Parameters
    ----------
    backend : LabelStudioBackend
        Answers the requests.
    token : str, optional
        Password that Label Studio must give (basic authentication, any user name), or bearer token.
    """
    require("starlette", "the backend of Label Studio needs Starlette: pip install 'rankwise[serve]'")
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    async def health(request: Any) -> Any:
        return JSONResponse({"status": "UP", "model_class": "rankwise", "model_version": backend.version})

    def answering(work: Any, status: int = 200) -> Any:
        async def endpoint(request: Any) -> Any:
            if not _allowed(request.headers.get("authorization"), token):
                return JSONResponse({"error": "wrong or missing token"}, 401, {"WWW-Authenticate": "Basic"})
            try:
                body = await _body(request)
                return JSONResponse(await run_in_threadpool(work, body), status)
            except (ValueError, TypeError) as error:
                return JSONResponse({"error": str(error)[:1000]}, 400)

        return endpoint

    def predict(body: dict[str, Any]) -> Any:
        return {
            "results": backend.predict(body.get("tasks"), body.get("label_config")),
            "model_version": backend.version,
        }

    posts = {
        "/setup": answering(lambda body: {"model_version": backend.setup(body.get("schema"))}),
        "/predict": answering(predict),
        "/webhook": answering(lambda body: backend.learn(body.get("action"), body), 201),
        "/train": answering(lambda body: backend.train(), 201),
    }
    routes = [Route(path, endpoint, methods=["POST"]) for path, endpoint in posts.items()]
    return Starlette(routes=[Route("/", health), Route("/health", health), *routes])


async def _body(request: Any) -> dict[str, Any]:
    """JSON object of a request, of limited size."""
    content = b""
    async for chunk in request.stream():
        content += chunk
        if len(content) > _LARGEST_BODY:
            raise BackendError(f"a request may have {_LARGEST_BODY} bytes.")
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        raise BackendError("the request is no JSON.") from None
    if not isinstance(body, dict):
        raise BackendError("the request must be a JSON object.")
    return body


def _allowed(header: str | None, token: str | None) -> bool:
    if token is None:
        return True
    scheme, _, given = (header or "").partition(" ")
    if scheme.lower() == "basic":
        try:
            given = base64.b64decode(given, validate=True).decode().partition(":")[2]
        except ValueError:
            return False
    return hmac.compare_digest(given.encode(), token.encode())
