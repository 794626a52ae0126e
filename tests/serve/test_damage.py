"""Stores that were emptied, replaced, changed or damaged from outside: nothing goes on as if nothing had happened."""

import json
import os
import shutil
import sqlite3
import tempfile
from pathlib import Path

import pytest

from rankwise.serve import store_file as stores
from rankwise.serve.engine import Engine
from rankwise.serve.launch import open_services
from rankwise.serve.log_chain import GENESIS, Walk, link
from rankwise.serve.replica import built
from rankwise.serve.store import Store, StoreError
from rankwise.serve.verify import verify
from rankwise.serve.writer import Settings
from tests.cli.commands import fail, run, succeed


@pytest.fixture(autouse=True)
def own_log():
    """The command ``serve`` takes the log for its own process, which is this one."""
    before = stores.log.handlers[:], stores.log.level, stores.log.propagate
    yield
    stores.log.handlers[:], stores.log.level, stores.log.propagate = before


@pytest.fixture
def filled(tmp_path, online, stream):
    """A store with 400 feedbacks in many pages, some corrections and snapshots, and its model."""
    return fill(tmp_path / "feedback.sqlite", online, stream)


def fill(path, content, stream, n=400, **settings):
    store = Store(path, write=True)
    engine = Engine(store, content, Settings(**{"snapshot_every": 100, **settings})).start()
    rows, labels = stream
    for start in range(0, n, 20):
        some = range(start, start + 20)
        noted = [{**rows[i], "note": f"{i}" * 100} for i in some]
        engine.feedback(noted, [f"f{i}" for i in some], [labels[i] for i in some], actor="me")
    if n:
        engine.change("f5", "5", 2.0, actor="you").result()
        while engine.replica.stale or engine._rebuilding:
            pass
    engine.stop()
    store.close()
    return path


def served(path):
    with Store(path) as store:
        return built(store, store.current()).digest()


def sql(path, *statements):
    with sqlite3.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


def failed(path):
    with Store(path) as store:
        return [check.what for check in verify(store) if not check.is_equal]


def delete(path):
    for file in (path, Path(f"{path}-wal"), Path(f"{path}-shm")):
        file.unlink(missing_ok=True)


