"""Progressive validation of our models, scikit-learn's and river's, and comparison tables."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.linear_model import LinearRegression, SGDClassifier

from rankwise import PRIL, MulticlassPerceptron, PRank, TableModel, metrics
from rankwise.evaluation import compare, format_table, progressive
from tests.streams import make_stream


@pytest.fixture
def stream():
    return make_stream(0, n=200, n_classes=4, exact=1.0)


def test_average_is_the_mean_loss_up_to_each_round(stream):
    result = progressive(PRIL(), stream.X, stream.lower)
    predicted = PRIL(classes=range(4)).progressive_predict(stream.X, stream.lower)
    np.testing.assert_array_equal(result.predictions, predicted)
    losses = np.abs(predicted - stream.lower)
    np.testing.assert_array_equal(result.losses, losses)
    np.testing.assert_allclose(result.average, [losses[: t + 1].mean() for t in range(200)])
    assert result.final == pytest.approx(losses.mean())


def test_learning_from_intervals_can_be_judged_by_the_truth(stream):
    intervals = np.column_stack([np.maximum(stream.lower - 1, 0), np.minimum(stream.lower + 1, 3)])
    lenient = progressive(PRIL(), stream.X, intervals)
    strict = progressive(PRIL(), stream.X, intervals, truth=stream.lower)
    np.testing.assert_array_equal(lenient.predictions, strict.predictions)
    np.testing.assert_array_equal(strict.losses, np.abs(strict.predictions - stream.lower))
    assert np.all(lenient.losses <= strict.losses)
    assert lenient.final < strict.final


def test_weights_count_in_learning_and_in_the_average(stream):
    result = progressive(PRank(), stream.X, stream.lower, sample_weight=stream.weight)
    predicted = PRank(classes=range(4)).progressive_predict(stream.X, stream.lower, sample_weight=stream.weight)
    np.testing.assert_array_equal(result.predictions, predicted)
    assert result.final == pytest.approx(
        metrics.mean_absolute_error(stream.lower, predicted, sample_weight=stream.weight)
    )
    assert result.weighted_cost == pytest.approx(
        metrics.weighted_cost(stream.lower, predicted, sample_weight=stream.weight)
    )


def test_cost_curve_is_the_cost_of_the_mistakes_up_to_each_round(stream):
    result = progressive(PRank(), stream.X, stream.lower, sample_weight=stream.weight)
    wrong = result.predictions != stream.lower
    first = int(np.argmax(stream.weight > 0))
    expected = [
        stream.weight[: t + 1][wrong[: t + 1]].sum() / stream.weight[: t + 1].sum() for t in range(first, len(stream))
    ]
    np.testing.assert_allclose(result.cost_curve[first:], expected)
    assert not result.cost_curve[:first].any()
    assert result.cost_curve[-1] == result.weighted_cost
    assert result.mistake_rate == pytest.approx(wrong[stream.weight > 0].mean())


def test_rows_without_a_label_are_no_rounds(stream):
    y = stream.lower.astype(float)
    y[::3] = np.nan
    result = progressive(PRIL(), stream.X, y, classes=range(4))
    assert np.all(result.weights[::3] == 0)
    known = ~np.isnan(y)
    assert result.final == pytest.approx(np.abs(result.predictions[known] - y[known]).mean())


@pytest.mark.parametrize("loss", ["mae", "zero_one", "squared", 2.0 * (1 - np.eye(4))])
def test_any_loss_may_be_asked_for(stream, loss):
    result = progressive(PRIL(), stream.X, stream.lower, loss=loss)
    apart = np.abs(result.predictions - stream.lower)
    expected = {"mae": apart, "zero_one": apart > 0, "squared": apart**2}
    np.testing.assert_allclose(result.losses, expected[loss] if isinstance(loss, str) else 2.0 * (apart > 0))


class DictModel:
    """A model that only speaks river: predicts the label before last."""

    def __init__(self):
        self.seen = [None, None]

    def predict_one(self, x):
        assert set(x) == {"a", "b"}
        return self.seen[-2]

    def learn_one(self, x, y):
        self.seen.append(y)


def test_models_of_dicts_are_driven_row_by_row(rng):
    frame = pd.DataFrame(rng.standard_normal((6, 2)), columns=["a", "b"])
    y = np.array([1, 2, 3, 2, 1, 3])
    for X in (frame, frame.to_dict("records")):
        result = progressive(DictModel(), X, y)
        assert result.predictions.tolist() == [None, None, 1, 2, 3, 2]
        assert result.losses[2:].tolist() == [2, 0, 2, 1]
        assert result.losses[:2].tolist() == [0, 1]  # no prediction yet counts as the lowest class


def test_our_models_give_the_same_through_both_doors(stream):
    class OnlyDicts:
        def __init__(self):
            self.model = PRIL(classes=range(4))

        def predict_one(self, x):
            return self.model.predict_one(x)

        def learn_one(self, x, y):
            self.model.learn_one(x, y)

    compiled = progressive(PRIL(), stream.X, stream.lower)
    looped = progressive(OnlyDicts(), stream.X, stream.lower)
    np.testing.assert_array_equal(looped.losses[1:], compiled.losses[1:])


def test_scikit_learn_models_are_driven_by_partial_fit(stream):
    result = progressive(SGDClassifier(random_state=0), stream.X[:50], stream.lower[:50], classes=range(4))
    model, expected = SGDClassifier(random_state=0), [None]
    for i in range(50):
        if i > 0:
            expected.append(model.predict(stream.X[i : i + 1])[0])
        model.partial_fit(stream.X[i : i + 1], stream.lower[i : i + 1], classes=np.arange(4))
    assert result.predictions.tolist() == expected


def test_models_that_cannot_learn_online_are_refused(stream):
    with pytest.raises(TypeError, match="LinearRegression cannot learn online"):
        progressive(LinearRegression(), stream.X, stream.lower)


def test_models_to_compare_have_names(stream):
    with pytest.raises(TypeError, match=r"models must be a mapping of names to estimators, .* Got a list instead"):
        compare([PRank()], stream.X, stream.lower)


def test_comparison_is_sorted_and_leaves_the_models_alone(stream):
    models = {"multi-class": MulticlassPerceptron(random_state=0), "ordered": PRank(random_state=0)}
    rows = compare(models, stream.X[:150], stream.lower[:150], stream.X[150:], stream.lower[150:])
    assert [row["mae"] for row in rows] == sorted(row["mae"] for row in rows)
    fitted = PRank(random_state=0).fit(stream.X[:150], stream.lower[:150])
    ours = next(row for row in rows if row["model"] == "ordered")
    assert ours["mae"] == pytest.approx(-fitted.score(stream.X[150:], stream.lower[150:]))
    assert not hasattr(models["ordered"], "classes_")
    lines = format_table(rows).splitlines()
    assert len(lines) == 4
    assert lines[0].split() == ["model", "mae", "zero_one", "mae_at_worst", "fit_seconds"]
    assert len({len(line) for line in lines}) == 1


def test_a_table_of_nothing_is_empty():
    assert format_table(compare({}, [[0.0], [1.0]], [1, 2], cv=2)) == ""


class Listener:
    """A model of river's kind that notes what it is shown."""

    def __init__(self):
        self.rows = []

    def predict_one(self, x):
        return None

    def learn_one(self, x, y):
        self.rows.append(x)


