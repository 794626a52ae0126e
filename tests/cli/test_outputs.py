"""Nothing that is there gets lost: outputs that are inputs, links, files of another kind, kills, full disks."""

import os
import shutil

import pytest

import rankwise as rw
from tests.cli.commands import LINK, fail, make_frame, succeed, write

LABEL = ["--label", "grade"]


@pytest.fixture
def data(tmp_path):
    return write(make_frame(200)[["a", "c", "grade"]], tmp_path / "rows.csv")


@pytest.fixture
def model(data, tmp_path):
    path = tmp_path / "model.rankwise"
    succeed("fit", data, *LABEL, *LINK, "--output", path)
    return path


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def refused(folder, *arguments):
    """Message of a command that is refused before it touches any file."""
    before = contents(folder)
    said = fail(2, *arguments)
    assert contents(folder) == before
    return said


SKIP = "--label grade --on-error skip --quarantine"
#: Every command that writes; the option that writes comes last.
COMMANDS = {
    "fit": "fit DATA --label grade --estimator CumulativeLink --output",
    "fit checkpoint": "fit DATA --label grade --output NEW --checkpoint",
    "fit quarantine": f"fit DATA --estimator CumulativeLink --output NEW {SKIP}",
    "predict": "predict MODEL DATA --output",
    "predict quarantine": "predict MODEL DATA --on-error skip --quarantine",
    "evaluate quarantine": f"evaluate MODEL DATA {SKIP}",
    "compare quarantine": f"compare DATA --estimator PRIL {SKIP}",
    "report": "report MODEL DATA --label grade --output",
    "convert": "convert DATA --output",
}


@pytest.fixture
def command(request, data, tmp_path):
    """Words of the command that a test is about, up to the option that writes."""
    text = COMMANDS[request.param]
    files = {"DATA": data, "NEW": tmp_path / "new"}
    if "MODEL" in text:
        files["MODEL"] = request.getfixturevalue("model")
    return [files.get(word, word) for word in text.split()]


def each(*without):
    return pytest.mark.parametrize("command", [name for name in COMMANDS if name not in without], indirect=True)


class TestOneFileForTwoThings:
    @pytest.mark.parametrize("way", ["plain", "relative", "symbolic link", "hard link"])
    @each()
    def test_an_input_is_no_output(self, command, data, tmp_path, monkeypatch, way):
        monkeypatch.chdir(tmp_path)
        other = tmp_path / "other.csv"
        if way == "relative":
            other = os.path.join("..", tmp_path.name, data.name)
        elif way == "symbolic link":
            other.symlink_to(data)
        elif way == "hard link":
            os.link(data, other)
        else:
            other = data
        said = refused(tmp_path, *command, other, "--overwrite")
        assert f"{other} is also an input, and would overwrite it" in said

    @each(*(name for name, text in COMMANDS.items() if "MODEL" not in text))
    def test_nor_is_the_model(self, command, model, tmp_path):
        said = refused(tmp_path, *command, model, "--overwrite")
        assert f"{model} is also the model" in said

    @pytest.mark.parametrize("name", ["new", "NEW", "../{}/new"])
    @pytest.mark.parametrize("option", ["--checkpoint", "--quarantine"])
    def test_two_outputs_are_two_files(self, data, tmp_path, monkeypatch, option, name):
        monkeypatch.chdir(tmp_path)
        skip = ["--on-error", "skip"] if option == "--quarantine" else []
        said = refused(tmp_path, "fit", data, *LABEL, "--output", "new", *skip, option, name.format(tmp_path.name))
        assert "is also --output" in said

    def test_files_of_a_directory_are_inputs(self, data, tmp_path):
        folder = tmp_path / "folder"
        folder.mkdir()
        shutil.copy(data, folder / "rows.csv")
        said = fail(2, "convert", folder, "--output", folder / "rows.csv")
        assert "is also an input" in said
        succeed("fit", folder, *LABEL, *LINK, "--output", folder / "model.rankwise")
        succeed("fit", folder, *LABEL, *LINK, "--output", folder / "model.rankwise")  # a model is not read as rows


class TestAnotherKind:
    @each("fit checkpoint")
    def test_needs_a_word(self, command, tmp_path):
        there = tmp_path / "thesis.csv"
        there.write_bytes(b"%PDF-1.7\0 three years of work")
        said = refused(tmp_path, *command, there)
        assert f"{there} is there and is not a " in said
        assert said.endswith(": --overwrite replaces it.")
        succeed(*command, there, "--overwrite")

    @each()
    def test_the_same_kind_does_not(self, command, tmp_path):
        for _ in range(2):
            succeed(*command, tmp_path / "again.csv")

    @pytest.mark.parametrize("format", ["csv", "parquet", "arrow", "jsonl"])
    def test_a_format_that_the_name_does_not_say(self, data, tmp_path, format):
        for _ in range(2):
            succeed("convert", data, "--output", tmp_path / "again", "--output-format", format)

    def test_an_empty_file_holds_nothing(self, data, tmp_path):
        (tmp_path / "model").touch()
        succeed("fit", data, *LABEL, *LINK, "--output", tmp_path / "model")

    def test_a_checkpoint_is_no_model(self, data, model, tmp_path):
        rw.save(rw.load(model), tmp_path / "checkpoint", notes={"run": {}, "state": {}})
        said = refused(tmp_path, "fit", data, *LABEL, "--output", tmp_path / "checkpoint")
        assert "is not a model" in said


class TestLinks:
    def test_are_written_through(self, data, tmp_path):
        folder = tmp_path / "elsewhere"
        folder.mkdir()
        for name in ("model", "rows.csv"):
            (tmp_path / f"link-{name}").symlink_to(folder / name)
        for _ in range(2):
            succeed("fit", data, *LABEL, *LINK, "--output", tmp_path / "link-model")
            succeed("convert", data, "--output", tmp_path / "link-rows.csv")
        assert (tmp_path / "link-model").is_symlink()
        assert rw.load(folder / "model").classes_.tolist() == [1, 2, 3, 4]
        assert (tmp_path / "link-rows.csv").is_symlink()
        assert len((folder / "rows.csv").read_text().splitlines()) == 201
        assert {path.name for path in folder.iterdir()} == {"model", "rows.csv"}

    def test_that_lead_to_themselves_are_refused(self, data, tmp_path):
        (tmp_path / "loop").symlink_to(tmp_path / "loop")
        said = fail(2, "fit", data, *LABEL, "--output", tmp_path / "loop")
        assert "it is a link to itself" in said

    def test_what_is_no_file_is_refused(self, data, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        assert "it is no regular file" in fail(2, "fit", data, *LABEL, "--output", tmp_path / "pipe")
        with pytest.raises(OSError, match="it is no regular file"):
            rw.save(rw.PRank(random_state=0).fit([[0.0], [1.0]], [1, 2]), tmp_path / "pipe")


def test_a_dash_is_the_standard_output(data, model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = contents(tmp_path)
    assert succeed("predict", model, data, "--output", "-") == succeed("predict", model, data)
    assert contents(tmp_path) == before
