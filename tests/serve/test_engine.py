"""Log, replay, snapshots, corrections and versions, without HTTP."""

import sqlite3
import threading
import time
from hashlib import sha256

import numpy as np
import pytest

from rankwise.persistence import from_bytes, to_bytes
from rankwise.serve import replica as replica_module
from rankwise.serve.engine import Engine, UnknownError
from rankwise.serve.replica import Replica
from rankwise.serve.store import Store, StoreError, Version
from rankwise.serve.verify import verify
from rankwise.serve.writer import ConflictError, Settings


@pytest.fixture
def opened(tmp_path, online):
    engines = []

    def open_engine(content=online, name="feedback.sqlite", **settings):
        engine = Engine(Store(tmp_path / name, write=True), content, Settings(**settings)).start()
        engines.append(engine)
        return engine

    yield open_engine
    for engine in engines:
        close(engine)


def close(engine):
    engine.stop()
    engine.store.close()


def crash(engine):
    """What a kill leaves: nothing is flushed or closed in order, but the lock goes."""
    engine._stopping = True
    with engine._wake:
        engine._wake.notify()
    engine._thread.join()
    engine.store.close()


def give(engine, stream, start, stop, size=7):
    rows, labels = stream
    for first in range(start, stop, size):
        last = min(first + size, stop)
        ids = [f"f{i}" for i in range(first, last)]
        engine.feedback(rows[first:last], ids, labels[first:last])


def settled(engine, timeout=20):
    """Wait until corrections are in the model."""
    end = time.monotonic() + timeout
    while engine.replica.stale or engine._rebuilding:
        assert time.monotonic() < end
        time.sleep(0.01)
    return engine.replica


def plain(content, stream, rows):
    """The model after learning some rows by hand, one at a time."""
    model = Replica(version_of(content), content).rows
    for i, label in rows:
        model.learn(model.encode([stream[0][i]]), model.labels([label]), np.ones(1))
    return model


def version_of(content):
    return Version(1, 0.0, "start", "", [(0, None)], 0, {})


def digest(rows):
    return sha256(to_bytes(rows.model)).hexdigest()


def test_the_model_is_the_same_whatever_the_groups(opened, stream, online):
    expected = digest(plain(online, stream, [(i, stream[1][i]) for i in range(100, 400)]))
    for size in (1, 7, 300):
        engine = opened(name=f"{size}.sqlite")
        give(engine, stream, 100, 400, size)
        assert engine.replica.digest() == expected


def test_after_a_crash_it_is_the_same_model(opened, stream):
    engine = opened(snapshot_every=50)
    give(engine, stream, 100, 333)
    before = engine.replica.digest(), engine.replica.progress.facts()
    crash(engine)
    again = opened()
    assert again.replica.digest() == before[0]
    assert again.replica.progress.facts()["error"] == pytest.approx(before[1]["error"])
    assert again.replica.progress.facts()["rows"] == before[1]["rows"]
    assert len(again.store.snapshots(1)) >= 1
    crash(again)
    with Store(again.store.path) as store:
        checks = list(verify(store))
    assert len(checks) >= 3
    assert all(check.is_equal for check in checks)


def test_verify_sees_a_model_that_does_not_follow_from_the_log(opened, stream):
    engine = opened(snapshot_every=50)
    give(engine, stream, 100, 200)
    close(engine)
    with sqlite3.connect(engine.store.path) as connection:
        connection.execute("UPDATE log SET label = '1' WHERE seq = 60")
    connection.close()
    with Store(engine.store.path) as store:
        assert not all(check.is_equal for check in verify(store))


def test_the_same_feedback_again_gives_the_same_answer_and_is_learnt_once(opened, stream):
    engine = opened()
    rows, labels = stream
    first = engine.feedback(rows[:3], ["a", "b", "c"], labels[:3])
    before = engine.replica.digest()
    assert engine.feedback(rows[:3], ["a", "b", "c"], labels[:3]) == first
    assert engine.replica.digest() == before
    assert engine.feedback(rows[2:4], ["c", "d"], labels[2:4]) == [first[2], first[2] + 1]
    with pytest.raises(ConflictError, match="row 1: feedback 'b' was given before"):
        engine.feedback(rows[5:7], ["e", "b"], labels[5:7])
    assert "e" not in engine.store.find(["e"])
    assert engine.store.last == 4


def test_a_correction_does_not_meet_feedback_with_its_id(opened, stream):
    engine = opened()
    engine.feedback(stream[0][:2], ["a", "correction-3"], stream[1][:2])
    engine.change("a", "5", None).result()
    assert engine.store.last == 3
    assert set(engine.store.find(["a", "correction-3", "correction-3'"])) == {"a", "correction-3", "correction-3'"}
    settled(engine)


