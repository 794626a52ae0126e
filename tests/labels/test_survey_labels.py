"""Labels of questionnaires: numbered names, and words of scales that everybody knows."""

import itertools
import random
import warnings
from datetime import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import rankwise as rw
from rankwise.labels import OrderNote, OrderWarning, UnknownOrderError, encode, format_labels
from rankwise.labels._scale_words import SCALES
from rankwise.labels._scales import is_date, rank_of
from tests.cli.commands import facts, run

AGREEMENT = ["strongly disagree", "disagree", "neutral", "agree", "strongly agree"]
STYLES = ["{} - {}", "{}-{}", "{} – {}", "{}: {}", "{} = {}", "{}={}", "{}. {}", "{}) {}", "{}.) {}", "({}) {}",
          "[{}] {}", "{} : {}", "{}\u00a0-\u00a0{}"]  # fmt: skip


def shuffled(labels, n=40):
    rng = random.Random(0)
    return rng.sample([*labels] * (n // len(labels) + 1), n)


@pytest.mark.parametrize("style", STYLES)
def test_a_leading_number_orders_the_names(style):
    names = [style.format(k, word) for k, word in enumerate(AGREEMENT, 1)]
    labels = encode([*reversed(names), "4 or 5", ">=4", "2-3", names[0] + " to " + names[2], "", "1"])
    assert labels.classes.tolist() == names
    assert labels.tolist() == [
        *reversed(names), (names[3], names[4]), (names[3], names[4]), (names[1], names[2]), (names[0], names[2]), None,
        names[0],
    ]  # fmt: skip


@pytest.mark.parametrize("style", STYLES)
def test_ten_points_sort_by_number(style):
    names = [style.format(k, f"point {'abcdefghijk'[k]}") for k in range(11)]
    assert encode(shuffled(names)).classes.tolist() == names


def test_names_at_the_ends_only():
    low, high = "0 - not at all likely", "10 - extremely likely"
    classes = [low, *map(str, range(1, 10)), high]
    for middle in (list(range(1, 10)), [str(k) for k in range(1, 10)], [float(k) for k in range(1, 10)]):
        labels = encode([high, *middle, low, "9+", (3, 4)])
        assert labels.classes.tolist() == classes
        assert labels.tolist() == [high, *classes[1:-1], low, ("9", high), ("3", "4")]
    assert encode([low, high, "3-9"]).classes.tolist() == [low, *map(str, range(3, 10)), high]


def test_declared_names_are_found_by_their_numbers_in_every_form():
    classes = ["1 - poor", "2 - fair", "10 - good"]
    for label in ("2", 2, 2.0, "2: FAIR", "(2) fair", "2 – fair", "２ - fair"):
        assert encode([label, "1 - poor"], classes)[:1].tolist() == ["2 - fair"]
    assert encode(np.array([1, 2, 10]), classes).tolist() == classes
    assert encode([(1, 2), {1, 10}], classes).tolist() == [("1 - poor", "2 - fair"), {"1 - poor", "10 - good"}]
    assert encode([">2", "<10", "2|10"], classes).tolist() == [
        "10 - good",
        ("1 - poor", "2 - fair"),
        ("2 - fair", "10 - good"),
    ]
    for wrong in ("3", 3, "2 - good", "2 - fairly", True):
        with pytest.raises(ValueError, match="is not one of the classes"):
            encode([wrong, "1 - poor"], classes)
    assert encode(pd.Categorical(["2 - b", "1 - a"], ["2 - b", "1 - a"], ordered=True)).classes.tolist() == [
        "2 - b",
        "1 - a",
    ]


def test_intervals_are_written_and_read_back():
    labels = encode(["1 - poor", "2 - fair", "3 - good", "4 - best", "1 - poor to 3 - good", "2|4", ">=2"])
    texts = format_labels(labels).tolist()
    assert texts[4:] == ["1 - poor to 3 - good", "2 - fair|4 - best", "2 - fair to 4 - best"]
    assert encode(texts, labels.order) == labels


CONFLICTS = {
    "two names": (["1 - poor", "1 - bad", "2 - good"], "the number 1 has two names, '1 - bad' and '1 - poor'"),
    "two numbers": (["1 - poor", "2 - poor"],
                    "'2 - poor' has the words of another number: 'poor' has the numbers 1 and 2"),
    "a range alone": (["1 - poor", "2 - fair to 3 - good"], "may be a class of its own or made of others"),
    "an unknown end": (["1 - poor", "2 - fair", "1 - poor to 7 - top"], "the number 1 has two names"),
    "not all": (["1 - poor", "2 - fair", "good"],
                r"most labels have leading numbers, such as '1 - poor', but not \['good'\]"),
    "a date": (["1", "02-Jan", "2"], "spreadsheets turn 1-2 into such a date"),
    "a code": (["1 - poor", "2 - good", "99"], "the label 99 stands apart from the others, 1 to 2"),
    "a code among numbers": ([1, 2, 5, -9], "the label -9 stands apart from the others, 1 to 5"),
    "one word of another scale": (["agree", "disagree", "very good"],
                                  r"a known scale, agreement, but not \['very good'\]"),
    "capitals": (["Red", "red", "blue"], "'Red' and 'red' differ only in capitals, dashes or spaces"),
}  # fmt: skip


@pytest.mark.parametrize("case", CONFLICTS)
def test_conflicts_are_one_clear_error(case, tmp_path):
    y, message = CONFLICTS[case]
    for make in (list, lambda y: pd.Series(y, dtype=object), lambda y: np.array(y, dtype=object)):
        with pytest.raises(ValueError, match=message) as caught:
            encode(make(y))
        assert "\n" not in str(caught.value)
    X = np.arange(len(y), dtype=float)[:, None]
    for model in (rw.PRIL(), rw.SVOR()):
        with pytest.raises(ValueError, match=message):
            model.fit(X, y)
    path = tmp_path / "t.csv"
    pd.DataFrame({"x": range(20 * len(y)), "y": y * 20}).to_csv(path, index=False)
    result = run("fit", path, "--label", "y", "--estimator", "PRIL", "-o", tmp_path / "m")
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert "classes" in result.stderr


@pytest.mark.parametrize(
    "names", ["7-Eleven Walmart", "8-K 10-K 10-Q", "10:30_pm 11:30_pm", "1.5_years 2_years", "B A+ A"]
)  # fmt: skip
def test_other_names_with_numbers_stay_names(names):
    names = [name.replace("_", " ") for name in names.split()]
    assert encode(names, ordered=False).classes.tolist() == sorted(names)
    with pytest.warns(OrderWarning):
        encode(names)


def test_what_begins_with_a_number():
    for text in (
        "3",
        "3-5",
        "3.5",
        "1.5 years",
        "3 - 5",
        "3-5 times",
        "2024-01-02",
        "02-Jan",
        "1. Feb",
        "3:4",
        "",
        "3 -",
        "(a) b",
    ):
        assert rank_of(text) is None, text
    assert (rank_of("-2: very bad").number, rank_of("1.5 = so so").number) == (-2, 1.5)
    assert all(map(is_date, ("Jan-02", "01. Feb", "2-Mär-26")))
    assert not is_date("1 - january")


DATE = datetime(2026, 2, 1)
DATES = {"datetime": DATE, "date": DATE.date(), "numpy": np.datetime64("2026-02-01"), "text": "2026-02-01"}


@pytest.mark.parametrize("cell", [pytest.param(cell, id=name) for name, cell in DATES.items()])
@pytest.mark.parametrize(
    ("others", "classes"),
    [([1, 2, 3], None), ([1, 2, 3], [1, 2, 3]), (["1", "2-3"], None), (["1", "2-3"], [1, 2, 3]),
     ([(1, 2), (2, 3)], None), ([{1, 3}, 2], None), ([{1, 3}, 2], [1, 2, 3]),
     (["low", "high"], ["low", "high"]), ([None, 1.5, 1.5], None)],
)  # fmt: skip
def test_a_cell_that_became_a_date_is_explained(cell, others, classes):
    for y in ([*others, cell], pd.Series([*others, cell], dtype=object)):
        with pytest.raises(
            ValueError, match=f"row {len(others)}: .*2026-02-01.*spreadsheets turn 1-2 into such a date"
        ):
            encode(y, classes)


def test_a_date_among_numbered_names_is_explained():
    with pytest.raises(ValueError, match=r"row 2: .*2026-02-01.*spreadsheets turn 1-2 into such a date"):
        encode(["1 - bad", "2 - good", DATE])


def test_dates_are_classes_if_declared():
    later = datetime(2026, 3, 1)
    assert encode([DATE, later, None, pd.NaT], classes=[DATE, later]).lower.tolist() == [0, 1, 0, 0]
    with pytest.raises(ValueError, match="dates are no labels, and spreadsheets turn 1-2 into such a date"):
        encode([DATE, later, None, pd.NaT], ordered=False)
    assert encode([DATE, 1], classes=[1, DATE]).is_exact.all()
    texts = ["2026-02-01", "2026-03-01", "later"]
    assert encode(texts, classes=texts).is_exact.all()
    with pytest.raises(ValueError, match="cannot read '2026-02-01' as a label: spreadsheets turn 1-2 into"):
        encode(texts, ordered=False)
    assert encode([1, 2, pd.NaT]).is_missing.tolist() == [False, False, True]


def test_a_date_in_a_spreadsheet_is_explained_by_the_command(tmp_path):
    y = [1, 2, 3, DATE] * 10
    pd.DataFrame({"x": range(40), "y": y}).to_excel(tmp_path / "t.xlsx", index=False)
    for options in ([], ["--classes", "1..3"]):
        message = run("fit", tmp_path / "t.xlsx", "--label", "y", *options, "-o", tmp_path / "m").stderr
        assert "row 4 (line 5): 'y': cannot read '2026-02-01' as a label: spreadsheets turn 1-2 into" in message


GERMAN = ["1 = schlecht", "2 = mittel", "3 = gut"]


@pytest.mark.parametrize(
    ("y", "classes", "row", "language"),
    [
        ([*GERMAN, "1-2", "weiß nicht"], None, 4, "de"),
        ([*GERMAN, "weiß nicht"], None, None, "de"),
        ([*GERMAN, "1-2", "mindestens 2"], None, 4, "de"),
        ([*GERMAN, "1-2", "weiß nicht"], GERMAN, 4, "de"),
        (["1", "2", "3", "2 bis 3"], None, 3, "de"),
        (["1", "2", "3", "2 ou 3"], [1, 2, 3], 3, "fr"),
        (["1", "2", "3 estrellas"], [1, 2, 3], 2, "es"),
        (["gut", "mittel", "mindestens mittel"], ["mittel", "gut"], 2, "de"),
    ],
)
def test_words_of_another_language_are_named_with_the_remedy(y, classes, row, language):
    where = "" if row is None else rf"^row {row}: .*{y[row]}"
    with pytest.raises(ValueError, match=where + rf'.*declare the language, parse_labels\(..., language="{language}"'):
        encode(y, classes)
    encode(rw.labels.parse_labels(y, classes, language=language), classes)


@pytest.mark.parametrize("text", ["5 bis 9", "gut", "weniger als nichts", "de 1", "x" * 500])
def test_other_words_are_no_language(text):
    with pytest.raises(ValueError, match="is not one of the classes") as caught:
        encode(["1", "2", text], [1, 2, 3])
    assert "language" not in str(caught.value)


def test_the_name_without_a_number_is_to_blame_and_not_the_interval():
    with pytest.raises(ValueError, match="row 4: the label 'keine Ahnung' has no leading number, as most names have"):
        encode([*GERMAN, "1-2", "keine Ahnung"])


# -- scales of words ---------------------------------------------------------------------------------------------------


def scales():
    for kind, lines in SCALES.items():
        for line in lines:
            yield pytest.param(kind, [answer.strip().split("|") for answer in line.split(" < ")], id=line[:30])


@pytest.mark.parametrize(("kind", "answers"), list(scales()))
def test_known_words_are_ordered_and_it_is_said(kind, answers):
    rng = random.Random(1)
    for _ in range(5):
        words = [rng.choice(answer).capitalize() for answer in answers]
        some = sorted(rng.sample(range(len(words)), max(2, len(words) - 2)))
        for chosen in (list(range(len(words))), some):
            expected = [words[k] for k in chosen]
            with pytest.warns(OrderNote, match="answers of a known scale, .*If that is not their order"):
                assert encode(shuffled(expected)).classes.tolist() == expected


def test_no_two_known_scales_disagree_about_two_words():
    places = [
        {word: k for k, a in enumerate(line.split(" < ")) for word in a.strip().split("|")}
        for lines in SCALES.values()
        for line in lines
    ]
    for one, other in itertools.combinations(places, 2):
        for a, b in itertools.combinations(one.keys() & other.keys(), 2):
            assert (one[a] - one[b]) * (other[a] - other[b]) >= 0, (a, b)


def test_capitals_and_spaces_are_one_class_of_a_known_scale():
    with pytest.warns(OrderNote):
        labels = encode(["Agree", "agree ", "AGREE", "Strongly\u00a0disagree", "strongly disagree", "?"])
    assert labels.classes.tolist() == ["strongly disagree", "AGREE"]


@pytest.mark.parametrize("y", [["never", "bus", "car"], ["bus", "train", "car"]])
def test_what_is_not_one_known_scale_asks_for_the_order(y):
    with pytest.warns(OrderWarning, match="classes="):
        encode(y)
    with pytest.raises(UnknownOrderError, match="classes="):
        rw.metrics.mean_absolute_error(y, y)


# -- everywhere --------------------------------------------------------------------------------------------------------

X = pd.DataFrame({"a": np.linspace(0, 1, 60), "b": np.tile([0.0, 1.0, 0.5], 20)})
LEVELS = (np.arange(60) * 5) // 60
NUMBERED = [f"{k + 8} - {AGREEMENT[k]}" for k in LEVELS]  # 10 would sort before 8 as text
NAMES = [f"{k + 8} - {word}" for k, word in enumerate(AGREEMENT)]
MODELS = {
    "PRIL": lambda: rw.PRIL(random_state=0), "SVOR": lambda: rw.SVOR(tol=0.1), "CumulativeLink": rw.CumulativeLink,
    "TableModel": lambda: rw.TableModel(rw.SVOR(tol=0.1)),
    "PathCV": lambda: rw.PathCV(rw.SVOR(tol=0.1), alphas=[0.1, 1.0], cv=2),
    "CalibratedOrdinal": lambda: rw.CalibratedOrdinal(rw.SVOR(tol=0.1), cv=2),
    "OnlineCumulativeLink": lambda: rw.OnlineCumulativeLink(random_state=0),
    "AutoOrdinal": lambda: rw.AutoOrdinal(n_fits=30, estimators=["constant", "SVOR"]),
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_estimators_learn_numbered_names_and_predict_them(name, tmp_path):
    table = X if name in ("TableModel", "AutoOrdinal") else X.to_numpy()
    model = MODELS[name]().fit(table, NUMBERED)
    assert model.classes_.tolist() == NAMES
    assert set(model.predict(table)) <= set(NAMES)
    twin = MODELS[name]().fit(table, LEVELS + 8)
    if name == "CalibratedOrdinal":  # folds of texts are dealt in another order than folds of numbers
        return
    assert [NAMES.index(p) + 8 for p in model.predict(table)] == twin.predict(table).tolist()
    assert model.score(table, [k + 8 for k in LEVELS]) == model.score(table, NUMBERED) == twin.score(table, LEVELS + 8)
    rw.save(model, tmp_path / "m")
    assert rw.load(tmp_path / "m").predict(table).tolist() == model.predict(table).tolist()


def test_streams():
    model = rw.PRIL()
    with pytest.raises(ValueError, match="the first call of PRIL on a stream needs all classes"):
        model.partial_fit(X.to_numpy(), NUMBERED)
    model.partial_fit(X.to_numpy(), NUMBERED, classes=NAMES).partial_fit(X.to_numpy()[:2], ["8", "9 to 11"])
    grown = rw.PRIL()
    for x, label in zip(X.to_dict("records"), random.Random(0).sample(NUMBERED, 60), strict=True):
        grown.learn_one(x, label)
    assert grown.classes_.tolist() == NAMES
    grown.learn_one({"a": 1.0}, 9)
    grown.learn_one({"a": 1.0}, "9: Disagree")
    assert grown.classes_.tolist() == NAMES
    with pytest.raises(ValueError, match="'other' cannot be ordered among the classes"):
        grown.learn_one({"a": 1.0}, "other")


def test_single_rows_warn_of_an_order_when_it_is_guessed_and_note_a_known_one_once():
    words, sorted_words = rw.PRIL(), rw.PRIL()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for label in ["often", "never", "always", "never", "rarely"]:
            words.learn_one({"a": 1.0}, label)
    assert [w.category for w in caught] == [OrderNote]
    assert words.classes_.tolist() == ["never", "rarely", "often", "always"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sorted_words.learn_one({"a": 1.0}, "red")
    with pytest.warns(OrderWarning, match=r"they are sorted: \['amber', 'red'\]"):
        sorted_words.learn_one({"a": 1.0}, "amber")


@pytest.mark.parametrize(
    ("y", "pair"),
    [
        (["strongly agree", "agree", "neutral", "neither agree nor disagree", "disagree", "strongly disagree"],
         "'neither agree nor disagree' and 'neutral' .*agreement"),
        (["never", "rarely", "seldom", "often"], "'rarely' and 'seldom' .*frequency"),
        (["good", "ok", "okay", "bad"], "'ok' and 'okay' .*quality"),
        (["medium", "moderate", "low", "high"], "'medium' and 'moderate' .*level"),
    ],
)  # fmt: skip
def test_two_words_for_one_answer_of_a_known_scale_are_named(y, pair):
    with pytest.raises(UnknownOrderError, match=rf"{pair}.*classes="):
        encode(y)
    assert encode(y, classes=y).classes.tolist() == y


def test_metrics_take_the_declared_order():
    expected = rw.metrics.mean_absolute_error(LEVELS, LEVELS[::-1])
    assert rw.metrics.mean_absolute_error(NUMBERED, NUMBERED[::-1], classes=NAMES) == expected
    words = [AGREEMENT[k] for k in LEVELS]
    assert rw.metrics.mean_absolute_error(words, words[::-1], classes=AGREEMENT) == expected
    some = [NUMBERED[0], NUMBERED[-1], "9 - disagree"]  # each side has some of the classes
    assert rw.metrics.mean_absolute_error(NUMBERED[:3], some, classes=NAMES) == (0 + 4 + 1) / 3


@pytest.mark.parametrize(
    "make", [list, np.array, pd.Series, pd.Categorical, pl.Series, pa.array, lambda y: pd.Series(y, dtype="string")]
)
def test_every_container(make):
    assert encode(make(NUMBERED)).classes.tolist() == NAMES


def test_the_command(tmp_path):
    path, model = tmp_path / "t.csv", tmp_path / "m"
    X.assign(y=NUMBERED).to_csv(path, index=False)
    assert facts("fit", path, "--label", "y", "--estimator", "CumulativeLink", "-o", model)["classes"] == NAMES
    assert facts("evaluate", model, path, "--label", "y")["rows"] == 60
    X.assign(y=LEVELS + 8).to_csv(tmp_path / "numbers.csv", index=False)
    assert facts("evaluate", model, tmp_path / "numbers.csv", "--label", "y")["rows"] == 60
    run("predict", model, path, "-o", tmp_path / "p.csv")
    assert set(pd.read_csv(tmp_path / "p.csv")["prediction"]) <= set(NAMES)
    assert run("compare", path, "--label", "y", "--estimator", "PRIL").exit_code == 0
    X.assign(y=[AGREEMENT[k] for k in LEVELS]).to_csv(path, index=False)
    result = run("fit", path, "--label", "y", "--estimator", "PRIL", "-o", model)
    assert result.exit_code == 0
    assert (
        "rankwise: note: the labels are answers of a known scale, agreement, in the order ['strongly disagree'"
        in result.stderr
    )
