"""The frame that all experiments share."""

import ast
from pathlib import Path

import pytest

import rankwise_experiments as experiments
from rankwise_experiments._study import experiment

SOURCES = Path(experiments.__file__).parent


def run_with(**how):
    given = []
    run = experiment(**how)(lambda job, **own: given.append((job, own)))
    return run, given


def test_a_job_has_the_defaults_of_the_experiment_unless_they_are_given(tmp_path):
    run, given = run_with(sequences=20, seed=0)
    assert run.options == ("sequences", "seed")
    run(tmp_path / "a")
    run(tmp_path / "b", data_dir="data", sequences=3, settings="its own")
    assert given[0] == (experiments.Job(tmp_path / "a", sequences=20), {})
    assert given[1] == (experiments.Job(tmp_path / "b", data_dir="data", sequences=3), {"settings": "its own"})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sequences": 0}, "sequences must be at least 1. Got 0 instead."),
        ({"rounds": 29}, "rounds must be at least 30. Got 29 instead."),
        ({"seed": -1}, "seed must be at least 0. Got -1 instead."),
    ],
)
def test_options_that_are_too_small(tmp_path, options, message):
    run, given = run_with(sequences=1, rounds=None, seed=0, least={"rounds": 30})
    with pytest.raises(ValueError, match=message.replace(".", r"\.")):
        run(tmp_path, **options)
    run(tmp_path, sequences=1, rounds=30, seed=0)
    assert len(given) == 1


@pytest.mark.parametrize("name", experiments.names())
def test_an_option_that_an_experiment_does_not_have_is_refused(name, tmp_path):
    refused = {"sequences", "rounds", "seed", "nonsense"} - set(experiments.get(name).options)
    for option in refused:
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{option}'"):
            experiments.get(name).run(tmp_path, **{option: 1})


def test_private_names_of_rankwise_are_taken_in_one_place():
    for path in SOURCES.glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        names = {f"{node.module}.{alias.name}" for node in imports for alias in node.names}
        names = {name.removesuffix(".__version__") for name in names if name.split(".")[0] == "rankwise"}
        private = {name for name in names if any(part.startswith("_") for part in name.split("."))}
        assert bool(private) == (path.name == "_private.py"), (path.name, private)
