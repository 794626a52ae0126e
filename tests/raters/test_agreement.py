import warnings

import numpy as np
import pandas as pd
import pytest

from rankwise.labels import UnknownOrderError
from rankwise.raters import RaterModel, agreement, combine
from tests.reference import raters as reference


def wide_answers(seed, n_items=40, n_raters=6, n_classes=5, missing=0.3):
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_classes, size=n_items)
    noise = np.rint(rng.normal(0, 0.8, (n_items, n_raters))).astype(int)
    said = np.clip(truth[:, None] + noise, 0, n_classes - 1).astype(float)
    said[rng.random(said.shape) < missing] = np.nan
    return said


@pytest.mark.parametrize("seed", range(5))
def test_alpha_of_exact_labels_is_that_of_the_package_krippendorff(seed):
    krippendorff = pytest.importorskip("krippendorff")  # GPL: not among our own test requirements
    said = wide_answers(seed)
    table = {f"r{r}": said[:, r] for r in range(said.shape[1])}
    ours = agreement(table, classes=range(5)).alpha
    theirs = krippendorff.alpha(reliability_data=said.T, level_of_measurement="ordinal", value_domain=range(5))
    assert ours == pytest.approx(theirs, abs=1e-12)


def test_alpha_of_the_example_in_krippendorffs_own_text():
    # "Computing Krippendorff's alpha-reliability", 2011, section C: four observers, twelve units, ordinal 0.815.
    rows = ["1 2 3 3 2 1 4 1 2 . . .", "1 2 3 3 2 2 4 1 2 5 . 3", ". 3 3 3 2 3 4 2 2 5 1 .", "1 2 3 3 2 4 4 1 2 5 1 ."]
    said = {name: [None if v == "." else int(v) for v in row.split()] for name, row in zip("ABCD", rows, strict=True)}
    assert agreement(said, classes=range(1, 6)).alpha == pytest.approx(0.815, abs=5e-4)


@pytest.mark.parametrize("seed", range(3))
def test_alpha_of_imprecise_labels_follows_its_definition(seed):
    rng = np.random.default_rng(seed)
    n_items, n_raters, n_classes = 15, 4, 5
    units, items, raters, labels = [[] for _ in range(n_items)], [], [], []
    for i in range(n_items):
        for r in range(n_raters):
            kind = rng.integers(4)
            members = sorted(rng.choice(n_classes, size=(1, 2, 3, n_classes)[kind], replace=False).tolist())
            if kind == 1:
                members = list(range(members[0], members[-1] + 1))
            items.append(i)
            raters.append(r)
            labels.append(set(members) if len(members) < n_classes else None)
            if len(members) < n_classes:
                units[i].append(members)
    found = agreement({"item": items, "rater": raters, "label": labels}, classes=range(n_classes))
    assert found.alpha == pytest.approx(reference.alpha(units, n_classes), abs=1e-12)
    met = [bool(set(a) & set(b)) for unit in units for i, a in enumerate(unit) for b in unit[i + 1 :]]
    assert found.overlap == pytest.approx(np.mean(met))


def test_pairs_bias_and_width_are_those_of_the_answers():
    table = pd.DataFrame(
        {"a": [1, 2, None, 4], "b": ["2", "2-4", "3", "4"], "c": [None, "4", "3", "?"]}, index=["w", "x", "y", "z"]
    )
    found = agreement(table, classes=[1, 2, 3, 4])
    assert found.raters.tolist() == ["a", "b", "c"]
    assert found.n_answers.tolist() == [3, 4, 2]
    pairs = dict(zip(zip(found.pairs.first, found.pairs.second, strict=True), found.pairs.overlap, strict=True))
    assert pairs == {(0, 1): pytest.approx(2 / 3), (0, 2): 0.0, (1, 2): 1.0}
    assert found.width.tolist() == [0.0, 0.5, 0.0]
    # x: a says 2, the others 3 and 4; w and z: 1 against 2, 4 against 4.
    assert found.bias[0] == pytest.approx(np.mean([-1.0, -1.5, 0.0]))


def test_of_a_raters_answers_for_an_item_the_last_counts():
    twice = {"item": [1, 1, 1], "rater": ["a", "b", "a"], "label": [1, 3, 3]}
    found = agreement(twice, classes=[1, 2, 3])
    assert found.n_answers.tolist() == [1, 1]
    assert found.overlap == 1.0


def test_what_cannot_be_told_is_nan():
    alone = agreement({"item": [1, 2], "rater": ["a", "a"], "label": [1, 2]}, classes=[1, 2])
    assert np.isnan(alone.alpha)
    assert np.isnan(alone.overlap)
    assert np.isnan(alone.bias[0])
    silent = agreement({"item": [1, 1], "rater": ["a", "b"], "label": [None, 2]}, classes=[1, 2])
    assert np.isnan(silent.width[0])
    assert silent.missing.tolist() == [1.0, 0.0]


WORDS = {"item": list("aabbccdd"), "rater": ["p", "q"] * 4,
         "label": ["red", "amber", "green", "green", "amber", "red", "green", "amber"]}  # fmt: skip


@pytest.mark.parametrize(
    "call",
    [
        agreement,
        lambda table, **k: RaterModel(**k).fit(table),
        combine,
        lambda table, **k: combine(table, "model", **k),
    ],
    ids=["agreement", "RaterModel", "intersection", "model"],
)
def test_words_of_unknown_order_are_refused_where_it_matters(call):
    with pytest.raises(UnknownOrderError, match=r"needs the order of the classes.*classes="):
        call(WORDS)
    call(WORDS, classes=["green", "amber", "red"])


def test_alpha_of_words_takes_the_declared_order():
    numbers = {**WORDS, "label": [{"green": 1, "amber": 2, "red": 3}[word] for word in WORDS["label"]]}
    assert agreement(WORDS, classes=["green", "amber", "red"]).alpha == agreement(numbers).alpha


@pytest.mark.parametrize("how", ["union", "majority"])
def test_votes_need_no_order_without_intervals(how):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert combine(WORDS, how).labels.tolist()[1] == "green"
