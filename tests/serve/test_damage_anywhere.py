"""Damage at any place of a store: one clear error or the same model, and a repair that invents nothing."""

import os
import random
import shutil
import sqlite3
from contextlib import suppress
from pathlib import Path

import pytest

from rankwise.serve import schema
from rankwise.serve.engine import Engine
from rankwise.serve.launch import open_services
from rankwise.serve.repair import repair
from rankwise.serve.store import Store, StoreError
from rankwise.serve.verify import verify
from rankwise.serve.writer import Settings
from tests.serve.test_damage import FORMAT_1, fill, served

_PAGE = 4096
_EVENTS = "SELECT seq, id, at, kind, target, label, weight, features, context, actor FROM log WHERE kind <> 'repair'"


@pytest.fixture(scope="module")
def sound(tmp_path_factory, online, stream):
    """A store that is only copied, its events and the digest of its model."""
    path = fill(tmp_path_factory.mktemp("sound") / "feedback.sqlite", online, stream)
    return path, events_of(path), served(path)


def events_of(path):
    with sqlite3.connect(path) as connection:
        events = {event[0]: event for event in connection.execute(_EVENTS)}
    connection.close()
    return events


def copied(path, folder):
    copy = folder / path.name
    shutil.copy(path, copy)
    shutil.copy(f"{path}.lock", f"{copy}.lock")
    return copy


def failed(path):
    """What ``--verify`` says; or the one line that it ends with."""
    try:
        with Store(path) as store:
            return [check.what for check in verify(store) if not check.is_equal]
    except StoreError as error:
        return [str(error)]


def check_damaged(path, events, digest):
    """Check what must hold of a damaged copy; return how many events were saved, or None if nothing was."""
    content, output = path.read_bytes(), path.with_name("repaired.sqlite")
    said = failed(path)
    try:
        report = repair(path, output)
    except StoreError:
        report = None
        assert said
        assert not output.exists()
    assert path.read_bytes() == content
    if report is not None:
        saved, gone = events_of(output), dict([*report.lost, *report.changed])
        differ = {seq for seq, event in saved.items() if event != events.get(seq)}
        assert differ <= set(dict(report.unproven))
        if not any(line.startswith("log") for line in report.others):
            assert set(events) == (set(saved) | set(gone)) & set(events)
        assert not set(gone) & set(saved)
        assert report.is_whole or said
        if report.has_model:
            assert failed(output) == []
        else:
            assert not report.is_whole
            assert "holds no model yet" in failed(output)[0]
    with suppress(StoreError):
        (service,) = open_services({"model": (None, path)}, Settings()).values()
        assert service.engine.replica.digest() == digest
        service.stop()
    return None if report is None else report.events


def overwritten(page, how, noise):
    start = page * _PAGE
    if how == "head":
        return {start + i: 255 for i in range(200)}
    if how == "zero":
        return {start + i: 0 for i in range(_PAGE)}
    if how == "tail":
        return {start + _PAGE - 1 - i: noise.randrange(256) for i in range(300)}
    return {start + noise.randrange(_PAGE): noise.randrange(256) for _ in range(3)}  # a few bytes


def damage_pages(sound, folder, pages, noise):
    path, events, digest = sound
    saved = []
    for page in pages:
        for how in ("head", "zero", "tail", "few"):
            copy = copied(path, folder)
            content = bytearray(copy.read_bytes())
            for place, byte in overwritten(page, how, noise).items():
                content[place] = byte
            copy.write_bytes(content)
            saved.append(check_damaged(copy, events, digest))
            for file in folder.iterdir():
                file.unlink()
    return saved


