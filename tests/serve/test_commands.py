"""`rankwise store`, `rankwise refit` and `rankwise serve --verify`, on stores without a server."""

import json
import runpy
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import rankwise as rw
from rankwise.datasets import make_ordinal
from rankwise.persistence import to_bytes
from rankwise.serve.engine import Engine
from rankwise.serve.refit import refit
from rankwise.serve.store import Store, StoreError
from tests.cli.commands import fail, run, succeed

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def filled(tmp_path, online, stream):
    """A model and a store with feedback, of which some was corrected and retracted."""
    model, path = tmp_path / "model.rankwise", tmp_path / "feedback.sqlite"
    model.write_bytes(online)
    store = Store(path, write=True)
    engine = Engine(store, online).start()
    rows = [{**row, "note": f"n{i}"} for i, row in enumerate(stream[0][:200])]
    engine.feedback(rows, [f"f{i}" for i in range(200)], stream[1][:200], [1.0 + i % 2 for i in range(200)])
    engine.change("f7", "5", 3.0).result()
    engine.change("f8", None, None).result()
    while engine.replica.stale or engine._rebuilding:
        pass
    engine.stop()
    store.close()
    return model, path


_WITHOUT_FRAMES = """
import sys
from importlib.abc import MetaPathFinder

class Missing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pandas", "polars", "openpyxl"):
            raise ModuleNotFoundError(name, name=name)

sys.meta_path.insert(0, Missing())
from rankwise.serve.launch import open_services
from rankwise.serve.messages import arrow_stream
from rankwise.serve.row_model import warm_up
from rankwise.serve.transfer import export_log
from rankwise.serve.writer import Settings
from pathlib import Path

model, store, output = map(Path, sys.argv[1:])
(service,) = open_services({"model": (model, store)}, Settings()).values()
warm_up(service.engine.replica.rows.model)
rows = [{f"c{j}": float(j) for j in range(4)}]
assert service._answers(rows, 0.9)[0]["class"] in (1, 2, 3, 4, 5)
assert arrow_stream(service.predict_table(service.engine.replica.rows.table(rows), 0.9))
service.stop()
export_log(store, output)
"""


def test_the_service_needs_no_package_for_frames(filled, tmp_path):
    output = tmp_path / "feedback.parquet"
    command = [sys.executable, "-c", _WITHOUT_FRAMES, *filled, output]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert pq.read_metadata(output).num_rows == 199


def test_the_size_counts_the_newest_events(filled):
    store = Store(filled[1], write=True)  # as a server has it open
    before = json.loads(succeed("store", "inspect", filled[1], "--json"))["bytes"]
    store.write_note("long", "x" * 100_000)
    assert json.loads(succeed("store", "inspect", filled[1], "--json"))["bytes"] > before + 90_000
    store.close()


def test_export_has_the_ids_and_the_corrections(filled, tmp_path, stream):
    output = tmp_path / "feedback.parquet"
    succeed("store", "export", filled[1], "--output", output)
    table = pq.read_table(output)
    assert table.column_names == ["id", "seq", "label", "weight", "c0", "c1", "c2", "c3", "note"]
    found = {line["id"]: line for line in table.to_pylist()}
    assert set(found) == {f"f{i}" for i in range(200)} - {"f8"}
    assert (found["f7"]["label"], found["f7"]["weight"]) == ("5", 3.0)
    assert found["f11"]["c2"] == stream[0][11]["c2"]
    assert found["f11"]["note"] == "n11"


def test_an_exported_log_imports_to_the_same_model(filled, tmp_path):
    model, path = filled
    output, copy = tmp_path / "feedback.parquet", tmp_path / "copy.sqlite"
    succeed("store", "export", path, "--output", output)
    succeed("store", "import", output, model, "--store", copy)
    succeed("store", "import", output, model, "--store", copy)  # again: nothing more is learnt
    digests = []
    for each in (path, copy):
        store = Store(each, write=True)
        engine = Engine(store)
        digests.append(engine.replica.digest())
        store.close()
    assert digests[0] == digests[1]
    facts = json.loads(succeed("store", "inspect", copy, "--json"))
    assert facts["kinds"]["feedback"] == 199
    assert "199" in succeed("store", "inspect", copy)