def test_many_threads_share_transactions_and_learn_in_the_order_of_the_log(opened, stream, online):
    engine = opened()
    rows, labels = stream

    def client(k):
        for i in range(k, 400, 8):
            engine.feedback([rows[i]], [f"t{i}"], [labels[i]])

    threads = [threading.Thread(target=client, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert engine.n_groups < 400  # some were written together
    order = [int(row.id[1:]) for chunk in engine.store.rows([(0, None)]) for row in chunk]
    assert sorted(order) == list(range(400))
    assert engine.replica.digest() == digest(plain(online, stream, [(i, labels[i]) for i in order]))


def test_corrections_and_retractions_are_as_if_they_had_been_so_from_the_start(opened, stream, online):
    engine = opened(snapshot_every=60)
    give(engine, stream, 100, 300)
    engine.change("f150", "1", None).result()
    engine.change("f120", None, None).result()
    give(engine, stream, 300, 320)  # the old model learns meanwhile
    engine.change("f310", "2-3", 1.0).result()
    replica = settled(engine)
    labels = {i: stream[1][i] for i in range(100, 320)} | {150: "1", 310: "2-3"}
    del labels[120]
    expected = digest(plain(online, stream, sorted(labels.items())))
    assert replica.digest() == expected
    assert replica.name.startswith("1.")
    crash(engine)
    again = opened()
    assert again.replica.digest() == expected
    close(again)
    with Store(again.store.path) as store:
        assert all(check.is_equal for check in verify(store))


def test_a_crash_before_the_correction_is_replayed_loses_nothing(opened, stream, online):
    engine = opened(snapshot_every=30)
    give(engine, stream, 100, 200)
    engine.rebuild = lambda: setattr(engine.replica, "stale", True)
    engine.change("f110", "5", None).result()
    give(engine, stream, 200, 260)
    crash(engine)
    labels = {i: stream[1][i] for i in range(100, 260)} | {110: "5"}
    assert opened().replica.digest() == digest(plain(online, stream, sorted(labels.items())))


def test_a_correction_between_two_looks_at_the_log_is_not_missed(opened, stream, online, monkeypatch):
    """A model that is built again must not claim a correction that came after its snapshot was chosen."""
    engine = opened(snapshot_every=30)
    give(engine, stream, 100, 200)
    settled(engine)
    choose, came = replica_module.latest, []

    def latest_and_then(store, version, upto=None):
        found = choose(store, version, upto)
        if not came and threading.current_thread() is not threading.main_thread():
            came.append(engine.change("f105", "1", None))
            came[0].result()
        return found

    monkeypatch.setattr(replica_module, "latest", latest_and_then)
    engine.change("f195", "5", None).result()
    labels = {i: stream[1][i] for i in range(100, 200)} | {105: "1", 195: "5"}
    assert settled(engine).digest() == digest(plain(online, stream, sorted(labels.items())))
    assert came


def test_changes_are_idempotent_and_need_a_feedback(opened, stream):
    engine = opened()
    give(engine, stream, 0, 10)
    first = engine.change("f3", "2", None).result()
    n_events = engine.store.last
    assert engine.change("f3", "2", None).result() == first
    assert engine.store.last == n_events
    assert engine.change("f3", None, None).result()["state"] == "retraction"
    with pytest.raises(UnknownError, match="no feedback 'nobody'"):
        engine.change("nobody", "2", None).result()


def test_a_rollback_begins_a_version_without_what_came_after(opened, stream, online):
    engine = opened(snapshot_every=40)
    give(engine, stream, 100, 200)
    old = engine.store.last
    give(engine, stream, 200, 250)
    assert engine.roll_back(1, old).result(20) == 2
    expected = {i: stream[1][i] for i in range(100, 200)}
    assert engine.replica.digest() == digest(plain(online, stream, sorted(expected.items())))
    give(engine, stream, 250, 300)
    expected |= {i: stream[1][i] for i in range(250, 300)}
    assert engine.replica.digest() == digest(plain(online, stream, sorted(expected.items())))
    engine.change("f130", "4", None).result()  # before the place that we went back to
    expected[130] = "4"
    wanted = digest(plain(online, stream, sorted(expected.items())))
    assert settled(engine).digest() == wanted
    engine.change("f220", "1", None).result()  # of the part that was left out
    assert settled(engine).digest() == wanted
    crash(engine)
    again = opened()
    assert again.replica.digest() == wanted
    assert again.roll_back(1).result(20) == 3
    assert [v.reason for v in again.store.versions()] == ["start", "rollback", "rollback"]
    with pytest.raises(UnknownError, match="no version 9"):
        again.roll_back(9)
    with pytest.raises(ConflictError, match="version 2 goes from event"):
        again.roll_back(2, 3)
    close(again)
    with Store(again.store.path) as store:
        assert all(check.is_equal for check in verify(store))


def test_a_batch_model_is_judged_and_does_not_change(opened, stream, batch):
    engine = opened(batch)
    give(engine, stream, 100, 200)
    facts = engine.replica.progress.facts()
    assert engine.replica.digest() == Replica(version_of(batch), batch).digest()
    assert facts["error"] <= facts["error_at_worst"]
    assert 0 < facts["covered_at_least"] <= facts["covered_at_most"] <= 1


def test_columns_of_every_kind_do_not_depend_on_their_neighbours(opened, mixed):
    content, rows, labels = mixed
    rows = [*rows, {"size": "1.5", "colour": 12, "remark": None, "new": None}, {**rows[0], "colour": 12.0}]
    labels = [str(k) for k in labels] + ["1-2", "3"]
    digests = set()
    for size in (1, 5, 82):
        engine = opened(content, f"{size}.sqlite")
        for start in range(0, 82, size):
            some = slice(start, start + size)
            engine.feedback(rows[some], [f"f{i}" for i in range(82)][some], labels[some])
        digests.add(engine.replica.digest())
        close(engine)
        again = opened(content, f"{size}.sqlite")
        digests.add(again.replica.digest())
    assert len(digests) == 1


def test_rows_are_encoded_as_tables_are(online, mixed, stream):
    pd = pytest.importorskip("pandas")
    for content, rows in ((online, stream[0][:50]), mixed[:2]):
        model = from_bytes(content)
        ours = Replica(version_of(content), content).rows.encode(rows)
        theirs = model.encoder_.transform(pd.DataFrame(rows))
        assert (ours != theirs).sum() == 0


def test_a_second_writer_is_refused(opened):
    engine = opened()
    with pytest.raises(StoreError, match="another process writes to"):
        Store(engine.store.path, write=True)
    with Store(engine.store.path) as reader:  # but anybody may read
        assert reader.last == 0


def test_another_model_is_refused(opened, online, batch):
    close(opened(online))
    with pytest.raises(StoreError, match="begun with another model"):
        opened(batch)


def test_a_log_that_was_cut_is_recognised(opened, stream, tmp_path):
    engine = opened()
    give(engine, stream, 0, 20)
    path = engine.store.path
    copy = tmp_path / "older.sqlite"
    with Store(path) as reader:
        older = sqlite3.connect(copy)
        reader.connection.backup(older)
        older.close()
    give(engine, stream, 20, 40)
    close(engine)
    path.write_bytes(copy.read_bytes())
    with pytest.raises(StoreError, match="event 40 was acknowledged"):
        Store(path, write=True)
    Store(path, write=True, accept_loss=True).close()
    Store(path, write=True).close()


def test_other_files_are_refused(tmp_path):
    (tmp_path / "text").write_text("no database at all, but long enough to look like one" * 20)
    with sqlite3.connect(tmp_path / "other") as other:
        other.execute("CREATE TABLE t (x)")
    other.close()
    with pytest.raises(StoreError, match="cannot be opened"):
        Store(tmp_path / "text")
    content = (tmp_path / "other").read_bytes()
    with pytest.raises(StoreError, match="something else"):
        Store(tmp_path / "other", write=True)
    assert (tmp_path / "other").read_bytes() == content
    with pytest.raises(StoreError, match="no store at"):
        Store(tmp_path / "nothing")
    with pytest.raises(StoreError, match="there is no directory"):
        Store(tmp_path / "a" / "b", write=True)


def test_snapshots_are_kept_by_number(opened, stream):
    engine = opened(snapshot_every=20, keep=3)
    give(engine, stream, 0, 300)
    close(engine)
    with Store(engine.store.path) as store:
        assert len(store.snapshots(1)) == 3
        (n_models,) = store.connection.execute("SELECT count(*) FROM models").fetchone()
    assert n_models <= 4


def test_a_full_disk_refuses_a_group_and_loses_nothing(opened, stream):
    engine = opened()
    give(engine, stream, 0, 20)
    before = engine.replica.digest()
    pages = engine.store.connection.execute("PRAGMA page_count").fetchone()[0]
    engine.store.connection.execute(f"PRAGMA max_page_count={pages}")
    big = {**stream[0][0], "note": "x" * 100_000}
    with pytest.raises(sqlite3.OperationalError, match="full"):
        engine.feedback([big], ["big"], ["1"])
    assert "full" in engine.broken
    assert engine.replica.digest() == before
    engine.store.connection.execute("PRAGMA max_page_count=1000000")
    engine.feedback([big], ["big"], ["1"])
    assert engine.broken is None
    assert engine.store.last == 21


def test_a_lock_file_that_cannot_be_written_keeps_no_row_from_being_learnt(opened, stream, monkeypatch):
    """What is committed is learnt: the note beside the store is only behind."""
    engine = opened()
    give(engine, stream, 0, 20)

    def fails(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(engine.store.lock, "write", fails)
    give(engine, stream, 20, 40)
    assert engine.replica.seq == engine.store.last == 40
    assert engine.replica.progress.loss.n_rows == replayed(engine).progress.loss.n_rows


def replayed(engine):
    with engine.store.reader() as reader:
        replica = Replica.from_snapshot(reader, reader.current(), None)
        replica.replay(reader, reader.last)
        return replica