class TestLoss:
    """The lock file knows what was acknowledged."""

    @pytest.mark.parametrize("how", ["deleted", "emptied", "without tables"])
    def test_a_store_that_is_gone_is_not_begun_anew(self, filled, online, how):
        delete(filled)
        if how != "deleted":
            filled.write_bytes(b"")
        if how == "without tables":  # what is left of a new store whose -wal is lost
            sql(filled, "PRAGMA journal_mode=WAL")
            assert filled.stat().st_size
        before = filled.read_bytes() if filled.exists() else None
        what = "is not there" if how == "deleted" else "is empty"
        with pytest.raises(StoreError, match=f"{what}, but event 401 was acknowledged"):
            Store(filled, write=True)
        assert (filled.read_bytes() if filled.exists() else None) == before
        with Store(filled, write=True, accept_loss=True) as store, Engine(store, online):
            assert store.last == 0
        Store(filled, write=True).close()  # and from then on it is a store as any other

    def test_a_store_without_an_event_may_be_deleted(self, tmp_path, online, stream):
        path = fill(tmp_path / "new.sqlite", online, stream, 0)
        delete(path)
        with Store(path, write=True) as store:
            assert store.last == 0

    def test_another_store_in_its_place_is_refused(self, filled, tmp_path, online, stream):
        other = fill(tmp_path / "other.sqlite", online, stream, 500)
        delete(filled)
        shutil.copy(other, filled)
        with pytest.raises(StoreError, match="is another store than the one that was served here, but event 401"):
            Store(filled, write=True)
        Store(filled, write=True, accept_loss=True).close()
        Store(filled, write=True).close()

    def test_an_older_copy_that_went_on_elsewhere_is_refused(self, filled, tmp_path, stream):
        older = tmp_path / "older.sqlite"
        sql(filled, f"VACUUM INTO '{older}'")
        for path, n in ((filled, 20), (older, 40)):
            with Store(path, write=True) as store, Engine(store) as engine:
                engine.feedback(stream[0][:n], [f"{path.stem}{i}" for i in range(n)], stream[1][:n])
        delete(filled)
        shutil.copy(older, filled)  # longer than what was acknowledged here, and not the same
        with pytest.raises(StoreError, match="has another history up to event 421"):
            Store(filled, write=True)

    def test_a_note_without_a_digest_still_counts(self, filled):
        note = Path(f"{filled}.lock")
        name, seq, _ = note.read_text().split()
        note.write_text(f"{name} {seq}\n")  # as version 1 of the format wrote it
        Store(filled, write=True).close()
        note.write_text(f"{name} {int(seq) + 1}\n")
        with pytest.raises(StoreError, match="ends at event 401, but event 402 was acknowledged"):
            Store(filled, write=True)

    @pytest.mark.parametrize(
        ("statement", "said"),
        [
            ("DELETE FROM log", "ends at event 0, but event 401"),
            ("DELETE FROM log WHERE seq > 390", "ends at event 390, but event 401"),
            ("DELETE FROM meta", "is another store"),
            ("DROP TABLE log", "the table .log. is gone"),
        ],
    )
    def test_emptied_tables_are_a_loss(self, filled, statement, said):
        sql(filled, statement)
        with pytest.raises(StoreError, match=said):
            Store(filled, write=True)

    def test_verify_misses_what_was_acknowledged(self, tmp_path, online, stream):
        path = fill(tmp_path / "f.sqlite", online, stream, 40, snapshot_every=10_000)
        sql(path, "DELETE FROM snapshots", "DELETE FROM log WHERE seq > 30")
        assert failed(path) == ["the store ends at event 30, but event 41 was acknowledged"]
        Path(f"{path}.lock").unlink()
        assert failed(path) == []

    def test_a_log_without_versions_is_not_learnt_by_the_first_model_that_comes(self, filled, online):
        sql(filled, "DELETE FROM versions", "DELETE FROM snapshots")
        with Store(filled, write=True) as store, pytest.raises(StoreError, match="401 events and no version"):
            Engine(store, online)
        with Store(filled, write=True, accept_loss=True) as store:
            assert Engine(store, online).replica.seq == 401

    def test_the_commands_say_so_in_one_line(self, filled, tmp_path, online):
        model = tmp_path / "m.rankwise"
        model.write_bytes(online)
        delete(filled)
        assert "event 401 was acknowledged" in fail(1, "serve", model, "--store", filled, "--port", "0")
        table = tmp_path / "t.csv"
        table.write_text("label,c0,c1,c2,c3\n1,1,2,3,4\n")
        assert "event 401 was acknowledged" in fail(1, "store", "import", table, model, "--store", filled)
        assert not filled.exists()
        succeed("store", "import", table, model, "--store", filled, "--accept-loss")

    def test_a_refit_does_not_call_a_damaged_store_a_busy_one(self, filled, monkeypatch):
        from rankwise.serve import refit

        sql(filled, "DELETE FROM log WHERE seq > 390")
        with pytest.raises(StoreError, match="ends at event 390"):
            refit._promote(filled, 1)


