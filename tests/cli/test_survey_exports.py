"""Ten messy exports of questionnaires: read right, or refused in one line, by the command and in Python."""

import io
import json

import numpy as np
import pandas as pd
import pytest

import rankwise as rw
from tests.cli.commands import run

AGREEMENT = ["Strongly disagree", "Disagree", "Neither agree nor disagree", "Agree", "Strongly agree"]
GERMAN = ["Stimme überhaupt nicht zu", "Stimme nicht zu", "Weder noch", "Stimme zu", "Stimme voll zu"]
FRENCH = ["Jamais", "Rarement", "Parfois", "Souvent", "Toujours"]
SPANISH = ["Muy insatisfecho", "Insatisfecho", "Satisfecho", "Muy satisfecho"]
TEN = ["0 - Not at all likely", *map(str, range(1, 10)), "10 - Extremely likely"]


def export(labels, *, separator=",", header="age{0}Q1", more=(), encoding="utf-8", row="{i}{0}{label}"):
    lines = [header.format(separator), *more]
    lines += [row.format(separator, i=i, label=label) for i, label in enumerate(labels)]
    return "\r\n".join(lines).encode(encoding) + b"\r\n"


QUALTRICS = ['"How old?","How good?"', '"{""ImportId"":""QID1""}","{""ImportId"":""QID2""}"']


def repeated(*labels):
    return list(labels) * 6


# The bytes, the column of labels, the options, and the classes or the words of the refusal.
EXPORTS = {
    "byte-order mark, semicolons, the question as header, German": (
        export(repeated(*GERMAN, ""), separator=";", header="Alter{0}Wie sehr stimmen Sie zu?", encoding="utf-8-sig"),
        "Wie sehr stimmen Sie zu?", ["--separator", ";"], GERMAN,
    ),
    "two more header rows of Qualtrics": (
        export(repeated("1", "2", "3"), more=QUALTRICS),
        "Q1", [], "a label is 'How good?' where most are numbers",
    ),
    "two more header rows of Qualtrics, words": (
        export(repeated(*AGREEMENT), more=QUALTRICS),
        "Q1", [], "most labels are answers of a known scale, agreement, but not",
    ),
    "codes for no answer": (export(repeated("1", "2", "5", "99")),
        "Q1", [], "the label 99 stands apart from the others, 1 to 5"),
    "no answer in words": (
        export(repeated("1 - Poor", "2 - Fair", "3 - Good", "No answer", "N/A", "Don’t know", "99 - Refused", "")),
        "Q1", [], ["1 - Poor", "2 - Fair", "3 - Good"],
    ),
    "capitals, trailing blanks, special spaces and dashes": (
        export(repeated("1 - Poor", "1 – poor ", "2\u00a0- Fair", "2 - FAIR", "3 — Good", "3 - Good  ")),
        "Q1", [], ["1 - Poor", "2 - FAIR", "3 - Good"],
    ),
    "French": (export(repeated(*map(str.upper, FRENCH), *FRENCH)), "Q1", [], [name.upper() for name in FRENCH]),
    "Spanish, tabs": (export(repeated(*SPANISH), separator="\t"), "Q1", ["--separator", "\t"], SPANISH),
    "dates of a spreadsheet": (export(repeated("1", "02-Jan", "3", "3-4")),
        "Q1", [], "spreadsheets turn 1-2 into such a date"),
    "names at the ends only": (export(repeated(*TEN, "7 or 8", "9+")), "Q1", [], TEN),
    "a header twice": (export(repeated("1,1", "2,2"), header="age{0}Q1{0}Q1"),
        "Q1", [], "the names of columns must be distinct"),
    "a stray remark": (export([*repeated(*AGREEMENT), "see the notes"]),
        "Q1", [], r"a known scale, agreement, but not ['see the notes']"),
}  # fmt: skip


@pytest.mark.parametrize("name", EXPORTS)
def test_exports_are_read_right_or_refused_in_one_line(name, tmp_path):
    content, label, options, expected = EXPORTS[name]
    path, model = tmp_path / "export.csv", tmp_path / "model"
    path.write_bytes(content)
    read = ["--label", label, *options]
    result = run("fit", path, *read, "--estimator", "PRIL", "-o", model, "--json")
    compared = run("compare", path, *read, "--estimator", "PRIL", "--json")
    if isinstance(expected, str):
        for refused in (result, compared):
            assert refused.exit_code in (1, 2)
            assert refused.stderr.count("\n") == 1
            assert expected in refused.stderr
        assert not model.exists()
        return
    assert (result.exit_code, compared.exit_code) == (0, 0), result.stderr + compared.stderr
    assert json.loads(result.stdout)["classes"] == expected
    assert run("evaluate", model, path, *read).exit_code == 0
    predicted = tmp_path / "predicted.csv"
    assert run("predict", model, path, *options, "-o", predicted).exit_code == 0
    found = pd.read_csv(predicted, sep=None, engine="python", encoding="utf-8-sig", dtype=str)["prediction"]
    assert set(found) <= set(expected)


@pytest.mark.filterwarnings("ignore::rankwise.labels.OrderNote")
@pytest.mark.parametrize("name", [name for name in EXPORTS if name != "a header twice"])  # pandas renames it
@pytest.mark.parametrize("as_text", [True, False], ids=["texts", "as pandas reads them"])
def test_exports_in_python(name, as_text):
    content, label, given, expected = EXPORTS[name]
    options = {"dtype": str, "keep_default_na": False} if as_text else {}
    separator = given[1] if given else ","
    frame = pd.read_csv(io.BytesIO(content), sep=separator, encoding="utf-8-sig", **options)
    y, X = frame[label], np.arange(len(frame), dtype=float)[:, None]
    for model in (rw.PRIL(random_state=0), rw.CumulativeLink(), rw.TableModel(rw.SVOR(tol=0.1))):
        table = pd.DataFrame({"x": X[:, 0]}) if isinstance(model, rw.TableModel) else X
        if isinstance(expected, str):
            with pytest.raises(ValueError, match=r"\w") as caught:
                model.fit(table, y)
            assert "\n" not in str(caught.value)
            assert expected in str(caught.value)
            continue
        assert model.fit(table, y).classes_.tolist() == expected
        assert set(model.predict(table)) <= set(expected)
