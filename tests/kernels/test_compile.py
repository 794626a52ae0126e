from rankwise._kernels.compile import SOURCES, kernel


def _make_plus(added):
    sources = SOURCES

    @kernel
    def plus(x):
        _ = sources
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
