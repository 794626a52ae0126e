import numpy as np
import pytest
import sklearn.datasets
from hypothesis import given
from hypothesis import strategies as st

from rankwise import datasets


class TestCuts:
    @given(
        st.lists(st.floats(-1e6, 1e6), min_size=12, max_size=60, unique=True),
        st.integers(2, 12),
    )
    def test_equal_frequency_without_ties(self, values, n_classes):
        grades = datasets.cut_equal_frequency(values, n_classes)
        counts = np.bincount(grades, minlength=n_classes + 1)
        assert counts[0] == 0
        assert np.ptp(counts[1:]) <= 1
        assert np.all(np.diff(grades[np.argsort(values)]) >= 0)

    def test_equal_frequency_keeps_ties_together(self):
        assert datasets.cut_equal_frequency([1, 2, 2, 2, 3, 4], 2).tolist() == [1, 2, 2, 2, 2, 2]
        with pytest.raises(ValueError, match=r"6 numbers with 2 different values .* 3 .* grade 1 would be empty"):
            datasets.cut_equal_frequency([1, 1, 1, 1, 1, 2], 3)

    @given(st.lists(st.integers(-100, 100), min_size=2, max_size=50), st.integers(2, 9))
    def test_equal_width(self, values, n_classes):
        low, high = min(values), max(values)
        if low == high:
            with pytest.raises(ValueError, match="must not be all equal"):
                datasets.cut_equal_width(values, n_classes)
            return
        grades = datasets.cut_equal_width(values, n_classes)
        assert grades[np.argmin(values)] == 1
        assert grades[np.argmax(values)] == n_classes
        parts = (np.array(values) - low) * n_classes / (high - low)
        assert np.all(parts <= grades + 1e-9)
        assert np.all(parts >= grades - 1 - 1e-9)

    @pytest.mark.parametrize("cut", [datasets.cut_equal_frequency, datasets.cut_equal_width])
    def test_bad_values(self, cut):
        with pytest.raises(ValueError, match=r"must be finite\. Got nan in row 1"):
            cut([1.0, np.nan, 2.0], 2)
        with pytest.raises(ValueError, match="1-D and not empty"):
            cut([], 2)
        with pytest.raises(ValueError, match="'n_classes'"):
            cut([1.0, 2.0], 1)


class TestDiabetesGrades:
    def test_grades_follow_the_target(self):
        grades = datasets.load_diabetes_grades(4)
        target = sklearn.datasets.load_diabetes().target
        assert grades.X.shape == (442, 10)
        assert grades.feature_names[:3] == ("age", "sex", "bmi")
        assert set(grades.y.tolist()) == {1, 2, 3, 4}
        assert np.ptp(np.bincount(grades.y)[1:]) <= 5
        for grade in (1, 2, 3):
            assert target[grades.y == grade].max() < target[grades.y == grade + 1].min()
