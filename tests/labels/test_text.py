"""Labels written as text: every form, every row, and back."""

import contextlib
import pickle
import time
import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise import PRIL, SVOR, RowError, TableModel
from rankwise.labels import OrderWarning, UnreadableLabelsError, encode, format_labels, parse_labels
from rankwise.labels.formatting import candidates, interval_ends
from rankwise.labels.grammar import LANGUAGES, LabelReader
from tests.strategies import admissible_codes, annotated, times

NAMES = ["very low", "so-so", "not-bad|fine", "high", "?"]


def admitted(texts, classes):
    return encode(parse_labels(texts, classes), classes).admissible().tolist()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3", [3]),
        (" 3 ", [3]),
        ("3.0", [3]),
        ("+3", [3]),
        ("3-5", [3, 4, 5]),
        (" 3 - 5 ", [3, 4, 5]),
        (">=4", [4, 5]),
        (">= 4", [4, 5]),
        (">4", [5]),
        ("<=2", [-3, -1, 2]),
        ("<2", [-3, -1]),
        ("-3--1", [-3, -1]),
        ("-3-2", [-3, -1, 2]),
        ("-1", [-1]),
        ("2|5", [2, 5]),
        ("-3|-1", [-3, -1]),
        ("5 | 2 | 2", [2, 5]),
        ("?", [-3, -1, 2, 3, 4, 5]),
        ("", [-3, -1, 2, 3, 4, 5]),
        ("  ", [-3, -1, 2, 3, 4, 5]),
        (None, [-3, -1, 2, 3, 4, 5]),
        ("NaN", [-3, -1, 2, 3, 4, 5]),
    ],
)
def test_numbers(text, expected):
    classes = [-3, -1, 2, 3, 4, 5]
    assert admitted([text], classes) == [[value in expected for value in classes]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("so-so", [1]),
        ("very low", [0]),
        ("very low-high", [0, 1, 2, 3]),
        ("so-so-high", [1, 2, 3]),
        ("very low - so-so", [0, 1]),
        ("so-so-not-bad|fine", [1, 2]),
        (">=not-bad|fine", [2, 3, 4]),
        (">so-so", [2, 3, 4]),
        ("<high", [0, 1, 2]),
        ("very low|high", [0, 3]),
        ("not-bad|fine", [2]),
        ("?", [4]),  # a declared name is a name
        ("", [0, 1, 2, 3, 4]),
    ],
)
def test_names_may_hold_the_signs_of_the_notation(text, expected):
    assert admitted([text], NAMES) == [[code in expected for code in range(5)]]


def test_names_that_make_an_interval_ambiguous():
    with pytest.raises(ValueError, match=r"row 0: 'a-b-c' can be read as an interval in 2 ways: list .* with \|"):
        parse_labels(["a-b-c"], ["a", "a-b", "b-c", "c"])


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["3", "1"], np.array([3, 1])),
        (["3", "?"], np.array([3.0, np.nan])),
        (["3", "1.5"], np.array([3.0, 1.5])),
        (["3-5", "1"], np.array([[3, 5], [1, 1]])),
        (["<2", ">2"], np.array([[np.nan, 1], [3, np.nan]])),
    ],
)
def test_without_classes_numbers_become_arrays(texts, expected):
    y = parse_labels(texts)
    assert y.dtype == expected.dtype
    np.testing.assert_array_equal(y, expected)


def test_without_classes_anything_else_is_a_list_as_said():
    assert parse_labels(["low", "low-high", "?", "2|3"]) == ["low", "low-high", None, {2, 3}]


