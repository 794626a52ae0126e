"""Denominators: "3 out of 5" beside another scale is refused, in a column, in chunks and in files."""

import numpy as np
import pandas as pd
import pytest

from rankwise import PRIL
from rankwise.labels import UnreadableLabelsError, encode, parse_labels
from rankwise.metrics import mean_absolute_error
from tests.cli.commands import run

MIXED = {
    "two denominators and a number": ["3 out of 5", "3 out of 10", "9"],
    "two denominators": ["7 out of 10", "3 out of 5"],
    "of": ["7 of 10 points", "3 of 5"],
    "a number beyond": ["3 out of 5", "9"],
    "a number beyond, first": ["9", "3 out of 5"],
    "a cell that is a number": ["3 out of 5", 9],
    "an interval beyond": ["3 out of 5", "4-7"],
    "a bound beyond": ["3 out of 5", ">=6"],
    "candidates beyond": ["3 out of 5", "2|6"],
}
TWO = r"the labels have different denominators, as in '(3|7) o.*' and '3 o.*'\. Bring all labels to one scale\."
BEYOND = r"the label ('9'|9|'4-7'|'>=6'|'2\|6') is above the scale of '3 out of 5'\. Bring all labels to one scale\."


@pytest.mark.parametrize("name", MIXED)
def test_mixed_denominators_are_refused_with_both(name):
    y = MIXED[name]
    message = f"row [01]: ({TWO}|{BEYOND})"
    with pytest.raises(UnreadableLabelsError, match=message):
        encode(y)
    with pytest.raises(UnreadableLabelsError, match=message):
        PRIL().fit(np.arange(2 * len(y), dtype=float)[:, None], [*y, *y])
    if all(isinstance(label, str) for label in y):
        with pytest.raises(UnreadableLabelsError, match=message):
            parse_labels(y)


@pytest.mark.parametrize(("language", "texts"), [
    ("en", ["3 out of 5", "7 of 10"]), ("de", ["3 von 5", "7 von 10"]), ("fr", ["3 sur 5", "7 sur 10"]),
    ("es", ["3 de 5", "7 de 10"]),
])  # fmt: skip
def test_denominators_in_every_language(language, texts):
    with pytest.raises(UnreadableLabelsError, match="different denominators"):
        parse_labels(texts, language=language)
    assert parse_labels([texts[0], "4"], language=language).tolist() == [3, 4]


def test_a_denominator_is_the_highest_class():
    assert encode(["3 out of 5", "1", "2 out of 5"]).classes.tolist() == [1, 2, 3, 5]
    assert encode(["3.5 out of 5", "2.5", "3.5", "2.5", "2.5"]).classes.tolist() == [2.5, 3.5, 5.0]
    assert encode(["3 out of 5"], [1, 2, 3, 4, 5]).tolist() == [3]
    for classes in ([1, 2, 3], list(range(11))):
        with pytest.raises(UnreadableLabelsError, match=r"'3 out of 5' .* out of 5, and the highest class is (3|10)\."):
            encode(["1", "3 out of 5"], classes)


def test_chunks_keep_to_the_scale_of_the_first():
    model = PRIL(classes=[1, 2, 3, 4, 5]).partial_fit([[0.0], [1.0]], ["3 out of 5", "1"])
    before = model.coef_.tolist()
    with pytest.raises(UnreadableLabelsError, match="out of 10, and the highest class is 5"):
        model.partial_fit([[0.0], [1.0]], ["3 out of 10", "1"])
    assert model.coef_.tolist() == before
    with pytest.raises(UnreadableLabelsError, match="out of 10, and the highest class is 5"):
        PRIL().fit([[0.0], [1.0]], ["3 out of 5", "1 out of 5"]).score([[0.0]], ["3 out of 10"])
    with pytest.raises(ValueError, match=r"different denominators|highest class"):
        mean_absolute_error(["3 out of 5"], ["3 out of 10"])


def test_a_stream_without_declared_classes_keeps_to_its_scale():
    model = PRIL()
    model.learn_one({"x": 1.0}, "3 out of 5")
    model.learn_one({"x": 2.0}, "2 out of 5")
    assert model.classes_.tolist() == [2, 3, 5]
    with pytest.raises(ValueError, match="out of 10, and the highest class is 5"):
        model.learn_one({"x": 2.0}, "7 out of 10")


@pytest.mark.parametrize("name", [name for name, y in MIXED.items() if "cell" not in name])
def test_files_with_mixed_denominators_are_refused(tmp_path, name):
    labels = [text for text in MIXED[name] for _ in range(20)]
    # Two files, so that the labels are in two batches.
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    pd.DataFrame({"x": np.arange(20), "y": labels[:20]}).to_csv(first, index=False)
    pd.DataFrame({"x": np.arange(len(labels) - 20), "y": labels[20:]}).to_csv(second, index=False)
    result = run("fit", first, second, "--label", "y", "--estimator", "PRIL", "-o", tmp_path / "m")
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1
    assert "Bring all labels to one scale" in result.stderr
    assert not (tmp_path / "m").exists()
