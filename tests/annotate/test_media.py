import pytest

pytest.importorskip("starlette")

from rankwise.annotate.media import MediaFolder
from rankwise.serve.problems import Problem


@pytest.fixture
def folder(tmp_path):
    inside = tmp_path / "media"
    (inside / "deep").mkdir(parents=True)
    (inside / "a.png").write_bytes(b"picture")
    (inside / "deep" / "B.MP3").write_bytes(b"sound")
    (inside / "secret.txt").write_bytes(b"text")
    (tmp_path / "outside.png").write_bytes(b"outside")
    (inside / "link.png").symlink_to(tmp_path / "outside.png")
    (inside / "inner.png").symlink_to(inside / "a.png")
    (inside / "way").symlink_to(tmp_path)
    (inside / "loop.png").symlink_to(inside / "loop.png")
    (inside / "folder.png").mkdir()
    return MediaFolder(inside)


def test_files_of_the_folder_are_read(folder):
    assert folder.read("a.png") == (b"picture", "image/png")
    assert folder.read("deep/B.MP3") == (b"sound", "audio/mpeg")
    assert folder.read("./deep\\B.MP3") == (b"sound", "audio/mpeg")


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("../outside.png", 403), ("deep/../../outside.png", 403), ("deep/../a.png", 403), ("..\\outside.png", 403),
        ("link.png", 403), ("inner.png", 403), ("way/outside.png", 403), ("loop.png", 404), ("", 403), (".", 403),
        ("C:\\windows\\a.png", 403), ("\\\\host\\share\\a.png", 403), ("a\0.png", 403), ("//etc/passwd", 403),
        ("none.png", 404), ("folder.png", 404), ("x" * 300 + ".png", 404), ("secret.txt", 415),
    ],
)  # fmt: skip
def test_nothing_else_is(folder, name, status):
    with pytest.raises(Problem) as caught:
        folder.read(name)
    assert caught.value.status == status
    assert "outside" not in caught.value.detail


def test_absolute_names_are_refused(folder):
    with pytest.raises(Problem, match="leads out"):
        folder.read(str(folder.path / "a.png"))


def test_large_files_are_refused(folder, monkeypatch):
    monkeypatch.setattr("rankwise.annotate.media._LARGEST", 3)
    with pytest.raises(Problem, match="larger than 3"):
        folder.read("a.png")


def test_the_folder_must_be_there(tmp_path):
    with pytest.raises(NotADirectoryError, match="--media"):
        MediaFolder(tmp_path / "none")
