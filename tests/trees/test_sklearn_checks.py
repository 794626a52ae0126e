"""scikit-learn's own checks of BoostedThresholds."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from rankwise import BoostedThresholds

BINS = "LightGBM counts rows in bins and leaves, not their weights: a weight of 2 is not two rows"
MEDIAN_IS_NOT_MODE = "the check wants the most probable class, and this predicts the median"


def _expected_failures(estimator):
    kinds = ("dense", "sparse")
    failures = {f"check_sample_weight_equivalence_on_{kind}_data": BINS for kind in kinds}
    return failures if estimator.decision == "mode" else {**failures, "check_classifiers_train": MEDIAN_IS_NOT_MODE}


@pytest.mark.filterwarnings("ignore::rankwise.labels.OrderWarning")
@pytest.mark.filterwarnings("ignore:BoostedThresholds. no label needs:UserWarning")
@parametrize_with_checks(
    [
        BoostedThresholds(max_iter=20, early_stopping=False, n_jobs=1, random_state=0),
        BoostedThresholds(decision="mode", loss="likelihood", max_iter=20, early_stopping=False, n_jobs=1),
    ],
    expected_failed_checks=_expected_failures,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