class TestChain:
    """Each event has a digest that covers all before it."""

    def test_a_chain_is_what_the_events_are(self):
        events = [(seq, f"e{seq}", 1.0, "feedback", None, "1", 1.0, "{}", None, "me") for seq in range(1, 6)]
        digests = [GENESIS]
        for event in events:
            digests.append(link(digests[-1], event))
        walk = Walk(GENESIS)
        assert [walk.meets(*pair) for pair in zip(events, digests[1:], strict=True)] == [None] * 5
        assert walk.head == digests[-1]
        events[2] = (*events[2][:5], "2", *events[2][6:])
        walk = Walk(GENESIS)
        found = [walk.meets(*pair) for pair in zip(events, digests[1:], strict=True)]
        assert [k for k, digest in enumerate(found) if digest is not None] == [2]  # named once, where it is

    @pytest.mark.parametrize(
        "statement",
        [
            "UPDATE log SET label = '1' WHERE seq = 60",
            "UPDATE log SET weight = 7 WHERE seq = 60",
            "UPDATE log SET features = replace(features, 'c0', 'c1') WHERE seq = 60",
            "UPDATE log SET actor = 'somebody' WHERE seq = 60",
            "UPDATE log SET at = at + 1 WHERE seq = 60",
            "DELETE FROM log WHERE seq = 60",
            "UPDATE log SET digest = NULL WHERE seq = 60",
            "UPDATE log SET target = 7 WHERE seq = 401",
        ],
    )
    def test_changed_rows_are_seen_at_the_start(self, filled, statement):
        sql(filled, statement)
        with pytest.raises(StoreError, match=r"event (60|61|401) .* does not match its digest"):
            Store(filled, write=True)
        assert any("matches its digest" in what for what in failed(filled))
        Store(filled, write=True, accept_loss=True).close()
        Store(filled, write=True).close()  # what was accepted is not refused again

    def test_only_the_newest_are_compared_at_the_start(self, filled, monkeypatch):
        sql(filled, "UPDATE log SET label = '1' WHERE seq = 60")
        monkeypatch.setattr(stores, "_CHECKED_AT_START", 100)
        Store(filled, write=True).close()
        assert "event 60 ('f59') matches its digest" in failed(filled)
        sql(filled, "UPDATE log SET label = '1' WHERE seq = 350")
        with pytest.raises(StoreError, match="event 350"):
            Store(filled, write=True)

    def test_all_that_is_learnt_at_the_start_is_compared(self, tmp_path, online, stream, monkeypatch):
        path = fill(tmp_path / "f.sqlite", online, stream, 400)
        sql(path, "DELETE FROM snapshots WHERE seq > 150", "UPDATE log SET label = '1' WHERE seq = 160")
        monkeypatch.setattr(stores, "_CHECKED_AT_START", 10)
        with pytest.raises(StoreError, match="event 160"):
            Store(path, write=True)

    def test_changed_versions_and_snapshots_are_seen(self, filled):
        before = served(filled)
        sql(filled, "UPDATE snapshots SET progress = replace(progress, '1', '2')")
        assert served(filled) == before  # from the root
        assert "can be read" in failed(filled)[0]
        sql(filled, "UPDATE versions SET ranges = '[[40, null]]'")
        with pytest.raises(StoreError, match="version 1 was changed"):
            Store(filled, write=True)

    def test_numbers_that_a_database_changes_do_not_break_it(self, tmp_path, online, stream):
        path = tmp_path / "f.sqlite"
        with Store(path, write=True) as store, Engine(store, online) as engine:
            odd = [-0.0, 0.0, 1e-300, 1e12, 1 / 3]
            engine.feedback(stream[0][:5], ["ä", "b\0c", "\U0001f600", "d'", 'e"'], ["1"] * 5, odd)
            engine.change("ä", "2", -0.0).result()
        assert failed(path) == []
        Store(path, write=True).close()


FORMAT_1 = """
CREATE TABLE log_ (
  seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, at REAL NOT NULL, kind TEXT NOT NULL, target INTEGER,
  label TEXT, weight REAL, features TEXT, context TEXT);
INSERT INTO log_ SELECT seq, id, at, kind, target, label, weight, features, context FROM log;
DROP TABLE log;
ALTER TABLE log_ RENAME TO log;
CREATE INDEX log_target ON log (target) WHERE target IS NOT NULL;
ALTER TABLE versions DROP COLUMN digest;
ALTER TABLE snapshots DROP COLUMN digest;
DROP TABLE requests;
DELETE FROM meta WHERE key = 'chain begins';
PRAGMA user_version=1;
"""


