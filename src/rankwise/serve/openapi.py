"""Description of the service as OpenAPI 3.1."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from rankwise._version import __version__
from rankwise.serve import messages
from rankwise.serve.gate import ARROW, JSON
from rankwise.serve.problems import MEDIA_TYPE
from rankwise.serve.tokens import ROLES

_OBJECT, _TEXT, _NUMBER = {"type": "object"}, {"type": "string"}, {"type": "integer"}
_ROWS = {"type": "object", "required": ["rows"], "properties": {"rows": {"type": "array", "items": _OBJECT}}}
_PLACE = {"type": "object", "properties": {"row": _NUMBER, "column": _TEXT, "detail": _TEXT}}
_PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status", "detail", "instance"],
    "properties": {
        "type": _TEXT, "title": _TEXT, "status": _NUMBER, "detail": _TEXT, "instance": _TEXT,
        "errors": {"type": "array", "items": _PLACE},
    },
}  # fmt: skip


def document(models: Iterable[str]) -> dict[str, Any]:
    """The description; ``models`` are the names of the models."""
    bodies = (messages.PredictBody, messages.FeedbackBody, messages.CorrectionBody, messages.RollbackBody,
              messages.PromoteBody)  # fmt: skip
    references, schemas = msgspec.json.schema_components(bodies, ref_template="#/components/schemas/{name}")
    predict, feedback, correction, rollback, promote = references
    idempotency = {"name": "Idempotency-Key", "in": "header", "schema": {"type": "string", "maxLength": 150},
                   "description": "The same key and rows again give the same answer and are learnt once; "
                                  "the same key with other rows is a conflict (409)."}  # fmt: skip
    id = {"name": "id", "in": "path", "required": True, "schema": _TEXT}
    one: dict[str, Any] = {
        "predict": {"post": _operation("Class, probabilities and interval of rows", "predict", predict, _ROWS, True)},
        "feedback": {"post": {
            **_operation("Log rows durably, then learn them", "learn", feedback, _ROWS, True),
            "parameters": [idempotency]}},
        "feedback/{id}": {
            "parameters": [id],
            "get": _operation("What the log holds under an id", "read"),
            "put": _operation("Correct an earlier feedback", "admin", correction, status="202"),
            "delete": _operation("Retract an earlier feedback", "admin", status="202")},
        "model": {"get": _operation("What is served", "read")},
        "versions": {"get": _operation("All versions, newest first", "read")},
        "versions/rollback": {"post": _operation("Serve an earlier model again", "admin", rollback)},
        "versions/promote": {"post": _operation("Serve a challenger", "admin", promote)},
        "explain": {"get": _operation("What matters to the model", "read"),
                    "post": _operation("What moves the score of rows", "predict", predict)},
        "events": {"get": _operation("The state as server-sent events", "read", media_type="text/event-stream")},
    }  # fmt: skip
    paths = {f"/v1/{path}": operations for path, operations in one.items()}
    name = {"name": "model", "in": "path", "required": True, "schema": {"type": "string", "enum": list(models)}}
    for path, operations in one.items():
        paths[f"/v1/models/{{model}}/{path}"] = {
            **operations, "parameters": [name, *operations.get("parameters", [])]
        }  # fmt: skip
    paths["/v1/models"] = {"get": _operation("Names of the models", "read")}
    paths["/healthz"] = {"get": _operation("Whether the process answers", None)}
    paths["/readyz"] = {"get": _operation("Whether it predicts; tells whether it learns, too", None)}
    paths["/readyz/learn"] = {"get": _operation("Whether it predicts and feedback can be written", None)}
    paths["/metrics"] = {"get": _operation("Metrics for Prometheus", "read", media_type="text/plain")}
    return {
        "openapi": "3.1.0",
        "info": {"title": "rankwise", "version": __version__, "license": {"name": "BSD-3-Clause"}},
        "paths": paths,
        "components": {
            "schemas": {**schemas, "Problem": _PROBLEM},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(
    summary: str, role: str | None, body: Any = None, answer: Any = None, arrow: bool = False, *,
    media_type: str = JSON, status: str = "200",
) -> dict[str, Any]:  # fmt: skip
    ok: dict[str, Any] = {media_type: {"schema": answer or _OBJECT} if media_type == JSON else {}}
    problem = {"description": "What is wrong, with row and column.",
               "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}}  # fmt: skip
    operation: dict[str, Any] = {
        "summary": summary,
        "responses": {status: {"description": "Done.", "content": ok}, "default": problem},
    }
    if arrow:
        ok[ARROW] = {}
    if body is not None:
        content: dict[str, Any] = {JSON: {"schema": body}}
        if arrow:
            content[ARROW] = {}
        operation["requestBody"] = {"required": True, "content": content}
    if role is not None:
        operation["description"] = f"Needs the role {role!r} of {', '.join(ROLES)}, where tokens are used."
        operation["security"] = [{"token": []}]
    return operation