@pytest.mark.parametrize(
    ("texts", "classes", "message"),
    [
        (["1", "9"], [1, 2], r"row 1: the label '9' is not one of the classes \[1, 2\]\. In text, a label is written"),
        (["1", "2-1"], [1, 2], "row 1: the lower end of an interval must not be above its upper end. Got '2-1'"),
        (["3-1"], None, "row 0: the lower end of an interval must not be above its upper end. Got '3-1'"),
        ([">2"], [1, 2], "row 0: there is no class > 2. Got '>2' with the classes"),
        (["1|9"], [1, 2], r"row 0: '9' in '1\|9' is not one of the classes \[1, 2\]"),
        (["<=7"], [1, 2], "row 0: '7' in '<=7' is not one of the classes"),
        ([">=", "1"], None, "row 0: cannot read '>=' as a label: a label is written"),
        (["1||2"], None, r"row 0: cannot read '1\|\|2' as a label"),
        ([">low"], None, "row 0: '>low' needs to know the next class: declare the classes"),
        ([">1.5"], None, "row 0: '>1.5' needs to know the next class"),
        (["1e999"], None, "row 0: '1e999' is too large for a label"),
        (["1", 2], None, "row 1: a label in a text column must be text. Got 2"),
        ([[1], "2"], None, r"row 0: a label in a text column must be text. Got \[1\]"),
        ("3-5", None, "labels in text must be a sequence of texts. Got '3-5'"),
        (["1"], ["1", 1], "classes must differ when they are written as text"),
    ],
)
def test_errors_name_row_value_and_rule(texts, classes, message):
    with pytest.raises(ValueError, match=message):
        parse_labels(texts, classes)


@pytest.mark.parametrize(
    "make",
    [
        list,
        np.array,
        pd.Series,
        pl.Series,
        pa.array,
        lambda texts: pa.array(texts).dictionary_encode(),
        lambda texts: pa.chunked_array([texts[:1], texts[1:]]),
        lambda texts: pa.DictionaryArray.from_arrays(
            pa.array([1, 2, 1]), pa.array(["not used", *dict.fromkeys(texts)])
        ),
    ],
)
def test_every_column_of_texts(make):
    np.testing.assert_array_equal(parse_labels(make(["3-5", "4", "3-5"])), [[3, 5], [4, 4], [3, 5]])


def test_nulls_in_arrow_columns():
    np.testing.assert_array_equal(parse_labels(pa.array(["3", None])), [3, np.nan])
    assert admitted(pa.array([None, "1"]), [1, 2]) == [[True, True], [True, False]]


def test_a_distinct_text_is_parsed_once(monkeypatch):
    parsed = []
    monkeypatch.setattr(LabelReader, "parse", lambda self, text: parsed.append(text) or (1, 2))
    y = parse_labels(pa.array(["1-2"] * 100_000))
    assert parsed == ["1-2"]
    assert y.shape == (100_000, 2)


@given(annotated(), st.data())
def test_texts_mean_the_codes_they_were_written_from(labels, data):
    """Texts put together here from known codes, in a form drawn for each."""
    texts = []
    for codes in labels.codes:
        values = [str(labels.classes[code]) for code in codes]
        forms = ["|".join(values), " | ".join(reversed(values))]
        if all(b == a + 1 for a, b in pairwise(codes)):
            forms.append(f"{values[0]}-{values[-1]}" if len(codes) > 1 else values[0])
            if codes[-1] == len(labels.classes) - 1:
                forms.append(f">={values[0]}")
                forms += [f">{labels.classes[codes[0] - 1]}"] if codes[0] else ["?"]
            if codes[0] == 0:
                forms.append(f"<= {values[-1]}")
        texts.append(data.draw(st.sampled_from(forms)))
    expected = [[code in codes for code in range(len(labels.classes))] for codes in labels.codes]
    assert admitted(texts, labels.classes) == expected


@given(annotated(), st.sampled_from(["shortest", "candidates"]))
def test_formatted_labels_read_back(labels, style):
    texts = format_labels(labels.y, labels.classes, style=style)
    assert admitted(texts, labels.classes) == labels.encoded().admissible().tolist()


names = st.text(st.sampled_from("ab-|<>=? 1"), min_size=1, max_size=5).filter(lambda name: name == name.strip())


@times(3)
@given(st.lists(names, min_size=2, max_size=5, unique=True), st.data())
def test_names_full_of_signs_read_back_or_are_refused(classes, data):
    kind = data.draw(st.sampled_from(["exact", "interval", "candidates"]))
    codes = data.draw(admissible_codes(len(classes), kind))
    y = [{classes[code] for code in codes}]
    try:
        texts = format_labels(y, classes)
    except ValueError:
        with pytest.raises(ValueError, match=r"row 0: .* cannot be written as text that reads back"):
            format_labels(y, classes)
        return
    assert admitted(texts, classes) == [[code in codes for code in range(len(classes))]]


