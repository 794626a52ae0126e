"""Dates and durations: every form of them gives the same parts, and slips are named."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import rankwise as rw
from rankwise import TableEncoder
from rankwise.features import RowError

MOMENTS = pd.to_datetime(["2023-12-31 23:30", "2024-02-29 00:00", "1969-07-20 20:17", "2024-05-31 12:00"])
FORMS = {
    "pandas": lambda: pd.DataFrame({"when": MOMENTS}),
    "zone": lambda: pd.DataFrame({"when": MOMENTS.tz_localize("Europe/Vienna")}),
    "texts": lambda: pd.DataFrame({"when": MOMENTS.strftime("%Y-%m-%d %H:%M")}),
    "texts with T": lambda: pd.DataFrame({"when": MOMENTS.strftime("%Y-%m-%dT%H:%M:%S")}),
    "texts with zones": lambda: pd.DataFrame({"when": MOMENTS.strftime("%Y-%m-%dT%H:%M+02:00")}),
    "objects": lambda: pd.DataFrame({"when": MOMENTS.to_pydatetime()}, dtype=object),
    "polars": lambda: pl.DataFrame({"when": list(MOMENTS.to_pydatetime())}),
    "nanoseconds": lambda: pa.table({"when": pa.array(MOMENTS.to_numpy(), pa.timestamp("ns"))}),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_every_form_has_the_same_parts(form):
    encoder = TableEncoder(scaling="none").fit(form())
    assert encoder.kinds_ == {"when": "date"}
    names = encoder.get_feature_names_out().tolist()
    assert names == ["when: days since 1969-07-20", "when: year", "when: month", "when: weekday", "when: hour"]
    matrix = encoder.transform(form())
    np.testing.assert_allclose(matrix[:, 1], MOMENTS.year)
    np.testing.assert_allclose(matrix[:, 2], MOMENTS.month)
    np.testing.assert_allclose(matrix[:, 3], MOMENTS.day_of_week)
    np.testing.assert_allclose(matrix[:, 4], MOMENTS.hour + MOMENTS.minute / 60)
    np.testing.assert_allclose(matrix[:, 0], (MOMENTS - pd.Timestamp("1969-07-20")) / pd.Timedelta(days=1))


def test_parts_that_do_not_differ_are_left_out():
    days = pa.table({"day": [datetime.date(2024, 5, d) for d in (3, 4, 5, 11)]})
    names = TableEncoder().fit(days).get_feature_names_out().tolist()
    assert names == ["day: days since 2024-05-03", "day: weekday"]


def test_around_the_circle():
    table = pa.table({"day": [datetime.date(2024, m, 15) for m in range(1, 13)]})
    encoder = TableEncoder(dates="cyclic", scaling="none").fit(table)
    names = encoder.get_feature_names_out().tolist()
    months = encoder.transform(table)[:, [names.index("day: month sin"), names.index("day: month cos")]]
    steps = np.linalg.norm(months - np.roll(months, 1, axis=0), axis=1)
    np.testing.assert_allclose(steps, steps[0])


@pytest.mark.parametrize(
    "values",
    [pa.array([36 * 3600, None, 0], pa.duration("s")), pa.array([pd.Timedelta("36h"), None, pd.Timedelta(0)])],
)
def test_durations_are_days(values):
    encoder = TableEncoder(scaling="none", indicate_missing=True).fit(pa.table({"took": values}))
    assert encoder.kinds_ == {"took": "duration"}
    np.testing.assert_allclose(encoder.transform(pa.table({"took": values})), [[1.5, 0], [0.75, 1], [0, 0]])
    times = pa.table({"at": [datetime.time(12), datetime.time(6)]})
    np.testing.assert_allclose(TableEncoder(scaling="none").fit_transform(times)[:, 0], [0.5, 0.25])


def test_missing_and_wrong_ones():
    texts = [f"2024-01-{d:02d}" for d in range(1, 31)]
    with pytest.raises(RowError, match=r"row 30, column 'd': a date such as 2024-05-31 .* Got the text '2024-02-30'"):
        TableEncoder().fit(pa.table({"d": [*texts, "2024-02-30"]}))
    with pytest.warns(UserWarning, match=r"taken for missing values: 1 in 'd', such as 'soon' in row 30"):
        encoder = TableEncoder(slips="missing", indicate_missing=True).fit(pa.table({"d": [*texts, "soon"]}))
    row = encoder.transform(pa.table({"d": ["later", None, ""]}))
    np.testing.assert_allclose(row[:, -1], 1.0)
    np.testing.assert_allclose(row[:, :-1], 0.0, atol=1e-9)  # the mean of each part
    refusing = TableEncoder(missing="refuse").fit(pa.table({"d": texts}))
    assert [(p.row, p.column) for p in refusing.problems(pa.table({"d": ["2024-01-01", None]}))] == [(1, "d")]
    with pytest.raises(ValueError, match="column 'd' held dates when fitted, and now double"):
        refusing.transform(pa.table({"d": [1.0]}))


def test_files_keep_the_parts(tmp_path):
    X = FORMS["pandas"]()
    encoder = TableEncoder(dates="cyclic").fit(X)
    rw.save(encoder, tmp_path / "m")
    np.testing.assert_array_equal(rw.load(tmp_path / "m").transform(FORMS["texts"]()), encoder.transform(X))
    for change in (dict(part="century"), dict(origin=float("nan")), dict(origin=1e300)):
        plain = encoder.to_plain()
        plain["columns"][0].update(change)
        with pytest.raises(ValueError, match=r"date|finite"):
            TableEncoder().from_plain(plain)


@pytest.mark.parametrize(("n_days", "bent"), [(13, set()), (400, {"weekday"}), (1000, {"weekday", "month"})])
def test_only_parts_that_came_round_twice_are_bent(n_days, bent):
    frame = pd.DataFrame({"when": pd.date_range("2020-01-01", periods=n_days)})
    encoder = TableEncoder(numbers="spline").fit(frame)
    names = [name for name in encoder.get_feature_names_out() if " near " in name]
    assert {name.removeprefix("when: ").split(" near ")[0] for name in names} == bent


def test_blanks_among_dates_do_not_make_them_identifiers():
    days = [str(day) for day in np.datetime64("2024-01-01") + np.arange(47)]
    table = pd.DataFrame({"day": [*days, "", " ", ""], "x": np.arange(50.0)})
    assert TableEncoder().fit(table).kinds_["day"] == "date"


def written(form):
    return pd.DataFrame({"when": MOMENTS.strftime(form)})


@pytest.mark.parametrize(
    ("form", "note"),
    [
        ("%d.%m.%Y %H:%M", "with the day first"),
        ("%d.%m.%Y, %H:%M", "with the day first"),
        ("%d/%m/%Y %H:%M:%S", "with the day first"),
        ("%d-%m-%Y %H:%M", "with the day first"),
        ("%m/%d/%Y %I:%M %p", "with the month first"),
        ("%m-%d-%YT%H:%M", "with the month first"),
        ("%Y/%m/%d %H:%M", ""),
        ("%Y.%m.%d %H:%M", ""),
    ],
)
def test_dates_with_the_year_last_are_told_apart_by_the_whole_column(form, note):
    encoder = TableEncoder(scaling="none").fit(written(form))
    assert encoder.kinds_ == {"when": "date"}
    assert encoder.notes_.get("when", "") == note
    expected = TableEncoder(scaling="none").fit_transform(FORMS["texts"]())
    np.testing.assert_allclose(encoder.transform(written(form)), expected)


def test_sixty_days_with_points_are_no_identifiers():
    table = pd.DataFrame({"when": pd.date_range("2021-01-01", periods=60).strftime("%d.%m.%Y"), "x": np.arange(60.0)})
    assert TableEncoder().fit(table).kinds_ == {"when": "date", "x": "number"}
    few = pd.DataFrame({"when": ["03.04.2021", "1.4.2021", "", None]})  # points: the day is first
    assert TableEncoder(scaling="none").fit_transform(few)[:2, 0].tolist() == [2.0, 0.0]


AMBIGUOUS = pd.DataFrame({"when": ["03/04/2021", "05/06/2021", "01/12/2021"]})


def test_a_column_that_does_not_tell_is_refused_with_both_readings():
    with pytest.raises(ValueError, match=r"'when' holds dates such as '03/04/2021', which may be 2021-04-03 or "):
        TableEncoder().fit(AMBIGUOUS)
    for first, words in (("05/06/2021", "'05/06/2021', which may be 2021-06-05 or 2021-05-06, and"),
                         ("03/03/2021", "'02/02/2025', where day and month are equal, and")):  # fmt: skip
        with pytest.raises(ValueError, match=words):
            TableEncoder().fit(pd.DataFrame({"when": ["02/02/2025", first]}))
    for kind, days in (("date-dmy", [0, 63, 242]), ("date-mdy", [51, 114, 0])):
        encoder = TableEncoder(scaling="none", kinds={"when": kind}).fit(AMBIGUOUS)
        assert encoder.kinds_ == {"when": "date"}
        assert encoder.transform(AMBIGUOUS)[:, 0].tolist() == days
    assert TableEncoder(kinds={"when": "category"}).fit(AMBIGUOUS).kinds_ == {"when": "category"}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            ["31/05/2021", "05/31/2021", "01/02/2021"],
            r"day first, such as '31/05/2021', and with the month first, such",
        ),
        (["31.05.21", "01.06.21"], "years of two digits"),
        (["5/31/21", "12/1/21"], "years of two digits"),
    ],
)
def test_dates_that_cannot_be_read_are_refused(values, message):
    with pytest.raises(ValueError, match=message):
        TableEncoder().fit(pd.DataFrame({"when": values}))


@pytest.mark.parametrize("values", [["1.2.10", "1.2.11", "10.0.1"], ["99.99.99", "70.1.20"]])
def test_versions_and_addresses_are_no_dates(values):
    assert TableEncoder().fit(pd.DataFrame({"v": values})).kinds_ == {"v": "category"}


def test_new_rows_are_read_in_the_order_learnt_and_slips_are_named(tmp_path):
    table = pd.DataFrame({"when": [f"{d:02}/{m:02}/2021" for d in range(1, 29) for m in (1, 2)], "x": np.arange(56.0)})
    model = rw.TableModel(rw.SVOR()).fit(table, np.arange(56) % 2)
    rw.save(model, tmp_path / "model")
    again = rw.load(tmp_path / "model")
    new = pd.DataFrame({"when": ["03/04/2021", "2021-04-03"], "x": [1.0, 1.0]})
    first, second = again.decision_function(new)
    assert first == second == model.decision_function(new)[0]
    with pytest.raises(
        RowError, match=r"row 1, column 'when': a date such as 31\.05\.2024 .* Got the text '05/31/2021'"
    ):
        again.predict(pd.DataFrame({"when": ["03/04/2021", "05/31/2021"], "x": [1.0, 1.0]}))


def test_trees_read_them_too(tmp_path):
    days = pd.date_range("2021-01-01", periods=200)
    y = np.arange(200) // 100
    found, expected = (
        rw.BoostedThresholds(max_iter=5, early_stopping=False).fit(pd.DataFrame({"when": days.strftime(form)}), y)
        for form in ("%d.%m.%Y", "%Y-%m-%d")
    )
    rw.save(found, tmp_path / "trees")
    new = pd.DataFrame({"when": ["01.05.2021", "30.06.2021"]})
    there = expected.project(pd.DataFrame({"when": ["2021-05-01", "2021-06-30"]}))
    assert rw.load(tmp_path / "trees").project(new).tolist() == there.tolist()
