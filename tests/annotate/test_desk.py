"""Who is asked what, and what becomes of answers, over HTTP without a socket."""

import asyncio

import numpy as np
import pyarrow as pa
import pytest

from rankwise.annotate import desk as module
from rankwise.annotate.export import answers_in, export_answers
from rankwise.annotate.project import as_table, new_model
from rankwise.io import read_answers
from rankwise.online import PRIL
from rankwise.persistence import to_bytes
from rankwise.serve.store import Store
from rankwise.serve.transfer import export_model
from rankwise.serve.verify import verify
from tests.annotate.conftest import CLASSES, Rater, make_items, settled, truth


def test_an_answer_is_in_the_log_before_the_next_item_comes(annotated, tmp_path):
    async def test(client):
        ann = Rater(client, "ann")
        first = (await ann.next())["question"]
        found = await ann.answer([1, 2, 3], seconds=4.5, note="hm")
        with Store(tmp_path / "labels.sqlite") as store:
            columns = answers_in(store)
        assert {name: values[0] for name, values in columns.items()} == {
            "item": first["item"], "rater": "ann", "label": "2-4", "seconds": 4.5, "note": "hm", "question": "exact",
            "control": columns["control"][0], "learnt": "2-4", "kind": "answer", "id": first["id"], "seq": 1,
        }  # fmt: skip
        assert found["question"]["item"] != first["item"]
        assert found["mine"] == {"answers": 1, "minutes": 4.5 / 60}
        assert found["all"] == {"answers": 1, "needed": 40, "minutes": 4.5 / 60, "done": 1}

    annotated(test)


@pytest.mark.parametrize(
    ("admitted", "label"),
    [([2], "3"), ([1, 2], "2-3"), ([3, 4], "4-5"), ([0, 1], "1-2"), ([0, 3], "1|4"), ([], "?"), ([0, 1, 2, 3, 4], "?")],
)
def test_every_kind_of_label(annotated, tmp_path, admitted, label):
    async def test(client):
        ann = Rater(client, "ann")
        await ann.next()
        await ann.answer(admitted)
        with Store(tmp_path / "labels.sqlite") as store:
            assert answers_in(store)["label"] == [label]
            assert answers_in(store)["learnt"] == ["1-4" if "|" in label else label]
        await ann.undo()
        assert ann.at["question"]["before"]["admitted"] == ([] if label == "?" else admitted)
        await settled(client.desk)

    annotated(test)


def test_the_same_answer_twice_is_logged_once_and_another_is_refused(annotated, tmp_path):
    async def test(client):
        ann = Rater(client, "ann")
        await ann.next()
        question = ann.at["question"]
        body = {"id": question["id"], "item": question["item"]}
        both = await asyncio.gather(
            *(Rater(client, "ann")._post("answers", admitted=[1], seconds=1, **body) for _ in "12")
        )
        assert {said["saved"] for said in both} == {question["id"]}
        again = await ann._post("answers", admitted=[1], seconds=1, **body)
        assert again["question"]["item"] != question["item"]
        said = await ann._post("answers", 409, admitted=[2], seconds=1, **body)
        assert "Undo" in said["detail"]
        made_up = {"id": f"{body['id']}0", "item": body["item"]}
        await ann._post("answers", 409, admitted=[2], seconds=1, **made_up)
        with Store(tmp_path / "labels.sqlite") as store:
            assert answers_in(store)["label"] == ["2"]

    annotated(test)


def test_raters_never_sit_before_the_same_item(annotated):
    async def test(client):
        ann, bob = Rater(client, "ann"), Rater(client, "bob")
        seen = set()
        for _ in range(20):
            for rater in (ann, bob):
                await rater.next()
            items = {ann.at["question"]["item"], bob.at["question"]["item"]}
            assert len(items) == 2
            assert not items & seen
            seen |= items
            await ann.answer()
            await bob.answer()
        assert len(seen) == 40
        assert ann.at["question"] is None
        assert bob.at["question"] is None
        assert not bob.at["waits"]

    annotated(test)


def test_the_last_items_of_others_are_waited_for(annotated, monkeypatch):
    async def test(client):
        ann, bob = Rater(client, "ann"), Rater(client, "bob")
        await ann.next()
        assert (await bob.next())["waits"]
        assert bob.at["question"] is None
        monkeypatch.setattr(module, "_LEASE", 0.0)  # ann has gone home
        item = (await bob.next())["question"]["item"]
        assert item == ann.at["question"]["item"]
        await bob.answer()
        await ann.answer()  # and comes back: nothing that was said is lost
        assert ann.at["all"] == {"answers": 2, "needed": 1, "minutes": 0.2, "done": 1}

    annotated(test, items=make_items(1))