def test_damaged_pages(sound, tmp_path):
    n_pages = sound[0].stat().st_size // _PAGE
    noise = random.Random(0)
    pages = [0, 1, n_pages // 2, n_pages - 1, *noise.sample(range(n_pages), 2)]
    saved = damage_pages(sound, tmp_path, pages, noise)
    assert sum(n is not None and n > 300 for n in saved) == len(saved)


@pytest.mark.attack
def test_every_page_damaged(sound, tmp_path):
    n_pages = sound[0].stat().st_size // _PAGE
    saved = damage_pages(sound, tmp_path, range(n_pages), random.Random(1))
    n, least = len(saved), min(n for n in saved if n is not None)
    print(
        f"{n} damaged stores, {saved.count(None)} beyond repair, at least {least} of {len(sound[1])} events saved else"
    )
    assert saved.count(None) == 0


@pytest.mark.parametrize("n", [100, 4096])
def test_a_lost_first_page_loses_no_event(sound, tmp_path, n):
    path, events, digest = sound
    copy = copied(path, tmp_path)
    copy.write_bytes(bytes(n) + copy.read_bytes()[n:])
    assert check_damaged(copy, events, digest) == len(events)
    assert served(tmp_path / "repaired.sqlite") == digest
    (tmp_path / "repaired.sqlite").unlink()
    copy.write_bytes(path.read_bytes().replace(b"CREATE TABLE log", b"CREATE TABLE lot", 1))
    assert check_damaged(copy, events, digest) == len(events)
    noise = tmp_path / "noise.sqlite"
    noise.write_bytes(bytes(4096) + os.urandom(40_960))
    with pytest.raises(StoreError, match="nothing can be read"):
        repair(noise, tmp_path / "none.sqlite")


def test_the_newest_events_are_saved_behind_a_lost_first_page(sound, tmp_path, stream):
    path = copied(sound[0], tmp_path)
    (tmp_path / "copy").mkdir()
    with Store(path, write=True) as store, Engine(store) as engine:
        engine.feedback(stream[0][:3], ["x", "y", "z"], stream[1][:3])
        for file in (path, Path(f"{path}-wal"), Path(f"{path}.lock")):  # as a kill leaves them
            shutil.copy(file, tmp_path / "copy")
    copy = tmp_path / "copy" / path.name
    copy.write_bytes(bytes(4096) + copy.read_bytes()[4096:])
    report = repair(copy, tmp_path / "repaired.sqlite")
    assert (report.events, report.lost, report.changed) == (len(sound[1]) + 3, [], [])


def test_events_are_found_where_no_tree_leads_to_them(sound, tmp_path):
    path, events, digest = sound
    copy = copied(path, tmp_path)
    with sqlite3.connect(copy) as connection:
        (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'log'").fetchone()
    connection.close()
    content = bytearray(copy.read_bytes())
    content[(root - 1) * _PAGE : root * _PAGE] = bytes(_PAGE)
    copy.write_bytes(content)
    assert check_damaged(copy, events, digest) == len(events)
    assert served(tmp_path / "repaired.sqlite") == digest


@pytest.mark.parametrize("share", [0.0, 0.001, 0.3, 0.8, 0.999])
def test_cut_files(sound, tmp_path, share):
    path, events, digest = sound
    copy = copied(path, tmp_path)
    content = copy.read_bytes()
    copy.write_bytes(content[: int(len(content) * share)])
    check_damaged(copy, events, digest)


@pytest.mark.parametrize("has_note", [True, False])
def test_a_small_file_whose_tail_is_cut_keeps_its_log(tmp_path, online, stream, has_note):
    """The log lies in the pages that are left; of other tables not even the first page is."""
    path = tmp_path / "feedback.sqlite"
    with Store(path, write=True) as store, Engine(store, online) as engine:
        engine.feedback(stream[0][:9], [f"f{i}" for i in range(9)], stream[1][:9])
    events, n_pages = events_of(path), path.stat().st_size // _PAGE
    os.truncate(path, 14 * _PAGE)
    if not has_note:
        Path(f"{path}.lock").unlink()
    report = repair(path, tmp_path / "repaired.sqlite")
    assert events_of(tmp_path / "repaired.sqlite") == events
    assert (report.lost, report.changed) == ([], [])
    assert f"what was behind page 14 of {n_pages}, where the file ends" in report.others
    assert not any("first page" in line or line.startswith("log") for line in report.others)


@pytest.mark.parametrize("has_note", [True, False])
def test_a_file_cut_to_half_reports_only_what_was_done(sound, tmp_path, has_note):
    copy = copied(sound[0], tmp_path)
    n_pages = copy.stat().st_size // _PAGE
    os.truncate(copy, n_pages // 2 * _PAGE)
    if not has_note:
        Path(f"{copy}.lock").unlink()
    report = repair(copy, tmp_path / "repaired.sqlite")
    saved = events_of(tmp_path / "repaired.sqlite")
    assert len(saved) == report.events > len(sound[1]) / 4
    assert f"what was behind page {n_pages // 2} of {n_pages}, where the file ends" in report.others
    assert not any("first page" in line or line == "log, all lines" for line in report.others)
    if has_note:
        assert set(saved) | {seq for seq, _ in report.lost} == set(sound[1])
    else:
        assert f"log, events after {max(saved)}" in report.others


@pytest.mark.parametrize(
    "statements",
    [
        *(f"DELETE FROM {table}" for table in ("models", "versions", "snapshots", "meta", "log")),
        *(f"DROP TABLE {table}" for table in ("models", "versions", "snapshots", "meta", "log", "requests")),
        "UPDATE log SET seq = 10000 WHERE seq = 50; UPDATE log SET seq = 50 WHERE seq = 51; "
        "UPDATE log SET seq = 51 WHERE seq = 10000",
        "UPDATE log SET seq = seq + 1000000",
        *(f"UPDATE log SET digest = {value} WHERE seq = 200" for value in ("'text'", "7", "NULL", "x'00'")),
        *(f"UPDATE log SET features = {value} WHERE seq = 399" for value in ("'{'", "x'ff'", "CAST(x'ff' AS TEXT)")),
        *(f"UPDATE log SET weight = {value} WHERE seq = 399" for value in ("'abc'", "x'00'", "9e999")),
        "UPDATE log SET id = CAST(x'ff00' AS TEXT) WHERE seq = 399",
        "UPDATE snapshots SET model = 'x'",
        "UPDATE snapshots SET progress = x'ff'",
        "UPDATE snapshots SET seq = seq + 1000",
        "UPDATE versions SET ranges = 'x'",
        "UPDATE versions SET digest = NULL",
        *(f"UPDATE models SET content = {value}" for value in ("zeroblob(10)", "'text'", "7")),
        "UPDATE models SET content = 'x' WHERE digest IN (SELECT root FROM versions)",
        *(f"INSERT OR REPLACE INTO meta VALUES ('chain begins', '{note}')"
          for note in ("x", "{}", "[]", '{"seq": 500, "digest": "00"}')),
        *(f"INSERT OR REPLACE INTO meta VALUES ('accepted', '{note}')" for note in ("x", "[[1]]")),
        *(f"INSERT INTO log (seq, id, at, kind) VALUES ({seq}, 'new', 1, 'feedback')"
          for seq in (402, 9_000_000_000_000_000_000)),
        "PRAGMA user_version = 1",
        "PRAGMA application_id = 5",
    ],
)  # fmt: skip
def test_changed_tables(sound, tmp_path, statements):
    path, events, digest = sound
    copy = copied(path, tmp_path)
    connection = sqlite3.connect(copy)
    connection.executescript(statements)
    connection.close()
    check_damaged(copy, events, digest)


@pytest.mark.parametrize("note", [b"", b"junk", b"\xff" * 200, b"a" * 32 + b" 999999999999999999", None])
def test_a_damaged_lock_file(sound, tmp_path, note):
    path, events, digest = sound
    copy = copied(path, tmp_path)
    lock = Path(f"{copy}.lock")
    lock.unlink() if note is None else lock.write_bytes(note)
    assert check_damaged(copy, events, digest) == len(events)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE log SET features = substr(features, 2) WHERE seq = 60",
        "UPDATE log SET label = NULL WHERE seq = 60",
        "UPDATE log SET weight = 'x' WHERE seq = 60",
        "UPDATE log SET at = 'x' WHERE seq = 60",
        "UPDATE snapshots SET progress = substr(progress, 2)",
        "UPDATE versions SET ranges = substr(ranges, 2)",
    ],
)
def test_what_cannot_be_learnt_is_left_out_where_there_are_no_digests(sound, tmp_path, statement):
    copy = of_format_1(copied(sound[0], tmp_path))
    with sqlite3.connect(copy) as connection:
        connection.execute(statement)
    connection.close()
    report = repair(copy, tmp_path / "repaired.sqlite")
    assert not report.is_whole
    assert [seq for seq, _ in report.changed] == [60] * ("log" in statement)
    assert failed(tmp_path / "repaired.sqlite") == []


def of_format_1(path):
    connection = sqlite3.connect(path)
    connection.executescript(FORMAT_1)
    connection.close()
    note = Path(f"{path}.lock")
    note.write_text(" ".join(note.read_text().split()[:2]))
    return path


def test_a_lost_first_model_is_replaced_by_the_newest_snapshot(sound, tmp_path, stream):
    path, events, digest = sound
    copy = copied(path, tmp_path)
    with sqlite3.connect(copy) as connection:
        connection.execute("DELETE FROM models WHERE digest IN (SELECT root FROM versions)")
    connection.close()
    report = repair(copy, tmp_path / "repaired.sqlite")
    assert (report.events, report.version, report.lost) == (len(events), 2, [])
    assert served(tmp_path / "repaired.sqlite") == digest


def test_what_follows_a_lost_event_is_named_as_unproven(sound, tmp_path):
    copy = copied(sound[0], tmp_path)
    with sqlite3.connect(copy) as connection:  # the digest of 71 covers that of 70, which is gone
        connection.execute("DELETE FROM log WHERE seq = 70")
        connection.execute("UPDATE log SET label = '5' WHERE seq = 71")
    connection.close()
    report = repair(copy, tmp_path / "repaired.sqlite")
    assert [seq for seq, _ in report.lost] == [70]
    assert report.unproven == [(71, "f70")]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_kill_while_a_store_is_brought_to_a_new_format_changes_nothing(sound, tmp_path, monkeypatch):
    path, events, digest = sound
    copy = of_format_1(copied(path, tmp_path))
    link = schema.Walk.meets
    killed = []
    for left in (0, 1, 3):
        child = os.fork()
        if child == 0:
            moments = iter(range(left))

            def meets(*event, moments=moments):
                return os.kill(os.getpid(), 9) if next(moments, None) is None else link(*event)

            monkeypatch.setattr(schema.Walk, "meets", meets)
            Store(copy, write=True)
            os._exit(0)
        killed.append(os.waitpid(child, 0)[1])
        with Store(copy) as store:
            assert store.format == 1
    assert killed == [9, 9, 9]
    Store(copy, write=True).close()
    assert failed(copy) == []
    assert {seq: event[:9] for seq, event in events_of(copy).items()} == {seq: e[:9] for seq, e in events.items()}
    assert served(copy) == digest
