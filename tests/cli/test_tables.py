"""What columns of files are read as, and what becomes of those that a model does not use."""

import json

import numpy as np
import pytest

import rankwise as rw
from tests.cli.commands import fail, make_frame, succeed


@pytest.fixture
def frame():
    return make_frame(400)[["a", "c", "colour", "grade"]]


class TestTyposInNumbers:
    @pytest.fixture
    def typo(self, frame, tmp_path):
        texts = frame.astype({"a": str})
        texts.loc[70, "a"] = "1.2.3"
        texts.to_csv(tmp_path / "typo.csv", index=False)
        return tmp_path / "typo.csv"

    @pytest.mark.parametrize("estimator", ["SVOR", "PRIL"])
    def test_a_typo_is_a_bad_row(self, frame, typo, tmp_path, estimator):
        options = ["--label", "grade", "--estimator", estimator, "-o", tmp_path / "m"]
        reason = "column 'a': a number is needed. Got the text '1.2.3'. "
        assert f"typo.csv, row 71 (line 72): {reason}" in fail(1, "fit", typo, *options)
        aside = tmp_path / "aside.jsonl"
        learnt = succeed("fit", typo, *options, "--on-error", "skip", "--quarantine", aside, "--json")
        assert (json.loads(learnt)["rows"], json.loads(learnt)["skipped"]) == (399, 1)
        assert json.loads(learnt)["read_as"] == {"a": "number", "c": "number", "colour": "category"}
        assert json.loads(aside.read_text())["row"] == 71
        assert json.loads(aside.read_text())["reason"].startswith(reason)
        frame.drop(70).to_csv(tmp_path / "good.csv", index=False)
        succeed("fit", tmp_path / "good.csv", *options[:-1], tmp_path / "expected")
        learnt, expected = (rw.load(tmp_path / name).estimator_.coef_ for name in ("m", "expected"))
        np.testing.assert_array_equal(learnt, expected)

    def test_a_kind_overrules(self, typo, tmp_path):
        said = succeed("fit", typo, "--label", "grade", "--kind", "a=category", "-o", tmp_path / "m").splitlines()
        assert said[2:6] == [
            "columns            3, as 16,388 features",
            "  hashed category  a",
            "  number           c",
            "  category         colour",
        ]

    def test_a_typo_in_one_of_several_files(self, frame, typo, tmp_path):
        frame.to_csv(tmp_path / "whole.csv", index=False)
        options = ["--label", "grade", "-o", tmp_path / "m"]
        message = fail(1, "fit", tmp_path / "whole.csv", typo, *options)
        assert "typo.csv, row 71 (line 72): column 'a': a number is needed." in message


def test_decimal_commas_are_read_and_said(frame, tmp_path):
    frame.to_csv(tmp_path / "points.csv", index=False)
    commas = frame.assign(**{name: frame[name].astype(str).str.replace(".", ",") for name in ("a", "c")})
    commas.to_csv(tmp_path / "commas.csv", index=False)
    for name in ("points", "commas"):
        said = succeed("fit", tmp_path / f"{name}.csv", "--label", "grade", "-o", tmp_path / name)
        assert ("  number with decimal comma  a, c\n" in said) == (name == "commas")
    models = [rw.load(tmp_path / name) for name in ("points", "commas")]
    np.testing.assert_array_equal(models[0].estimator_.coef_, models[1].estimator_.coef_)
    judged = [
        succeed("evaluate", tmp_path / name, tmp_path / f"{name}.csv", "--label", "grade")
        for name in ("points", "commas")
    ]
    assert judged[0] == judged[1]
    # A file with whole numbers only, which would be points otherwise.
    (tmp_path / "new.csv").write_text('a,c,colour\n"1.500",2,red\n')
    assert "a number is needed. Got the text '1.500'" in fail(1, "predict", tmp_path / "commas", tmp_path / "new.csv")
