"""Files larger than memory: checkpoints, kills, interrupts, and rows that are bad."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

import rankwise as rw
from rankwise import persistence
from rankwise.cli import _learner
from tests.cli.commands import facts, fail, make_frame, run, succeed, write

FEATURES = ["a", "b", "c", "colour", "fresh"]
LABELS = ["--lower", "lower", "--upper", "upper"]


@pytest.fixture
def data(tmp_path):
    return write(make_frame(1000)[[*FEATURES, "lower", "upper"]], tmp_path / "rows.csv")


class Crash(BaseException):
    """What a kill looks like from inside."""


def crash_after(monkeypatch, n_saves):
    """Let the run die behind the n-th checkpoint."""
    whole, count = _learner.Checkpoint.save, []

    def save(self, model, state):
        whole(self, model, state)
        count.append(1)
        if len(count) == n_saves:
            raise Crash

    monkeypatch.setattr(_learner.Checkpoint, "save", save)


def small_batches(monkeypatch, n):
    whole = rw.io.open_table
    monkeypatch.setattr(rw.io, "open_table", lambda *a, **k: whole(*a, **k, batch_rows=n))


class TestCheckpoints:
    @pytest.mark.parametrize("estimator", ["PRIL", "CuSumRank", "KernelPRIL"])
    @pytest.mark.parametrize("suffix", [".csv", ".parquet"])
    def test_a_run_that_crashed_ends_in_the_same_file(self, tmp_path, monkeypatch, estimator, suffix):
        data = write(make_frame(600)[[*FEATURES, "lower", "upper"]], tmp_path / f"rows{suffix}")
        small_batches(monkeypatch, 100)
        command = ["fit", data, *LABELS, "--estimator", estimator, "--epochs", 2, "--output"]
        checked = [*command, tmp_path / "stopped", "--checkpoint", tmp_path / "c", "--checkpoint-rows", 150]
        succeed(*command, tmp_path / "straight")
        for n in (1, 2, 2):
            with monkeypatch.context() as context:
                crash_after(context, n)
                with pytest.raises(Crash):
                    run(*checked)
            assert (tmp_path / "c").exists()
            assert not (tmp_path / "stopped").exists()
        result = run(*checked)
        assert result.exit_code == 0
        assert "resuming from" in result.stderr
        assert (tmp_path / "stopped").read_bytes() == (tmp_path / "straight").read_bytes()
        assert not (tmp_path / "c").exists()

    def test_the_running_loss_goes_on_too(self, data, tmp_path, monkeypatch):
        small_batches(monkeypatch, 100)
        command = ["fit", data, *LABELS, "--estimator", "PRIL", "--output", tmp_path / "m"]
        straight = facts(*command)
        checked = [*command, "--checkpoint", tmp_path / "c", "--checkpoint-rows", 300]
        with monkeypatch.context() as context:
            crash_after(context, 2)
            with pytest.raises(Crash):
                run(*checked)
        assert facts(*checked) == straight

    def test_another_run_is_refused(self, data, tmp_path, monkeypatch):
        small_batches(monkeypatch, 100)
        checkpoint = ["--checkpoint", tmp_path / "c", "--checkpoint-rows", 300]
        with monkeypatch.context() as context:
            crash_after(context, 1)
            with pytest.raises(Crash):
                run("fit", data, *LABELS, *checkpoint, "--output", tmp_path / "m")
        said = fail(2, "fit", data, *LABELS, *checkpoint, "--set", "step=pa1", "--output", tmp_path / "m")
        assert "belongs to another run: parameters was" in said
        data.write_text(data.read_text() + "1,1,1,red,true,1,2\n")
        said = fail(2, "fit", data, *LABELS, *checkpoint, "--output", tmp_path / "m")
        assert "belongs to another run: files was" in said
        rows = data.read_text().removesuffix("1,1,1,red,true,1,2\n").splitlines(keepends=True)
        data.write_text("".join([rows[0], *(f"{row[:-4]}2,2\n" for row in rows[1:])]))  # other labels, the same size
        said = fail(2, "fit", data, *LABELS, *checkpoint, "--output", tmp_path / "m")
        assert f"belongs to another run: files was '{data} with sha256 " in said
        assert facts("info", tmp_path / "c")["notes"]["state"]["learnt"] == 300
        assert "has learnt 300 rows" in succeed("info", tmp_path / "c")

    def test_a_model_is_no_checkpoint(self, data, tmp_path):
        succeed("fit", data, *LABELS, "--estimator", "PRIL", "--output", tmp_path / "m")
        said = fail(2, "fit", data, *LABELS, "--checkpoint", tmp_path / "m", "--output", tmp_path / "n")
        assert "is a model, but no checkpoint" in said

    @pytest.mark.parametrize(
        ("options", "name"), [(("--checkpoint", "c"), "--checkpoint"), (("--workers", "2"), "a cluster")]
    )
    def test_the_standard_input_cannot_be_read_again(self, options, name, tmp_path):
        said = fail(2, "fit", "-", *LABELS, *options, "--output", tmp_path / "n")
        assert f"{name} needs files that can be read again, and the standard input cannot." in said

    def test_a_damaged_checkpoint_is_named(self, data, tmp_path):
        (tmp_path / "c").write_bytes(b"rubbish")
        said = fail(1, "fit", data, *LABELS, "--checkpoint", tmp_path / "c", "--output", tmp_path / "n")
        assert f"{tmp_path / 'c'} is no model file" in said

    def test_scales_come_from_the_first_rows_however_they_are_cut(self, data, tmp_path, monkeypatch):
        monkeypatch.setattr(_learner, "HEAD_ROWS", 250)
        frame = make_frame(1000)
        expected = rw.TableEncoder().fit(frame[FEATURES][:250]).to_plain()
        for n in (70, 1000):
            with monkeypatch.context() as context:
                small_batches(context, n)
                succeed("fit", data, *LABELS, "--estimator", "PRIL", "--output", tmp_path / "m")
            assert rw.load(tmp_path / "m").encoder_.to_plain() == expected


def start(*arguments):
    command = [sys.executable, "-m", "rankwise", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(path, process):
    for _ in range(3000):
        if path.exists():
            return
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    raise AssertionError(f"{path} was not written")


@pytest.fixture
def long_run(tmp_path):
    """Command that works for a while, and the same without the checkpoint."""
    data = write(make_frame(5000)[[*FEATURES, "lower", "upper"]], tmp_path / "rows.parquet")
    command = ["fit", data, *LABELS, "--classes", "1..4", "--estimator", "PRIL", "--epochs", 150]
    return [*command, "--checkpoint", tmp_path / "c", "--checkpoint-rows", 20_000], command


class TestSignals:
    @pytest.fixture(autouse=True)
    def _heard(self):
        """A background job may have been started deaf to Ctrl-C."""
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        yield
        signal.signal(signal.SIGINT, before)

    def test_kill_9(self, long_run, tmp_path):
        checked, plain = long_run
        process = start(*checked, "--output", tmp_path / "killed")
        wait_for(tmp_path / "c", process)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        assert not (tmp_path / "killed").exists()
        process.communicate()
        learnt = persistence.read_notes(tmp_path / "c")["state"]["learnt"]
        assert 0 < learnt < 750_000
        result = run(*checked, "--output", tmp_path / "killed")
        assert result.exit_code == 0, result.output
        assert f"{learnt:,} rows learnt" in result.stderr
        succeed(*plain, "--output", tmp_path / "straight")
        assert (tmp_path / "killed").read_bytes() == (tmp_path / "straight").read_bytes()

    @pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
    def test_control_c_saves_and_says_how_to_go_on(self, long_run, tmp_path, number):
        checked, plain = long_run
        process = start(*checked, "--output", tmp_path / "stopped")
        wait_for(tmp_path / "c", process)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 128 + number
        assert out == ""
        assert err.count("\n") == 1
        assert f"rows; the same command goes on from {tmp_path / 'c'}." in err
        succeed(*checked, "--output", tmp_path / "stopped")
        succeed(*plain, "--output", tmp_path / "straight")
        assert (tmp_path / "stopped").read_bytes() == (tmp_path / "straight").read_bytes()

    def test_control_c_without_a_checkpoint(self, data, tmp_path, monkeypatch):
        small_batches(monkeypatch, 100)
        learn, count = _learner.Learner._learn, []

        def interrupted(self, batch, rows):
            learn(self, batch, rows)
            count.append(1)
            if len(count) == 3:
                os.kill(os.getpid(), signal.SIGINT)

        monkeypatch.setattr(_learner.Learner, "_learn", interrupted)
        result = run("fit", data, *LABELS, "--estimator", "PRIL", "--output", tmp_path / "m")
        assert result.exit_code == 130
        assert result.stderr == (
            "rankwise: note: stopped after 300 rows; nothing was kept; --checkpoint FILE makes a run that can go on.\n"
        )
        assert not (tmp_path / "m").exists()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


class TestBadRows:
    @pytest.fixture
    def bad(self, tmp_path):
        frame = make_frame(50)[[*FEATURES, "lower", "upper"]].astype(object)
        frame.loc[10, "lower"] = 4
        frame.loc[10, "upper"] = 1
        frame.loc[20, "upper"] = 9
        frame.loc[30, "a"] = float("inf")
        path = write(frame, tmp_path / "bad.csv")
        lines = path.read_text().splitlines()
        lines[41] += ",one,too,many"
        path.write_text("\n".join(lines) + "\n")
        return path

    @pytest.mark.parametrize("estimator", ["PRIL", "SVOR"])
    def test_the_first_one_stops_the_run(self, bad, tmp_path, estimator):
        options = [*LABELS, "--classes", "1..4", "--estimator", estimator, "--output", tmp_path / "m"]
        said = fail(1, "fit", bad, *options)
        assert "bad.csv, row " in said
        assert not (tmp_path / "m").exists()

    @pytest.mark.parametrize("estimator", ["PRIL", "SVOR"])
    def test_they_are_skipped_counted_and_put_aside(self, bad, tmp_path, estimator):
        options = [*LABELS, "--classes", "1..4", "--estimator", estimator, "--output", tmp_path / "m"]
        skip = ["--on-error", "skip", "--quarantine", tmp_path / "q.jsonl"]
        learnt = facts("fit", bad, *options, *skip)
        assert (learnt["rows"], learnt["skipped"]) == (46, 4)
        entries = sorted(map(json.loads, (tmp_path / "q.jsonl").read_text().splitlines()), key=lambda e: e["row"])
        assert [entry["row"] for entry in entries] == [11, 21, 31, 41]
        assert all(entry["file"] == str(bad) and entry["reason"] and entry["text"] for entry in entries)
        frame = make_frame(50)
        good = np.isin(np.arange(50), [10, 20, 30, 40], invert=True)
        if estimator == "SVOR":
            model = rw.TableModel(rw.SVOR(classes=[1, 2, 3, 4]))
            model.fit(frame[FEATURES][good], frame[["lower", "upper"]][good])
            np.testing.assert_array_equal(rw.load(tmp_path / "m").estimator_.coef_, model.estimator_.coef_)
        judged = facts("evaluate", tmp_path / "m", bad, *LABELS, *skip)
        assert (judged["rows"], judged["skipped"]) == (46, 4)

    def test_several_epochs_count_them_once(self, bad, tmp_path):
        options = [*LABELS, "--classes", "1..4", "--epochs", 3, "--output", tmp_path / "m"]
        learnt = facts("fit", bad, *options, "--on-error", "skip", "--quarantine", tmp_path / "q.jsonl")
        assert (learnt["rows"], learnt["skipped"]) == (138, 4)
        assert len((tmp_path / "q.jsonl").read_text().splitlines()) == 4

    def test_a_crash_does_not_put_them_aside_twice(self, bad, tmp_path, monkeypatch):
        small_batches(monkeypatch, 10)
        options = [*LABELS, "--classes", "1..4", "--on-error", "skip", "--output", tmp_path / "m"]
        checkpoint = ["--checkpoint", tmp_path / "c", "--checkpoint-rows", 15]
        with monkeypatch.context() as context:
            crash_after(context, 1)
            with pytest.raises(Crash):
                run("fit", bad, *options, *checkpoint, "--quarantine", tmp_path / "q.jsonl")
        with open(tmp_path / "q.jsonl", "a") as stream:
            stream.write("left by the run that crashed\n")
        learnt = facts("fit", bad, *options, *checkpoint, "--quarantine", tmp_path / "q.jsonl")
        assert (learnt["rows"], learnt["skipped"]) == (46, 4)
        assert len((tmp_path / "q.jsonl").read_text().splitlines()) == 4

    def test_rows_read_ahead_in_several_files_are_put_aside_once(self, tmp_path, monkeypatch):
        """The first rows, from which scales are learnt, are read before any is learnt, over all of these files."""
        frame = make_frame(50)[[*FEATURES, "lower", "upper"]]
        (tmp_path / "parts").mkdir()
        for i, bad in enumerate([8, 8, 10, None, 3]):
            path = write(frame[10 * i : 10 * i + 10], tmp_path / "parts" / f"{i}.csv")
            lines = path.read_text().splitlines()
            if bad is not None:
                lines[bad] += ",one,too,many"
            path.write_text("\n".join(lines) + "\n")
        options = [*LABELS, "--classes", "1..4", "--on-error", "skip", "--output", tmp_path / "m"]
        checkpoint = ["--checkpoint", tmp_path / "c", "--checkpoint-rows", 15]
        command = ["fit", tmp_path / "parts", *options, *checkpoint, "--quarantine", tmp_path / "q.jsonl"]
        with monkeypatch.context() as context:
            crash_after(context, 1)
            with pytest.raises(Crash):
                run(*command)
        assert persistence.read_notes(tmp_path / "c")["state"]["skipped"]["count"] == 4
        learnt = facts(*command)
        assert (learnt["rows"], learnt["skipped"]) == (46, 4)
        entries = [json.loads(line) for line in (tmp_path / "q.jsonl").read_text().splitlines()]
        assert [(entry["file"][-5:], entry["row"]) for entry in entries] == [
            ("0.csv", 8), ("1.csv", 8), ("2.csv", 10), ("4.csv", 3),
        ]  # fmt: skip

    def test_classes_are_found_among_the_good_ones(self, tmp_path):
        frame = pd.DataFrame({"a": [0.0, 1, 2, 3], "y": ["1", "3-1", "2", "2"]})
        learnt = facts(
            "fit", write(frame, tmp_path / "t.csv"), "--label", "y", "--on-error", "skip", "-o", tmp_path / "m"
        )
        assert learnt["classes"] == [1, 2]
        assert learnt["skipped"] == 1

    def test_compare_counts_them_once(self, bad):
        options = [*LABELS, "--classes", "1..4", "--on-error", "skip", "--estimator", "PRIL", "--estimator", "PRank"]
        found = facts("compare", bad, "--label", "lower", *options[4:], "--method", "progressive", "--ignore", "upper")
        assert [r["rows"] for r in found["results"]] == [48, 48]
        assert found["skipped"] == 2
