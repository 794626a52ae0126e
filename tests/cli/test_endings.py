"""How commands end that cannot go on: signals, full disks, a full standard output, names that are not UTF-8."""

import errno
import json
import os
import resource
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

import rankwise as rw
from tests.cli.commands import LINK, facts, fail, make_frame, succeed, write

COLUMNS = ["a", "c", "grade"]
LABEL = ["--label", "grade"]


@pytest.fixture
def data(tmp_path):
    return write(make_frame(200)[COLUMNS], tmp_path / "rows.csv")


@pytest.fixture
def model(data, tmp_path):
    path = tmp_path / "model.rankwise"
    succeed("fit", data, *LABEL, *LINK, "--output", path)
    return path


def start(*arguments, **options):
    command = [sys.executable, "-m", "rankwise", *map(str, arguments)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **options)


class TestSignals:
    """A command that is told to end while it writes."""

    @pytest.fixture
    def writing(self, tmp_path):
        header, body = make_frame(200)[COLUMNS].to_csv(index=False).split("\n", 1)
        processes = []

        def begin(copies, **options):
            (tmp_path / "rows.csv").write_text(f"{header}\n{body * copies}")
            process = start("convert", tmp_path / "rows.csv", "--output", tmp_path / "new.jsonl", **options)
            processes.append(process)
            while not list(tmp_path.glob(".new*.tmp")):
                assert process.poll() is None, process.communicate()
                time.sleep(0.005)
            return process

        yield begin
        for process in processes:
            process.kill()
            process.communicate()

    @pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGHUP, marks=pytest.mark.slow)])
    def test_leave_nothing_behind(self, writing, tmp_path, number):
        process = writing(10_000)  # more than is written before the signal comes
        process.send_signal(number)
        assert process.communicate(timeout=60)[1] == ""
        assert process.returncode == 128 + number
        assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]

    def test_of_a_lost_terminal_are_not_for_nohup(self, writing, tmp_path):
        ignore = {"preexec_fn": lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN), "stdout": subprocess.DEVNULL}
        process = writing(1_500, **ignore)
        process.send_signal(signal.SIGHUP)
        assert process.wait(timeout=60) == 0
        assert (tmp_path / "new.jsonl").exists()


@contextmanager
def files_of_at_most(n_bytes):
    """Writing more fails, and as on a full disk the error of the system names no file."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


class TestFullDisk:
    def test_names_the_model(self, model, tmp_path):
        loaded = rw.load(model)
        with files_of_at_most(100), pytest.raises(OSError, match=os.strerror(errno.EFBIG)) as caught:
            rw.save(loaded, tmp_path / "new")
        assert caught.value.filename == str(tmp_path / "new")
        assert caught.value.errno == errno.EFBIG
        assert not list(tmp_path.glob("*new*"))

    @pytest.mark.parametrize(
        ("words", "reason"),
        [
            (["fit", "DATA", *LABEL, *LINK, "--output"], ": File too large."),
            (["report", "MODEL", "DATA", *LABEL, "--output"], ": File too large."),
            (["predict", "MODEL", "DATA", "--output"], "too large."),
            (
                [
                    "fit",
                    "BAD",
                    *LABEL,
                    *LINK,
                    "--classes",
                    "1..4",
                    "--output",
                    "NEW",
                    "--on-error",
                    "skip",
                    "--quarantine",
                ],
                ": File too large.",
            ),
        ],
    )
    def test_names_what_a_command_writes(self, data, model, tmp_path, words, reason):
        bad = data.with_name("bad.csv")
        bad.write_text(data.read_text() + "1,1,often\n" * 20)
        files = {"DATA": data, "MODEL": model, "BAD": bad, "NEW": tmp_path / "new"}
        command = [files.get(word, word) for word in words]
        succeed(*command, tmp_path / "warm.csv")  # compiled now: the cache is a file too
        before = {path.name for path in tmp_path.iterdir()}
        with files_of_at_most(100):
            said = fail(1, *command, tmp_path / "big.csv")
        assert str(tmp_path / "big.csv") in said
        assert said.endswith(reason)
        assert {path.name for path in tmp_path.iterdir()} - {"big.csv"} == before


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
@pytest.mark.parametrize(
    "words",
    [
        pytest.param("info MODEL", marks=pytest.mark.slow),
        "predict MODEL DATA",
        pytest.param("predict MODEL DATA --json", marks=pytest.mark.slow),
        "fit --help",
    ],
)
def test_a_full_standard_output_is_said_in_one_line(data, model, words):
    files = {"DATA": data, "MODEL": model}
    with open("/dev/full", "w") as full:
        process = start(*(files.get(word, word) for word in words.split()), stdout=full)
        err = process.communicate(timeout=60)[1]
    assert err == "rankwise: error: the standard output: No space left on device.\n"
    assert process.returncode == 1


def odd(name):
    """Name of a file whose bytes are those of Latin-1."""
    return os.fsdecode(name.encode("latin-1"))


class TestNamesThatAreNotUTF8:
    @pytest.fixture
    def folder(self, tmp_path):
        folder = tmp_path / odd("d\xffr")
        try:
            folder.mkdir()
        except OSError:
            pytest.skip("the file system takes UTF-8 names only")
        return folder

    @pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
    def test_are_as_good_as_any(self, folder, suffix):
        data = write(make_frame(200)[COLUMNS], folder / odd("r\xff.csv"))
        rows = folder / odd(f"n\xff.{suffix}")
        model = folder / odd("m\xff")
        assert facts("convert", data, "--output", rows)["output"] == str(rows)
        assert facts("fit", rows, *LABEL, *LINK, "--output", model)["model"] == str(model)
        assert facts("info", model)["notes"]["files"] == [str(rows)]
        assert r"n\udcff" in succeed("info", model)
        succeed("fit", rows, *LABEL, "--checkpoint", folder / odd("c\xff"), "--output", model)
        succeed(
            "predict",
            model,
            rows,
            "--output",
            folder / odd(f"p\xff.{suffix}"),
        )
        succeed("evaluate", model, rows, *LABEL)
        succeed("report", model, rows, *LABEL, "--output", folder / "page.html")
        assert r"n\udcff" in (folder / "page.html").read_text("utf-8")

    def test_stand_in_a_quarantine(self, folder, tmp_path):
        rows = folder / "rows.csv"
        rows.write_text(make_frame(200)[COLUMNS].to_csv(index=False) + "1,1,often\n")
        skip = ["--on-error", "skip", "--quarantine", tmp_path / "bad.jsonl"]
        succeed("fit", rows, *LABEL, *LINK, "--classes", "1..4", *skip, "--output", tmp_path / "model")
        assert json.loads((tmp_path / "bad.jsonl").read_bytes())["file"] == str(rows)

    def test_stand_in_an_error(self, folder):
        said = fail(1, "fit", folder / "none.csv", *LABEL, "--output", folder / "model")
        assert r"d\udcffr" in said