@pytest.mark.parametrize(
    ("y", "style", "expected"),
    [
        ([3, 1], "shortest", ["3", "1"]),
        (np.array([3.0, np.nan, 1.5]), "shortest", ["3", "?", "1.5"]),
        (np.array([[3, np.nan], [np.nan, 2], [np.nan, np.nan]]), "shortest", [">=3", "<=2", "?"]),
        (np.array([[2, 2], [-3, -1]]), "shortest", ["2", "-3--1"]),
        ([(1, 3), {4, 2}, "x"], "shortest", ["1-3", "2|4", "x"]),
        ([(1, 3), (2, 2)], "candidates", ["1|2|3", "2"]),
        (pd.Categorical(["a", "b"]), "shortest", ["a", "b"]),
    ],
)
def test_without_classes_labels_are_written_as_said(y, style, expected):
    assert format_labels(y, style=style).tolist() == expected


@pytest.mark.parametrize(
    ("y", "arguments", "message"),
    [
        ([1, {"a|b", "c"}], {}, r"row 1: \['a\|b', 'c'\] cannot be written as text that reads back"),
        ([1, (1, None)], {"style": "candidates"}, r"row 1: the classes between the ends of \(1, None\) are not known"),
        ([(0.5, 1.5)], {"style": "candidates"}, "row 0: the classes between the ends"),
        ([1], {"style": "long"}, "style must be 'shortest' or 'candidates'. Got 'long'"),
        (np.array([[True, False]]), {}, "a candidate mask and an interval column need their classes"),
    ],
)
def test_what_cannot_be_written(y, arguments, message):
    with pytest.raises(ValueError, match=message):
        format_labels(y, **arguments)


def test_candidates_that_are_neighbours_have_ends_whatever_type_holds_them():
    assert interval_ends([{1.0, 2.0}, {3, 4, 5}]).tolist() == [[1, 2], [3, 5]]


def test_interval_ends_and_candidates():
    y = [3, (1, None), {1, 2}, None]
    assert interval_ends(y).tolist() == [[3, 3], [1, None], [1, 2], [None, None]]
    assert interval_ends(y, [1, 2, 3]).tolist() == [[3, 3], [None, None], [1, 2], [None, None]]
    assert candidates(y, [1, 2, 3]).tolist() == [(3,), None, (1, 2), None]
    with pytest.raises(ValueError, match=r"row 1: the candidates \[1, 3\] have gaps"):
        interval_ends([1, {1, 3}], [1, 2, 3])


@times(10)
@given(st.lists(st.text(st.sampled_from("0123456789.-+|<>=? eEnaA\t\0é"), max_size=8), max_size=3), st.booleans())
def test_any_text_is_read_or_refused_with_its_row(texts, with_classes):
    classes = [-1, 0, 1, 2.5, 10] if with_classes else None
    try:
        y = parse_labels(texts, classes)
    except ValueError:
        with pytest.raises(ValueError, match=r"^row \d: [^\n]*$"):
            parse_labels(texts, classes)
        return
    assert len(y) == len(texts)


# -- as people write them ----------------------------------------------------------------------------------------------

WRITTEN = {
    "3": 3, "3–4": (3, 4), "3—4": (3, 4), "3 to 4": (3, 4), "3..5": (3, 5), "3…5": (3, 5), "between 2 and 4": (2, 4),
    "3-4 stars": (3, 4), "4+": (4, None), "4+ stars": (4, None), "≥4": (4, None), "at least 4": (4, None),
    "5 or more": (5, None), "more than 3": (4, None), "up to 2": (None, 2), "≤ 2": (None, 2), "2 or less": (None, 2),
    "less than 3": (None, 2), "4 or 5": {4, 5}, "2/3": {2, 3}, "1 or 3 or 5": {1, 3, 5}, "3 stars": 3, "3★": 3,
    "3 out of 5": 3, "3 of 5 points": 3, "At Least 4": (4, None), "": None, "-": None, "—": None, "n/a": None,
    "N/A": None, "NULL": None, "unknown": None, "?": None, "+3": 3, "−3": -3, "−3-−1": (-3, -1),
}  # fmt: skip