def test_every_item_gets_as_many_raters_as_it_needs(annotated, tmp_path):
    async def test(client):
        for name in ("ann", "bob", "cleo", "dan"):
            rater = Rater(client, name)
            await rater.next()
            while rater.at["question"] is not None:
                await rater.answer()
        with Store(tmp_path / "labels.sqlite") as store:
            columns = answers_in(store)
        assert set(columns["rater"]) == {"ann", "bob", "cleo"}
        assert sorted(columns["item"]) == sorted([f"i{k}" for k in range(6)] * 3)

    annotated(test, items=make_items(6), raters=3, shared=1.0)


async def answered_in_turn(client, names, n):
    raters = [Rater(client, name) for name in names]
    for rater in raters:
        await rater.next()
    for k in range(n):
        rater = raters[k % len(raters)]
        if rater.at["question"] is None:
            await rater.next()
        if rater.at["question"] is not None:
            await rater.answer()
    return np.bincount(client.desk._counts, minlength=4).tolist()


@pytest.mark.parametrize(
    ("n_raters", "names", "shared", "wanted"),
    [
        (2, ["ann", "bob"], 0.1, [600, 360, 40, 0]),  # 440 answers: agreement is known early
        (3, ["ann", "bob", "cleo"], 0.1, [633, 330, 1, 36]),
        (2, ["ann"], 0.1, [560, 440, 0, 0]),
        (2, ["ann", "bob"], 0.0, [560, 440, 0, 0]),
        (2, ["ann", "bob"], 1.0, [780, 0, 220, 0]),
    ],
)
def test_a_share_of_the_items_has_several_raters_from_the_start(annotated, n_raters, names, shared, wanted):
    async def test(client):
        return await answered_in_turn(client, names, 440)

    counts = annotated(test, items=make_items(1000), raters=n_raters, shared=shared)
    assert counts == pytest.approx(wanted, abs=3)


def test_one_who_comes_later_gets_the_shared_items_first_also_after_a_restart(annotated):
    async def alone(client):
        await answered_in_turn(client, ["ann"], 30)
        return client.desk.state()["all"]["needed"]

    async def later(client):
        bob = Rater(client, "bob")
        await bob.next()
        seen = [bob.at["question"]["item"]]
        for _ in range(6):
            seen.append((await bob.answer())["question"]["item"])
        return seen, client.desk

    assert annotated(alone, items=make_items(60), raters=2) == 66
    seen, desk = annotated(later, items=make_items(60), raters=2)
    names = {desk.items.names[k] for k in np.flatnonzero(desk._counts == 2)}
    assert names == set(seen[:3])  # 3 of the 30 items that ann answered
    assert desk._shared.is_shared.sum() == 6


def test_what_was_answered_twice_before_is_kept(annotated):
    """A project whose items all had two raters goes on with a share of them."""

    async def test(client):
        await answered_in_turn(client, ["ann", "bob"], 20)
        return client.desk.state()["all"]

    assert annotated(test, raters=2, shared=1.0)["done"] == 20
    facts = annotated(test, raters=2)
    assert facts["answers"] == 40
    assert facts["needed"] == 44


def test_a_reload_and_another_browser_show_the_same_item(annotated):
    async def test(client):
        ann = Rater(client, "ann")
        await ann.next()
        await ann.answer()
        shown = ann.at["question"]
        other = Rater(client, "ann")
        assert (await other.next())["question"] == shown

    annotated(test)


def test_undo_is_a_retraction_and_the_item_comes_back(annotated, tmp_path):
    async def test(client):
        ann = Rater(client, "ann")
        await ann.next()
        await ann.answer([0, 1], note="first")
        first = ann.at["last"]
        await ann.answer([3])
        waiting = ann.at["question"]["item"]
        second = ann.at["last"]
        again = (await ann.undo())["question"]
        assert again["before"] == {"admitted": [3], "note": ""}
        assert (await ann.undo(id=second))["undone"] == second  # sent twice
        back = (await ann.undo())["question"]
        assert back["before"] == {"admitted": [0, 1], "note": "first"}
        assert ann.at["all"]["answers"] == 0
        assert back["id"] != first
        await ann.answer([4])
        assert ann.at["question"]["item"] == again["item"]
        await ann.answer([2])
        assert ann.at["question"]["item"] == waiting
        await ann.undo(404, id="something else")
        await Rater(client, "bob")._post("undo", 404, id=ann.at["last"])
        with Store(tmp_path / "labels.sqlite") as store:
            assert answers_in(store)["label"] == ["5", "3"]
            assert store.counts()["retraction"] == 2
        await settled(client.desk)

    annotated(test)


