"""The cache of compiled kernels: which file belongs to what, and what makes a kernel compile again."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import rankwise
from rankwise._kernels import compile as compiling
from rankwise._kernels.compile import digest_of_sources, inlined, kernel, overload, register_jitable


def _make_plus(added):
    @kernel
    def plus(x):
        return x + added

    return plus


def _twice(x):
    return 2 * x


@overload(_twice)
def _compiled_twice(x):
    return lambda x: 2 * x


_with_one, _with_two = register_jitable(lambda x: x + 1), inlined(lambda x: x + 2)


def test_nothing_is_compiled_for_callers_in_c(tmp_path, monkeypatch):
    """Wrappers for such callers take a quarter of the time of compilation; numba names them ``cfunc``."""
    monkeypatch.setattr(compiling.numba.config, "CACHE_DIR", str(tmp_path))

    @kernel
    def all_of_them(x):
        return _twice(x) + _with_one(x) + _with_two(x)

    assert all_of_them(1) == 7
    (code,) = all_of_them.inspect_llvm().values()
    assert "_ZN7cpython" in code  # the wrapper for callers in Python
    assert "cfunc." not in code


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


STAMPS = """
import sys
from pathlib import Path
from rankwise._kernels import compile
from rankwise.label_ranking.entropic_joint import learn_joint
print(learn_joint._cache._cache_file._source_stamp)
for edited in sys.argv[1:]:
    with Path(compile._PACKAGE, edited).open("a") as file:
        file.write("# an edit")
    compile._content.cache_clear()
    print(compile.digest_of_sources(learn_joint))
"""


def test_an_edit_in_a_source_file_that_a_kernel_uses_compiles_it_again(tmp_path):
    package = tmp_path / "rankwise"
    shutil.copytree(Path(rankwise.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    edited = [
        "cli/_app.py",  # nothing that it uses
        "_kernels/lanes.py",  # what a function calls that the kernel calls
        "label_ranking/entropic_joint.py",  # what a factory in another file closes over
    ]
    result = subprocess.run(
        [sys.executable, "-c", STAMPS, *edited], capture_output=True, text=True, env=environment, check=False
    )
    assert result.returncode == 0, result.stderr
    stamps = result.stdout.split()
    assert len(stamps) == 4
    assert stamps[0] == stamps[1]
    assert len(set(stamps[1:])) == 3


# -- a damaged cache ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[: len(content) // 2],
        lambda content: b"garbage" * 100,
        lambda content: content[:60] + bytes([content[60] ^ 1]) + content[61:],
        lambda content: b"\x80\x04K\x01." + content,
    ],
    ids=["empty", "cut", "garbage", "one bit", "another pickle"],
)
def test_a_damaged_file_is_named_removed_and_compiled_again(tmp_path, monkeypatch, suffix, damage):
    monkeypatch.setattr(compiling.numba.config, "CACHE_DIR", str(tmp_path))
    assert _make_plus(7)(1) == 8
    (file,) = tmp_path.rglob(f"*{suffix}")
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    with pytest.warns(UserWarning, match=f"{re.escape(str(file))} of compiled code was damaged: it is removed"):
        assert _make_plus(7)(1) == 8
    again = _make_plus(7)
    assert again(1) == 8  # without a word
    assert sum(again.stats.cache_hits.values()) == 1


def test_code_from_a_file_is_not_compiled_again(tmp_path, monkeypatch):
    monkeypatch.setattr(compiling.numba.config, "CACHE_DIR", str(tmp_path))
    _make_plus(8)(1)
    again = _make_plus(8)
    assert again(1) == 9
    assert sum(again.stats.cache_hits.values()) == 1


def test_a_disk_that_takes_no_file_is_said_once_and_does_not_stop_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr(compiling.numba.config, "CACHE_DIR", str(tmp_path))
    plus = _make_plus(9)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(plus._cache._cache_file, "_save_data", full)
    with pytest.warns(UserWarning, match="compiled code cannot be kept in .*No space left"):
        assert plus(1) == 10
    assert plus(1.5) == 10.5  # another variant, without a word


# -- nowhere to write --------------------------------------------------------------------------------------------------

NOWHERE = """
import warnings
from numba.core import caching
# What numba finds in a read-only installation for a user without a home.
names = "UserProvidedCacheLocator", "IPythonCacheLocator"  # with a "_" before numba 0.62
caching.CacheImpl._locator_classes = [getattr(caching, name, None) or getattr(caching, f"_{name}") for name in names]
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import numpy as np
    from rankwise.solvers.design import Design
    rows = Design(np.array([[1.0], [3.0]]), 1)
    answers = rows.times(np.ones((1, 1))).ravel().astype(int), rows.pull(np.ones((2, 1)))
print(answers[0].tolist())
for warning in caught:
    print(warning.message)
"""


def _nowhere(temporary):
    """Answers and warnings of a process that finds no cache but the directory for temporary files."""
    environment = {name: value for name, value in os.environ.items() if name not in ("NUMBA_CACHE_DIR", "HOME")}
    environment |= {"TMPDIR": str(temporary)}
    done = subprocess.run([sys.executable, "-c", NOWHERE], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_without_a_place_to_write_a_private_temporary_directory_serves(tmp_path):
    place = tmp_path / f"rankwise-{os.geteuid() if hasattr(os, 'geteuid') else 'kernels'}"
    for _ in range(2):
        answer, *warned = _nowhere(tmp_path)
        assert answer == "[1, 3]"
        assert len(warned) == 1
        assert f"compiled code is kept in {place}. Set NUMBA_CACHE_DIR" in warned[0]
    assert len(list(place.rglob("*.nbc"))) >= 2


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="directories of others are those of POSIX")
def test_a_directory_that_others_can_write_to_is_not_trusted(tmp_path):
    place = tmp_path / f"rankwise-{os.geteuid()}"
    place.mkdir()
    place.chmod(0o777)
    answer, *warned = _nowhere(tmp_path)
    assert answer == "[1, 3]"
    assert len(warned) == 1
    assert "compiled code is compiled again in every process" in warned[0]
    assert list(place.iterdir()) == []
