"""A project of numbers, and its application without a socket."""

import asyncio

import httpx
import numpy as np
import pytest

pytest.importorskip("msgspec")
pytest.importorskip("starlette")

from rankwise.annotate.desk import Desk, DeskPlan
from rankwise.annotate.items import Items, Shown
from rankwise.annotate.project import Scale, open_project
from rankwise.annotate.rater_app import AnnotationApplication, Look
from rankwise.online import OnlineCumulativeLink

CLASSES = [1, 2, 3, 4, 5]


def make_items(n=40, shown=None, **more):
    rng = np.random.default_rng(0)
    size, price = rng.standard_normal((n, 2)).round(3).T.tolist()
    columns = {"id": [f"i{k}" for k in range(n)], "size": size, "price": price, **more}
    return Items(columns, shown or Shown())


def write_items(folder, text):
    """A file of items."""
    path = folder / "items.csv"
    path.write_text(text)
    return path


def truth(item):
    """The class of an item: a rater who knows it."""
    row = dict(item["table"]) if isinstance(item, dict) else item
    return int(np.clip(np.floor(2.5 + float(row["size"])), 0, 4))


class Rater:
    """What the page of a rater does, in one object."""

    def __init__(self, client, name, **headers):
        self.client, self.name, self.headers, self.at = client, name, headers, None

    async def _post(self, path, status=200, **body):
        answer = await self.client.post(f"/v1/{path}", json={"rater": self.name, **body}, headers=self.headers)
        assert answer.status_code == status, answer.text
        if status == 200:
            self.at = answer.json()
        return answer.json()

    async def next(self):
        return await self._post("next")

    async def answer(self, admitted=None, seconds=6.0, note="", status=200, **changed):
        question = self.at["question"]
        codes = [truth(question)] if admitted is None else admitted
        body = {"id": question["id"], "item": question["item"], "admitted": codes, "seconds": seconds, "note": note}
        return await self._post("answers", status, **{**body, **changed})

    async def undo(self, status=200, **body):
        return await self._post("undo", status, **{"id": self.at["last"], **body})


@pytest.fixture
def desk_of(tmp_path):
    """Open the desk of a project."""

    def opened(items=None, scale=None, estimator=None, store="labels.sqlite", **plan):
        items = make_items() if items is None else items
        scale = Scale.of(CLASSES) if scale is None else scale
        service = open_project(tmp_path / store, items, scale, estimator or OnlineCumulativeLink())
        try:
            return Desk(service, items, scale, DeskPlan(**plan))
        except BaseException:
            service.stop()
            raise

    return opened


@pytest.fixture
def annotated(desk_of):
    """Run a coroutine that gets a client of a project's application."""

    def run(test, media=None, tokens=None, look=None, **project):
        async def main():
            application = AnnotationApplication(desk_of(**project), look or Look(), media, tokens=tokens)
            async with application._lifespan(None):
                transport = httpx.ASGITransport(application.asgi)
                async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
                    client.desk = application.desk
                    return await test(client)

        return asyncio.run(main())

    return run


async def settled(desk):
    """Wait until corrections are in the model."""
    engine = desk.service.engine
    while engine.replica.stale or engine._rebuilding:
        await asyncio.sleep(0.01)
    return engine.replica
