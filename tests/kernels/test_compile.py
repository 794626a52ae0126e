"""The cache of compiled kernels: which file belongs to what, and what makes a kernel compile again."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import rankwise
from rankwise._kernels.compile import digest_of_sources, kernel


def _make_plus(added):
    @kernel
    def plus(x):
        return x + added

    return plus


def test_variants_of_a_kernel_have_files_of_their_own():
    one, two = _make_plus(1), _make_plus(2)
    assert (one(1), two(1), one(1.5)) == (2, 3, 2.5)
    names = [set(variant._cache._cache_file._load_index().values()) for variant in (one, two)]
    assert names[0] == names[1]  # one index for both
    assert len(names[0]) == 3


def test_processes_that_write_at_the_same_time_write_different_files(monkeypatch):
    one, two = (_make_plus(added)._cache._cache_file for added in (3, 4))
    written = []
    for file in (one, two):  # both have read the index before either has written it
        monkeypatch.setattr(file, "_load_index", dict)
        monkeypatch.setattr(file, "_save_index", lambda overloads: None)
        monkeypatch.setattr(file, "_save_data", lambda name, data: written.append(name))
    one.save("one", None)
    two.save("two", None)
    one.save("one", None)
    assert written[0] == written[2] != written[1]


def test_another_state_of_the_sources_writes_other_files(monkeypatch):
    file, written = _make_plus(5)._cache._cache_file, []
    monkeypatch.setattr(file, "_save_data", lambda name, data: written.append(name))
    monkeypatch.setattr(file, "_save_index", lambda overloads: None)
    file.save("key", None)
    monkeypatch.setattr(file, "_source_stamp", "edited")
    file.save("key", None)
    assert written[0] != written[1]


def test_the_cache_of_a_kernel_is_stamped_with_the_digest_of_what_it_imports():
    # numba's own stamp is the time and size of the file that holds the kernel: if this fails, numba has moved it.
    plus = _make_plus(6)
    assert plus._cache._cache_file._source_stamp == digest_of_sources(plus)


STAMP = """
from rankwise.label_ranking.entropic_joint import learn_joint
print(learn_joint._cache._cache_file._source_stamp)
"""


@pytest.mark.parametrize(
    ("edited", "again"),
    [
        ("label_ranking/entropic_joint.py", True),  # what a factory in another file closes over
        ("_kernels/lanes.py", True),  # what a function calls that the kernel calls
        ("cli/_app.py", False),
    ],
)
def test_an_edit_in_a_source_file_that_a_kernel_uses_compiles_it_again(tmp_path, edited, again):
    package = tmp_path / "rankwise"
    shutil.copytree(Path(rankwise.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def stamp():
        result = subprocess.run(
            [sys.executable, "-c", STAMP], capture_output=True, text=True, env=environment, check=False
        )
        assert result.returncode == 0, result.stderr
        return result.stdout

    before = stamp()
    with (package / edited).open("a") as file:
        file.write("# an edit\n")
    assert (stamp() != before) == again
