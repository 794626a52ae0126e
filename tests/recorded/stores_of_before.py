"""Stores as version 0.1.0 wrote them: a service's log and an annotation project.

``python -m tests.recorded.stores_of_before FOLDER`` writes both with the code that is installed, as
``models_of_before.py`` does for models.
"""

import asyncio
import json
import sys
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx

import rankwise as rw
from rankwise.annotate.desk import Desk, DeskPlan
from rankwise.annotate.project import Scale, logged_answers, open_project
from rankwise.annotate.rater_app import AnnotationApplication, Look
from rankwise.persistence import to_bytes
from rankwise.serve.engine import Engine
from rankwise.serve.store import Store
from rankwise.serve.writer import Settings
from tests.annotate.conftest import CLASSES, Rater, make_items
from tests.recorded.models_of_before import rows, table


def feedback_log(folder: Path) -> dict[str, Any]:
    """Feedback in chunks, a correction, a retraction and a roll-back, as a service logs them."""
    _, intervals, _ = rows()
    given = [dict(zip("abcd", row, strict=True)) for row in rows()[0].tolist()]
    labels = [f"{low}-{high}" if low < high else str(low) for low, high in intervals.tolist()]
    frame = table()[["size", "second"]].fillna(0.0).rename(columns={"size": "a", "second": "b"}).assign(c=0.5, d=1.0)
    first = rw.TableModel(rw.PRIL(classes=CLASSES, random_state=0)).fit(frame[:40], intervals[:40])
    engine = Engine(Store(folder / "feedback.sqlite", write=True), to_bytes(first), Settings()).start()
    for start in range(0, len(given), 7):
        some = slice(start, start + 7)
        engine.feedback(given[some], [f"row-{i}" for i in range(len(given))[some]], labels[some])
    engine.change("row-3", "5", 2.0).result(60)
    engine.change("row-4", None, None).result(60)
    engine.roll_back(1, 100).result(60)
    engine.feedback(given[:5], [f"again-{i}" for i in range(5)], labels[:5])
    predicted = engine.replica.rows.model.predict(frame[40:]).tolist()
    engine.stop()
    counts = engine.store.counts()
    engine.store.close()
    return {"counts": counts, "predict": predicted}


def annotation_project(folder: Path) -> dict[str, Any]:
    """Answers of two raters, one of them undone."""
    items, scale = make_items(), Scale.of(CLASSES)
    service = open_project(folder / "labels.sqlite", items, scale, rw.OnlineCumulativeLink())
    desk = Desk(service, items, scale, DeskPlan(raters=2))

    async def answer() -> None:
        application = AnnotationApplication(desk, Look(), None)
        async with application._lifespan(None):
            transport = httpx.ASGITransport(application.asgi)
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
                for name in ("ada", "bo"):
                    rater = Rater(client, name)
                    await rater.next()
                    for k in range(12):
                        await rater.answer([1, 2] if k % 5 == 2 else None, note="é" if k == 3 else "")
                    await rater.undo()

    asyncio.run(answer())
    store = Store(folder / "labels.sqlite")
    named = ("item", "rater", "label")
    answers = [{**{name: a[name] for name in named}, "undone": undone} for a, undone in logged_answers(store)]
    store.close()
    return {"answers": answers}


def main(folder: Path) -> None:
    with (
        TemporaryDirectory() as temporary,
        zipfile.ZipFile(folder / "stores.zip", "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        place = Path(temporary)
        expected = {"feedback": feedback_log(place), "annotation": annotation_project(place)}
        for path in sorted(place.iterdir()):
            if not path.name.endswith("-shm"):  # an index of the write-ahead log that SQLite makes anew
                archive.write(path, path.name)
        archive.writestr("expected.json", json.dumps(expected))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
