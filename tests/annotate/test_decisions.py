"""Agreement of raters, on which items they differ, and decisions about these: in the log, the model and the exports."""

import json

import pyarrow as pa
import pytest

from rankwise.annotate.agreement import agreement_in
from rankwise.annotate.export import answers_in, export_answers
from rankwise.annotate.project import as_table, new_model
from rankwise.io import read_answers
from rankwise.persistence import to_bytes
from rankwise.serve.store import Store
from rankwise.serve.tokens import Tokens
from rankwise.serve.verify import verify
from tests.annotate.conftest import CLASSES, Rater, make_items, settled, truth


async def two_raters(client, n=12, away=3):
    """Ann says what is true; Bob says something else about every third item."""
    ann, bob = Rater(client, "ann"), Rater(client, "bob")
    for k in range(n):
        for rater in (ann, bob):
            await rater.next()
        item = bob.at["question"]
        await ann.answer()
        code = truth(item)
        await bob.answer([(code + 3) % 5] if k % away == 0 else [code], note="hm" if k == 0 else "")
    return (await client.get("/v1/agreement")).json()


class Judge(Rater):
    async def decide(self, line, admitted, status=200, changed=None):
        at = (await self.client.get(f"/v1/decisions/{line['number']}", headers=self.headers)).json()
        body = {"id": at["id"], "item": at["item"], "admitted": admitted, "seconds": 5.0, "note": "why"}
        body |= changed or {}
        return await self._post("decisions", status, **body), body


def test_agreement_and_who_differs_from_whom_on_what(annotated, tmp_path):
    async def test(client):
        return await two_raters(client)

    facts = annotated(test, raters=2, shared=1.0)
    assert facts["alpha"] < 1.0
    assert facts["overlap"] == pytest.approx(8 / 12)
    (pair,) = facts["pairs"]
    assert {pair["first"], pair["second"]} == {"ann", "bob"}
    assert (pair["items"], pair["exact"]) == (12, 12)
    assert pair["alpha"] == facts["alpha"]
    assert -1.0 <= pair["kappa"] < 1.0
    assert len(facts["differences"]) == 4
    ranks = [line["ranks"] for line in facts["differences"]]
    assert ranks == sorted(ranks, reverse=True)
    for line in facts["differences"]:
        labels = {answer["rater"]: int(answer["label"]) for answer in line["answers"]}
        assert abs(labels["ann"] - labels["bob"]) == line["ranks"]
        assert line["decision"] is None
    with Store(tmp_path / "labels.sqlite") as store:  # the command sees the same
        said = agreement_in(store)
    assert said == {**facts, "differences": [
        {name: value for name, value in line.items() if name != "number"} for line in facts["differences"]
    ]}  # fmt: skip


def test_without_two_answers_about_an_item_nothing_is_known(annotated):
    async def test(client):
        before = (await client.get("/v1/agreement")).json()
        ann = Rater(client, "ann")
        await ann.next()
        await ann.answer()
        return before, (await client.get("/v1/agreement")).json()

    before, after = annotated(test)
    assert before == {"alpha": None, "overlap": None, "raters": [], "pairs": [], "differences": []}
    assert (after["alpha"], after["pairs"], after["differences"]) == (None, [], [])


def test_a_decision_is_learnt_instead_of_the_answers_until_it_is_undone(annotated, tmp_path):
    def learnt(item):
        with Store(tmp_path / "labels.sqlite") as store:
            columns = answers_in(store)
        rows = zip(*(columns[name] for name in ("item", "kind", "rater", "label", "learnt")), strict=True)
        return [row[1:] for row in rows if row[0] == item]

    async def test(client):
        line = (await two_raters(client))["differences"][0]
        item, said = line["item"], {answer["rater"]: answer["label"] for answer in line["answers"]}
        before = to_bytes((await settled(client.desk)).rows.model)
        assert learnt(item) == [("answer", rater, label, label) for rater, label in said.items()]
        cleo = Judge(client, "cleo")
        _, body = await cleo.decide(line, [1, 2])
        decided = [
            *(("answer", rater, label, "?") for rater, label in said.items()),
            ("decision", "cleo", "2-3", "2-3"),
        ]
        assert learnt(item) == decided
        await settled(client.desk)
        lines = (await client.get("/v1/agreement")).json()["differences"]
        assert lines[-1]["decision"] == {"rater": "cleo", "label": "2-3", "note": "why", "id": body["id"]}
        assert len(lines) == 4
        assert await cleo._post("decisions", **body)  # sent twice, logged once
        assert learnt(item) == decided
        await cleo._post("decisions", 409, **{**body, "admitted": [4]})
        await cleo._post("decisions/undo", id=body["id"])
        await cleo._post("decisions/undo", id=body["id"])
        assert learnt(item) == [("answer", rater, label, label) for rater, label in said.items()]
        assert to_bytes((await settled(client.desk)).rows.model) == before
        _, again = await cleo.decide(line, [4])
        assert again["id"] != body["id"]
        await settled(client.desk)

    annotated(test, raters=2, shared=1.0)
    with Store(tmp_path / "labels.sqlite") as store:
        assert all(check.is_equal for check in verify(store))


