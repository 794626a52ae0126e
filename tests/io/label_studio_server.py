"""A running Label Studio: what it takes as import, and what it exports.

Start one on this machine, in a virtual environment of its own with ``pip install label-studio``:

    LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN=true label-studio start --no-browser --port 8080 --data-dir DIRECTORY
        --username admin@example.org --password PASSWORD --user-token TOKEN

Then RANKWISE_LABEL_STUDIO=http://127.0.0.1:8080 and RANKWISE_LABEL_STUDIO_TOKEN=TOKEN let the tests use it, and

    python -m tests.io.label_studio_server

writes the exports in ``tests/io/label_studio`` anew.
"""

import json
import os
import urllib.error
import urllib.request
from pathlib import Path

FORMATS = {"JSON": "json", "JSON_MIN": "min.json", "CSV": "csv", "TSV": "tsv"}
EXPORTS = Path(__file__).parent / "label_studio"
ADDRESS, TOKEN = (os.environ.get(name) for name in ("RANKWISE_LABEL_STUDIO", "RANKWISE_LABEL_STUDIO_TOKEN"))

RANGES = '<Number name="lower" toName="item"/><Number name="upper" toName="item"/>'
CLASS = {
    "rating": '<Rating name="label" toName="item" maxRating="5"/>',
    "number": '<Number name="label" toName="item"/>',
    "choices": '<Choices name="label" toName="item" choice="multiple">{}</Choices>',
}


def configuration(kind, classes):
    """Labelling configuration for a control of a kind, with a range and the name of the rater."""
    options = "".join(f'<Choice value="{value}"/>' for value in classes)
    control = CLASS[kind].format(options)
    rater = '<TextArea name="rater" toName="item"/>'
    return f'<View><Text name="item" value="$text"/>{control}{RANGES}{rater}</View>'


class LabelStudio:
    """Its programming interface."""

    def __init__(self, address=ADDRESS, token=TOKEN):
        self.address, self.token = address, token

    def call(self, method, path, body=None):
        """Content of the reply; an error has the message of Label Studio."""
        headers = {"Authorization": f"Token {self.token}", "Content-Type": "application/json"}
        content = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, content, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as reply:
                return reply.read()
        except urllib.error.HTTPError as error:
            raise ValueError(f"{path}: {error.read()[:2000]!r}") from None

    def new_project(self, configuration, tasks):
        """Number of a new project with imported tasks."""
        number = json.loads(self.call("POST", "/api/projects", {"title": "synthetic", "label_config": configuration}))[
            "id"
        ]
        self.call("POST", f"/api/projects/{number}/import", tasks)
        return number

    def tasks(self, project):
        """Tasks of a project."""
        return json.loads(self.call("GET", f"/api/tasks?project={project}&page_size=1000&fields=all"))["tasks"]

    def annotate(self, task, result, **more):
        """Annotate a task as the owner of the token."""
        self.call("POST", f"/api/tasks/{task}/annotations", {"result": result, **more})

    def export(self, project, directory, name):
        """Files of a project in every format."""
        paths = {}
        for format, suffix in FORMATS.items():
            paths[format] = directory / f"{name}.{suffix}"
            everything = "&download_all_tasks=true"
            paths[format].write_bytes(
                self.call("GET", f"/api/projects/{project}/export?exportType={format}{everything}")
            )
        return paths


def _region(name, kind, value):
    return {"from_name": name, "to_name": "item", "type": kind, "value": {kind: value}}


def synthetic_projects(server, directory):
    """Export projects that people annotated: stars and ranges; choices; numbers."""
    texts = ["Arrived late, box dented.", 'Fine;\t"as described",\nlast line', "Größe passt nicht", "No remark", "-"]
    results = {
        "rating": [
            [_region("label", "rating", 2)],
            [_region("lower", "number", 2), _region("upper", "number", 4)],
            [_region("upper", "number", 3)],
            [],
        ],
        "choices": [
            [_region("label", "choices", ["good"])],
            [_region("label", "choices", ["bad", "good"])],
            [_region("label", "choices", ["middling"])],
            [],
        ],
        "number": [
            [_region("label", "number", 0)],
            [_region("label", "number", 10)],
            [_region("lower", "number", 0), _region("upper", "number", 7)],
            [_region("lower", "number", 8)],
        ],
    }
    classes = ["bad", "middling", "good"]
    for kind, given in results.items():
        tasks = [{"data": {"text": text, "length": len(text)}} for text in texts]
        project = server.new_project(configuration(kind, classes), tasks)
        numbers = sorted(task["id"] for task in server.tasks(project))
        for task, result in zip(numbers, given, strict=False):
            server.annotate(task, result, lead_time=task + 0.5)
        server.annotate(numbers[0], given[1])  # a second opinion
        server.annotate(numbers[0], [], was_cancelled=True)
        server.export(project, directory, kind)


if __name__ == "__main__":
    synthetic_projects(LabelStudio(), EXPORTS)
