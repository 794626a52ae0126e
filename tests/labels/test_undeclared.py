"""One rule for every form: a text is taken apart only if its parts are numbers or declared classes."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest

from rankwise import PRIL
from rankwise.labels import OrderWarning, UnreadableLabelsError, encode, parse_labels
from rankwise.labels.grammar import LANGUAGES
from tests.cli.commands import run

pytestmark = pytest.mark.filterwarnings("ignore::rankwise.labels.OrderWarning")

CLASSES = ["alpha", "beta", "gamma", "omega"]
# What a form means with the declared classes alpha < beta < gamma < omega, and with the numbers 1 to 4 in their place.
SIGNED = {
    "{beta}|{gamma}": {1, 2}, "{beta} | {gamma}": {1, 2}, "{beta}｜{gamma}": {1, 2},
    "{alpha}|{gamma}|{omega}": {0, 2, 3},
    ">={beta}": {1, 2, 3}, ">= {beta}": {1, 2, 3}, "≥{beta}": {1, 2, 3}, "⩾{beta}": {1, 2, 3}, "＞＝{beta}": {1, 2, 3},
    "<={beta}": {0, 1}, "≤{beta}": {0, 1}, "⩽ {beta}": {0, 1}, "＜＝{beta}": {0, 1},
    ">{beta}": {2, 3}, "<{beta}": {0}, "＞{beta}": {2, 3},
}  # fmt: skip
SPELLED = {
    "{beta}-{omega}": {1, 2, 3}, "{beta} - {omega}": {1, 2, 3}, "{beta}–{omega}": {1, 2, 3}, "{beta}—{gamma}": {1, 2},
    "{beta}－{omega}": {1, 2, 3}, "{beta}..{omega}": {1, 2, 3}, "{beta}…{omega}": {1, 2, 3},
    "{beta} to {omega}": {1, 2, 3}, "from {beta} to {omega}": {1, 2, 3}, "between {beta} and {gamma}": {1, 2},
    "at least {gamma}": {2, 3}, "{gamma} or more": {2, 3}, "{gamma} or higher": {2, 3}, "{gamma} or above": {2, 3},
    "{gamma} and up": {2, 3}, "{gamma} and above": {2, 3}, "more than {gamma}": {3}, "above {gamma}": {3},
    "over {gamma}": {3}, "at most {beta}": {0, 1}, "up to {beta}": {0, 1}, "{beta} or less": {0, 1},
    "{beta} or fewer": {0, 1}, "{beta} or lower": {0, 1}, "{beta} or below": {0, 1}, "{beta} and below": {0, 1},
    "less than {beta}": {0}, "fewer than {beta}": {0}, "below {beta}": {0}, "under {beta}": {0},
    "{alpha} or {gamma}": {0, 2}, "{alpha} or {gamma} or {omega}": {0, 2, 3}, "{beta}/{gamma}": {1, 2},
}  # fmt: skip
# Never labels, whatever the parts are.
NEVER = ["<={beta} or {gamma}", ">={beta}|{gamma}", "<={beta}-{gamma}", "{beta}||{gamma}", "{beta}|", ">=", "={beta}",
         "=<{beta}", "=>{beta}", ">={beta} {gamma}x", "|"]  # fmt: skip
NUMBERS = dict(zip(CLASSES, "1234", strict=True))
NAMES = {name: name for name in CLASSES}
PLACEHOLDERS = {name: "qx" + name[::-1] for name in CLASSES}  # names that no row has


def codes(labels, row=0):
    return set(np.flatnonzero(labels.admissible()[row]).tolist())


@pytest.mark.parametrize("form", [*SIGNED, *SPELLED])
def test_declared_names_and_numbers_are_taken_apart(form):
    expected = (SIGNED | SPELLED)[form]
    assert codes(encode([form.format(**NAMES)], CLASSES)) == expected
    number = form.format(**NUMBERS)
    assert codes(encode([number], [1, 2, 3, 4])) == expected
    assert codes(encode([number, "1", "2", "3", "4"])) == expected
    assert codes(encode(parse_labels([number], [1, 2, 3, 4]), [1, 2, 3, 4])) == expected


@pytest.mark.parametrize("form", SIGNED)
def test_undeclared_names_with_signs_are_refused(form):
    for names in (NAMES, PLACEHOLDERS):
        text = form.format(**names)
        for others in ([], CLASSES):
            with pytest.raises(UnreadableLabelsError, match=r"(neither a number nor a declared class|the next class)"):
                encode([text, *others])
        with pytest.raises(UnreadableLabelsError):
            parse_labels([text])
        with pytest.raises(UnreadableLabelsError, match="is not one of the classes"):
            encode([text], ["x", "y"])


@pytest.mark.parametrize("form", SPELLED)
def test_undeclared_names_in_words_are_names_unless_other_rows_have_their_parts(form):
    text = form.format(**PLACEHOLDERS)
    assert parse_labels([text]) == [text]
    assert text in encode([text, *CLASSES]).classes.tolist()
    text = form.format(**NAMES)
    with pytest.raises(UnreadableLabelsError, match=r"may be a class of its own or .* others: declare the classes"):
        encode([text, *CLASSES])
    with pytest.raises(UnreadableLabelsError, match=r"may be a class of its own or .* others: declare the classes"):
        encode([text.upper(), *CLASSES])
    assert encode([text], [text, "x"]).tolist() == [text]


@pytest.mark.parametrize("form", NEVER)
def test_what_is_no_label(form):
    for names, classes in itertools.product((NAMES, NUMBERS, PLACEHOLDERS), (None, CLASSES, [1, 2, 3, 4])):
        with pytest.raises(UnreadableLabelsError, match="row 0: "):
            encode([form.format(**names)], classes)


@pytest.mark.parametrize("text", ["[1,3]", "(1, 3]", "[1;3)", "{1, 3}", "[1, 2, 3]", "3, 5", "1,5", "-1,5", "（1，3）"])
def test_brackets_and_commas_are_refused_with_the_remedy(text):
    for classes in (None, [1, 2, 3]):
        with pytest.raises(UnreadableLabelsError, match=r"write 3(-|\.)5|is not one of the classes"):
            encode([text], classes)


# Digits of other scripts, and signs of other widths.
SCRIPTS = {
    "full width": "０１２３４５６７８９", "Arabic-Indic": "٠١٢٣٤٥٦٧٨٩",
    "Persian": "۰۱۲۳۴۵۶۷۸۹", "Devanagari": "०१२३४५६७८९",
    "Bengali": "০১২৩৪৫৬৭৮৯", "Thai": "๐๑๒๓๔๕๖๗๘๙", "mathematical": "𝟎𝟏𝟐𝟑𝟒𝟓𝟔𝟕𝟖𝟗",
}  # fmt: skip
WRITTEN = ["{}", " {} ", "{}-4", "{} - 4", ">={}", "<={}", ">{}", "{}|4", "{} or 4", "{} to 4", "{}+", "at least {}",
           "{} out of 5", "{} stars", "{}.0", "+{}", "between {} and 4", "{}\u00a0or 4",
           "\ufeff{}", "{}\u200b"]  # fmt: skip


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("form", WRITTEN)
def test_numbers_of_every_script_are_the_same_numbers(form, script):
    text, plain = form.format(SCRIPTS[script][2]), form.format(2).replace("\ufeff", "").replace("\u200b", "")
    for classes in ([1, 2, 3, 4, 5], [0.5, 2.0, 4.0, 5.0]):
        assert encode([text], classes) == encode([plain], classes)
    whole = encode([text, "1", "2", "3", "4", "5", plain])
    assert whole.classes.tolist() == [1, 2, 3, 4, 5]
    assert whole[:1] == whole[-1:]
    if form.strip() == "{}":
        assert encode([text], ["2", "3"]).tolist() == ["2"]


def test_interval_columns_read_numbers_of_every_script(tmp_path):
    path = tmp_path / "t.csv"
    pd.DataFrame({"x": range(8), "low": list("１２٣1") * 2, "high": list("３４٣2") * 2}).to_csv(path, index=False)
    from rankwise.io import LabelColumns, open_table

    table = open_table([path])
    batch = next(iter(table.batches()))
    y, _ = LabelColumns(lower="low", upper="high").read(batch)
    assert np.asarray(y, dtype=float).tolist() == [[1, 3], [2, 4], [3, 3], [1, 2]] * 2


@pytest.mark.parametrize("text", ["²", "½", "①", "Ⅳ", "3²", "三", "1½"])
def test_what_is_no_decimal_digit_is_not_read_as_one(text):
    with pytest.raises(UnreadableLabelsError, match="where most are numbers"):
        encode([text, "1", "2", "3"])
    with pytest.raises(UnreadableLabelsError, match="is not one of the classes"):
        encode([text], [1, 2, 3, 4, 32])


def test_capitals_dashes_and_spaces_do_not_make_another_declared_class():
    classes = ["Very low", "so-so", "high"]
    for text in ("very low", "VERY LOW", "Very\u00a0low", "very  low", " Very low ", "Ｖｅｒｙ low"):
        found = encode([text, f"{text}–so–so", f">={text}"], classes).tolist()
        assert found == ["Very low", ("Very low", "so-so"), None]
    with pytest.raises(UnreadableLabelsError, match="'HI' is not one of the classes"):
        encode(["HI"], ["Hi", "hi"])


@pytest.mark.parametrize("language", LANGUAGES)
def test_missing_answers_are_read_however_they_are_typed(language):
    answer = {"en": "No answer", "de": "Keine Angabe", "fr": "Sans réponse", "es": "Sin respuesta"}[language]
    for text in (answer, answer.upper(), answer.replace(" ", "\u00a0"), answer.replace(" ", "  "), "Ｎ／Ａ", "N/A "):
        assert np.isnan(parse_labels([text], language=language)).all()


@pytest.mark.parametrize("labels", [["red|blue", "red"], [">=foo", "foo"], ["<=2 or 3", "2"], ["at least red", "red"]])
def test_the_command_refuses_them_in_one_line(tmp_path, labels):
    path = tmp_path / "t.csv"
    pd.DataFrame({"x": range(20), "y": labels * 10}).to_csv(path, index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OrderWarning)
        result = run("fit", path, "--label", "y", "--estimator", "PRIL", "-o", tmp_path / "m")
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert "row 1 (line 2)" in result.stderr
    with pytest.raises(ValueError, match="row 0: "):
        PRIL().fit(np.arange(20.0)[:, None], labels * 10)