def test_the_exported_labels_train_the_model_also_after_decisions(annotated, tmp_path):
    async def test(client):
        lines = (await two_raters(client))["differences"]
        for k, line in enumerate(lines[:3]):
            await Judge(client, "cleo").decide(line, [[], [2], [0, 3]][k])
        await settled(client.desk)
        late = Rater(client, "dan")  # nobody is asked about what is decided
        await late.next()
        assert late.at["question"]["item"] not in {line["item"] for line in lines[:3]}
        return to_bytes((await settled(client.desk)).rows.model)

    shown = annotated(test, raters=3, shared=1.0)
    output = tmp_path / "labels.csv"
    assert export_answers(tmp_path / "labels.sqlite", output) == 27
    answers, items = read_answers(output, question="learnt"), make_items()
    rows = as_table(items).take(pa.array([items.names.index(name) for name in answers["item"]]))
    assert to_bytes(new_model(items, CLASSES).partial_fit(rows, answers["label"])) == shown
    assert "1|4" in read_answers(output)["label"]
    export_answers(tmp_path / "labels.sqlite", tmp_path / "tasks.json", "label-studio")
    annotations = [a for task in json.loads((tmp_path / "tasks.json").read_text()) for a in task["annotations"]]
    assert sum(a["ground_truth"] for a in annotations) == 3


def test_a_late_answer_about_a_decided_item_is_kept_and_not_learnt(annotated, tmp_path):
    async def test(client):
        line = (await two_raters(client))["differences"][0]
        await Judge(client, "cleo").decide(line, [1])
        body = {"id": f"3|dan|{line['item']}|1", "item": line["item"], "admitted": [4], "seconds": 1.0}
        await Rater(client, "dan")._post("answers", **body)
        with Store(tmp_path / "labels.sqlite") as store:
            columns = answers_in(store)
        assert (columns["label"][-1], columns["learnt"][-1]) == ("5", "?")
        await settled(client.desk)

    annotated(test, raters=2, shared=1.0)


def test_a_server_that_died_within_a_decision_finishes_it(annotated, tmp_path, monkeypatch):
    async def killed(client):
        line = (await two_raters(client))["differences"][0]

        async def dies(*_):
            raise KeyboardInterrupt

        with monkeypatch.context() as context:
            context.setattr(client.desk.decisions, "bring_up_to_date", dies)
            at = client.desk.decisions.to_decide(line["number"])
            with pytest.raises(KeyboardInterrupt):
                await client.desk.decisions.decide("cleo", at["id"], at["item"], [1], 1.0, "")
        return line["item"]

    item = annotated(killed, raters=2, shared=1.0)

    async def started_again(client):
        await settled(client.desk)
        await client.desk.service.engine.call(lambda: None, client.desk.service.future())
        with Store(tmp_path / "labels.sqlite") as store:
            columns = answers_in(store)
        await settled(client.desk)
        return [label for name, label in zip(columns["item"], columns["learnt"], strict=True) if name == item]

    assert annotated(started_again, raters=2, shared=1.0) == ["?", "?", "2"]


@pytest.mark.parametrize(
    ("changed", "status", "words"),
    [
        ({"admitted": [7]}, 422, "0 to 4"),
        ({"item": "nothing"}, 404, "no item"),
        ({"id": "decision|x|7"}, 409, "decided before"),
        ({"project": "another"}, 412, "another project"),
    ],
)
def test_bad_decisions_change_nothing(annotated, changed, status, words):
    async def test(client):
        line = (await two_raters(client, 3))["differences"][0]
        last = client.desk.service.engine.store.last
        said, _ = await Judge(client, "cleo").decide(line, [1], status, changed)
        assert words in said["detail"]
        assert client.desk.service.engine.store.last == last
        await Judge(client, "cleo")._post("decisions/undo", 404, id="decision|i0|9")

    annotated(test, raters=2, shared=1.0)


def test_who_may_decide(annotated, tmp_path):
    (tmp_path / "tokens").write_text("learn 0123456789abcdef ann\nadmin fedcba9876543210 cleo\n")
    ann, cleo = ({"Authorization": f"Bearer {token}"} for token in ("0123456789abcdef", "fedcba9876543210"))

    async def test(client):
        rater = Rater(client, "ann", **ann)
        await rater.next()
        item = rater.at["question"]
        await rater.answer()
        assert not (await client.get("/v1/project", headers=ann)).json()["decides"]
        assert (await client.get("/v1/agreement", headers=ann)).status_code == 403
        assert (await client.get("/v1/decisions/0", headers=ann)).status_code == 403
        assert (await client.get("/v1/project", headers=cleo)).json()["decides"]
        _, body = await Judge(client, "somebody", **cleo).decide({"number": item["number"]}, [2])
        await Rater(client, "ann", **ann)._post("decisions/undo", 403, id=body["id"])
        with Store(tmp_path / "labels.sqlite") as store:
            assert answers_in(store)["rater"] == ["ann", "cleo"]
        await settled(client.desk)

    annotated(test, tokens=Tokens(tmp_path / "tokens"))