def test_verify_ends_with_zero_or_one(filled):
    model, path = filled
    said = succeed("serve", model, "--store", path, "--verify")
    assert "equal     version 1: the model that is served" in said
    import sqlite3

    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE log SET label = '1' WHERE id = 'f20'")
    connection.close()
    found = run("serve", model, "--store", path, "--verify")
    assert found.exit_code == 1
    assert "DIFFERENT" in found.stdout


def test_verify_refuses_a_model_that_the_store_does_not_belong_to(filled, tmp_path, batch):
    other = tmp_path / "other.rankwise"
    other.write_bytes(batch)
    command = ("serve", other, "--store", filled[1])
    said = fail(1, *command, "--verify")
    assert "begun with another model" in said
    assert said == fail(1, *command, "--port", "0", "--log-level", "error")


def test_serving_outsiders_without_tokens_is_refused_before_a_store_is_made(filled, tmp_path):
    new = tmp_path / "new" / "feedback.sqlite"
    new.parent.mkdir()
    assert "give tokens" in fail(1, "serve", filled[0], "--store", new, "--host", "0.0.0.0")
    assert list(new.parent.iterdir()) == []


def test_wrong_usage(filled, tmp_path):
    model, path = filled
    assert "serve one model" in fail(2, "serve")
    assert "serve one model" in fail(2, "serve", model, "--store", path, "--models", tmp_path)
    assert "belong together" in fail(2, "serve", model, "--store", path, "--key", model)
    assert "no store at" in fail(1, "store", "inspect", tmp_path / "none")
    assert "which store" in fail(2, "refit")
    (tmp_path / "empty").mkdir()
    assert "holds no model" in fail(1, "serve", "--models", tmp_path / "empty")
    assert "no column 'label'" in fail(
        1, "store", "import", _table(tmp_path), model, "--store", tmp_path / "new.sqlite"
    )


def test_a_store_without_a_model_says_so(filled, tmp_path):
    path = tmp_path / "new.sqlite"
    Store(path, write=True).close()
    assert "holds no model yet" in fail(1, "refit", path)
    assert "holds no model yet" in fail(1, "serve", filled[0], "--store", path, "--verify")


@pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf")])
def test_an_import_refuses_what_cannot_be_learnt(filled, tmp_path, stream, weight):
    rows = [{**row, "label": "3", "weight": 1.0} for row in stream[0][:3]]
    rows[1]["weight"] = weight
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "t.parquet")
    store = tmp_path / "new.sqlite"
    said = fail(1, "store", "import", tmp_path / "t.parquet", filled[0], "--store", store)
    assert "t.parquet, row 2: a weight must be a finite number >= 0" in said
    with Store(store) as opened:
        assert opened.last == 0


def test_an_import_keeps_the_id_zero(filled, tmp_path, stream):
    rows = [{**row, "label": "3", "id": i} for i, row in enumerate(stream[0][:2])]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "t.parquet")
    succeed("store", "import", tmp_path / "t.parquet", filled[0], "--store", tmp_path / "new.sqlite")
    with Store(tmp_path / "new.sqlite") as store:
        assert [row.id for rows in store.rows([(0, None)]) for row in rows] == ["0", "1"]


def _table(folder):
    pq.write_table(pa.table({"c0": [1.0]}), folder / "other.parquet")
    return folder / "other.parquet"


def _served(folder, model, X, y, n):
    """A store whose model was begun on few rows, with feedback for the others."""
    path = folder / "feedback.sqlite"
    store = Store(path, write=True)
    engine = Engine(store, to_bytes(model)).start()
    rows = [dict(zip([f"c{j}" for j in range(X.shape[1])], row, strict=True)) for row in X[:n].tolist()]
    engine.feedback(rows, [f"f{i}" for i in range(n)], y[:n].tolist())
    engine.stop()
    store.close()
    return path