class TestOldStores:
    """Stores of format 1 have no chain."""

    @pytest.fixture
    def old(self, filled):
        connection = sqlite3.connect(filled)
        connection.executescript(FORMAT_1)
        connection.close()
        note = Path(f"{filled}.lock")
        note.write_text(" ".join(note.read_text().split()[:2]) + "\n")
        return filled

    def test_they_can_be_read_without_being_changed(self, old, tmp_path):
        content = old.read_bytes()
        assert failed(old) == []
        succeed("store", "export", old, "--output", tmp_path / "t.csv")
        assert "401" in succeed("store", "inspect", old)
        assert old.read_bytes() == content

    def test_they_get_a_chain_when_they_are_served(self, old, stream):
        before = served(old)
        with Store(old, write=True) as store, Engine(store) as engine:
            assert engine.replica.digest() == before
            engine.feedback(stream[0][:3], ["x", "y", "z"], stream[1][:3], actor="me")
        assert failed(old) == []
        Store(old, write=True).close()
        sql(old, "UPDATE log SET label = '1' WHERE seq = 402")
        with pytest.raises(StoreError, match="event 402"):
            Store(old, write=True)

    def test_what_was_there_before_is_covered_as_a_whole(self, old, monkeypatch):
        Store(old, write=True).close()
        sql(old, "UPDATE log SET label = '1' WHERE seq = 60")
        with pytest.raises(StoreError, match="an event before the chain began"):
            Store(old, write=True)
        assert "an event before the chain began" in failed(old)[0]
        monkeypatch.setattr(stores, "_CHECKED_AT_START", 0)  # as in a store with many more events
        Store(old, write=True).close()

    def test_an_upgrade_that_fails_changes_nothing(self, old, monkeypatch):
        def fails(*_):
            raise RuntimeError

        monkeypatch.setattr(stores.schema, "insert_sealed", fails)
        monkeypatch.setattr(stores.schema, "fingerprint", fails)
        content = old.read_bytes()
        with pytest.raises(RuntimeError):
            Store(old, write=True)
        monkeypatch.undo()
        with Store(old) as store:
            assert store.format == 1
        assert old.read_bytes()[100:] == content[100:]  # but for the header's counters
        Store(old, write=True).close()
        assert failed(old) == []


