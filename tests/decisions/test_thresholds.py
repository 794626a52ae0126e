"""Decision rules on thresholds."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rankwise.decisions import interval_scores, ranks
from rankwise.decisions.thresholds import rank, rank_lagged
from tests.reference.pril import predict

# Few different values, so that ties between scores and thresholds are common.
values = st.sampled_from([-2.0, -1.0, -0.5, 0.0, 5e-324, 0.5, 1.0, 1e300])


@given(scores=st.lists(values, min_size=1, max_size=5), thresholds=st.lists(values, max_size=5))
def test_all_rules_agree_also_on_ties(scores, thresholds):
    f, t = np.array(scores), np.sort(np.array(thresholds, dtype=float))
    expected = [predict(score, t) for score in f]
    assert ranks(f, t).tolist() == expected
    assert [rank(score, t) for score in f] == expected
    assert [rank_lagged(score, t, np.zeros_like(t), 0.0) for score in f] == expected
    assert [rank_lagged(score, 2 * t, t, 1.0) for score in f] == expected
    decision = interval_scores(f, t)
    if t.size == 1:
        assert (decision > 0).astype(int).tolist() == expected
        assert np.all(decision != 0)
    else:
        assert decision.shape == (f.size, t.size + 1)
        assert decision.argmax(axis=1).tolist() == expected


def test_decision_is_the_signed_distance_to_the_interval():
    np.testing.assert_allclose(
        interval_scores(np.array([0.25, -3.0, 2.0]), np.array([0.0, 1.0])),
        [[-0.25, 0.25, -0.75], [3.0, -3.0, -4.0], [-2.0, -1.0, 1.0]],
    )