@pytest.mark.parametrize(("text", "said"), WRITTEN.items(), ids=map(repr, WRITTEN))
def test_labels_as_people_write_them(text, said):
    """With declared classes, without, in a mixture with numbers, and on the command line: one grammar."""
    classes = [-3, -2, -1, 0, 1, 2, 3, 4, 5]
    expected = encode([said], classes)
    assert encode([text], classes) == expected
    assert encode([text, 1, None], classes)[:1] == expected
    assert encode(parse_labels([text], classes), classes) == expected
    plain = encode([text, *classes])
    assert plain.classes.tolist() == classes
    assert plain.classes.dtype == np.int64
    assert plain[:1] == expected


@pytest.mark.parametrize(
    ("language", "texts", "said"),
    [
        ("de", ["mindestens 4", "2 bis 3", "4 oder 5", "3 von 5", "höchstens 2", "unbekannt", "3 Sterne"],
         [(4, None), (2, 3), {4, 5}, 3, (None, 2), None, 3]),
        ("fr", ["au moins 4", "2 à 3", "4 ou 5", "3 sur 5", "jusqu'à 2", "inconnu", "3 étoiles"],
         [(4, None), (2, 3), {4, 5}, 3, (None, 2), None, 3]),
        ("es", ["al menos 4", "2 a 3", "4 o 5", "3 de 5", "hasta 2", "desconocido", "3 estrellas"],
         [(4, None), (2, 3), {4, 5}, 3, (None, 2), None, 3]),
    ],
)  # fmt: skip
def test_words_of_other_languages(language, texts, said):
    classes = [1, 2, 3, 4, 5]
    assert encode(parse_labels(texts, classes, language=language), classes) == encode(said, classes)
    assert parse_labels(texts[:1])[0] == texts[0]  # in English it is a name
    with pytest.raises(ValueError, match="language must be one of en, de, fr, es"):
        parse_labels(texts, language="xx")


@pytest.mark.parametrize("text", ["3/5", "5/4", "1/2/2024", "3,5", "1,000", "6 out of 5"])
def test_what_stays_ambiguous_is_refused(text):
    for classes in (None, [1, 2, 3, 4, 5]):
        with pytest.raises(RowError, match=f"row 1: (cannot read '{text}' as a label|the label '{text}' is not one)"):
            encode(["1", text], classes)


@pytest.mark.filterwarnings("ignore::rankwise.labels.OrderWarning")
def test_a_name_with_a_dash_is_a_name_unless_both_ends_are_classes():
    labels = encode(["non-smoker", "ex-smoker", "smoker", "up to date", "state-of-the-art"])
    assert labels.is_exact.all()
    assert labels.classes.tolist() == ["ex-smoker", "non-smoker", "smoker", "state-of-the-art", "up to date"]
    with pytest.raises(RowError, match="row 2: 'low-high' may be a class of its own or the range between two others"):
        encode(["low", "high", "low-high"])
    assert encode(["low-high"], ["low", "middle", "high"]).upper.tolist() == [2]


def test_a_declared_class_is_that_class_whatever_it_looks_like():
    classes = ["3-5", ">=4", "NA", "null", "nan", "", "4+"]
    assert encode(classes, classes).lower.tolist() == list(range(7))
    assert encode(pd.Series(["3-5", None, "NA"]), classes).tolist() == ["3-5", None, "NA"]


def test_classes_that_look_alike_as_text_are_told_apart_in_python():
    assert encode(["1", 1, "a", " a"], ["1", 1, "a", " a"]).lower.tolist() == [0, 1, 2, 3]
    with pytest.raises(RowError, match="row 1: classes must differ when they are written as text"):
        encode(["1", "1-1"], ["1", 1])


def test_mixtures_of_a_spreadsheet():
    labels = encode([3, "3-5", None, "", 4.0, ">=5", "1"])
    assert labels.classes.tolist() == [1, 3, 4, 5]
    assert labels.classes.dtype == np.int64
    assert labels.tolist() == [3, (3, 5), None, None, 4, 5, 1]
    for y in (pd.Series(["3", "3-5"]), pd.Categorical(["3", "3-5"]), pl.Series(["3", "3-5"]), pa.array(["3", "3-5"])):
        assert encode(y).classes.tolist() == [3, 4, 5]


