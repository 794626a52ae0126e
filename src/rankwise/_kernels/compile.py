"""How kernels are compiled: always cached on disk, never holding the interpreter lock, never reordering sums.

numba's disk cache notices edits in the file of a kernel, but not in the files of the functions it calls. It numbers the
files of a kernel's variants in the order of compilation: two processes that compile different variants at the same time
give both the same number, and one is later loaded in place of the other. So the cache of a kernel is stamped here with
a digest of its module, of the modules of the functions it closes over, and of all that these import from the package.
A file in it is named by its variant and this digest and ends with a digest of its content: a truncated or altered file
is reported, removed and compiled again. If numba finds no writable directory (a read-only installation without a home),
a private temporary one is used. Only this module depends on the internals of numba's cache;
``tests/kernels/test_compile`` shows what broke when a new numba changes them.
"""

import contextlib
import functools
import hashlib
import io
import os
import re
import stat
import tempfile
from pathlib import Path

import numba
from numba import extending
from numba.core.caching import FunctionCache, IndexDataCacheFile

from rankwise._warn import warn_user

# These functions are never called from C: wrappers for that would take a quarter of the compilation time.
_NO_C_WRAPPER = {"no_cfunc_wrapper": True}

_PACKAGE = Path(__file__).resolve().parent.parent
_IMPORT = re.compile(r"^ *(?:from|import) rankwise([\w.]*)(?: import (\([\w,\s]*|[\w, ]*))?", re.MULTILINE)


@functools.cache
def _imported_files(path):
    """Files of the package that a source file imports; of an imported package, all its files."""
    files: set[Path] = set()
    for dotted, names in _IMPORT.findall(_content(path).decode()):
        module = _PACKAGE.joinpath(*filter(None, dotted.split(".")))
        for place in (module, *(module / name.strip() for name in names.strip("(").split(","))):
            files.update(place.glob("*.py") if place.is_dir() and place != _PACKAGE else [])
            files.update({place.with_suffix(".py")} if place.with_suffix(".py").is_file() else [])
    return files


@functools.cache
def _content(path):
    return path.read_bytes()


def _own_files(function):
    """Files of a function and of those that it closes over."""
    function = getattr(function, "py_func", function)
    cells = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
    files = {Path(function.__code__.co_filename).resolve()} if hasattr(function, "__code__") else set()
    return files.union(*(_own_files(value) for value in cells))


def digest_of_sources(function):
    """Digest of the files of a function and of everything that they import from the package, directly or not."""
    seen, ahead = set(), _own_files(function)
    while ahead:
        seen |= ahead
        ahead = set().union(*(_imported_files(file) for file in ahead)) - seen
    digest = hashlib.sha256()
    for file in sorted(seen):
        digest.update(_content(file))
    return digest.hexdigest()


class _NamedByContent(IndexDataCacheFile):
    """Cache of a kernel in which a file belongs to one key and one state of the sources, whoever writes it."""

    @contextlib.contextmanager
    def _open_for_write(self, filepath):
        content = io.BytesIO()
        yield content
        with super()._open_for_write(filepath) as file:
            file.write(content.getvalue() + hashlib.sha256(content.getvalue()).digest())

    def _load_index(self):
        return self._intact(self._index_path, super()._load_index) or {}

    def _load_data(self, name):
        return self._intact(self._data_path(name), functools.partial(super()._load_data, name))

    def _intact(self, path, load):
        """What ``load`` returns, or None if the file is missing or damaged; a damaged file is removed."""
        try:
            content = Path(path).read_bytes()
        except FileNotFoundError:
            return None
        with contextlib.suppress(Exception):  # unpickling a wrong file may raise anything
            if hashlib.sha256(content[:-32]).digest() == content[-32:]:
                return load()
        Path(path).unlink(missing_ok=True)
        warn_user(f"the file {path} of compiled code was damaged: it is removed and compiled again.")
        return None

    def save(self, key, data):
        name = self._data_name(
            int.from_bytes(hashlib.sha256(repr((key, self._source_stamp)).encode()).digest()[:8], "big")
        )
        self._save_data(name, data)
        overloads = self._load_index()
        if overloads.get(key) != name:
            overloads[key] = name
            self._save_index(overloads)


class _KernelCache(FunctionCache):
    """Cache of a kernel on disk; the kernel also works without it."""

    def __init__(self, function):
        super().__init__(function)
        digest = digest_of_sources(function)
        # A factory makes kernels of one name from functions of several files: each state of the sources has an index.
        self._cache_file = _NamedByContent(self._cache_path, f"{self._impl.filename_base}.{digest[:12]}", digest)

    def load_overload(self, sig, target_context):
        with self._without_disk():
            return super().load_overload(sig, target_context)

    def save_overload(self, sig, data):
        with self._without_disk():
            super().save_overload(sig, data)

    @contextlib.contextmanager
    def _without_disk(self):
        try:
            yield
        except OSError as error:
            self.disable()
            warn_user(f"compiled code cannot be kept in {self._cache_path}: {error}. It is compiled in every process.")


def _cache_of(function):
    """Cache of a kernel where numba would put it, else in a private directory; None if neither is writable."""
    with contextlib.suppress(RuntimeError):  # no locator available
        return _KernelCache(function)
    directory, before = _private_directory(), numba.config.CACHE_DIR
    if directory is None:
        return None
    numba.config.CACHE_DIR = directory
    try:
        return _KernelCache(function)
    except RuntimeError:
        return None
    finally:
        numba.config.CACHE_DIR = before


@functools.cache
def _private_directory():
    """Temporary directory that nobody else can write to, as its content is executed; None if there is none."""
    usable = None
    with contextlib.suppress(OSError):
        directory = Path(tempfile.gettempdir(), f"rankwise-{os.geteuid() if hasattr(os, 'geteuid') else 'kernels'}")
        directory.mkdir(mode=0o700, exist_ok=True)
        status = directory.lstat()
        is_ours = not hasattr(os, "geteuid") or (status.st_uid == os.geteuid() and not status.st_mode & 0o077)
        if stat.S_ISDIR(status.st_mode) and is_ours:
            tempfile.TemporaryFile(dir=directory).close()
            usable = str(directory)
    kept = "is compiled again in every process" if usable is None else f"is kept in {usable}"
    warn_user(
        f"neither the directory of rankwise nor your home can be written to, so compiled code {kept}. "
        f"Set NUMBA_CACHE_DIR to a directory that can."
    )
    return usable


def kernel(function):
    """Compile a loop. Division by zero gives infinity as in numpy, not an exception."""
    compiled = numba.njit(nogil=True, error_model="numpy", **_NO_C_WRAPPER)(function)
    if hasattr(compiled, "_cache"):  # not if numba is switched off
        cache = _cache_of(function)
        compiled._cache = compiled._cache if cache is None else cache
    return compiled


def register_jitable(function=None, **options):
    """numba's decorator of this name without C wrappers: lets kernels call a function."""
    decorate = extending.register_jitable(**_NO_C_WRAPPER, **options)
    return decorate if function is None else decorate(function)


def overload(function, inline="never", **options):
    """numba's decorator of this name without C wrappers: gives kernels another form of a function."""
    return extending.overload(function, jit_options={**_NO_C_WRAPPER, **options}, inline=inline)


def inlined(function):
    """Compile a function, called once for each row, into every kernel that calls it. It must not make or return arrays.

    The caller keeps all arrays alive, so references to them are not counted: counting costs more than a row.
    """
    return register_jitable(function, forceinline=True, _nrt=False)
