"""What we import from others: declared as a dependency, private parts in one place each, with what we need of them."""

import ast
import functools
import inspect
import re
import sys
import tomllib
from numbers import Real
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.preprocessing import StandardScaler
from typer.core import TyperGroup

from rankwise._sklearn import Interval, Options, StrOptions, output_frame, set_output_frame, take_rows

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "rankwise"
#: Distributions that are not called what their module is called.
DISTRIBUTIONS = {"sklearn": "scikit-learn"}
#: Private or hardly documented modules, and the only files that may import them.
PLACES = {
    "sklearn": {"_sklearn.py"},
    "numba.core": {"_kernels/compile.py", "_kernels/llvm.py"},
    "llvmlite": {"_kernels/llvm.py", "_kernels/lanes.py"},
    "typer.core": {"cli/_app.py"},
    "openpyxl.worksheet": {"io/_sheet.py"},
}


def imports():
    """File, module and name of everything that the package imports, at the top of a file or anywhere below."""
    for path in SOURCE.rglob("*.py"):
        file = path.relative_to(SOURCE).as_posix()
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                yield from ((file, node.module, alias.name) for alias in node.names)
            elif isinstance(node, ast.Import):
                yield from ((file, alias.name, "") for alias in node.names)
            elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "require":
                names = [node.args[0]] if isinstance(node.args[0], ast.Constant) else looped(tree, node.args[0].id)
                yield from ((file, name.value, "") for name in names)


def looped(tree, variable):
    """What a loop gives to a variable."""
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.For)]
    return [name for loop in loops if getattr(loop.target, "id", "") == variable for name in loop.iter.elts]


@functools.cache
def foreign():
    ours = {*sys.stdlib_module_names, "rankwise", "rankwise_experiments"}
    return [(file, module, name) for file, module, name in imports() if module.partition(".")[0] not in ours]


def declared():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {
        extra: {re.match(r"[\w-]+", requirement)[0] for requirement in requirements}
        for extra, requirements in {"": project["dependencies"], **project["optional-dependencies"]}.items()
    }


def test_every_package_that_is_imported_is_declared():
    names = {module.partition(".")[0] for _, module, _ in foreign()}
    needed = {DISTRIBUTIONS.get(name, name) for name in names}
    assert {"numpy", "scikit-learn", "torch", "dask", "matplotlib", "jinja2", "threadpoolctl", "llvmlite"} <= needed
    # Extras for those who work on rankwise do not count: who installs the package does not have them.
    tools = {"bench", "test", "test-all", "docs", "browser", "lint"}
    missing = needed - set().union(*(names for extra, names in declared().items() if extra not in tools))
    assert not missing, f"imported, but in no dependency and no extra: {missing}"


def test_every_dependency_is_imported_and_has_its_reason():
    used = {DISTRIBUTIONS.get(name, name) for name in (module.partition(".")[0] for _, module, _ in foreign())}
    assert declared()[""] <= used
    reasons = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    core = reasons[reasons.index("## Core") : reasons.index("## Extras")]
    assert set(re.findall(r"^\| ([\w-]+) \| [A-Z]", core, re.MULTILINE)) == declared()[""]


@pytest.mark.parametrize("library", PLACES)
def test_private_interfaces_are_imported_in_one_place(library):
    def private(module, name):
        inside = module == library or module.startswith(f"{library}.")
        parts = [*module.split("."), name]
        return inside and (library != "sklearn" or any(part.startswith("_") for part in parts))

    places = {file for file, module, name in foreign() if private(module, name) or f"{module}.{name}" == library}
    assert places == PLACES[library]


class Estimator(BaseEstimator):
    _parameter_constraints = {  # noqa: RUF012
        "rate": [Interval(Real, 0, None, closed="neither")],
        "step": [StrOptions({"pa", "perceptron"})],
        "size": [Options(Real, {1, 2}), None],
    }

    def __init__(self, rate=1.0, step="pa", size=None):
        self.rate, self.step, self.size = rate, step, size


def test_scikit_learn_checks_parameters_as_estimators_declare_them():
    # If this fails, sklearn.utils._param_validation or BaseEstimator._validate_params has changed.
    Estimator(rate=0.5, step="perceptron", size=2)._validate_params()
    for wrong in ({"rate": 0.0}, {"step": "none"}, {"size": 3}):
        (name, value), *_ = wrong.items()
        with pytest.raises(ValueError, match=f"The '{name}' parameter of Estimator must be .* Got {value!r} instead"):
            Estimator(**wrong)._validate_params()


@pytest.mark.parametrize("form", [np.array, pd.DataFrame, sparse.csr_matrix, list], ids=lambda form: form.__name__)
def test_scikit_learn_takes_rows_of_every_container(form):
    # If this fails, sklearn.utils._safe_indexing has changed.
    rows = take_rows(form([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), slice(1, 3))
    rows = rows.toarray() if sparse.issparse(rows) else np.asarray(rows)
    np.testing.assert_array_equal(rows, [[3.0, 4.0], [5.0, 6.0]])


def test_scikit_learn_keeps_what_set_output_was_given_where_model_files_look_for_it():
    # If this fails, sklearn.utils._set_output has changed.
    scaler = StandardScaler()
    assert output_frame(scaler) is None
    assert output_frame(scaler.set_output(transform="pandas")) == "pandas"
    other = StandardScaler().fit([[0.0], [2.0]])
    set_output_frame(other, "pandas")
    assert isinstance(other.transform([[1.0]]), pd.DataFrame)


def test_typer_reports_wrong_usage_as_the_command_catches_it():
    # If this fails, typer has changed what rankwise.cli._app overrides and catches.
    parameters = list(inspect.signature(TyperGroup.main).parameters)[1:6]
    assert parameters == ["args", "prog_name", "complete_var", "standalone_mode", "windows_expand_args"]
    usage_error = typer.BadParameter.__mro__[1]
    assert usage_error.__name__ == "UsageError"
    assert usage_error("what is wrong").format_message() == "what is wrong"
