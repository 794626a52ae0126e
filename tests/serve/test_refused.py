"""A refused command leaves no file behind: no lock, and no store without a model."""

import pytest

pytest.importorskip("msgspec")
pytest.importorskip("starlette")

from rankwise.serve._lock import FileLock
from tests.cli.commands import LINK, make_frame, run, succeed


@pytest.fixture
def folder(tmp_path):
    make_frame(60).to_csv(tmp_path / "t.csv", index=False)
    succeed("fit", tmp_path / "t.csv", "--label", "grade", *LINK, "-o", tmp_path / "m.rankwise")
    (tmp_path / "other.sqlite").write_text("no store")
    (tmp_path / "bad.rankwise").write_text("no model")
    return tmp_path


@pytest.mark.parametrize(
    "command",
    ["serve m.rankwise --store other.sqlite", "serve bad.rankwise --store new.sqlite",
     "store import t.csv m.rankwise --store other.sqlite", "store import t.csv bad.rankwise --store new.sqlite",
     "label-studio m.rankwise --store other.sqlite", "label-studio bad.rankwise --store new.sqlite"],
)  # fmt: skip
def test_nothing_is_left_behind(folder, monkeypatch, command):
    monkeypatch.chdir(folder)
    table = make_frame(60).rename(columns={"grade": "label"})
    table.to_csv("t.csv", index=False)
    before = sorted(path.name for path in folder.iterdir())
    result = run(*command.split())
    assert result.exit_code == 1, result.output
    assert "bad.rankwise" in result.stderr or "other.sqlite" in result.stderr
    assert sorted(path.name for path in folder.iterdir()) == before


def test_a_lock_on_a_removed_file_is_none(tmp_path, monkeypatch):
    """Between opening and locking, the holder may have removed the file."""
    import fcntl

    lock = fcntl.flock
    monkeypatch.setattr(fcntl, "flock", lambda *given: (lock(*given), (tmp_path / "a.lock").unlink()))
    with pytest.raises(BlockingIOError):
        FileLock(tmp_path / "a.lock")