@pytest.mark.parametrize(
    ("X", "names"),
    [
        ([[1.0, 2.0], [3.0, 4.0]], (0, 1)),
        (pd.DataFrame({"a": [1.0, 3.0], "b": [2.0, 4.0]}), ("a", "b")),
        (pl.DataFrame({"a": [1.0, 3.0], "b": [2.0, 4.0]}), ("a", "b")),
        (pa.table({"a": [1.0, 3.0], "b": [2.0, 4.0]}), ("a", "b")),
    ],
    ids=["list", "pandas", "polars", "pyarrow"],
)
def test_rows_of_every_container_as_dicts(X, names):
    model = Listener()
    progressive(model, X, [1, 2])
    assert model.rows == [dict(zip(names, row, strict=True)) for row in ([1.0, 2.0], [3.0, 4.0])]


@pytest.mark.parametrize("wrap", [lambda model: model, TableModel])
def test_classes_that_the_model_declares_need_not_occur(wrap):
    X, y = np.arange(12.0).reshape(-1, 1), np.tile([1, 2, 3], 4)
    declared, given = wrap(PRIL(classes=range(1, 6))), wrap(PRIL())
    X = pd.DataFrame(X, columns=["x"]) if isinstance(declared, TableModel) else X
    if isinstance(declared, TableModel):
        declared.fit_encoder(X), given.fit_encoder(X)
    of_model = progressive(declared, X, y)
    np.testing.assert_array_equal(of_model.predictions, progressive(given, X, y, classes=range(1, 6)).predictions)
    np.testing.assert_array_equal(progressive(declared, X, y).losses.shape, (12,))  # also once it is fitted


def test_an_error_names_some_of_many_classes():
    model = PRIL(classes=range(1000))
    with pytest.raises(ValueError, match="is not the same as before") as caught:
        progressive(model, np.zeros((2, 1)), [1, 2], classes=[1, 2])
    assert len(str(caught.value)) < 500
