"""The registry says of every public estimator what its class says."""

import subprocess
import sys
from inspect import getattr_static

import pytest

import rankwise
from rankwise._registry import ESTIMATORS

PROBABLE = ("predict_proba", "predict_quantile", "predict_interval")


def test_every_public_estimator_is_registered():
    public = {name for name in rankwise.__all__ if name[0].isupper()}
    assert public - set(ESTIMATORS) == {"Client", "RowError", "ServiceError"}
    assert list(ESTIMATORS) == sorted(ESTIMATORS)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_entry_says_what_the_class_says(name):
    entry = ESTIMATORS[name]
    estimator = entry.load(name)
    assert estimator is getattr(rankwise, name)
    assert frozenset(entry.label_kinds) == getattr(estimator, "label_kinds", frozenset())
    assert entry.saved == hasattr(estimator, "from_plain")
    has = tuple(method for method in PROBABLE if callable(getattr_static(estimator, method, None)))
    # The losses of BoostedThresholds decide whether an instance has them: with the default it does.
    assert entry.probable == (PROBABLE if name == "BoostedThresholds" else has)
    assert all(hasattr(estimator(), method) for method in entry.probable if name == "BoostedThresholds")


def test_an_error_about_labels_imports_no_estimator():
    code = """if True:
        import sys
        from rankwise.labels import encode, require_support
        try:
            require_support(encode([(1, 2)], [1, 2, 3]), "Mine", ["exact"])
        except ValueError as error:
            assert "PRIL" in str(error)
        print(*(name for name in sys.modules if name.startswith("rankwise.")))
    """
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert {name.split(".")[1] for name in printed.split()} <= {
        "labels", "_kernels", "_errors", "_extras", "_registry", "_sklearn", "_threads", "_types", "_version", "_warn",
        "_words",
    }  # fmt: skip