def damage_log(path):
    """Overwrite a page in the middle of the log; the index of ids stays whole."""
    size = 4096
    sound = path.read_bytes()
    for page in range(len(sound) // size // 2, len(sound) // size):
        broken = bytearray(sound)
        broken[page * size : page * size + 200] = b"\xff" * 200
        path.write_bytes(broken)
        connection = sqlite3.connect(path)
        try:
            connection.execute("SELECT count(id) FROM log NOT INDEXED WHERE label <> ''").fetchone()
        except sqlite3.DatabaseError:
            return
        finally:
            connection.close()
    raise AssertionError("no page of the log was found")


class TestDamage:
    """Pages that cannot be read."""

    def test_a_damaged_snapshot_is_passed_over(self, filled, online, caplog):
        before = served(filled)
        sql(filled, "UPDATE models SET content = zeroblob(100) WHERE digest = "
                    "(SELECT model FROM snapshots ORDER BY seq DESC LIMIT 1)")  # fmt: skip
        assert served(filled) == before
        assert "the snapshot after event 401 cannot be used" in caplog.text
        (service,) = open_services({"m": (None, filled)}, Settings()).values()
        assert service.engine.replica.digest() == before
        assert service.versions()[0]["current"]
        service.stop()
        assert any("the snapshot after event 401" in what for what in failed(filled))

    def test_all_damaged_snapshots_leave_the_log(self, filled):
        before = served(filled)
        sql(filled, "DELETE FROM models WHERE digest NOT IN (SELECT root FROM versions)")
        assert served(filled) == before

    def test_damaged_pages_are_one_line(self, filled, tmp_path, online):
        model = tmp_path / "m.rankwise"
        model.write_bytes(online)
        damage_log(filled)
        for command in (("serve", model, "--store", filled, "--port", "0"), ("refit", filled),
                        ("store", "export", filled, "--output", tmp_path / "t.csv")):  # fmt: skip
            assert "rankwise store repair" in fail(1, *command)
        found = run("serve", model, "--store", filled, "--verify")
        assert found.exit_code == 1
        assert "DIFFERENT the file is damaged" in found.stdout

    def test_repair_saves_what_can_be_read_and_lists_what_cannot(self, filled, tmp_path, stream):
        before = served(filled)
        damage_log(filled)
        content, output = filled.read_bytes(), tmp_path / "repaired.sqlite"
        found = run("store", "repair", filled, "--output", output, "--json")
        assert found.exit_code == 3, found.output
        report = json.loads(found.stdout)
        assert filled.read_bytes() == content
        lost = {seq for seq, _ in report["lost"]}
        assert 0 < len(lost) < 60
        assert report["events"] == 401 - len(lost)
        assert report["changed"] == []
        assert [id for _, id in report["lost"]] == [f"f{seq - 1}" for seq in sorted(lost)]
        assert failed(output) == []
        assert served(output) == before  # the newest snapshot has learnt what is lost
        with Store(output, write=True) as store, Engine(store) as engine:
            assert {row.seq for rows in store.rows([(0, None)]) for row in rows} == set(range(1, 401)) - lost
            engine.feedback(stream[0][:3], ["x", "y", "z"], stream[1][:3])
        assert failed(output) == []
        assert "is there already" in fail(1, "store", "repair", filled, "--output", output)
        shutil.copy(output, filled)
        with pytest.raises(StoreError, match="has another history"):  # in the old place it is a loss to accept
            Store(filled, write=True)
        Store(filled, write=True, accept_loss=True).close()

    def test_repair_of_a_sound_store_is_a_copy(self, filled, tmp_path):
        output = tmp_path / "repaired.sqlite"
        assert "401 saved, 0 lost" in succeed("store", "repair", filled, "--output", output)
        assert served(output) == served(filled)
        assert failed(output) == []
        delete(filled)
        shutil.copy(output, filled)
        Store(filled, write=True).close()

    def test_repair_leaves_changed_rows_out(self, filled, tmp_path):
        sql(filled, "UPDATE log SET label = '1' WHERE seq = 60", "DELETE FROM log WHERE seq = 70")
        output = tmp_path / "repaired.sqlite"
        found = run("store", "repair", filled, "--output", output)
        assert found.exit_code == 3
        assert "changed: event 60 (f59)" in found.stdout
        assert "lost: event 70 (?)" in found.stdout
        assert failed(output) == []

    def test_repair_after_a_lost_end(self, filled, tmp_path):
        sql(filled, "DELETE FROM log WHERE seq > 390")
        output = tmp_path / "repaired.sqlite"
        report = json.loads(run("store", "repair", filled, "--output", output, "--json").stdout)
        assert [seq for seq, _ in report["lost"]] == list(range(391, 402))
        assert failed(output) == []

    def test_repair_of_other_files(self, tmp_path):
        (tmp_path / "text").write_text("no database at all" * 100)
        sql(tmp_path / "other", "CREATE TABLE t (x)")
        assert "nothing can be read" in fail(1, "store", "repair", tmp_path / "text", "--output", tmp_path / "new")
        assert "is no store" in fail(1, "store", "repair", tmp_path / "other", "--output", tmp_path / "new")
        assert "no store at" in fail(1, "store", "repair", tmp_path / "none", "--output", tmp_path / "new")
        assert not (tmp_path / "new").exists()


def without_rights(function):
    """Run a function in a process that may write nothing; return its result."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.getuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            said = json.dumps(function())
        except BaseException as error:
            said = json.dumps(repr(error))
        os.write(write, said.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return json.loads(said)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("recent", [False, True])
def test_verify_works_where_nothing_can_be_written(filled, stream, recent):
    with tempfile.TemporaryDirectory(prefix="rankwise-test-") as folder:
        os.chmod(folder, 0o755)
        copy = Path(folder) / "ro"
        copy.mkdir()
        store = Store(filled, write=True)
        engine = Engine(store).start()
        if recent:  # as a snapshot of a file system that is in use has it
            engine.feedback(stream[0][:3], ["x", "y", "z"], stream[1][:3])
            shutil.copy(f"{filled}-wal", copy / "f.sqlite-wal")
        shutil.copy(filled, copy / "f.sqlite")
        engine.stop()
        store.close()
        for path in (*copy.iterdir(), copy):
            os.chmod(path, 0o555)

        def found():
            with Store(copy / "f.sqlite") as opened:
                return [opened.last, [check.is_equal for check in verify(opened)]]

        last, equal = without_rights(found)
        assert last == (404 if recent else 401)
        assert len(equal) > 3
        assert all(equal)
        os.chmod(copy, 0o755)


def test_inspect_shows_the_digest_of_the_last_event(filled):
    with Store(filled) as store:
        assert json.loads(succeed("store", "inspect", filled, "--json"))["digest"] == store.head.hex()
        assert store.head.hex() in succeed("store", "inspect", filled)