@pytest.mark.parametrize("estimator", [rw.CumulativeLink(), rw.SVOR()], ids=["CumulativeLink", "SVOR"])
def test_a_better_challenger_is_served_and_a_worse_one_is_not(tmp_path, estimator):
    pd = pytest.importorskip("pandas")
    X, y = make_ordinal(700, 4, 5, noise=0.2, random_state=0)
    columns = [f"c{j}" for j in range(4)]
    poor = rw.TableModel(estimator).fit(pd.DataFrame(X[:40], columns=columns), np.roll(y[:40], 7))
    path = _served(tmp_path, poor, X[100:], y[100:], 500)
    found = json.loads(succeed("refit", "--store", path, "--json"))
    assert found["better"]
    assert found["version"] == 2
    assert found["error"] < found["champion_error"]
    assert (found["rows"], found["test_rows"]) == (400, 100)
    with Store(path) as store:
        assert [version.reason for version in store.versions()] == ["start", "promotion"]
    with pytest.raises(StoreError, match="A refit needs 50 new ones"):  # nothing new to compare on
        refit(path)
    store = Store(path, write=True)
    engine = Engine(store).start()
    rows = [dict(zip(columns, row, strict=True)) for row in X[600:].tolist()]
    engine.feedback(rows, [f"g{i}" for i in range(100)], y[600:].tolist())
    before = engine.replica.digest()
    engine.stop()
    store.close()
    again = refit(path, margin=3.0)  # about the same rows: not three standard errors better
    assert not again["better"]
    assert again["version"] is None
    store = Store(path, write=True)
    assert Engine(store).replica.digest() == before
    store.close()


def test_an_online_challenger_learns_on(tmp_path):
    pd = pytest.importorskip("pandas")
    X, y = make_ordinal(700, 4, 5, noise=0.2, random_state=0)
    columns = [f"c{j}" for j in range(4)]
    poor = rw.TableModel(rw.PRIL(classes=[1, 2, 3, 4, 5], step="pa1", C=1e-6, random_state=0))
    poor.fit(pd.DataFrame(X[:40], columns=columns), np.roll(y[:40], 7))
    path = _served(tmp_path, poor, X[100:], y[100:], 500)
    found = refit(path, margin=0.0)
    assert found["learns"]
    if found["better"]:
        store = Store(path, write=True)
        engine = Engine(store)
        assert engine.replica.version.ranges == [(found["trained_to"], None)]
        store.close()
    assert succeed("serve", _model(tmp_path, poor), "--store", path, "--verify")


def _model(folder, model):
    rw.save(model, folder / "model.rankwise")
    return folder / "model.rankwise"


def test_the_example_talks_to_a_client(stream):
    """The example with a client that answers by itself; ``test_faults`` has real servers."""
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "service" / "client.py"))

    class Fake:
        learnt = 0

        def predict_one(self, x):
            return 1

        def learn_one(self, x, y):
            self.learnt += 1

    fake = Fake()
    assert example["river_style"](fake, [(row, 1) for row in stream[0][:4]]) == 1.0
    assert fake.learnt == 4


def test_events_say_who_did_what(filled, tmp_path, stream):
    path = filled[1]
    with Store(path, write=True) as store, Engine(store) as engine:
        engine.feedback(stream[0][:2], ["of ada", "of nobody"], ["1", "2"], actor="ada")
        engine.change("of ada", "3", None, actor="bo").result()
        engine.change("of ada", None, None, actor="cy").result()
        n, times = store.last, (time.time() - 600, time.time())
    succeed("store", "export", path, "--events", "--output", tmp_path / "events.parquet")
    events = pq.read_table(tmp_path / "events.parquet").to_pylist()
    assert [event["seq"] for event in events] == list(range(1, n + 1))
    assert [(event["kind"], event["actor"]) for event in events[-4:]] == [
        ("feedback", "ada"), ("feedback", "ada"), ("correction", "bo"), ("retraction", "cy"),
    ]  # fmt: skip
    assert {event["target"] for event in events[-2:]} == {events[-4]["seq"]}
    assert times[0] < events[-1]["at"].timestamp() < times[1]
    assert "exclude each other" in fail(2, "store", "export", path, "--events", "--answers-to", "potato", "-o", "t.csv")