async def label_some(client, n, undo_at=()):
    ann, bob = Rater(client, "ann"), Rater(client, "bob")
    for rater in (ann, bob):
        await rater.next()
    for k in range(n):
        rater = ann if k % 3 else bob
        code = truth(rater.at["question"])
        await rater.answer([[], [0, 3], [max(code - 1, 0), code]][k // 4 % 3] if k % 4 == 0 else [code])
        if k in undo_at:
            await rater.undo()
    return await settled(client.desk)


def test_the_exported_labels_train_the_model_that_the_page_showed(annotated, tmp_path):
    async def test(client):
        replica = await label_some(client, 30, undo_at=(5, 17))
        assert (await client.get("/v1/progress")).json()["model"] == replica.name
        return to_bytes(replica.rows.model)

    shown = annotated(test, strategy="information")
    store, output = tmp_path / "labels.sqlite", tmp_path / "labels.csv"
    assert export_answers(store, output) == 28
    items = make_items()
    model = new_model(items, CLASSES)
    answers = read_answers(output, question="learnt")
    assert "1|4" in read_answers(output)["label"]
    rows = as_table(items).take(pa.array([items.names.index(name) for name in answers["item"]]))
    assert to_bytes(model.partial_fit(rows, answers["label"])) == shown
    export_model(store, tmp_path / "model.rankwise")
    assert (tmp_path / "model.rankwise").read_bytes() == shown
    with Store(store) as opened:
        assert all(check.is_equal for check in verify(opened))


def test_after_a_restart_everything_is_as_it_was(annotated):
    async def first(client):
        await label_some(client, 20, undo_at=(7,))
        return client.desk.state(), client.desk.progress("ann"), to_bytes((await settled(client.desk)).rows.model)

    async def second(client):
        return client.desk.state(), client.desk.progress("ann"), to_bytes(client.desk.service.engine.replica.rows.model)

    before, after = annotated(first), annotated(second)
    assert after[0]["all"] == before[0]["all"]
    assert after[0]["error"] == before[0]["error"]
    assert after[1:] == before[1:]


def test_control_answers_measure_the_error(annotated):
    async def test(client):
        await label_some(client, 36)
        return client.desk.state()

    error = annotated(test, control=1.0)["error"]
    assert error["controls"] == 36 - 3  # where a rater cannot tell, there is nothing to compare
    assert len(error["curve"]) == error["controls"]
    value, lower, upper = error["error"]
    assert 0 <= lower <= value <= upper <= 4
    assert error["worth"][0] >= 0
    assert annotated(test, control=0.0, store="other.sqlite")["error"]["controls"] == 0


def test_uncertain_items_come_first(annotated):
    """The model learns that size tells the class: then the items of known classes are asked last."""

    async def test(client):
        ann = Rater(client, "ann")
        await ann.next()
        for _ in range(25):
            await ann.answer()
        chosen = []
        for _ in range(40):
            client.desk._asks.clear()
            chosen.append((await ann.next())["question"]["number"])
        from rankwise.annotation import expected_rps

        P = client.desk._probabilities(list(range(200)))
        return expected_rps(P)[chosen].mean(), expected_rps(P).mean()

    asked, mean = annotated(test, items=make_items(200), control=0.0)
    assert asked > mean


def test_information_asks_what_is_cheap(annotated):
    async def test(client):
        ann = Rater(client, "ann")
        kinds = [(await ann.next())["question"]["kind"]]
        for _ in range(9):
            question = ann.at["question"]
            kinds.append((await ann.answer(list(range(max(question["code"], 0), 5)), seconds=60.0))["question"]["kind"])
        return kinds, client.desk._times()

    kinds, times = annotated(test, strategy="information", control=0.0)
    assert kinds[0] == "at_least"
    assert times["at_least"] == 60.0  # it is slow here: the others are asked
    assert kinds[-1] != "at_least"


def test_the_guess_is_told_afterwards_and_only_if_wanted(annotated):
    async def test(client):
        ann = Rater(client, "ann")
        assert "guess" not in str(await ann.next())
        return (await ann.answer())["guess"]

    assert annotated(test) is None
    guess = annotated(test, show_guess=True, store="other.sqlite")
    assert 0 <= guess["interval"][0] <= guess["code"] <= guess["interval"][1] <= 4


def test_an_estimator_without_probabilities_asks_at_random(annotated, desk_of):
    async def test(client):
        await label_some(client, 10)
        return client.desk.state()["all"]["answers"]

    assert annotated(test, strategy="random", estimator=PRIL(random_state=0)) == 10
    with pytest.raises(ValueError, match="PRIL has no class probabilities"):
        desk_of(strategy="uncertainty", estimator=PRIL(random_state=0), store="other.sqlite")


@pytest.mark.parametrize(
    ("changed", "status", "words"),
    [
        ({"admitted": [5]}, 422, "0 to 4"),
        ({"admitted": [-1]}, 422, "0 to 4"),
        ({"admitted": ["1"]}, 422, "int"),
        ({"seconds": -1.0}, 422, "seconds"),
        ({"item": "nothing"}, 404, "no item"),
        ({"note": "x" * 5001}, 422, "note"),
        ({"rater": " "}, 422, "rater"),
        ({"rater": "a\nb"}, 422, "rater"),
        ({"rater": None}, 422, "who"),
        ({"more": 1}, 422, "more"),
    ],
)
def test_bad_answers_change_nothing(annotated, changed, status, words):
    async def test(client):
        ann = Rater(client, "ann")
        await ann.next()
        said = await ann.answer(status=status, **changed)
        assert words in said["detail"]
        assert client.desk.service.engine.store.last == 0

    annotated(test)
