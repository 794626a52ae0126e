"""Labels of several files that have one scale, and what a refused command leaves behind."""

import pytest

from tests.cli.commands import fail


@pytest.mark.parametrize("estimator", ["PRIL", "CumulativeLink"])
def test_a_label_above_the_scale_of_another_file_is_named_with_its_place(tmp_path, estimator):
    one, three, aside = tmp_path / "p1.csv", tmp_path / "p3.csv", tmp_path / "q.jsonl"
    one.write_text("x,label\n" + "".join(f"{i},{i % 5 + 1} out of 5\n" for i in range(10)))
    three.write_text("x,label\n1,3\n2,9\n3,4\n")
    line = fail(
        1, "fit", one, three, "--label", "label", "--estimator", estimator, "-o", tmp_path / "m", "--on-error", "skip",
        "--quarantine", aside,
    )  # fmt: skip
    assert "p3.csv, row 2 (line 3)" in line
    assert "p1.csv" not in line
    assert "the label 9" in line
    assert not aside.exists()