def test_an_error_names_every_unreadable_label_with_its_count_and_first_row():
    with pytest.raises(UnreadableLabelsError) as caught:
        encode(["1", "x", "2", "y", "x", "1-9", "x"], [1, 2, 3])
    assert caught.value.found == [("x", 3, 1), ("y", 1, 3), ("1-9", 1, 5)]
    assert str(caught.value) == (
        "row 1: the label 'x' is not one of the classes [1, 2, 3]. 3 rows hold this label. "
        "Nor can these be read: 'y' (row 3), '1-9' (row 5)."
    )
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    with pytest.raises(UnreadableLabelsError, match=r"row 2: a label is 'x' where .*Nor .*: 'y' \(row 4 and 1 more\)"):
        encode(["1", 2, "x", "3", "y", "y", "3", "3"])
    with pytest.raises(UnreadableLabelsError, match=r"and 5 others\.$"):
        encode(["1", *map(chr, range(97, 113))], [1, 2])


def test_the_command_knows_the_languages():
    from rankwise.cli._options import Language

    assert tuple(Language) == LANGUAGES


def test_a_model_learns_from_texts_as_from_what_they_say():
    frame = pd.DataFrame(
        {"x": np.arange(12.0), "stars": ["1", "1-2", "2", "2", "3", "3-4", "<=4", "4", "", "5", "5", ">=4"]}
    )
    model = TableModel(SVOR()).fit(frame[["x"]], frame["stars"])
    assert model.classes_.tolist() == [1, 2, 3, 4, 5]
    said = [1, (1, 2), 2, 2, 3, (3, 4), (None, 4), 4, None, 5, 5, (4, None)]
    twin = TableModel(SVOR(classes=[1, 2, 3, 4, 5])).fit(frame[["x"]], said)
    assert model.estimator_.coef_.tolist() == twin.estimator_.coef_.tolist()
    assert model.score(frame[["x"]], frame["stars"]) == twin.score(frame[["x"]], said)
    named = TableModel(SVOR(classes=["1-2", "3"])).fit(frame[["x"]], ["1-2", "3"] * 6)
    assert named.classes_.tolist() == ["1-2", "3"]


def test_one_class_or_a_measurement_warns():
    X = np.arange(60.0)[:, None]
    with pytest.warns(UserWarning, match=r"one class only, \[3\].*classes=\[lowest"):
        PRIL().fit(X, np.full(60, 3))
    with pytest.warns(UserWarning, match=r"the labels name 60 classes.*as a measurement would.*digitize"):
        PRIL().fit(X, np.arange(60) * 10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PRIL(classes=[3, 4]).fit(X, np.full(60, 3))
        PRIL().fit(np.tile(X, (10, 1)), np.tile(np.arange(60), 10))  # as ages are
        encode(np.arange(60) * 10)


@pytest.mark.filterwarnings("ignore::rankwise.labels.OrderWarning")
def test_identifiers_warn():
    X, names = np.arange(60.0)[:, None], [f"id{i}" for i in range(60)]
    with pytest.warns(UserWarning, match=r"60 classes in 60 rows, as identifiers would\. .* with classes=\[\.\.\.\]"):
        PRIL().fit(X, names)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.simplefilter("ignore", OrderWarning)
        PRIL(classes=names).fit(X, names)
        PRIL().fit(np.tile(X, (2, 1)), names * 2)  # every class twice


HOSTILE = {
    "digits": "1" * 50_000 + "x",
    "zeros": "0" * 50_000 + "1",
    "spaces": "1" + " " * 50_000 + "x",
    "ranges": "1 to " * 10_000 + "\n1",
    "dashes": "1-" * 25_000 + "1",
    "dots": "1.." * 16_000 + "1",
    "candidates": "1|" * 25_000 + "1",
    "slashes": "1/" * 25_000 + "1",
    "alternatives": "1 or " * 10_000 + "\n1",
    "scores": "1 of " * 10_000 + "\n1",
    "both ends": "between 1" + " and" * 12_000,
    "exponent": "1e" + "1" * 50_000,
    "units": "1" + " " * 50_000 + "starx",
    "minus signs": "−" * 50_000,
}


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize("classes", [None, [1, 2, 3], ["low", "a-b", "1 to 2"]], ids=str)
@pytest.mark.parametrize("what", HOSTILE)
def test_time_is_in_proportion_to_the_text(what, classes, language):
    start = time.process_time()
    with contextlib.suppress(ValueError):
        parse_labels([HOSTILE[what], "1"], classes, language=language)
    assert time.process_time() - start < 5.0
